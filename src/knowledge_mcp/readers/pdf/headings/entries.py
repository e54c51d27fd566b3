"""Entries of terms clauses: which lines are their numbers, and where terms and definitions begin.

Terms, definition and notes of an entry are on consecutive lines without space between them. The line break shows where
a paragraph begins: if the first word of the next line would have fitted, the line was ended on purpose.
"""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.language.clauses import SectionRole, role_of_title
from knowledge_mcp.language.glossary.entries import is_origin
from knowledge_mcp.language.glossary.terms import TermsClause, entry_number
from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.model.document import NOTE_KINDS, HeadingSource
from knowledge_mcp.readers.pdf.headings.numbered import Heading, in_order
from knowledge_mcp.readers.shared.layout import Line, PageLayout

_SURE = 0.9
_ROOM = 1.15
"""Factor of the mean letter width in a line, used for the width of its first word, so that a tight fit is not a fit."""
_SPACED = 1.75
"""Distance between the tops of two lines, as a factor of the font size, from which there is space between them."""
_BEGINNING = 40
"""Number of characters of a line that show whether it names a source."""
_SAME_SIZE = 0.6
"""Maximum difference in points between font sizes in a glossary; smaller print below it is a footnote."""
_FLUSH = 3.0
"""Distance in points from the left edge of a glossary's lines within which an entry begins; others continue one."""
_TERM_WIDTH = 0.6
"""Maximum width of a term as a share of the column's width if its line is among lines of definitions."""
_TERM_FIRST = re.compile(r"(?P<number>(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,5}\.?\s)?[^\s:][^:.]{0,70}(?::|\s[—–-])\s")
_STEP = re.compile(r"\d+|[A-Z]")
_FIRST_WORD = re.compile(r"\S+")


@dataclass(slots=True)
class TermsPages:
    """The headings and paragraphs that result from terms clauses.

    Attributes:
        headings: all headings of the document in reading order, including those of entries.
        begins: by id of a line, True if it begins a paragraph, False if it continues the one before it; for other lines
            their appearance decides.
    """

    headings: list[Heading]
    begins: dict[int, bool] = field(default_factory=dict[int, bool])


def terms_pages(pages: Sequence[PageLayout], headings: Sequence[Heading]) -> TermsPages:
    """Find the entries of all terms clauses; other headings inside them are dropped."""
    lines = [line for page in pages for line in page.lines if not line.rotated]
    edges = right_edges(lines)
    reading = _Reading(lines, headings, edges)
    reading.run()
    dropped = reading.dropped
    kept = in_order([*(each for each in headings if id(each) not in dropped), *reading.made], pages)
    index = {id(line): at for at, line in enumerate(lines)}
    bounds = sorted(index[id(heading.lines[0])] for heading in kept if id(heading.lines[0]) in index)
    found = TermsPages(kept)
    stops = dict(zip(bounds, [*bounds, len(lines)][1:], strict=True))
    for start, heading in reading.starts.items():
        below = lines[start + len(heading.lines) : stops[start]]
        found.begins.update(_paragraphs(heading, below, edges))
    for line in _run_ins(lines, kept, edges):
        found.begins.setdefault(id(line), True)
    return found


class _Reading:
    """Walks down the lines of a document and finds where entries begin.

    Attributes:
        starts: headings of entries by the index of their first line.
        made: those among them that are new.
        dropped: ids of headings that are none: terms, and bold words within entries.
    """

    def __init__(self, lines: Sequence[Line], headings: Sequence[Heading], edges: dict[int, float]) -> None:
        self.starts: dict[int, Heading] = {}
        self.made: list[Heading] = []
        self.dropped: set[int] = set()
        self._lines = lines
        self._edges = edges
        self._known = {id(heading.lines[0]): heading for heading in headings}
        self._inside = {id(line) for heading in headings for line in heading.lines[1:]}
        self._clause = TermsClause()
        self._doubtful: list[tuple[int, Heading]] = []
        self._last: tuple[int, ...] = ()
        self._terms_end = -1

    def run(self) -> None:
        """Process all lines."""
        for place, line in enumerate(self._lines):
            known = self._known.get(id(line))
            number = entry_number(line.text)
            if known is not None and (number is None or len(known.lines) > 1):
                self._heading(place, known)
            elif number is not None:
                self._take(place, number, number)
            elif id(line) not in self._inside and (opened := self._clause.opens(line.text)) is not None:
                following = self._lines[place + 1] if place + 1 < len(self._lines) else None
                if following is None or is_ended(line, following, self._edges):
                    self._take(place, opened[0], opened[1])

    def _heading(self, place: int, known: Heading) -> None:
        if self._clause.is_open and known.number is None and known.source is HeadingSource.TYPOGRAPHY and self._last:
            if place == self._terms_end:
                self.dropped.add(id(known))
                self._terms_end = place + len(known.lines)
            else:
                self._doubtful.append((place, known))
            return
        level = self._clause.level_of(known.number) if known.number else None
        self._clause.heading(known.number, known.title, known.level)
        if not self._clause.is_open or level is None:
            self._last = ()
        elif known.number is not None:
            self._begin(place, known.number, known)

    def _take(self, place: int, number: str, title: str) -> None:
        level = self._clause.level_of(number)
        if level is None or _key(number) <= self._last:
            return
        line = self._lines[place]
        if (known := self._known.get(id(line))) is not None:
            self.dropped.add(id(known))
        made = Heading([line], level, number, title, None, HeadingSource.NUMBERING, _SURE)
        self.made.append(made)
        self._begin(place, number, made)

    def _begin(self, place: int, number: str, heading: Heading) -> None:
        for other, doubtful in self._doubtful:
            if other + len(doubtful.lines) != place:  # otherwise it is above a group of entries
                self.dropped.add(id(doubtful))
        self._doubtful.clear()
        self.starts[place] = heading
        self._last = _key(number)
        self._terms_end = place + len(heading.lines)


def _key(number: str) -> tuple[int, ...]:
    return tuple(int(part) if part.isdigit() else ord(part) for part in _STEP.findall(number))


def right_edges(lines: Sequence[Line]) -> dict[int, float]:
    """Return the right edges of the lines of a document by their left edges.

    Notes do not count; they are set smaller and may extend over two columns.
    """
    sizes: defaultdict[int, Counter[float]] = defaultdict(Counter)
    for line in lines:
        sizes[round(line.x0)][line.size] += 1
    usual = {left: found.most_common(1)[0][0] for left, found in sizes.items()}
    edges: defaultdict[int, float] = defaultdict(float)
    for line in lines:
        if line.size >= usual[round(line.x0)] - _SAME_SIZE:
            edges[round(line.x0)] = max(edges[round(line.x0)], line.x1)
    return {left: max(edges.get(near, 0.0) for near in range(left - 2, left + 3)) for left in edges}


def is_ended(line: Line, following: Line, edges: dict[int, float]) -> bool:
    """Return whether a line was ended on purpose: the first word of the next one would have fitted."""
    word = _FIRST_WORD.match(following.text)
    if word is None or line.text.endswith(("-", "\x02")):
        return False
    letter = (following.x1 - following.x0) / max(len(following.text), 1)
    return line.x1 + (0.5 * line.size if letter <= 0 else letter) + _ROOM * letter * len(word.group()) < edges.get(
        round(line.x0), line.x1
    )


def _paragraphs(heading: Heading, lines: Sequence[Line], edges: dict[int, float]) -> dict[int, bool]:
    """Find which lines below an entry's heading begin a paragraph: terms, definition, source."""
    begins: dict[int, bool] = {}
    open_, bold = heading.cut is None, True  # after a title that runs into the text there are no separate terms
    for above, line in itertools.pairwise([heading.lines[-1], *lines]):
        opening = opening_of(line.text)
        origin = is_origin(line.text[:_BEGINNING])
        if origin:
            begins[id(line)] = True
        if not open_ or opening is not None or origin:
            open_ = open_ and not (origin or (opening is not None and opening.kind in NOTE_KINDS))
            continue
        first = not begins
        spaced = line.page == above.page and line.y0 - above.y0 > _SPACED * max(line.size, above.size)
        begins[id(line)] = first or spaced or (bold and line.bold != above.bold) or _ends_paragraph(above, line, edges)
        bold = bold and line.bold
    return begins


def _ends_paragraph(line: Line, following: Line, edges: dict[int, float]) -> bool:
    """Return whether a line is a term's last, not one of a definition, which may be short before a long word."""
    width = edges.get(round(line.x0), line.x1) - line.x0
    short = line.x1 - line.x0 < _TERM_WIDTH * width
    return (short or line.text.endswith((".", ":", ";"))) and is_ended(line, following, edges)


def _run_ins(lines: Sequence[Line], headings: Sequence[Heading], edges: dict[int, float]) -> Iterator[Line]:
    """Yield the lines that begin an entry of a glossary: "term: words", with the term in its own style or not.

    In lists of abbreviations, every line does so unless the previous line was full.
    """
    starts = {id(heading.lines[0]): heading for heading in headings}
    inside = {id(line) for heading in headings for line in heading.lines}
    role = SectionRole.BODY
    clause = TermsClause()
    left = math.inf
    for above, line in itertools.pairwise(lines):
        left = min(left, line.x0)
        if (heading := starts.get(id(line))) is not None:
            clause.heading(heading.number, heading.title, heading.level)
            own_role = role_of_title(heading.title)
            role = own_role if own_role is SectionRole.ABBREVIATIONS or not clause.is_open else SectionRole.DEFINITIONS
            left = math.inf
        elif id(line) in inside or id(above) in inside or abs(line.size - above.size) > _SAME_SIZE:
            continue
        elif role is SectionRole.ABBREVIATIONS:
            if is_ended(above, line, edges):
                yield line
        elif role is SectionRole.DEFINITIONS and _opens_entry(above, line, edges, left):
            yield line


def _opens_entry(above: Line, line: Line, edges: dict[int, float], left: float) -> bool:
    """Return whether a line of a glossary begins the next entry: its words and its style start again."""
    match = _TERM_FIRST.match(line.text) if line.x0 < left + _FLUSH and opening_of(line.text) is None else None
    if is_ended(above, line, edges):
        return match is not None or line.bold != above.bold
    if match is None:
        width = edges.get(round(line.x0), line.x1) - line.x0
        return line.bold and not above.bold and line.x1 - line.x0 < _TERM_WIDTH * width
    return above.text.endswith((".", ";")) and (line.lead > 0 or line.bold or match["number"] is not None)
