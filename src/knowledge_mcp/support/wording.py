"""Counts and lists in words."""

from __future__ import annotations

from collections.abc import Sequence


def how_many(number: int, one: str, several: str = "") -> str:
    """Write a count with its noun.

    Args:
        number: how many.
        one: the singular, with its verb if one follows ("chunk", "page was").
        several: the plural; by default `one` with an s.

    Returns:
        "1 chunk", "2 chunks", "1,200 pages were".
    """
    return f"{number:,} {one if number == 1 else several or f'{one}s'}"


def list_first(words: Sequence[str], most: int, separator: str = ", ") -> str:
    """List up to a number of words, and say how many others there are: "A, B and 3 more"."""
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return separator.join(words[:most]) + more
