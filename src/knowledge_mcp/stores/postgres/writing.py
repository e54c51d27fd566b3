"""Writes to the PostgreSQL store: one transaction replaces the visible documents with new ones.

Slow work (analysing chunks into terms) is done before the transaction begins. Locks are always taken in the same order
to avoid deadlocks: documents, then the blocks of their old postings, then briefly the counters.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.query import FilterField
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.postgres.tables import (
    NO_WORKERS,
    SCHEMA,
    Extension,
    PostgresPlace,
    PostgresSession,
    PostgresVector,
    Row,
)
from knowledge_mcp.stores.shared.filters import field_value
from knowledge_mcp.stores.shared.payload import chunk_to_json, record_to_json, structure_to_json
from knowledge_mcp.stores.shared.ranking import DefinedName, counted_terms, defined_names
from knowledge_mcp.stores.shared.rules import checked_renames, in_stored_order

ENTRY = np.dtype([("offset", "<u4"), ("count", "u1"), ("length", "<u4")])
"""A posting: the chunk's key relative to its block, the count of the term, and the chunk's length in terms."""
_PACK = struct.Struct("<IBI").pack
PIECE = 200 * ENTRY.itemsize
"""Bytes of postings in one row, chosen so that an index can include them and keep those of a term together.

An index row has room for 2,704 bytes, and a term has at most 64 characters.
"""

FIELDS: tuple[FilterField, ...] = ("document_type", "chunk_type", "normative", "clause_number")

INDEX_FROM_CHUNKS = 20_000
"""Chunks from which approximate search is used: an exact search of this many takes 25 ms, one with the index 3 ms."""
_INDEXES = {
    "filters": "chunks (clause_number, document_type, chunk_type, normative, document_id)",
    "vectors": "chunks USING hnsw ((vector::{half}) {ops}) WITH (m = 8, ef_construction = 80)",
}
"""The indexes of a large collection, by the first part of their name.

With pgvector's default m = 16, inserting a vector takes half as long again; with ef_construction = 64, recall is lower
(0148).
"""
_MOST_DIMENSIONS = 4_000
"""Maximum number of components that pgvector can index."""


Counters = NDArray[np.int64]
"""Changes to the numbers of documents, chunks, tokens and words."""


@dataclass(frozen=True)
class IndexedDocument:
    """Index data of a document's chunks, computed before the transaction begins.

    Attributes:
        terms: term counts of each chunk, in order.
        definitions: names, each with the position of the chunk that defines it.
    """

    terms: tuple[Mapping[str, int], ...]
    definitions: tuple[tuple[int, DefinedName], ...]

    @property
    def words(self) -> int:
        """Number of all terms."""
        return sum(sum(each.values()) for each in self.terms)


def prepare(chunks: Sequence[Chunk], analyser: Analyser) -> IndexedDocument:
    """Compute the index data of a document's chunks, given in order."""
    definitions = [(slot, name) for slot, chunk in enumerate(chunks) for name in defined_names(chunk, analyser)]
    return IndexedDocument(tuple([counted_terms(each, analyser) for each in chunks]), tuple(definitions))


def write_block(
    session: PostgresSession, collection: int, first: int, documents: Sequence[tuple[Sequence[int], IndexedDocument]]
) -> None:
    """Write the postings and definitions of documents as one block.

    Args:
        session: the transaction.
        collection: id of the collection.
        first: number of the block; keys in postings are relative to it.
        documents: for each document the keys of its chunks, and its index data.
    """
    postings: dict[str, bytearray] = {}
    for keys, document in documents:
        for key, counts in zip(keys, document.terms, strict=True):
            length = sum(counts.values())
            for term, number in counts.items():
                postings.setdefault(term, bytearray()).extend(_PACK(key - first, number, length))
    _write_postings(session, collection, first, postings)
    names = [(collection, *row, keys[slot]) for keys, each in documents for slot, row in each.definitions]
    if names:
        columns = "collection, term_key, alias, document_id, position, place, term, key"
        types = ("int4", "text", "int4", "text", "int4", "int4", "text", "int8")
        session.copy(f"{SCHEMA}.definitions", columns, types, names)


def _write_postings(
    session: PostgresSession, collection: int, block: int, data: Mapping[str, bytes | bytearray]
) -> None:
    rows = (
        (collection, term, block, bytes(entries[start : start + PIECE]))
        for term, entries in sorted(data.items())
        for start in range(0, len(entries), PIECE)
    )
    session.copy(f"{SCHEMA}.postings", "collection, term, block, entries", ("int4", "text", "int8", "bytea"), rows)


def lock_documents(session: PostgresSession, collection: int, document_ids: Iterable[str]) -> None:
    """Lock some documents against other writers until the transaction ends."""
    _lock(session, [f"{collection} {each}" for each in document_ids])


def _lock(session: PostgresSession, names: Iterable[str]) -> None:
    digests = {hashlib.sha256(name.encode()).digest() for name in names}
    keys = sorted(int.from_bytes(each[:8], "big", signed=True) for each in digests)
    session.run("SELECT pg_advisory_xact_lock(key) FROM unnest(%s::bigint[]) key", (keys,))


def publish(
    session: PostgresSession,
    extension: Extension,
    place: PostgresPlace,
    documents: Sequence[tuple[WholeDocument, IndexedDocument]],
) -> list[int]:
    """Replace the visible versions of documents; returns the new generations, which are unique."""
    ids = [document.record.id for document, _ in documents]
    lock_documents(session, place.id, ids)
    gone = remove(session, place.id, ids)
    numbers = _numbers(session, len(documents) + sum(len(each.chunks) for each, _ in documents))
    named, keys = numbers[: len(documents)], numbers[len(documents) :]
    block: list[tuple[Sequence[int], IndexedDocument]] = []
    records: list[Row] = []
    chunks: list[tuple[int, EmbeddedChunk]] = []
    for generation, (document, indexed) in zip(named, documents, strict=True):
        first = len(chunks)
        mine = keys[first : first + len(document.chunks)]
        chunks.extend(zip(mine, in_stored_order(document.chunks), strict=True))
        block.append((mine, indexed))
        records.append(_record(generation, place.id, numbers[0], document, indexed))
    session.copy(f"{SCHEMA}.documents", _DOCUMENT_COLUMNS, _DOCUMENT_TYPES, records)
    session.copy(
        f"{SCHEMA}.chunks", _CHUNK_COLUMNS, (*_CHUNK_TYPES, extension.oid), (_chunk(place.id, *each) for each in chunks)
    )
    payloads = ((key, chunk_to_json(each.chunk).encode()) for key, each in chunks)
    session.copy(f"{SCHEMA}.payloads", "key, payload", ("int8", "bytea"), payloads)
    write_block(session, place.id, numbers[0], block)
    added = [(1, *_sums(document, indexed)) for document, indexed in documents]
    count(session, place.id, np.array(added, np.int64).sum(0) - gone)
    return named


def _numbers(session: PostgresSession, count: int) -> list[int]:
    found = session.rows(f"SELECT nextval('{SCHEMA}.keys') FROM generate_series(1, %s)", (count,))
    return [int(row[0]) for row in found]


_DOCUMENT_COLUMNS = "generation, collection, document_id, block, chunks, tokens, words, record, text, structure"
_DOCUMENT_TYPES = ("int8", "int4", "text", "int8", "int4", "int8", "int8", "bytea", "bytea", "bytea")
_CHUNK_COLUMNS = (
    f"key, collection, document_id, position, chunk_id, {', '.join(FIELDS)}, content_hash, embedding_key, vector"
)
_CHUNK_TYPES = ("int8", "int4", "text", "int4", *("text",) * 7)


def _record(generation: int, collection: int, block: int, document: WholeDocument, indexed: IndexedDocument) -> Row:
    record, shape = document.record, structure_to_json(document.structure)
    parts = (record_to_json(record, document.text, shape), document.text, shape)
    return (generation, collection, record.id, block, *_sums(document, indexed), *(each.encode() for each in parts))


def _sums(document: WholeDocument, indexed: IndexedDocument) -> tuple[int, int, int]:
    return len(document.chunks), document.record.token_count, indexed.words


def _chunk(collection: int, key: int, each: EmbeddedChunk) -> Row:
    chunk = each.chunk
    values = (field_value(chunk, name) for name in FIELDS)
    place = (key, collection, chunk.document_id, chunk.index, chunk.id)
    return (*place, *values, chunk.content_hash, each.embedding_key, PostgresVector(each.vector))


def remove(session: PostgresSession, collection: int, document_ids: Sequence[str]) -> Counters:
    """Delete locked documents with everything that belongs to them; returns what the caller must subtract."""
    bound = (collection, list(document_ids))
    found = session.rows(
        f"DELETE FROM {SCHEMA}.documents WHERE collection = %s AND document_id = ANY(%s)"
        " RETURNING block, tokens, words",
        bound,
    )
    if not found:
        return np.zeros(4, np.int64)
    rows = session.rows(
        f"DELETE FROM {SCHEMA}.chunks WHERE collection = %s AND document_id = ANY(%s) RETURNING key", bound
    )
    keys = [int(row[0]) for row in rows]
    session.run(f"DELETE FROM {SCHEMA}.payloads WHERE key = ANY(%s)", (keys,))
    session.run(f"DELETE FROM {SCHEMA}.definitions WHERE collection = %s AND document_id = ANY(%s)", bound)
    _take_out(session, collection, {int(row[0]) for row in found}, keys)
    return np.array((len(found), len(keys), sum(row[1] for row in found), sum(row[2] for row in found)), np.int64)


def _take_out(session: PostgresSession, collection: int, blocks: set[int], keys: Sequence[int]) -> None:
    """Remove the postings of chunks from their blocks; blocks that other documents share are rewritten."""
    _lock(session, [f"block {each}" for each in blocks])
    shared = session.rows(f"SELECT DISTINCT block FROM {SCHEMA}.documents WHERE block = ANY(%s)", (list(blocks),))
    gone = np.array(keys, np.int64)
    for (block,) in shared:
        kept: dict[str, bytes] = {}
        for term, data in session.rows(
            f"SELECT term, string_agg(entries, ''::bytea) FROM {SCHEMA}.postings WHERE block = %s GROUP BY term",
            (block,),
        ):
            entries = np.frombuffer(data, ENTRY)
            left = entries[~np.isin(entries["offset"].astype(np.int64) + block, gone)]
            if len(left) < len(entries):
                kept[term] = left.tobytes()
        session.run(f"DELETE FROM {SCHEMA}.postings WHERE block = %s AND term = ANY(%s)", (block, list(kept)))
        _write_postings(session, collection, block, kept)
    session.run(
        f"DELETE FROM {SCHEMA}.postings WHERE block = ANY(%s)", (sorted(blocks - {int(row[0]) for row in shared}),)
    )


def count(session: PostgresSession, collection: int, added: Counters) -> None:
    """Update a collection's counters and state. Call it last: other writers wait from here to the end."""
    session.run(
        f"UPDATE {SCHEMA}.collections SET state = gen_random_uuid(), documents = documents + %s, chunks = chunks + %s,"
        " tokens = tokens + %s, words = words + %s WHERE id = %s",
        (*added.tolist(), collection),
    )


def generations(session: PostgresSession, collection: int, document_ids: Sequence[str]) -> set[int]:
    """Return the visible generations of some documents."""
    found = session.rows(
        f"SELECT generation FROM {SCHEMA}.documents WHERE collection = %s AND document_id = ANY(%s)",
        (collection, list(document_ids)),
    )
    return {int(row[0]) for row in found}


def drop(session: PostgresSession, place: PostgresPlace) -> None:
    """Delete a locked collection with all its content; its vector index is dropped when another one is created."""
    bound = (place.id,)
    session.run(
        f"DELETE FROM {SCHEMA}.payloads WHERE key IN (SELECT key FROM {SCHEMA}.chunks WHERE collection = %s)", bound
    )
    for table in ("chunks", "documents", "postings", "definitions"):
        session.run(f"DELETE FROM {SCHEMA}.{table} WHERE collection = %s", bound)
    session.run(f"DELETE FROM {SCHEMA}.collections WHERE id = %s", bound)


def rename(session: PostgresSession, names: Mapping[str, str]) -> dict[int, str]:
    """Rename collections; returns the new names by collection id."""
    _lock(session, ["names"])  # blocks other renames until the transaction ends
    ids = {str(row[1]): int(row[0]) for row in session.rows(f"SELECT id, name FROM {SCHEMA}.collections")}
    changed = checked_renames(names, ids)
    for old in sorted(changed):  # names are unique at all times, so old names are released first
        session.run(f"UPDATE {SCHEMA}.collections SET name = chr(1) || id WHERE id = %s", (ids[old],))
    for old, new in changed.items():
        session.run(f"UPDATE {SCHEMA}.collections SET name = %s WHERE id = %s", (new, ids[old]))
    return {ids[old]: new for old, new in changed.items()}


def index_names(place: PostgresPlace) -> list[str]:
    """List the names of a large collection's indexes; the vector index only if pgvector supports the dimensions."""
    return [
        f"{kind}_{place.id}" for kind in _INDEXES if kind != "vectors" or place.space.dimensions <= _MOST_DIMENSIONS
    ]


def index_chunks(session: PostgresSession, extension: Extension, place: PostgresPlace) -> None:
    """Create the indexes of a large collection, and drop those of collections that no longer exist.

    Writers wait meanwhile, readers do not. Chunks published later are added to the indexes.
    """
    found = session.rows(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
        f" AND c.relkind = 'i' AND c.relname ~ '^({'|'.join(_INDEXES)})_[0-9]+$' AND NOT EXISTS"
        f" (SELECT 1 FROM {SCHEMA}.collections WHERE split_part(c.relname, '_', 2) = id::text)",
        (SCHEMA,),
    )
    for (name,) in found:
        session.run(f"DROP INDEX {SCHEMA}.{name}")
    session.set(*NO_WORKERS)
    half = f"{extension.schema}.halfvec"
    for name in index_names(place):
        what = _INDEXES[name.partition("_")[0]].format(half=f"{half}({place.space.dimensions})", ops=f"{half}_ip_ops")
        session.run(f"CREATE INDEX IF NOT EXISTS {name} ON {SCHEMA}.{what} WHERE collection = {place.id}")
    # otherwise the indexes are not used until autovacuum has run
    session.run(f"ANALYZE {SCHEMA}.chunks, {SCHEMA}.postings")
