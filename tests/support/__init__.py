"""Tests of the support room."""
