"""A header of two rows is one header, wherever a page cuts the table and whichever row the next page repeats."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.continued import join_tables
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, sheet
from tests.readers.pdf_tables import read, tables

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
            if cell != "" or not at:
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
        ([_UPPER], [_LOWER, *_data(1, 9)]),
        ([_UPPER], [_UPPER, _LOWER, *_data(1, 9)]),
    ],
    ids=[
        "both rows again",
        "the upper row",
        "the lower row",
        "no row",
        "cut below the header",
        "cut and not repeated",
        "cut between its rows",
        "cut between its rows and repeated",
    ],
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

    document = read(pages)

    (table,) = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    rows = ["| Size | Pressure / min | Pressure / max | Mass |", "| --- | --- | --- | --- |"]
    rows += [f"| {' | '.join(map(str, row))} |" for row in _data(1, 9)]
    assert table.span.of(document.text).split("\n") == rows
    assert table.pages == ((2,) if second[:2] == [_UPPER, _LOWER] and first == [_UPPER] else (1, 2))


def _columns(pages: Sheet, rows: Sequence[Sequence[str]], bold: bool = True) -> None:
    """Print a table with a rule above and below its header only, names in bold."""
    for row in rows:
        is_name = not any(map(str.isdigit, "".join(row)))
        for x, cell in zip((LEFT, 180, 270, 360), row, strict=True):
            pages.at(x, pages.y, cell, font="Helvetica-Bold" if is_name and bold else "Helvetica")
        pages.y += 14


@pytest.mark.parametrize(("caption", "bold"), [("Table 1 — Limits", False), ("", True)])
def test_a_header_without_rules_is_one_header_although_a_page_cuts_it(caption: str, bold: bool) -> None:
    pages = sheet()
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(50)), caption)
    _columns(pages, [("Size", "Pressure", "", "Mass")], bold)
    pages.next_page()
    _columns(pages, [("", "min", "max", ""), *(("DN 10", f"{n}.1", f"{n}.9", f"{3 * n}") for n in range(1, 5))], bold)
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(20)))
    assert tables(read(pages))[0][0] == ["Size", "Pressure / min", "Pressure / max", "Mass"]


@pytest.mark.parametrize(
    "last",
    [("Unit", "Edition", "", "2"), ("Pressure", "", "", ""), ("Size", "", "Mass", "")],
    ids=["a line in other columns", "one name", "a column without a name"],
)
def test_words_that_do_not_fit_the_columns_of_the_next_page_are_no_header(last: Sequence[str]) -> None:
    pages = sheet()
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(50)))
    _columns(pages, [last])
    pages.next_page()
    _table(pages, [_LOWER, *_data(1, 4)])
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(20)))
    assert tables(read(pages))[0][0] == ["", "min", "max", ""]


_ITEMS = [("ID", "Text", "Verification"), ("R-1", "It starts.", "Test"), ("R-2", "It runs for", "Test")]


def _two_pages(first: Sequence[Sequence[str]], second: Sequence[Sequence[str]], bold: int) -> list[list[list[str]]]:
    """Read a ruled table over two pages; so many rows of the second page are bold."""
    pages = sheet()
    pages.heading("1 Items")
    for rows, is_bold in ((first, 1), (second, bold)):
        pages.paragraph(*(f"{SENTENCE} {number}" for number in range(44 - len(rows) if rows is first else 0)))
        top, widths = pages.y - 10, (80, 200, 100)
        for at, row in enumerate(rows):
            x = LEFT
            for cell, width in zip(row, widths, strict=True):
                pages.at(x + 4, pages.y + 3, cell, font="Helvetica-Bold" if at < is_bold else "Helvetica")
                x += width
            pages.y += 18
        edges = [LEFT + sum(widths[:count]) for count in range(4)]
        pages.canvas.grid(edges, [HEIGHT - (top + 18 * count) for count in range(len(rows) + 1)])
        pages.y += 16
        if rows is first:
            pages.next_page()
    pages.paragraph(*(f"{SENTENCE} {number}" for number in range(20)))
    return tables(read(pages))


_R3 = ("R-3", "It stops.", "Analysis")


@pytest.mark.parametrize(
    ("header", "bold"),
    [
        (("ID", "Text (continued)", "Verification"), 1),
        (("ID", "Text", "Verif."), 1),
        (("ID (cont.)", "", ""), 1),
    ],
)
def test_a_header_that_is_repeated_in_part_is_no_row(header: Sequence[str], bold: int) -> None:
    (table,) = _two_pages(_ITEMS, [header, _R3, ("R-4", "It rests.", "Test")], bold)
    assert [row[0] for row in table] == ["ID", "R-1", "R-2", "R-3", "R-4"]


@pytest.mark.parametrize("header", [("No", "Value", "Unit"), ("ID", "Text", "Owner"), ("ID", "Text", "Ver")])
def test_another_header_begins_another_table(header: Sequence[str]) -> None:
    assert len(_two_pages(_ITEMS, [header, _R3, ("R-4", "It rests.", "Test")], 1)) == 2


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (("R-2 (continued)", "20 s.", ""), ["R-2", "It runs for 20 s.", "Test"]),
        (("", "20 s.", ""), ["R-2", "It runs for 20 s.", "Test"]),
        (("", "long.", "by ear"), ["R-2", "It runs for long.", "Test by ear"]),
    ],
)
def test_the_rest_of_a_row_belongs_to_the_row_before_the_page(rest: Sequence[str], expected: list[str]) -> None:
    (table,) = _two_pages(_ITEMS, [_ITEMS[0], rest, _R3], 1)
    assert [row[0] for row in table] == ["ID", "R-1", "R-2", "R-3"]
    assert table[2] == expected


def test_a_row_without_a_name_stays_a_row_where_rows_have_none() -> None:
    (table,) = _two_pages([*_ITEMS, ("", "It rests.", "")], [_ITEMS[0], ("", "It cools.", ""), _R3], 1)
    assert [row[1] for row in table[1:]] == ["It starts.", "It runs for", "It rests.", "It cools.", "It stops."]


def test_the_title_of_a_group_does_not_begin_another_table() -> None:
    (table,) = _two_pages(_ITEMS, [("Pumps", "", ""), _R3, ("R-4", "It rests.", "Test")], 1)
    assert [row[0] for row in table] == ["ID", "R-1", "R-2", "Pumps", "R-3", "R-4"]


_PLACES = (72.0, 120.0, 380.0, 400.0, 420.0)


def _piece(rows: Sequence[Sequence[str]], *columns: int) -> Table:
    """Make a table of rows whose cells are in the columns given; words are 14 points wide."""
    lines: list[Line] = []
    for height, row in enumerate(rows):
        lefts = [_PLACES[column] for column, cell in zip(columns, row, strict=True) if cell]
        cells = [cell for cell in row if cell]
        ends = itertools.accumulate(len(cell) + 1 for cell in cells)
        gaps = [(end - 1, left + 14, right) for end, left, right in zip(ends, lefts, lefts[1:], strict=False)]
        y = 100.0 + 14 * height
        lines.append(
            Line(
                1,
                " ".join(cells),
                lefts[0],
                y,
                lefts[-1] + 14,
                y + 10,
                10,
                bold=False,
                font="Times",
                gaps=tuple(gaps),
            )
        )
    return Table(1, [list(row) for row in rows], lines)


_FIRST = [["No.", "Text", "L1", "L2", "L3"], ["1.1", "Oil", "x", "x", "x"], ["1.2", "Air", "", "x", "x"]]


def test_rows_with_an_empty_column_below_a_table_stay_in_their_columns() -> None:
    page = PageLayout(1, 595, 842, [_piece(_FIRST, 0, 1, 2, 3, 4), _piece([["1.3", "Gas", "x", "x"]], 0, 1, 3, 4)])
    join_tables([page])

    (table,) = page.elements
    assert isinstance(table, Table)
    assert table.rows == [*_FIRST, ["1.3", "Gas", "", "x", "x"]]


@pytest.mark.parametrize("name", ["Unit", "2.1.1"])
def test_tables_whose_rows_do_not_count_on_are_two(name: str) -> None:
    pieces = [_piece(_FIRST, 0, 1, 2, 3, 4), _piece([[name, "Gas", "x", "x"], ["1.3", "Air", "x", "x"]], 0, 1, 3, 4)]
    page = PageLayout(1, 595, 842, [*pieces])
    join_tables([page])
    assert len(page.elements) == 2
