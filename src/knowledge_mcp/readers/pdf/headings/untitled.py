"""Clauses that have a number and no title: "4.2.1 The mass fraction shall ...", or "4.2.1" alone above its text.

Their numbers count on from the headings around them without a gap; nothing but that makes them clauses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from knowledge_mcp.model.document import HeadingSource
from knowledge_mcp.readers.pdf.headings.candidates import NumberKey, number_key
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.shared.layout import Line, PageLayout

_NUMBERED = re.compile(r"(?P<number>(?:\d{1,3}|[A-Z])(?:\.\d{1,3}){1,6})(?:\.?\s+[A-Z(“\"À-Þ]|\Z)")
_ENDED = (".", ":", ";", "!", "?", ")")
_SPACED = 0.3
"""Share of its size by which a line stands below the one above it where a paragraph begins."""
_FLUSH = 3.0
"""Points from the leftmost line of its page up to which a clause begins."""
_SIBLINGS = 2
"""Clauses below one heading at least: a single number may be the beginning of a line that cites it."""
_CONFIDENCE = 0.8


def untitled_clauses(pages: Sequence[PageLayout], headings: Sequence[Heading]) -> list[Heading]:
    """Find the clauses without a title that go on with the numbering of the headings; each is cut behind its number."""
    starts = {id(heading.lines[0]): heading for heading in headings}
    inside = {id(line) for heading in headings for line in heading.lines}
    last: NumberKey = ()
    level = 0
    found: list[tuple[NumberKey, Heading]] = []
    counted: Counter[NumberKey] = Counter()
    for page in pages:
        lines = [line for line in page.lines if not line.rotated and line.aside == 0]
        edge = min((line.x0 for line in lines), default=0.0)
        above: Line | None = None
        for line in lines:
            heading = starts.get(id(line))
            if heading is not None and heading.number is not None:
                last, level = number_key(heading.number) or (), heading.level
                counted[last[:-1]] += 1
            elif id(line) not in inside and (match := _NUMBERED.match(line.text)) is not None:
                key = number_key(match["number"]) or ()
                begins = above is None or id(above) in inside or _begins(above, line)
                if _counts_on(last, key) and begins and line.x0 <= edge + _FLUSH:
                    last, level = key, max(level + len(key) - len(last), 1)
                    counted[key[:-1]] += 1
                    found.append((key, _heading(line, match["number"], level)))
            above = line
    return [heading for key, heading in found if counted[key[:-1]] >= _SIBLINGS]


def _counts_on(last: NumberKey, key: NumberKey) -> bool:
    """Tell whether a number comes next: the first one below the last, or the one after it or after one above it."""
    if key == (*last, 1):
        return bool(last)
    return 1 < len(key) <= len(last) and key == (*last[: len(key) - 1], last[len(key) - 1] + 1)


def _begins(above: Line, line: Line) -> bool:
    return above.text.endswith(_ENDED) or line.y0 - above.y1 > _SPACED * line.size


def _heading(line: Line, number: str, level: int) -> Heading:
    return Heading([line], level, number, "", None, HeadingSource.NUMBERING, _CONFIDENCE, cut=len(number))
