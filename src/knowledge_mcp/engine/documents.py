"""Documents and chunks by their ids."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Collection, Iterable
from itertools import islice

from knowledge_mcp.engine.base import Base, Records
from knowledge_mcp.engine.cite import cite
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import DamagedError, NotFoundError
from knowledge_mcp.ports import Store

__all__ = ["chunk_by_id", "document", "document_chunks", "document_text", "documents", "near_ids", "remove"]

_MOST_COMPARED, _MOST_COLLECTIONS = 500, 5
"""Ids of a collection, and collections, that one which is not there is compared with: milliseconds for who guesses."""
_LONGEST_ID = 200


def documents(base: Base, document_ids: Collection[str] | None = None) -> list[DocumentRecord]:
    """List records by id: all, or those of some ids that are there."""
    if document_ids is None:
        return list(base.records())
    return base.store.documents(base.collection, list(document_ids)) if base.exists() and document_ids else []


def near_ids(store: Store, collections: Iterable[str], wanted: str) -> list[str]:
    """Name up to three documents whose ids look like one that is not there.

    What is read for it is bounded: so many records of so many collections, whichever the store gives first.
    """
    known: list[str] = []
    for name in islice(collections, _MOST_COLLECTIONS):
        known.extend(record.id for record in store.documents(name, limit=_MOST_COMPARED))
    return difflib.get_close_matches(wanted[:_LONGEST_ID], known, 3)


def document(base: Base, document_id: str) -> DocumentRecord:
    """Return one record.

    Raises:
        NotFoundError: there is none; names ids that look alike.
    """
    record = base.store.document(base.collection, document_id) if base.exists() else None
    if record is None:
        raise _no_document(base, document_id)
    return record


def document_text(base: Base, document_id: str) -> str:
    """Return the canonical text."""
    text = base.store.document_text(base.collection, document_id) if base.exists() else None
    if text is None:
        raise _no_document(base, document_id)
    return text


def document_chunks(base: Base, document_id: str) -> list[Chunk]:
    """List a document's chunks by index."""
    document(base, document_id)
    return base.store.document_chunks(base.collection, document_id)


def chunk_by_id(base: Base, chunk_id: str) -> tuple[Chunk, str]:
    """Return one chunk and its citation.

    Raises:
        NotFoundError: there is none.
    """
    found = base.store.chunks(base.collection, [chunk_id]) if base.exists() else []
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
    return base.store.delete_document(base.collection, document_id)


def _no_document(base: Base, document_id: str) -> NotFoundError:
    near = near_ids(base.store, [base.collection] if base.exists() else [], document_id)
    hint = f"Did you mean {', '.join(near)}?" if near else "List the documents to see which ids exist."
    return NotFoundError(f"No document has the id '{document_id}'.", suggestion=hint)
