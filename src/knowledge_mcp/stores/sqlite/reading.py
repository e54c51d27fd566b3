"""How the SQLite store reads what is visible: records, texts, chunks, definitions, known vectors.

What has a check sum is read as bytes, so that one damaged letter does not keep SQLite from giving the rows beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentParts, DocumentRecord
from knowledge_mcp.model.errors import sound
from knowledge_mcp.model.query import ChunkKey
from knowledge_mcp.stores.shared.order import by_value, in_order
from knowledge_mcp.stores.shared.payload import chunk_from_json, parts_from, record_from_json
from knowledge_mcp.stores.sqlite.session import Row, Session

_AT_ONCE = 500
"""Values looked up by one statement; in these, `CROSS JOIN` holds SQLite to the order written: chunks first."""


def records(
    connection: Session, collection: int, document_ids: Sequence[str] | None = None, limit: int | None = None
) -> list[DocumentRecord]:
    """Read records by document id: all of them, the first few, or those of some ids."""
    if document_ids is None:
        select = (
            "SELECT CAST(record AS BLOB), document_id FROM documents WHERE collection = ? ORDER BY document_id LIMIT ?"
        )
        return sound(connection.rows(select, (collection, -1 if limit is None else limit)), _record)
    known: list[DocumentRecord] = []
    for asked in _batches(dict.fromkeys(document_ids)):
        select = (
            "SELECT CAST(record AS BLOB), document_id FROM documents"
            f" WHERE collection = ? AND document_id IN ({_marks(asked)})"
        )
        known.extend(sound(connection.rows(select, (collection, *asked)), _record))
    return sorted(known, key=lambda each: each.id)[:limit]


def _record(row: Row) -> DocumentRecord:
    return record_from_json(row[0], row[1])


def _chunk(row: Row) -> Chunk:
    return chunk_from_json(row[-1])


def parts(connection: Session, collection: int, document_id: str) -> DocumentParts | None:
    """Read a canonical text, and sections and pages, which are empty where none were published."""
    found = connection.rows(
        "SELECT CAST(d.record AS BLOB), d.document_id, CAST(t.text AS BLOB), coalesce(CAST(s.structure AS BLOB), x'')"
        " FROM documents d LEFT JOIN texts t ON t.generation = d.generation"
        " LEFT JOIN structures s ON s.generation = d.generation WHERE d.collection = ? AND d.document_id = ?",
        (collection, document_id),
    )
    return parts_from(*found[0]) if found else None


def chunks(connection: Session, collection: int, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
    """Read visible chunks by their ids, or those of documents, terms or contents."""
    if key == "id":
        return _chunks_by_id(connection, collection, values)
    if key == "content":
        return _chunks_by_content(connection, collection, values)
    read = document_chunks if key == "document" else _definitions
    return [chunk for value in values for chunk in read(connection, collection, value)]


def document_chunks(connection: Session, collection: int, document_id: str) -> list[Chunk]:
    """Read a document's chunks by index."""
    found = connection.rows(
        "SELECT CAST(c.payload AS BLOB) FROM documents d JOIN chunks c ON c.generation = d.generation"
        " WHERE d.collection = ? AND d.document_id = ? ORDER BY c.position, c.chunk_id",
        (collection, document_id),
    )
    return sound(found, _chunk)


def _chunks_by_id(connection: Session, collection: int, chunk_ids: Sequence[str]) -> list[Chunk]:
    """Read chunks in the order asked; an id asked twice is given twice."""
    found = _visible(connection, collection, chunk_ids, "CAST(c.payload AS BLOB)")
    return by_value(sound(found, _chunk), lambda chunk: chunk.id, chunk_ids)


def visible_keys(connection: Session, collection: int, chunk_ids: Sequence[str]) -> dict[str, int]:
    """Map ids of visible chunks to their keys."""
    return {str(chunk_id): int(key) for chunk_id, key in _visible(connection, collection, chunk_ids, "c.key")}


def _visible(connection: Session, collection: int, chunk_ids: Sequence[str], column: str) -> Iterator[Row]:
    """Read the id and a column of each visible chunk of some."""
    for asked in _batches(dict.fromkeys(chunk_ids)):
        yield from connection.rows(
            f"SELECT c.chunk_id, {column} FROM chunks c CROSS JOIN generations g ON g.id = c.generation"
            f" WHERE c.chunk_id IN ({_marks(asked)}) AND g.collection = ? AND g.visible = 1",
            (*asked, collection),
        )


def known_vectors(connection: Session, collection: int, dimensions: int, keys: Sequence[str]) -> dict[str, Vector]:
    """Look vectors up by embedding key; damaged ones are not known."""
    known: dict[str, Vector] = {}
    for asked in _batches(dict.fromkeys(keys)):
        found = connection.rows(
            "SELECT c.embedding_key, v.vector FROM chunks c CROSS JOIN generations g ON g.id = c.generation"
            " CROSS JOIN vectors v ON v.key = c.key"
            f" WHERE substr(c.embedding_key, 1, 16) IN ({_marks(asked)}) AND g.collection = ?",
            (*(key[:16] for key in asked), collection),
        )
        known.update((key, vector) for key, vector in found if _is_sound(vector, dimensions))
    return {key: known[key] for key in keys if key in known}


def _is_sound(vector: Vector, dimensions: int) -> bool:
    """Tell whether a vector can be used again."""
    return len(vector) == 4 * dimensions and bool(np.isfinite(np.frombuffer(vector, "<f4")).all())


def _chunks_by_content(connection: Session, collection: int, hashes: Sequence[str]) -> list[Chunk]:
    """Read chunks by the hashes of their words."""
    found: list[Row] = []
    for asked in _batches(dict.fromkeys(hashes)):
        found += connection.rows(
            "SELECT CAST(c.payload AS BLOB) FROM chunks c CROSS JOIN generations g ON g.id = c.generation"
            f" WHERE substr(c.content_hash, 1, 16) IN ({_marks(asked)}) AND g.collection = ? AND g.visible = 1",
            (*(each[:16] for each in asked), collection),
        )
    return by_value(sound(found, _chunk), lambda chunk: chunk.content_hash, hashes)


def _definitions(connection: Session, collection: int, term_key: str) -> list[Chunk]:
    """Read the chunks that define a term, by document and index."""
    found = connection.rows(
        "SELECT CAST(c.payload AS BLOB) FROM chunks c WHERE c.key IN"
        " (SELECT key FROM definitions WHERE collection = ? AND term_key = ?)",
        (collection, term_key),
    )
    return in_order(sound(found, _chunk))


def defined_terms(connection: Session, collection: int) -> dict[str, str]:
    """Map keys to terms as printed: a term before an alias, the first document and passage before later ones."""
    terms: dict[str, str] = {}
    for key, term in connection.rows(
        "SELECT term_key, term FROM definitions WHERE collection = ?"
        " ORDER BY term_key, alias, document_id, position, place, rowid",
        (collection,),
    ):
        terms.setdefault(key, term)
    return terms


def _batches(values: dict[str, None]) -> Iterator[list[str]]:
    remaining = iter(values)
    while batch := list(islice(remaining, _AT_ONCE)):
        yield batch


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
