"""Finds the gutters of a page with two or three columns, and the reading order: columns from left to right.

The engine's blocks mix the columns up if their headings are centred or one of them ends early.
"""

from __future__ import annotations

import itertools
import math
import statistics
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import mark_alone
from knowledge_mcp.readers.pdf.lines import crossings, rows_of, size_of

if TYPE_CHECKING:
    from liteparse.types import TextItem

_NARROWEST = 9.0
"""Minimum width of a gutter in points, as of the strip next to an aside."""
_MIDDLE = (0.42, 0.58)
_THIRDS = ((0.26, 0.42), (0.58, 0.74))
"""Ranges of the page's width, as shares, in which the gutter of two columns, and those of three, are looked for:
columns have equal widths."""
_NARROWER = 6.0
"""Minimum width in points of a gutter between three columns: gazettes have 8."""
_WIDEST = 0.6
"""Minimum total width of the columns as a share of the page's width, each counted as wide as the widest."""
_FEWEST, _SHORTEST = 6, 2
"""Minimum number of rows of the longer and of the shorter column."""
_CROSSING = 0.25
"""Maximum share of rows across both columns: titles, running lines, a figure's caption."""
_FEW = 3
"""Maximum number of rows with a blank at the gutter, and of rows by which more may cross a place with a wider strip:
titles and page numbers. The columns of a table may be as close."""
_MOST_BELOW, _SMALL = 8, 0.93
"""Maximum number of rows of notes and running lines below the columns, and their font size as a share of the usual."""
_EVEN = 0.75
"""Minimum width of a column as a share of the wider column's width; its last lines are short."""
_FULL, _RUNNING = 0.6, 0.5
"""Share of its column's width that a line of running text fills, and minimum share of such rows."""
_LONGEST_MARK = 6
"""Maximum number of characters of a list marker: "(viii)"."""
_LARGER, _PAUSE = 1.0, 0.5
"""Points by which a title across the columns is larger than the text, and minimum blank height above it in font sizes:
lines of the columns have about a fifth."""
_SAME_HEIGHT = 3.0
"""Maximum distance in points between the middles of the texts of a title."""
_OFF_CENTRE = 6.0
"""Maximum deviation in points of the sum of both ends of a centred line: three on either side."""


_MOST_PLACES = 1_600
"""Maximum places at which a gutter is looked for: a file can state any size of its pages."""


@dataclass(frozen=True, slots=True)
class Gutter:
    """The positions of the gutters, from the left, and the heights of the rows that cross them, from the top.

    `titles` are the heights of those that end before the gutter.
    """

    strips: tuple[float, ...]
    crossing: tuple[float, ...]
    titles: tuple[float, ...] = ()

    def crossed(self, heights: Iterable[float]) -> Gutter:
        """Add the heights of tables that cross a gutter."""
        return replace(self, crossing=tuple(sorted([*self.crossing, *heights])))

    def is_crossed(self, x0: float, x1: float) -> bool:
        """Return whether something between two x-coordinates crosses a gutter."""
        return any(x0 < strip < x1 for strip in self.strips)

    def place(self, x0: float, x1: float, y: float) -> float:
        """Return a place's number in reading order: between two crossing rows, the columns follow one by one."""
        above, columns = bisect_left(self.crossing, y - 0.5), len(self.strips) + 1
        near = bisect_left(self.titles, y - _SAME_HEIGHT)
        is_title = near < len(self.titles) and self.titles[near] <= y + _SAME_HEIGHT
        side = columns if is_title or self.is_crossed(x0, x1) else sum(strip < x1 for strip in self.strips)
        return float((columns + 1) * above + side + 1)


def gutter_of(items: Sequence[TextItem], width: float, known: float = 0.0) -> Gutter | None:
    """Find the gutter of a page of columns of running text; None if it has none, unless its place is known."""
    rows = rows_of(list(items))
    if known:
        return Gutter((known,), _heights_across(rows, known))
    if len(rows) < _FEWEST:
        return None
    return _of_two(rows, width) or _gutter_at(
        [_least_crossed(rows, _places(third, width), _NARROWER) for third in _THIRDS], rows, width
    )


def _of_two(rows: list[list[TextItem]], width: float) -> Gutter | None:
    """Find the gutter of two columns; running lines and notes below them may cross it."""
    places = _places(_MIDDLE, width)
    usual = statistics.median(size_of(row[0]) for row in rows)
    left = rows
    while (found := _gutter_at([_least_crossed(left, places, _NARROWEST)], left, width)) is None:
        # a note below both columns may end within the gutter, and the page number may be in it
        if len(rows) - len(left) == _MOST_BELOW or size_of(left[-1][0]) > _SMALL * usual or len(left) <= _FEWEST:
            return None
        left = left[:-1]
    if left is rows:
        return found
    below, strip = _bounds(rows[len(left) :]), _bounds(left)
    (x,) = found.strips
    low = max((bound for bound in strip if bound <= x), default=0.0)
    high = min((bound for bound in strip if bound >= x), default=width)
    return Gutter((x,), _heights_across(rows, x)) if any(low < bound < high for bound in below) else None


def _bounds(rows: Iterable[Sequence[TextItem]]) -> list[float]:
    """List the left and right edges of the items of some rows."""
    return [bound for row in rows for item in row for bound in (item.x, item.x + item.width)]


def _least_crossed(rows: Sequence[Sequence[TextItem]], places: Sequence[float], narrowest: float) -> float:
    """Return the place that the fewest rows cross; if a few more cross another one, the free strip there must be wide.

    The few are titles, and the page number.
    """
    spans = [spans_of(row) for row in rows]
    crossed = crossings(span for some in spans for span in some)  # a row's spans do not overlap
    crossing = {x: crossed(x) for x in places}
    fewest = sorted(places, key=crossing.__getitem__)
    most = crossing[fewest[0]] + _FEW
    for x in itertools.takewhile(lambda x: crossing[x] <= most, fewest):
        clear = [some for some in spans if not _is_within(some, x)]
        ends = max((end for some in clear for start, end in some if start < x), default=0.0)
        starts = min((start for some in clear for start, _ in some if start >= x), default=math.inf)
        if starts - ends >= narrowest:
            return x
    return fewest[0]


def _heights_across(rows: Sequence[Sequence[TextItem]], x: float) -> tuple[float, ...]:
    across = (row for row in rows if _is_across(row, x))
    return tuple(sorted(max(item.y + item.height / 2 for item in row) for row in across))


def _places(shares: tuple[float, float], width: float) -> list[float]:
    """List places between two shares of a width, three points apart; further apart on pages of several metres."""
    low, high = (share * width for share in shares)
    length = max(int(high - low), 1)
    return [low + step for step in range(0, length, max(3, length // _MOST_PLACES))]


def _gutter_at(strips: Sequence[float], rows: Sequence[list[TextItem]], width: float) -> Gutter | None:
    """Return the gutter if columns of running text are on both sides of each place."""
    sides: list[list[list[TextItem]]] = [[] for _ in range(len(strips) + 1)]
    crossing: list[float] = []
    parted = 0
    titles = _titles_across(rows, strips[0])
    named: list[float] = []
    for row in rows:
        if id(row) in titles or any(_is_across(row, strip) for strip in strips):
            crossing.append(max(item.y + item.height / 2 for item in row))
            named += crossing[-1:] if id(row) in titles else []
            parted += id(row) not in titles and not any(_crosses(item, strip) for item in row for strip in strips)
            continue
        for side, some in itertools.groupby(row, key=lambda item: bisect_left(strips, item.x)):
            sides[side].append(list(some))
    lengths, several = sorted(map(len, sides)), len(strips) > 1
    few = lengths[0] < (_FEWEST if several else _SHORTEST) or lengths[-1] < _FEWEST
    if few or len(crossing) > max(2, _CROSSING * len(rows)) or parted > _FEW:
        return None
    spans = [(min(row[0].x for row in side), max(row[-1].x + row[-1].width for row in side)) for side in sides]
    wide = [end - start for start, end in spans]
    between = [right[0] - left[1] for left, right in itertools.pairwise(spans)]
    if min(between) < (_NARROWER if several else _NARROWEST) or min(wide) < _EVEN * max(wide):
        return None
    if max(wide) * len(wide) < _WIDEST * width:
        return None
    if any(_running(side, span) < _RUNNING for side, span in zip(sides, spans, strict=True)):
        return None
    places = tuple((left[1] + right[0]) / 2 for left, right in itertools.pairwise(spans))
    return Gutter(places, tuple(sorted(crossing)), tuple(named))


def _titles_across(rows: Sequence[list[TextItem]], x: float) -> set[int]:
    """Find titles of the whole page that end before the gutter, by id: larger, where all columns pause for them."""
    usual = statistics.median(size_of(row[0]) for row in rows)
    found: set[int] = set()
    beside = [any(item.x > x for item in row) for row in rows]
    bottom = -math.inf
    above = was_large = False
    for row, is_beside, below in zip(rows, beside, [*beside[1:], False], strict=True):
        large = size_of(row[0]) >= usual + _LARGER
        pauses = min(item.y for item in row) - bottom >= _PAUSE * usual
        if large and pauses and above and below and not (is_beside or was_large):
            found.add(id(row))
        above, was_large = above or is_beside, large
        bottom = max(bottom, *(item.y + item.height for item in row))
    return found


def _running(side: Sequence[Sequence[TextItem]], span: tuple[float, float]) -> float:
    """Return the share of running text: full lines and the last ones below them; centred titles do not count."""
    found: list[bool] = []
    was_full = False
    for row in side:
        start, end = row[0].x, row[-1].x + row[-1].width
        full = end - start > _FULL * (span[1] - span[0]) and not _has_gap(row)
        if full or abs(start + end - sum(span)) > _OFF_CENTRE:
            found.append(full or was_full)
        was_full = full
    return statistics.mean(found) if found else 0.0


def _crosses(item: TextItem, x: float) -> bool:
    return item.x < x < item.x + item.width


def _is_across(row: Sequence[TextItem], x: float) -> bool:
    """Return whether words of a row cross a place, or have a blank between two of them there."""
    return _is_within(spans_of(row), x)


def _is_within(spans: Iterable[tuple[float, float]], x: float) -> bool:
    return any(start < x < end for start, end in spans)


def spans_of(row: Sequence[TextItem]) -> list[tuple[float, float]]:
    """Return the ends of the texts of a row, without gaps that are blanks or the space after a list marker."""
    spans: list[tuple[float, float]] = []
    is_marked = False
    for item in row:
        end = item.x + item.width
        if spans and (is_marked or item.x - spans[-1][1] < _NARROWER):
            spans[-1] = (spans[-1][0], max(spans[-1][1], end))
        else:
            spans.append((item.x, end))
        is_marked = len(item.text) <= _LONGEST_MARK and mark_alone(item.text) is not None
    return spans


def _has_gap(row: Sequence[TextItem]) -> bool:
    """Return whether a row is cells, not a line of text; the space after a list marker is not a gap."""
    row = row[mark_alone(row[0].text) is not None :]
    return any(two.x - one.x - one.width > 1.5 * size_of(one) for one, two in itertools.pairwise(row))
