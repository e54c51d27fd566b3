"""Copy one document from a collection to another: read one complete version, write it in one step.

Memory holds one document at a time; everything goes through the store's port.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.engine.core.documents import StoredDocument, stored_document
from knowledge_mcp.model.collection import CollectionInfo, DocumentRecord
from knowledge_mcp.model.errors import InternalError, InvalidInputError, KnowledgeError, NotFoundError, may_pass
from knowledge_mcp.ports import Collection, Store
from knowledge_mcp.support.wording import how_many

_logger = logging.getLogger(__name__)

CHUNKS_AT_ONCE = 256
"""Chunks whose vectors are read in one call."""


class MoveEventKind(StrEnum):
    """What has just happened in a move."""

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
    """Progress of a move.

    Attributes:
        kind: what happened.
        collection: name of the source collection.
        document_id: the document, empty for events of the whole collection.
        done, total: chunks of the document for `read`; documents of the collection for all other events.
        message: the reason, for `failed`; the new name, for `swapped`.
    """

    kind: MoveEventKind
    collection: str
    document_id: str = ""
    done: int = 0
    total: int = 0
    message: str = ""


@dataclass(frozen=True, slots=True)
class CopyProblem:
    """A document that could not be copied, or differs, and why."""

    document_id: str
    message: str


@dataclass(frozen=True, slots=True)
class CollectionPlace:
    """A collection in a store."""

    store: Store
    collection: str

    @property
    def opened(self) -> Collection:
        """Return a handle on it."""
        return self.store.open(self.collection)

    def records(self) -> dict[str, DocumentRecord]:
        """Read all records by id; empty if the collection does not exist yet."""
        if self.opened.info() is None:
            return {}
        return {record.id: record for record in self.opened.documents()}

    def info(self) -> CollectionInfo:
        """Describe the collection.

        Raises:
            NotFoundError: it does not exist; lists the existing ones.
        """
        info = self.opened.info()
        if info is None:
            known = ", ".join(each.name for each in self.store.collections()) or "none"
            raise NotFoundError(
                f"There is no collection '{self.collection}' in {self.store.identity.location}.",
                suggestion=f"Collections there: {known}.",
            )
        return info


class Transfer:
    """Copy the documents of a collection one by one, and report each step; a failing one does not stop the others.

    Args:
        source: the collection.
        on_event: receives every step.
    """

    def __init__(self, source: CollectionPlace, on_event: Callable[[MoveEvent], None]) -> None:
        self._source = source
        self._on_event = on_event
        self._failed: dict[str, str] = {}

    @property
    def failures(self) -> tuple[CopyProblem, ...]:
        """List the failed documents, by id."""
        return tuple(CopyProblem(document_id, why) for document_id, why in sorted(self._failed.items()))

    def _do_each(
        self, document_ids: Sequence[str], step: Callable[[str, int, int], object], done: int = 0, total: int = 0
    ) -> None:
        """Run a step for each document, with its id, its number and the total; `done` others precede them.

        Raises:
            KnowledgeError: of a kind that would affect every further document.
        """
        total = total or len(document_ids)
        for number, document_id in enumerate(document_ids, done + 1):
            try:
                step(document_id, number, total)
            except (InternalError, InvalidInputError) as exc:
                if may_pass(exc):
                    raise
                self._note_failure(document_id, exc, number, total)

    def _note_failure(self, document_id: str, exc: KnowledgeError, number: int, total: int) -> None:
        self._failed[document_id] = exc.message
        _logger.error("failed %s: %s (%s) %s", document_id, exc.message, exc.code.value, exc.details)
        self._report_event(MoveEventKind.FAILED, document_id, number, total, exc.message)

    def _remove(self, place: CollectionPlace, document_ids: Sequence[str]) -> None:
        for done, document_id in enumerate(document_ids, 1):
            place.opened.delete(document_id)
            self._report_event(MoveEventKind.REMOVED, document_id, done, len(document_ids))

    def _report_event(
        self, kind: MoveEventKind, document_id: str = "", done: int = 0, total: int = 0, message: str = ""
    ) -> None:
        self._on_event(MoveEvent(kind, self._source.collection, document_id, done, total, message))


def read(place: CollectionPlace, document_id: str) -> StoredDocument | None:
    """Read one version of a document, None if it was deleted.

    Raises:
        InternalError: its chunks do not match its record, its text is missing, or it changes all the time.
    """
    # not recoverable, otherwise it would end the whole run: the other documents can still be copied
    document = stored_document(place.opened, document_id, recoverable=False)
    if document is not None and len(document.chunks) != document.record.chunk_count:
        raise InternalError(
            f"Document '{document_id}' has {how_many(len(document.chunks), 'chunk')}, "
            f"but its record says {document.record.chunk_count}.",
            suggestion="Ingest the document again with --force.",
        )
    return document
