"""Shipped for authors of adapters: contract suites for stores and embedders, and the values that they use."""
