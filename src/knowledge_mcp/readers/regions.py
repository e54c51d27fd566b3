"""In the child: a sheet's rows to its tables and the lines of text between them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.assembly import MOST_TEXT
from knowledge_mcp.readers.pieces import Piece, piece, table_piece
from knowledge_mcp.support.sandbox_worker import Refusal

__all__ = ["MOST_COLUMNS", "regions"]

MOST_COLUMNS = 16_384
"""Most cells of a row: what Excel has."""

_MOST_LINES = 20
_NUMBER = re.compile(r"[-+(]?(?=[.,\s]*\d)[\d.,\s]*+%?\)?")


def regions(rows: Iterable[Sequence[str]]) -> Iterator[Piece]:
    """Write rows as tables and paragraphs: a blank row ends a table, a single cell above one is its title.

    A table that goes on behind blank rows stays one table: where what follows stands in its columns and begins with
    numbers, while its header has none.

    Raises:
        Refusal: a row has more cells than a sheet can have, or the text is more than a document may hold.
    """
    table: list[list[str]] = []
    gap = False
    size = 0
    for row in rows:
        cells = _trimmed(row)
        if not cells:
            gap = bool(table)
            continue
        if len(cells) > MOST_COLUMNS:
            raise Refusal("too_large", f"A row has {len(cells)} cells, more than {MOST_COLUMNS}.")
        if gap and not _goes_on(table, cells):
            yield from _region(table)
            table = []
        gap = False
        table.append(cells)
        size += sum(map(len, cells)) + len(cells)
        if size > 2 * MOST_TEXT:
            raise Refusal("too_large", "The table holds more text than a document may.", suggestion="Split it.")
    yield from _region(table)


def _trimmed(row: Sequence[str]) -> list[str]:
    last = len(row)
    while last and not row[last - 1].strip():
        last -= 1
    return list(row[:last])


def _goes_on(table: Sequence[Sequence[str]], cells: Sequence[str]) -> bool:
    header = next((row for row in table if _filled(row) > 1), None)
    if header is None or len(cells) > len(header) or _filled(cells) < 2:
        return False
    return any(map(_is_number, cells)) and not any(map(_is_number, header))


def _is_number(cell: str) -> bool:
    return len(cell) <= 40 and _NUMBER.fullmatch(cell) is not None


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def _region(table: list[list[str]]) -> Iterator[Piece]:
    """Write one run of rows without a gap: single cells before the first fuller row are lines of text."""
    start = 0
    while start < len(table) and _filled(table[start]) == 1:
        start += 1
    if start == len(table) > _MOST_LINES:
        yield table_piece(table)  # one long column is a list
        return
    for row in table[:start]:
        yield piece(BlockKind.PARAGRAPH, " ".join(cell for cell in row if cell.strip()))
    body = table[start:]
    if not body:
        return
    empty = min(next((k for k, cell in enumerate(row) if cell.strip()), 0) for row in body)
    yield table_piece(row[empty:] for row in body)
