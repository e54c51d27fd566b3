"""Shipped for adapter authors: one contract suite for each port, fakes, strategies."""
