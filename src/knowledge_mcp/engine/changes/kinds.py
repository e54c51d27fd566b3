"""What became of a clause; kinds of change inside it, and their order of importance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

CUT = " … "
"""Separator of the pieces of a sentence that differ."""


class ChangeType(StrEnum):
    """Kinds of change."""

    FORCE = "force"
    NUMBER = "number"
    CONDITION = "condition"
    DEFINITION = "definition"
    PROPERTY = "property"
    REFERENCE = "reference"
    WORDS = "words"


class LinkKind(StrEnum):
    """What became of a clause."""

    SAME = "same"
    EDITED = "edited"
    RENAMED = "renamed"
    RENUMBERED = "renumbered"
    MOVED = "moved"
    SPLIT = "split"
    MERGED = "merged"
    ADDED = "added"
    REMOVED = "removed"


WEIGHTIEST_FIRST = (
    ChangeType.FORCE.value,
    ChangeType.NUMBER.value,
    "requirement narrowed",
    "requirement widened",
    ChangeType.CONDITION.value,
    ChangeType.DEFINITION.value,
    "requirement rewritten",
    "requirement added",
    "requirement withdrawn",
    "requirement split",
    "requirement merged",
    "requirement moved",
    ChangeType.PROPERTY.value,
    ChangeType.REFERENCE.value,
    ChangeType.WORDS.value,
)
"""Names of changes (`TextChange.name`), in their order of importance for those who have to comply."""


@dataclass(frozen=True, slots=True)
class TextChange:
    """One change inside a clause.

    Attributes:
        kind: what changed.
        before, after: the old and new words, number, definition or reference; empty if there is none.
        old_text, new_text: their sentences, as printed; empty if there is none.
        requirement: "added" or "withdrawn" if the sentence is a requirement without counterpart, "rewritten" if only
            its name links it to one; "moved" if its counterpart is in another clause; "split" or "merged" if it became
            several or was several; "narrowed" or "widened" if a condition makes it bind in fewer or in more cases.
        elsewhere: label of the other clause that has the counterpart, or a part of it; empty if there is none.
        row, column: the names of its row (an identifier or the first cell) and column in a table with a header; a
            column that was added, removed or renamed has no row, and a row that was added or removed has no column.
    """

    kind: ChangeType
    before: str
    after: str
    old_text: str = ""
    new_text: str = ""
    requirement: str = ""
    elsewhere: str = ""
    row: str = ""
    column: str = ""

    @property
    def name(self) -> str:
        """Its name: what became of a requirement, or its kind."""
        return f"requirement {self.requirement}" if self.requirement else self.kind.value

    @property
    def cell(self) -> str:
        """Its row and column in words; empty outside a table."""
        named = (("row", self.row), ("column", self.column))
        return ", ".join(f'{what} "{name}"' for what, name in named if name)
