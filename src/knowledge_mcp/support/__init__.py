"""Leaf helpers of the standard library only, used by every room."""

__all__: list[str] = []
