"""Tests of what benchmarks compute beside measuring: scores, tables, what a peer is said to be."""
