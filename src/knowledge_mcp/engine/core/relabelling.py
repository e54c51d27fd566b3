"""Changing what is said of a document's edition, without reading or embedding it again."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.documents import held_document
from knowledge_mcp.engine.core.editions import BY_HAND
from knowledge_mcp.language.editions import EditionStatus
from knowledge_mcp.model.chunk import EmbeddedChunk, embedding_key
from knowledge_mcp.model.collection import GIVEN, DocumentRecord, WholeDocument
from knowledge_mcp.model.errors import InternalError, InvalidInputError

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
