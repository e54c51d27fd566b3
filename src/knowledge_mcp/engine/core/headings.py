"""Find where the heading of a section ends in a document's text: text may follow on the same line."""

from __future__ import annotations

import re

from knowledge_mcp.model.collection import OutlineEntry

_NOT_WORD = re.compile(r"[\W_]+")
_FIRST_WORD = re.compile(r"[\W_]{0,9}[^\W\d_]{1,20}(?=[\W\d])")
"""What may precede a number: "Article 4"."""

_SHORTENED = " …"
"""The end of a title that was shortened for an outline; the omitted words are text."""
_MOST_BESIDE = 60
"""Maximum letters of a heading that its title omits: "Annex A (informative)"; more is text of the section."""
_ASIDE = re.compile(r"[ \t]*[(\[][^()\[\]\n]{1,60}[)\]](?=[ \t]*(?:\n|\Z))")
"""What may follow a title: "(informative)"."""


def heading_end(text: str, entry: OutlineEntry) -> int:
    """Find the end of a section's heading, if text may follow on the same line.

    Args:
        text: the document's text.
        entry: the section in its outline.

    Returns:
        The offset after number, title and a remark in brackets; if it is printed differently, the end of the line that
        ends with the title, or of a first line that is part of it; otherwise where the section begins, so that no words
        are lost.
    """
    start, stop = entry.span.start, entry.span.end
    title = entry.title.removesuffix(_SHORTENED)
    letters = _NOT_WORD.sub("", f"{entry.number or ''}{title}")
    word = _FIRST_WORD.match(text, start, stop)
    is_whole = title == entry.title
    ends = (_behind(letters, text, place, stop, is_whole) for place in (start, *([word.end()] if word else ())))
    end = next((end for end in ends if end is not None), None)
    if end is None:
        return _end_in_other_print(text, entry)
    aside = _ASIDE.match(text, end, stop) if entry.title else None
    return aside.end() if aside else end


def _end_in_other_print(text: str, entry: OutlineEntry) -> int:
    title, printed, place = _NOT_WORD.sub("", entry.title), "", entry.span.start
    while title and place < entry.span.end and len(printed) <= len(title) + _MOST_BESIDE:
        end = text.find("\n", place, entry.span.end)
        end = entry.span.end if end < 0 else end
        printed += _NOT_WORD.sub("", text[place:end])
        if printed.endswith(title):
            return end
        place = end + 1
    first = line_end(text, entry)
    line = _NOT_WORD.sub("", text[entry.span.start : first])
    return first if line and line in title else entry.span.start


def line_end(text: str, entry: OutlineEntry) -> int:
    """Find the end of the line in which a section begins."""
    end = text.find("\n", entry.span.start, entry.span.end)
    return entry.span.end if end < 0 else end


def _behind(letters: str, text: str, place: int, stop: int, is_whole: bool) -> int | None:
    for letter in letters:
        while place < stop and not text[place].isalnum():
            place += 1
        if place >= stop or text[place] != letter:
            return None
        place += 1
    if not is_whole:
        return place
    while place < stop and not (text[place].isspace() or text[place].isalnum()):
        place += 1
    return place if letters and not (place < stop and text[place].isalnum()) else None
