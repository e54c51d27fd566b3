"""Tables of figures with horizontal rules and no vertical ones: statistics, results, LaTeX's `booktabs`.

The engine guesses tables from gaps: it splits a wide one into several, and misses one with narrow gaps. Here, two
rules of the same width with figures between them are enough.
"""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import box_of, is_rotated, line_of, rows_of, size_of, stands_in, words_of_items
from knowledge_mcp.readers.pdf.ruled import joined
from knowledge_mcp.readers.shared.layout import Table, is_figures

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, TextItem, VectorGraphics

_SAME_END = 6.0
"""Maximum distance in points between the ends of the rules of one table: pages are set by hand."""
_SHORTEST = 100.0
"""Minimum length in points of a table's rule: shorter ones underline words, begin footnotes, or are below the name of a
group of columns."""
_TOUCHING = 0.5
"""Maximum gap in points between pieces of one rule."""
_OVER = 3.0
"""Maximum distance in points by which words may extend beyond the rules of their table."""
_FEWEST, _COLUMNS = 3, 3
"""Minimum numbers of rows with figures and of columns."""
_FIGURES, _FULL = 0.8, 0.6
"""Minimum share of figures among the words after the first column, and of rows that contain figures."""
_SHARED = 0.1
"""Share of a rule's length by which the widths computed for several names above it may miss its end: each name is
centred in its part."""
_HEAD = 7
"""Maximum number of header rows."""
_HALF = 0.9
"""Maximum vertical distance between a line of a name and its figures, as a factor of the font size, if the figures are
next to the middle of a name of two lines."""
_STRIP = 0.5
"""Minimum width of the gap between two columns, as a factor of the font size."""

_Rule = tuple[float, float, float]
"""A horizontal rule: its height, its start and its end."""


def tables_between_rules(
    graphics: VectorGraphics | None,
    items: Sequence[TextItem],
    blocks: Sequence[LayoutBlock],
    page: int,
    places: Mapping[int, float],
) -> list[tuple[Table, set[int]]]:
    """Find the tables that the engine has not found completely.

    Args:
        graphics: drawings of the page; pieces of a line that touch, such as one per column, are joined.
        items: items of the page that are not in a table yet.
        blocks: blocks of the engine. A table that is completely one of its tables is left to it, unless it has a header
            of several rows, rules that show which columns a name covers, or names of two lines.
        page: physical page from 1.
        places: block of each item, by its id.

    Returns:
        Each table with the ids of its items.
    """
    rules = sorted(
        {
            (round((line.y1 + line.y2) / 2, 1), min(line.x1, line.x2), max(line.x1, line.x2))
            for line in (graphics.lines if graphics is not None else ())
            if abs(line.y1 - line.y2) < 1
        }
    )
    whole = [(round(line.at, 1), line.start, line.end) for line in joined(rules, _TOUCHING)]
    long = [rule for rule in whole if rule[2] - rule[1] > _SHORTEST]
    if not 2 <= len(long) <= _MOST_RULES:
        return []
    level = [item for item in items if not is_rotated(item)]
    found: list[tuple[Table, set[int]]] = []
    reached: _Rule | None = None  # the last line of the last table
    for above, top, bottom in _frames(long):
        printed = _between(level, top, bottom)
        rows = _with_names(printed)
        columns = _columns(rows)
        if len(columns) < _COLUMNS or not _are_figures(rows, columns) or _are_in(found, rows):
            continue
        head = _between(level, above, top) if above is not None else []
        head = head if _is_head(head) and not _are_in(found, head) else []
        groups = [rule for rule in rules if above is not None and above[0] < rule[0] < top[0]]
        end = max(rule for rule in long if rule == bottom or _is_alike(rule, bottom))
        below = [item for item in level if item.y > end[0]] if head else []
        is_headed = head and (groups or len(head) > 1 or len(rows) < len(printed))
        if not is_headed and _is_whole([*head, *rows], blocks, below):
            continue
        names = _names(head, rows, columns, groups)
        cells = [*([names] if any(names) else []), *(_cells(row, columns) for row in rows)]
        lines = [line_of(row, page, places) for row in (*head, *rows)]
        taken = {id(item) for row in (*head, *rows) for item in row}
        if top == reached and len(columns) == len(found[-1][0].rows[0]):  # a line parts groups of rows
            table, others = found.pop()
            cells, lines, taken = [*table.rows, *cells], [*table.lines, *lines], taken | others
        found.append((Table(page, cells, lines), taken))
        reached = bottom
    return found


_MOST_RULES = 60
"""Maximum number of such rules on a page that is examined: a form or a drawing has more."""


def _frames(rules: Sequence[_Rule]) -> Iterator[tuple[_Rule | None, _Rule, _Rule]]:
    """Yield neighbouring rules of one width, with the rule above them: of the same width, or below a spanning name."""
    for place, top in enumerate(rules):
        alike = [rule for rule in rules[place + 1 :] if _is_alike(rule, top)]
        above = next((rule for rule in reversed(rules[:place]) if _is_alike(rule, top)), None)
        part = next((rule for rule in reversed(rules[:place]) if _is_part(rule, top)), None) if above is None else None
        above = (part[0], *top[1:]) if part is not None else above
        if alike:
            yield above, top, alike[0]


def _is_head(rows: Sequence[Sequence[TextItem]]) -> bool:
    """Return whether rows are names of columns and not names with their figures; one header row may contain years."""
    figures = sum(not is_figures(row[0].text) and any(is_figures(item.text) for item in row[1:]) for row in rows)
    return len(rows) <= _HEAD and figures <= 1


def _are_in(found: Sequence[tuple[Table, set[int]]], rows: Sequence[Sequence[TextItem]]) -> bool:
    """Return whether words of some rows are already in a table, as each word is printed once."""
    return any(id(item) in taken for _, taken in found for row in rows for item in row)


def _is_alike(one: _Rule, other: _Rule) -> bool:
    return abs(one[1] - other[1]) <= _SAME_END and abs(one[2] - other[2]) <= _SAME_END and one[0] != other[0]


def _is_part(rule: _Rule, other: _Rule) -> bool:
    """Return whether a rule is below a name that spans all columns except the first."""
    return abs(rule[2] - other[2]) <= _SAME_END and rule[1] > other[1] and other[0] > rule[0]


def _between(items: Sequence[TextItem], top: _Rule, bottom: _Rule) -> list[list[TextItem]]:
    """List the rows between two rules; none if words extend beyond the rules."""
    inside = [item for item in items if top[0] < item.y + item.height / 2 < bottom[0]]
    inside = [item for item in inside if item.x < top[2] and item.x + item.width > top[1]]
    if any(item.x < top[1] - _OVER or item.x + item.width > top[2] + _OVER for item in inside):
        return []
    return rows_of(inside)


def _columns(rows: Sequence[Sequence[TextItem]]) -> list[float]:
    """Return the left edges of the columns: right of gaps that are empty in all rows with several words."""
    several = [item for row in rows if len(row) > 1 for item in row]
    if not several or sum(len(row) > 1 for row in rows) < _FEWEST:
        return []
    starts: list[float] = []
    reached = -1e9
    for item in sorted(several, key=lambda item: item.x):
        if item.x - reached > _STRIP * size_of(item):
            starts.append(item.x)
        reached = max(reached, item.x + item.width)
    return starts


def _with_names(rows: Sequence[list[TextItem]]) -> list[list[TextItem]]:
    """Merge a name of several lines with the figures next to its middle, half a line lower or higher, into one row."""
    found: list[list[TextItem]] = []
    for row in rows:
        above = found[-1] if found else []
        near = bool(above) and abs(_height(row) - _height(above)) < _HALF * size_of(row[0])
        if near and (_is_left_of(row, above) or _is_left_of(above, row)):
            found[-1] = sorted([*above, *row], key=lambda item: (is_figures(item.text), item.y, item.x))
        else:
            found.append(row)
    return found


def _is_left_of(names: Sequence[TextItem], row: Sequence[TextItem]) -> bool:
    """Return whether words are to the left of the figures of a row."""
    first = min((item.x for item in row if is_figures(item.text)), default=0.0)
    return all(item.x + item.width < first and not is_figures(item.text) for item in names)


def _height(row: Sequence[TextItem]) -> float:
    """Return the vertical middle of the last item of a row: its figures, if it has any, else its words."""
    return row[-1].y + row[-1].height / 2


def _are_figures(rows: Sequence[Sequence[TextItem]], columns: Sequence[float]) -> bool:
    """Return whether rows are figures with their names: most rows have figures, with hardly any words between."""
    behind = [[item for item in row if item.x >= columns[1] - _OVER] for row in rows]
    words = [item.text for row in behind for item in row if any(map(str.isalnum, item.text))]
    figures = sum(map(is_figures, words))
    rows_of_figures = sum(any(is_figures(item.text) for item in row) for row in behind)
    alone = all(item.x + item.width <= columns[1] for row in rows if len(row) > 1 for item in row[:1])
    return alone and figures >= _FIGURES * len(words) and rows_of_figures >= max(_FEWEST, _FULL * len(rows))


def _is_whole(rows: Sequence[Sequence[TextItem]], blocks: Sequence[LayoutBlock], below: Sequence[TextItem]) -> bool:
    """Return whether one table of the engine contains all words of some rows, and none of those below the last rule."""
    inside = [item for row in rows for item in row]
    tables = (box_of(block.bbox) for block in blocks if block.kind == "table" and block.bbox is not None)
    return any(
        all(stands_in(item, box, _OVER) for item in inside) and not any(stands_in(item, box, _OVER) for item in below)
        for box in tables
    )


def _cells(row: Sequence[TextItem], columns: Sequence[float]) -> list[str]:
    cells = [""] * len(columns)
    for place, some in itertools.groupby(row, key=lambda item: _column(item.x, columns)):
        cells[place] = f"{cells[place]} {words_of_items(list(some))}".strip()
    return cells


def _column(x: float, columns: Sequence[float]) -> int:
    return max(bisect_right(columns, x + _OVER) - 1, 0)


def _names(
    head: Sequence[Sequence[TextItem]],
    rows: Sequence[Sequence[TextItem]],
    columns: Sequence[float],
    groups: Sequence[_Rule],
) -> list[str]:
    """Name each column by everything above it; a name with a rule below it covers the width of that rule."""
    names = [""] * len(columns)
    inside = [[item for row in rows for item in row if _column(item.x, columns) == at] for at in range(len(columns))]
    middles = [statistics.median(map(_middle, some)) if some else -1.0 for some in inside]
    for row in head:
        for item, (start, end) in zip(row, _reaches(row, groups), strict=True):
            over = [place for place, middle in enumerate(middles) if start - _OVER <= middle <= end + _OVER]
            nearest = min(range(len(columns)), key=lambda place: abs(middles[place] - _middle(item)))
            for place in over or [nearest]:
                names[place] = f"{names[place]} {item.text.strip()}".strip()
    return names


def _middle(item: TextItem) -> float:
    return item.x + item.width / 2


def _reaches(row: Sequence[TextItem], groups: Sequence[_Rule]) -> list[tuple[float, float]]:
    """Return start and end of what each name of a header covers: its own width, or that of the rule below it.

    Several names above one rule are each centred in their part of it. If they are not, each covers the whole rule.
    """
    found = {id(item): (item.x, item.x + item.width) for item in row}
    shared: dict[_Rule, list[TextItem]] = {}
    for item in row:
        below = [
            rule for rule in groups if rule[0] > item.y + item.height - _OVER and rule[1] <= _middle(item) <= rule[2]
        ]
        if below:
            shared.setdefault(min(below), []).append(item)
    for rule, items in shared.items():
        ends = [rule[1]]
        for item in items:
            ends.append(2 * _middle(item) - ends[-1])
        exact = abs(ends[-1] - rule[2]) <= _SHARED * (rule[2] - rule[1]) and sorted(ends) == ends
        for item, reach in zip(items, itertools.pairwise(ends), strict=True):
            found[id(item)] = reach if exact else rule[1:]
    return list(found.values())
