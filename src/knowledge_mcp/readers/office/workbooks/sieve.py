"""Child process: hidden sheets, rows and columns of a workbook, looks that hide text, merged cells.

A cell's colours count only if they are certain: not if conditional formats, table styles or a picture behind the sheet
may change them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.workbooks.regions import MOST_COLUMNS
from knowledge_mcp.readers.shared.hidden import is_alike, nonblank_length
from knowledge_mcp.readers.shared.tables import LONGEST_REPEATED, Reach

_BLANK_FORMAT = re.compile(r'(?:\s|""|\[[^\]]*\])*')
MOST_ROWS = 1_048_576
_MOST_MERGED = 1_000_000
"""Most columns that all merged cells of a sheet may cover together; further ones count as not merged."""
_MOST_REACHING = 1000
"""Most merged cells that extend into one row from above."""


@dataclass(slots=True)
class SheetMarks:
    """Properties of a sheet besides its cells.

    Attributes:
        rows, columns: numbers of the hidden ones, from 1.
        is_unsure: colours of cells may come from elsewhere than the cell's style.
        has_formulas: it contains formulas.
        merged: areas of merged cells, by first row: last row, first and last column, from 1.
        covered: how many columns these have together.
    """

    rows: set[int] = field(default_factory=set[int])
    columns: set[int] = field(default_factory=set[int])
    is_unsure: bool = False
    has_formulas: bool = False
    merged: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict[int, list[tuple[int, int, int]]])
    covered: int = 0

    def add_merged(self, top: int, bottom: int, left: int, right: int) -> None:
        """Record an area of merged cells, unless there are too many."""
        self.covered += max(right - left, 0) + 1
        if self.covered <= _MOST_MERGED and right <= MOST_COLUMNS:
            self.merged.setdefault(top, []).append((bottom, left, right))


@dataclass(frozen=True, slots=True)
class SheetLook:
    """Why a style hides a cell's content, None if it does not; and whether that is because of its colours."""

    reason: HiddenReason | None = None
    is_colour: bool = False


ShownRow: TypeAlias = tuple[list[str], Sequence[SheetLook | None]]
"""The texts of a row's cells, and how each looks; None if it has no special look."""


class Sieve:
    """Remove hidden text from the rows of one sheet and count it; repeat short texts of merged cells in each row.

    `reaches` has the reach of merged cells, for rows already yielded that may belong to a header.

    Args:
        marks: properties of the sheet besides its cells.
        all_hidden: the whole sheet is hidden.
    """

    def __init__(self, marks: SheetMarks, *, all_hidden: bool) -> None:
        self._marks = marks
        self._all_hidden = all_hidden
        self.hidden: Counter[str] = Counter()
        self.rows = 0
        self.columns: set[int] = set()
        self.reaches: dict[int, Reach] = {}
        self._reaching: list[tuple[int, int, str]] = []

    def sift(self, rows: Iterator[ShownRow]) -> Iterator[tuple[int, list[str]]]:
        """Yield row numbers from 1 and the visible texts of rows, which come with the looks of their cells."""
        for number, (texts, looks) in enumerate(rows, 1):
            if self._all_hidden or number in self._marks.rows:
                count = sum(map(nonblank_length, texts))
                self.hidden[HiddenReason.NOT_DISPLAYED] += count
                self.rows += bool(count)
            else:
                seen = self._seen(texts, looks) if self._marks.columns or any(looks) else texts
                yield number, self._merged(number, seen) if self._marks.merged else seen

    def _merged(self, number: int, texts: list[str]) -> list[str]:
        """Fill in the texts of merged cells from above, unless the row is blank; record the reach of the row's own."""
        self._reaching = [each for each in self._reaching if each[0] >= number]
        reach = Reach()
        own = any(text.strip() for text in texts)
        for _, column, text in self._reaching:
            reach.down.add(column)
            if own:
                texts.extend([""] * (column + 1 - len(texts)))
                texts[column] = texts[column] or text
        for last, first_column, last_column in self._marks.merged.get(number, ()):
            column, *others = self._visible(first_column, last_column) or [0]
            reach.across.update(dict.fromkeys(others, column))
            text = texts[column] if column < len(texts) else ""
            short = text.strip() and len(text) <= LONGEST_REPEATED
            if short and last > number and len(self._reaching) < _MOST_REACHING:
                self._reaching.append((last, column, text))
        if reach.across or (reach.down and number - 1 in self.reaches):
            self.reaches[number] = reach
        return texts

    def _visible(self, first: int, last: int) -> list[int]:
        """Return the positions of an area's visible columns."""
        hidden = self._marks.columns
        before = sum(1 for column in hidden if column < first)
        shown = sum(1 for column in range(first, last + 1) if column not in hidden)
        return list(range(first - 1 - before, first - 1 - before + shown))

    def _seen(self, texts: Sequence[str], looks: Sequence[SheetLook | None]) -> list[str]:
        cells: list[str] = []
        for index, text in enumerate(texts):
            look = looks[index] if index < len(looks) else None
            reason = look.reason if look is not None else None
            if look is not None and look.is_colour and self._marks.is_unsure:
                reason = None
            if text and index + 1 in self._marks.columns:
                self.columns.add(index + 1)
                reason = HiddenReason.NOT_DISPLAYED
            if reason is not None:
                self.hidden[reason] += nonblank_length(text)
            if index + 1 not in self._marks.columns:
                cells.append("" if reason is not None else text)
        return cells


def style_look(points: float | None, colour: str, ground: str, pattern: str) -> SheetLook:
    """Return how a style shows cells; `pattern` is its number format."""
    sections = pattern.split(";") if ";" in pattern else ["General"]
    blank = all(_BLANK_FORMAT.fullmatch(section) for section in sections)
    if points is not None and points <= 1:
        return SheetLook(HiddenReason.TOO_SMALL)
    if blank and len(sections) > 3:
        return SheetLook(HiddenReason.NOT_DISPLAYED)
    return SheetLook(HiddenReason.COLOUR, is_colour=True) if is_alike(colour, ground) else SheetLook()
