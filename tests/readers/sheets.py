"""Pages laid out by hand, line after line, and the headings that the PDF reader finds on them."""

from __future__ import annotations

import random
from collections.abc import Iterator

from knowledge_mcp.readers.pdf.headings.candidates import body_of
from knowledge_mcp.readers.pdf.headings.contents import Contents, take_contents
from knowledge_mcp.readers.pdf.headings.numbered import Heading, detect_headings
from knowledge_mcp.readers.pdf.headings.outline import listed_headings
from knowledge_mcp.readers.pdf.running.furniture import remove_furniture
from knowledge_mcp.readers.shared.layout import Line, PageLayout

WORDS = "when samples stay dry in store each probe waits until someone who knows it well has come again".split()
PROSE = "running text that goes from one edge of the column to the other and says nothing in particular at all"


class Sheets:
    """Lay out pages by hand, line after line."""

    def __init__(self) -> None:
        self.pages: list[PageLayout] = []
        self._words = random.Random(7)
        self.turn()

    def turn(self) -> None:
        """Begin a page."""
        self.pages.append(PageLayout(len(self.pages) + 1, 600, 800))
        self.y = 120.0

    def line(
        self,
        text: str,
        *,
        x: float = 72,
        size: float = 10,
        bold: bool = False,
        font: str = "Times",
        gap: float = 0,
        lead: int = 0,
        beside: bool = False,
    ) -> None:
        """Put a line below the last one, `gap` points lower than its pitch asks for, or beside it."""
        self.y += 0 if beside else 1.2 * size + gap
        width = min(len(text) * 0.5 * size, 456 - (x - 72))
        page = self.pages[-1]
        page.elements.append(
            Line(page.number, text, x, self.y, x + width, self.y + size, size, bold=bold, font=font, lead=lead)
        )

    def prose(self, lines: int = 4) -> None:
        """Put a paragraph."""
        for index in range(lines):
            words = [self._words.choice(WORDS) for _ in range(15)]
            self.line(" ".join(words), gap=6 if index == 0 else 0)

    def heading(self, text: str, size: float = 14) -> None:
        """Put a line that stands out."""
        self.line(text, size=size, bold=True, font="Arial-Bold", gap=12)

    def chapters(self, count: int) -> Iterator[int]:
        """Put chapters of two sections, each on a page of its own; yield the number of each before its page ends."""
        for chapter in range(1, count + 1):
            self.heading(f"{chapter} Chapter {'abcdefgh'[chapter - 1] * 3}")
            self.prose()
            for part in (1, 2):
                self.heading(f"{chapter}.{part} Section {'gh'[part - 1] * 3}", 12)
                self.prose()
            yield chapter
            self.turn()


def contents_of(made: Sheets) -> Contents:
    """Take the contents out of the pages."""
    return take_contents(made.pages)


def found_in(made: Sheets) -> list[tuple[str | None, str, int]]:
    """List number, title and level of each heading found."""
    return [(heading.number, heading.title, heading.level) for heading in headings_in(made)]


def headings_in(made: Sheets) -> list[Heading]:
    """Find the headings as the reader does without an outline."""
    remove_furniture(made.pages)
    listed = listed_headings(contents_of(made).entries, made.pages)
    return detect_headings(made.pages, body_of(made.pages), listed)


def report(extra: str = "", *, gap: float = 4) -> Sheets:
    """Make a report whose headings are bold italics with little space above, one over two lines, one with a stop."""
    made = Sheets()
    for title in ("Introduction", "Benefits of an audit", "Review of guides and of reports.", "Costs", "Outlook"):
        made.line(title, size=10, bold=True, font="Arial-BoldItalic", gap=gap)
        made.prose(8)
        if extra:
            made.line(extra, bold=True, font="Times-Bold")
            made.line("12.3", x=300, bold=True, font="Times-Bold", beside=True)
        made.turn()
    return made
