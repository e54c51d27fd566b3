"""In the child: what a workbook says beside its cells: hidden sheets, rows and columns, looks that hide, merged cells.

A cell's colours count only where they are sure: not where conditional formats, table styles or a picture behind the
sheet may change them.
"""

from __future__ import annotations

import functools
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.shared.hidden import WHITE, is_alike, nonblank_length
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.tables import LONGEST_REPEATED, Reach

_FORMULA = re.compile(rb"<(?:\w+:)?f[\s>/]")
_UNSURE = re.compile(rb"<(?:\w+:)?(?:conditionalFormatting|tableParts|picture)[\s>/]")
_ROW = re.compile(rb"<(?:\w+:)?(row|col)\s([^>]*)>")
_ATTRIBUTE = re.compile(rb"""\b(hidden|ht|r|min|max|width)\s*=\s*["']([^"']{0,20})["']""")
_SCHEME = re.compile(rb"""<\w+:(lt1|dk1)>\s*<\w+:\w+[^>]*?\b(?:lastClr|srgbClr val|val)=["']([0-9A-Fa-f]{6})["']""")
_BLANK_FORMAT = re.compile(r'(?:\s|""|\[[^\]]*\])*')
_MOST_COLUMNS = 16_384
_MOST_ROWS = 1_048_576
_MOST_MERGED = 1_000_000
"""Columns that all merged cells of a sheet may cover together; what comes after them counts as not merged."""
_MOST_REACHING = 1000
"""Merged cells that may reach into one row from above."""
_BLOCK = 1 << 20
_MERGED = re.compile(rb"""<(?:\w+:)?mergeCell\s[^>]{0,200}?\bref=["']([A-Z]{1,3})(\d{1,7}):([A-Z]{1,3})(\d{1,7})["']""")


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
        if self.covered <= _MOST_MERGED and right <= _MOST_COLUMNS:
            self.merged.setdefault(top, []).append((bottom, left, right))


@dataclass(frozen=True, slots=True)
class SheetLook:
    """Why a style does not show what stands in a cell, None where it does; whether that is for its colours."""

    reason: HiddenReason | None = None
    is_colour: bool = False


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

    def sift(self, rows: Iterator[tuple[list[str], Sequence[SheetLook | None]]]) -> Iterator[tuple[int, list[str]]]:
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


# ---- .xlsx ----------------------------------------------------------------------------------------------------------


def scanned(archive: zipfile.ZipFile) -> dict[str, SheetMarks]:
    """Look through the sheets' parts for what openpyxl's streams do not tell, by the names of the parts."""
    return {
        name: _scanned(archive, name)
        for name in archive.namelist()
        if name.startswith("xl/worksheets/") and name.endswith(".xml")
    }


def _scanned(archive: zipfile.ZipFile, name: str) -> SheetMarks:
    marks = SheetMarks()
    with archive.open(name) as stream:
        tail = b""
        while block := stream.read(_BLOCK):
            data = tail + block
            end = data.rfind(b">") + 1
            part, tail = data[:end], data[end:][-4096:]
            marks.has_formulas = marks.has_formulas or _FORMULA.search(part) is not None
            marks.is_unsure = marks.is_unsure or _UNSURE.search(part) is not None
            for left, top, right, bottom in _MERGED.findall(part):
                marks.add_merged(int(top), int(bottom), _column(left), _column(right))
            if b"hidden" in part or b'ht="0' in part or b'width="0' in part:
                _take_tags(part, marks)
    return marks


def _take_tags(part: bytes, marks: SheetMarks) -> None:
    for kind, tag in _ROW.findall(part):
        said = {key: text.decode("ascii", "replace") for key, text in _ATTRIBUTE.findall(tag)}
        size = said.get(b"ht" if kind == b"row" else b"width", "")
        if said.get(b"hidden") not in {"1", "true"} and not re.fullmatch(r"0(?:\.0*)?", size):
            continue
        if kind == b"row":
            if (number := whole_number(said.get(b"r"), 0)) <= _MOST_ROWS:
                marks.rows.add(number)
        else:
            last = min(whole_number(said.get(b"max"), 0), _MOST_COLUMNS)
            marks.columns.update(range(max(whole_number(said.get(b"min"), 0), 1), last + 1))


def _column(letters: bytes) -> int:
    """Count a column's letters: A is 1."""
    return functools.reduce(lambda count, letter: count * 26 + letter - 64, letters, 0)


def look_of(cell: Any, theme: bytes | None) -> SheetLook:
    """Tell how openpyxl's cell is shown by its style."""
    font, fill = cell.font, cell.fill
    if font is None:
        return SheetLook()
    scheme = {name.decode(): text.decode() for name, text in _SCHEME.findall((theme or b"")[:20_000])}
    ground = WHITE if fill is None or fill.patternType is None else ""
    if fill is not None and fill.patternType == "solid":
        ground = _colour(fill.fgColor, scheme)
    if font.strike:
        return SheetLook(HiddenReason.STRUCK)
    return _look(font.sz, _colour(font.color, scheme), ground, cell.number_format)


def _colour(colour: Any, scheme: dict[str, str]) -> str:
    """Return a colour as RRGGBB, empty where it is automatic or changed."""
    from openpyxl.styles import colors

    palette: Any = colors.COLOR_INDEX
    if colour is None or colour.tint:
        return ""
    if colour.type == "rgb":
        return str(colour.rgb)[-6:]
    if colour.type == "theme":
        names = ("lt1", "dk1")
        return scheme.get(names[int(colour.theme)], "") if colour.theme in {0, 1} else ""
    if colour.type == "indexed" and colour.indexed < len(palette):
        return str(palette[colour.indexed])[-6:]
    return ""


def _look(points: float | None, colour: str, ground: str, pattern: str) -> SheetLook:
    """Judge a style; `pattern` is its number format."""
    sections = pattern.split(";") if ";" in pattern else ["General"]
    blank = all(_BLANK_FORMAT.fullmatch(section) for section in sections)
    if points is not None and points <= 1:
        return SheetLook(HiddenReason.TOO_SMALL)
    if blank and len(sections) > 3:
        return SheetLook(HiddenReason.NOT_DISPLAYED)
    return SheetLook(HiddenReason.COLOUR, is_colour=True) if is_alike(colour, ground) else SheetLook()


# ---- .xls -----------------------------------------------------------------------------------------------------------


def old_marks_of(sheet: Any) -> SheetMarks:
    """Return what xlrd knows of a sheet's rows and columns."""
    rows = {number + 1 for number, info in sheet.rowinfo_map.items() if info.hidden}
    columns = {number + 1 for number, info in sheet.colinfo_map.items() if info.hidden}
    marks = SheetMarks(rows, columns)
    for top, under, left, right in sheet.merged_cells:
        marks.add_merged(top + 1, under, left + 1, right)
    return marks


def old_look_of(book: Any, index: int) -> SheetLook:
    """Tell how xlrd's cell is shown by its style, by the style's number."""
    if not 0 <= index < len(book.xf_list):
        return SheetLook()
    style = book.xf_list[index]
    font = book.font_list[style.font_index]
    if font.struck_out:
        return SheetLook(HiddenReason.STRUCK)
    pattern = style.background.fill_pattern
    ground = {0: WHITE, 1: _old_colour(book, style.background.pattern_colour_index)}.get(pattern, "")
    return _look(font.height / 20, _old_colour(book, font.colour_index), ground, old_pattern_of(book, index))


def old_pattern_of(book: Any, index: int | None) -> str:
    """Give the number format of xlrd's cell by its style's number, "" where it is not known."""
    if index is None or not 0 <= index < len(book.xf_list):
        return ""
    known = book.format_map.get(book.xf_list[index].format_key)
    return known.format_str if known else ""


def _old_colour(book: Any, index: int) -> str:
    colour = book.colour_map.get(index)
    return bytes(colour).hex() if colour else ""
