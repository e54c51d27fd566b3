"""Groups in a union-find: each item points to another of its group, the root to itself.

Merge two groups with `home[root_of(home, a)] = root_of(home, b)`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def root_of(home: list[int], index: int) -> int:
    """Return the root of an item's group, and shorten the path to it.

    Args:
        home: the index that each index points to; initially itself.
        index: of the item.
    """
    while home[index] != index:
        home[index] = home[home[index]]
        index = home[index]
    return index


def united(home: list[int], items: Sequence[T]) -> list[list[T]]:
    """List the groups in the order of their first items, each with its items in order; `home` has an index for each."""
    groups: defaultdict[int, list[T]] = defaultdict(list)
    for index, item in enumerate(items):
        groups[root_of(home, index)].append(item)
    return list(groups.values())
