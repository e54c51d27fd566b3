"""A header of two rows is one header, wherever a page cuts the table and whichever row the next page repeats."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, item_of, sheet

_WIDTHS, _ROW = (100, 80, 80, 80), 18
_Row = Sequence[str | None]
_UPPER: _Row = ("Size", "Pressure", None, "Mass")
_LOWER: _Row = ("", "min", "max", "")
_NAMED: _Row = ("Size", "min", "max", "Mass")


def _data(first: int, last: int) -> list[_Row]:
    return [(f"DN {10 * size}", f"{size}.1", f"{size}.9", f"{3 * size}") for size in range(first, last + 1)]


def _table(pages: Sheet, rows: Sequence[_Row]) -> None:
    """Print a ruled table; a cell None is merged with the one left of it, an empty one with the one above."""
    top, edges = pages.y - 10, [LEFT + sum(_WIDTHS[:count]) for count in range(len(_WIDTHS) + 1)]
    for at, row in enumerate(rows):
        upper, lower = HEIGHT - top - _ROW * at, HEIGHT - top - _ROW * (at + 1)
        for x, right, cell in zip(edges, edges[1:], row, strict=False):
            pages.at(
                x + 4, pages.y + 3, cell or "", font="Helvetica-Bold" if cell and "DN" not in cell else "Helvetica"
            )
            if cell is not None:
                pages.canvas.line(x, upper, x, lower)
            if cell != "":
                pages.canvas.line(x, upper, right, upper)
            pages.canvas.line(x, lower, right, lower) if at + 1 == len(rows) else None
        pages.canvas.line(edges[-1], upper, edges[-1], lower)
        pages.y += _ROW
    pages.y += 16


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([_UPPER, _LOWER, *_data(1, 5)], [_UPPER, _LOWER, *_data(6, 9)]),
        ([_UPPER, _LOWER, *_data(1, 5)], [_UPPER, *_data(6, 9)]),
        ([_UPPER, _LOWER, *_data(1, 5)], [_NAMED, *_data(6, 9)]),
        ([_UPPER, _LOWER, *_data(1, 5)], _data(6, 9)),
        ([_UPPER, _LOWER], [_UPPER, _LOWER, *_data(1, 9)]),
        ([_UPPER, _LOWER], _data(1, 9)),
    ],
    ids=["both rows again", "the upper row", "the lower row", "no row", "cut below the header", "cut and not repeated"],
)
def test_a_header_of_two_rows_is_one_header_over_pages(first: Sequence[_Row], second: Sequence[_Row]) -> None:
    pages = sheet()
    pages.heading("1 Limits")
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(10)))
    pages.y = HEIGHT - 60 - _ROW * len(first)
    _table(pages, first)
    pages.next_page()
    _table(pages, second)
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(10, 20)))

    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))

    (table,) = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    rows = ["| Size | Pressure / min | Pressure / max | Mass |", "| --- | --- | --- | --- |"]
    rows += [f"| {' | '.join(map(str, row))} |" for row in _data(1, 9)]
    assert table.span.of(document.text).split("\n") == rows
    assert table.pages == (1, 2)
