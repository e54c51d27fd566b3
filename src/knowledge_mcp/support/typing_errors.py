"""How many typing errors lie between two short texts: letters left out, added, replaced, or two swapped."""

from __future__ import annotations

from collections import Counter


def letters_apart(first: str, second: str) -> int:
    """Count the letters of either text that the other has not, whatever their order."""
    one, other = Counter(first), Counter(second)
    return (one - other).total() + (other - one).total()


def typing_errors_within(first: str, second: str, bound: int) -> int | None:
    """Count typing errors between two texts, None when more than `bound`.

    It is the Levenshtein distance, but two neighbouring letters that changed places are one error, not two (the
    distance of Damerau and Levenshtein). Time is O(length * length), spent only on texts that are made of nearly the
    same letters.
    """
    if first == second:
        return 0
    if abs(len(first) - len(second)) > bound:
        return None
    letters, others = Counter(first), Counter(second)
    if (letters - others).total() > bound or (others - letters).total() > bound:
        return None
    far = len(first) + len(second)
    rows: list[list[int]] = [list(range(len(second) + 1))]
    last_row: dict[str, int] = {}
    for row, character in enumerate(first, start=1):
        above, current = rows[-1], [row]
        last_column = 0
        for column, other in enumerate(second, start=1):
            best = min(above[column] + 1, current[-1] + 1, above[column - 1] + (character != other))
            swapped_row = last_row.get(other, 0)
            if swapped_row and last_column:
                between = (row - swapped_row - 1) + (column - last_column - 1)
                best = min(best, rows[swapped_row - 1][last_column - 1] + between + 1 if between <= bound else far)
            if character == other:
                last_column = column
            current.append(best)
        rows.append(current)
        last_row[character] = row
    return rows[-1][-1] if rows[-1][-1] <= bound else None
