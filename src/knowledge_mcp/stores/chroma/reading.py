"""Reads records, texts and chunks, and runs the two legs of a search.

If something is replaced while it is read, it is read again. Searches use the view if it holds the data. Otherwise
ChromaDB's vector index is queried, which does not know generations: hits of other than the visible generations are
dropped and more are requested, and if a generation was removed during the query, the query is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentParts, DocumentRecord
from knowledge_mcp.model.errors import ConfigError, InternalError, TimedOutError, sound
from knowledge_mcp.model.query import ChunkKey, Filter, In, LegHit, LegResults
from knowledge_mcp.stores.chroma.client import FoundEntry
from knowledge_mcp.stores.chroma.layout import chunk_of, document_of, generation_of, unpack_vectors, where_of
from knowledge_mcp.stores.chroma.places import ChromaCollection
from knowledge_mcp.stores.chroma.view import ChromaView
from knowledge_mcp.stores.chroma.writing import document_entry, structure_entries, visible_generations
from knowledge_mcp.stores.shared.filters import chunk_ids_in, simple_filters
from knowledge_mcp.stores.shared.payload import parts_from, record_from_json
from knowledge_mcp.stores.shared.ranking import printed_terms, ranked, run_legs
from knowledge_mcp.stores.shared.rules import by_value, in_order
from knowledge_mcp.support.batches import batches

_AT_ONCE = 500
"""Embedding keys per look-up."""
_VECTORS_AT_ONCE = 8
"""Documents whose exact vectors are read at once: all vectors of a document are read to find some."""
_TRIES = 20
"""How often a read is repeated because the data was replaced; each takes one read, a publish takes several."""

T = TypeVar("T")


def records(
    view: ChromaView,
    document_ids: Sequence[str] | None = None,
    limit: int | None = None,
) -> list[DocumentRecord]:
    """Read records, sorted by id: all, any `limit` of them, or those of some documents."""
    if document_ids is None:
        found = view.place.documents.rows(where={"kind": {"$eq": "document"}}, limit=limit)
    else:
        found = view.entries_of([document_entry(each) for each in dict.fromkeys(document_ids)])
    there = [each for each in found if each.metadata.get("record")]
    return sorted(sound(there, _record), key=lambda each: each.id)[:limit]


def parts(place: ChromaCollection, document_id: str) -> DocumentParts | None:
    """Read the canonical text and structure of the visible generation; the structure is empty if none was published."""

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


def chunks(view: ChromaView, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
    """Read visible chunks by id, document, defined term or content hash."""
    if key == "id":
        return _chunks_by_id(view, values)
    if key == "content":
        return _chunks_by_content(view.place, values)
    if key == "document":
        return [chunk for value in values for chunk in _document_chunks(view.place, value)]
    return [chunk for value in values for chunk in _definitions(view, value)]


def _document_chunks(place: ChromaCollection, document_id: str) -> list[Chunk]:
    """Read a document's visible chunks in order."""

    def read(entry: FoundEntry, token: str) -> list[Chunk] | None:
        found = place.chunks.rows(where={"generation": {"$eq": token}})
        return sound(found, chunk_of) if len(found) == int(entry.metadata["chunk_count"]) else None

    found = _of_generation(place, document_id, read)
    return in_order(found or [])


def _chunks_by_id(view: ChromaView, chunk_ids: Sequence[str]) -> list[Chunk]:
    """Read visible chunks in the order requested; unknown ids are left out.

    If the view was loaded for a search, it knows the entries; otherwise it is not loaded for this.
    """
    ids = list(dict.fromkeys(chunk_ids))
    entries = _chunks_looked_up(view.place, ids) if view.change is None else _chunks_of_view(view, ids)
    return by_value(sound(entries.values(), chunk_of), "id", chunk_ids)


def _chunks_of_view(view: ChromaView, chunk_ids: list[str]) -> dict[str, FoundEntry]:
    known: dict[str, FoundEntry] = {}
    for number in range(_TRIES):
        with view.lock:
            view.refresh(again=number > 0)
            entries = view.entries_by_id(each for each in chunk_ids if each not in known)
        for found in view.place.chunks.rows(ids=list(entries.values())):
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


def known_vectors(view: ChromaView, embedding_keys: Sequence[str]) -> dict[str, Vector]:
    """Look up exact vectors by embedding key."""
    with view.lock:
        known: dict[str, Vector] = view.loaded_vectors(embedding_keys)
    missing = [each for each in dict.fromkeys(embedding_keys) if each not in known]
    tokens: set[str] = set()
    for some in batches(missing, _AT_ONCE):
        tokens.update(generation_of(each) for each in view.place.chunks.ids({"embedding_key": {"$in": some}}))
    requested = set(missing)
    for some in batches(sorted(tokens), _VECTORS_AT_ONCE):
        for found in view.place.documents.rows(
            where={"$and": [{"kind": {"$eq": "vectors"}}, {"generation": {"$in": some}}]}
        ):
            known.update({key: vector for key, vector in unpack_vectors(found).items() if key in requested})
    return known


def _chunks_by_content(place: ChromaCollection, hashes: Sequence[str]) -> list[Chunk]:
    """Read visible chunks by content hash."""
    distinct = list(dict.fromkeys(hashes))
    visible = set(visible_generations(place.documents).values()) if distinct else set[str]()
    found = [each for each in place.chunks.rows_with("content_hash", distinct) if generation_of(each.id) in visible]
    return by_value(sound(found, chunk_of), "content", hashes)


def _definitions(view: ChromaView, term_key: str) -> list[Chunk]:
    """Read the chunks that define a term, sorted by document and index."""
    with view.lock:
        view.refresh()
        requested = dict.fromkeys(
            chunk_id
            for chunk_id, _, term, aliases in view.definitions()
            if any(view.analyser.term_key(name) == term_key for name in (term, *aliases))
        )
    return _chunks_by_id(view, list(requested))


def defined_terms(view: ChromaView) -> dict[str, str]:
    """Map keys to terms as printed; terms take precedence over aliases."""
    with view.lock:
        view.refresh()
        found = [(term, aliases) for _, _, term, aliases in view.definitions()]
    return printed_terms(found, view.analyser)


def _record(entry: FoundEntry) -> DocumentRecord:
    return record_from_json(str(entry.metadata["record"]), document_of(entry.id))


def _of_generation(place: ChromaCollection, document_id: str, read: Callable[[FoundEntry, str], T | None]) -> T | None:
    """Read something of the visible generation; return None if the document does not exist.

    Raises:
        InternalError: parts are missing although the document was not replaced.
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


_SPARE = 32
"""Extra hits to request, to make up for invisible generations and for ties at the cut-off."""
_COMPARE_ALL_UP_TO = 500
"""If a filter leaves at most this many chunks, all are compared instead of querying the index."""
NO_KEYWORDS = "Keyword search is not available: its index of this ChromaDB collection would take too much memory."


def legs(
    view: ChromaView,
    *,
    vector: bytes | None,
    text: str | None,
    filter: Filter | None,
    limit: int,
) -> LegResults:
    """Run the requested legs. If both are requested and one fails, return the hits of the other."""
    words = None if text is None else partial(_lexical, view, view.analyser.query_terms(text), filter, limit)
    with view.lock:
        view.refresh()
        if vector is None or view.exact:
            return run_legs(None if vector is None else partial(view.dense, vector, filter, limit), words)
    return run_legs(partial(_nearest, view, vector, filter, limit), words)


def _lexical(view: ChromaView, terms: list[str], filter: Filter | None, limit: int) -> tuple[LegHit, ...]:
    with view.lock:
        if view.too_large:
            suggestion = "Use semantic search, or store this many documents in SQLite or Qdrant."
            raise ConfigError(NO_KEYWORDS, suggestion=suggestion)
        return view.lexical(terms, filter, limit)


def _nearest(view: ChromaView, vector: bytes, filter: Filter | None, limit: int) -> tuple[LegHit, ...]:
    if limit <= 0 or any(isinstance(part, In) and not part.values for part in simple_filters(filter)):
        return ()
    named = chunk_ids_in(filter)[1]
    for _ in range(_TRIES):
        with view.lock:
            before = set(view.generations.values())
            allowed = view.allowed(filter)
            few = view.entries(filter) if allowed <= _COMPARE_ALL_UP_TO or named is not None else None
        count = min(limit, allowed)
        hits = _ask(view.place, vector, filter, count, before) if few is None else _compare(view.place, vector, few)
        if len(hits) < count:  # the index misses some chunks
            with view.lock:
                few = view.entries(filter)
            hits = _compare(view.place, vector, few)
        with view.lock:
            view.refresh(again=True)
            gone = before - set(view.generations.values())
        if not gone:
            return tuple(ranked(hits, count))
    raise TimedOutError("Documents are replaced faster than the vector index can be searched.")


def _compare(place: ChromaCollection, vector: bytes, entries: list[str]) -> list[LegHit]:
    """Score all of some chunks; those deleted in the meantime are left out."""
    exact = np.frombuffer(vector, "<f4").astype(np.float64)
    return [
        LegHit(entry.partition(" ")[2], float(np.asarray(near, np.float64) @ exact))
        for entry, near in place.chunks.vectors(entries).items()
    ]


def _ask(place: ChromaCollection, vector: bytes, filter: Filter | None, limit: int, visible: set[str]) -> list[LegHit]:
    """Query the index for more and more entries until enough of them are visible."""
    query = np.frombuffer(vector, "<f4")
    exact = query.astype(np.float64)
    count = limit + _SPARE
    total = place.chunks.count()
    while True:
        near = place.chunks.nearest(query, min(count, max(total, 1)), where_of(filter))
        hits = [
            LegHit(each.id.partition(" ")[2], float(np.asarray(each.vector, np.float64) @ exact))
            for each in near
            if generation_of(each.id) in visible
        ]
        if len(hits) >= limit or count >= total:
            return hits
        count *= 4
