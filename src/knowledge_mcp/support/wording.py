"""Numbers of things as people say them."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["how_many", "list_first"]


def how_many(number: int, one: str, several: str = "") -> str:
    """Say how many there are.

    Args:
        number: of them.
        one: what a single one is called, with its verb where one follows ("chunk", "page was").
        several: what others are called; `one` with an s where it is not given.

    Returns:
        "1 chunk", "2 chunks", "1,200 pages were".
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def list_first(words: Sequence[str], most: int, separator: str = ", ") -> str:
    """List at most so many words, and say how many others there are: "A, B and 3 more"."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return separator.join(words[:most]) + more
