"""What is kept of a document's shape beside its text: the tree of sections, and what was got from each page."""

from __future__ import annotations

from dataclasses import dataclass

from knowledge_mcp.model.document import Anchor, Span
from knowledge_mcp.model.hidden import Hidden

__all__ = ["NO_STRUCTURE", "DocumentStructure", "OutlineEntry", "PageCoverage"]


@dataclass(frozen=True, slots=True)
class OutlineEntry:
    """Describe one section, in reading order.

    Attributes:
        level: depth from 1, never truncated.
        number: clause number as printed, None if unnumbered.
        title: heading text without the number.
        span: heading and all content, subsections included, in the canonical text.
        page: physical page from 1 that the heading stands on, None where the format has none.
        informative: True for informative annexes and parts marked so.
    """

    level: int
    number: str | None
    title: str
    span: Span
    page: int | None = None
    informative: bool = False


@dataclass(frozen=True, slots=True)
class PageCoverage:
    """Tell what was got from one physical page.

    Attributes:
        number: counted from 1.
        label: as printed.
        span: its text in the canonical text; empty span where nothing was read.
        method: as `Page.method`.
        characters: characters of its text that are not blank.
        tables, figures: tables and figure captions found on it.
        note: why it is empty or partial, else empty.
    """

    number: int
    label: str
    span: Span
    method: str
    characters: int
    tables: int = 0
    figures: int = 0
    note: str = ""


@dataclass(frozen=True, slots=True)
class DocumentStructure:
    """Hold the sections, pages and anchors of one document, and the hidden characters left out; each may be empty."""

    sections: tuple[OutlineEntry, ...] = ()
    pages: tuple[PageCoverage, ...] = ()
    anchors: tuple[Anchor, ...] = ()
    hidden: Hidden = ()


NO_STRUCTURE = DocumentStructure()
"""What a document without sections and pages has."""
