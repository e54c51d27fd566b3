"""Reads what stands side by side on a part of a page without rules: columns of text, and rows of labels and texts.

Columns below an introduction, cards and the boxes of a leaflet are read one after the other. Labels with their values,
and terms with their meanings, are rows of a table. Line by line, the sentences of different columns would mix. Both are
recognised by lines that were broken for lack of room, and by the heights at which paragraphs begin; what has neither,
such as code with its comments, is left as it is.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import explains_symbols, mark_alone
from knowledge_mcp.readers.pdf.flow.gutter import spans_of
from knowledge_mcp.readers.pdf.lines import (
    Row,
    fits,
    goes_on,
    has_word,
    is_heavy,
    is_worded,
    middle_of,
    right_of,
    rows_of,
    size_of,
    wraps,
)

if TYPE_CHECKING:
    from liteparse.types import TextItem

_Span = tuple[float, float]

_NARROWEST, _NARROWEST_SIZES = 9.0, 1.2
"""Minimum width between columns, in points and in font sizes; wider than the blanks of a justified line."""
_APART = 1.0
"""Blank height, in font sizes, from which more columns may follow: lines have about a fifth."""
_FAR = 3.0
"""Blank height, in font sizes, that is wider than between paragraphs."""
_LARGER = 1.0
"""Points by which the print of a title is larger than the text above it."""
_WIDER = 0.2
"""Blank height, in font sizes, above that of the closest lines from which a line begins another row."""
_TIGHT = 0.5
"""Maximum blank height, in font sizes, between the lines of one label, and above a title that begins no part."""
_MOST = 20
"""Number of texts next to each other above which they are figures or signs; a page has at most a dozen columns."""
_FEWEST = 3
"""Minimum number of lines of columns of text: two lines wrap by chance."""
_RECORDS = 2
"""Minimum number of rows of a table: paragraphs that begin at the same heights in all columns, apart from titles."""
_CONTRADICTED = 8
"""Minimum number of rows of a table for each height at which a text begins beside a line that continues one."""
_SYMBOL = 3
"""Maximum number of characters of a symbol or an abbreviation: "Ci", "RSD"."""
_EVEN = 0.6
"""Minimum width of a column as a share of the widest; its few lines may all be short."""
_LEVEL = 0.3
"""Maximum distance, in font sizes, between the middles of texts that are at one height."""


@dataclass(slots=True)
class Band:
    """A part of a page with texts side by side.

    Attributes:
        columns: the rows of each column, from the left.
        records: rows of the table that they are, with the texts of each cell; empty for columns of text.
    """

    columns: list[list[Row]]
    records: list[list[list[TextItem]]] = field(default_factory=list[list[list["TextItem"]]])

    @property
    def is_even(self) -> bool:
        """Return whether they are columns of text about as wide as each other: none of them is a note in the margin."""
        wide = [right_of(column) - min(row[0].x for row in column) for column in self.columns]
        return not self.records and min(wide) >= _EVEN * max(wide)


def bands_of(items: Sequence[TextItem]) -> list[Band]:
    """Find the parts of a page with texts side by side, from the top.

    Args:
        items: what stands in no ruled table, upright.
    """
    found: list[Band] = []
    for rows, strips in _runs(rows_of(list(items))):
        if not strips:
            continue
        tables = [table for part in _parts(rows, _FAR) for table in _tables(_columns(part, strips))]
        found += tables
        taken = {id(item) for table in tables for cells in table.records for cell in cells for item in cell}
        left = [kept for row in rows if (kept := [item for item in row if id(item) not in taken])]
        for part in _parts(left, _TIGHT):
            columns = [column for column in _columns(part, strips) if column]
            if len(part) >= _FEWEST and wraps(columns, 2) and all(map(is_worded, columns)):
                found.append(Band(columns))
    return found


def _runs(rows: Sequence[Row]) -> Iterator[tuple[list[Row], list[float]]]:
    """Divide a page where a row crosses a strip between columns, or where, after a pause, there are more columns.

    Yields:
        The rows of each part, and its strips.
    """
    part: list[Row] = []
    taken: list[_Span] = []
    bottom = 0.0
    for row in rows:
        apart = max(_NARROWEST, _NARROWEST_SIZES * size_of(row[0]))
        alone = _united(spans_of(row), apart)
        together = _united([*taken, *alone], apart)
        parted = len(taken) == 1 or _blank(bottom, row) > _APART
        starts = [start for start, _ in together]
        finer = len(alone) > len({bisect_right(starts, start) for start, _ in alone})
        if len(together) < len(taken) or (parted and finer) or len(together) > _MOST:
            yield part, _middles(taken)
            part, together, bottom = [], alone[:_MOST], 0.0
        part.append(row)
        taken = together
        bottom = max(bottom, _bottom(row))
    yield part, _middles(taken)


def _bottom(row: Row) -> float:
    return max(item.y + item.height for item in row)


def _blank(bottom: float, row: Row) -> float:
    """Return the blank height above a row, in font sizes."""
    return (min(item.y for item in row) - bottom) / max(size_of(row[0]), 1.0)


def _united(spans: Iterable[_Span], apart: float) -> list[_Span]:
    """Join spans that are less than `apart` from each other; from the left."""
    found: list[_Span] = []
    for start, end in sorted(spans):
        if found and start - found[-1][1] < apart:
            found[-1] = (found[-1][0], max(found[-1][1], end))
        else:
            found.append((start, end))
    return found


def _middles(spans: Sequence[_Span]) -> list[float]:
    return [(one[1] + other[0]) / 2 for one, other in itertools.pairwise(spans)]


def _parts(rows: Sequence[Row], apart: float) -> Iterator[list[Row]]:
    """Divide rows where all columns pause for long, or for `apart` font sizes before titles."""
    part: list[Row] = []
    bottom = 0.0
    for row in rows:
        is_title = part and (_is_bold(row) or size_of(row[0]) >= size_of(part[-1][0]) + _LARGER)
        if part and _blank(bottom, row) > (apart if is_title else _FAR):
            yield part
            part, bottom = [], 0.0
        part.append(row)
        bottom = max(bottom, _bottom(row))
    if part:
        yield part


def _columns(rows: Sequence[Row], strips: Sequence[float]) -> list[list[Row]]:
    """Divide rows at the strips; a column's rows are found by their own heights."""
    columns: list[list[TextItem]] = [[] for _ in range(len(strips) + 1)]
    for row in rows:
        for item in row:
            columns[bisect_left(strips, item.x + item.width / 2)].append(item)
    return [rows_of(column) for column in columns]


# ---- rows of a table ------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Line:
    """A row of a column: the height of its middle, whether it continues the row above, and the blank above it."""

    row: Row
    y: float
    continues: bool
    tight: bool

    @property
    def top(self) -> float:
        """Return the height from which texts beside it are level with it."""
        return self.y - _LEVEL * size_of(self.row[0])

    @property
    def may_begin(self) -> bool:
        """Return whether a paragraph that is no item of a list can begin here."""
        return not self.continues and mark_alone(self.row[0].text.split()[0]) is None


def _lines(column: Sequence[Row]) -> list[_Line]:
    right = right_of(column)
    pairs = list(itertools.pairwise(column))
    blanks = [_blank(_bottom(row), below) for row, below in pairs]
    most = min([*blanks, _APART]) + _WIDER
    on = [goes_on(*pair) for pair in pairs]
    room = [fits(*pair, right) for pair in pairs]
    is_broken = 2 * sum(goes and has_room for goes, has_room in zip(on, room, strict=True)) <= sum(on)
    found = [_Line(column[0], middle_of(column[0][0]), continues=False, tight=False)] if column else []
    for (_, row), blank, goes, has_room in zip(pairs, blanks, on, room, strict=True):
        continues = is_broken and goes and not has_room and blank <= most
        found.append(_Line(row, middle_of(row[0]), continues, blank <= _TIGHT))
    return found


def _tables(columns: Sequence[list[Row]]) -> Iterator[Band]:
    """Find rows whose first cells are level with the beginnings of the texts beside them."""
    first, *others = [_lines(column) for column in columns]
    beside = sorted((line for column in others for line in column), key=lambda line: line.y)
    heights = [line.y for line in beside]
    starts: list[_Line] = []
    against = 0
    for line in first:
        level = beside[bisect_left(heights, line.top) : bisect_right(heights, 2 * line.y - line.top)]
        begins = any(each.may_begin for each in level)
        if not line.continues and begins:
            starts.append(line)
        elif starts and (line.continues or line.tight):
            against += begins if line.continues else bool(level)
        else:
            yield from _table(starts, line.top, columns, against)
            starts, against = [], 0
    yield from _table(starts, float("inf"), columns, against)


def _table(starts: Sequence[_Line], end: float, columns: Sequence[list[Row]], against: int) -> Iterator[Band]:
    """Make a table of rows that begin at some lines; nothing if they are columns of text, or lists next to each other.

    Broken lines show which, and titles, or labels that are set apart from their values by their print or by colons.
    """
    if len(starts) < _RECORDS or against * _CONTRADICTED > len(starts) or not _are_labels(starts):
        return
    tops = [line.top for line in starts]
    inside = [_between(column, tops[0], end) for column in columns]
    if not all(inside) or not any(map(is_worded, inside[1:])):
        return
    titled = all(_is_bold(column[0]) and not all(map(_is_bold, column)) for column in inside)
    figures = [middle_of(row[0]) for column in inside for row in column if not has_word(row)]
    level = all(y <= 2 * starts[at].y - tops[at] for y in figures if (at := bisect_right(tops, y) - 1) >= 0)
    single = len(starts) > _RECORDS and all(len(column) <= len(starts) for column in inside)
    if (
        not level
        or len(starts) - titled < _RECORDS
        or not (wraps(inside, 1) or (single and (titled or _are_named(inside))))
    ):
        return
    records: list[list[list[TextItem]]] = [[[] for _ in inside] for _ in starts]
    for at, column in enumerate(inside):
        for row in column:
            records[max(bisect_right(tops, middle_of(row[0])) - 1, 0)][at].extend(row)
    yield Band(inside, records)


def _between(column: list[Row], top: float, end: float) -> list[Row]:
    """Return the rows of a column whose middles are between two heights."""

    def height(row: Row) -> float:
        return middle_of(row[0])

    return column[bisect_left(column, top, key=height) : bisect_left(column, end, key=height)]


def _are_named(columns: Sequence[Sequence[Row]]) -> bool:
    """Return whether the first column is labels: bold next to other print, or with colons."""
    first, *others = columns
    bold = all(map(_is_bold, first)) and not all(_is_bold(row) for column in others for row in column)
    return bold or all(row[-1].text.rstrip().endswith(":") for row in first)


def _are_labels(starts: Sequence[_Line]) -> bool:
    """Return whether texts are names; numbers, markers, symbols and marks of sources hang before their texts."""
    names = [" ".join(item.text for item in line.row).strip() for line in starts]
    if not all(has_word(line.row) for line in starts) or any(mark_alone(name) or name[0] == "[" for name in names):
        return False
    return 2 * sum(len(name) <= _SYMBOL for name in names) <= len(names) and not explains_symbols(names[0].split()[0])


def _is_bold(row: Row) -> bool:
    return all(map(is_heavy, row))
