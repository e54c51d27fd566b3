"""What a requirement is, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Specification(StrEnum):
    """The five documents that the product answers to, by the letter that the decisions use for them."""

    STANDARDS = "A standards-knowledge"
    CLARIFICATIONS = "A standards-knowledge-clarifications"
    PLANNING = "B planning-document-store"
    REPOSITORIES = "C personal-knowledge"
    RAG = "D enterprise-rag"


class Priority(StrEnum):
    """How much a specification wants it."""

    MUST = "must"
    SHOULD = "should"
    NICE = "nice"


class Status(StrEnum):
    """Whether it is there: what is built has a test that shows it."""

    BUILT = "built"
    PLANNED = "planned"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of one specification.

    Attributes:
        id: as the specification numbers it; where it does not, letter, section and a name.
        title: what is asked for, in one line of our own words.
        specification: the document that asks.
        priority: how much it asks.
        status: built requirements need a marked test.
        deviation: what is done otherwise and why, where it is.
    """

    id: str
    title: str
    specification: Specification
    priority: Priority
    status: Status
    deviation: str | None = None


class Maker(Protocol):
    """Make entries of one kind."""

    def __call__(self, id: str, title: str, deviation: str | None = None) -> Requirement:
        """Make the entry `id`."""
        ...


def maker(specification: Specification, priority: Priority, status: Status) -> Maker:
    """Return a function that makes entries of one specification, priority and status."""

    def make(id: str, title: str, deviation: str | None = None) -> Requirement:
        return Requirement(id, title, specification, priority, status, deviation)

    return make
