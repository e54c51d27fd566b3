"""Which of the engine's tables are tables, and where a heading caught inside cuts one in two.

The engine sees tables in boxed code, in frames around a page's foot and in paragraphs with a hanging number. A table is
believed only when it has two columns and rows or more, loses no character of its region, and is no running text.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.layout import Line, Table, letters_of

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, LayoutCell

__all__ = ["tables_of"]

_CLAUSE = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.?|\d{1,2}\.|[A-Z]\.\d+(?:\.\d+)*")

_REPEATED = 1.5


@dataclass(slots=True)
class _Row:
    """One row: its cells' words, its extent down the page, the lines in it."""

    cells: list[str]
    top: float
    bottom: float
    lines: list[Line] = field(default_factory=list[Line])


def tables_of(block: LayoutBlock, lines: list[Line], page: int) -> list[Line | Table] | None:
    """Make the tables of one region, with any heading lines between them; None where the region is no table."""
    rows = [_row(cells) for cells in [block.header or [], *(block.rows or [])] if cells]
    width = max((len(row.cells) for row in rows), default=0)
    if width < 2 or len(rows) < 2 or sum(line.code for line in lines) > 0.6 * len(lines):
        return None
    if _is_running_text(lines, rows):
        return None
    for row in rows:
        row.cells += [""] * (width - len(row.cells))
    if not _share_out(lines, rows):
        return _whole(rows, lines, page)
    found: list[Line | Table] = []
    modal = Counter(line.size for line in lines).most_common(1)[0][0]
    beside = _beside(lines)
    apart = [_is_heading(row, modal) or _is_text(row, modal, beside) for row in rows]
    for is_text, group in itertools.groupby(zip(rows, apart, strict=True), key=lambda pair: pair[1]):
        some = [row for row, _ in group]
        inside = [line for row in some for line in row.lines]
        found.extend(inside if is_text else _whole(some, inside, page) or inside)
    return found if any(isinstance(element, Table) for element in found) else None


def _row(cells: Sequence[LayoutCell]) -> _Row:
    boxes = [cell.bbox for cell in cells if cell.bbox is not None and cell.text.strip()]
    top = min((box.y for box in boxes), default=0.0)
    bottom = max((box.y + box.height for box in boxes), default=0.0)
    return _Row([_clean(cell.text) for cell in cells], top, bottom)


def _clean(text: str) -> str:
    plain = text.replace("<br>", " ").replace("\\|", "|").replace("**", "")
    return " ".join(plain.split())


def _is_running_text(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Tell paragraphs from a table: many lines run from the left edge over most of the width without a gap."""
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    width = max(right - left, 1.0)
    full = sum(
        line.x0 < left + 0.05 * width and line.x1 - line.x0 > 0.7 * width and _gap(line) < 1.2 * line.size
        for line in lines
    )
    if full > 0.25 * len({round(line.y0) for line in lines}):
        return True
    clauses = sum(_CLAUSE.fullmatch(row.cells[0]) is not None for row in rows)
    words = [len(cell.split()) for row in rows for cell in row.cells[1:] if cell]
    return clauses * 2 >= len(rows) and sum(words) > 12 * len(words)


def _gap(line: Line) -> float:
    """Measure the widest gap between words, but for the one after a clause number that hangs before its text."""
    hanging = line.gap < 2.6 * line.size and _CLAUSE.match(line.text) is not None
    return 0.0 if hanging else line.gap


def _beside(lines: Sequence[Line]) -> dict[int, float]:
    """Find the lines that stand beside another one: each with the leftmost edge to its right, if there is one."""
    found: dict[int, float] = {}
    ordered = sorted(lines, key=lambda line: line.y0)
    for index, line in enumerate(ordered):
        for other in itertools.islice(ordered, index + 1, None):
            if other.y0 - line.y0 >= 0.4 * line.size:
                break
            left, right = (line, other) if line.x0 <= other.x0 else (other, line)
            found.setdefault(id(right), math.inf)
            found[id(left)] = min(found.get(id(left), math.inf), right.x0)
    return found


def _is_text(row: _Row, modal: float, beside: dict[int, float]) -> bool:
    """Tell lines of text from cells: alone at their height, without a gap, yet shared out to several cells."""
    if sum(map(bool, row.cells)) < 2 or not row.lines:
        return False
    second = min(beside.values(), default=math.inf)
    stacked = len(row.lines) > 1 or row.lines[0].size >= modal + 1.0
    return stacked and not any(
        _gap(line) >= 1.2 * line.size or line.x0 > second - 5 or id(line) in beside for line in row.lines
    )


def _share_out(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Give each row its lines; tells whether the cells of every row then hold all letters of its lines."""
    for line in lines:
        middle = (line.y0 + line.y1) / 2
        home = min(rows, key=lambda row: max(row.top - middle, middle - row.bottom, 0.0))
        home.lines.append(line)
    return not any(_letters(row.lines) - Counter(letters_of("".join(row.cells))) for row in rows)


def _is_heading(row: _Row, modal: float) -> bool:
    """Tell headings from cells: every line of the row is larger than the table's print, and runs without a gap."""
    return bool(row.lines) and all(line.size >= modal + 1.5 and _gap(line) < 1.2 * line.size for line in row.lines)


def _whole(rows: Sequence[_Row], lines: list[Line], page: int) -> list[Line | Table] | None:
    cells = [row.cells for row in rows if any(row.cells)]
    kept = [column for column in range(len(rows[0].cells)) if any(row[column] for row in cells)]
    cells = [[row[column] for column in kept] for row in cells]
    if len(kept) < 2 or len(cells) < 2:
        return None
    filled = [sum(bool(row[column]) for row in cells) for column in range(len(kept))]
    if sum(count * 3 >= len(cells) for count in filled) < 2:
        return None
    # the engine repeats a header that spans columns in each of them: letters may be more, never fewer
    have, want = Counter(letters_of("".join(itertools.chain.from_iterable(cells)))), _letters(lines)
    return [Table(page, cells, lines)] if not want - have and have.total() <= _REPEATED * want.total() + 40 else None


def _letters(lines: Sequence[Line]) -> Counter[str]:
    return Counter(letters_of("".join(line.text for line in lines)))
