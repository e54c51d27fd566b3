"""Tests of the planning document store, from its stages to its servers."""
