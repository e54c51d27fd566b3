"""Tables with only horizontal rules between rows: requirement lists, data sheets, Word's lighter styles.

The vertical lines of the grid are placed in the strips in which hardly any row has words. Words that cross a strip are
in one cell there: the name of a group of columns, or a line of text across the whole width.
"""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import caption_label
from knowledge_mcp.readers.pdf.lines import Piece, is_heavy, is_rotated, middle_of, pieces_of, rows_of, size_of
from knowledge_mcp.readers.pdf.ruled import Drawn, DrawnLine, RuledGrid, grids_of
from knowledge_mcp.readers.shared.layout import is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem

_SHORTEST = 100.0
"""Minimum length in points of a table's rule: shorter ones underline words or begin footnotes."""
_FEWEST = 3
"""Minimum number of rows between rules with words in two columns: a page's header and footer make one or two."""
_MOST_LINES = 15
"""Maximum number of lines of a row: longer text between two rules is the text of a page, which may have columns."""
_MOST_RULES = 200
"""Maximum number of horizontal rules of one length in a table: ruled paper has fewer, drawings have more."""
_SEVERAL = 0.4
"""Maximum number of rows without a rule for each ruled row: rules may separate groups of rows, or only the header."""
_SPACE = 1.5
"""Maximum space around a line of text in a table as a factor of the usual one: captions and notes have more."""
_NAME = 2
"""Maximum number of lines of a name above some rows."""
_MOST_HEAD = 4
"""Maximum number of lines of a header, or of the last row, without a closing rule."""
_MOST_LEVEL = 2000
"""Number of horizontal lines above which a page is a drawing: each text on it would be compared with hundreds of
tables."""
_OVER = 3.0
"""Maximum distance in points by which words may extend beyond the rules of their table."""
_PIECE, _APART = 0.3, 1.0
"""Gap from which pieces of a line may be separate cells, more than a space, and gap from which they are, as factors of
the font size: the spaces of justified lines are narrower."""
_CROSSED = 0.2
"""Maximum share of rows with words in a strip: names of groups, and lines of text across the whole width."""


@dataclass(frozen=True, slots=True)
class _Strip:
    """The space between two columns: its start, the place crossed by the fewest rows, its end."""

    start: float
    middle: float
    end: float


@dataclass(slots=True)
class _Row:
    """What is between two rules.

    Attributes:
        top, bottom: heights of the two rules.
        head, foot: upper and lower edge of its print.
        tops: upper edges of its printed lines.
        lines: pieces of text of each line.
        heavy: whether each line is bold.
        is_parted: whether pieces are side by side.
    """

    top: float
    bottom: float
    head: float
    foot: float
    tops: list[float]
    lines: list[list[Piece]]
    heavy: list[bool]
    is_parted: bool

    def is_inside(self, most: float) -> bool:
        """Return whether this is a row or a name above rows; captions and notes have more space around them."""
        return self.is_parted or (self.space <= most and len(self.lines) <= _NAME)

    @property
    def space(self) -> float:
        """Return the space above and below its print."""
        return self.bottom - self.top - (self.foot - self.head)

    def crosses(self, edge: float) -> bool:
        """Return whether words cross a place."""
        return any(start + 1 < edge < end - 1 for line in self.lines for start, end, _ in line)


def parted_rows(drawn: Drawn, items: Sequence[TextItem]) -> list[RuledGrid]:
    """Find the tables of a page whose rows are separated only by horizontal rules, as grids.

    Args:
        drawn: the drawings of the page; places with grids are skipped.
        items: items of the page.
    """
    found: list[RuledGrid] = []
    if not _FEWEST < len(drawn.level) <= _MOST_LEVEL or drawn.crowded:
        return found
    words = sorted((item for item in items if not is_rotated(item)), key=middle_of)
    size = statistics.median(map(size_of, words)) if words else 0.0
    for rules in _alike(drawn.level):
        for rows in _runs(rules, words, drawn):
            found.extend(_grids(rows, rules[0], drawn.level, words, size))
    return found


def _alike(lines: Sequence[DrawnLine]) -> Iterator[list[DrawnLine]]:
    """Group long rules with the same ends, from the top."""
    groups: list[list[DrawnLine]] = []
    for line in sorted(lines):
        if line.end - line.start < _SHORTEST:
            continue
        for group in groups:
            if group[0].has_ends_of(line):
                group.append(line)
                break
        else:
            groups.append([line])
    yield from (group for group in groups if _FEWEST < len(group) <= _MOST_RULES)


def _runs(rules: Sequence[DrawnLine], items: Sequence[TextItem], drawn: Drawn) -> Iterator[list[_Row]]:
    """Yield consecutive rows if enough of them have words side by side."""
    read = [
        None if _is_elsewhere(above, below, drawn) else _between(items, above, above.at, below.at)
        for above, below in itertools.pairwise(rules)
    ]
    spaces = [row.space for row in read if row is not None and row.is_parted]
    most = _SPACE * statistics.median(spaces) + _OVER if spaces else 0.0
    for is_row, some in itertools.groupby(read, key=lambda row: row is not None and row.is_inside(most)):
        run = [row for row in some if row is not None]
        parted = [place for place, row in enumerate(run) if row.is_parted]
        if is_row and len(parted) >= _FEWEST:
            yield run[parted[0] : parted[-1] + 1]


def _is_elsewhere(above: DrawnLine, below: DrawnLine, drawn: Drawn) -> bool:
    """Return whether two rules bound a grid, or vertical lines run between them."""
    for grid in drawn.grids:
        left, top, right, bottom = grid.box
        if top < below.at and bottom > above.at and left < above.end and right > above.start:
            return True
    return any(
        line.start < below.at - _OVER
        and line.end > above.at + _OVER
        and above.start - _OVER < line.at < above.end + _OVER
        for line in drawn.upright
    )


def _between(items: Sequence[TextItem], rule: DrawnLine, top: float, bottom: float) -> _Row | None:
    """Read what is between two heights; None if it is not a row of a table."""
    between = items[bisect_right(items, top, key=middle_of) : bisect_left(items, bottom, key=middle_of)]
    inside = [item for item in between if item.x < rule.end and item.x + item.width > rule.start]
    if any(item.x < rule.start - _OVER or item.x + item.width > rule.end + _OVER for item in inside):
        return None
    lines = rows_of(inside)
    if not lines or len(lines) > _MOST_LINES:
        return None
    pieces = [pieces_of(line, _PIECE) for line in lines]
    if caption_label(" ".join(text for _, _, text in pieces[0]), is_sure=True):
        return None
    pairs = itertools.chain.from_iterable(map(itertools.pairwise, pieces))
    return _Row(
        top,
        bottom,
        min(item.y for item in inside),
        max(item.y + item.height for item in inside),
        [min(item.y for item in line) for line in lines],
        pieces,
        [all(map(is_heavy, line)) for line in lines],
        any(right[0] - left[1] >= _APART * size_of(inside[0]) for left, right in pairs),
    )


def _grids(
    rows: list[_Row], rule: DrawnLine, level: Sequence[DrawnLine], items: Sequence[TextItem], size: float
) -> list[RuledGrid]:
    """Make grids from rows: their rules, the lines within them, and vertical lines in the strips between columns."""
    strips = _strips(rows, size)
    edges = [rule.start, *(strip.middle for strip in strips), rule.end]
    cuts = [list(_cuts(row, edges)) for row in rows]
    if len(edges) < _FEWEST or sum(map(len, cuts)) > _SEVERAL * len(rows):
        return []
    rows = [*_beyond(rows[0], -1, rule, items, edges), *rows, *_beyond(rows[-1], 1, rule, items, edges)]
    upright = [
        DrawnLine(edge, row.top, row.bottom)
        for row in rows
        for edge in edges
        if edge in {rule.start, rule.end} or not row.crosses(edge)
    ]
    lines = [DrawnLine(at, rule.start, rule.end) for at in (*(row.top for row in rows), rows[-1].bottom)]
    lines += itertools.chain.from_iterable(cuts[1:])
    lines += _below_head(rows[0], rule)
    lines += _within(
        rows, level, [_Strip(edges[0], edges[0], edges[0]), *strips, _Strip(edges[-1], edges[-1], edges[-1])]
    )
    return grids_of(sorted(lines), sorted(upright))


def _beyond(row: _Row, way: int, rule: DrawnLine, items: Sequence[TextItem], edges: Sequence[float]) -> Iterator[_Row]:
    """Find the header above the first rule, or the last row below the last rule, if no rule closes the table there.

    Args:
        row: the first or the last known row.
        way: -1 for above, 1 for below.
        rule: a rule of the table.
        items: items of the page, from the top.
        edges: edges of the columns.
    """
    near = row.space + (row.foot - row.head) / len(row.lines)
    at = row.top if way < 0 else row.bottom
    found: _Row | None = None
    for _ in range(_MOST_HEAD):
        reach = (found.head if way < 0 else found.foot) if found is not None else at
        more = _between(items, rule, min(at, reach + way * near), max(at, reach + way * near))
        if more is None or (found is not None and len(more.lines) <= len(found.lines)) or any(map(more.crosses, edges)):
            break
        found = more
    if found is not None and found.is_parted:
        yield found


def _below_head(row: _Row, rule: DrawnLine) -> Iterator[DrawnLine]:
    """Find where bold names end and the first row begins, if a background colour separates them and no rule does."""
    head = row.lines[0]
    for place, (line, bold, other) in enumerate(zip(row.lines[1:], row.heavy, row.heavy[1:], strict=False), 1):
        first = abs(line[0][0] - head[0][0]) <= _OVER
        if bold and not other and first and 2 * len(line) > len(head):
            yield DrawnLine(row.tops[place], rule.start, rule.end)


def _within(rows: Sequence[_Row], level: Sequence[DrawnLine], sides: Sequence[_Strip]) -> Iterator[DrawnLine]:
    """Yield the lines within a table that separate only some of its columns, from edge to edge of these."""
    for line in level:
        if rows[0].top + _OVER < line.at < rows[-1].bottom - _OVER:
            start, end = (
                next((side.middle for side in sides if side.start - _OVER <= at <= side.end + _OVER), None)
                for at in (line.start, line.end)
            )
            if start is not None and end is not None and start < end and end - start < sides[-1].end - sides[0].start:
                yield DrawnLine(line.at, start, end)


def _strips(rows: Sequence[_Row], size: float) -> list[_Strip]:
    """Find the strips in which hardly any row has words."""
    parted = [row for row in rows if row.is_parted]
    most = int(_CROSSED * len(parted))
    ends = sorted(end for row in parted for start, stop in _covered(row) for end in ((start, 1), (stop, -1)))
    strips: list[_Strip] = []
    free: list[tuple[int, float, float, float]] = []  # number of rows that cross, negative width, start and end
    depth = 0
    for (at, step), (following, _) in itertools.pairwise(ends):
        depth += step
        if depth <= most:
            free.append((depth, at - following, at, following))
        elif free:
            _, width, start, stop = min(free)
            if -width >= _PIECE * size:
                strips.append(_Strip(free[0][2], (start + stop) / 2, at))
            free = []
    return strips


def _covered(row: _Row) -> Iterator[tuple[float, float]]:
    """Yield the intervals of the width that have words in some line of a row."""
    pieces = sorted((start, end) for line in row.lines for start, end, _ in line)
    left, right = pieces[0]
    for start, end in pieces[1:]:
        if start > right:
            yield left, right
            left, right = start, end
        right = max(right, end)
    yield left, right


def _cuts(row: _Row, edges: Sequence[float]) -> Iterator[DrawnLine]:
    """Find where a row consists of several, each with its own texts; the first column may name them all once."""
    lines = [{bisect_right(edges, start): text.strip() for start, _, text in line} for line in row.lines]
    above = lines[0]
    for top, line in zip(row.tops[1:], lines[1:], strict=True):
        figures = any(is_figures(text) and is_figures(above.get(at, "")) for at, text in line.items())
        begins = figures or len(line) > 1
        continues = any(
            text[:1].islower() and (not figures or len(above.get(at, "").split()) > 2) for at, text in line.items()
        )
        if begins and not continues and line.keys() | {1} >= lines[0].keys():
            yield DrawnLine(top, edges[0 if 1 in line else 1], edges[-1])
            above = line
