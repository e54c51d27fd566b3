"""How other texts name a document and what changed in it.

A document by its title, with some of its clauses: "ACME 100, clauses 5.2 and 5.4"; changed content by a defined term, a
requirement's identifier, or the heading of its clause.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.differences import ChangeType, ClauseChange
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.engine.changes.wording import plain, words_of
from knowledge_mcp.engine.core.designations import designations_at
from knowledge_mcp.language.editions import marks_in, without_marks
from knowledge_mcp.language.multilingual.places import BELOW_WORDS, OWNER_WORDS, SECTION_WORDS, numbers_between

_PLURAL = r"(?:e?s)?"
"""A term also matches in its plural; inflections of other languages are not handled."""
_LEAST_IN_HEADING = 2
"""Minimum words of a heading that others name its clause by: "Doors" is a word of many sentences."""
_MOST_PATTERNS = 4_096
"""Names of one comparison that are searched in many texts."""


class SubjectKind(StrEnum):
    """What a name stands for."""

    TERM = "term"
    IDENTIFIER = "identifier"
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Subject:
    """The name of something that changed.

    Attributes:
        name: as the edition prints it.
        kind: what it is the name of.
        change: what became of its clause.
    """

    name: str
    kind: SubjectKind
    change: ClauseChange

    def place_in(self, text: str) -> tuple[int, int] | None:
        """Return start and end of its first occurrence in a text; None if there is none."""
        if self.kind is SubjectKind.IDENTIFIER:
            at = stands_in(self.name, text)
            return None if at is None else (at, at + len(self.name))
        match = _pattern_of(self.name, is_term=self.kind is SubjectKind.TERM).search(text)
        return None if match is None else match.span()


class Subjects:
    """Finds the names of what changed in texts, the longest first."""

    def __init__(self, subjects: Iterable[Subject]) -> None:
        self._subjects = sorted(subjects, key=lambda each: len(each.name), reverse=True)

    def named_in(self, text: str) -> Subject | None:
        """Return the subject that a text names; None if there is none."""
        folded = plain(text)
        near = (each for each in self._subjects if plain(each.name) in folded)
        return next((each for each in near if each.place_in(text) is not None), None)


def changed_subjects(changes: Sequence[ClauseChange], identifiers: Mapping[str, ClauseChange]) -> list[Subject]:
    """List what others may name: terms with a changed or removed definition, requirements, and changed clauses.

    Args:
        changes: what became of every clause.
        identifiers: of requirements that changed, with what became of their clause.
    """
    found: dict[str, Subject] = {}
    for each in changes:
        terms = [one.old_text for one in each.changes if one.kind is ChangeType.DEFINITION and one.before]
        if each.link.new is None and each.link.old is not None:
            terms += [one.term for one in each.link.old.definitions]
        for term in terms:
            found.setdefault(plain(term), Subject(term, SubjectKind.TERM, each))
    for identifier, each in identifiers.items():
        found.setdefault(plain(identifier), Subject(identifier, SubjectKind.IDENTIFIER, each))
    for each in changes:
        heading = each.link.old.heading if each.link.old is not None and not _is_title(each.link.old) else ""
        is_changed = each.link.kind is not LinkKind.SAME or each.changes
        if is_changed and len(plain(heading).split()) >= _LEAST_IN_HEADING:
            found.setdefault(plain(heading), Subject(heading, SubjectKind.HEADING, each))
    found.pop("", None)
    return list(found.values())


def _is_title(clause: Clause) -> bool:
    """Return whether a clause is its document's title, which names the whole document."""
    return clause.index == 0 and clause.parent is None and not clause.number


@functools.lru_cache(_MOST_PATTERNS)
def _pattern_of(name: str, *, is_term: bool) -> re.Pattern[str]:
    words = r"[\W_]{1,3}".join(map(re.escape, plain(name).split()))
    return re.compile(rf"(?<![\w-]){words}{_PLURAL if is_term else ''}(?![\w-])", re.IGNORECASE)


def stands_in(identifier: str, text: str) -> int | None:
    """Find a whole identifier in a text, ignoring case; None if there is none.

    `REQ-12` occurs in "see REQ-12." but neither in `REQ-120` nor in `X-REQ-12`.
    """
    folded, folded_identifier = text.casefold(), identifier.casefold()
    if len(folded) != len(text):
        folded = text.lower()
    at = folded.find(folded_identifier)
    while at >= 0:
        before, after = folded[at - 1 : at], folded[at + len(folded_identifier) : at + len(folded_identifier) + 2]
        begins = not before or not (before.isalnum() or before in "-.")
        ends = not after or not (after[0].isalnum() or (after[0] in "-." and after[1:].isalnum()))
        if begins and ends:
            return at
        at = folded.find(folded_identifier, at + 1)
    return None


_FEWEST = 3
"""Minimum words of a title that identifies a document: many documents are called "Test Plan"."""
_LONGEST_EDITION = 40
"""Characters after a title that may contain the edition."""

_LAW = re.compile(r"[^\W\d_]{3,60}(?:gesetz|gesetzbuch|ordnung|richtlinie)")
"""The one-word name of many German laws; other texts use its genitive."""
_SHORT = re.compile(r"\((?P<short>[A-ZÄÖÜ][\w.-]{0,18}[A-ZÄÖÜ]\w{0,6})(?: \d{4})?\)\s*\Z")
"""The short name in a title: "(ArbZG)"."""

_NUMBER = r"(?:[A-Z]?\d{1,3}[a-z]?(?:\.\d{1,3}){0,8}|[A-Z](?:\.\d{1,3}){1,8})(?!\w|[.,-]\d)"
_DOTTED = r"[A-Z]?\d{0,3}(?:\.\d{1,3}){1,8}(?!\w|[.,]\d)"
_PART = rf",?[ \n](?:{BELOW_WORDS})[ \n]\d{{0,3}}[a-z]?(?:[ \n](?:und|oder|bis|and|or|et|y)[ \n]\d{{1,3}}[a-z]?)?(?!\w)"
"""The number of a part of a clause: "Absatz 2 Satz 1 und 3"."""
_PARTS = re.compile(_PART)
_ITEM = rf"(?:,?[ \n]?(?:items?[ \n])?\(?[a-z]{{1,2}}\)|\(\d{{1,2}}\)|{_PART}){{0,4}}"
_JOINT = r"(?:[ \n]?(?:,?[ \n](?:and|or|to|through|und|oder|bis|sowie|et|ou|y|e|&)|,|[–-])[ \n]?)"
_WORDS = (
    r"(?:(?:(?i:(?:sub)?clauses?|sections?|cl\.|secs?\.|chapters?|articles?|paragraphs?)"
    rf"|{SECTION_WORDS})[ \n]?|§{{1,2}}[ \n]?)"
)
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


class Titles:
    """Finds places where texts name one of several documents by its title.

    Args:
        titles: their titles; designations and editions in them are ignored.
    """

    def __init__(self, titles: Iterable[str]) -> None:
        bare = {title: _SHORT.sub("", title).strip() for title in titles}
        whole = [words for words in dict.fromkeys(map(_bare, bare.values())) if len(words.split()) >= _FEWEST]
        laws = [name for name in bare.values() if _LAW.fullmatch(name)]
        self._short = [found["short"] for title in bare if (found := _SHORT.search(title))]
        self.names = list(dict.fromkeys((*whole, *laws, *self._short)))
        patterns = [r"[\W_]{1,3}".join(map(re.escape, words.split())) for words in whole]
        patterns += [rf"{re.escape(name)}(?:e?[sn])?" for name in laws]
        patterns += [rf"(?-i:{re.escape(name)})" for name in self._short]
        self._pattern = re.compile(rf"(?<![\w-])(?:{'|'.join(patterns)})(?![\w-])", re.IGNORECASE) if patterns else None

    def places_in(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start and end of each title, with the edition after it; empty if there is none.

        A short name in capitals, which is often ambiguous, counts only next to a clause: "Article 17 GDPR".
        """
        for found in self._pattern.finditer(text) if self._pattern else ():
            is_loose = found.group() in self._short and found.group().isupper()
            if is_loose and not clauses_beside(text, *found.span(), ())[2]:
                continue
            behind = text[found.end() : found.end() + _LONGEST_EDITION]
            mark, _, end = next(marks_in(behind), (None, 0, 0))
            if mark is not None and not re.search(r"\w", behind[: behind.find(mark.label)]):
                yield found.start(), found.end() + end + (behind[end : end + 1] == ")"), mark.label
            else:
                yield found.start(), found.end(), ""


def _bare(title: str) -> str:
    """Return the words of a title without designations and editions."""
    for _, start, end in reversed(list(designations_at(title, slug=False))):
        title = f"{title[:start]} {title[end:]}"
    return " ".join(words_of(without_marks(title)))


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
