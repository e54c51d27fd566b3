"""How other texts name a document and what changed in it.

A document by its title, with some of its clauses: "ACME 100, clauses 5.2 and 5.4"; changed content by a defined term, a
requirement's identifier, or the heading of its clause.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.differences import ChangeType, ClauseChange
from knowledge_mcp.engine.changes.kinds import LinkKind
from knowledge_mcp.engine.changes.wording import plain, words_of
from knowledge_mcp.engine.core.clauses_beside import clauses_beside
from knowledge_mcp.engine.core.designations import designations_at
from knowledge_mcp.language.editions import marks_in, without_marks

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
