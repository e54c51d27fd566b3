"""Shipped for adapter authors: the contract suites of stores and embedders, and the values that they use."""
