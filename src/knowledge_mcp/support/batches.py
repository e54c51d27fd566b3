"""What is too much for one call, in parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def batches(values: Sequence[T], most: int) -> Iterator[Sequence[T]]:
    """Cut values into parts of at most so many, in order; none gives no part."""
    for start in range(0, len(values), most):
        yield values[start : start + most]
