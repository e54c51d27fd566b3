"""How other texts name a document: by its title, and which of its clauses: "ACME 100, clauses 5.2 and 5.4"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from knowledge_mcp.engine.changes.wording import words_of
from knowledge_mcp.engine.core.designations import designations_at
from knowledge_mcp.language.editions import marks_in, without_marks
from knowledge_mcp.language.references import numbers_between

_FEWEST = 3
"""Words of a title that texts name a document by: "Test Plan" is what many are called."""
_LONGEST_EDITION = 40
"""Characters behind a title in which the edition stands."""

_NUMBER = r"(?:[A-Z]?\d{1,3}(?:\.\d{1,3}){0,8}|[A-Z](?:\.\d{1,3}){1,8})(?!\w|[.,-]\d)"
_DOTTED = r"[A-Z]?\d{0,3}(?:\.\d{1,3}){1,8}(?!\w|[.,]\d)"
_ITEM = r"(?:,?[ \n]?(?:items?[ \n])?\(?[a-z]{1,2}\)|\(\d{1,2}\)){0,2}"
_JOINT = r"(?:[ \n]?(?:,?[ \n](?:and|or|to|through|&)|,|[–-])[ \n]?)"
_WORDS = r"(?:(?i:(?:sub)?clauses?|sections?|cl\.|secs?\.|chapters?|articles?|paragraphs?)[ \n]?|§{1,2}[ \n]?)"
_ANNEX = r"(?i:annex(?:es)?|appendix|appendices)[ \n]"
_LETTER = r"(?:[A-Z](?:\.\d{1,3}){0,8}|\d{1,2})(?!\w|[.,-]\d)"
_TABLE = r"(?P<kind>(?i:tables?|figures?|figs?\.))[ \n]"


def _list_of(number: str) -> str:
    return rf"{number}{_ITEM}(?:{_JOINT}(?:{_WORDS})?{number}{_ITEM}){{0,9}}"


_NAMED = (
    rf"(?:{_WORDS}(?P<clauses>{_list_of(_NUMBER)})|{_ANNEX}(?P<annexes>{_list_of(_LETTER)})"
    rf"|{_TABLE}(?P<tables>{_list_of(_NUMBER)}))"
)
_NO_UNIT = r"(?!%|[ \n](?:[a-zµ°Ω]{1,3}|[A-Z])\b(?!\)))"
_BEHIND = re.compile(rf"\]?[,;:]?[ \n]\(?(?:{_NAMED})|,[ \n](?P<bare>{_list_of(_DOTTED)}){_NO_UNIT}")
"""Clauses behind their document's name; a number alone is one where it has parts and no unit: "ACME 100:2018, 5.2"."""
_BARE_BEHIND = re.compile(rf"[ \n](?P<bare>{_DOTTED}){_NO_UNIT}")
_OF = (
    r"[ \n](?:(?:of|in|from)[ \n](?:the[ \n])?|of[ \n](?:the[ \n])?"
    r"(?:(?!(?:with|to|and|or|by|of|for|from|as|in|is)\b)[A-Za-z-]{2,20}[ \n]){1,4})\Z"
)
_BEFORE = re.compile(rf"(?<![\w.,])(?:{_NAMED}|(?P<bare>{_list_of(_DOTTED)})){_OF}")
_LONGEST_BEFORE = 120
"""Characters before a document's name in which "clauses 5.2 and 5.3 of the" stands."""
_EACH = re.compile(
    r"(?<![\w.])(?:[A-Z]?\d{1,3}(?:\.\d{1,3}){0,8}|[A-Z]?(?:\.\d{1,3}){1,8}|[A-Z](?:\.\d{1,3}){0,8})(?![\w)])"
)
_RANGE = re.compile(r"[^,&]*(?:\bto\b|\bthrough\b|[–-])[^,&]*")


class Titles:
    """Find where texts name one of several documents by its title.

    Args:
        titles: what they are called; designations and editions in them are no part of it.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        self.names = [words for words in dict.fromkeys(map(_bare, titles)) if len(words.split()) >= _FEWEST]
        patterns = [r"[\W_]{1,3}".join(map(re.escape, words.split())) for words in self.names]
        self._pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(patterns)})(?![\w-])", re.IGNORECASE) if patterns else None

    def places_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield where a title begins and ends, with the edition that stands behind it; empty for none."""
        for found in self._pattern.finditer(text) if self._pattern else ():
            behind = text[found.end() : found.end() + _LONGEST_EDITION]
            mark, _, end = next(marks_in(behind), (None, 0, 0))
            if mark is not None and not re.search(r"\w", behind[: behind.find(mark.label)]):
                yield found.start(), found.end() + end + (behind[end : end + 1] == ")"), mark.label
            else:
                yield found.start(), found.end(), ""


def _bare(title: str) -> str:
    """Leave of a title its words, without designations and editions."""
    for _, start, end in reversed(list(designations_at(title, slug=False))):
        title = f"{title[:start]} {title[end:]}"
    return " ".join(words_of(without_marks(title)))


def clauses_beside(text: str, start: int, end: int, known: Collection[str]) -> tuple[int, int, list[str]]:
    """Read the clauses that stand beside a document's name.

    Args:
        text: the passage.
        start, end: where the name stands.
        known: the document's own clauses; a number right behind the name is only one of these.

    Returns:
        Where name and clauses begin and end, and the clauses in order: "5.2", "A", "Table 1"; none where none is named.
    """
    before = _BEFORE.search(text, max(start - _LONGEST_BEFORE, 0), start)
    if before is not None:
        return before.start(), end, list(dict.fromkeys(_each(before, known)))
    behind = _BEHIND.match(text, end)
    if behind is None and (alone := _BARE_BEHIND.match(text, end)) is not None and alone["bare"] in known:
        behind = alone
    if behind is None:
        return start, end, []
    return start, behind.end(), list(dict.fromkeys(_each(behind, known)))


def _each(found: re.Match[str], known: Collection[str]) -> Iterator[str]:
    parts = found.groupdict()
    kind = (parts.get("kind") or "").lower()
    prefix = "Table " if kind.startswith("table") else "Figure " if kind else ""
    listed = next(filter(None, (parts.get(name) for name in ("clauses", "annexes", "tables", "bare"))), "")
    numbers = list(_EACH.finditer(listed))
    yield from (f"{prefix}{each.group()}" for each in numbers)
    for one, other in pairwise(numbers):
        if _RANGE.fullmatch(listed, one.end(), other.start()):
            between = (f"{prefix}{each}" for each in numbers_between(one.group(), other.group()))
            yield from (each for each in between if each in known)
