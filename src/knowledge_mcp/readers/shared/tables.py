"""Tables whose cells reach over others, and headers that stand in several rows: what each column is called."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.quantities.units import is_unit
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.pieces import Piece, rich_piece
from knowledge_mcp.readers.shared.richtext import RichText, table_text

_NUMBER = re.compile(r"[-+−(]?[$€£¥]?(?=[.,\s]*\d)[\d.,\s]*+[%°$€£¥]?\)?")
MOST_HEADER_ROWS = 4
"""Rows of a header that no mark says to be one: a group, a name, a symbol and a unit at the most."""

_UNITS, _LONGEST_UNIT = 2, 20
"""Units of a row of them at least, letters of its longest one at least, and letters of a unit at most."""

LONGEST_REPEATED = 80
"""Characters of a text that is said again in each row it reaches into: longer ones would drown the rows."""

BLANK = RichText()
"""What stands where no cell begins; never changed."""

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
    number is none. A row of units belongs to it too, where it names nothing in its first column.

    Args:
        rows: a table's rows, or the first of them; cells by column.
        reaches: by a row's index, where its texts reach, if they reach anywhere.
        marked: how many rows the table itself marks as its header.

    Returns:
        How many rows the header has, and for each column the places of its texts from above; (1, []) where one row is
        all of it.
    """
    depth = min(marked, len(rows) - 1) if marked > 1 else 1
    most = min(len(rows) - 1, MOST_HEADER_ROWS)
    while marked < 2 and depth < most and _is_below(rows, reaches, depth):
        depth += 1
    depth += marked < 2 and depth < most and _are_units(rows[depth])
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


def _are_units(row: Sequence[str]) -> bool:
    """Tell a row of units below a header: "", "MPa", "%". Letters alone, as "A" and "V", may be classes."""
    said = [cell.strip() for cell in row[1:] if cell.strip()]
    if row[0].strip() or len(said) < _UNITS or max(map(len, said)) < _UNITS:
        return False
    return all(len(cell) <= _LONGEST_UNIT and is_unit(cell) for cell in said)


def _groups(row: Sequence[str], reach: Reach) -> bool:
    """Tell whether a text of a row reaches over several columns, but not over all."""
    filled = {column for column, cell in enumerate(row) if cell.strip()}
    return len(filled) > 1 and not filled.isdisjoint(reach.across.values())


def worded_header(rows: Sequence[Sequence[str]], reaches: Mapping[int, Reach]) -> list[Sequence[str]]:
    """Write a header of several rows as one: "Flow / Rated (kg/h)"; arguments as `header_texts`."""
    depth, named = header_texts(rows[: MOST_HEADER_ROWS + 1], reaches)
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


_MOST_SPANNED = 100
_MOST_REACHED = 200_000
"""Places that the cells of a table may reach into beside their own; beyond, each takes its own place alone. Without an
end to it a page of some kilobytes would be a table of gigabytes."""
_MOST_COLUMNS = 1000


class TableCells:
    """Collect rows and cells; `depth` counts tables within this one, whose words stay in their cell."""

    def __init__(self) -> None:
        self.depth = 1
        self.in_head = False
        self._rows: list[list[RichText]] = []
        self._reaches: dict[int, Reach] = {}
        self._spanned: dict[int, int] = {}
        self._above: dict[int, RichText] = {}
        self._heads: list[bool] = []
        self._own: list[bool] = []
        self._columns = 1
        self._deep = 1
        self._reached = 0

    def row(self) -> None:
        """Begin a row; a short text of a cell above that reaches into it is said again."""
        self._end_row()
        self._rows.append([])
        self._heads.append(self.in_head)
        self._skip()

    def open(self, columns: int = 1, rows: int = 1, *, is_head: bool = False) -> None:
        """Begin a cell, which reaches over so many columns and rows."""
        if not self._rows:
            self.row()
        self._own.append(is_head)
        self._columns, self._deep = (min(max(each, 1), _MOST_SPANNED) for each in (columns, rows))
        reached = self._columns * self._deep - 1
        if self._reached + reached > _MOST_REACHED:
            self._columns = self._deep = 1
        else:
            self._reached += reached

    def close(self, rich: RichText) -> None:
        """End a cell."""
        if not self._rows:
            self.row()
        row = self._rows[-1]
        first = len(row)
        for extra in range(self._columns):
            if len(row) >= _MOST_COLUMNS and extra:
                break
            if self._deep > 1:
                self._spanned[len(row)] = self._deep - 1
                self._above[len(row)] = rich if not extra else BLANK
            if extra:
                self._reach().across[len(row)] = first
            row.append(rich if not extra else BLANK)
        self._skip()
        self._columns = self._deep = 1

    def piece(self) -> Piece:
        """Write the table."""
        rows = self.rows()
        return rich_piece(BlockKind.TABLE, table_text(rows) if rows else RichText())

    def rows(self) -> list[list[RichText]]:
        """Give the rows that say anything, the header as one."""
        self._end_row()
        rows: list[list[RichText]] = []
        reaches: dict[int, Reach] = {}
        marked = 0
        for index, (row, is_head) in enumerate(zip(self._rows, self._heads, strict=True)):
            reach = self._reaches.get(index, Reach())
            if any(not cell.is_blank for at, cell in enumerate(row) if at not in reach.down):
                marked += is_head and marked == len(rows)
                reaches[len(rows)] = reach
                rows.append(row)
        return with_one_header(rows, reaches, marked)

    def _end_row(self) -> None:
        """Take a row for one of the header where all its cells are marked so, and they are several."""
        if len(self._own) > 1 and all(self._own):
            self._heads[-1] = True
        self._own = []

    def _reach(self) -> Reach:
        return self._reaches.setdefault(len(self._rows) - 1, Reach())

    def _skip(self) -> None:
        row = self._rows[-1]
        while self._spanned.get(len(row), 0) > 0:
            self._spanned[len(row)] -= 1
            self._reach().down.add(len(row))
            row.append(repeated(self._above.get(len(row), BLANK)))
