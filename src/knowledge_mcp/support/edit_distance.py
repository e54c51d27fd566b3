"""Levenshtein distance with a bound, for typing errors in short terms."""

from __future__ import annotations

__all__ = ["edit_distance_within"]


def edit_distance_within(first: str, second: str, bound: int) -> int | None:
    """Count the insertions, deletions and substitutions between two texts, None when more than `bound`.

    Time is O(bound * length): only a band around the diagonal is filled.
    """
    if first == second:
        return 0
    if len(first) > len(second):
        first, second = second, first
    if len(second) - len(first) > bound:
        return None
    far = bound + 1
    previous = [column if column <= bound else far for column in range(len(second) + 1)]
    for row, character in enumerate(first, start=1):
        low, high = max(1, row - bound), min(len(second), row + bound)
        current = [far] * (len(second) + 1)
        if row <= bound:
            current[0] = row
        for column in range(low, high + 1):
            current[column] = min(
                previous[column] + 1,
                current[column - 1] + 1,
                previous[column - 1] + (character != second[column - 1]),
                far,
            )
        if min(current[low - 1 : high + 1]) > bound:
            return None
        previous = current
    return previous[-1] if previous[-1] <= bound else None
