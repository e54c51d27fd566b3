"""Reads the clauses next to a document's name: "ACME 100, clauses 5.2 and 5.4", "§ 5 ArbZG"."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

from knowledge_mcp.language.multilingual.places import BELOW_WORDS, OWNER_WORDS, SECTION_WORDS, numbers_between

_NUMBER = r"(?:[A-Z]?\d{1,3}[a-z]?(?:\.\d{1,3}){0,8}|[A-Z](?:\.\d{1,3}){1,8})(?!\w|[.,-]\d)"
_DOTTED = r"[A-Z]?\d{0,3}(?:\.\d{1,3}){1,8}(?!\w|[.,]\d)"
_PART = rf",?[ \n](?:{BELOW_WORDS})[ \n]\d{{0,3}}[a-z]?(?:[ \n](?:und|oder|bis|and|or|et|y)[ \n]\d{{1,3}}[a-z]?)?(?!\w)"
"""The number of a part of a clause: "Absatz 2 Satz 1 und 3"."""
_PARTS = re.compile(_PART)
_ITEM = rf"(?:,?[ \n]?(?:items?[ \n])?\(?[a-z]{{1,2}}\)|\(\d{{1,2}}\)|{_PART}){{0,4}}"
_JOINT = r"(?:[ \n]?(?:,?[ \n](?:and|or|to|through|und|oder|bis|sowie|et|ou|y|e|&)|,|[–-])[ \n]?)"
_WORDS = (
    r"(?>(?:(?i:(?:sub)?clauses?|sections?|cl\.|secs?\.|chapters?|articles?|paragraphs?)"
    rf"|{SECTION_WORDS})(?=[ \n.\dA-Z])|§{{1,2}})[ \n]?"
)
"""Words before a number. Some are in both lists: without the atomic group, each of them would be tried twice."""
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
"""Clauses after the document's name; a bare number is one if it has parts and no unit: "ACME 100:2018, 5.2"."""
_BARE_BEHIND = re.compile(rf"[ \n](?P<bare>{_DOTTED}){_NO_UNIT}")
_OF = (
    r"[ \n](?:(?:of|in|from)[ \n](?:the[ \n])?|of[ \n](?:the[ \n])?"
    r"(?:(?!(?:with|to|and|or|by|of|for|from|as|in|is)\b)[A-Za-z-]{2,20}[ \n]){1,4}"
    rf"|(?:{OWNER_WORDS})[ \n])\Z"
)
_BEFORE = re.compile(rf"(?<![\w.,])(?:{_NAMED}|(?P<bare>{_list_of(_DOTTED)})){_OF}")
_RIGHT_BEFORE = re.compile(rf"(?<![\w.,])(?:{_NAMED})[ \n]\Z")
"""Clauses before a short name: "§ 5 ArbZG"."""
_LONGEST_BEFORE = 120
"""Characters before a document's name that may contain "clauses 5.2 and 5.3 of the"."""
_EACH = re.compile(
    r"(?<![\w.])(?:[A-Z]?\d{1,3}[a-z]?(?:\.\d{1,3}){0,8}|[A-Z]?(?:\.\d{1,3}){1,8}|[A-Z](?:\.\d{1,3}){0,8})(?![\w)])"
)
_RANGE = re.compile(r"[^,&]*(?:\bto\b|\bthrough\b|[–-])[^,&]*")


def clauses_beside(text: str, start: int, end: int, known: Collection[str]) -> tuple[int, int, list[str]]:
    """Read the clauses next to a document's name.

    Args:
        text: the passage.
        start, end: offsets of the name.
        known: the document's own clauses; a number directly after the name must be one of these.

    Returns:
        Start and end of name and clauses, and the clauses in order: "5.2", "A", "Table 1"; none if none is named.
    """
    near = (text, max(start - _LONGEST_BEFORE, 0), start)
    before = _BEFORE.search(*near) or _RIGHT_BEFORE.search(*near)
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
    listed = _PARTS.sub("", listed)
    numbers = list(_EACH.finditer(listed))
    yield from (f"{prefix}{each.group()}" for each in numbers)
    for one, other in pairwise(numbers):
        if _RANGE.fullmatch(listed, one.end(), other.start()):
            between = (f"{prefix}{each}" for each in numbers_between(one.group(), other.group()))
            yield from (each for each in between if each in known)
