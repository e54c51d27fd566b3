"""Split values into batches."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(values: Iterable[T], most: int) -> Iterator[list[T]]:
    """Split values into batches of at most a given size, in order; no values give no batch."""
    left = iter(values)
    while part := list(islice(left, most)):
        yield part


def grouped(
    values: Iterable[T],
    most: tuple[int, ...],
    measure: Callable[[T], tuple[int, ...]],
    key: Callable[[T], Hashable] = id,
) -> Iterator[list[T]]:
    """Group consecutive values as long as the sums of their measures stay within limits.

    Args:
        values: one that is too large by itself forms its own group.
        most: limits for the sums of a group.
        measure: returns as many numbers for a value as there are limits.
        key: of a value; a value with a key that the group already has starts another group.
    """
    group: list[T] = []
    keys: set[Hashable] = set()
    sums = (0,) * len(most)
    for each in values:
        sizes = measure(each)
        sums = tuple(map(sum, zip(sums, sizes, strict=True)))
        if group and (key(each) in keys or any(have > may for have, may in zip(sums, most, strict=True))):
            yield group
            group, keys, sums = [], set[Hashable](), sizes
        group.append(each)
        keys.add(key(each))
    if group:
        yield group
