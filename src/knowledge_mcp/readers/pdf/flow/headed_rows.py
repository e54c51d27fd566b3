"""Tables without lines between columns, whose header shows them: bold, with a rule below it, or above texts.

The parser guesses such tables from gaps, which are narrow next to a column of texts. If cells have several lines, it
takes each line as a row, or mixes the words of all columns; an empty column is lost.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import (
    is_heavy,
    is_rotated,
    is_worded,
    middle_of,
    overlap,
    pieces_of,
    rows_of,
    size_of,
    wraps,
)
from knowledge_mcp.readers.pdf.ruled import Drawn, DrawnLine, RuledGrid, grids_of
from knowledge_mcp.readers.shared.layout import is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem

_COLUMNS = 3
"""Minimum number of columns: two are a list of terms, or items with their marks."""
_FEWEST = 3
"""Minimum number of rows below a bold header."""
_FEWEST_RULED = 2
"""Minimum number of rows below a header with a rule, unless a text of several lines is one."""
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
_SHORTEST = 100.0
"""Minimum length in points of the rule below a header: shorter ones underline words or begin footnotes."""
_MOST_RULES = 60
"""Maximum number of such rules on a page that is examined: a form or a drawing has more."""
_BESIDE = 3.0
"""Maximum distance in points by which words may extend beyond the rule of their table."""
_MOST_NAMES = 4
"""Maximum number of lines of a header."""
_NAMES = 4
"""Minimum number of names of a header without a rule."""
_CLOSE = 1.5
"""Maximum distance between lines of a header, as a factor of the line's height."""
_MOSTLY, _WORDS = 0.9, 4
"""Minimum share of the lines without a first cell that continue the texts of one column, and minimum number of words
of such a text in each line."""
_PIECE = 0.3
"""Gap from which texts of a line are apart, more than a space, and minimum space between columns, as factors of the
font size."""
_FIGURES = 0.8
"""Share of figures after the first column from which a closed table is one of `level_rules`, which reads its header."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_CONTINUES = ("/", ",", ";", "-", "–")
"""Ends of a text that continues in the next line."""

_Rows = Sequence[Sequence["TextItem"]]
_Spaces = list[tuple[float, float]]
"""Left and right edges of the empty spaces between neighbouring columns."""


def headed_rows(drawn: Drawn, items: Sequence[TextItem]) -> list[RuledGrid]:
    """Find the tables of a page whose headers show their columns, as grids; not where lines draw a table."""
    level = [item for item in items if item.text.strip() and not is_rotated(item)]
    found: list[RuledGrid] = []
    if drawn.crowded:
        return found
    rows = rows_of(level)
    for grid in itertools.chain(_below_rules(drawn, level), _below_names(rows)):
        if not any(overlap(grid.box, each.box) for each in (*drawn.grids, *found)):
            found.append(grid)
    bold = sorted(item.y for item in level if is_heavy(item))
    if not any(last - first <= _FLUSH for first, last in zip(bold, bold[_COLUMNS - 1 :], strict=False)):
        return found
    at = 0
    while at < len(rows):
        columns = _named(rows[at])
        below = _below(rows[at:], columns) if columns else 0
        if below > _FEWEST:
            edges = [*(column - _FLUSH for column in columns), _right(rows[at : at + below]) + _FLUSH]
            grids = _grids(rows[at : at + below], edges, 1, _FEWEST)
            known = [each.box for each in (*drawn.grids, *found)]
            found += [grid for grid in grids if not any(overlap(grid.box, box) for box in known)]
        at += max(below, 1)
    return found


# ---- a header with a rule below it ----------------------------------------------------------------------------------


def _below_rules(drawn: Drawn, items: Sequence[TextItem]) -> Iterator[RuledGrid]:
    """Yield the tables whose header has a rule below it."""
    rules = [rule for rule in drawn.level if rule.end - rule.start >= _SHORTEST]
    if not rules or len(rules) > _MOST_RULES:
        return
    for rule in rules:
        end = min((other.at for other in rules if other.at > rule.at and rule.has_ends_of(other)), default=None)
        rows = rows_of([item for item in items if item.x < rule.end and item.x + item.width > rule.start])
        first = sum(middle_of(row[0]) < rule.at for row in rows)
        found = _headed(rows, first, rule, end) if first else None
        if found is None or (end is not None and _are_figures(found)):
            continue
        fewest = 1 if _has_texts(found.rows[found.head :], found.edges) else _FEWEST_RULED
        yield from _grids(found.rows, found.edges, found.head, fewest)


def _below_names(rows: _Rows) -> Iterator[RuledGrid]:
    """Yield the tables below a line of names in which one column has texts of several lines."""
    at = 0
    while at < len(rows):
        row = rows[at]
        at += 1
        if len(pieces_of(row, _APART)) < _NAMES:
            continue
        left, right = min(item.x for row in rows for item in row), _right(rows)
        found = _headed(rows, at, DrawnLine(max(item.y + item.height for item in row), left, right))
        if found is None:
            continue
        body = found.rows[found.head :]
        more = next((count for count, row in enumerate(body) if row[0].x < found.edges[1]), 0)
        if _has_texts(body[more:], found.edges):
            yield from _grids(found.rows, found.edges, found.head + more, 1)
            at += len(body)


@dataclass(frozen=True, slots=True)
class _Headed:
    """A header and the lines that fit below it: all lines, how many are the header, and the edges of the columns."""

    rows: _Rows
    head: int
    edges: Sequence[float]


def _headed(rows: _Rows, first: int, rule: DrawnLine, end: float | None = None) -> _Headed | None:
    """Read the names above a rule and the lines that fit below them; None if the names do not show the columns.

    Args:
        rows: lines of the page within the width of the rule.
        first: number of the first line below the rule.
        rule: the rule, or where it would be.
        end: height of the next rule of the same width. If lines below it fit, rules separate the rows.
    """
    names = _names(rows[:first], rule)
    spaces = _spaces(names)
    if len(spaces) < _COLUMNS - 1 or any(_is_value(item.text) for row in names for item in row):
        return None
    for above in rows[: first - len(names)][-1:]:
        if len(pieces_of(above, _APART)) > 1 and _top(names[0]) - _top(above) <= _CLOSE * above[0].height:
            return None  # it is part of a header that these names alone are not
    reached = rule.at
    fitting: list[Sequence[TextItem]] = []
    for row in rows[first:]:
        left = _narrowed(spaces, row)
        is_closed = end is not None and middle_of(row[0]) > end
        if left is None or _is_beyond(row, rule) or _top(row) - reached > _STEP * max(item.height for item in row):
            break
        if _is_double(row, left, _APART) or (is_closed and len(pieces_of(row, _APART)) > 1):
            return None
        if is_closed:
            break
        reached, spaces = _top(row), left
        fitting.append(row)
    if 2 * sum(_is_double(row, spaces, _PIECE) for row in fitting) > len(fitting):
        return None
    edges = [rule.start - _BESIDE, *((low + high) / 2 for low, high in spaces), rule.end + _BESIDE]
    return _Headed([*names, *fitting], len(names), edges)


def _has_texts(rows: _Rows, edges: Sequence[float]) -> bool:
    """Return whether the lines without a name in the first column continue texts of one column, as sentences do."""
    below = [row for row in rows if row[0].x > edges[1]]
    columns = Counter(bisect_right(edges, item.x) for row in below for item in row)
    if not columns:
        return False
    column, _ = columns.most_common(1)[0]
    texts = [item.text for row in rows for item in row if bisect_right(edges, item.x) == column]
    own = sum(any(bisect_right(edges, item.x) == column for item in row) for row in below)
    return own > _MOSTLY * len(below) and sum(len(text.split()) for text in texts) >= _WORDS * len(rows)


def _is_value(text: str) -> bool:
    """Return whether a text is figures that are no year: a name of a column may be one."""
    return is_figures(text) and _YEAR.fullmatch(text.strip()) is None


def _names(rows: _Rows, rule: DrawnLine) -> _Rows:
    """Return the lines of the header right above a rule: as many as show the columns, without names of groups."""
    found: list[Sequence[TextItem]] = []
    reached, columns = rule.at, 0
    for row in reversed(rows[-_MOST_NAMES:]):
        more = len(_spaces([row, *found])) + 1
        most = (_CLOSE if found else _STEP) * row[0].height
        is_between = bool(found) and more > max(columns, len(pieces_of(row, _APART)))
        if reached - _top(row) > most or more < columns or is_between or _is_beyond(row, rule):
            break
        found.insert(0, row)
        reached, columns = _top(row), more
    return found


def _spaces(names: _Rows) -> _Spaces:
    """List the spaces between names that are far apart."""
    found: _Spaces = []
    reached: float | None = None
    for item in sorted(itertools.chain.from_iterable(names), key=lambda item: item.x):
        if reached is not None and item.x - reached >= _APART * size_of(item):
            found.append((reached, item.x))
        reached = max(item.x + item.width, reached or 0.0)
    return found


def _is_beyond(row: Sequence[TextItem], rule: DrawnLine) -> bool:
    return any(item.x < rule.start - _BESIDE or item.x + item.width > rule.end + _BESIDE for item in row)


def _narrowed(spaces: _Spaces, row: Sequence[TextItem]) -> _Spaces | None:
    """Return the spaces without the texts of a line; None if a text crosses one."""
    found = list(spaces)
    pieces = pieces_of(row, _PIECE)
    for start, end, _ in pieces:
        for at, (low, high) in enumerate(found):
            if start < high and end > low:
                is_left = start < low or (end <= high and start - low < high - end)
                found[at] = (max(low, end), high) if is_left else (low, min(high, start))
    if any(high - low < _PIECE * size_of(row[0]) for low, high in found):
        return None
    return found


def _is_double(row: Sequence[TextItem], spaces: _Spaces, apart: float) -> bool:
    """Return whether two texts of a line are apart in one column: the header has no name for one of them."""
    pieces = pieces_of(row, apart)
    columns = [sum(low < start for low, _ in spaces) for start, _, _ in pieces]
    return len(set(columns)) < len(columns)


def _are_figures(found: _Headed) -> bool:
    words = [is_figures(item.text) for row in found.rows[found.head :] for item in row if item.x >= found.edges[1]]
    return sum(words) >= _FIGURES * len(words)


# ---- a bold header --------------------------------------------------------------------------------------------------


def _named(row: Sequence[TextItem]) -> list[float]:
    """Return the left edges of the columns if a row is a header: several bold names far apart."""
    if not all(map(is_heavy, row)):
        return []
    pieces = pieces_of(row, _BLANK)
    apart = all(right[0] - left[1] >= _APART * size_of(row[0]) for left, right in itertools.pairwise(pieces))
    return [start for start, _, _ in pieces] if apart and len(pieces) >= _COLUMNS else []


def _below(rows: _Rows, columns: Sequence[float]) -> int:
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


# ---- rows -----------------------------------------------------------------------------------------------------------


def _grids(rows: _Rows, edges: Sequence[float], head: int, fewest: int) -> list[RuledGrid]:
    """Make a grid of lines: a row begins below a wider step, or else where the first column has words.

    If the wider steps separate groups of rows, the rows within them are found by their texts.

    Args:
        rows: lines of the header and of the table.
        edges: of the columns, from the left edge of the first to the right edge of the last one.
        head: number of lines of the header.
        fewest: minimum number of rows below the header.
    """
    steps = [_top(row) - _top(above) for above, row in itertools.pairwise(rows[head:])]
    if len(rows) == head or any(step < _OVER * rows[head][0].height for step in steps):
        return []
    spaced = len(steps) > 0 and max(steps) > _WIDER * min(steps)
    starts = [head]
    for place, (above, row, step) in enumerate(zip(rows[head:], rows[head + 1 :], steps, strict=False), head + 1):
        begins = step > _WIDER * min(steps) if spaced else row[0].x < edges[1]
        if begins or _begins_row(rows[starts[-1]], above, row, edges):
            starts.append(place)
    named = [rows[place][0].x < edges[1] for place in starts]
    full = max(len(pieces_of(rows[place], _BLANK)) for place in starts)
    if len(starts) < fewest or full < _COLUMNS or 2 * sum(named) < len(named):
        return []
    if len(starts) == len(rows) - head and wraps(list(filter(is_worded, _by_column(rows[head:], edges))), 2):
        return []
    top, bottom = _top(rows[0]), max(item.y + item.height for item in rows[-1])
    tops = [top, *(_top(rows[place]) for place in starts), bottom]
    level = [DrawnLine(at, edges[0], edges[-1]) for at in tops]
    return grids_of(level, [DrawnLine(edge, tops[0], tops[-1]) for edge in edges])


def _by_column(rows: _Rows, edges: Sequence[float]) -> list[list[list[TextItem]]]:
    """Divide lines at the edges of columns."""
    columns: list[list[list[TextItem]]] = [[] for _ in range(len(edges) + 1)]
    for row in rows:
        for place, items in itertools.groupby(row, key=lambda item: bisect_right(edges, item.x)):
            columns[place].append(list(items))
    return columns


def _begins_row(
    first: Sequence[TextItem], above: Sequence[TextItem], row: Sequence[TextItem], edges: Sequence[float]
) -> bool:
    """Return whether a line does not continue a row: figures below figures, or a text begins in each of its columns.

    Args:
        first: the first line of the row.
        above: the line above.
        row: the line.
        edges: of the columns.
    """
    over = {bisect_right(edges, item.x): item.text.rstrip() for item in above}
    own = {bisect_right(edges, item.x): item.text for item in reversed(row)}
    if any(over.get(place, "").endswith(_CONTINUES) or text.startswith("/") for place, text in own.items()):
        return False
    if any(is_figures(text) and is_figures(over.get(place, "")) for place, text in own.items()):
        return True
    every = own.keys() | {1} >= {bisect_right(edges, item.x) for item in first}
    return every and len(own) > 1 and not any(text[:1].islower() for text in own.values())


def _top(row: Sequence[TextItem]) -> float:
    return min(item.y for item in row)


def _right(rows: _Rows) -> float:
    return max(item.x + item.width for row in rows for item in row)
