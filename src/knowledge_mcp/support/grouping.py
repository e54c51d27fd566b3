"""Groups of things that hang together, in a union-find: each thing points to another of its group, the root to itself.

Two groups become one by `home[root_of(home, a)] = root_of(home, b)`.
"""

from __future__ import annotations

__all__ = ["root_of"]


def root_of(home: list[int], index: int) -> int:
    """Return the root of a thing's group, and shorten the way to it.

    Args:
        home: to which index each index points; at the beginning each to itself.
        index: of the thing.
    """
    while home[index] != index:
        home[index] = home[home[index]]
        index = home[index]
    return index
