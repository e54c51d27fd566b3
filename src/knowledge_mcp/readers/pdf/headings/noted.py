"""Sections whose titles stand in the margin: "General duty to supply." beside "1.—(1) The company shall ...".

Statutes are printed so. The numbers at whose height the notes stand count on; nothing but that makes them sections.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence

from knowledge_mcp.model.document import HeadingSource
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.shared.layout import Line, PageLayout

_SECTION = re.compile(r"(?P<number>\d{1,3}[A-Z]{0,2})\.? ?(?:[—–-] ?)?(?=\(1|[A-Z“\"])")
_SMALLER = 0.9
"""Times the size of the section's print that its note has at most."""
_FEWEST = 3
"""Sections with notes that make them titles."""
_LONGEST = 15
"""Words of a title at most."""
_CONFIDENCE = 0.8


def noted_sections(pages: Sequence[PageLayout], headings: Sequence[Heading]) -> list[Heading]:
    """Find the sections that notes in the margin name; one is below the heading that it stands below."""
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


def _groups(lines: Sequence[Line]) -> Iterator[list[Line]]:
    """Yield each line of the running text, behind the notes that stand before it."""
    notes: list[Line] = []
    for line in lines:
        if line.aside > 0:
            notes = [*(notes if notes and notes[-1].aside == line.aside else []), line]
        else:
            yield [*notes, line]
            notes = []
