"""What is too much for one call, in parts."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

T = TypeVar("T")


def batches(values: Iterable[T], most: int) -> Iterator[list[T]]:
    """Cut values into parts of at most so many, in order; none gives no part."""
    left = iter(values)
    while part := list(islice(left, most)):
        yield part


def grouped(
    values: Iterable[T],
    most: tuple[int, ...],
    measure: Callable[[T], tuple[int, ...]],
    key: Callable[[T], Hashable] = id,
) -> Iterator[list[T]]:
    """Put values together in order as long as all that is measured of them stays within limits.

    Args:
        values: one that is too large by itself makes a group alone.
        most: limits of a group's sums.
        measure: gives as many numbers of a value.
        key: of a value; one whose key the group has begins another group.
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
