"""One document as the store holds it: record, text, sections, pages and passages of one and the same ingest."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.engine import documents
from knowledge_mcp.engine.base import Base
from knowledge_mcp.engine.wanted import while_wanted
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.model.structure import NO_STRUCTURE, DocumentStructure, OutlineEntry

__all__ = ["HeldDocument", "document_structure", "held_document", "outline_of"]

_TRIES = 4
_DEEPEST = 6
"""Levels that a chunk's hierarchy tells (clarification 4)."""


@dataclass(frozen=True, slots=True)
class HeldDocument:
    """Hold all that is stored of one document; every span lies in `text`.

    Attributes:
        record, text: as stored.
        structure: as stored; where no sections are, those that the passages tell of.
        chunks: by index.
    """

    record: DocumentRecord
    text: str
    structure: DocumentStructure
    chunks: tuple[Chunk, ...]


def held_document(base: Base, document_id: str) -> HeldDocument:
    """Fetch a document whole; one that is replaced meanwhile is fetched again, so that old and new never mix.

    Raises:
        NotFoundError: there is none; names ids that look alike.
        InternalError: it was replaced again and again.
    """
    record = documents.document(base, document_id)
    for _ in while_wanted(range(_TRIES)):
        text = base.store.document_text(base.collection, document_id)
        structure = base.store.document_structure(base.collection, document_id) or NO_STRUCTURE
        chunks = base.store.document_chunks(base.collection, document_id)
        before, record = record, documents.document(base, document_id)
        if before == record and text is not None:
            return HeldDocument(record, text, _completed(structure, chunks), tuple(chunks))
    raise InternalError(
        f"The document '{document_id}' is being replaced all the time.",
        suggestion="Ask again when its ingest has ended.",
        recoverable=True,
    )


def document_structure(base: Base, document_id: str) -> DocumentStructure:
    """Return a document's sections and pages; sections of one ingested before there were any come from its passages.

    Raises:
        NotFoundError: there is none; names ids that look alike.
    """
    structure = base.store.document_structure(base.collection, document_id) if base.exists() else None
    if structure is None:
        documents.document(base, document_id)
    if structure is not None and structure.sections:
        return structure
    return held_document(base, document_id).structure


def _completed(structure: DocumentStructure, chunks: Sequence[Chunk]) -> DocumentStructure:
    return structure if structure.sections else replace(structure, sections=outline_of(chunks))


def outline_of(chunks: Iterable[Chunk]) -> tuple[OutlineEntry, ...]:
    """Work the sections out of what passages say of themselves: path, clause and place; a small one may be missing."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.span.start, chunk.index))
    numbers = _numbers(ordered)
    found: dict[tuple[str, ...], OutlineEntry] = {}
    for chunk in while_wanted(ordered):
        path = _path(chunk)
        for level in range(1, len(path) + 1):
            known = found.get(path[:level])
            if known is None:
                number, title = _split(path[level - 1], numbers)
                page = chunk.page_numbers[0] if chunk.page_numbers else None
                found[path[:level]] = OutlineEntry(level, number, title, chunk.span, page)
            else:
                whole = Span(known.span.start, max(known.span.end, chunk.span.end))
                found[path[:level]] = replace(known, span=whole)
    return tuple(sorted(found.values(), key=lambda entry: (entry.span.start, entry.level)))


def _path(chunk: Chunk) -> tuple[str, ...]:
    path, title = chunk.section_hierarchy, " ".join(chunk.section_title.split())
    label = f"{chunk.clause_number} {title}" if chunk.clause_number else title
    return (*path, label) if len(path) == _DEEPEST and title and path[-1] not in {title, label} else path


def _numbers(chunks: Iterable[Chunk]) -> set[str]:
    """Gather the clause numbers that passages have, and those above them."""
    found: set[str] = set()
    for number in {chunk.clause_number for chunk in chunks if chunk.clause_number}:
        parts = number.split(".")
        found.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return found


def _split(label: str, numbers: set[str]) -> tuple[str | None, str]:
    number, _, title = label.partition(" ")
    if number in numbers and (title or not re.search(r"[^\W\d_]{2}", number)):
        return number, title
    return None, label
