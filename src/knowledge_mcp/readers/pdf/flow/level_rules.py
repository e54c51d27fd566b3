"""Tables of figures that level lines part from the text, with no upright line: statistics, results, LaTeX's `booktabs`.

The engine guesses them from gaps, and makes several of a wide one, or none where its gaps are narrow. Here two lines of
one width with figures between them are enough.
"""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import box_of, is_rotated, line_of, rows_of, size_of, stands_in
from knowledge_mcp.readers.pdf.ruled import joined
from knowledge_mcp.readers.shared.layout import Table, is_figures

if TYPE_CHECKING:
    from liteparse.types import LayoutBlock, TextItem, VectorGraphics

_SAME_END = 6.0
"""Points by which lines of one table begin and end apart at most: pages are set by hand."""
_SHORTEST = 100.0
"""Points of a table's line at least: shorter ones underline words, begin footnotes, or stand below a group's name."""
_TOUCHING = 0.5
"""Points by which pieces of one line are apart at most."""
_OVER = 3.0
"""Points by which words stand out of the lines of their table at most."""
_FEWEST, _COLUMNS = 3, 3
"""Rows of figures and columns at least."""
_FIGURES, _FULL = 0.8, 0.6
"""Share of the words behind the first column that are figures, and share of the rows that have some."""
_SHARED = 0.1
"""Share of a line by which the shares of several names over it may miss its end: each is in the middle of its own."""
_HEAD = 7
"""Rows of a head at most."""
_HALF = 0.9
"""Times the size of print by which a line of a name is off its figures, where these stand beside the middle of two."""
_STRIP = 0.5
"""Times the size of print that a strip between two columns is free at least."""

_Rule = tuple[float, float, float]
"""A level line: its height, where it begins and where it ends."""


def tables_between_rules(
    graphics: VectorGraphics | None,
    items: Sequence[TextItem],
    blocks: Sequence[LayoutBlock],
    page: int,
    places: Mapping[int, float],
) -> list[tuple[Table, set[int]]]:
    """Find the tables that the engine has not whole.

    Args:
        graphics: of the page; a line that is drawn in pieces that touch, one for each column, is one.
        items: of the page that are in no table yet.
        blocks: the engine's; what is one of its tables as a whole is left to it, but for a head in several rows, or
            whose lines tell which columns a name stands over, and for names of two lines.
        page: physical page from 1.
        places: block of each item, by its identity.

    Returns:
        Each table with the identities of its items.
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
        told = head and (groups or len(head) > 1 or len(rows) < len(printed))
        if not told and _is_whole([*head, *rows], blocks, below):
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
"""Such lines up to which a page is looked at: a form or a drawing has more."""


def _frames(rules: Sequence[_Rule]) -> Iterator[tuple[_Rule | None, _Rule, _Rule]]:
    """Yield neighbouring lines of one width, with the one above them, of their width or below a name of the others."""
    for place, top in enumerate(rules):
        alike = [rule for rule in rules[place + 1 :] if _is_alike(rule, top)]
        above = next((rule for rule in reversed(rules[:place]) if _is_alike(rule, top)), None)
        part = next((rule for rule in reversed(rules[:place]) if _is_part(rule, top)), None) if above is None else None
        above = (part[0], *top[1:]) if part is not None else above
        if alike:
            yield above, top, alike[0]


def _is_head(rows: Sequence[Sequence[TextItem]]) -> bool:
    """Tell names of columns from names with their figures between two lines: one row of a head may be years."""
    figures = sum(not is_figures(row[0].text) and any(is_figures(item.text) for item in row[1:]) for row in rows)
    return len(rows) <= _HEAD and figures <= 1


def _are_in(found: Sequence[tuple[Table, set[int]]], rows: Sequence[Sequence[TextItem]]) -> bool:
    """Tell whether words of some rows are in a table already: they are printed once."""
    return any(id(item) in taken for _, taken in found for row in rows for item in row)


def _is_alike(one: _Rule, other: _Rule) -> bool:
    return abs(one[1] - other[1]) <= _SAME_END and abs(one[2] - other[2]) <= _SAME_END and one[0] != other[0]


def _is_part(rule: _Rule, other: _Rule) -> bool:
    """Tell a line below a name that stands over all columns but the first."""
    return abs(rule[2] - other[2]) <= _SAME_END and rule[1] > other[1] and other[0] > rule[0]


def _between(items: Sequence[TextItem], top: _Rule, bottom: _Rule) -> list[list[TextItem]]:
    """List the rows between two lines; none where words stand out of them."""
    inside = [item for item in items if top[0] < item.y + item.height / 2 < bottom[0]]
    inside = [item for item in inside if item.x < top[2] and item.x + item.width > top[1]]
    if any(item.x < top[1] - _OVER or item.x + item.width > top[2] + _OVER for item in inside):
        return []
    return rows_of(inside)


def _columns(rows: Sequence[Sequence[TextItem]]) -> list[float]:
    """Tell where columns begin: right of strips that are free in all rows of several words."""
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
    """Put a name of several lines and the figures beside its middle, half a line lower or higher, into one row."""
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
    """Tell words that stand to the left of the figures of a row."""
    first = min((item.x for item in row if is_figures(item.text)), default=0.0)
    return all(item.x + item.width < first and not is_figures(item.text) for item in names)


def _height(row: Sequence[TextItem]) -> float:
    """Measure where the figures of a row stand, else its words: the middle of its last item."""
    return row[-1].y + row[-1].height / 2


def _are_figures(rows: Sequence[Sequence[TextItem]], columns: Sequence[float]) -> bool:
    """Tell figures with their names from text: most rows have figures, and hardly any words stand among them."""
    behind = [[item for item in row if item.x >= columns[1] - _OVER] for row in rows]
    words = [item.text for row in behind for item in row if any(map(str.isalnum, item.text))]
    figures = sum(map(is_figures, words))
    rows_of_figures = sum(any(is_figures(item.text) for item in row) for row in behind)
    alone = all(item.x + item.width <= columns[1] for row in rows if len(row) > 1 for item in row[:1])
    return alone and figures >= _FIGURES * len(words) and rows_of_figures >= max(_FEWEST, _FULL * len(rows))


def _is_whole(rows: Sequence[Sequence[TextItem]], blocks: Sequence[LayoutBlock], below: Sequence[TextItem]) -> bool:
    """Tell whether one table of the engine has all words of some rows, and none of those below their last line."""
    inside = [item for row in rows for item in row]
    tables = (box_of(block.bbox) for block in blocks if block.kind == "table" and block.bbox is not None)
    return any(
        all(stands_in(item, box, _OVER) for item in inside) and not any(stands_in(item, box, _OVER) for item in below)
        for box in tables
    )


def _cells(row: Sequence[TextItem], columns: Sequence[float]) -> list[str]:
    cells = [""] * len(columns)
    for place, some in itertools.groupby(row, key=lambda item: _column(item.x, columns)):
        items = list(some)
        flat = dict.fromkeys(map(id, items), 0.0)
        text = " ".join(line_of(line, 0, flat).text for line in rows_of(items))
        cells[place] = f"{cells[place]} {text}".strip()
    return cells


def _column(x: float, columns: Sequence[float]) -> int:
    return max(bisect_right(columns, x + _OVER) - 1, 0)


def _names(
    head: Sequence[Sequence[TextItem]],
    rows: Sequence[Sequence[TextItem]],
    columns: Sequence[float],
    groups: Sequence[_Rule],
) -> list[str]:
    """Name each column by all that stands over it; what has a line of its own below it stands over its width."""
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
    """Tell from where to where each name of a head stands: over its own width, or its line's.

    Several names over one line are each the middle of their share of it; where they are not, all stand over all of it.
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
