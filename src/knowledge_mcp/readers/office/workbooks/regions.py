"""Child process: split the rows of a sheet into tables and lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.assembly import MOST_TEXT
from knowledge_mcp.readers.shared.pieces import Piece, at_lines, piece, table_piece
from knowledge_mcp.readers.shared.tables import MOST_HEADER_ROWS, Reach, is_number, worded_header
from knowledge_mcp.support.sandbox_worker import Refusal

MOST_COLUMNS = 16_384
"""Most cells in a row: Excel's limit."""

_Numbered: TypeAlias = tuple[int, list[str]]
_MOST_LINES = 20
_MOST_FORM_ROWS = 20
"""Most rows of a form above a table: who, when, what; longer ones are tables."""
_PAIR = 2
"""Cells of a label with its value; a table of two columns looks the same."""


def regions(rows: Iterable[tuple[int, Sequence[str]]], reaches: Mapping[int, Reach]) -> Iterator[Piece]:
    """Write numbered rows as tables and paragraphs: a blank row ends a table, a single cell above one is its title.

    A table continues after blank rows if the rows that follow are within its columns and contain numbers, while its
    header contains none. `reaches` maps row numbers to the reach of their merged cells.

    Raises:
        Refusal: a row has more cells than a sheet can have, or the text is longer than a document may be.
    """
    table: list[_Numbered] = []
    gap = False
    size = 0
    for number, row in rows:
        cells = _trimmed(row)
        if not cells:
            gap = bool(table)
            continue
        if len(cells) > MOST_COLUMNS:
            raise Refusal("too_large", f"A row has {len(cells)} cells, more than {MOST_COLUMNS}.")
        if gap and not _continues(table, cells):
            yield from _region(table, reaches)
            table = []
        gap = False
        table.append((number, cells))
        size += sum(map(len, cells)) + len(cells)
        if size > 2 * MOST_TEXT:
            raise Refusal("too_large", "The table contains more text than a document may have.", suggestion="Split it.")
    yield from _region(table, reaches)


def _trimmed(row: Sequence[str]) -> list[str]:
    last = len(row)
    while last and not row[last - 1].strip():
        last -= 1
    return list(row[:last])


def _continues(table: Sequence[_Numbered], cells: Sequence[str]) -> bool:
    header = next((row for _, row in table if _filled(row) > 1), None)
    widest = max((len(row) for _, row in table[: MOST_HEADER_ROWS + 1]), default=0)  # a group's own cell is the first
    if header is None or len(cells) > widest or _filled(cells) < 2:
        return False
    return any(map(is_number, cells)) and not any(map(is_number, header))


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def _first(row: Sequence[str]) -> int:
    """Return the column of the first filled cell."""
    return next((column for column, cell in enumerate(row) if cell.strip()), 0)


def _region(table: list[_Numbered], reaches: Mapping[int, Reach]) -> Iterator[Piece]:
    """Write rows without a gap; single cells before the first row with several cells are lines of text."""
    start = 0
    while start < len(table) and _filled(table[start][1]) == 1:
        start += 1
    if start == len(table) > _MOST_LINES:
        yield _table(table, {})  # one long column is a list
        return
    for number, row in table[:start]:
        yield at_lines(piece(BlockKind.PARAGRAPH, " ".join(cell for cell in row if cell.strip())), number, number)
    table = table[start:]
    start = _header_at(table, reaches)
    for number, row in table[:start]:
        cells = [cell.strip() for cell in row if cell.strip()]
        words = ": ".join(cells) if len(cells) == _PAIR and cells[0][-1] != ":" else " ".join(cells)
        yield at_lines(piece(BlockKind.PARAGRAPH, words), number, number)
    body = table[start:]
    if not body:
        return
    empty = min(_first(row) for _, row in body)
    found = {
        index: Reach({at - empty: of - empty for at, of in reach.across.items()}, {at - empty for at in reach.down})
        for index, (number, _) in enumerate(body[:MOST_HEADER_ROWS])
        if (reach := reaches.get(number))
    }
    yield _table([(number, row[empty:]) for number, row in body], found)


def _header_at(rows: Sequence[_Numbered], reaches: Mapping[int, Reach]) -> int:
    """Return the index of the row with the names of all columns, if there is a form above it; otherwise 0.

    The rows of a form begin with a label, and they are short or the label ends with a colon. A short row with a text
    that spans columns may name a group of columns.
    """
    empty = min((_first(row) for _, row in rows), default=0)
    width = max((len(row) for _, row in rows), default=0) - empty
    for index, (number, row) in enumerate(rows[:_MOST_FORM_ROWS]):
        filled, label = _filled(row), row[empty].strip()
        if width == filled > _PAIR and not any(map(is_number, row)):
            return index if index + 1 < len(rows) else 0
        is_short = 2 * filled <= width and not reaches.get(number, Reach()).across
        if not label or not (label.endswith(":") or is_short):
            break
    return 0


def _table(rows: Sequence[_Numbered], reaches: Mapping[int, Reach]) -> Piece:
    """Write rows as a table; header rows become one, and the numbers of the original rows are kept."""
    first, last = rows[0][0], rows[-1][0]
    written = worded_header([row for _, row in rows], reaches)
    numbers = [first, *(number for number, _ in rows[len(rows) - len(written) + 1 :])]
    follow = numbers == list(range(first, last + 1))
    return at_lines(table_piece(written), first, last, () if follow else [first, *numbers])
