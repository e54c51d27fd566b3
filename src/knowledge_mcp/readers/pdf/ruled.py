"""Turns the lines drawn on a page into grids of cells, and tells a drawing from a table by what else is drawn.

Lines are horizontal or vertical: strokes, edges of boxes and of filled areas; a thin filled area is a line too. Lines
within `_NEAR` of each other are one line. All work is bounded: a page with more lines or crossings is a drawing.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import Box, overlap
from knowledge_mcp.support.grouping import root_of, united

if TYPE_CHECKING:
    from liteparse.types import VectorGraphics, VectorShape

    from knowledge_mcp.readers.shared.layout import Line

_NEAR = 3.0
"""Points within which two lines are one: both edges of a thin area, a double line, frames of boxes that touch."""
_SHORT = 6.0
"""Length in points below which a line bounds no cell: a row is at least as high as its font; dots and ticks are
shorter."""
_SAME_END = 6.0
"""Maximum distance in points between the ends of the rules of one table: pages are set by hand."""
_LEAST_LINES = 4
_MOST_LINES = 30_000
"""Number of lines above which a page is a drawing; a full page of cells of one letter has about 10,000 edges."""
_MOST_LOOKS = 1_000_000
"""Maximum number of pairs of lines examined for crossings; takes about a third of a second."""
_MOST_CELLS = 20_000
_COVERED = 0.95
"""Minimum share of a grid's outline that its cells cover, to allow for rounding: a table leaves nothing out."""

_SIGNS = 2
"""Number of signs of a drawing from which a region is one: a single sign may be a mark, a stamp, an icon."""
_BAND = 0.9
_LARGE = 20.0
"""Size in points, in both directions, above which a filled area with curves is not a mark but a round box."""
_SHEET = 100
"""Number of lines outside grids from which a page contains a large drawing; a page of boxed text has a few dozen."""


@dataclass(frozen=True, slots=True)
class RuledCell:
    """One cell: its row and column, how many rows and columns it spans, its box in points from the top left."""

    row: int
    column: int
    down: int
    across: int
    box: Box


@dataclass(frozen=True, slots=True, order=True)
class DrawnLine:
    """A line: its position across its direction, and its start and end along it."""

    at: float
    start: float
    end: float

    def has_ends_of(self, other: DrawnLine) -> bool:
        """Return whether it begins and ends where another one of its direction does, as rules of one table do."""
        return abs(self.start - other.start) <= _SAME_END and abs(self.end - other.end) <= _SAME_END


@dataclass(slots=True)
class RuledGrid:
    """Cells that fill a rectangle, from the top left; `edges` are the positions of the vertical lines."""

    cells: list[RuledCell]
    edges: tuple[float, ...]
    tops: tuple[float, ...]

    @property
    def box(self) -> Box:
        """Return the outline."""
        return self.edges[0], self.tops[0], self.edges[-1], self.tops[-1]


@dataclass(slots=True)
class Drawn:
    """What is drawn on a page.

    Attributes:
        grids: with at least two rows and two columns; their words decide whether they are tables.
        rows: grids of one row.
        boxes: single boxes, and grids of one row or one column, made by lines.
        areas: the same, made by filled areas.
        strokes: boxes around curves, and around lines that are neither horizontal nor vertical.
        level: horizontal lines, from the top.
        upright: vertical lines, from the left.
        crowded: True if there are more lines than a table has.
        loose: number of lines and strokes outside grids.
        sheet: the bounding box of all of those.
    """

    grids: list[RuledGrid] = field(default_factory=list[RuledGrid])
    rows: list[RuledGrid] = field(default_factory=list[RuledGrid])
    boxes: list[Box] = field(default_factory=list[Box])
    strokes: list[Box] = field(default_factory=list[Box])
    level: list[DrawnLine] = field(default_factory=list[DrawnLine])
    upright: list[DrawnLine] = field(default_factory=list[DrawnLine])
    areas: list[Box] = field(default_factory=list[Box])
    crowded: bool = False
    loose: int = 0
    sheet: Box = (0.0, 0.0, 0.0, 0.0)

    def is_part(self, grid: RuledGrid) -> bool:
        """Return whether a grid is part of a drawing: it lies within one, or a slanted line runs from cell to cell."""
        left, top, right, bottom = grid.box
        if self._is_within_sheet(grid.box):
            return True
        for box in self.strokes:
            x, y = (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
            if holds(box, grid.box) or not (left < x < right and top < y < bottom):
                continue
            if not any(holds(cell.box, box) for cell in grid.cells):
                return True
        return False

    def is_drawing(self, region: Box, lines: Sequence[Line]) -> bool:
        """Return whether a region without a grid is part of a drawing.

        Signs of a drawing are separate boxes with words in them, curves and slanted lines, and short vertical lines;
        lines below each other count as one, as the side of a column with gaps.
        Filled areas across the whole width or height are no sign, as rows and columns may be shaded, unless all words
        are inside them.

        Args:
            region: bounding box of the lines.
            lines: the words of the region.
        """
        if self.crowded or self._is_within_sheet(region):
            return True
        if sum(_is_in(box, region) for box in self.strokes) >= _SIGNS:
            return True
        if _worded([box for box in self.boxes if not holds(box, region)], lines) >= _SIGNS:
            return True
        left, top, right, bottom = region
        wide, high = _BAND * (right - left), _BAND * (bottom - top)
        areas = [box for box in self.areas if not holds(box, region) and overlap(box, region, _NEAR)]
        if _worded([box for box in areas if box[2] - box[0] < wide and box[3] - box[1] < high], lines) >= _SIGNS:
            return True
        if _worded(areas, lines) >= _SIGNS and all(any(_is_in(_box_of(line), box) for box in areas) for line in lines):
            return True
        return sum(box[3] - box[1] < high / 2 for box in self._sides_within(region)) > _SIGNS

    def _sides_within(self, region: Box) -> list[Box]:
        """List the vertical lines in a region that are not sides of boxes, merging those below each other."""
        inside = [box for each in self.upright if _is_in(box := (each.at, each.start, each.at, each.end), region)]
        sides: list[Box] = []
        for line in (line for line in inside if not any(holds(box, line) for box in self.boxes)):
            if sides and line[0] - sides[-1][0] <= _NEAR:
                x, top, _, bottom = sides.pop()
                sides.append((x, min(top, line[1]), x, max(bottom, line[3])))
            else:
                sides.append(line)
        return sides

    def _is_within_sheet(self, box: Box) -> bool:
        """Return whether a box is within the extent of the many lines of a drawing: a schematic with its frame."""
        if self.loose < _SHEET:
            return False
        return holds(self.sheet, box)


def drawn_of(graphics: VectorGraphics | None) -> Drawn:
    """Find grids and other drawings among the lines and shapes of a page."""
    drawn = Drawn()
    if graphics is None:
        return drawn
    if len(graphics.lines) > _MOST_LINES:
        drawn.crowded = True
        return drawn
    lines, areas = _separate_edges(graphics)
    level, upright = _directions(lines)
    drawn.level, drawn.upright = level, upright
    if len(graphics.lines) < _LEAST_LINES:
        drawn.strokes = _strokes(graphics.shapes, [], [])
        return drawn
    drawn.strokes = _strokes(graphics.shapes, level, upright)
    for rows, columns in _groups(level, upright, drawn):
        _cut(rows, columns, drawn)
    if areas:
        _add_filled(*_directions([*lines, *areas]), drawn)
    _measure_sheet(level, upright, drawn)
    return drawn


def grids_of(level: list[DrawnLine], upright: list[DrawnLine]) -> list[RuledGrid]:
    """Find the grids that some lines make, sorted by position."""
    drawn = Drawn()
    for rows, columns in _groups(level, upright, drawn):
        _cut(rows, columns, drawn)
    return drawn.grids


def _measure_sheet(level: Sequence[DrawnLine], upright: Sequence[DrawnLine], drawn: Drawn) -> None:
    """Count what is drawn outside grids, and measure its extent."""
    if len(level) + len(upright) + len(drawn.strokes) < _SHEET:
        return
    grids = [grid.box for grid in drawn.grids]
    boxes = [(line.start, line.at, line.end, line.at) for line in level]
    boxes += [(line.at, line.start, line.at, line.end) for line in upright]
    loose = [box for box in [*boxes, *drawn.strokes] if not any(holds(grid, box) for grid in grids)]
    drawn.loose = len(loose)
    if loose:
        drawn.sheet = (
            min(box[0] for box in loose), min(box[1] for box in loose),
            max(box[2] for box in loose), max(box[3] for box in loose),
        )  # fmt: skip


def _separate_edges(graphics: VectorGraphics) -> tuple[list[Box], list[Box]]:
    """Separate lines, including thin filled areas, from the edges of wide filled areas.

    A path of several thin areas is recognised by its edges: a thin area has short edges at both ends.
    """
    ends: set[tuple[int, int]] = set()
    for line in graphics.lines:
        if not line.stroke and abs(line.x1 - line.x2) + abs(line.y1 - line.y2) <= _NEAR:
            ends.add((round(line.x1 * 5), round(line.y1 * 5)))
            ends.add((round(line.x2 * 5), round(line.y2 * 5)))
    thin: list[Box] = []
    wide: list[Box] = []
    for line in graphics.lines:
        corners = ((round(line.x1 * 5), round(line.y1 * 5)), (round(line.x2 * 5), round(line.y2 * 5)))
        is_thin = line.stroke or all(corner in ends for corner in corners)
        (thin if is_thin else wide).append((line.x1, line.y1, line.x2, line.y2))
    for shape in graphics.shapes:
        x, y, width, height = shape.bbox
        if shape.fill and not shape.has_curve and min(width, height) <= _NEAR < max(width, height):
            thin.append((x, y + height / 2, x + width, y + height / 2) if width > height
                        else (x + width / 2, y, x + width / 2, y + height))  # fmt: skip
    return thin, wide


def _directions(lines: Sequence[Box]) -> tuple[list[DrawnLine], list[DrawnLine]]:
    level = joined((y0, x0, x1) for x0, y0, x1, y1 in lines if abs(y0 - y1) <= 1)
    return level, joined((x0, y0, y1) for x0, y0, _, y1 in lines if abs(y0 - y1) > 1)


def _add_filled(level: list[DrawnLine], upright: list[DrawnLine], drawn: Drawn) -> None:
    """Add grids and boxes made by filled areas, outside the grids that lines alone make."""
    more = Drawn()
    for rows, columns in _groups(level, upright, more):
        _cut(rows, columns, more)
    drawn.crowded = drawn.crowded or more.crowded
    known = [grid.box for grid in drawn.grids]
    drawn.grids += [grid for grid in more.grids if not any(overlap(grid.box, box, _NEAR) for box in known)]
    drawn.areas = more.boxes


def joined(parts: Iterable[tuple[float, float, float]], near: float = _NEAR) -> list[DrawnLine]:
    """Join parts of lines of one direction, and omit lines that are too short; sorted by position.

    Args:
        parts: position across the direction, start and end of each.
        near: distance in points within which two parts are one.
    """
    found: list[DrawnLine] = []
    group: list[tuple[float, float, float]] = []
    for part in sorted((at, min(start, end), max(start, end)) for at, start, end in parts):
        if group and part[0] - group[0][0] > near:
            found.extend(_run(group, near))
            group = []
        group.append(part)
    found.extend(_run(group, near))
    return found


def _run(group: list[tuple[float, float, float]], near: float) -> Iterator[DrawnLine]:
    if not group:
        return
    at = (group[0][0] + group[-1][0]) / 2
    ends = sorted((start, end) for _, start, end in group)
    low, high = ends[0]
    for start, end in [*ends[1:], (float("inf"), 0.0)]:
        if start > high + near:
            if high - low >= _SHORT:
                yield DrawnLine(at, low, high)
            low = start
            high = end
        high = max(high, end)


def _strokes(shapes: Sequence[VectorShape], level: Sequence[DrawnLine], upright: Sequence[DrawnLine]) -> list[Box]:
    """List curves, and strokes that extend in both directions without a line along their top or side."""
    tops, sides = [line.at for line in level], [line.at for line in upright]
    found: list[Box] = []
    for shape in shapes:
        x, y, width, height = shape.bbox
        if width <= _NEAR + 1 or height <= _NEAR + 1:
            continue
        if not shape.stroke and not (shape.has_curve and width > _LARGE and height > _LARGE):
            continue  # letters, marks and arrowheads are drawn as small areas
        lined = _is_lined(level, tops, y, x, width, height) or _is_lined(upright, sides, x, y, height, width)
        if shape.has_curve or not lined:
            found.append((x, y, x + width, y + height))
    return found


def _is_lined(
    lines: Sequence[DrawnLine], places: Sequence[float], at: float, low: float, long: float, wide: float
) -> bool:
    """Return whether a line runs within a box; `at` and `wide` are across the lines, `low` and `long` along them."""
    near = lines[bisect_left(places, at - _NEAR) : bisect_right(places, at + wide + _NEAR)][:50]
    return any(line.start < low + long and line.end > low for line in near)


# ---- crossings ------------------------------------------------------------------------------------------------------


def _groups(
    level: Sequence[DrawnLine], upright: Sequence[DrawnLine], drawn: Drawn
) -> Iterator[tuple[list[DrawnLine], list[DrawnLine]]]:
    """Yield groups of connected horizontal and vertical lines."""
    places = [line.at for line in upright]
    home = list(range(len(level) + len(upright)))

    looked = 0
    for row, line in enumerate(level):
        first, last = bisect_left(places, line.start - _NEAR), bisect_right(places, line.end + _NEAR)
        looked += last - first
        if looked > _MOST_LOOKS:
            drawn.crowded = True
            return
        for column in range(first, last):
            if upright[column].start - _NEAR <= line.at <= upright[column].end + _NEAR:
                home[root_of(home, len(level) + column)] = root_of(home, row)
    rows: defaultdict[int, list[DrawnLine]] = defaultdict(list)
    columns: defaultdict[int, list[DrawnLine]] = defaultdict(list)
    for index, line in enumerate(level):
        rows[root_of(home, index)].append(line)
    for index, line in enumerate(upright, len(level)):
        columns[root_of(home, index)].append(line)
    for key in rows:
        if key in columns:
            yield rows[key], columns[key]


def _cut(level: list[DrawnLine], upright: list[DrawnLine], drawn: Drawn) -> None:
    """Cut what lines enclose into cells, and collect touching cells into grids and boxes."""
    level = _with_ends(level, upright)
    upright = _with_ends(upright, level)
    xs, ys = sorted({line.at for line in upright}), sorted({line.at for line in level})
    wide, high = len(xs) - 1, len(ys) - 1
    if wide < 1 or high < 1:
        return
    if wide * high > _MOST_CELLS:
        drawn.crowded = True
        return
    cells = _cells(xs, ys, _barred(upright, xs, ys), _barred(level, ys, xs))
    for group in _touching(cells):
        columns = sorted({cell.box[0] for cell in group} | {cell.box[2] for cell in group})
        rows = sorted({cell.box[1] for cell in group} | {cell.box[3] for cell in group})
        box = (columns[0], rows[0], columns[-1], rows[-1])
        filled = sum(_area(cell.box) for cell in group)
        if filled < _COVERED * _area(box):
            drawn.boxes.extend(cell.box for cell in group)
            continue
        grid = RuledGrid([_snap_cell(cell, rows, columns) for cell in group], tuple(columns), tuple(rows))
        grid.cells.sort(key=lambda cell: (cell.row, cell.column))
        if len(columns) == 2 or len(rows) == 2:
            drawn.boxes.append(box)
            drawn.rows += [grid] if len(columns) > 2 else []
            continue
        drawn.grids.append(grid)


def _with_ends(lines: list[DrawnLine], crossing: list[DrawnLine]) -> list[DrawnLine]:
    """Add the sides that a table leaves open: most crossing lines end at one place beyond the last line."""
    at = [line.at for line in lines]
    added = list(lines)
    for outer, ends in (
        (min(at), sorted(line.start for line in crossing if line.start < min(at) - _SHORT)),
        (max(at), sorted(line.end for line in crossing if line.end > max(at) + _SHORT)),
    ):
        if 2 * len(ends) <= len(crossing) or len(ends) < 2:
            continue
        middle = ends[len(ends) // 2]
        if sum(abs(end - middle) <= _NEAR for end in ends) * 4 >= 3 * len(ends) and middle != outer:
            added.append(DrawnLine(middle, min(line.at for line in crossing), max(line.at for line in crossing)))
    return sorted(added, key=lambda line: line.at)


def _barred(lines: Sequence[DrawnLine], across: Sequence[float], along: Sequence[float]) -> list[bytearray]:
    """Return for each position of a line and each step along it whether the line is drawn there."""
    index = {at: position for position, at in enumerate(across)}
    found = [bytearray(len(along) - 1) for _ in across]
    for line in lines:
        first, last = bisect_left(along, line.start - _NEAR), bisect_right(along, line.end + _NEAR) - 1
        if last > first:
            found[index[line.at]][first:last] = b"\1" * (last - first)
    return found


def _cells(xs: list[float], ys: list[float], upright: list[bytearray], level: list[bytearray]) -> list[RuledCell]:
    """Merge the smallest boxes across sides that are not drawn; omit those open to the outside or not rectangular."""
    wide, high = len(xs) - 1, len(ys) - 1
    seen = bytearray(wide * high)
    cells: list[RuledCell] = []
    for begin in range(wide * high):
        if seen[begin]:
            continue
        waiting, members, closed = [begin], list[int](), True
        seen[begin] = 1
        while waiting:
            here = waiting.pop()
            members.append(here)
            row, column = divmod(here, wide)
            for open_, inside, there in (
                (not upright[column][row], column > 0, here - 1),
                (not upright[column + 1][row], column + 1 < wide, here + 1),
                (not level[row][column], row > 0, here - wide),
                (not level[row + 1][column], row + 1 < high, here + wide),
            ):
                if not open_:
                    continue
                if not inside:
                    closed = False
                elif not seen[there]:
                    seen[there] = 1
                    waiting.append(there)
        rows, columns = [each // wide for each in members], [each % wide for each in members]
        top, bottom, left, right = min(rows), max(rows) + 1, min(columns), max(columns) + 1
        if closed and (bottom - top) * (right - left) == len(members):
            box = (xs[left], ys[top], xs[right], ys[bottom])
            cells.append(RuledCell(top, left, bottom - top, right - left, box))
    return cells


def _touching(cells: Sequence[RuledCell]) -> list[list[RuledCell]]:
    """Group cells that share part of a side."""
    home = list(range(len(cells)))
    taken: dict[tuple[int, int], int] = {}
    for index, cell in enumerate(cells):
        for row, column in itertools.product(
            range(cell.row, cell.row + cell.down), range(cell.column, cell.column + cell.across)
        ):
            taken[row, column] = index
    for (row, column), index in taken.items():
        for beside in (taken.get((row, column + 1)), taken.get((row + 1, column))):
            if beside is not None:
                home[root_of(home, beside)] = root_of(home, index)
    return united(home, cells)


def _snap_cell(cell: RuledCell, rows: Sequence[float], columns: Sequence[float]) -> RuledCell:
    left, top, right, bottom = cell.box
    row, column = rows.index(top), columns.index(left)
    return RuledCell(row, column, rows.index(bottom) - row, columns.index(right) - column, cell.box)


def holds(outer: Box, box: Box) -> bool:
    """Return whether a box is within another one, or hardly outside it."""
    return (
        outer[0] - _NEAR <= box[0] and outer[1] - _NEAR <= box[1]
        and outer[2] + _NEAR >= box[2] and outer[3] + _NEAR >= box[3]
    )  # fmt: skip


def _is_in(box: Box, outer: Box) -> bool:
    """Return whether the middle of a box is in another one."""
    return outer[0] <= (box[0] + box[2]) / 2 <= outer[2] and outer[1] <= (box[1] + box[3]) / 2 <= outer[3]


def _box_of(line: Line) -> Box:
    return line.x0, line.y0, line.x1, line.y1


def _worded(boxes: Sequence[Box], lines: Sequence[Line]) -> int:
    return sum(any(_is_in(_box_of(line), box) for line in lines) for box in boxes)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])
