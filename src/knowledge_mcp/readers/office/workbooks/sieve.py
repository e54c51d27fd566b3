"""In the child: what a workbook says beside its cells: hidden sheets, rows and columns, looks that hide, merged cells.

A cell's colours count only where they are sure: not where conditional formats, table styles or a picture behind the
sheet may change them.
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
"""Columns that all merged cells of a sheet may cover together; what comes after them counts as not merged."""
_MOST_REACHING = 1000
"""Merged cells that may reach into one row from above."""


@dataclass(slots=True)
class SheetMarks:
    """What a sheet says beside its cells.

    Attributes:
        rows, columns: numbers of those that are hidden, from 1.
        is_unsure: something else than a cell's own style gives it its colours.
        has_formulas: there are formulas in it.
        merged: by the number of its first row, last row, first and last column of each area of merged cells, from 1.
        covered: how many columns these have together.
    """

    rows: set[int] = field(default_factory=set[int])
    columns: set[int] = field(default_factory=set[int])
    is_unsure: bool = False
    has_formulas: bool = False
    merged: dict[int, list[tuple[int, int, int]]] = field(default_factory=dict[int, list[tuple[int, int, int]]])
    covered: int = 0

    def add_merged(self, top: int, bottom: int, left: int, right: int) -> None:
        """Note an area of merged cells, as far as there are not too many."""
        self.covered += max(right - left, 0) + 1
        if self.covered <= _MOST_MERGED and right <= MOST_COLUMNS:
            self.merged.setdefault(top, []).append((bottom, left, right))


@dataclass(frozen=True, slots=True)
class SheetLook:
    """Why a style does not show what stands in a cell, None where it does; whether that is for its colours."""

    reason: HiddenReason | None = None
    is_colour: bool = False


ShownRow: TypeAlias = tuple[list[str], Sequence[SheetLook | None]]
"""The texts of a row's cells, and how each looks; None where it is shown as any cell is."""


class Sieve:
    """Take what nobody sees out of the rows of one sheet, and count it; say short texts of merged cells in each row.

    `reaches` tells where the merged cells of a row reach that was given and may belong to a header.

    Args:
        marks: what the sheet says beside its cells.
        all_hidden: nobody sees the sheet at all.
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
        """Yield the number from 1 and what is seen of rows of texts, each given with the looks of its cells."""
        for number, (texts, looks) in enumerate(rows, 1):
            if self._all_hidden or number in self._marks.rows:
                count = sum(map(nonblank_length, texts))
                self.hidden[HiddenReason.NOT_DISPLAYED] += count
                self.rows += bool(count)
            else:
                seen = self._seen(texts, looks) if self._marks.columns or any(looks) else texts
                yield number, self._merged(number, seen) if self._marks.merged else seen

    def _merged(self, number: int, texts: list[str]) -> list[str]:
        """Fill in what merged cells above say, where the row says anything itself, and note where its own reach."""
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
        """List where the columns of an area stand that are seen."""
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
    """Judge a style; `pattern` is its number format."""
    sections = pattern.split(";") if ";" in pattern else ["General"]
    blank = all(_BLANK_FORMAT.fullmatch(section) for section in sections)
    if points is not None and points <= 1:
        return SheetLook(HiddenReason.TOO_SMALL)
    if blank and len(sections) > 3:
        return SheetLook(HiddenReason.NOT_DISPLAYED)
    return SheetLook(HiddenReason.COLOUR, is_colour=True) if is_alike(colour, ground) else SheetLook()
