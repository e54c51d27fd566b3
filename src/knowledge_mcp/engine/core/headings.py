"""Where the heading of a section ends in a document's text: words may follow it on the same line."""

from __future__ import annotations

import re

from knowledge_mcp.model.collection import OutlineEntry

_NOT_WORD = re.compile(r"[\W_]+")
_FIRST_WORD = re.compile(r"[\W_]{0,9}[^\W\d_]{1,20}(?=[\W\d])")
"""What may stand before a number: "Article 4"."""


def heading_end(text: str, entry: OutlineEntry) -> int | None:
    """Find the end of a section's heading, which begins the section.

    Args:
        text: the document's.
        entry: of its outline.

    Returns:
        The place behind number, title and their signs; None where the section begins with other words.
    """
    start, stop = entry.span.start, entry.span.end
    letters = _NOT_WORD.sub("", f"{entry.number or ''}{entry.title}")
    word = _FIRST_WORD.match(text, start, stop)
    ends = (_behind(letters, text, place, stop) for place in (start, *([word.end()] if word else ())))
    return next((end for end in ends if end is not None), None)


def _behind(letters: str, text: str, place: int, stop: int) -> int | None:
    for letter in letters:
        while place < stop and not text[place].isalnum():
            place += 1
        if place >= stop or text[place] != letter:
            return None
        place += 1
    if not letters or (place < stop and text[place].isalnum()):
        return None
    while place < stop and not (text[place].isspace() or text[place].isalnum()):
        place += 1
    return place
