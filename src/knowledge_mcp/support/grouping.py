"""Groups in a union-find: each item points to another of its group, the root to itself.

Merge two groups with `home[root_of(home, a)] = root_of(home, b)`.
"""

from __future__ import annotations


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
