"""Word tables as Markdown rows: merged cells, header rows, nested tables; and tables that only lay out text."""

from __future__ import annotations

import copy
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from lxml import etree

from knowledge_mcp.language.openings import note_in
from knowledge_mcp.language.printed import is_note_of_table
from knowledge_mcp.readers.docx.inline import paragraphs_of, visible_children, words_in
from knowledge_mcp.readers.docx.package import MAX_ELEMENTS, TooManyElementsError
from knowledge_mcp.readers.docx.styles import Numbering
from knowledge_mcp.readers.shared.containers import Element, child, is_on, local_name, value
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.richtext import RichText
from knowledge_mcp.readers.shared.tables import (
    BLANK,
    FEWEST_ROWS,
    MOST_COLUMNS,
    Reach,
    number_of,
    parallel_columns,
    repeated,
    with_one_header,
)

_MAX_SPAN = 200
_MAX_NESTING = 8
_TRANSPARENT = frozenset({"sdt", "sdtContent", "customXml", "ins", "moveTo", "AlternateContent", "Choice", "smartTag"})

CellText = Callable[[Sequence[Element]], RichText]


@dataclass(slots=True)
class Cell:
    """One cell: its first grid column, how many it spans, whether it continues the cell above, and its element."""

    column: int
    span: int
    continues: bool
    element: Element


@dataclass(slots=True)
class Grid:
    """The rows of cells of a table, how many of the first rows are marked as header, and the number of columns."""

    rows: list[list[Cell]] = field(default_factory=list[list[Cell]])
    headers: int = 0
    columns: int = 0


def grid_rows(table: Element) -> Grid:
    """Lay out a `tbl` on its grid; rows and cells deleted by a tracked change are left out."""
    grid = Grid()
    for row in _parts(table, "tr"):
        properties = child(row, "trPr")
        if child(properties, "del") is not None:
            continue
        column = _number(value(properties, "gridBefore"), 0)
        cells: list[Cell] = []
        for element in _parts(row, "tc"):
            settings = child(element, "tcPr")
            if child(settings, "cellDel") is not None:
                continue
            span = max(_number(value(settings, "gridSpan"), 1), 1)
            merge = child(settings, "vMerge")
            is_merged = merge is not None and value(settings, "vMerge") != "restart"
            if value(settings, "hMerge") == "continue" and cells:
                cells[-1].span += span
            else:
                cells.append(Cell(column, span, is_merged, element))
            column += span
        if is_on(properties, "tblHeader") and grid.headers == len(grid.rows):
            grid.headers += 1
        grid.rows.append(cells)
    _leave_out_columns(grid)
    return grid


def _leave_out_columns(grid: Grid) -> None:
    """Renumber the columns so that only those count in which a cell begins; others have no text."""
    begun = sorted({cell.column for row in grid.rows for cell in row})
    places = {column: place for place, column in enumerate(begun)}
    for cell in (cell for row in grid.rows for cell in row):
        cell.column, cell.span = places[cell.column], bisect_left(begun, cell.column + cell.span) - places[cell.column]
    grid.columns = len(begun)


def take_notes(grid: Grid) -> list[Element]:
    """Take out the last rows that span the table and begin with a note's word or raised mark; return their content."""
    taken: list[Element] = []
    while len(grid.rows) > max(FEWEST_ROWS, grid.headers + 1) and _is_note(grid.rows[-1], grid.columns):
        taken[:0] = visible_children(grid.rows.pop()[0].element)
    return taken


def _is_note(row: Sequence[Cell], columns: int) -> bool:
    first = next(iter(_parts(row[0].element, "p")), None) if len(row) == 1 and row[0].span == columns else None
    if first is None:
        return False
    words = words_in(first)
    if note_in(words) is not None or is_note_of_table(words):
        return True
    run = next((part for part in visible_children(first) if local_name(part) == "r" and words_in(part)), None)
    return run is not None and value(child(run, "rPr"), "vertAlign") == "superscript"


class TableReader:
    """Make Markdown rows of tables.

    `cell_text` reads the elements of one paragraph, including its label; it is called in document order.
    """

    def __init__(self, cell_text: CellText) -> None:
        self._cell_text = cell_text

    def rows(self, grid: Grid) -> list[list[RichText]]:
        """Read all cells; the first row returned is the header.

        A short text that spans rows is repeated in each, so that a row can be understood alone. A text that spans
        columns is in the first only; in a header it applies to each of them, and several header rows become one. Rows
        without text are left out.

        Raises:
            TooManyElementsError: the table has more cells than a document may have elements.
        """
        columns = min(grid.columns, _MAX_SPAN)
        if columns * len(grid.rows) > MAX_ELEMENTS:
            raise TooManyElementsError(f"a table of {columns} columns and {len(grid.rows)} rows")
        above: dict[int, RichText] = {}
        built: list[list[RichText]] = []
        reaches: dict[int, Reach] = {}
        headers = 0
        for index, cells in enumerate(grid.rows):
            row = [BLANK] * columns
            reach = Reach()
            own = False
            beyond: list[RichText] = []
            for cell in cells:
                text = self._content(cell.element)
                own = own or not text.is_blank
                if cell.column >= len(row):  # wider than any real table: keep the words anyway
                    beyond.append(text)
                    continue
                if cell.continues and text.is_blank:
                    reach.down.add(cell.column)
                    text = above.get(cell.column, text)
                    row[cell.column] = repeated(text)
                else:
                    row[cell.column] = text
                reach.across.update(dict.fromkeys(range(cell.column + 1, cell.column + cell.span), cell.column))
                above[cell.column] = text
            if beyond:
                row[-1] = _joined(row[-1], *beyond)
            if own:
                reaches[len(built)] = reach
                built.append(row)
                headers += index < grid.headers
        return with_one_header(built, reaches, headers)

    def _content(self, cell: Element, depth: int = 0) -> RichText:
        """Read a cell as one line: paragraphs separated by blanks, nested tables as "a: b; c: d"."""
        content = RichText()
        for parts in paragraphs_of(_parts(cell, "p", "tbl")):
            is_table = local_name(parts[0]) == "tbl"
            text = self._inner_table(parts[0], depth + 1) if is_table else self._cell_text(parts)
            if text.is_blank:
                continue
            if len(content):
                content.add(" ")
            content.extend(text)
        return content

    def _inner_table(self, table: Element, depth: int) -> RichText:
        flat = RichText()
        if depth > _MAX_NESTING:
            return flat
        for cells in grid_rows(table).rows:
            texts = [self._content(cell.element, depth) for cell in cells]
            for index, text in enumerate(t for t in texts if not t.is_blank):
                flat.add(("; " if len(flat) else "") if index == 0 else ": " if index == 1 else ", ")
                flat.extend(text)
        return flat


def _joined(first: RichText, *others: RichText) -> RichText:
    joined = RichText()
    joined.extend(first)
    for each in others:
        joined.add(" ")
        joined.extend(each)
    return joined


def _parts(element: Element, *names: str) -> list[Element]:
    """Return rows, cells, or the paragraphs and tables of a cell, also those in content controls and insertions."""
    found: list[Element] = []
    for part in visible_children(element):
        if local_name(part) in names:
            found.append(part)
        elif local_name(part) in _TRANSPARENT:
            found.extend(_parts(part, *names))
    return found


def _number(text: str | None, default: int) -> int:
    return min(whole_number(text, default), _MAX_SPAN)


# ---- tables that only lay out text: in one column, or the same clauses in several languages side by side ------


def layout_content(grid: Grid, numbering: Numbering) -> list[Element]:
    """Return the content of a table that only lays out text, empty for an ordinary table.

    Such a table has one column, or the same clauses in one column per language. Each language is read to its end. A row
    with fewer cells, such as a common heading, is read with the first language.
    """
    if max(map(len, grid.rows), default=0) <= 1:
        return [part for row in grid.rows for cell in row for part in visible_children(cell.element)]
    if not 2 <= grid.columns <= MOST_COLUMNS:
        return []
    whole = [row for row in grid.rows if len(row) == grid.columns]
    if 2 * len(whole) < len(grid.rows):
        return []
    texts = [[" ".join(map(words_in, _parts(cell.element, "p", "tbl"))) for cell in row] for row in whole]
    found = parallel_columns(
        texts, lambda: [[_clause_of(cell, numbering, place) for cell in row] for place, row in enumerate(whole)]
    )
    if found:  # Word counts row by row
        for part in (part for row in grid.rows for cell in row for part in _parts(cell.element, "p", "tbl")):
            numbering.settle(part)
    return [
        part
        for place, columns in enumerate(found)
        for part in _read_columns(grid, columns, numbering, is_first=not place)
    ]


def _read_columns(grid: Grid, columns: tuple[int, ...], numbering: Numbering, *, is_first: bool) -> Iterator[Element]:
    for row in grid.rows:
        if len(row) == grid.columns:
            *numbers, own = (row[column] for column in columns)
            yield from _numbered(numbers[0], own, numbering) if numbers else visible_children(own.element)
        elif is_first:
            for cell in row:
                yield from visible_children(cell.element)


def _numbered(number: Cell, cell: Cell, numbering: Numbering) -> list[Element]:
    """Return a cell's parts; the number in another cell is put before its first paragraph."""
    parts = visible_children(cell.element)
    stated, first = _opening(number, numbering), _opening(cell, numbering)
    if stated is None or first is None:
        return parts
    joined = copy.deepcopy(stated)
    properties = child(joined, "pPr")
    if words_in(stated):
        last = [joined, *joined.iterdescendants("{*}r")][-1]  # so that the tab has the look of the number
        etree.SubElement(last, "tab")
        if properties is not None:
            joined.remove(properties)
        own = child(first, "pPr")
        if own is not None:
            joined.insert(0, copy.deepcopy(own))
        numbering.settle(joined, first)
    else:
        numbering.settle(joined, stated)
    joined.extend(copy.deepcopy(part) for part in first if local_name(part) != "pPr")
    return [joined if part is first else part for part in parts]


def _opening(cell: Cell, numbering: Numbering) -> Element | None:
    """Return the first paragraph of a cell that has words or a number."""
    paragraphs = (part for part in _parts(cell.element, "p", "tbl") if local_name(part) == "p")
    return next((each for each in paragraphs if words_in(each) or _is_counted(each, numbering)), None)


def _is_counted(paragraph: Element, numbering: Numbering) -> bool:
    properties = child(paragraph, "pPr")
    return numbering.counts(properties, value(properties, "pStyle"))


def _clause_of(cell: Cell, numbering: Numbering, row: int) -> str:
    """Return a name of the clause that a cell begins: its typed number, or its row if Word counts it."""
    first = _opening(cell, numbering)
    if first is None:
        return ""
    return f"row {row}" if _is_counted(first, numbering) else number_of(words_in(first))
