"""Word tables that only lay out text: in one column, or the same clauses in several languages beside each other."""

from __future__ import annotations

import copy
from collections.abc import Iterator

from lxml import etree

from knowledge_mcp.language.multilingual.parallel import MOST_COLUMNS, number_of, parallel_columns
from knowledge_mcp.readers.docx.inline import visible_children
from knowledge_mcp.readers.docx.package import Element, child, value
from knowledge_mcp.readers.docx.styles import Numbering
from knowledge_mcp.readers.docx.tables import Cell, Grid, cell_parts
from knowledge_mcp.readers.shared.containers import local_name


def laid_out(grid: Grid, numbering: Numbering) -> list[Element]:
    """List what is in a table that only lays out text: in one column, or the same clauses in a column a language.

    Each language is read to its end. A row with fewer cells, such as a heading over all, is read with the first one.
    Empty for a table in the ordinary sense.
    """
    if max(map(len, grid.rows), default=0) <= 1:
        return [part for row in grid.rows for cell in row for part in visible_children(cell.element)]
    if not 2 <= grid.columns <= MOST_COLUMNS:
        return []
    whole = [row for row in grid.rows if len(row) == grid.columns]
    if 2 * len(whole) < len(grid.rows):
        return []
    texts = [[" ".join(map(_words, cell_parts(cell.element))) for cell in row] for row in whole]
    found = parallel_columns(
        texts, lambda: [[_number(cell, numbering, place) for cell in row] for place, row in enumerate(whole)]
    )
    if found:  # Word counts row by row
        for part in (part for row in grid.rows for cell in row for part in cell_parts(cell.element)):
            numbering.settle(part)
    return [part for place, columns in enumerate(found) for part in _read(grid, columns, numbering, is_first=not place)]


def _read(grid: Grid, columns: tuple[int, ...], numbering: Numbering, *, is_first: bool) -> Iterator[Element]:
    for row in grid.rows:
        if len(row) == grid.columns:
            *numbers, own = (row[column] for column in columns)
            yield from _numbered(numbers[0], own, numbering) if numbers else visible_children(own.element)
        elif is_first:
            for cell in row:
                yield from visible_children(cell.element)


def _numbered(number: Cell, cell: Cell, numbering: Numbering) -> list[Element]:
    """Give a cell's parts, the first paragraph behind the number in another cell."""
    parts = visible_children(cell.element)
    stated, first = _opening(number, numbering), _opening(cell, numbering)
    if stated is None or first is None:
        return parts
    joined = copy.deepcopy(stated)
    properties = child(joined, "pPr")
    if _words(stated):
        last = [joined, *joined.iterdescendants("{*}r")][-1]  # so that the blank looks as the number does
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
    """Give the first paragraph of a cell that has words or a number."""
    paragraphs = (part for part in cell_parts(cell.element) if local_name(part) == "p")
    return next((each for each in paragraphs if _words(each) or _is_counted(each, numbering)), None)


def _is_counted(paragraph: Element, numbering: Numbering) -> bool:
    properties = child(paragraph, "pPr")
    return numbering.counts(properties, value(properties, "pStyle"))


def _number(cell: Cell, numbering: Numbering, row: int) -> str:
    """Name the clause that a cell begins: by the number typed in it, or by its row where Word counts."""
    first = _opening(cell, numbering)
    if first is None:
        return ""
    return f"row {row}" if _is_counted(first, numbering) else number_of(_words(first))


def _words(part: Element) -> str:
    return "".join(_pieces(part)).strip()


def _pieces(part: Element) -> Iterator[str]:
    for inner in visible_children(part):
        name = local_name(inner)
        yield (inner.text or "") if name == "t" else " " if name in {"tab", "br"} else "".join(_pieces(inner))
