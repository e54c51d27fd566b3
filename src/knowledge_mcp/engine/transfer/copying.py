"""One document copied from a collection into another: read whole, in one version; written in one step.

Memory holds one document at a time; everything goes through the store's port.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.engine.core.base import record_of
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector, embedding_key
from knowledge_mcp.model.collection import (
    NO_STRUCTURE,
    CollectionInfo,
    DocumentRecord,
    DocumentStructure,
    WholeDocument,
)
from knowledge_mcp.model.errors import InternalError, NotFoundError
from knowledge_mcp.ports import Collection, Store

CHUNKS_AT_ONCE = 256
"""Chunks whose vectors are asked for in one call."""

_READS = 5
"""How often a document that changes while it is read is read again."""


class MoveEventKind(StrEnum):
    """What has just happened while a collection is moved."""

    PLANNED = "planned"
    READ = "read"
    STORED = "stored"
    PRESENT = "present"
    FAILED = "failed"
    REMOVED = "removed"
    COMPARED = "compared"
    SWAPPED = "swapped"


@dataclass(frozen=True, slots=True)
class MoveEvent:
    """Tell the caller how far a move is.

    Attributes:
        kind: what happened.
        collection: of the source.
        document_id: which document, empty where the event is of the whole collection.
        done, total: chunks of the document for `read`; documents of the collection for all others.
        message: why, for `failed`; the new name, for `swapped`.
    """

    kind: MoveEventKind
    collection: str
    document_id: str = ""
    done: int = 0
    total: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class Trouble:
    """Tell which document could not be carried over, or is not the same, and why."""

    document_id: str
    message: str


@dataclass(frozen=True, slots=True)
class CollectionPlace:
    """Name a collection in a store."""

    store: Store
    collection: str

    @property
    def opened(self) -> Collection:
        """Give a handle on it."""
        return self.store.open(self.collection)

    def records(self) -> dict[str, DocumentRecord]:
        """Read all records by id; empty where there is no such collection yet."""
        if self.opened.info() is None:
            return {}
        return {record.id: record for record in self.opened.documents()}

    def info(self) -> CollectionInfo:
        """Describe the collection.

        Raises:
            NotFoundError: there is none; names those that there are.
        """
        found = self.opened.info()
        if found is None:
            known = ", ".join(each.name for each in self.store.collections()) or "none"
            raise NotFoundError(
                f"There is no collection '{self.collection}' in {self.store.identity.location}.",
                suggestion=f"Collections there: {known}.",
            )
        return found


@dataclass(frozen=True, slots=True)
class DocumentVersion:
    """Hold one version of a document: record, canonical text, chunks by index, sections and pages."""

    record: DocumentRecord
    text: str
    chunks: list[Chunk]
    structure: DocumentStructure = NO_STRUCTURE


def read(place: CollectionPlace, document_id: str) -> DocumentVersion | None:
    """Read a document in one version, None where it is gone.

    Raises:
        InternalError: it has other chunks than its record says, has lost its text, or never holds still.
    """
    opened = place.opened
    for _ in range(_READS):
        record = record_of(opened, document_id)
        if record is None:
            return None
        parts, chunks = opened.parts(document_id), opened.chunks("document", [document_id])
        if record_of(opened, document_id) != record:
            continue  # another process has just published it
        if len(chunks) != record.chunk_count:
            raise InternalError(
                f"Document '{document_id}' has {len(chunks)} chunks, but its record says {record.chunk_count}.",
                suggestion="Ingest the document again with --force.",
            )
        if parts is None or parts.text is None:
            raise InternalError(
                f"Document '{document_id}' has no text.", suggestion="Ingest the document again with --force."
            )
        return DocumentVersion(record, parts.text, chunks, parts.structure or NO_STRUCTURE)
    raise InternalError(f"Document '{document_id}' changes faster than it can be read.", suggestion="Run again later.")


def vectors_of(place: CollectionPlace, chunks: Sequence[Chunk]) -> list[Vector]:
    """Read the vectors of chunks, in their order.

    Raises:
        InternalError: a chunk has none; names the document and how many are missing.
    """
    keys = [embedding_key(chunk) for chunk in chunks]
    known = place.opened.vectors(keys)
    missing = [chunk for chunk, key in zip(chunks, keys, strict=True) if key not in known]
    if missing:
        first = missing[0]
        raise InternalError(
            f"Document '{first.document_id}' has {len(missing)} chunks without a vector.",
            details=f"first of them: chunk {first.index} ({first.id}) in '{place.collection}'",
            suggestion="Ingest the document again with --force.",
        )
    return [known[key] for key in keys]


def put(place: CollectionPlace, held: DocumentVersion, vectors: Sequence[Vector]) -> int:
    """Write a document in one step in place of whatever the collection has of it; returns its chunks.

    Args:
        vectors: of its chunks, in their order.
    """
    chunks = [
        EmbeddedChunk(chunk, vector, embedding_key(chunk)) for chunk, vector in zip(held.chunks, vectors, strict=True)
    ]
    whole = WholeDocument(held.record, held.text, chunks, held.structure)
    place.opened.publish([whole], lambda _: None)
    return len(chunks)
