"""Tests of the example documents."""
