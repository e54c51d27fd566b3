"""Documents and chunks by id: read, relabel, remove."""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice
from pathlib import PurePath

from knowledge_mcp.engine.core.base import Base, Records, record_of
from knowledge_mcp.engine.core.citing import cite
from knowledge_mcp.engine.core.designations import Directory, designations, mentioned
from knowledge_mcp.engine.core.editions import BY_HAND
from knowledge_mcp.language.editions import EditionStatus
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector, embedding_key, text_key
from knowledge_mcp.model.collection import (
    GIVEN,
    NO_STRUCTURE,
    DocumentRecord,
    DocumentStructure,
    EmbeddingSpace,
    OutlineEntry,
    WholeDocument,
)
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import DamagedError, InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.ports import Collection, Store
from knowledge_mcp.support.checkpoints import check_each
from knowledge_mcp.support.wording import how_many

_MOST_COMPARED, _MOST_COLLECTIONS = 500, 5
"""Maximum ids of a collection, and collections, compared with an unknown id: takes milliseconds."""
_LONGEST_ID = 200


def documents(base: Base, document_ids: Iterable[str] | None = None) -> list[DocumentRecord]:
    """List records by id: all, or those of the given ids that exist."""
    if document_ids is None:
        return list(base.records())
    ids = list(document_ids)
    return base.opened.documents(ids) if ids and base.exists() else []


def near_ids(store: Store, collections: Iterable[str], document_id: str) -> list[str]:
    """Name up to three documents that an unknown id may mean.

    These have the designation that it states; otherwise their ids, titles or file names are similar, in any case. The
    number of records and collections read is limited; the store chooses which.
    """
    records: list[DocumentRecord] = []
    for name in islice(collections, _MOST_COLLECTIONS):
        records += store.open(name).documents(limit=_MOST_COMPARED)
    asked = document_id[:_LONGEST_ID]
    stated = {*mentioned(asked), *designations(asked, slug=True)}
    alike = [each for designation in stated for each in Directory(records).alike(designation)]
    if alike:
        alike.sort(key=lambda each: (each.is_other_edition, each.is_part))
        return list(dict.fromkeys(each.record.id for each in alike))[:3]
    known = {
        each[:_LONGEST_ID].casefold(): record.id
        for record in records
        for each in (PurePath(record.source_path).name, record.title, record.id)
    }
    near = difflib.get_close_matches(asked.casefold(), known, 3)
    return list(dict.fromkeys(known[each] for each in near))


_ID = re.compile(r"[a-z0-9_-]+")


def can_only_be_an_id(name: str) -> bool:
    """Return whether a name is no file name, which has a dot, and no title, which has blanks or capitals."""
    return _ID.fullmatch(name) is not None


def one_named(base: Base, name: str) -> str | None:
    """Return the id of the only document with this file name or title, in any case; None if it is not one document.

    All records are read for it, but not for what can only be an id.
    """
    if can_only_be_an_id(name):
        return None
    asked = name.casefold()
    found = [
        record.id
        for record in (base.records() if base.exists() else ())
        if asked in {PurePath(record.source_path).name.casefold(), record.title.casefold()}
    ]
    return found[0] if len(found) == 1 else None


def document(base: Base, document_id: str) -> DocumentRecord:
    """Return one record.

    Raises:
        NotFoundError: there is none; suggests similar ids.
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
        NotFoundError: there is no such chunk.
    """
    chunks = base.opened.chunks("id", [chunk_id]) if base.exists() else []
    if not chunks:
        raise NotFoundError(
            f"No passage has the id '{chunk_id}'.",
            suggestion="Search again: ids change when a passage's text changes.",
        )
    return chunks[0], cite(chunks[0], Records(base).get(chunks[0].document_id))


def document_of(base: Base, document_id: str | None, chunk_id: str | None) -> str:
    """Return the document that is meant: the given one, or that of a passage; give one of both.

    Raises:
        NotFoundError: there is no such passage.
        InvalidInputError: the passage belongs to another document.
    """
    if chunk_id is None:
        assert document_id is not None
        return document_id
    owner = chunk_by_id(base, chunk_id)[0].document_id
    if document_id not in {None, owner}:
        raise InvalidInputError(
            f"The passage '{chunk_id}' is in '{owner}', not in '{document_id}'.",
            suggestion="Omit the document: a passage's id is enough.",
        )
    return owner


def remove(base: Base, document_id: str) -> int:
    """Remove a document and all it contains; return the number of chunks removed."""
    with contextlib.suppress(DamagedError):  # damaged documents can be removed
        document(base, document_id)
    return base.opened.delete(document_id)


def _no_document(base: Base, document_id: str) -> NotFoundError:
    near = near_ids(base.store, [base.collection] if base.exists() else [], document_id)
    return NotFoundError(f"No document has the id '{document_id}'.", suggestion=instead_of_it(near))


def instead_of_it(near: Sequence[str]) -> str:
    """Say what to do if a document does not exist: use a similar id, or list the documents."""
    return f"Did you mean {', '.join(near)}?" if near else "knowledge_stats lists the documents."


_TRIES = 5
"""Attempts to read a document that is being replaced: an ingest publishes it once, two in a row are rare."""
_DEEPEST = 6
"""Maximum levels of a chunk's hierarchy (clarification 4)."""


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """Everything stored of one document; all spans refer to `text`.

    Attributes:
        record, text: as stored.
        structure: its sections, pages and anchors.
        chunks: by index.
    """

    record: DocumentRecord
    text: str
    structure: DocumentStructure
    chunks: tuple[Chunk, ...]


def stored_document(collection: Collection, document_id: str, *, recoverable: bool = True) -> StoredDocument | None:
    """Read a document as stored, None if there is none; it is read again if it was replaced meanwhile.

    Args:
        collection: its collection.
        document_id: its id.
        recoverable: whether the error for a constantly replaced document is marked as recoverable.

    Raises:
        InternalError: it was replaced again and again, or its text is missing.
    """
    before, record = None, record_of(collection, document_id)
    for _ in check_each(range(_TRIES)):
        if record is None:
            return None
        parts = collection.parts(document_id)
        text, structure = (parts.text, parts.structure) if parts is not None else (None, None)
        chunks = collection.chunks("document", [document_id])
        before, record = record, record_of(collection, document_id)
        if before == record and text is not None:
            return StoredDocument(before, text, structure or NO_STRUCTURE, tuple(chunks))
    if before == record:
        raise InternalError(
            f"Document '{document_id}' contains no text.", suggestion="Ingest the document again with --force."
        )
    raise InternalError(
        f"Document '{document_id}' changes faster than it can be read.",
        suggestion="Try again when its ingest has finished.",
        recoverable=recoverable,
    )


def read_document(base: Base, document_id: str) -> StoredDocument:
    """Read a document like `stored_document`; if no sections are stored, they are derived from its passages.

    Raises:
        NotFoundError: there is none; suggests similar ids.
        InternalError: as for `stored_document`.
    """
    stored = stored_document(base.opened, document_id) if base.exists() else None
    if stored is None:
        raise _no_document(base, document_id)
    return replace(stored, structure=_complete(stored.structure, stored.chunks))


def vectors_of(collection: Collection, chunks: Sequence[Chunk]) -> list[Vector]:
    """Read the vectors of chunks, in order.

    Raises:
        InternalError: a chunk has none; names the document and how many are missing.
    """
    keys = [embedding_key(chunk) for chunk in chunks]
    known = collection.vectors(keys)
    missing = [chunk for chunk, key in zip(chunks, keys, strict=True) if key not in known]
    if missing:
        first, info = missing[0], collection.info()
        name = info.name if info is not None else ""
        raise InternalError(
            f"Document '{first.document_id}' has {how_many(len(missing), 'chunk')} without a vector.",
            details=f"first of them: chunk {first.index} ({first.id}) in '{name}'",
            suggestion="Ingest the document again with --force.",
        )
    return [known[key] for key in keys]


def publish_document(collection: Collection, stored: StoredDocument, vectors: Sequence[Vector]) -> None:
    """Write a document in one step, replacing the collection's present version.

    Args:
        collection: the target.
        stored: the document.
        vectors: of its chunks, in their order.
    """
    chunks = [
        EmbeddedChunk(chunk, vector, embedding_key(chunk)) for chunk, vector in zip(stored.chunks, vectors, strict=True)
    ]
    collection.publish([WholeDocument(stored.record, stored.text, chunks, stored.structure)], lambda _: None)


def publish_note(
    collection: Collection, space: EmbeddingSpace, name: str, title: str, label: tuple[str, str], text: str
) -> None:
    """Store a value next to documents: as a label of a record without passages, replacing the previous one.

    Args:
        collection: the target; in this embedding space.
        space: of the collection.
        name: id and source of the record.
        title: its title.
        label: name and value; an empty value is left out.
        text: stored as its text.
    """
    now = datetime.now(UTC).isoformat()
    record = DocumentRecord(
        id=name,
        title=title,
        document_type="custom",
        source_path=name,
        sha256=text_key(f"{label[1]}{text}"),
        pipeline="",
        size=0,
        pages=0,
        chunk_count=0,
        token_count=0,
        embedding_model=space.label,
        created_at=now,
        updated_at=now,
        metadata=(label,) if label[1] else (),
    )
    collection.publish([WholeDocument(record, text, ())], lambda _: None)


def document_structure(base: Base, document_id: str) -> DocumentStructure:
    """Return a document's sections and pages; if none were stored, sections are derived from its passages.

    Raises:
        NotFoundError: there is none; suggests similar ids.
    """
    parts = base.opened.parts(document_id) if base.exists() else None
    structure = parts.structure if parts is not None else None
    if structure is None:
        document(base, document_id)
    if structure is not None and structure.sections:
        return structure
    return read_document(base, document_id).structure


def _complete(structure: DocumentStructure, chunks: Sequence[Chunk]) -> DocumentStructure:
    return structure if structure.sections else replace(structure, sections=outline_of(chunks))


def outline_of(chunks: Iterable[Chunk]) -> tuple[OutlineEntry, ...]:
    """Derive sections from the passages' path, clause and position; a small section may be missing."""
    ordered = sorted(chunks, key=lambda chunk: (chunk.span.start, chunk.index))
    numbers = _numbers(ordered)
    entries: dict[tuple[str, ...], OutlineEntry] = {}
    for chunk in check_each(ordered):
        path = _path(chunk)
        for level in range(1, len(path) + 1):
            known = entries.get(path[:level])
            if known is None:
                number, title = _split(path[level - 1], numbers)
                page = chunk.page_numbers[0] if chunk.page_numbers else None
                entries[path[:level]] = OutlineEntry(level, number, title, chunk.span, page)
            else:
                whole = Span(known.span.start, max(known.span.end, chunk.span.end))
                entries[path[:level]] = replace(known, span=whole)
    return tuple(sorted(entries.values(), key=lambda entry: (entry.span.start, entry.level)))


def _path(chunk: Chunk) -> tuple[str, ...]:
    path, title = chunk.section_hierarchy, " ".join(chunk.section_title.split())
    label = f"{chunk.clause_number} {title}" if chunk.clause_number else title
    return (*path, label) if len(path) == _DEEPEST and title and path[-1] not in {title, label} else path


def _numbers(chunks: Iterable[Chunk]) -> set[str]:
    """Collect the clause numbers of passages, and those above them."""
    numbers: set[str] = set()
    for number in {chunk.clause_number for chunk in chunks if chunk.clause_number}:
        parts = number.split(".")
        numbers.update(".".join(parts[:count]) for count in range(1, len(parts) + 1))
    return numbers


def _split(label: str, numbers: set[str]) -> tuple[str | None, str]:
    number, _, title = label.partition(" ")
    if number in numbers and (title or not re.search(r"[^\W\d_]{2}", number)):
        return number, title
    return None, label


SETTABLE = ("family", "edition", "edition_status")
"""Names that a person may set."""
_LONGEST = 200


def relabel(
    base: Base, document_id: str, labels: Mapping[str, str], *, source_path: str | None = None
) -> DocumentRecord:
    """Add labels to a document's metadata, in one step; an empty value removes one.

    Args:
        base: its collection.
        document_id: its id.
        labels: by name.
        source_path: its new source; None to keep it.

    Raises:
        NotFoundError: there is no such document.
        InternalError: the vector of a passage is missing.
    """
    stored = read_document(base, document_id)
    metadata = {**dict(stored.record.metadata), **labels}
    record = dataclasses.replace(
        stored.record,
        source_path=source_path or stored.record.source_path,
        metadata=tuple((key, value) for key, value in metadata.items() if value),
    )
    if record == stored.record:
        return record
    chunks = tuple(replace(chunk, source_path=record.source_path) for chunk in stored.chunks)
    publish_document(base.opened, replace(stored, record=record, chunks=chunks), vectors_of(base.opened, chunks))
    return record


def set_by_hand(base: Base, document_id: str, labels: Mapping[str, str]) -> DocumentRecord:
    """Set a document's edition data by hand; later ingests keep it.

    Raises:
        NotFoundError: there is no such document.
        InvalidInputError: another name, or an invalid value.
    """
    unknown = sorted(set(labels) - set(SETTABLE))
    if unknown:
        raise InvalidInputError(f"'{unknown[0][:60]}' cannot be set.", suggestion=f"Set {', '.join(SETTABLE)}.")
    status = labels.get("edition_status", "")
    if status and status not in set(EditionStatus):
        raise InvalidInputError(
            f"'{status[:60]}' is not an edition status.", suggestion=f"Use one of {', '.join(EditionStatus)}."
        )
    if any(len(value) > _LONGEST or "\n" in value for value in labels.values()):
        raise InvalidInputError("The value is too long.", suggestion=f"Use at most {_LONGEST} characters, on one line.")
    record = read_document(base, document_id).record
    by_hand = {*filter(None, record.label(BY_HAND).split(", ")), *(key for key, value in labels.items() if value)}
    by_hand -= {key for key, value in labels.items() if not value}
    return relabel(base, document_id, {**labels, BY_HAND: ", ".join(sorted(by_hand))})


def manual_labels(earlier: DocumentRecord | None) -> dict[str, str]:
    """Return what a person has set for a document, or stated at ingest, for its next version."""
    if earlier is None:
        return {}
    labels: dict[str, str] = {}
    if names := earlier.label(BY_HAND):
        labels = {key: earlier.label(key) for key in names.split(", ") if key in SETTABLE} | {BY_HAND: names}
    if ingested := earlier.label(GIVEN):
        labels |= {key: earlier.label(key) for key in ingested.split(", ")} | {GIVEN: ingested}
    return labels
