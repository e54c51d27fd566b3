"""Values of a laid-out page: lines with their typography, tables, the page in reading order, and boxes.

Between a child process and its parent, boxes are sent as whole numbers, one box after the other: page, then left, top,
right, bottom in tenths of a point, rounded outwards.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.model.document import Box
from knowledge_mcp.support.charsets import sign_of_cell
from knowledge_mcp.support.wording import how_many

UNREAD = "\ufffc"
"""Stands for a picture in a line of text, such as a formula: Unicode's object replacement character."""
_PER_POINT = 10
_FIELDS = 5
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CODE_PARTS = re.compile(
    r"courier[a-z]*|monos?|monospaced?|monospac|consol|consolas|console|typewriter|menlo|code|monaco|andale|inconsolata[a-z]*"
    r"|cmtt|cmsltt|cmitt|sftt|ectt|lmtt|txtt|mon|lettergothic|prestige|hack|cascadia|ocr[ab]?|fixedsys|terminal|mplusmn|cousine|iosevka[a-z]*"
)
_ON_THE_LINE = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁾ᵃᵇᶜᵈᵉᶠᵍʰ", "0123456789-)abcdefgh")
_NO_LETTER = re.compile(r"[\W_]+")
_LIBERTINE = r"lin(?:libertine|biolinum)[a-z]?"
_BOLD_FONT = re.compile(rf"bold|black|heavy|demi|cmbx|sfbx|{_LIBERTINE}[bz]i?(?![a-z])", re.IGNORECASE)
_VARIANT = re.compile(r"[-,]|(?<=[a-z])(?:PS|MT|Bold|Italic|Oblique|Roman|Regular|Medium|Light|Black|Semi|Demi)+")
_ITALIC_FONT = re.compile(rf"ital|obli|slant|cmti|sfti|{_LIBERTINE}[bz]?i(?![a-z])", re.IGNORECASE)

_SAME_ROW = 0.4
"""Maximum distance between the tops of lines in one row, as a share of the font size; raised signs differ by less."""


@functools.lru_cache(maxsize=1024)
def is_code_name(font: str) -> bool:
    """Return whether a font's name, or one of its parts, is that of a monospaced font."""
    parts = [part.lower() for part in _NAME_PARTS.findall(font.partition("+")[2] or font)]
    pairs = map("".join, itertools.pairwise(parts))
    return any(_CODE_PARTS.fullmatch(part) for part in itertools.chain(parts, pairs))


@functools.lru_cache(maxsize=1024)
def is_bold_name(font: str) -> bool:
    """Return whether a font's name is that of a bold font."""
    return _BOLD_FONT.search(font) is not None


@functools.lru_cache(maxsize=1024)
def family_of(font: str) -> str:
    """Return the family in a font's name, in lower case: "arial" of "ABCDEF+Arial-BoldMT"."""
    return _VARIANT.split(font.partition("+")[2] or font, maxsplit=1)[0].lower()


@functools.lru_cache(maxsize=1024)
def is_italic_name(font: str) -> bool:
    """Return whether a font's name is that of an italic font."""
    return _ITALIC_FONT.search(font) is not None


def is_figures(text: str) -> bool:
    """Return whether a text has more digits than letters."""
    digits = sum(map(str.isdigit, text))
    return digits > sum(map(str.isalpha, text))


def on_the_line(text: str) -> str:
    """Write superscript digits and marks of notes as ordinary ones."""
    return text.translate(_ON_THE_LINE)


@functools.lru_cache(maxsize=8192)
def letters_of(text: str) -> str:
    """Keep only letters and digits, in lower case, superscripts as digits: what two prints of a text have in common."""
    return _NO_LETTER.sub("", on_the_line(text.lower()))


@dataclass(slots=True)
class Line:
    """One printed line of one column.

    Attributes:
        page: physical page from 1.
        text: its words, separated by single blanks.
        x0, y0, x1, y1: box in points, origin at the top left.
        size: font size in points, rounded to 0.1, of most of its characters.
        bold: whether most of its characters are bold.
        font: name of the font of most of its characters.
        code: whether nearly all of it is monospaced, and the document's running text is not.
        gap: widest gap between two of its words, in points, as far as the engine separates them.
        split: number of characters before that gap, and where the text after it begins; None if there is no gap.
        gaps: each gap wider than its print: number of characters before it, where it begins and where it ends.
        block: position of its layout block in the reading order of the page.
        rotated: it runs up, down or upside down.
        marked: ids of marked content, for tagged documents.
        lead: number of characters at its beginning that are bold or italic while the rest is plain, including a number
            before them: a run-in title. 0 if the whole line has one style.
        led: the style of these, if the fonts of the file show it.
        aside: number of the callout, side note or card on its page that it belongs to, negative if that is as long as a
            column and may have headings; 0 in the running text.
        shown: the original box of its words, if the page was rotated for reading; else None.
    """

    page: int
    text: str
    x0: float
    y0: float
    x1: float
    y1: float
    size: float
    bold: bool
    font: str
    code: bool = False
    gap: float = 0.0
    split: tuple[int, float] | None = None
    gaps: tuple[tuple[int, float, float], ...] = ()
    block: float = 0.0
    rotated: bool = False
    marked: frozenset[int] = frozenset()
    lead: int = 0
    led: tuple[float, bool, str] | None = None
    aside: int = 0
    shown: tuple[float, float, float, float] | None = None

    @property
    def is_italic(self) -> bool:
        """Return whether it is italic."""
        return is_italic_name(self.font)

    @property
    def pieces(self) -> list[tuple[float, float, str]]:
        """Its texts between wide gaps: left and right edge, words."""
        found: list[tuple[float, float, str]] = []
        start, left = 0, self.x0
        for at, right, following in self.gaps:
            found.append((left, right, self.text[start:at].strip()))
            start, left = at, following
        return [*found, (left, self.x1, self.text[start:].strip())]

    @property
    def style(self) -> tuple[float, bool, str]:
        """Its size, weight and font."""
        return (self.size, self.bold, self.font)

    def is_beside(self, other: Line) -> bool:
        """Return whether it has the height of another line of its page."""
        return abs(self.y0 - other.y0) < _SAME_ROW * self.size

    def is_below(self, other: Line) -> bool:
        """Return whether it is in a lower row than another line of its page."""
        return self.y0 > other.y0 + _SAME_ROW * self.size


@dataclass(slots=True)
class Table:
    """One table.

    Attributes:
        page: first physical page, from 1.
        rows: rows of cells, header first, all of the same length; a cell of several printed lines has line ends.
        lines: the lines it was made from.
        edges: the left edges of its columns and the right edge of the last one, if rules are drawn there.
        turns: index of the first row on each further page, with the page.
    """

    page: int
    rows: list[list[str]]
    lines: list[Line]
    edges: tuple[float, ...] = ()
    turns: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def markdown(self, join: Callable[[str, str], str] = "{} {}".format) -> list[str]:
        """Return it as Markdown rows, header first; `join` joins two printed lines of a cell."""
        printed = ["| " + " | ".join(_cell(cell, join) for cell in row) + " |" for row in self.rows]
        printed.insert(1, "|" + " --- |" * len(self.rows[0]))
        return printed


def _cell(text: str, join: Callable[[str, str], str]) -> str:
    if "\n" in text:
        text = functools.reduce(join, text.split("\n"))
    return sign_of_cell(text).replace("|", "\\|")


@dataclass(slots=True)
class PageLayout:
    """One page: its size in points, its elements in reading order, and why that order is doubtful, if it is.

    `heads` are the upper edges of the running lines that were removed at its top. `strip` is the position, in points
    from the left, of the empty strip between clauses and the comments to their right, `between` that of the one between
    two languages; 0 if there is none. `struck` are the boxes of struck-out lines, which are left out.
    """

    number: int
    width: float
    height: float
    elements: list[Line | Table] = field(default_factory=list["Line | Table"])
    doubt: str = ""
    heads: tuple[float, ...] = ()
    strip: float = 0.0
    between: float = 0.0
    struck: tuple[tuple[float, float, float, float], ...] = ()

    @property
    def lines(self) -> list[Line]:
        """The lines outside tables."""
        return [element for element in self.elements if isinstance(element, Line)]

    @property
    def all_lines(self) -> list[Line]:
        """All lines, including those of tables."""
        return [line for element in self.elements for line in lines_of(element)]


def lines_of(element: Line | Table) -> list[Line]:
    """Return the lines of a table, or the line itself."""
    return element.lines if isinstance(element, Table) else [element]


def unread_pictures(count: int) -> str:
    """Return the warning about pictures in the text that were not read."""
    pictures = how_many(count, "image")
    return f"{pictures} in lines of text not read, such as a formula: {UNREAD} is shown instead."


def packed(page: int, left: float, top: float, right: float, bottom: float) -> tuple[int, ...]:
    """Return a box, given in points, as whole numbers."""
    low, high = math.floor, math.ceil
    return (
        page,
        low(left * _PER_POINT),
        low(top * _PER_POINT),
        high(right * _PER_POINT),
        high(bottom * _PER_POINT),
    )


def unpacked(numbers: Sequence[int]) -> tuple[Box, ...]:
    """Return the boxes that `packed` encoded."""
    return tuple(
        Box(numbers[at], *(tenths / _PER_POINT for tenths in numbers[at + 1 : at + _FIELDS]))
        for at in range(0, len(numbers), _FIELDS)
    )
