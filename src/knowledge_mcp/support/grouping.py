"""Things that hang together, by the index of one that stands for all."""

from __future__ import annotations

__all__ = ["root_of"]


def root_of(home: list[int], index: int) -> int:
    """Return what stands for all that an index hangs together with; `home` has for each index one nearer to it."""
    while home[index] != index:
        home[index] = home[home[index]]
        index = home[index]
    return index
