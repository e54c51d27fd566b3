"""Decides which of the tables that the engine guesses from gaps are tables, and reads what their cells print."""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import mark_alone
from knowledge_mcp.readers.pdf.lines import box_of, stands_in, words_of_items
from knowledge_mcp.readers.shared.layout import Line, Table, is_figures, letters_of, on_the_line

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, LayoutCell, TextItem

_CLAUSE = re.compile(r"\d{1,3}(?:\.\d{1,3})+\.?|\d{1,2}\.|[A-Z]\.\d+(?:\.\d+)*|[A-Z]{1,2}\d{1,4}(?:\.\d{1,3})+\.?")
_NUMBERED = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.?(?:\s+[^\W\d_]|\Z)")
_HANGING = re.compile(rf"{_CLAUSE.pattern}|[^\w\s(\"'“‘<\[]\s")
_DIGITS = re.compile(r"\d+")
_STANDS_OUT = 0.9
"""Minimum difference in points between a bold clause heading and the text of a table."""

_REPEATED = 1.5
_WRITTEN = re.compile(r"[$\\\\{}]")
_AROUND = 2.0
"""Points by which small and raised letters extend beyond the box of their cell."""


@dataclass(slots=True)
class _Row:
    """One row: the words of its cells, its upper and lower edge, left edges of its cells after the first, its lines."""

    cells: list[str]
    top: float
    bottom: float
    sides: list[float] = field(default_factory=list[float])
    lines: list[Line] = field(default_factory=list[Line])


def tables_of(
    block: LayoutBlock,
    lines: list[Line],
    page: int,
    items: Sequence[TextItem] = (),
    outside: Sequence[Line] = (),
) -> list[Line | Table] | None:
    """Make the tables of one region, with any heading lines between them; None if the region is not a table.

    Args:
        block: the engine's table.
        lines: lines of the region.
        page: physical page from 1.
        items: items of the region, from which the words of cells are taken as printed.
        outside: lines to the left of the region, at the height of its lines: they may be names of its rows.
    """
    guessed = [block.header or [], *(block.rows or [])]
    rows = [_row(row, items) for cells in guessed if cells for row in _counted(cells, items)]
    lines = [*_named_by(rows, outside), *lines]
    width = max((len(row.cells) for row in rows), default=0)
    if width < 2 or len(rows) < 2 or sum(line.code for line in lines) > 0.6 * len(lines):
        return None
    if _is_running_text(lines, rows) or _is_hanging(rows):
        return None
    for row in rows:
        row.cells += [""] * (width - len(row.cells))
    shared, beside = _share_out(lines, rows), _beside(lines)
    if _is_woven(rows, beside):
        return None
    if not shared:
        return _up_to_clause(rows, lines, page)
    below = _text_below(rows, beside)
    found: list[Line | Table] = []
    modal = Counter(line.size for line in lines).most_common(1)[0][0]
    apart = [_is_heading(row, modal) or _is_text(row, modal, beside) for row in rows]
    for is_text, group in itertools.groupby(zip(rows, apart, strict=True), key=lambda pair: pair[1]):
        some = [row for row, _ in group]
        inside = [line for row in some for line in row.lines]
        found.extend(inside if is_text else _whole(some, inside, page) or inside)
    return [*found, *below] if any(isinstance(element, Table) for element in found) else None


def _text_below(rows: Sequence[_Row], beside: Mapping[int, float]) -> list[Line]:
    """Remove lines of text across several columns from the last row; the engine puts them into a cell."""
    last, sides = rows[-1], [side for row in rows for side in row.sides]
    lines = sorted(last.lines, key=lambda line: line.y0)
    first = next((at for at, line in enumerate(lines) if at and _runs_over(line, sides)), len(lines))
    below = lines[first:]
    text = " ".join(line.text for line in below)
    level = f" {on_the_line(text)}"
    place = next((place for place, cell in enumerate(last.cells) if on_the_line(cell).endswith(level)), None)
    if not below or place is None or any(id(line) in beside for line in below):
        return []
    last.cells[place] = last.cells[place][: -len(text)].rstrip()
    last.lines = lines[:first]
    return below


_NAME_WORDS, _NAME_COLUMNS = 8, 3
"""Maximum number of words of a row's name, and of name columns: a parameter, its condition, its symbol."""
_SAME_COLUMN = 12.0
"""Maximum distance in points between the left edges of names in one column."""


def _named_by(rows: Sequence[_Row], outside: Sequence[Line]) -> Sequence[Line]:
    """Insert names to the left of figures as new columns, and return their lines.

    The engine omits them if the header has no words above them. All rows but one must have a name, and no name may be a
    line of running text.
    """
    figures = sum(is_figures(next(filter(None, row.cells), "")) for row in rows)
    if 2 * figures < len(rows) or any(len(line.text.split()) > _NAME_WORDS for line in outside):
        return []
    homes = [
        [line for line in outside if row.top - _AROUND <= (line.y0 + line.y1) / 2 <= row.bottom + _AROUND]
        for row in rows
    ]
    if sum(map(bool, homes)) < max(2, len(rows) - 1) or sum(map(len, homes)) != len(outside):
        return []
    columns: list[float] = []
    for line in sorted(outside, key=lambda line: line.x0):
        if not columns or line.x0 > columns[-1] + _SAME_COLUMN:
            columns.append(line.x0)
    if len(columns) > _NAME_COLUMNS:
        return []
    for row, names in zip(rows, homes, strict=True):
        cells = [""] * len(columns)
        for line in names:
            cells[bisect_right(columns, line.x0) - 1] = line.text
        row.cells[:0] = cells
    return outside


def _counted(cells: Sequence[LayoutCell], items: Sequence[TextItem]) -> list[Sequence[LayoutCell]]:
    """Divide a row whose first cell has numbers that count on, which the engine joins: "7.3.1 7.3.2" are two rows."""
    names = _clean(cells[0].text).split()
    keys = [[int(part) for part in _DIGITS.findall(name)] for name in names if _CLAUSE.fullmatch(name)]
    counted = all([*one[:-1], one[-1] + 1] == other for one, other in itertools.pairwise(keys))
    boxes = [cell.bbox for cell in cells if cell.bbox is not None]
    if not counted or len(names) < 2 or len(keys) < len(names) or len(boxes) < len(cells):
        return [cells]
    near = [[item for item in items if stands_in(item, box_of(box), _AROUND)] for box in boxes]
    starts = sorted(item.y - item.height / 2 for item in near[0] if item.text.strip() in names)
    if len(starts) != len(names):
        return [cells]
    rows: list[Sequence[LayoutCell]] = []
    for top, bottom in itertools.pairwise([-math.inf, *starts[1:], math.inf]):
        parts = [[item for item in inside if top <= item.y < bottom] for inside in near]
        heights = [item.y for part in parts for item in part], [item.y + item.height for part in parts for item in part]
        upper, lower = min(heights[0]), max(heights[1])
        placed = [replace(box, y=upper, height=lower - upper) for box in boxes]
        rows.append(
            [
                replace(cell, text=words_of_items(part), bbox=box)
                for cell, part, box in zip(cells, parts, placed, strict=True)
            ]
        )
    return rows


def _row(cells: Sequence[LayoutCell], items: Sequence[TextItem]) -> _Row:
    boxes = [cell.bbox for cell in cells if cell.bbox is not None and cell.text.strip()]
    top = min((box.y for box in boxes), default=0.0)
    bottom = max((box.y + box.height for box in boxes), default=0.0)
    near = [item for item in items if top - _AROUND <= item.y + item.height / 2 <= bottom + _AROUND]
    sides = [cell.bbox.x for cell in cells[1:] if cell.bbox is not None and cell.text.strip()]
    return _Row([_printed(cell, near) for cell in cells], top, bottom, sides)


def _printed(cell: LayoutCell, items: Sequence[TextItem]) -> str:
    """Return a cell's words as printed; the engine writes formulas for small letters, and raised digits flat."""
    guessed, box = _clean(cell.text), cell.bbox
    if box is None:
        return guessed
    inside = [item for item in items if stands_in(item, box_of(box), _AROUND)]
    if not inside or not _WRITTEN.search(guessed):
        raised = {on_the_line(word): word for item in inside for word in item.text.split()}
        return " ".join(raised.get(word, word) for word in guessed.split())
    return words_of_items(inside)


def _clean(text: str) -> str:
    plain = text.replace("<br>", " ").replace("\\|", "|").replace("**", "")
    return " ".join(plain.split())


def _is_running_text(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Return whether a region is paragraphs: many lines run from the left across most of the width without a gap."""
    left, right = min(line.x0 for line in lines), max(line.x1 for line in lines)
    width = max(right - left, 1.0)
    full = sum(
        line.x0 < left + 0.05 * width and line.x1 - line.x0 > 0.7 * width and gap_of(line) < 1.2 * line.size
        for line in lines
    )
    if full > 0.25 * len({round(line.y0) for line in lines}):
        return True
    if _have_three(rows):
        return False  # requirements with their numbers, texts and levels
    clauses = sum(_CLAUSE.fullmatch(row.cells[0]) is not None for row in rows)
    words = [len(cell.split()) for row in rows for cell in row.cells[1:] if cell]
    return clauses * 2 >= len(rows) and sum(words) > 12 * len(words)


def _have_three(rows: Sequence[_Row]) -> bool:
    """Return whether most rows have three cells or more: a number that hangs before its text makes two."""
    return 2 * sum(sum(map(bool, row.cells)) > 2 for row in rows) >= len(rows)


def _is_hanging(rows: Sequence[_Row]) -> bool:
    """Return whether a table of two columns is items or notes with hanging marks: a table has names or a header."""
    marks = [row.cells[0] for row in rows if row.cells[0]]
    return all(len(row.cells) <= 2 for row in rows) and bool(marks) and all(map(mark_alone, marks))


def gap_of(line: Line) -> float:
    """Return the widest gap between words, except the one after a number or bullet that hangs before its text."""
    hanging = line.gap < 2.6 * line.size and _HANGING.match(line.text) is not None
    return 0.0 if hanging else line.gap


def _beside(lines: Sequence[Line]) -> dict[int, float]:
    """Find the lines next to another one: each with the leftmost edge to its right, if there is one."""
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
    """Return whether lines are text, not cells: alone at their height, without a gap, yet split into several cells."""
    if sum(map(bool, row.cells)) < 2 or not row.lines:
        return False
    second = min(beside.values(), default=math.inf)
    stacked = len(row.lines) > 1 or row.lines[0].size >= modal + 1.0
    numbered = sum(map(bool, row.cells)) > 2 and any(_breaks(line, row) for line in row.lines)
    return stacked and not (
        numbered
        or any(gap_of(line) >= 1.2 * line.size or line.x0 > second - 5 or id(line) in beside for line in row.lines)
    )


_WOVEN = 0.25
"""Share of the rows with several cells from which these are cut out of running lines, so there is no table."""
_BLANK = 0.6
"""Gap, as a factor of the font size, above which it is not a space of a justified line."""


def _is_woven(rows: Sequence[_Row], beside: Mapping[int, float]) -> bool:
    """Return whether cells are words of sentences: rows of several cells whose lines have no gap."""
    several = [row for row in rows if sum(map(bool, row.cells)) > 1 and row.lines]
    three = _have_three(rows)
    running = sum(
        not any(
            gap_of(line) >= _BLANK * line.size or id(line) in beside or (three and _breaks(line, row))
            for line in row.lines
        )
        for row in several
    )
    over = [sum(_runs_over(line, row.sides) for line in row.lines if id(line) not in beside) for row in several]
    return max(running, len(over) - over.count(0)) >= max(2.0, _WOVEN * len(several)) or sum(over) >= max(
        2.0, _WOVEN * sum(len(row.lines) for row in rows)
    )


def _breaks(line: Line, row: _Row) -> bool:
    """Return whether the widest gap of a line, also after a hanging number, is before one of the row's cells."""
    if line.split is None or line.gap < _BLANK * line.size:
        return False
    return any(line.split[1] - line.gap - 1 < side < line.split[1] + 1 for side in row.sides)


def _runs_over(line: Line, sides: Sequence[float]) -> bool:
    """Return whether a line runs from one cell into another without a gap."""
    near = line.size
    return gap_of(line) < _BLANK * near and any(line.x0 < side - near < side + near < line.x1 for side in sides)


def _share_out(lines: Sequence[Line], rows: Sequence[_Row]) -> bool:
    """Assign each line to a row; return whether the cells of every row then contain all letters of its lines."""
    for line in lines:
        middle = (line.y0 + line.y1) / 2
        home = min(rows, key=lambda row: max(row.top - middle, middle - row.bottom, 0.0))
        home.lines.append(line)
    return not any(_letters(row.lines) - Counter(letters_of("".join(row.cells))) for row in rows)


def _is_heading(row: _Row, modal: float) -> bool:
    """Return whether a row is headings: larger than the table's text, or with a bold number and no other gap."""
    return bool(row.lines) and (
        all(_is_clause(line, modal) for line in row.lines)
        or all(line.size >= modal + 1.5 and gap_of(line) < 1.2 * line.size for line in row.lines)
    )


def _is_clause(line: Line, modal: float) -> bool:
    return line.bold and line.size >= modal + _STANDS_OUT and _NUMBERED.match(line.text) is not None


def _up_to_clause(rows: Sequence[_Row], lines: list[Line], page: int) -> list[Line | Table] | None:
    """Make one table of rows without known positions; a clause that begins among them ends it."""
    modal = Counter(line.size for line in lines).most_common(1)[0][0]
    end = next((index for index, line in enumerate(lines) if _is_clause(line, modal)), len(lines))
    if end == len(lines):
        return _whole(rows, lines, page)
    expected = _letters(lines[:end])
    letters = Counter[str]()
    for count, row in enumerate(rows, 1):
        letters.update(letters_of("".join(row.cells)))
        if not expected - letters:
            table = _whole(rows[:count], lines[:end], page) if end > 1 else None
            return [*table, *lines[end:]] if table else None
    return None


def _whole(rows: Sequence[_Row], lines: list[Line], page: int) -> list[Line | Table] | None:
    cells = [row.cells for row in rows if any(row.cells)]
    kept = [column for column in range(len(rows[0].cells)) if any(row[column] for row in cells)]
    cells = [[row[column] for column in kept] for row in cells]
    if len(kept) < 2 or len(cells) < 2:
        return None
    filled = [sum(bool(row[column]) for row in cells) for column in range(len(kept))]
    if sum(count * 3 >= len(cells) for count in filled) < 2:
        return None
    # the engine repeats a header that spans columns in each column: letters may be more, never fewer
    have, want = Counter(letters_of("".join(itertools.chain.from_iterable(cells)))), _letters(lines)
    return [Table(page, cells, lines)] if not want - have and have.total() <= _REPEATED * want.total() + 40 else None


def _letters(lines: Sequence[Line]) -> Counter[str]:
    return Counter(letters_of("".join(line.text for line in lines)))
