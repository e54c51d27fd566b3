"""Finds clauses without a heading of their own.

Some have a number and no title: "4.2.1 The mass fraction shall ...", or "4.2.1" alone above its text. Others have their
title in the margin, as in printed statutes: "General duty to supply." next to "1.—(1) The company shall ...". The only
evidence is that their numbers count up without a gap. Clauses of annexes, which begin with 1 again, are put below their
annex.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from knowledge_mcp.language.openings import UNTITLED, is_annex, split_clause_number
from knowledge_mcp.model.document import HeadingSource
from knowledge_mcp.readers.pdf.headings.candidates import Body, HeadingCandidate, candidates, is_bare_annex, is_strong
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.pdf.headings.sequences import FIRST_NUMBERS, restarting
from knowledge_mcp.readers.shared.layout import Line, PageLayout
from knowledge_mcp.readers.shared.numbering import (
    ClauseCount,
    NumberKey,
    coded_numbers,
    depth_of,
    has_coded,
    has_commentary,
    number_key,
)

_SECTION = re.compile(r"(?P<number>\d{1,3}[A-Z]{0,2})\.? ?(?:[—–-] ?)?(?=\(1|[A-Z“\"])")
_SMALLER = 0.9
"""Maximum font size of a section's note as a factor of that of the section."""
_FEWEST = 3
"""Minimum number of sections with notes that makes these titles."""
_LONGEST = 15
"""Maximum number of words of a title."""
_CONFIDENCE = 0.8


def noted_sections(pages: Sequence[PageLayout], headings: Sequence[Heading]) -> list[Heading]:
    """Find the sections that notes in the margin name; each is below the heading before it."""
    starts = {id(heading.lines[0]): heading for heading in headings}
    level = 1
    found: list[Heading] = []
    for page in pages:
        for lines in _groups(page.lines):
            if id(lines[0]) in starts:
                level = starts[id(lines[0])].level + 1
            *note, section = lines
            match = _SECTION.match(section.text) if note else None
            title = " ".join(line.text for line in note).strip().rstrip(".")
            if match and len(title.split()) <= _LONGEST and note[0].size <= _SMALLER * section.size:
                source = HeadingSource.NUMBERING
                found.append(Heading(note, level, match["number"], title, None, source, _CONFIDENCE))
    counts = [int(re.sub(r"\D", "", heading.number or "")) for heading in found]
    on = sum(0 <= later - earlier <= 1 for earlier, later in itertools.pairwise(counts))
    return found if len(found) >= _FEWEST and on * 2 > len(found) else []


_OWN_NUMBER = re.compile(r"(?P<number>\d{1,3}[A-Z]{0,2})(?:\.|[—–]) ?(?:[—–-] ?)?(?=\(1\)|[A-Z“\"])")
_COUNTED = 0.8
"""Minimum share of sections that count on from the one before: reports have several numbered paragraphs per title."""


def number_titles(pages: Sequence[PageLayout], headings: Sequence[Heading]) -> None:
    """Give titles the number of the one section below each, as in laws: "Interpretation" above "2.—(1) In this Act"."""
    ends = {id(heading.lines[-1]): heading for heading in headings if heading.number is None and heading.cut is None}
    found: list[tuple[Heading, str]] = []
    for page in pages:
        for one, other in itertools.pairwise(page.lines):
            if id(one) in ends and (match := _OWN_NUMBER.match(other.text)):
                found.append((ends[id(one)], match["number"]))
    counts = [int(re.sub(r"\D", "", number)) for _, number in found]
    on = sum(0 <= later - earlier <= 1 for earlier, later in itertools.pairwise(counts))
    if len(set(counts)) >= _FEWEST and on >= _COUNTED * (len(counts) - 1):
        for heading, number in found:
            heading.number = number


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield each line of the running text, with the notes before it."""
    notes: list[Line] = []
    for line in lines:
        if line.aside > 0:
            notes = [*(notes if notes and notes[-1].aside == line.aside else []), line]
        else:
            yield [*notes, line]
            notes = []


def put_in_annexes(headings: Sequence[Heading], listed: Sequence[Heading]) -> None:
    """Put numbered clauses below the annex before them if the first of them begins a numbering.

    So are those of other parts below which numbers begin again, and those with the letter of the annex ("A1"). Parts of
    an annex are below it.

    Args:
        headings: in reading order; their levels are changed.
        listed: headings that the contents name, whose levels are known.
    """
    listed_ids = {id(heading) for heading in listed}
    named = [split_clause_number(heading.lines[0].text) for heading in headings]
    again = restarting(named)
    annex = level = 0
    is_inside, is_first, letter = False, False, ""
    for heading, printed in zip(headings, named, strict=True):
        own = heading.number is not None and printed.number == heading.number
        if (heading.number is None and is_bare_annex(heading.title)) or (
            own and (is_annex(printed.keyword) or printed.keyword in again - {"part"})
        ):
            annex = level = heading.level
            is_inside, is_first, letter = False, True, heading.number or ""
        elif own and annex and printed.keyword == "part" and (is_first or level > annex):
            heading.level = level = annex + 1
            is_first = True
        elif level and own and not printed.keyword and (heading.number or "")[0].isdigit():
            if is_first:
                begins = (heading.number or "").partition(".")[0] in FIRST_NUMBERS
                is_inside, is_first = begins or level > annex, False
            if is_inside and id(heading) not in listed_ids:
                heading.level += level
        elif level and letter.isalpha() and re.match(rf"{letter}\d", heading.number or ""):
            heading.level += level * (id(heading) not in listed_ids)


def coded_titles(pages: Sequence[PageLayout], headings: Sequence[Heading], body: Body) -> list[Heading]:
    """Find the titles of policies below the headings that the file names: "HO1: Assessing the need for homes"."""
    if not has_coded(line.text for page in pages for line in page.lines):
        return []
    level_of = {id(line): heading.level for heading in headings for line in heading.lines}
    level = 0
    found: list[tuple[HeadingCandidate, int]] = []
    for candidate in (candidate for page in pages for candidate in candidates(page, body)):
        known = [level_of[id(line)] for line in candidate.lines if id(line) in level_of]
        level = known[-1] if known else level
        alone = not (known or candidate.beside or candidate.flows or candidate.cut is not None)
        if alone and is_strong(candidate.line, body):
            found.append((candidate, level + 1))
    numbers = coded_numbers([candidate.text for candidate, _ in found])
    return [
        Heading(found[at][0].lines, found[at][1], each.number, each.title, None, HeadingSource.NUMBERING, _CONFIDENCE)
        for at, each in numbers.items()
    ]


_ENDED = (".", ":", ";", "!", "?", ")")
_SPACED = 0.3
"""Share of the font size by which a line is below the one above it if a paragraph begins."""
_HANGING = 2.0
"""Distance, as a factor of the font size, of a line to the left of the one above it if its number hangs before the
text."""
_FLUSH = 3.0
"""Maximum distance in points from the leftmost line in its font size at which a clause begins."""
_SAME_SIZE = 0.6
"""Maximum difference in points between font sizes that count as one: footnotes and titles have their own left edges."""


def untitled_clauses(
    pages: Sequence[PageLayout], headings: Sequence[Heading], *, commented: bool = False
) -> list[Heading]:
    """Find the clauses without a title that continue the numbering of the headings; each is cut after its number.

    `commented` says that clauses have comments next to them; otherwise the document's words show whether they may.
    """
    starts = {id(heading.lines[0]): heading for heading in headings}
    inside = {id(line) for heading in headings for line in heading.lines}
    count = ClauseCount(commented or any(has_commentary(line.text) for page in pages for line in page.lines))
    level = 0  # of the last clause that is not a comment
    found: list[tuple[NumberKey, Heading]] = []
    for page in pages:
        lines = [line for line in page.lines if not line.rotated and line.aside == 0]
        edges: dict[float, tuple[float, float]] = {}
        above: Line | None = None
        for line in lines:
            heading = starts.get(id(line))
            if heading is not None and heading.number is not None:
                key = number_key(heading.number)
                key = key[:1] if key and key[1:] == (0,) else key  # "3.0" stands for "3"
                level = level if key and count.commented(key) else heading.level
                if key:
                    count.take(key)
            elif id(line) not in inside and (match := UNTITLED.match(line.text)) is not None:
                key = number_key(match["number"])
                begins = above is None or id(above) in inside or _begins(above, line)
                if key and begins and count.comes_next(key) and _is_flush(line, lines, page.width, edges):
                    own = max(level + depth_of(key) - depth_of(count.last), 1)
                    level = level if count.commented(key) else own
                    count.take(key)
                    found.append((key, _heading(line, match, own)))
            above = line
    return [heading for _, heading in found] if count.is_sure(key for key, _ in found) else []


def _is_flush(line: Line, lines: Sequence[Line], width: float, edges: dict[float, tuple[float, float]]) -> bool:
    """Return whether a line begins at the left edge of its column; `edges` caches these edges by font size."""
    if line.size not in edges:
        edges[line.size] = _edges([other for other in lines if abs(other.size - line.size) < _SAME_SIZE], width)
    return line.x0 <= edges[line.size][line.x0 > width / 2] + _FLUSH


def _edges(lines: Sequence[Line], width: float) -> tuple[float, float]:
    """Return the left edge of the page's lines, and that of its right column if hardly any line crosses the middle."""
    left = min((line.x0 for line in lines), default=0.0)
    crossing = sum(line.x0 < width / 2 < line.x1 for line in lines)
    right = [line.x0 for line in lines if line.x0 > width / 2]
    return left, min(right) if right and crossing < len(right) else left


def _begins(above: Line, line: Line) -> bool:
    ended = above.text.endswith(_ENDED) or line.y0 - above.y1 > _SPACED * line.size
    return ended or line.x0 < above.x0 - _HANGING * line.size


def _heading(line: Line, match: re.Match[str], level: int) -> Heading:
    """Make the heading of a clause: its number, what is printed before it, a dash after it, and a title in own print.

    A title in bold or italics ends in a full stop or a colon; without one it is an emphasised word of the sentence.
    """
    end = match.end("number")
    title = line.text[end : line.lead].strip() if line.lead < len(line.text) else ""
    if title[:1].isalpha() and title.endswith((".", ":")) and len(title.split()) <= _LONGEST:
        end, title = line.lead, title.rstrip(".:").rstrip()
    else:
        title = ""
    cut = end if any(map(str.isalnum, line.text[end:])) else None
    return Heading([line], level, match["number"], title, None, HeadingSource.NUMBERING, _CONFIDENCE, cut=cut)
