"""Finds where the heading of a numbered line ends and its text begins, and which numbered lines are text."""

from __future__ import annotations

import re
from collections.abc import Collection

from knowledge_mcp.language.openings import is_deep, split_clause_number
from knowledge_mcp.readers.pdf.headings.candidates import STOP_WITHIN, Body, HeadingCandidate, is_semi_strong, is_strong

RUN_IN = re.compile(r"(?P<title>[A-Z(].{2,80}?)(?:(?<!\.[^\W\d_])\.\s+|\s[-–—]\s|—)\S")
_SENTENCE = re.compile(
    r"(?:an?|all|any|each|every|no|nothing|neither|if|unless|where|th(?:e|is|at|ese|ose)) (?:\S+ ){4}|see ",
    re.IGNORECASE,
)
"""The beginning of a sentence in a clause without a title: an article or the like, and at least five more words; or a
reference."""
_SAYS = re.compile(
    r"\S \b(?:shall|must|should|may|is|are|has|have|muss|müssen|soll|sollen|darf|dürfen|ist|sind|doit|doivent|est|sont"
    r"|debe|deben|deberá|deberán|es|son|means?|bedeute[nt]|bezeichne[nt]|désignent?|significan?)\b"
)
"""A verb that makes a clause without a title a sentence: "Doors shall open outwards."."""
_OBLIGES = re.compile(r"[^.:]{1,90} (?:shall|must|muss|müssen|darf|dürfen|doit|doivent|deberá|deberán|debe|deben)\b")
"""A verb that a title does not have, so that a sentence needs no full stop: its line may end where a reference does."""
_LEADING = 4
"""Minimum number of blanks in a line that leads to a list, of which titles have no colon."""
_STATING = 7
"""Minimum number of blanks in a line with a full stop that is text without a verb: titles of eight words have none."""
LEADING_TITLE = re.compile(r"(?P<title>[^\W\d_][^.,;:]{2,80})[,.:]\s+[\w(\[]")
"""A sentence that begins with its subject: "Sieve, with round perforations of diameter 1,4 mm."."""


def cut_run_in(candidate: HeadingCandidate, body: Body, led: Collection[tuple[float, bool, str]]) -> None:
    """Find where the heading ends in "1.2 Application. The ..." if its style does not show it.

    The parser may give a whole line the style of its first words; `led` are the styles in which that is known.
    """
    title, number = candidate.numbered.title, candidate.numbered.number or ""
    start = len(candidate.text) - len(title)
    stop = STOP_WITHIN.search(title)
    if stop is not None and is_deep(number) and not _is_sentence(title, stop.start()):  # "1.2 Application. The ..."
        end = start + stop.start() + stop.group().index(".")
        candidate.cut = min(candidate.cut or end, end)
    if candidate.cut is not None:
        return
    if is_strong(candidate.line, body):
        match = LEADING_TITLE.match(title) if candidate.line.style in led else None
        if match and (candidate.breaks or title.endswith(".")):
            candidate.cut = len(candidate.text) - len(title) + match.end("title")
        return
    match = RUN_IN.match(title)
    counts = is_deep(number) or candidate.text[len(number) : len(number) + 1] == "."
    if match and counts and not _is_sentence(match["title"]):
        candidate.cut = len(candidate.text) - len(title) + match.end("title")


_STOP_OR_DASH = re.compile(r"(?:(?<=[^\W\d_]{3})\.\s+|\s[-–—]\s?|—)(?=[A-Z])")


def title_of_paragraph(words: str) -> int | None:
    """Return the end of the title, or else of the number, at the beginning of a paragraph.

    A long title that is no sentence is returned whole; a whole sentence without a number has no title: None.
    """
    number = split_clause_number(words).number
    start = len(number) if number and words.startswith(number) else 0
    title = words[start:].lstrip(" .–—-")
    start = len(words) - len(title)
    stop = _STOP_OR_DASH.search(title)
    if stop is not None and title[:1].isupper() and not _is_sentence(title, stop.start()):
        return start + stop.start()
    if number and is_deep(number) and _is_sentence(title):
        return len(number)
    return None if number is None and _is_sentence(title) and words.rstrip().endswith(".") else len(words)


def _is_sentence(words: str, end: int | None = None) -> bool:
    """Return whether words are a sentence and not a name, by their beginning, or by a verb before `end`."""
    return _SENTENCE.match(words) is not None or _SAYS.search(words[:end]) is not None


def is_one_sentence(candidate: HeadingCandidate) -> bool:
    """Return whether a number is before one sentence without a heading, or before words that lead to a list."""
    title = candidate.numbered.title
    ended = title.endswith("。") or (title.endswith((".", ":")) and _is_sentence(title)) or _OBLIGES.match(title)
    ended = ended or (title.endswith(".") and title.count(" ") >= _STATING)
    leads = title.endswith(":") and title.count(" ") >= _LEADING
    return candidate.cut is None and bool(ended or leads)


def is_counted_sentence(candidate: HeadingCandidate) -> bool:
    """Return whether only a count with a bracket is emphasised: "5)" is a sentence of its article, no clause."""
    number = candidate.numbered.number or ""
    return (
        candidate.cut is not None and not is_deep(number) and candidate.text[: candidate.cut].rstrip() == f"{number})"
    )


def is_text(candidate: HeadingCandidate, body: Body) -> bool:
    """Return whether a numbered line is text: plain print except for its number, and too long or continued below."""
    if candidate.breaks and candidate.line.size < body.size + 0.9 and candidate.numbered.title[:1].isupper():
        return True
    if is_semi_strong(candidate.line, body):
        return False
    if is_one_sentence(candidate):
        return True
    return candidate.flows or len(candidate.numbered.title) > 90
