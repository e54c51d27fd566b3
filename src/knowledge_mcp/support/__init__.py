"""Leaf helpers that use only the standard library, shared by every package."""
