"""Tests of `lexical`."""
