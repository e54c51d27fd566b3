"""Values of a laid-out page: lines with their typography, tables, the page that holds them in reading order, and boxes.

Between a child process and its parent boxes are whole numbers, one box after the other: page, then left, top, right,
bottom in tenths of a point, rounded so that none gets smaller.
"""

from __future__ import annotations

import functools
import itertools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.model.document import Box
from knowledge_mcp.support.wording import how_many

UNREAD = "\ufffc"
"""Stands for a picture in a line of text, as a formula may be one: Unicode's own sign for that."""
_PER_POINT = 10
_FIELDS = 5
_NAME_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CODE_PARTS = re.compile(
    r"courier[a-z]*|monos?|monospaced?|monospac|consol|consolas|console|typewriter|menlo|code|monaco|andale|inconsolata"
    r"|cmtt|cmsltt|cmitt|sftt|ectt|lmtt|txtt|mon|lettergothic|prestige|hack|cascadia|ocr[ab]?|fixedsys|terminal"
)
_ON_THE_LINE = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "0123456789-")
_NO_LETTER = re.compile(r"[\W_]+")
_BOLD_FONT = re.compile(r"bold|black|heavy|demi|cmbx|sfbx", re.IGNORECASE)
_VARIANT = re.compile(r"[-,]|(?<=[a-z])(?:PS|MT|Bold|Italic|Oblique|Roman|Regular|Medium|Light|Black|Semi|Demi)+")
_ITALIC_FONT = re.compile(r"ital|obli|slant|cmti|sfti", re.IGNORECASE)


@functools.lru_cache(maxsize=1024)
def is_code_name(font: str) -> bool:
    """Tell whether a font's name is that of a typewriter face: one of its parts, whole, is such a face's."""
    parts = [part.lower() for part in _NAME_PARTS.findall(font.partition("+")[2] or font)]
    pairs = map("".join, itertools.pairwise(parts))
    return any(_CODE_PARTS.fullmatch(part) for part in itertools.chain(parts, pairs))


@functools.lru_cache(maxsize=1024)
def is_bold_name(font: str) -> bool:
    """Tell whether a font's name is that of a bold face."""
    return _BOLD_FONT.search(font) is not None


@functools.lru_cache(maxsize=1024)
def family_of(font: str) -> str:
    """Return what a font's name says of its family, in lower case: "arial" of "ABCDEF+Arial-BoldMT"."""
    return _VARIANT.split(font.partition("+")[2] or font, maxsplit=1)[0].lower()


@functools.lru_cache(maxsize=1024)
def is_italic_name(font: str) -> bool:
    """Tell whether a font's name is that of an italic face."""
    return _ITALIC_FONT.search(font) is not None


def is_figures(text: str) -> bool:
    """Tell figures from words: there are more digits than letters."""
    digits = sum(map(str.isdigit, text))
    return digits > sum(map(str.isalpha, text))


def on_the_line(text: str) -> str:
    """Write raised digits as others."""
    return text.translate(_ON_THE_LINE)


@functools.lru_cache(maxsize=8192)
def letters_of(text: str) -> str:
    """Keep letters and digits only, in lower case and on the line: what two prints of one text have in common."""
    return _NO_LETTER.sub("", on_the_line(text.lower()))


@dataclass(slots=True)
class Line:
    """Hold one printed line of one column.

    Attributes:
        page: physical page from 1.
        text: its words, single blanks.
        x0, y0, x1, y1: box in points, origin at the top left.
        size: font size in points, rounded to 0.1, of most of its characters.
        bold: whether most of its characters are bold.
        font: name of the font of most of its characters.
        code: whether nearly all of it is set in a typewriter face, and the document's running text is not.
        gap: widest gap between two of its words, in points, as far as the engine tells them apart.
        split: characters before that gap, and where what follows it begins; None where there is no gap.
        block: position of the layout block it belongs to, the reading order on the page.
        rotated: it runs up, down or upside down.
        marked: ids of marked content, for tagged documents.
        lead: characters at its beginning that are set bold or italic where the rest is plain, a number before them
            counted in: the title that running text follows on the same line. 0 where the line is of one face.
        aside: number of the callout, side note or card on its page that it belongs to, negative where that is as long
            as a column and may have headings; 0 in the running text.
        shown: the box of its words on the page as it came, where it was turned to be read; None where it was not.
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
    block: float = 0.0
    rotated: bool = False
    marked: frozenset[int] = frozenset()
    lead: int = 0
    aside: int = 0
    shown: tuple[float, float, float, float] | None = None

    @property
    def is_italic(self) -> bool:
        """Tell whether it is set in an italic face."""
        return is_italic_name(self.font)

    @property
    def style(self) -> tuple[float, bool, str]:
        """Identify how it is set: size, weight, font."""
        return (self.size, self.bold, self.font)


@dataclass(slots=True)
class Table:
    """Hold one table.

    Attributes:
        page: physical page from 1, the first one.
        rows: rows of cells, the header first, all of one length; a cell of several printed lines has line ends.
        lines: what it was made from.
        edges: the left edges of its columns and the right edge of the last one, where lines draw them.
        turns: index of the first row on each further page, with the page.
    """

    page: int
    rows: list[list[str]]
    lines: list[Line]
    edges: tuple[float, ...] = ()
    turns: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def markdown(self, join: Callable[[str, str], str] = "{} {}".format) -> list[str]:
        """Print it as Markdown rows, header first; `join` puts two printed lines of a cell together."""
        printed = ["| " + " | ".join(_cell(cell, join) for cell in row) + " |" for row in self.rows]
        printed.insert(1, "|" + " --- |" * len(self.rows[0]))
        return printed


def _cell(text: str, join: Callable[[str, str], str]) -> str:
    if "\n" in text:
        text = functools.reduce(join, text.split("\n"))
    return text.replace("|", "\\|")


@dataclass(slots=True)
class PageLayout:
    """Hold one page: its size in points, what stands on it in reading order, and why that order is doubtful if so.

    `heads` are the upper edges of the running lines at its top that were taken out. `strip` is the place, in points
    from the left, of the free strip between clauses and the comments to their right, `between` that of the one between
    two languages; 0 where there is none. `struck` are the boxes of lines that were struck out and are left out.
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
        """List the lines outside of tables."""
        return [element for element in self.elements if isinstance(element, Line)]

    @property
    def all_lines(self) -> list[Line]:
        """List the lines, those of tables among them."""
        return [line for element in self.elements for line in lines_of(element)]


def lines_of(element: Line | Table) -> list[Line]:
    """List the lines of a table, or a line itself."""
    return element.lines if isinstance(element, Table) else [element]


def unread_pictures(count: int) -> str:
    """Warn of pictures in the text that were not read."""
    pictures = how_many(count, "picture")
    return f"{pictures} in lines of text not read, such as a formula: {UNREAD} stands in its place."


def packed(page: int, left: float, top: float, right: float, bottom: float) -> tuple[int, ...]:
    """Write one box, given in points, as whole numbers."""
    low, high = math.floor, math.ceil
    return (
        page,
        low(left * _PER_POINT),
        low(top * _PER_POINT),
        high(right * _PER_POINT),
        high(bottom * _PER_POINT),
    )


def unpacked(numbers: Sequence[int]) -> tuple[Box, ...]:
    """Make boxes of what `packed` wrote."""
    return tuple(
        Box(numbers[at], *(tenths / _PER_POINT for tenths in numbers[at + 1 : at + _FIELDS]))
        for at in range(0, len(numbers), _FIELDS)
    )
