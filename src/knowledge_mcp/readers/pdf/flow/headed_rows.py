"""Tables without lines whose bold header shows the columns: every text below begins at the left edge of a name.

The parser guesses such tables from gaps, which are narrow next to a column of texts. If cells have several lines, it
takes each line as a row, or mixes the words of all columns.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import is_heavy, is_rotated, pieces_of, rows_of, size_of
from knowledge_mcp.readers.pdf.ruled import Drawn, DrawnLine, RuledGrid, grids_of
from knowledge_mcp.readers.shared.layout import is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem

_COLUMNS = 3
"""Minimum number of columns: two are a list of terms, or items with their marks."""
_FEWEST = 3
"""Minimum number of rows below the header."""
_APART = 1.0
"""Minimum gap between the names of two columns, as a factor of the font size."""
_FLUSH = 2.0
"""Maximum distance in points between the left edges of texts in one column."""
_STEP = 2.5
"""Maximum distance between lines of a table, as a factor of the line's height."""
_WIDER = 1.2
"""Factor of the line pitch within a row from which a step leads to the next row, if space separates the rows."""
_OVER = 0.8
"""Minimum distance between lines, as a factor of the line's height: figures next to the middle of a name are half a
line lower, and not a separate row."""
_BLANK = 0.2
"""Maximum gap between two words of one text, as a factor of the font size."""


def headed_rows(drawn: Drawn, items: Sequence[TextItem]) -> list[RuledGrid]:
    """Find the tables of a page whose bold headers show their columns, as grids; not where lines draw a table."""
    found: list[RuledGrid] = []
    bold = sorted(item.y for item in items if is_heavy(item))
    if not any(last - first <= _FLUSH for first, last in zip(bold, bold[_COLUMNS - 1 :], strict=False)):
        return found
    rows = [
        [item for item in row if item.text.strip()] for row in rows_of([each for each in items if not is_rotated(each)])
    ]
    at = 0
    while at < len(rows):
        columns = _named(rows[at])
        below = _below(rows[at:], columns) if columns else 0
        if below > _FEWEST:
            found += _grids(drawn, rows[at : at + below], columns)
        at += max(below, 1)
    return found


def _named(row: Sequence[TextItem]) -> list[float]:
    """Return the left edges of the columns if a row is a header: several bold names far apart."""
    if not all(map(is_heavy, row)):
        return []
    pieces = pieces_of(row, _BLANK)
    apart = all(right[0] - left[1] >= _APART * size_of(row[0]) for left, right in itertools.pairwise(pieces))
    return [start for start, _, _ in pieces] if apart and len(pieces) >= _COLUMNS else []


def _below(rows: Sequence[Sequence[TextItem]], columns: Sequence[float]) -> int:
    """Count the lines, including the header, whose texts begin at a column's edge and end before the next column."""
    ends = [*columns[1:], float("inf")]
    for count, row in enumerate(rows[1:], 1):
        above = rows[count - 1]
        pieces = pieces_of(row, _BLANK)
        places = [_place(start, columns) for start, _, _ in pieces]
        over = any(place is None or end > ends[place] for place, (_, end, _) in zip(places, pieces, strict=True))
        if over or len(set(places)) < len(places) or _top(row) - _top(above) > _STEP * above[0].height:
            return count
    return len(rows)


def _place(start: float, columns: Sequence[float]) -> int | None:
    return next((place for place, column in enumerate(columns) if abs(start - column) <= _FLUSH), None)


def _begins_row(above: Sequence[TextItem], row: Sequence[TextItem], columns: Sequence[float]) -> bool:
    """Return whether a row is not part of the row above: figures below figures, or several texts begin."""
    over = {_place(item.x, columns) for item in above if is_figures(item.text)}
    if any(is_figures(item.text) and _place(item.x, columns) in over for item in row):
        return True
    return len(pieces_of(row, _BLANK)) > 1 and not any(item.text[:1].islower() for item in row)


def _top(row: Sequence[TextItem]) -> float:
    return min(item.y for item in row)


def _grids(drawn: Drawn, rows: Sequence[Sequence[TextItem]], columns: Sequence[float]) -> list[RuledGrid]:
    """Make a grid of lines: a row begins below a wider step, or else where the first column has words.

    If the wider steps separate groups of rows, the rows within them are found by their texts.
    """
    left, right = columns[0], max(item.x + item.width for row in rows for item in row)
    top, bottom = _top(rows[0]), max(item.y + item.height for item in rows[-1])
    for grid in drawn.grids:
        if grid.box[0] < right and grid.box[2] > left and grid.box[1] < bottom and grid.box[3] > top:
            return []
    steps = [_top(row) - _top(above) for above, row in itertools.pairwise(rows[1:])]
    if min(steps) < _OVER * rows[1][0].height:
        return []
    spaced = max(steps) > _WIDER * min(steps)
    starts = [1]
    for place, (above, row, step) in enumerate(zip(rows[1:], rows[2:], steps, strict=False), 2):
        begins = step > _WIDER * min(steps) if spaced else abs(row[0].x - left) <= _FLUSH
        if begins or _begins_row(above, row, columns):
            starts.append(place)
    named = [abs(rows[place][0].x - left) <= _FLUSH for place in starts]
    full = max(len(pieces_of(rows[place], _BLANK)) for place in starts)
    if len(starts) < _FEWEST or full < _COLUMNS or 2 * sum(named) < len(named):
        return []
    edges = [left - _FLUSH, *(column - _FLUSH for column in columns[1:]), right + _FLUSH]
    tops = [top, *(_top(rows[place]) for place in starts), bottom]
    level = [DrawnLine(at, edges[0], edges[-1]) for at in tops]
    return grids_of(level, [DrawnLine(edge, tops[0], tops[-1]) for edge in edges])
