"""Documents and chunks by their ids: read, described otherwise, removed."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from knowledge_mcp.engine.core.base import Base, Records, record_of
from knowledge_mcp.engine.core.citing import cite
from knowledge_mcp.engine.core.editions import BY_HAND
from knowledge_mcp.language.editions import EditionStatus
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, embedding_key
from knowledge_mcp.model.collection import (
    GIVEN,
    NO_STRUCTURE,
    DocumentRecord,
    DocumentStructure,
    OutlineEntry,
    WholeDocument,
)
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import DamagedError, InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.ports import Store
from knowledge_mcp.support.checkpoints import checked

_MOST_COMPARED, _MOST_COLLECTIONS = 500, 5
"""Ids of a collection, and collections, that one which is not there is compared with: milliseconds for who guesses."""
_LONGEST_ID = 200


def documents(base: Base, document_ids: Collection[str] | None = None) -> list[DocumentRecord]:
    """List records by id: all, or those of some ids that are there."""
    if document_ids is None:
        return list(base.records())
    return base.opened.documents(list(document_ids)) if base.exists() and document_ids else []


def near_ids(store: Store, collections: Iterable[str], wanted: str) -> list[str]:
    """Name up to three documents whose ids look like one that is not there.

    What is read for it is bounded: so many records of so many collections, whichever the store gives first.
    """
    known: list[str] = []
    for name in islice(collections, _MOST_COLLECTIONS):
        known.extend(record.id for record in store.open(name).documents(limit=_MOST_COMPARED))
    return difflib.get_close_matches(wanted[:_LONGEST_ID], known, 3)


def document(base: Base, document_id: str) -> DocumentRecord:
    """Return one record.

    Raises:
        NotFoundError: there is none; names ids that look alike.
    """
    record = record_of(base.opened, document_id) if base.exists() else None
    if record is None:
        raise _no_document(base, document_id)
    return record


def document_text(base: Base, document_id: str) -> str:
    """Return the canonical text."""
    parts = base.opened.parts(document_id) if base.exists() else None
    if parts is None or parts.text is None:
        raise _no_document(base, document_id)
    return parts.text


def document_chunks(base: Base, document_id: str) -> list[Chunk]:
    """List a document's chunks by index."""
    document(base, document_id)
    return base.opened.chunks("document", [document_id])


def chunk_by_id(base: Base, chunk_id: str) -> tuple[Chunk, str]:
    """Return one chunk and its citation.

    Raises:
        NotFoundError: there is none.
    """
    found = base.opened.chunks("id", [chunk_id]) if base.exists() else []
    if not found:
        raise NotFoundError(
            f"No passage has the id '{chunk_id}'.",
            suggestion="Search again: ids change when a passage's text changes.",
        )
    return found[0], cite(found[0], Records(base).get(found[0].document_id))


def remove(base: Base, document_id: str) -> int:
    """Remove a document with all it holds; returns how many chunks went."""
    with contextlib.suppress(DamagedError):  # what is damaged can be removed
        document(base, document_id)
    return base.opened.delete(document_id)


def _no_document(base: Base, document_id: str) -> NotFoundError:
    near = near_ids(base.store, [base.collection] if base.exists() else [], document_id)
    hint = f"Did you mean {', '.join(near)}?" if near else "List the documents to see which ids exist."
    return NotFoundError(f"No document has the id '{document_id}'.", suggestion=hint)


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
    record = document(base, document_id)
    for _ in checked(range(_TRIES)):
        parts = base.opened.parts(document_id)
        text, structure = (parts.text, parts.structure) if parts is not None else (None, None)
        chunks = base.opened.chunks("document", [document_id])
        before, record = record, document(base, document_id)
        if before == record and text is not None:
            return HeldDocument(record, text, _completed(structure or NO_STRUCTURE, chunks), tuple(chunks))
    raise InternalError(
        f"The document '{document_id}' keeps being replaced.",
        suggestion="Ask again when its ingest has ended.",
        recoverable=True,
    )


def document_structure(base: Base, document_id: str) -> DocumentStructure:
    """Return a document's sections and pages; sections of one ingested before there were any come from its passages.

    Raises:
        NotFoundError: there is none; names ids that look alike.
    """
    parts = base.opened.parts(document_id) if base.exists() else None
    structure = parts.structure if parts is not None else None
    if structure is None:
        document(base, document_id)
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
    for chunk in checked(ordered):
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


SETTABLE = ("family", "edition", "edition_status")
"""Names that a person may set."""
_LONGEST = 200


def relabel(base: Base, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
    """Put labels into a document's metadata, in one step; an empty value takes one out.

    Raises:
        NotFoundError: there is no such document.
        InternalError: a passage has lost its vector.
    """
    held = held_document(base, document_id)
    metadata = {**dict(held.record.metadata), **labels}
    record = dataclasses.replace(held.record, metadata=tuple((key, value) for key, value in metadata.items() if value))
    if record == held.record:
        return record
    keys = [embedding_key(chunk) for chunk in held.chunks]
    vectors = base.opened.vectors(keys)
    if any(key not in vectors for key in keys):
        raise InternalError(
            f"Passages of '{document_id}' have no vector.", suggestion="Ingest the document again with --force."
        )
    chunks = [EmbeddedChunk(chunk, vectors[key], key) for chunk, key in zip(held.chunks, keys, strict=True)]
    base.opened.publish([WholeDocument(record, held.text, chunks, held.structure)], lambda _: None)
    return record


def set_by_hand(base: Base, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
    """Set what a document is an edition of; later ingests keep it.

    Raises:
        NotFoundError: there is no such document.
        InvalidInputError: another name, or a value that cannot be.
    """
    unknown = sorted(set(labels) - set(SETTABLE))
    if unknown:
        raise InvalidInputError(f"There is no '{unknown[0][:60]}' to set.", suggestion=f"Set {', '.join(SETTABLE)}.")
    status = labels.get("edition_status", "")
    if status and status not in set(EditionStatus):
        raise InvalidInputError(
            f"'{status[:60]}' is not a status of an edition.", suggestion=f"Give one of {', '.join(EditionStatus)}."
        )
    if any(len(value) > _LONGEST or "\n" in value for value in labels.values()):
        raise InvalidInputError(
            "The value is too long.", suggestion=f"Give at most {_LONGEST} characters, on one line."
        )
    record = held_document(base, document_id).record
    by_hand = {*filter(None, record.label(BY_HAND).split(", ")), *(key for key, value in labels.items() if value)}
    by_hand -= {key for key, value in labels.items() if not value}
    return relabel(base, document_id, {**labels, BY_HAND: ", ".join(sorted(by_hand))})


def kept_by_hand(earlier: DocumentRecord | None) -> dict[str, str]:
    """Give what a person has set of a document, or said when it was ingested, for its next version."""
    if earlier is None:
        return {}
    kept: dict[str, str] = {}
    if told := earlier.label(BY_HAND):
        kept = {key: earlier.label(key) for key in told.split(", ") if key in SETTABLE} | {BY_HAND: told}
    if given := earlier.label(GIVEN):
        kept |= {key: earlier.label(key) for key in given.split(", ")} | {GIVEN: given}
    return kept
