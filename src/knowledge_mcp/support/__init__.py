"""Leaf helpers of the standard library only, used by every room."""
