"""Tests of the repositories surface."""
