"""Detects texts that say the same in several languages: the same clause numbers, and similar lengths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.openings import split_clause_number

LEAST_SHARE = 0.5
"""Smallest ratio of another language's words to those of the first: translations have similar lengths, and a summary in
another language is shorter.
"""
_FEWEST = 4
"""Minimum number of clause numbers that two languages share."""
_ALIKE = 0.5
"""Minimum share of the clause numbers of the language with fewer that the other also has: a page may be missing in one.
"""
MOST_COLUMNS = 4
"""Maximum columns of a table with clauses in several languages: three languages and their numbers."""


def number_of(text: str) -> str:
    """Read the clause number that a text's first line starts with or consists of; empty if there is none."""
    text = text.partition("\n")[0]
    return split_clause_number(text).number or split_clause_number(f"{text} Title").number or ""


def have_the_same_clauses(numbers: AbstractSet[str], others: AbstractSet[str]) -> bool:
    """Return whether two languages have the same clauses, by their numbers."""
    return len(numbers & others) >= max(_FEWEST, _ALIKE * min(len(numbers), len(others)))


def parallel_columns(
    rows: Sequence[Sequence[str]], numbers: Callable[[], Sequence[Sequence[str]]] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Find the columns of a table that has the same clauses in several languages, side by side.

    Args:
        rows: texts of its cells, by column.
        numbers: returns for each cell the clause number that it starts with, or an empty string; by default it is read
            from the texts.

    Returns:
        For each language, the columns to read for it in each row, from left to right: the common column of clause
        numbers if there is one, then its own. Empty if it is an ordinary table.
    """
    width = max(map(len, rows), default=0)
    if not 2 <= width <= MOST_COLUMNS:
        return ()
    texts = [" ".join(row[column] for row in rows if column < len(row)) for column in range(width)]
    languages = [language_of(text) for text in texts]
    numbering = () if languages[0] else (0,)
    own = range(len(numbering), width)
    told = {languages[column] for column in own} - {""}
    words = [len(texts[column].split()) for column in own]
    if len(own) < 2 or len(told) < len(own) or min(words) < LEAST_SHARE * max(words):
        return ()
    stated = [[number_of(text) for text in row] for row in rows] if numbers is None else numbers()
    clauses = [{row[column] for row in stated if column < len(row) and row[column]} for column in range(width)]
    if numbering and len(clauses[0]) < _FEWEST:
        return ()
    if not numbering and not all(have_the_same_clauses(clauses[0], clauses[column]) for column in own):
        return ()
    return tuple((*numbering, column) for column in own)
