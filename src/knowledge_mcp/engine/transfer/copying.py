"""One document copied from a collection into another: read whole, in one version; written in one step.

Memory holds one document at a time; everything goes through the store's port.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.engine.core.documents import StoredDocument, stored_document
from knowledge_mcp.model.collection import (
    CollectionInfo,
    DocumentRecord,
)
from knowledge_mcp.model.errors import InternalError, NotFoundError
from knowledge_mcp.ports import Collection, Store
from knowledge_mcp.support.wording import how_many

CHUNKS_AT_ONCE = 256
"""Chunks whose vectors are asked for in one call."""


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
        info = self.opened.info()
        if info is None:
            known = ", ".join(each.name for each in self.store.collections()) or "none"
            raise NotFoundError(
                f"There is no collection '{self.collection}' in {self.store.identity.location}.",
                suggestion=f"Collections there: {known}.",
            )
        return info


def read(place: CollectionPlace, document_id: str) -> StoredDocument | None:
    """Read a document in one version, None where it is gone.

    Raises:
        InternalError: it has other chunks than its record says, has lost its text, or changes all the time.
    """
    # not recoverable, or it would end the whole run: the other documents can still be copied
    document = stored_document(place.opened, document_id, recoverable=False)
    if document is not None and len(document.chunks) != document.record.chunk_count:
        raise InternalError(
            f"Document '{document_id}' has {how_many(len(document.chunks), 'chunk')}, "
            f"but its record says {document.record.chunk_count}.",
            suggestion="Ingest the document again with --force.",
        )
    return document
