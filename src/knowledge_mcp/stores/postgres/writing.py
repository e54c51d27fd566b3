"""How the PostgreSQL store writes: one transaction puts documents in the place of those that are visible.

Whatever takes time (cutting chunks into terms) is done before the transaction begins. Documents are locked in one
order, then the blocks of their old postings, then for a moment the counters: no two writers wait for each other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.query import FilterField
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.postgres.tables import SCHEMA, Extension, PostgresPlace, PostgresSession, PostgresVector, Row
from knowledge_mcp.stores.shared.filters import field_value
from knowledge_mcp.stores.shared.payload import chunk_to_json, record_to_json, structure_to_json
from knowledge_mcp.stores.shared.ranking import DefinedName, counted_terms, defined_names
from knowledge_mcp.stores.shared.rules import as_kept, checked_renames

ENTRY = np.dtype([("offset", "<u4"), ("count", "u1"), ("length", "<u4")])
"""A posting: the chunk's key from its block's first one on, how often it holds the term, and its length in terms."""

FIELDS: tuple[FilterField, ...] = ("document_type", "chunk_type", "normative", "clause_number")
_POSTING_COLUMNS = ("collection, term, block, data", ("int4", "text", "int8", "bytea"))

INDEX_FROM_CHUNKS = 20_000
"""Chunks from which an approximate index pays: an exact search of so many takes 25 ms, one by the index 3 ms."""
SHORT = "octet_length(data) <= 2000"
"""Postings that an index can hold beside their term, so that those of a term lie together; longer ones are few."""
_INDEXES = {
    "filters": "chunks (clause_number, document_type, chunk_type, normative, document_id) WHERE",
    "terms": f"postings (term, block) INCLUDE (data) WHERE {SHORT} AND",
    "longs": f"postings (term) WHERE NOT {SHORT} AND",
    "vectors": "chunks USING hnsw ((vector::{half}) {ops}) WHERE",
}
"""Indexes of a large collection by the first part of their name: on what, up to the collection."""
_MOST_DIMENSIONS = 4_000
"""Components up to which pgvector has an index."""


@dataclass(frozen=True, slots=True)
class Counters:
    """Count what a transaction adds or takes away."""

    documents: int = 0
    chunks: int = 0
    tokens: int = 0
    words: int = 0


@dataclass(frozen=True)
class IndexedDocument:
    """Hold what the search index keeps of a document's chunks, worked out before the transaction begins.

    Attributes:
        terms: counted terms of each chunk, by index.
        definitions: names, each with the position of the chunk that defines it.
    """

    terms: tuple[Mapping[str, int], ...]
    definitions: tuple[tuple[int, DefinedName], ...]

    @property
    def words(self) -> int:
        """Count all terms."""
        return sum(sum(each.values()) for each in self.terms)


@dataclass
class IndexedBlock:
    """Gather the postings and definitions of documents that are written together; keys must come in ascending order."""

    first: int
    postings: dict[str, list[tuple[int, int, int]]] = field(default_factory=dict[str, list[tuple[int, int, int]]])
    definitions: list[Row] = field(default_factory=list[Row])


def prepare(chunks: Sequence[Chunk], analyser: Analyser) -> IndexedDocument:
    """Work out postings and definitions of a document's chunks, given by index."""
    definitions = [(slot, name) for slot, chunk in enumerate(chunks) for name in defined_names(chunk, analyser)]
    return IndexedDocument(tuple([counted_terms(each, analyser) for each in chunks]), tuple(definitions))


def add_document(block: IndexedBlock, collection: int, keys: Sequence[int], document: IndexedDocument) -> None:
    """Take a document into a block."""
    for key, counts in zip(keys, document.terms, strict=True):
        length = sum(counts.values())
        for term, number in counts.items():
            block.postings.setdefault(term, []).append((key - block.first, number, length))
    block.definitions.extend((collection, *row, keys[slot]) for slot, row in document.definitions)


def write_block(session: PostgresSession, collection: int, block: IndexedBlock) -> None:
    """Write a block's postings and definitions."""
    rows = (
        (collection, term, block.first, np.array(entries, ENTRY).tobytes())
        for term, entries in sorted(block.postings.items())
    )
    session.copy(f"{SCHEMA}.postings", *_POSTING_COLUMNS, rows)
    session.copy(
        f"{SCHEMA}.definitions",
        "collection, term_key, alias, document_id, position, place, term, key",
        ("int4", "text", "int4", "text", "int4", "int4", "text", "int8"),
        block.definitions,
    )


def lock_documents(session: PostgresSession, collection: int, document_ids: Iterable[str]) -> None:
    """Keep other writers from some documents until the transaction ends."""
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
    """Let documents take the visible ones' places; gives each one's generation, which nothing else has."""
    ids = [document.record.id for document, _ in documents]
    lock_documents(session, place.id, ids)
    gone = remove(session, place.id, ids)
    numbers = _numbers(session, len(documents) + sum(len(each.chunks) for each, _ in documents))
    named, keys = numbers[: len(documents)], numbers[len(documents) :]
    block = IndexedBlock(numbers[0])
    records: list[Row] = []
    chunks: list[tuple[int, EmbeddedChunk]] = []
    for generation, (document, indexed) in zip(named, documents, strict=True):
        first = len(chunks)
        mine = keys[first : first + len(document.chunks)]
        chunks.extend(zip(mine, as_kept(document.chunks), strict=True))
        add_document(block, place.id, mine, indexed)
        records.append(_record(generation, place.id, block.first, document, indexed))
    session.copy(f"{SCHEMA}.documents", _DOCUMENT_COLUMNS, _DOCUMENT_TYPES, records)
    session.copy(
        f"{SCHEMA}.chunks", _CHUNK_COLUMNS, (*_CHUNK_TYPES, extension.oid), (_chunk(place.id, *each) for each in chunks)
    )
    payloads = ((key, chunk_to_json(each.chunk).encode()) for key, each in chunks)
    session.copy(f"{SCHEMA}.payloads", "key, payload", ("int8", "bytea"), payloads)
    write_block(session, place.id, block)
    tokens = sum(document.record.token_count for document, _ in documents)
    added = Counters(len(documents), len(chunks), tokens, sum(indexed.words for _, indexed in documents))
    count(session, place.id, added, gone)
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
    sums = (len(document.chunks), record.token_count, indexed.words)
    parts = (record_to_json(record, document.text, shape), document.text, shape)
    return (generation, collection, record.id, block, *sums, *(each.encode() for each in parts))


def _chunk(collection: int, key: int, each: EmbeddedChunk) -> Row:
    chunk = each.chunk
    values = (field_value(chunk, name) for name in FIELDS)
    place = (key, collection, chunk.document_id, chunk.index, chunk.id)
    return (*place, *values, chunk.content_hash, each.embedding_key, PostgresVector(each.vector))


def remove(session: PostgresSession, collection: int, document_ids: Sequence[str]) -> Counters:
    """Remove documents, which are locked, with all that hangs on them; the caller counts."""
    bound = (collection, list(document_ids))
    found = session.rows(
        f"DELETE FROM {SCHEMA}.documents WHERE collection = %s AND document_id = ANY(%s)"
        " RETURNING block, chunks, tokens, words",
        bound,
    )
    if not found:
        return Counters()
    rows = session.rows(
        f"DELETE FROM {SCHEMA}.chunks WHERE collection = %s AND document_id = ANY(%s) RETURNING key", bound
    )
    keys = [int(row[0]) for row in rows]
    session.run(f"DELETE FROM {SCHEMA}.payloads WHERE key = ANY(%s)", (keys,))
    session.run(f"DELETE FROM {SCHEMA}.definitions WHERE collection = %s AND document_id = ANY(%s)", bound)
    _take_out(session, {int(row[0]) for row in found}, keys)
    return Counters(len(found), len(keys), sum(int(row[2]) for row in found), sum(int(row[3]) for row in found))


def _take_out(session: PostgresSession, blocks: set[int], keys: Sequence[int]) -> None:
    """Take the postings of chunks out of their blocks; a block that other documents share is rewritten."""
    _lock(session, [f"block {each}" for each in blocks])
    shared = session.rows(f"SELECT DISTINCT block FROM {SCHEMA}.documents WHERE block = ANY(%s)", (list(blocks),))
    gone = np.array(keys, np.int64)
    for (block,) in shared:
        kept: list[Row] = []
        for collection, term, data in session.rows(
            f"DELETE FROM {SCHEMA}.postings WHERE block = %s RETURNING collection, term, data", (block,)
        ):
            entries = np.frombuffer(data, ENTRY)
            left = entries[~np.isin(entries["offset"].astype(np.int64) + block, gone)]
            if len(left):
                kept.append((collection, term, block, left.tobytes()))
        session.copy(f"{SCHEMA}.postings", *_POSTING_COLUMNS, kept)
    session.run(
        f"DELETE FROM {SCHEMA}.postings WHERE block = ANY(%s)", (sorted(blocks - {int(row[0]) for row in shared}),)
    )


def count(session: PostgresSession, collection: int, added: Counters, gone: Counters) -> None:
    """Bring a collection's counters and state up to date; last, for other writers wait from here to the end."""
    session.run(
        f"UPDATE {SCHEMA}.collections SET state = gen_random_uuid(), documents = documents + %s, chunks = chunks + %s,"
        " tokens = tokens + %s, words = words + %s WHERE id = %s",
        (
            added.documents - gone.documents,
            added.chunks - gone.chunks,
            added.tokens - gone.tokens,
            added.words - gone.words,
            collection,
        ),
    )


def generations(session: PostgresSession, collection: int, document_ids: Sequence[str]) -> set[int]:
    """Tell which generations of some documents are visible."""
    found = session.rows(
        f"SELECT generation FROM {SCHEMA}.documents WHERE collection = %s AND document_id = ANY(%s)",
        (collection, list(document_ids)),
    )
    return {int(row[0]) for row in found}


def drop(session: PostgresSession, place: PostgresPlace) -> None:
    """Delete a locked collection with all it holds; its index on vectors goes when another one is made."""
    bound = (place.id,)
    session.run(
        f"DELETE FROM {SCHEMA}.payloads WHERE key IN (SELECT key FROM {SCHEMA}.chunks WHERE collection = %s)", bound
    )
    for table in ("chunks", "documents", "postings", "definitions"):
        session.run(f"DELETE FROM {SCHEMA}.{table} WHERE collection = %s", bound)
    session.run(f"DELETE FROM {SCHEMA}.collections WHERE id = %s", bound)


def rename(session: PostgresSession, names: Mapping[str, str]) -> dict[int, str]:
    """Give collections new names, and return these by id, to which everything else refers."""
    _lock(session, ["names"])  # nobody else renames until the transaction ends
    ids = {str(row[1]): int(row[0]) for row in session.rows(f"SELECT id, name FROM {SCHEMA}.collections")}
    changed = checked_renames(names, ids)
    for old in sorted(changed):  # names are unique at every statement, so that all are given up before any is taken
        session.run(f"UPDATE {SCHEMA}.collections SET name = chr(1) || id WHERE id = %s", (ids[old],))
    for old, new in changed.items():
        session.run(f"UPDATE {SCHEMA}.collections SET name = %s WHERE id = %s", (new, ids[old]))
    return {ids[old]: new for old, new in changed.items()}


def index_names(place: PostgresPlace) -> list[str]:
    """Name a large collection's indexes: of what filters ask for, of terms, of vectors where pgvector has one."""
    return [
        f"{kind}_{place.id}" for kind in _INDEXES if kind != "vectors" or place.space.dimensions <= _MOST_DIMENSIONS
    ]


def index_chunks(session: PostgresSession, extension: Extension, place: PostgresPlace) -> None:
    """Make the indexes of a large collection, and drop those of collections that are gone.

    Writers wait meanwhile, readers do not; what is published later goes into them as it comes.
    """
    found = session.rows(
        "SELECT c.relname FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = %s"
        f" AND c.relkind = 'i' AND c.relname ~ '^({'|'.join(_INDEXES)})_[0-9]+$' AND NOT EXISTS"
        f" (SELECT 1 FROM {SCHEMA}.collections WHERE split_part(c.relname, '_', 2) = id::text)",
        (SCHEMA,),
    )
    for (name,) in found:
        session.run(f"DROP INDEX {SCHEMA}.{name}")
    session.run("SET LOCAL max_parallel_maintenance_workers = 0")  # which need shared memory that containers lack
    half = f"{extension.schema}.halfvec"
    for name in index_names(place):
        what = _INDEXES[name.partition("_")[0]].format(half=f"{half}({place.space.dimensions})", ops=f"{half}_ip_ops")
        session.run(f"CREATE INDEX IF NOT EXISTS {name} ON {SCHEMA}.{what} collection = {place.id}")
    # else they are not used before the server finds the time
    session.run(f"ANALYZE {SCHEMA}.chunks, {SCHEMA}.postings")
