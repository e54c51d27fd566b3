"""Printed page numbers: their forms ("- 12 -", "Page 12 of 40", "A-3", "xii"), and which numbers are such."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.readers.pdf.headings.candidates import Body, is_strong
from knowledge_mcp.readers.pdf.running.rows import NEAR, Rows
from knowledge_mcp.readers.shared.layout import Line, PageLayout
from knowledge_mcp.readers.shared.numbering import roman_value

_FORM = re.compile(
    r"(?:(?P<word>(?:page|pages|pg|seite|blatt|sheet|folio|feuille|p[áa]gina|p[áa]g|pag|side|sida|strona|sivu|oldal"
    r"|стр|страница|лист)\b|(?:p|s)\.|第)[\W_]{0,4})?"
    r"(?P<number>\d{1,4}|[ivxlc]{1,7}|(?:[A-Z]{1,2}|\d{1,3})[-–.]\d{1,3})(?: ?(?P<behind>[页頁]))?"
    r"(?: ?(?:of|von|de|di|sur|av|af|van|z|из|/|共) ?(?P<count>\d{1,4})(?: ?[页頁])?)?"
    r"(?:[\s|]{1,4}(?P<after>P ?a ?g ?e|Seite))?",
    re.IGNORECASE,
)
_AROUND = "".join(chr(code) for code in range(33, 127) if not chr(code).isalnum()) + " ·•–—―|¦«»“”…\u2060\u200b"
"""Signs that stand around a number: dashes, dots, brackets, bars."""
_BRACKETS = ("(", ")")
"""A number in round brackets is that of a formula or an item; pages are not counted so."""
_EDGE = 0.06
"""Share of a page's height at its edges in which no text is printed: margins are half an inch at least."""
_APART = 2.5
"""Pitches by which a row with other words is off the text at least where a number in its corner is that of the page."""
_MIDDLE, _CORNER = 0.04, 0.15
"""Shares of a page's width: how far off its middle a centred number is, and how close to its sides one in a corner."""


@dataclass(frozen=True, slots=True)
class PageNumber:
    """A line read as the number of its page: the number as printed, the count of pages, whether a word says so."""

    printed: str
    count: int | None
    said: bool

    @property
    def value(self) -> int | None:
        """What it counts, None where that is a letter and a number."""
        return int(self.printed) if self.printed.isdigit() else roman_value(self.printed.upper())


@functools.lru_cache(maxsize=8192)
def page_number(text: str) -> PageNumber | None:
    """Read a line that is nothing but a page's number; a word or a count of pages may stand with it."""
    match = _FORM.fullmatch(text.strip(_AROUND)) if len(text) <= _LONGEST else None
    if match is None:
        return None
    count = int(match["count"]) if match["count"] else None
    said = bool(match["word"] or match["behind"] or match["after"])
    if (text[:1], text[-1:]) == _BRACKETS and not said:
        return None
    return PageNumber(match["number"], count, said)


_LONGEST = 40
"""Characters of such a line at most, its dashes and blanks counted in."""


def lone_page_numbers(
    pages: Sequence[PageLayout],
    zones: Mapping[int, str],
    rows: Rows,
    labels: Sequence[str],
    body: Body,
) -> Iterator[int]:
    """Find numbers of single pages, outermost and off the text: they need not be repeated at one height.

    They count as such where they say so, where they are the number or the label of their page, and where they stand in
    the middle or the corner of the paper's edge. Numbers in large or bold print at the top are those of chapters.
    """
    for page in pages:
        label = labels[page.number - 1] if page.number <= len(labels) else ""
        for zone in ("top", "bottom"):
            row = rows.outermost(page, zone)
            distance = rows.distance(page, row[0], zone) if row else None
            for line in row:
                number = page_number(line.text) if zones.get(id(line)) == zone else None
                if number is None or (zone == "top" and is_strong(line, body) and not number.said):
                    continue
                names = _names_page(number, page.number, label, len(pages))
                if distance is None:  # the page has no other text: it is the text where the document has no other page
                    found = names and len(pages) > 1 and len(row) == 1
                elif distance <= NEAR:
                    found = names and number.said and number.count is not None
                elif len(row) > 1 and not number.said:
                    found = names and distance > _APART and _is_in_corner(line, page)
                else:
                    found = names
                # where there is no other page to compare it with, a number at the edge may be any
                is_off = distance is None or distance > NEAR
                if found or (len(pages) > 1 and is_off and _is_at_edge(line, page)):
                    yield id(line)
        yield from _beside_numbers(page, rows, label, len(pages))


def _beside_numbers(page: PageLayout, rows: Rows, label: str, count: int) -> Iterator[int]:
    """Find what stands in the outermost margin in one row with the number of its page: the head of one page."""
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
    """Tell whether a number is that of its page: its place, its label, or said so with as many pages as there are."""
    if number.count is not None:
        value = number.value or 0
        return 0 < value <= number.count and (number.said or number.count == pages or value == page)
    return number.said or number.value == page or (bool(label) and number.printed.lower() == label.lower())


def _is_at_edge(line: Line, page: PageLayout) -> bool:
    """Tell whether a line stands where no text is: in the outermost margin, in its middle or a corner."""
    if not is_in_outermost_margin(line, page):
        return False
    return abs(line.x0 + line.x1 - page.width) <= 2 * _MIDDLE * page.width or _is_in_corner(line, page)


def _is_in_corner(line: Line, page: PageLayout) -> bool:
    return line.x1 > (1 - _CORNER) * page.width or line.x0 < _CORNER * page.width


def is_in_outermost_margin(line: Line, page: PageLayout) -> bool:
    """Tell whether a line stands so close to the paper's upper or lower edge that it is above or below all text."""
    return line.y1 < _EDGE * page.height or line.y0 > (1 - _EDGE) * page.height
