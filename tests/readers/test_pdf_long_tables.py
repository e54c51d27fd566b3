"""Tables that the engine ends too early are read to their last row; what stands below them is left alone."""

from __future__ import annotations

from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell, TextItem

from knowledge_mcp.readers.pdf.flow.guessed_tables import tables_of
from knowledge_mcp.readers.pdf.flow.long_tables import with_long_tables
from knowledge_mcp.readers.pdf.lines import line_of
from knowledge_mcp.readers.shared.layout import Table

COLUMNS = 77.0, 109.0, 437.0, 457.0
HEIGHT, PITCH, SPACE = 10.0, 12.0, 11.0


class Page:
    """Text items and the engine's blocks, written row by row."""

    def __init__(self) -> None:
        self.items: list[TextItem] = []
        self.blocks: list[LayoutBlock] = []
        self.y = 100.0

    def row(self, number: str, lines: list[str], *levels: str) -> list[LayoutCell]:
        """Write a row of a table; returns its cells as the engine has them."""
        top = self.y
        cells = [self.cell(COLUMNS[0], top, number)]
        for line in lines:
            self.cell(COLUMNS[1], self.y, line)
            self.y += PITCH
        cells.append(LayoutCell(" ".join(lines), AnnotationRect(COLUMNS[1], top, 300, HEIGHT)))
        cells += [self.cell(x, top, level) for x, level in zip(COLUMNS[2:], levels, strict=True)]
        self.y += SPACE - (PITCH - HEIGHT)
        return cells

    def cell(self, x: float, y: float, text: str) -> LayoutCell:
        """Write one piece of text."""
        if not text:
            return LayoutCell("")
        width = 5.0 * len(text)
        self.items.append(TextItem(text=text, x=x, y=y, width=width, height=HEIGHT, font_height=HEIGHT))
        return LayoutCell(text, AnnotationRect(x, y, width, HEIGHT))

    def block(self, kind: str, top: float, rows: list[list[LayoutCell]] | None = None) -> None:
        """Name what was written from `top` on as the engine does."""
        foot = max(item.y + item.height for item in self.items)
        box = AnnotationRect(COLUMNS[0], top, 400, foot - top)
        self.blocks.append(LayoutBlock(kind=kind, rows=rows, bbox=box))


def words(block: LayoutBlock) -> list[list[str]]:
    return [[cell.text for cell in row] for row in block.rows or []]


def known_rows(page: Page) -> None:
    head = page.row("#", ["Description"], "L1", "L2")
    first = page.row("1.2.1", ["Verify that samples are kept."], "X", "X")
    page.block("table", 100.0, [head, first])


def test_rows_below_that_keep_to_the_columns_are_taken_and_their_paragraphs_go() -> None:
    page = Page()
    known_rows(page)
    top = page.y
    page.row("1.2.2", ["Verify that the clock is set by a signal", "of its own and compared."], "", "X")
    page.row("1.2.3", ["[DELETED]"], "", "")
    page.block("paragraph", top)
    (table,) = with_long_tables(page.blocks, page.items)
    assert words(table)[2:] == [
        ["1.2.2", "Verify that the clock is set by a signal of its own and compared.", "", "X"],
        ["1.2.3", "[DELETED]", "", ""],
    ]


def test_lines_right_below_the_last_row_belong_to_its_cell() -> None:
    page = Page()
    head = page.row("#", ["Description"], "L1", "L2")
    top = page.y
    last = page.row("1.2.1", ["Verify that samples are kept", "until they are read."], "X", "X")
    page.blocks.append(LayoutBlock(kind="table", rows=[head, last], bbox=AnnotationRect(77, 100, 400, top + 10 - 100)))
    last[1].text = "Verify that samples are kept"
    (table,) = with_long_tables(page.blocks, page.items)
    assert words(table)[1] == ["1.2.1", "Verify that samples are kept until they are read.", "X", "X"]


def test_a_table_with_the_same_columns_right_below_continues_and_one_with_a_head_does_not() -> None:
    page = Page()
    known_rows(page)
    for names in (("1.2.2", "1.2.3"), ("#", "1.3.1")):
        top = page.y
        head = ["Description"], "L1", "L2"
        first = page.row(names[0], *(head if names[0] == "#" else (["Keep."], "X", "X")))
        page.block("table", top, [first, page.row(names[1], ["Verify it."], "X", "X")])
    found = with_long_tables(page.blocks, page.items)
    assert [[row[0] for row in words(table)] for table in found] == [["#", "1.2.1", "1.2.2", "1.2.3"], ["#", "1.3.1"]]


def test_text_below_a_table_is_none_of_its_rows() -> None:
    for x, text in ((72.0, "A paragraph at the edge of the page."), (109.0, "One line " + "that goes on " * 6)):
        page = Page()
        known_rows(page)
        top = page.y
        page.cell(x, page.y, text)
        page.block("paragraph", top)
        assert [block.kind for block in with_long_tables(page.blocks, page.items)] == ["table", "paragraph"]
        assert len(words(with_long_tables(page.blocks, page.items)[0])) == 2


def rows_of_two(last: str) -> list[list[str]]:
    """Read the rows "7.3.1" and `last` of a table, which the engine has as one."""
    texts = (("No.", "Text", "Level"), ("7.3.1", "Shut it", "1"), ("", "at once.", ""), (last, "Open it.", "2"))
    edges, heights = (72, 120, 400), [90 + 14 * row for row in range(4)]
    items = [
        TextItem(text, x, y, 40, 10)
        for y, cells in zip(heights, texts, strict=True)
        for x, text in zip(edges, cells, strict=True)
        if text
    ]
    places = {id(item): 0.0 for item in items}
    lines = [line_of([item for item in items if item.y == y], 1, places) for y in heights]
    cells = [
        [LayoutCell(text, AnnotationRect(x, y, 48, high)) for x, text in zip(edges, row, strict=True)]
        for row, y, high in ((texts[0], 90, 12), ((f"7.3.1 {last}", "Shut it at once. Open it.", "1 2"), 104, 40))
    ]
    found = tables_of(LayoutBlock("table", header=cells[0], rows=cells[1:]), lines, 1, items)
    return [row for each in found or () if isinstance(each, Table) for row in each.rows[1:]]


def test_a_row_with_numbers_that_count_on_is_as_many_rows() -> None:
    assert rows_of_two("7.3.2") == [["7.3.1", "Shut it at once.", "1"], ["7.3.2", "Open it.", "2"]]
    assert rows_of_two("7.3.5") == [["7.3.1 7.3.5", "Shut it at once. Open it.", "1 2"]]
