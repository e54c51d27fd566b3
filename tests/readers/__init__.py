"""Tests of the readers room."""
