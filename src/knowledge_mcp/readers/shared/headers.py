"""Headers of tables that stand in several rows: which rows they are, and what each column is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.readers.shared.richtext import RichText

_NUMBER = re.compile(r"[-+−(]?(?=[.,\s]*\d)[\d.,\s]*+%?\)?")
MOST_HEADER_ROWS = 4
"""Rows of a header that no mark says to be one: a group, a name, a symbol and a unit at the most."""

LONGEST_REPEATED = 80
"""Characters of a text that is said again in each row it reaches into: longer ones would drown the rows."""

Place = tuple[int, int]
"""A cell: row and column from 0."""


@dataclass(slots=True)
class Reach:
    """Say of one row where its texts reach.

    Attributes:
        across: of each column that a text reaches into from its left, the column where the text stands.
        down: columns that a text reaches into from above.
    """

    across: dict[int, int] = field(default_factory=dict[int, int])
    down: set[int] = field(default_factory=set[int])


_NOWHERE = Reach()


def is_number(cell: str) -> bool:
    """Tell a cell that holds a number alone."""
    return len(cell) <= 40 and _NUMBER.fullmatch(cell) is not None


def header_texts(
    rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach], marked: int = 0
) -> tuple[int, list[list[Place]]]:
    """Find the texts that name each column where a header stands in several rows: group, name, unit.

    A text that reaches over some columns names each of them, one over all columns the first one. Rows that are not
    marked belong to the header where its spans need them: a text of the first row reaches over some columns, whose
    names stand below it, and a text of the header reaches down beside them or nothing is said there. A row with a
    number is none.

    Args:
        rows: a table's rows, or the first of them; cells by column.
        reaches: by a row's index, where its texts reach, if they reach anywhere.
        marked: how many rows the table itself marks as its header.

    Returns:
        How many rows the header has, and for each column the places of its texts from above; (1, []) where one row is
        all of it.
    """
    depth = min(marked, len(rows) - 1) if marked > 1 else 1
    while marked < 2 and depth < min(len(rows) - 1, MOST_HEADER_ROWS) and _is_below(rows, reaches, depth):
        depth += 1
    if depth < 2:
        return 1, []
    named: list[list[Place]] = []
    columns = max(map(len, rows[:depth]))
    for column in range(columns):
        texts: dict[str, Place] = {}
        for index, row in enumerate(rows[:depth]):
            across = reaches.get(index, _NOWHERE).across
            at = across.get(column, column) if len(across) < columns - 1 else column
            if at < len(row) and (words := row[at].strip()):
                texts.setdefault(words, (index, at))
        named.append(list(texts.values()))
    return depth, named


def _is_below(rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach], index: int) -> bool:
    """Tell whether a row goes on with the header above it."""
    own, above = reaches.get(index, _NOWHERE), reaches.get(index - 1, _NOWHERE)
    said = {column for column, cell in enumerate(rows[index]) if cell.strip() and column not in own.down}
    if (
        not said
        or not _groups(rows[0], reaches.get(0, _NOWHERE))
        or any(is_number(rows[index][at].strip()) for at in said)
    ):
        return False
    return bool(own.down) or (_groups(rows[index - 1], above) and said <= {*above.across, *above.across.values()})


def _groups(row: Sequence[str], reach: Reach) -> bool:
    """Tell whether a text of a row reaches over several columns, but not over all."""
    filled = {column for column, cell in enumerate(row) if cell.strip()}
    return len(filled) > 1 and not filled.isdisjoint(reach.across.values())


def worded_header(rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach], marked: int = 0) -> list[Sequence[str]]:
    """Write a header of several rows as one: "Flow / Rated (kg/h)"; arguments as `header_texts`."""
    depth, named = header_texts(rows[: max(marked, MOST_HEADER_ROWS) + 1], reaches, marked)
    header = [" / ".join(rows[row][column].strip() for row, column in places) for places in named]
    return [header, *rows[depth:]] if header else list(rows)


def with_one_header(rows: list[list[RichText]], reaches: Mapping[int, Reach], marked: int = 0) -> list[list[RichText]]:
    """Do as `worded_header` does with texts that have marks; what was hidden in a header's cells counts once."""
    words = [[cell.text for cell in row] for row in rows[: max(marked, MOST_HEADER_ROWS) + 1]]
    depth, named = header_texts(words, reaches, marked)
    header: list[RichText] = []
    for places in named:
        text = RichText()
        for row, column in places:
            text.add(" / " if len(text) else "")
            text.extend(rows[row][column])
        text.hidden.clear()
        header.append(text)
    if not header:
        return rows
    for cell in (cell for row in rows[:depth] for cell in row):
        header[0].hidden.update(cell.hidden)
    return [header, *rows[depth:]]


def repeated(text: RichText) -> RichText:
    """Say a text again in a row that it reaches into from above, where it is short; what it hides counts once."""
    again = RichText()
    if len(text) <= LONGEST_REPEATED:
        again.extend(text)
        again.hidden.clear()
    return again
