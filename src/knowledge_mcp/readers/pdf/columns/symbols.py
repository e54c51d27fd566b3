"""Rows of a name and what is said of it: symbols below a formula, after "where", labels ("Date: 12 May"), and amounts.

Each begins a paragraph. Without that, the two columns would be a table whose first row is its header, or one paragraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from knowledge_mcp.language.openings import begins_symbol, explains_symbols, is_label, is_symbol
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, letters_of

_NEAR = 3.0
"""Maximum distance in points between the left edges of the texts of one column."""
_ROW = 0.6
"""Maximum difference of the heights of the texts of a row, as a share of the font size: an index is lower."""
_LONGEST_WORD = 12
"""Longest word before a symbol in its row: "where", "in which"."""
_LABELLED, _FEWEST_LABELS, _FEWEST_AMOUNTS = 2, 2, 3
"""Columns of a row with a label or an amount, and fewest such rows."""
_AMOUNT = re.compile(r"[-+−(]?[$€£¥]?\s?\d{1,3}(?:[ ,.]?\d{3}){0,4}(?:[.,]\d{1,4})?\)?(?:\s?(?:%|[A-Z]{3}|[$€£¥]))?")
_STOPS = (".", ";", ":")
_MOST_COLUMNS = 3
"""Most columns of an explanation: the symbol, its meaning, its unit."""


def explain_symbols(pages: Sequence[PageLayout]) -> dict[int, bool]:
    """Find the symbols explained below formulas, and labels; tables that were guessed of them become lines, in place.

    Returns:
        By id of a line, True if it begins a paragraph, False if it continues one.
    """
    found = _Explanations()
    for page in pages:
        elements: list[Line | Table] = []
        rows = list(_rows(page.elements))
        labelled = _labelled(rows)
        for place, row in enumerate(rows):
            if isinstance(row, Table):
                elements += found.table(row)
            else:
                found.row(row, is_labelled=place in labelled)
                elements += row
        page.elements = elements
    return found.begins


class _Explanations:
    """Follow the rows of a document: below "where" or a label, up to the first row that is not in the columns."""

    def __init__(self) -> None:
        self.begins: dict[int, bool] = {}
        self._last = ""
        self._columns: list[float] | None = None  # left edges of symbols and meanings; empty before the first symbol

    def row(self, lines: Sequence[Line], *, is_labelled: bool) -> None:
        pieces = _pieces(lines)
        first = pieces[0][2] if len(pieces) == 1 or len(pieces[0][2]) <= _LONGEST_WORD else ""
        if is_labelled:
            self._begin(lines, [piece[0] for piece in pieces])
        elif explains_symbols(first):
            self._columns = [] if len(pieces) == 1 else None
            if len(pieces) > 2 and is_symbol(pieces[1][2]):
                self._begin(lines, [piece[0] for piece in pieces[1:]])
        elif self._columns is None or lines[0].code:
            self._columns = None
        elif self._is_entry(pieces):
            self._begin(lines, [piece[0] for piece in pieces])
        elif any(abs(pieces[0][0] - edge) <= _NEAR for edge in self._columns[1:]):
            self.begins.update(dict.fromkeys(map(id, lines), False))
        elif len(self._columns) == 1 or (lines[0].text[:1].islower() and not self._last.endswith(_STOPS)):
            # what is said of the symbol may wrap to the edge of the symbol
            self._columns = None if lines[-1].text.endswith(".") else self._columns
        else:
            if self._columns:
                self.begins[id(lines[0])] = True
            self._columns = None
        self._last = lines[-1].text

    def table(self, table: Table) -> list[Line] | list[Table]:
        """Return the lines of a table that explains symbols, and any other table."""
        is_labelled = all(is_label(row[0]) for row in table.rows)
        rows = [] if table.edges or (self._columns is None and not is_labelled) else _lines_of_rows(table)
        if not rows:
            self._columns = None
            return [table]
        for lines in rows:
            self._begin(lines, [piece[0] for line in lines for piece in line.pieces])
        return [line for lines in rows for line in lines]

    def _is_entry(self, pieces: Sequence[tuple[float, float, str]]) -> bool:
        first, _, words = pieces[0]
        is_below = not self._columns or abs(first - self._columns[0]) <= _NEAR
        return is_below and ((len(pieces) > 1 and is_symbol(words)) or begins_symbol(words))

    def _begin(self, lines: Sequence[Line], edges: list[float]) -> None:
        self._columns = edges
        self.begins.update((id(line), not at) for at, line in enumerate(lines))


def _is_name(cell: str) -> bool:
    return is_symbol(cell) or is_label(cell)


def _pieces(lines: Sequence[Line]) -> list[tuple[float, float, str]]:
    return [piece for line in lines for piece in line.pieces]


def _labelled(rows: Sequence[list[Line] | Table]) -> set[int]:
    """Return which rows begin with a label, or end in an amount, if those below each other have both columns in common.

    What is said of a label begins at one edge and may wrap; amounts end at one edge, in three rows or more.
    """
    found: set[int] = set()
    run: list[int] = []
    last: tuple[bool, float, float, float] | None = None
    for place, row in enumerate([*rows, []]):
        pieces = _pieces(row) if isinstance(row, list) and not any(line.code for line in row) else []
        kind = _kind_of(pieces)
        if last is not None and last[0] and len(pieces) == 1 and abs(pieces[0][0] - last[2]) <= _NEAR:
            continue  # what is said of the label wraps
        now = (kind, pieces[0][0], pieces[1][0], pieces[1][1]) if kind is not None else None
        if now is None or last is None or not _are_alike(last, now):
            found.update(
                run if last is not None and len(run) >= (_FEWEST_LABELS if last[0] else _FEWEST_AMOUNTS) else ()
            )
            run = []
        run += [place] if now is not None else []
        last = now
    return found


def _kind_of(pieces: Sequence[tuple[float, float, str]]) -> bool | None:
    """Return True for a label and what is said of it, False for a name and an amount, None for another row."""
    if len(pieces) != _LABELLED:
        return None
    if is_label(pieces[0][2]):
        return True
    return False if _AMOUNT.fullmatch(pieces[1][2]) and any(map(str.isalpha, pieces[0][2])) else None


def _are_alike(one: tuple[bool, float, float, float], other: tuple[bool, float, float, float]) -> bool:
    edge = 2 if one[0] else 3
    return one[0] == other[0] and all(abs(one[at] - other[at]) <= _NEAR for at in (1, edge))


def _rows(elements: Sequence[Line | Table]) -> Iterator[list[Line] | Table]:
    """Yield the lines of a page row by row, and its tables."""
    row: list[Line] = []
    for element in elements:
        if row and not (isinstance(element, Line) and _is_beside(row[-1], element)):
            yield row
            row = []
        if isinstance(element, Table):
            yield element
        else:
            row.append(element)
    if row:
        yield row


def _is_beside(line: Line, other: Line) -> bool:
    return other.x0 > line.x0 and abs(line.y0 - other.y0) <= _ROW * line.size


def _lines_of_rows(table: Table) -> list[list[Line]]:
    """List the lines of each row of a table of symbols and their meanings; empty if it is another table."""
    if len(table.rows[0]) > _MOST_COLUMNS or not all(_is_name(row[0]) and row[1] for row in table.rows):
        return []
    rest = sorted(table.lines, key=lambda line: (line.page, round(line.y0 / _NEAR), line.x0))
    found: list[list[Line]] = []
    for row in table.rows:
        words, letters = letters_of("".join(row)), ""
        lines: list[Line] = []
        while rest and len(letters) < len(words):
            lines.append(rest.pop(0))
            letters += letters_of(lines[-1].text)
        if letters != words:
            return []
        found.append(lines)
    return found
