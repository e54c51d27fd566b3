"""Finds captions of tables and figures in a text, and the rows of a caption's table."""

from __future__ import annotations

import re

from knowledge_mcp.language.multilingual.places import CAPTIONED
from knowledge_mcp.language.sentences import BLANK_LINE, is_row
from knowledge_mcp.model.document import Span
from knowledge_mcp.support.checkpoints import check_each

_LEADERS = re.compile(r"\.(?: *\.){2}[ .]*\s*\S{1,6}\s*\Z|\s\d{1,4}\s*\Z")
"""The end of an entry in a list of tables: a leader, or a page number."""
_TAIL = 300
_SENTENCE = re.compile(r",?[ \t]+\(?[a-zß-ÿ]+(?![\w-])")
"""What follows a label at the start of a sentence: "Table 4 shows …", "Figure 2, above, …"."""
_LONGEST_CAPTION = 400


def caption_of(text: str, label: str) -> Span | None:
    """Find the caption of a table or figure: a short block that starts with its label, not a sentence or a list entry.

    Args:
        text: of a document.
        label: in its normal form: "Table 4", "Figure 2", "Annex B".
    """
    word, _, number = label.partition(" ")
    words = CAPTIONED.get(word, re.escape(word))
    pattern = re.compile(rf"^[ \t*_|>]*(?:{words})\s+{re.escape(number)}(?![\w-]|\.\w)", re.IGNORECASE | re.MULTILINE)
    found = [span for match in check_each(pattern.finditer(text)) if (span := _caption(text, match)) is not None]
    entries = [span for span in found if _LEADERS.search(span.of(text)[-_TAIL:])]
    return next(iter([span for span in found if span not in entries] or entries), None)


def _caption(text: str, match: re.Match[str]) -> Span | None:
    if _SENTENCE.match(text, match.end()):
        return None
    end = BLANK_LINE.search(text, match.end())
    span = Span(match.start(), end.start() if end else len(text))
    if len(span) <= _LONGEST_CAPTION:
        return span
    line = text.find("\n", match.end(), span.end)
    return Span(match.start(), line) if 0 <= line - match.start() <= _LONGEST_CAPTION else None


def rows_beside(text: str, caption: Span) -> list[Span]:
    """List the rows of the table directly below a caption, or else directly above it; empty if there is none."""
    behind = _rows(text, caption.end, len(text))
    if behind and not text[caption.end : behind[0].start].strip():
        return behind
    end = len(text[: caption.start].rstrip())
    above = _rows(text, text.rfind("\n\n", 0, end) + 1, end)
    return above if above and above[-1].end == end else []


def _rows(text: str, start: int, stop: int) -> list[Span]:
    """List the first consecutive rows."""
    found: list[Span] = []
    begin = start
    for line in text[start:stop].splitlines(keepends=True):
        if is_row(line):
            found.append(Span(begin, begin + len(line)).trimmed(text))
        elif found or line.strip():
            break
        begin += len(line)
    return found
