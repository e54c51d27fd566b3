"""Records, texts and chunks read back; what is replaced while it is read is read again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentParts, DocumentRecord
from knowledge_mcp.model.errors import InternalError, TimedOutError, sound
from knowledge_mcp.model.query import ChunkKey
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.chroma.client import FoundEntry
from knowledge_mcp.stores.chroma.layout import chunk_of, document_of, generation_of, unpack_vectors
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.chroma.view import ChromaView
from knowledge_mcp.stores.chroma.writing import document_entry, structure_entries, visible_generations
from knowledge_mcp.stores.shared.payload import parts_from, record_from_json
from knowledge_mcp.stores.shared.ranking import printed_terms
from knowledge_mcp.stores.shared.rules import by_value, in_order
from knowledge_mcp.support.batches import batches

_AT_ONCE = 500
"""Embedding keys of one look-up."""
_VECTORS_AT_ONCE = 8
"""Documents whose exact vectors are read at once: all of them are read to find some."""
_TRIES = 20
"""Times that a document which is replaced meanwhile is read again; each takes a read, a publish takes several."""

T = TypeVar("T")


def records(
    place: ChromaCollection,
    view: ChromaView,
    document_ids: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[DocumentRecord]:
    """Read records by id: all of them, any few, or those of some documents."""
    if document_ids is None:
        found = place.documents.rows(where={"kind": {"$eq": "document"}}, limit=limit)
    else:
        found = view.entries_of([document_entry(each) for each in dict.fromkeys(document_ids)])
    there = [each for each in found if each.metadata.get("record")]
    return sorted(sound(there, _record), key=lambda each: each.id)[:limit]


def parts(place: ChromaCollection, document_id: str) -> DocumentParts | None:
    """Read text, sections and pages of the visible generation; the latter are empty where none were published."""

    def read(entry: FoundEntry, token: str) -> DocumentParts | None:
        texts = [f"text {token} {number}" for number in range(int(entry.metadata["text_parts"]))]
        shapes = structure_entries(entry, token)
        found = {each.id: each for each in place.documents.rows(ids=[*texts, *shapes])}
        if len(found) < len(texts) + len(shapes):
            return None
        text = "".join(str(found[name].metadata["text"]) for name in texts)
        structure = "".join(str(found[name].metadata["structure"]) for name in shapes)
        return parts_from(str(entry.metadata["record"]), document_id, text, structure)

    return _of_generation(place, document_id, read)


def chunks(
    place: ChromaCollection, view: ChromaView, analyser: Analyser, key: ChunkKey, values: Sequence[str]
) -> list[Chunk]:
    """Read visible chunks by their ids, or those of documents, terms or contents."""
    if key == "id":
        return _chunks_by_id(place, view, values)
    if key == "content":
        return _chunks_by_content(place, values)
    if key == "document":
        return [chunk for value in values for chunk in _document_chunks(place, value)]
    return [chunk for value in values for chunk in _definitions(place, view, analyser, value)]


def _document_chunks(place: ChromaCollection, document_id: str) -> list[Chunk]:
    """Read a document's visible chunks by index."""

    def read(entry: FoundEntry, token: str) -> list[Chunk] | None:
        found = place.chunks.rows(where={"generation": {"$eq": token}})
        return sound(found, chunk_of) if len(found) == int(entry.metadata["chunk_count"]) else None

    found = _of_generation(place, document_id, read)
    return in_order(found or [])


def _chunks_by_id(place: ChromaCollection, view: ChromaView, chunk_ids: Sequence[str]) -> list[Chunk]:
    """Read visible chunks in the order asked; unknown ids are left out.

    A view that was loaded for a search knows the entries; one that never was is not loaded for it.
    """
    ids = list(dict.fromkeys(chunk_ids))
    entries = _chunks_looked_up(place, ids) if view.change is None else _chunks_of_view(place, view, ids)
    return by_value(sound(entries.values(), chunk_of), "id", chunk_ids)


def _chunks_of_view(place: ChromaCollection, view: ChromaView, chunk_ids: list[str]) -> dict[str, FoundEntry]:
    known: dict[str, FoundEntry] = {}
    for number in range(_TRIES):
        with view.lock:
            view.refresh(again=number > 0)
            entries = view.entries_by_id(each for each in chunk_ids if each not in known)
        for found in place.chunks.rows(ids=list(entries.values())):
            known[str(found.metadata["chunk_id"])] = found
        if all(each in known for each in entries):
            return known
    raise TimedOutError("Documents are replaced faster than their passages can be read.")


def _chunks_looked_up(place: ChromaCollection, chunk_ids: list[str]) -> dict[str, FoundEntry]:
    known: dict[str, FoundEntry] = {}
    visible = visible_generations(place.documents) if chunk_ids else {}
    for _ in range(_TRIES):
        missing = [each for each in chunk_ids if each not in known]
        tokens = set(visible.values())
        for found in place.chunks.rows_with("chunk_id", missing):
            if generation_of(found.id) in tokens:
                known[str(found.metadata["chunk_id"])] = found
        if all(each in known for each in chunk_ids):
            break
        before, visible = visible, visible_generations(place.documents)
        if before == visible:
            break
    return known


def known_vectors(place: ChromaCollection, view: ChromaView, embedding_keys: Sequence[str]) -> dict[str, Vector]:
    """Look exact vectors up by embedding key."""
    with view.lock:
        known: dict[str, Vector] = view.held_vectors(embedding_keys)
    missing = [each for each in dict.fromkeys(embedding_keys) if each not in known]
    tokens: set[str] = set()
    for some in batches(missing, _AT_ONCE):
        tokens.update(generation_of(each) for each in place.chunks.ids({"embedding_key": {"$in": some}}))
    requested = set(missing)
    for some in batches(sorted(tokens), _VECTORS_AT_ONCE):
        for found in place.documents.rows(
            where={"$and": [{"kind": {"$eq": "vectors"}}, {"generation": {"$in": some}}]}
        ):
            known.update({key: vector for key, vector in unpack_vectors(found).items() if key in requested})
    return known


def _chunks_by_content(place: ChromaCollection, hashes: Sequence[str]) -> list[Chunk]:
    """Read visible chunks by the hashes of their words."""
    distinct = list(dict.fromkeys(hashes))
    visible = set(visible_generations(place.documents).values()) if distinct else set[str]()
    found = [each for each in place.chunks.rows_with("content_hash", distinct) if generation_of(each.id) in visible]
    return by_value(sound(found, chunk_of), "content", hashes)


def _definitions(place: ChromaCollection, view: ChromaView, analyser: Analyser, term_key: str) -> list[Chunk]:
    """Read the chunks that define a term, by document and index."""
    with view.lock:
        view.refresh()
        requested = dict.fromkeys(
            chunk_id
            for chunk_id, _, term, aliases in view.definitions()
            if any(analyser.term_key(name) == term_key for name in (term, *aliases))
        )
    return _chunks_by_id(place, view, list(requested))


def defined_terms(view: ChromaView, analyser: Analyser) -> dict[str, str]:
    """Map the keys of all defined terms, and then of their aliases, to how they are printed."""
    with view.lock:
        view.refresh()
        found = [(term, aliases) for _, _, term, aliases in view.definitions()]
    return printed_terms(found, analyser)


def _record(entry: FoundEntry) -> DocumentRecord:
    return record_from_json(str(entry.metadata["record"]), document_of(entry.id))


def _of_generation(place: ChromaCollection, document_id: str, read: Callable[[FoundEntry, str], T | None]) -> T | None:
    """Read something of the visible generation; None where there is no such document.

    Raises:
        InternalError: it is not there though nobody has replaced it.
    """
    before = ""
    for _ in range(_TRIES):
        entry = place.documents.one(document_entry(document_id))
        if entry is None or not entry.metadata.get("record"):
            return None
        token = entry.uri.partition(":")[2]
        result = read(entry, token)
        if result is not None:
            return result
        if token == before:
            break
        before = token
    raise InternalError(
        f"Parts of document '{document_id}' are missing from the store.",
        suggestion="Run `knowledge doctor` and ingest the document again.",
    )
