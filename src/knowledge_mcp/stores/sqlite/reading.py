"""Reads the visible content of the SQLite store: records, texts, chunks, definitions, known vectors.

Columns with a check sum are read as bytes, so that one damaged character does not make SQLite fail on the whole query.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import DocumentParts, DocumentRecord
from knowledge_mcp.model.errors import sound
from knowledge_mcp.model.query import ChunkKey
from knowledge_mcp.stores.shared.payload import chunk_from_json, parts_from, record_from_json
from knowledge_mcp.stores.shared.rules import by_value, in_order
from knowledge_mcp.stores.sqlite.tables import Row, Session
from knowledge_mcp.support.batches import batches

_AT_ONCE = 500
"""Values per lookup statement. `CROSS JOIN` makes SQLite read the tables in the order written: chunks first."""


def records(
    connection: Session, collection: int, document_ids: Sequence[str] | None = None, limit: int | None = None
) -> list[DocumentRecord]:
    """Read records, sorted by document id: all, the first `limit`, or those of some ids."""
    if document_ids is None:
        select = (
            "SELECT CAST(record AS BLOB), document_id FROM documents WHERE collection = ? ORDER BY document_id LIMIT ?"
        )
        return sound(connection.rows(select, (collection, -1 if limit is None else limit)), _record)
    known: list[DocumentRecord] = []
    for batch in batches(dict.fromkeys(document_ids), _AT_ONCE):
        select = (
            "SELECT CAST(record AS BLOB), document_id FROM documents"
            f" WHERE collection = ? AND document_id IN ({_marks(batch)})"
        )
        known.extend(sound(connection.rows(select, (collection, *batch)), _record))
    return sorted(known, key=lambda each: each.id)[:limit]


def _record(row: Row) -> DocumentRecord:
    return record_from_json(row[0], row[1])


def _chunk(row: Row) -> Chunk:
    return chunk_from_json(row[-1])


def parts(connection: Session, collection: int, document_id: str) -> DocumentParts | None:
    """Read the canonical text and the structure of a document; the structure is empty if none was published."""
    found = connection.rows(
        "SELECT CAST(d.record AS BLOB), d.document_id, CAST(t.text AS BLOB), coalesce(CAST(s.structure AS BLOB), x'')"
        " FROM documents d LEFT JOIN texts t ON t.generation = d.generation"
        " LEFT JOIN structures s ON s.generation = d.generation WHERE d.collection = ? AND d.document_id = ?",
        (collection, document_id),
    )
    return parts_from(*found[0]) if found else None


def chunks(connection: Session, collection: int, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
    """Read visible chunks by id, document, defined term or content hash."""
    if key == "id":
        found = _visible(connection, collection, "c.chunk_id", values, "CAST(c.payload AS BLOB)")
        return by_value(sound(found, _chunk), "id", values)
    if key == "content":
        starts = [value[:16] for value in values]
        found = _visible(connection, collection, "substr(c.content_hash, 1, 16)", starts, "CAST(c.payload AS BLOB)")
        return by_value(sound(found, _chunk), "content", values)
    read = document_chunks if key == "document" else _definitions
    return [chunk for value in values for chunk in read(connection, collection, value)]


def document_chunks(connection: Session, collection: int, document_id: str) -> list[Chunk]:
    """Read a document's chunks in order."""
    found = connection.rows(
        "SELECT CAST(c.payload AS BLOB) FROM documents d JOIN chunks c ON c.generation = d.generation"
        " WHERE d.collection = ? AND d.document_id = ? ORDER BY c.position, c.chunk_id",
        (collection, document_id),
    )
    return sound(found, _chunk)


def visible_keys(connection: Session, collection: int, chunk_ids: Sequence[str]) -> dict[str, int]:
    """Map the ids of visible chunks to their keys."""
    found = _visible(connection, collection, "c.chunk_id", chunk_ids, "c.chunk_id, c.key")
    return {str(chunk_id): int(key) for chunk_id, key in found}


def _visible(connection: Session, collection: int, of: str, values: Sequence[str], columns: str) -> Iterator[Row]:
    """Yield columns of the visible chunks for which the SQL expression `of` has one of the values."""
    for batch in batches(dict.fromkeys(values), _AT_ONCE):
        yield from connection.rows(
            f"SELECT {columns} FROM chunks c CROSS JOIN generations g ON g.id = c.generation"
            f" WHERE {of} IN ({_marks(batch)}) AND g.collection = ? AND g.visible = 1",
            (*batch, collection),
        )


def known_vectors(connection: Session, collection: int, dimensions: int, keys: Sequence[str]) -> dict[str, Vector]:
    """Look up vectors by embedding key; damaged ones are left out."""
    known: dict[str, Vector] = {}
    for batch in batches(dict.fromkeys(keys), _AT_ONCE):
        found = connection.rows(
            "SELECT c.embedding_key, v.vector FROM chunks c CROSS JOIN generations g ON g.id = c.generation"
            " CROSS JOIN vectors v ON v.key = c.key"
            f" WHERE substr(c.embedding_key, 1, 16) IN ({_marks(batch)}) AND g.collection = ?",
            (*(key[:16] for key in batch), collection),
        )
        known.update((key, vector) for key, vector in found if _is_sound(vector, dimensions))
    return {key: known[key] for key in keys if key in known}


def _is_sound(vector: Vector, dimensions: int) -> bool:
    """Return whether a vector has the right length and finite components."""
    import numpy as np

    return len(vector) == 4 * dimensions and bool(np.isfinite(np.frombuffer(vector, "<f4")).all())


def _definitions(connection: Session, collection: int, term_key: str) -> list[Chunk]:
    """Read the chunks that define a term, sorted by document and index."""
    found = connection.rows(
        "SELECT CAST(c.payload AS BLOB) FROM chunks c WHERE c.key IN"
        " (SELECT key FROM definitions WHERE collection = ? AND term_key = ?)",
        (collection, term_key),
    )
    return in_order(sound(found, _chunk))


def defined_terms(connection: Session, collection: int) -> dict[str, str]:
    """Map keys to terms as printed: terms take precedence over aliases, earlier documents over later ones."""
    terms: dict[str, str] = {}
    for key, term in connection.rows(
        "SELECT term_key, term FROM definitions WHERE collection = ?"
        " ORDER BY term_key, alias, document_id, position, place, rowid",
        (collection,),
    ):
        terms.setdefault(key, term)
    return terms


def _marks(values: Sequence[str]) -> str:
    return ",".join("?" * len(values))
