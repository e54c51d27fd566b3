"""Tables of typewriter print: their columns are separated by blanks alone, or by lines of dashes below the names.

All letters have one width, so that a strip without letters from the first row to the last separates two columns.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import caption_label, mark_alone
from knowledge_mcp.readers.pdf.lines import is_rotated, overlap, rows_of
from knowledge_mcp.readers.pdf.ruled import Drawn, DrawnLine, RuledGrid, grids_of
from knowledge_mcp.readers.shared.layout import is_code_name, is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem

_TYPED = 0.8
"""Minimum share of a document's letters in monospaced print: below it, such print is program text."""
_FEWEST, _COLUMNS = 3, 3
"""Minimum number of rows and of columns; two columns are a list, unless dashes separate its names from the rows."""
_STEP = 1.5
"""Maximum distance between rows without a blank row, as a factor of their height."""
_GAP = 2
"""Minimum number of blanks between two columns, in at least half of the rows; one alone is between words."""
_DASHES = re.compile(r"[-=_–—]{2,}(?: +[-=_–—]{2,})*")
_LEADERS = re.compile(r"\.{4}|(?:\. ){4}")
_PAGE = re.compile(r"\d{1,4}|[ivx]{1,5}")
_MOST_ROWS = 300
"""Maximum number of rows of a page on which tables are looked for: three times those of a page of small print."""


@dataclass(slots=True)
class TypedPages:
    """Counts the letters in monospaced print, on pages that are parsed in batches."""

    _letters: Counter[bool] = field(default_factory=Counter[bool])

    def settle(self, items: Sequence[TextItem]) -> bool:
        """Add items, and return whether the document is typed."""
        for item in items:
            self._letters[is_code_name(item.font_name or "")] += len(item.text)
        return self._letters[True] > _TYPED * self._letters.total()


@dataclass(frozen=True, slots=True)
class _Row:
    """One typed row: its words with their left and right edges, its upper and lower edge, and its items."""

    words: list[tuple[float, float, str]]
    top: float
    bottom: float
    items: list[TextItem]

    @property
    def text(self) -> str:
        return " ".join(word for _, _, word in self.words)

    @property
    def is_rule(self) -> bool:
        return _DASHES.fullmatch(self.text) is not None


def typed_rows(drawn: Drawn, items: Sequence[TextItem]) -> tuple[list[RuledGrid], set[int]]:
    """Find the tables of a typed page as grids, and the items that are their lines of dashes, by id."""
    grids: list[RuledGrid] = []
    dashes: set[int] = set()
    level = [item for item in items if not is_rotated(item) and is_code_name(item.font_name or "")]
    if not level:
        return grids, dashes
    blank = sum(item.width for item in level) / sum(len(item.text) for item in level)
    rows = [_row(row) for row in rows_of(level)]
    if len(rows) > _MOST_ROWS:
        return grids, dashes
    for run in _runs(rows, blank):
        edges = _edges(run, blank)
        found = _grids(run, edges, drawn)
        if found:
            grids += found
            dashes |= {id(item) for row in run if row.is_rule for item in row.items}
    return grids, dashes


def _row(items: Sequence[TextItem]) -> _Row:
    words: list[tuple[float, float, str]] = []
    for item in items:
        letter = item.width / len(item.text)
        words += [
            (item.x + word.start() * letter, item.x + word.end() * letter, word[0])
            for word in re.finditer(r"\S+", item.text)
        ]
    bottom = max(item.y + item.height for item in items)
    return _Row(words, min(item.y for item in items), bottom, list(items))


def _runs(rows: Sequence[_Row], blank: float) -> Iterator[list[_Row]]:
    """Yield rows that may be a table; a blank row within one is left out if the columns continue below it."""
    groups: list[list[_Row]] = []
    last: _Row | None = None
    for row in rows:
        inside = (
            row.is_rule or _is_parted(row, blank) or bool(groups and groups[-1] and _is_cell(row, groups[-1], blank))
        )
        near = last is not None and row.top - last.top < _STEP * (last.bottom - last.top)
        if not near or not inside:
            groups.append([])
        if inside:
            groups[-1].append(row)
        last = row
    groups = [group for group in groups if group]
    while groups:
        count = 1
        for end in range(2, len(groups) + 1):
            above, row = groups[end - 2][-1], groups[end - 1][0]
            if row.top - above.top > 2 * _STEP * (above.bottom - above.top):
                break
            rows = list(itertools.chain.from_iterable(groups[:end]))
            if len(_edges(rows, blank)) + 1 >= _least(rows):
                count = end
        yield list(itertools.chain.from_iterable(groups[:count]))
        groups = groups[count:]


def _least(rows: Sequence[_Row]) -> int:
    """Return the minimum number of columns."""
    return 2 if any(row.is_rule for row in rows) else _COLUMNS


def _is_parted(row: _Row, blank: float) -> bool:
    """Return whether a row has words far apart, and is neither a caption nor an entry of a table of contents."""
    apart = any(right[0] - left[1] >= (_GAP - 0.5) * blank for left, right in itertools.pairwise(row.words))
    return apart and not caption_label(row.text, is_sure=True) and _LEADERS.search(row.text) is None


def _is_cell(row: _Row, above: Sequence[_Row], blank: float) -> bool:
    """Return whether a row continues a cell other than the first: it begins where the words of a column begin."""
    starts = {round(start) for other in above for start, _, _ in other.words[1:]}
    left = min(other.words[0][0] for other in above)
    return row.words[0][0] > left + blank and round(row.words[0][0]) in starts


def _edges(rows: Sequence[_Row], blank: float) -> list[float]:
    """Find the places between the columns: strips that no word crosses, and that are wide in most rows."""
    body = [row for row in rows if not row.is_rule]
    ends = sorted(word[:2] for row in rows for word in row.words)
    free: list[float] = []
    reached = ends[0][1]
    for start, end in ends:
        if start - reached >= 0.5 * blank:
            free.append((start + reached) / 2)
        reached = max(reached, end)
    return [edge for edge in free if 2 * sum(_has_gap(row, edge, blank) for row in body) >= len(body)]


def _has_gap(row: _Row, edge: float, blank: float) -> bool:
    ends = max((end for _, end, _ in row.words if end <= edge), default=None)
    starts = min((start for start, _, _ in row.words if start >= edge), default=None)
    return ends is not None and starts is not None and starts - ends >= (_GAP - 0.5) * blank


def _cells(row: _Row, edges: Sequence[float]) -> dict[int, str]:
    """Return the words of a row in each column."""
    cells: dict[int, str] = {}
    for start, _, word in row.words:
        at = sum(edge < start for edge in edges)
        cells[at] = f"{cells.get(at, '')} {word}".strip()
    return cells


def _grids(rows: Sequence[_Row], edges: Sequence[float], drawn: Drawn) -> list[RuledGrid]:
    """Make a grid if the rows are a table; the rows above the first line of dashes are its header."""
    rules = [place for place, row in enumerate(rows) if row.is_rule]
    body = [place for place, row in enumerate(rows) if not row.is_rule]
    head = [place for place in body if place < next((rule for rule in rules if rule > body[0]), 0)] if body else []
    if len(edges) + 1 < (2 if head else _COLUMNS) or len(body) < _FEWEST:
        return []
    cells = {place: _cells(rows[place], edges) for place in body}
    first_cells, last_cells = ([found[at] for found in cells.values() if at in found] for at in (0, len(edges)))
    if all(map(mark_alone, first_cells)) or (not head and all(map(_PAGE.fullmatch, last_cells))):
        return []  # a list, or a table of contents
    box = rows[0].words[0][0], rows[0].top, max(end for row in rows for _, end, _ in row.words), rows[-1].bottom
    left, right = min(row.words[0][0] for row in rows) - 1, box[2] + 1
    if any(overlap(grid.box, (left, box[1], right, box[3])) for grid in drawn.grids):
        return []
    starts = [body[0]]
    for above, place in itertools.pairwise(body):
        if place not in head and (above in head or _begins(cells[above], cells[place])):
            starts.append(place)
    if len(starts) < _FEWEST:
        return []
    tops = [
        *((rows[place].top + (rows[place - 1].bottom if place else rows[place].top)) / 2 for place in starts),
        box[3],
    ]
    level = [DrawnLine(at, left, right) for at in tops]
    return grids_of(level, [DrawnLine(at, tops[0], tops[-1]) for at in (left, *edges, right)])


def _begins(above: dict[int, str], cells: dict[int, str]) -> bool:
    """Return whether a typed row begins a row of the table, and does not continue the cells above it."""
    if any(is_figures(text) and is_figures(above.get(at, "")) for at, text in cells.items()):
        return True
    first = next(iter(cells.values()))
    return (0 in cells or len(cells) > 1) and not (first[:1].islower() or first[:1] == "(")
