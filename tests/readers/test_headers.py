"""A header of several rows is one: each column is called by all that stands over it, in every format with tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.model.document import BlockKind, Document, Span
from knowledge_mcp.model.lines import SourceLines, line_runs
from knowledge_mcp.readers.docx.reader import DocxReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.readers.shared.richtext import RichText
from knowledge_mcp.readers.shared.tables import Reach, TableCells, header_texts
from tests.readers.docx_files import content_item, docx_bytes, p, table
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of, odt, presentation, workbook

SANDBOX = InProcessSandbox()
OFFICE = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=SANDBOX)
HTML = (
    "<table>{}<tr><th rowspan=2>Case</th><th colspan=2>Flow</th></tr><tr><th>min (kg/h)</th><th>max (kg/h)</th></tr>{}"
    "<tr><td rowspan=2>fire</td><td>1</td><td>2</td></tr><tr><td>3</td><td>4</td></tr></table>"
)
TABLE = "| Case | Flow / min (kg/h) | Flow / max (kg/h) |\n| --- | --- | --- |\n| fire | 1 | 2 |\n| fire | 3 | 4 |"
ROWS = (("Case", "Flow", ""), ("", "min (kg/h)", "max (kg/h)"), ("fire", 1, 2), ("", 3, 4))
MERGED = ((0, 0, 1, 0), (0, 1, 0, 2), (2, 0, 3, 0))
"""First row and column, last row and column of each cell that reaches over several."""


def _docx() -> Document:
    def cell(text: object, properties: str = "") -> str:
        return f"<w:tc><w:tcPr>{properties}</w:tcPr>{p(str(text))}</w:tc>"

    first, wide, on = '<w:vMerge w:val="restart"/>', '<w:gridSpan w:val="2"/>', "<w:vMerge/>"
    rows = (
        f"<w:tr>{cell('Case', first)}{cell('Flow', wide)}</w:tr>",
        f"<w:tr>{cell('', on)}{cell('min (kg/h)')}{cell('max (kg/h)')}</w:tr>",
        f"<w:tr>{cell('fire', first)}{cell(1)}{cell(2)}</w:tr>",
        f"<w:tr>{cell('', on)}{cell(3)}{cell(4)}</w:tr>",
    )
    return DocxReader(sandbox=HERE).read(content_item(docx_bytes(table(*rows))))


def _html() -> Document:
    return HtmlReader(sandbox=SANDBOX).read(item_of(HTML.format("<thead>", "</thead>").encode(), "page.html"))


def _markdown() -> Document:
    return MarkdownReader(sandbox=HERE).read(item_of(f"# Flows\n\n{HTML.format('', '')}\n".encode(), "page.md"))


def _xlsx() -> Document:
    def fill(made: Any) -> None:
        for row in ROWS:
            made.active.append([cell or None for cell in row])
        for top, left, bottom, right in MERGED:
            made.active.merge_cells(start_row=top + 1, start_column=left + 1, end_row=bottom + 1, end_column=right + 1)

    return OFFICE.read(item_of(workbook(fill), "flows.xlsx"))


def _pptx() -> Document:
    def fill(made: Any) -> None:
        slide = made.slides.add_slide(made.slide_layouts[6])
        grid = slide.shapes.add_table(4, 3, 0, 0, 9_000_000, 3_000_000).table
        for index, row in enumerate(ROWS):
            for column, cell in enumerate(row):
                grid.cell(index, column).text = str(cell)
        for top, left, bottom, right in MERGED:
            grid.cell(top, left).merge(grid.cell(bottom, right))

    return OFFICE.read(item_of(presentation(fill), "flows.pptx"))


def _odt() -> Document:
    def cell(text: object, properties: str = "") -> str:
        return f"<table:table-cell {properties}><text:p>{text}</text:p></table:table-cell>"

    deep, wide, covered = (
        'table:number-rows-spanned="2"',
        'table:number-columns-spanned="2"',
        "<table:covered-table-cell/>",
    )
    rows = (
        f"{cell('Case', deep)}{cell('Flow', wide)}{covered}",
        f"{covered}{cell('min (kg/h)')}{cell('max (kg/h)')}",
        f"{cell('fire', deep)}{cell(1)}{cell(2)}",
        f"{covered}{cell(3)}{cell(4)}",
    )
    body = "".join(f"<table:table-row>{row}</table:table-row>" for row in rows)
    return OFFICE.read(item_of(odt(f"<table:table>{body}</table:table>"), "flows.odt"))


@pytest.mark.parametrize("read", [_docx, _html, _markdown, _xlsx, _pptx, _odt])
def test_groups_and_units_over_a_column_name_it_and_merged_rows_can_be_read_alone(read: Callable[[], Document]) -> None:
    document = read()
    assert [b.span.of(document.text) for b in document.blocks if b.kind is BlockKind.TABLE] == [TABLE]


GROUP = {0: Reach({2: 1})}


@pytest.mark.parametrize(
    ("rows", "reaches", "marked", "depth"),
    [
        ([["A", "B", ""], ["", "b", "c"], ["x", "1", "2"]], GROUP, 0, 2),
        ([["A", "B", ""], ["x", "b", "c"], ["y", "d", "e"]], GROUP, 0, 1),  # a row of words has its own first cell
        ([["A", "B", ""], ["", " 1", "2 %"], ["y", "3", "4"]], GROUP, 0, 1),  # numbers are values
        ([["A", "B", "C"], ["", "b", "c"], ["x", "1", "2"]], {}, 0, 1),  # nothing reaches over several columns
        ([["All", "", ""], ["a", "b", "c"], ["x", "1", "2"]], {0: Reach({1: 0, 2: 0})}, 0, 1),  # a title over all
        ([["A", "B", ""], ["", "b", "c"]], GROUP, 0, 1),  # something must be left to be named
        ([["All", "", ""], ["a", "b", "c"], ["x", "1", "2"]], {0: Reach({1: 0, 2: 0})}, 2, 2),
        ([["A"], ["B"], ["C"]], {}, 9, 2),
    ],
)
def test_a_header_has_the_rows_that_are_marked_or_that_its_groups_need(
    rows: list[list[str]], reaches: dict[int, Reach], marked: int, depth: int
) -> None:
    assert header_texts(rows, reaches, marked)[0] == depth


def test_a_text_over_all_columns_names_the_first_one_only() -> None:
    rows = [["All", "", ""], ["a", "b", "c"], ["x", "1", "2"]]
    assert header_texts(rows, {0: Reach({1: 0, 2: 0})}, 2)[1] == [[(0, 0), (1, 0)], [(1, 1)], [(1, 2)]]


@pytest.mark.parametrize("hidden", [(), (3,), (3, 6, 7)])
def test_the_rows_of_a_sheet_are_named_whatever_is_hidden_or_blank_before_them(hidden: tuple[int, ...]) -> None:
    def fill(made: Any) -> None:
        for row in ROWS[:2]:
            made.active.append([cell or None for cell in row])
        made.active.merge_cells("A1:A2")
        made.active.merge_cells("B1:C1")
        for number in range(3, 12):
            if number != 9:
                made.active.append([f"row {number}", number, number])
            else:
                made.active.append([])
        for number in hidden:
            made.active.row_dimensions[number].hidden = True

    document = OFFICE.read(item_of(workbook(fill), "rows.xlsx"))
    block = next(block for block in document.blocks if block.kind is BlockKind.TABLE)
    places = SourceLines(document.text, line_runs(document.text, document.blocks))
    for number in (4, 5, 8, 10, 11):
        start = document.text.index(f"| row {number} ")
        line = Span(start, document.text.index("|", start + len(f"| row {number} |") + 4) + 1)
        assert places.of(line) == (number, number)
    head = Span(block.span.start, block.span.start + 4)
    assert places.of(head) == (1, 1)


def test_cells_reach_so_far_in_all_and_every_word_stays() -> None:
    cells = TableCells()
    for number in range(3_000):
        cells.row()
        cells.open(100, 100)
        cells.close(RichText(f"w{number}"))
    rows = cells.rows()
    assert sum(map(len, rows)) <= 203_000
    assert {cell.text for row in rows for cell in row} >= {f"w{number}" for number in range(100, 3_000)}
