"""Extends tables that the engine ends too early by rows below them whose words fit their columns.

A table without lines is guessed from its first rows. If cells have several lines, the engine takes the following rows
as paragraphs, which mix the words of all columns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import box_of, is_rotated, rows_of, stands_in

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, LayoutCell, TextItem

_FLUSH = 1.5
"""Maximum distance in points between the left edges of lines of one cell."""
_CLOSE = 0.6
"""Maximum gap between lines of one cell as a share of their height; more is space between rows."""
_SPACE = 1.3
"""Maximum space above the next row, as a factor of the widest space between rows of the table."""
_EDGE = 3.0
"""Points by which words may begin to the left of their column."""
_WIDER = 12.0
"""Points by which words of the last column may be wider than all above."""


@dataclass(slots=True)
class _Cell:
    """A cell that grows line by line: its words and its edges, from the top left of the page, in points."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    def add(self, other: _Cell) -> None:
        """Add what follows to the right or below."""
        self.text = f"{self.text} {other.text}"
        self.left, self.top = min(self.left, other.left), min(self.top, other.top)
        self.right, self.bottom = max(self.right, other.right), max(self.bottom, other.bottom)


_Row = list[_Cell | None]


def with_long_tables(blocks: Sequence[LayoutBlock], items: Sequence[TextItem]) -> list[LayoutBlock]:
    """Extend the engine's tables by the rows below that fit their columns.

    Args:
        blocks: blocks of a page, all with boxes.
        items: items of the page.

    Returns:
        The blocks, without those that a table has absorbed completely.
    """
    found = list(blocks)
    rows: list[list[TextItem]] | None = None
    for table in sorted((block for block in blocks if block.kind == "table"), key=_top):
        if not any(block is table for block in found):
            continue  # it continues the table above
        rows = rows if rows is not None else rows_of([item for item in items if not is_rotated(item)])
        longest = table
        while True:
            longer, below = _lengthened(longest, found, rows), None
            if longer is None:
                below = _going_on(longest, found, rows)
                longer = _joined(longest, below) if below is not None else None
            if longer is None:
                break
            parts = [block for block in found if block is not below]
            changed = (longer if block is longest else _outside(block, longer) for block in parts)
            found, longest = [block for block in changed if block is not None], longer
    return found


def _going_on(
    table: LayoutBlock, blocks: Sequence[LayoutBlock], rows: Sequence[Sequence[TextItem]]
) -> LayoutBlock | None:
    """Find the table directly below another one that has the same columns and no header of its own."""
    below = min((each for each in blocks if each.kind == "table" and _top(each) > _top(table)), key=_top, default=None)
    if below is None or not (table.rows and below.rows):
        return None
    (lefts, right), (others, _) = _columns(_cells_of(table)), _columns(_cells_of(below))
    apart = [abs(one - other) for one, other in zip(lefts, others, strict=False)]
    if len(lefts) != len(others) or len(lefts) < 2 or max(apart) > _EDGE or _words(below)[0] == _words(table)[0]:
        return None
    own = [row for row in _within(rows, lefts, right) if _top(table) <= _middle(row) <= _foot(below)]
    between = [row for row in own if _foot(table) < _middle(row) < _top(below)]
    is_near = _top(below) - _foot(table) <= _SPACE * _widest_space(own, before=_foot(table))
    return below if is_near and not between else None


def _joined(table: LayoutBlock, below: LayoutBlock) -> LayoutBlock:
    box = table.bbox
    assert box is not None
    rows = [*(table.rows or ()), *_rows_of(below)]
    return replace(table, rows=rows, bbox=replace(box, height=_foot(below) - _top(table)))


def _lengthened(
    table: LayoutBlock, blocks: Sequence[LayoutBlock], rows: Sequence[Sequence[TextItem]]
) -> LayoutBlock | None:
    """Extend a table down the page; None if nothing below belongs to it."""
    lefts, right = _columns(_cells_of(table))
    if len(lefts) < 2 or not table.rows or len(_rows_of(table)) < 2:
        return None
    others = (block for block in blocks if block.kind in {"table", "heading", "figure"} and block is not table)
    stops = [box_of(block.bbox) for block in others if block.bbox is not None]
    inside = [row for row in _within(rows, lefts, right) if _middle(row) >= _top(table)]
    own = [row for row in inside if _middle(row) <= _foot(table)]
    if not own:
        return None
    space, bottom, grown = _widest_space(own), max(item.y + item.height for item in own[-1]), False
    starts = [{item.x for row in own for item in row if _place(item, lefts) == at} for at in range(len(lefts))]
    grid = [_cells_of(table)[-1]]
    for row in inside[len(own) :]:
        cells = _in_columns(row, lefts, right)
        if cells is None or any(stands_in(item, stop) for item in row for stop in stops):
            break
        height, gap = max(item.height for item in row), min(item.y for item in row) - bottom
        is_close = gap <= _CLOSE * height
        if is_close and (cells[0] is None or space > _CLOSE * height) and _continues(grid[-1], cells, starts):
            grown = True
            for cell, more in zip(grid[-1], cells, strict=True):
                if cell is not None and more is not None:
                    cell.add(more)
        elif cells[0] is not None and len(cells) - cells.count(None) > 1 and (is_close or gap <= _SPACE * space):
            grid.append(cells)
            for known, cell in zip(starts, cells, strict=True):
                known.update([cell.left] if cell is not None else ())
        else:
            break
        bottom = max(item.y + item.height for item in row)
    return _with_rows(table, grid, bottom) if grown or len(grid) > 1 else None


def _within(rows: Sequence[Sequence[TextItem]], lefts: Sequence[float], right: float) -> Iterator[list[TextItem]]:
    """Yield the part of each row within a table's width, if there is any."""
    for row in rows:
        found = [item for item in row if lefts and lefts[0] - _EDGE <= item.x + item.width / 2 <= right]
        if found:
            yield found


def _widest_space(rows: Sequence[Sequence[TextItem]], before: float = math.inf) -> float:
    """Return the widest space between rows, considering rows that begin above the height `before`."""
    tops = [min(item.y for item in row) for row in rows]
    feet = [max(item.y + item.height for item in row) for row in rows]
    return max((top - foot for foot, top in zip(feet, tops[1:], strict=False) if top < before), default=0.0)


def _middle(row: Sequence[TextItem]) -> float:
    return sum(item.y + item.height / 2 for item in row) / len(row)


def _top(block: LayoutBlock) -> float:
    return block.bbox.y if block.bbox is not None else 0.0


def _foot(block: LayoutBlock) -> float:
    return block.bbox.y + block.bbox.height if block.bbox is not None else 0.0


def _rows_of(table: LayoutBlock) -> list[list[LayoutCell]]:
    return [row for row in (table.header, *(table.rows or ())) if row]


def _cells_of(table: LayoutBlock) -> list[_Row]:
    return [[_cell_of(cell) for cell in row] for row in _rows_of(table)]


def _words(table: LayoutBlock) -> list[list[str]]:
    return [[cell.text for cell in row] for row in _rows_of(table)]


def _columns(rows: Sequence[_Row]) -> tuple[list[float], float]:
    """Return the left edges of the columns and the right edge of the last; no columns if they overlap."""
    if len({len(row) for row in rows}) != 1:
        return [], 0.0
    columns = [[cell for cell in column if cell is not None] for column in zip(*rows, strict=True)]
    if not all(columns):
        return [], 0.0
    edges = [(min(cell.left for cell in column), max(cell.right for cell in column)) for column in columns]
    clear = all(one[1] <= other[0] for one, other in itertools.pairwise(edges))
    return [left for left, _ in edges] if clear else [], edges[-1][1] + _WIDER


def _in_columns(items: Sequence[TextItem], lefts: Sequence[float], right: float) -> _Row | None:
    """Assign the words of a row to columns; None if some are in no column, or extend into the next one."""
    ends = [*lefts[1:], right]
    cells: _Row = [None] * len(lefts)
    for item in items:
        place = _place(item, lefts)
        if place < 0 or item.x + item.width > ends[place]:
            return None
        found = _Cell(" ".join(item.text.split()), item.x, item.y, item.x + item.width, item.y + item.height)
        cell = cells[place]
        if cell is None:
            cells[place] = found
        else:
            cell.add(found)
    return cells


def _place(item: TextItem, lefts: Sequence[float]) -> int:
    """Return the column in which an item begins; -1 if none."""
    return sum(left - _EDGE <= item.x for left in lefts) - 1


def _continues(current: _Row, cells: _Row, starts: Sequence[set[float]]) -> bool:
    """Return whether every word of a row is below words of the row above, aligned with words of its column."""
    return all(
        more is None or (cell is not None and any(abs(more.left - start) <= _FLUSH for start in known))
        for cell, more, known in zip(current, cells, starts, strict=True)
    )


def _cell_of(cell: LayoutCell) -> _Cell | None:
    box = cell.bbox
    if box is None or not cell.text.strip():
        return None
    return _Cell(cell.text, box.x, box.y, box.x + box.width, box.y + box.height)


def _with_rows(table: LayoutBlock, rows: Sequence[_Row], bottom: float) -> LayoutBlock:
    """Replace the last row of a table by these rows."""
    from liteparse.types import AnnotationRect, LayoutCell

    made = [
        [
            LayoutCell("")
            if cell is None
            else LayoutCell(
                cell.text, AnnotationRect(cell.left, cell.top, cell.right - cell.left, cell.bottom - cell.top)
            )
            for cell in row
        ]
        for row in rows
    ]
    box = table.bbox
    assert box is not None
    assert table.rows
    return replace(table, rows=[*table.rows[:-1], *made], bbox=replace(box, height=bottom - box.y))


def _outside(block: LayoutBlock, table: LayoutBlock) -> LayoutBlock | None:
    """Return the part of a block below an extended table; None if it is completely in the table."""
    box, taken = block.bbox, table.bbox
    if box is None or taken is None or not taken.y <= box.y < _foot(table):
        return block
    if box.x >= taken.x + taken.width or box.x + box.width <= taken.x:
        return block  # it is next to the table
    rest = _foot(block) - _foot(table)
    return None if rest <= 1 else replace(block, bbox=replace(box, y=_foot(table), height=rest))
