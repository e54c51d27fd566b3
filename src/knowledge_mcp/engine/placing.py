"""Passages of a document at hand, cited by the sections that they really hold."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.engine.base import Records
from knowledge_mcp.engine.cite import cite
from knowledge_mcp.engine.held import HeldDocument
from knowledge_mcp.engine.outline import label_of
from knowledge_mcp.engine.passages import passage
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import Passage
from knowledge_mcp.model.structure import OutlineEntry

__all__ = ["placed", "section_at"]


class _KnownRecord(Records):
    """Give the one record that is at hand."""

    def __init__(self, record: DocumentRecord) -> None:
        self._record = record

    def get(self, document_id: str) -> DocumentRecord | None:
        """Return it."""
        return self._record if document_id == self._record.id else None


def placed(document: HeldDocument, span: Span) -> Passage:
    """Cut a passage out and say where it stands; several sections are cited from the first to the last."""
    chunks = _near(document.chunks, span)
    made = passage(_KnownRecord(document.record), document.record.id, document.text, span, chunks, document.structure)
    label = _sections_of(document, span)
    if not label or not chunks:
        return made
    locator = made.locator
    named = replace(
        chunks[0],
        section_hierarchy=(label,),
        section_title=label,
        clause_number=None,
        page_numbers=locator.page_numbers,
        page_labels=locator.page_labels,
        lines=locator.lines,
    )
    return replace(made, citation=cite(named, document.record))


def section_at(document: HeldDocument, place: int) -> OutlineEntry | None:
    """Return the innermost section that holds a place, None before the first heading."""
    entries = document.structure.sections
    for entry in reversed(entries[: bisect_right(entries, place, key=lambda each: each.span.start)]):
        if place < entry.span.end:
            return entry
    return None


def _sections_of(document: HeldDocument, span: Span) -> str:
    """Name the section that a span begins in, and the last one that begins inside it."""
    entries = document.structure.sections
    first = section_at(document, span.start)
    behind = bisect_left(entries, span.end, key=lambda each: each.span.start)
    last = entries[behind - 1] if behind and entries[behind - 1].span.start > span.start else None
    if first is None or last is None:
        only = first or last
        return label_of(only) if only else ""
    return f"{label_of(first)} to {label_of(last)}"


def _near(chunks: Sequence[Chunk], span: Span) -> list[Chunk]:
    """List the chunks that a span stands in, and the last before it for one that stands in none."""
    found = [chunk for chunk in chunks if chunk.span.overlaps(span)]
    return found or [chunk for chunk in chunks if chunk.span.start <= span.start][-1:]
