"""Writes to the SQLite store: one transaction replaces a document's visible generation with a new one.

Slow work (analysing chunks into terms) is done before the write transaction begins, so that other writers wait as
little as possible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import sound
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.filters import kind_of
from knowledge_mcp.stores.shared.payload import chunk_from_json, chunk_to_json, record_to_json, structure_to_json
from knowledge_mcp.stores.shared.ranking import DefinedName, counted_terms, defined_names
from knowledge_mcp.stores.shared.rules import checked_renames, in_stored_order
from knowledge_mcp.stores.sqlite.postings import Segment, add_segment, drop_segments, renumber_postings
from knowledge_mcp.stores.sqlite.tables import Session
from knowledge_mcp.stores.sqlite.view import sign_bits


@dataclass(frozen=True)
class PreparedChunks:
    """Index data of a document's chunks, computed before the write transaction begins.

    Attributes:
        bits: sign bits of the vectors, see `view.sign_bits`.
        lengths: number of terms of each chunk, uint32.
        fields: filter fields as JSON, see `fields_of`.
        segment: the postings.
        definitions: names, each with the position of the chunk that defines it.
    """

    bits: bytes
    lengths: bytes
    fields: str
    segment: Segment
    definitions: tuple[tuple[int, DefinedName], ...]


def prepare(chunks: Sequence[Chunk], vectors: Sequence[Vector], analyser: Analyser) -> PreparedChunks:
    """Compute the index data of a document's chunks, given in order."""
    segment = Segment()
    lengths: list[int] = []
    definitions: list[tuple[int, DefinedName]] = []
    for slot, chunk in enumerate(chunks):
        counts = counted_terms(chunk, analyser)
        segment.add(slot, counts)
        lengths.append(sum(counts.values()))
        definitions.extend((slot, row) for row in defined_names(chunk, analyser))
    signs = sign_bits(np.frombuffer(b"".join(vectors), "<f4").reshape(len(chunks), -1)).tobytes() if chunks else b""
    return PreparedChunks(
        bits=signs,
        lengths=np.array(lengths, "<u4").tobytes(),
        fields=fields_of(chunks),
        segment=segment,
        definitions=tuple(definitions),
    )


def read_again(connection: Session, generation: int, analyser: Analyser) -> tuple[list[int], PreparedChunks]:
    """Read a generation's chunks that have a vector; return their keys and their index data."""
    found = connection.rows(
        "SELECT c.key, CAST(c.payload AS BLOB), v.vector FROM chunks c JOIN vectors v ON v.key = c.key"
        " WHERE c.generation = ? ORDER BY c.position, c.chunk_id",
        (generation,),
    )
    read = sound(found, lambda row: (int(row[0]), chunk_from_json(row[1]), row[2]))
    prepared = prepare([chunk for _, chunk, _ in read], [vector for _, _, vector in read], analyser)
    return [key for key, _, _ in read], prepared


def fields_of(chunks: Sequence[Chunk]) -> str:
    """Serialise the filter fields of a block: the distinct kinds, the kind of each chunk, and its clause number."""
    kinds: dict[tuple[str, str, str], int] = {}
    kind = [kinds.setdefault(kind_of(each), len(kinds)) for each in chunks]
    data = {"kinds": list(kinds), "kind": kind, "clause": [each.clause_number for each in chunks]}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


SPARSE_SLACK = 2_000
"""Up to this many dead slots, renumbering is not worthwhile."""


def publish(connection: Session, collection: int, documents: Sequence[tuple[WholeDocument, PreparedChunks]]) -> None:
    """Replace the visible generations of documents, with one segment of postings for all of them."""
    segment, base = Segment(), None
    for document, prepared in documents:
        bury(connection, collection, document.record.id)
        first_slot = _write(connection, collection, document, prepared)
        base = first_slot if base is None else base
        segment.take_over(prepared.segment, first_slot - base)
    if base is not None and segment.slots:
        add_segment(connection, collection, segment.lists(base))
    records = [document.record for document, _ in documents]
    connection.run(
        "UPDATE collections SET version = version + 1, documents = documents + ?, chunks = chunks + ?,"
        " tokens = tokens + ? WHERE id = ?",
        (
            len(records),
            sum(each.chunk_count for each in records),
            sum(each.token_count for each in records),
            collection,
        ),
    )
    renumber_if_sparse(connection, collection)


def _write(connection: Session, collection: int, document: WholeDocument, prepared: PreparedChunks) -> int:
    """Write a document as a visible generation, except its postings; return its first slot."""
    record = document.record
    generation = connection.insert(
        "INSERT INTO generations (collection, document_id, name, visible) VALUES (?, ?, '', 1)",
        (collection, record.id),
    )
    keys: list[int] = []
    for each in in_stored_order(document.chunks):
        chunk = each.chunk
        key = connection.insert(
            "INSERT INTO chunks (generation, position, chunk_id, content_hash, embedding_key, payload)"
            " VALUES (?, ?, ?, ?, ?, ?)",
            (generation, chunk.index, chunk.id, chunk.content_hash, each.embedding_key, chunk_to_json(chunk)),
        )
        connection.run("INSERT INTO vectors (key, vector) VALUES (?, ?)", (key, each.vector))
        keys.append(key)
    shape = structure_to_json(document.structure)
    connection.run(
        "INSERT INTO documents (generation, collection, document_id, chunks, tokens, record) VALUES (?, ?, ?, ?, ?, ?)",
        (
            generation,
            collection,
            record.id,
            len(keys),
            record.token_count,
            record_to_json(record, document.text, shape),
        ),
    )
    connection.run("INSERT INTO texts (generation, text) VALUES (?, ?)", (generation, document.text))
    if shape:
        connection.run("INSERT INTO structures (generation, structure) VALUES (?, ?)", (generation, shape))
    return write_block(connection, collection, record.id, generation, keys, prepared)


def write_block(
    connection: Session,
    collection: int,
    document_id: str,
    generation: int,
    keys: Sequence[int],
    prepared: PreparedChunks,
) -> int:
    """Write a generation's block and definitions at the next free slots; return the first slot."""
    first_slot = int(connection.rows("SELECT next_slot FROM collections WHERE id = ?", (collection,))[0][0])
    connection.run(
        "INSERT INTO blocks (generation, collection, first_slot, size, document_id, keys, bits, lengths, fields)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            generation,
            collection,
            first_slot,
            len(keys),
            document_id,
            np.array(keys, "<i8").tobytes(),
            prepared.bits,
            prepared.lengths,
            prepared.fields,
        ),
    )
    connection.many(
        "INSERT INTO definitions (collection, generation, term_key, alias, document_id, position, place, term, key)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(collection, generation, *row, keys[slot]) for slot, row in prepared.definitions],
    )
    # an empty block takes a slot too, because blocks are identified by their first slot
    connection.run("UPDATE collections SET next_slot = next_slot + ? WHERE id = ?", (max(1, len(keys)), collection))
    return first_slot


def bury(connection: Session, collection: int, document_id: str) -> int | None:
    """Delete a document's visible generation; the caller must increment the version.

    Returns:
        The number of its chunks, or None if there was no generation.
    """
    found = connection.rows(
        "SELECT g.id, b.first_slot, coalesce(b.size, 0), d.generation IS NOT NULL, coalesce(d.tokens, 0)"
        " FROM generations g LEFT JOIN blocks b ON b.generation = g.id LEFT JOIN documents d ON d.generation = g.id"
        " WHERE g.collection = ? AND g.document_id = ? AND g.visible = 1",
        (collection, document_id),
    )
    if not found:
        return None
    generation, first_slot, size, known, tokens = found[0]
    if first_slot is not None:
        connection.run(
            "INSERT INTO graves (collection, version, first_slot, size)"
            " SELECT id, version + 1, ?, ? FROM collections WHERE id = ?",
            (first_slot, size, collection),
        )
    connection.run(
        "UPDATE collections SET documents = documents - ?, chunks = chunks - ?, tokens = tokens - ? WHERE id = ?",
        (known, size, tokens, collection),
    )
    return delete_generations(connection, [generation])


def delete_generations(connection: Session, generations: Sequence[int]) -> int:
    """Delete generations with everything that belongs to them except postings; return the number of chunks."""
    gone = 0
    for generation in generations:
        bound = (generation,)
        connection.run("DELETE FROM vectors WHERE key IN (SELECT key FROM chunks WHERE generation = ?)", bound)
        gone += connection.delete("DELETE FROM chunks WHERE generation = ?", bound)
        for table in ("documents", "texts", "structures", "blocks", "definitions"):
            connection.run(f"DELETE FROM {table} WHERE generation = ?", bound)
        connection.run("DELETE FROM generations WHERE id = ?", bound)
    return gone


def renumber_if_sparse(connection: Session, collection: int) -> None:
    """Renumber the slots if most are dead. All views are then rebuilt from scratch."""
    next_slot, chunks, documents = connection.rows(
        "SELECT next_slot, chunks, documents FROM collections WHERE id = ?", (collection,)
    )[0]
    if next_slot <= 2 * (chunks + documents) + SPARSE_SLACK:
        return
    new_slots = np.full(int(next_slot), -1, np.int64)
    blocks = connection.rows(
        "SELECT generation, first_slot, size FROM blocks WHERE collection = ? ORDER BY first_slot",
        (collection,),
    )
    free = 0
    for generation, first_slot, size in blocks:
        new_slots[first_slot : first_slot + size] = np.arange(free, free + size)
        # blocks only move down, in ascending order, so no two blocks ever share a first slot
        connection.run("UPDATE blocks SET first_slot = ? WHERE generation = ?", (free, generation))
        free += max(1, size)
    if chunks:
        renumber_postings(connection, collection, new_slots)
    else:
        drop_segments(connection, collection)
    connection.run("DELETE FROM graves WHERE collection = ?", (collection,))
    connection.run(
        "UPDATE collections SET next_slot = ?, epoch = epoch + 1, version = version + 1 WHERE id = ?",
        (free, collection),
    )


def delete_document(connection: Session, collection: int, document_id: str) -> int:
    """Delete a document; return the number of visible chunks that were removed."""
    gone = bury(connection, collection, document_id)
    if gone is None:
        return 0
    connection.run("UPDATE collections SET version = version + 1 WHERE id = ?", (collection,))
    renumber_if_sparse(connection, collection)
    return gone


def drop(connection: Session, collection: int) -> None:
    """Delete a collection and all its content."""
    found = connection.rows("SELECT id FROM generations WHERE collection = ?", (collection,))
    delete_generations(connection, [int(row[0]) for row in found])
    drop_segments(connection, collection)
    connection.run("DELETE FROM graves WHERE collection = ?", (collection,))
    connection.run("DELETE FROM collections WHERE id = ?", (collection,))


def rename(connection: Session, names: Mapping[str, str]) -> None:
    """Rename collections; everything else refers to them by id."""
    ids = {str(row[1]): int(row[0]) for row in connection.rows("SELECT id, name FROM collections")}
    changed = checked_renames(names, ids)
    for old in changed:  # names are unique after every statement, so old names are released before new ones are set
        connection.run("UPDATE collections SET name = char(0) || id WHERE id = ?", (ids[old],))
    for old, new in changed.items():
        connection.run("UPDATE collections SET name = ? WHERE id = ?", (new, ids[old]))
