"""What changed, by its names: terms, requirements and headings that other texts may use."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.engine.changes.aligning import LinkKind
from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.differences import ChangeType, ClauseChange
from knowledge_mcp.engine.changes.wording import plain

_PLURAL = r"(?:e?s)?"
"""A term stands in a text in its plural too; what other languages make of it is left alone."""
_LEAST_IN_HEADING = 2
"""Words of a heading that others name its clause by: "Doors" is a word of many sentences."""
_MOST_PATTERNS = 4_096
"""Names of one comparison that are asked of many texts."""


class SubjectKind(StrEnum):
    """What a name stands for."""

    TERM = "term"
    IDENTIFIER = "identifier"
    HEADING = "heading"


@dataclass(frozen=True, slots=True)
class Subject:
    """Name something that changed.

    Attributes:
        name: as the edition prints it.
        kind: what it is the name of.
        change: what became of its clause.
    """

    name: str
    kind: SubjectKind
    change: ClauseChange

    def place_in(self, text: str) -> tuple[int, int] | None:
        """Tell start and end of its first place in a text; None for none."""
        if self.kind is SubjectKind.IDENTIFIER:
            at = stands_in(self.name, text)
            return None if at is None else (at, at + len(self.name))
        match = _pattern_of(self.name, is_term=self.kind is SubjectKind.TERM).search(text)
        return None if match is None else match.span()


class Subjects:
    """Find the names of what changed in texts, the longest first."""

    def __init__(self, subjects: Iterable[Subject]) -> None:
        self._subjects = sorted(subjects, key=lambda each: len(each.name), reverse=True)

    def named_in(self, text: str) -> Subject | None:
        """Tell which subject a text names; None for none."""
        folded = plain(text)
        near = (each for each in self._subjects if plain(each.name) in folded)
        return next((each for each in near if each.place_in(text) is not None), None)


def subjects_of(changes: Sequence[ClauseChange], identifiers: Mapping[str, ClauseChange]) -> list[Subject]:
    """List what others may name: terms whose definition changed or went, requirements, and clauses that changed.

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
    """Tell whether a clause is its document's title: who names it names the whole document."""
    return clause.index == 0 and clause.parent is None and not clause.number


@functools.lru_cache(_MOST_PATTERNS)
def _pattern_of(name: str, *, is_term: bool) -> re.Pattern[str]:
    words = r"[\W_]{1,3}".join(map(re.escape, plain(name).split()))
    return re.compile(rf"(?<![\w-]){words}{_PLURAL if is_term else ''}(?![\w-])", re.IGNORECASE)


def stands_in(identifier: str, text: str) -> int | None:
    """Tell where an identifier stands in a text, whatever its case and not as a part of a longer one; None for nowhere.

    `REQ-12` stands in "see REQ-12." but neither in `REQ-120` nor in `X-REQ-12`.
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
