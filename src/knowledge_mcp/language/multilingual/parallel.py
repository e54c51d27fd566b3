"""Texts that say the same in several languages: the same clauses by their numbers, and about as many words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.openings import split_clause_number

LEAST_SHARE = 0.5
"""Times the words of the first language that another has at least: translations are of about one length, and a summary
in another language is shorter."""
_FEWEST = 4
"""Clause numbers at least that two languages have both."""
_ALIKE = 0.5
"""Share of the numbers of the language with fewer that the other has too: a page may be missing in one of them."""
MOST_COLUMNS = 4
"""Columns at the most of a table that holds clauses in several languages: three languages, and their numbers."""


def number_of(text: str) -> str:
    """Read the clause number that a text's first line begins with, or that is all of it; empty where there is none."""
    text = text.partition("\n")[0]
    return split_clause_number(text).number or split_clause_number(f"{text} Title").number or ""


def have_the_same_clauses(numbers: AbstractSet[str], others: AbstractSet[str]) -> bool:
    """Tell whether two languages have the same clauses by their numbers."""
    return len(numbers & others) >= max(_FEWEST, _ALIKE * min(len(numbers), len(others)))


def parallel_columns(
    rows: Sequence[Sequence[str]], numbers: Callable[[], Sequence[Sequence[str]]] | None = None
) -> tuple[tuple[int, ...], ...]:
    """Find the columns of a table that says the same clauses in several languages, one beside the other.

    Args:
        rows: texts of its cells, by column.
        numbers: gives of each cell the clause number that it begins with, empty where it begins with none; without it
            the texts tell.

    Returns:
        For each language the columns that are read for it, in each row from the left: its own, behind the one that
        numbers the clauses of all where there is one. Empty where the table is one in the ordinary sense.
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
