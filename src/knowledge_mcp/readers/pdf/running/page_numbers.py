"""Printed page numbers: their forms ("- 12 -", "Page 12 of 40", "A-3", "xii"), and how they are recognised."""

from __future__ import annotations

import functools
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.readers.pdf.headings.candidates import Body, is_strong
from knowledge_mcp.readers.pdf.running.rows import NEAR, Rows
from knowledge_mcp.readers.shared.layout import Line, PageLayout
from knowledge_mcp.readers.shared.numbering import roman_value, to_roman

_FORM = re.compile(
    r"(?:(?P<word>(?:page|pages|pg|seite|blatt|sheet|folio|feuille|p[áa]gina|p[áa]g|pag|side|sida|strona|sivu|oldal"
    r"|стр|страница|лист)\b|(?:p|s)\.|第)[\W_]{0,4})?"
    r"(?P<number>\d{1,4}|[ivxlc]{1,7}|(?:[A-Z]{1,2}|\d{1,3})[-–.]\d{1,3})(?: ?(?P<behind>[页頁]))?"
    r"(?: ?(?:of|von|de|di|sur|av|af|van|z|из|/|共) ?(?P<count>\d{1,4})(?: ?[页頁])?)?"
    r"(?:[\s|]{1,4}(?P<after>P ?a ?g ?e|Seite))?",
    re.IGNORECASE,
)
_AROUND = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum()) + " ·•–—―|¦«»“”…\u2060\u200b"
"""Signs around a number: dashes, dots, brackets, bars."""
_BRACKETS = ("(", ")")
"""A number in round brackets belongs to a formula or an item; page numbers are not printed so."""
_EDGE = 0.06
"""Share of a page's height at its edges in which no text is printed: margins are at least half an inch."""
_APART = 2.5
"""Minimum distance in line pitches between the text and a row with other words whose corner has the page number."""
_MIDDLE, _CORNER = 0.04, 0.15
"""Shares of a page's width: maximum distance of a centred number from the middle, and of a number in a corner from the
side."""


@dataclass(frozen=True, slots=True)
class PageNumber:
    """A line read as a page number: the number as printed, the page count, whether a word says that it is one."""

    printed: str
    count: int | None
    has_word: bool

    @property
    def value(self) -> int | None:
        """Return the number as an integer; None for a letter with a number."""
        return int(self.printed) if self.printed.isdigit() else roman_value(self.printed.upper())


@functools.lru_cache(maxsize=8192)
def page_number(text: str) -> PageNumber | None:
    """Read a line that consists only of a page number, optionally with a word or a page count."""
    match = _FORM.fullmatch(text.strip(_AROUND)) if len(text) <= _LONGEST else None
    if match is None:
        return None
    count = int(match["count"]) if match["count"] else None
    has_word = bool(match["word"] or match["behind"] or match["after"])
    if (text[:1], text[-1:]) == _BRACKETS and not has_word:
        return None
    return PageNumber(match["number"], count, has_word)


_LONGEST = 40
"""Maximum number of characters of such a line, including dashes and spaces."""

_COUNTED = re.compile(r"(.*?)(\d{1,4}|[ivxlc]{1,7}|[IVXLC]{1,7})")
Series = tuple[str, str, int]
"""What the numbers of pages that count on have in common: the letters before them ("A-"), their style ("1", "i"
or "I"), and the printed number less the number of the page in the file."""
IN_A_SERIES = 3
"""Minimum number of pages of a series: two numbers may follow by chance."""


def lone_page_numbers(
    pages: Sequence[PageLayout],
    zones: Mapping[int, str],
    rows: Rows,
    labels: Sequence[str],
    body: Body,
) -> Iterator[int]:
    """Find page numbers on single pages, outermost and apart from the text; they need not be repeated at one height.

    A number counts if a word says so, if it is the number or the label of its page, if numbers of other pages count on
    with it, or if it is in the middle or the corner of the paper's edge. Numbers in large or bold print at the top are
    chapter numbers.
    """
    counting = _counting(pages, zones, rows)
    for page in pages:
        label = labels[page.number - 1] if page.number <= len(labels) else ""
        for zone in ("top", "bottom"):
            row = rows.outermost(page, zone)
            distance = rows.distance(page, row[0], zone) if row else None
            for line in row:
                number = page_number(line.text) if zones.get(id(line)) == zone else None
                if number is None or (zone == "top" and is_strong(line, body) and not number.has_word):
                    continue
                names = _names_page(number, page.number, label, len(pages)) or series_of(line) in counting
                if distance is None:  # the page has no other text: if it is the only page, this is the text
                    found = names and len(pages) > 1 and len(row) == 1
                elif distance <= NEAR:
                    found = names and number.has_word and number.count is not None
                elif len(row) > 1 and not number.has_word:
                    found = names and distance > _APART and _is_in_corner(line, page)
                else:
                    found = names
                # with a single page to look at, a number at the edge may be anything
                is_off = distance is None or distance > NEAR
                if found or (len(pages) > 1 and is_off and _is_at_edge(line, page)):
                    yield id(line)
        yield from _beside_numbers(page, rows, label, len(pages))


def _counting(pages: Sequence[PageLayout], zones: Mapping[int, str], rows: Rows) -> set[Series]:
    """Find the series of the numbers that are alone in the outermost rows of pages."""
    found: defaultdict[Series, set[int]] = defaultdict(set)
    for page in pages:
        for zone in ("top", "bottom"):
            row = rows.outermost(page, zone)
            if len(row) == 1 and zones.get(id(row[0])) == zone and (series := series_of(row[0])) is not None:
                found[series].add(page.number)
    return {series for series, numbers in found.items() if len(numbers) >= IN_A_SERIES}


def series_of(line: Line) -> Series | None:
    """Return the series to which the number of a page belongs; None for a line that is none, and for other letters."""
    number = page_number(line.text)
    counted = _COUNTED.fullmatch(number.printed) if number is not None else None
    if counted is None:
        return None
    before, digits = counted.groups()
    if digits.isdigit():
        return before, "1", int(digits) - line.page
    value = roman_value(digits.upper())
    if value is None or to_roman(value) != digits.upper():
        return None
    return before, "i" if digits.islower() else "I", value - line.page


def _beside_numbers(page: PageLayout, rows: Rows, label: str, count: int) -> Iterator[int]:
    """Find what is in the outermost margin in one row with the page number: the header of one page."""
    for zone in ("top", "bottom"):
        for row in rows.inwards(page, zone):
            if not is_in_outermost_margin(row[0], page):
                break
            numbers = [
                number for line in row if _is_at_edge(line, page) and (number := page_number(line.text)) is not None
            ]
            is_all = count == 1 and rows.distance(page, row[0], zone) is None
            if not is_all and any(_names_page(number, page.number, label, count) for number in numbers):
                yield from (id(line) for line in row if is_in_outermost_margin(line, page))


def _names_page(number: PageNumber, page: int, label: str, pages: int) -> bool:
    """Return whether a number is that of its page: its position, its label, or stated with the right page count."""
    if number.count is not None:
        value = number.value or 0
        return 0 < value <= number.count and (number.has_word or number.count == pages or value == page)
    return number.has_word or number.value == page or (bool(label) and number.printed.lower() == label.lower())


def _is_at_edge(line: Line, page: PageLayout) -> bool:
    """Return whether a line is where no text is: in the outermost margin, in its middle or a corner."""
    if not is_in_outermost_margin(line, page):
        return False
    return abs(line.x0 + line.x1 - page.width) <= 2 * _MIDDLE * page.width or _is_in_corner(line, page)


def _is_in_corner(line: Line, page: PageLayout) -> bool:
    return line.x1 > (1 - _CORNER) * page.width or line.x0 < _CORNER * page.width


def is_in_outermost_margin(line: Line, page: PageLayout) -> bool:
    """Return whether a line is so close to the paper's upper or lower edge that it is above or below all text."""
    return line.y1 < _EDGE * page.height or line.y0 > (1 - _EDGE) * page.height
