"""Boxes across the border between a child process and its parent: whole numbers, a few for each box.

One box after the other: page, then left, top, right, bottom in tenths of a point, rounded so that none gets smaller.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from knowledge_mcp.model.document import Box

__all__ = ["packed", "unpacked"]

_PER_POINT = 10
_FIELDS = 5


def packed(page: int, left: float, top: float, right: float, bottom: float) -> tuple[int, ...]:
    """Write one box, given in points, as whole numbers."""
    low, high = math.floor, math.ceil
    return (
        page,
        low(left * _PER_POINT),
        low(top * _PER_POINT),
        high(right * _PER_POINT),
        high(bottom * _PER_POINT),
    )


def unpacked(numbers: Sequence[int]) -> tuple[Box, ...]:
    """Make boxes of what `packed` wrote."""
    return tuple(
        Box(numbers[at], *(tenths / _PER_POINT for tenths in numbers[at + 1 : at + _FIELDS]))
        for at in range(0, len(numbers), _FIELDS)
    )
