"""How the SQLite store writes: chunks staged out of sight, then one transaction that swaps a document's generations.

Whatever takes time (reading the staged chunks, cutting them into terms) is done before the writing transaction begins;
inside it only prepared rows are moved, so that other writers wait as little as possible.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, WholeDocument
from knowledge_mcp.model.errors import InternalError, sound
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.bm25 import term_counts
from knowledge_mcp.stores.shared.payload import chunk_from_json, chunk_to_json, record_to_json, structure_to_json
from knowledge_mcp.stores.shared.rules import check_announced, checked_renames, not_announced
from knowledge_mcp.stores.sqlite.postings import Segment, add_segment, drop_segments, renumber_postings
from knowledge_mcp.stores.sqlite.session import Row, Session
from knowledge_mcp.stores.sqlite.view import sign_bits

__all__ = [
    "SPARSE_SLACK",
    "PreparedChunks",
    "bury",
    "count_in",
    "delete_document",
    "delete_generations",
    "discard_staged",
    "drop",
    "fields_of",
    "prepare",
    "publish",
    "publish_whole",
    "rename",
    "renumber_if_sparse",
    "stage",
    "work_out",
    "work_out_whole",
    "write_block",
    "write_document",
]


@dataclass(frozen=True)
class PreparedChunks:
    """Hold all that a publish writes about a generation's chunks.

    Attributes:
        generation: its row's id, None where nothing was staged.
        keys: `chunks.key` of every chunk, by position; empty where they have no rows yet.
        definitions: the position of a defining chunk, and what its row holds without ids of other rows.
        chunks: those that have no rows yet, by position.
    """

    generation: int | None
    keys: tuple[int, ...]
    bits: bytes
    lengths: bytes
    fields: str
    segment: Segment
    definitions: tuple[tuple[int, Row], ...]
    chunks: Sequence[EmbeddedChunk] = ()


def prepare(
    connection: Session, collection: int, document_id: str, generation: str, analyser: Analyser
) -> PreparedChunks:
    """Read what was staged and work out its block, postings and definitions."""
    found = connection.rows(
        "SELECT id FROM generations WHERE collection = ? AND document_id = ? AND name = ? AND visible = 0",
        (collection, document_id, generation),
    )
    owner = int(found[0][0]) if found else None
    return work_out(connection, owner, analyser)


def work_out(connection: Session, generation: int | None, analyser: Analyser) -> PreparedChunks:
    """Read a generation's chunks that have a vector, and work out their block, postings and definitions."""
    found = connection.rows(
        "SELECT c.key, CAST(c.payload AS BLOB), v.vector FROM chunks c JOIN vectors v ON v.key = c.key"
        " WHERE c.generation = ? ORDER BY c.position, c.chunk_id",
        (generation,),
    )
    read = sound(found, lambda row: (int(row[0]), chunk_from_json(row[1]), row[2]))
    keys = tuple(key for key, _, _ in read)
    return _worked_out(generation, keys, [chunk for _, chunk, _ in read], [vector for _, _, vector in read], analyser)


def work_out_whole(document: WholeDocument, analyser: Analyser) -> PreparedChunks:
    """Work out the same of a document that is not staged.

    Raises:
        InternalError: the chunks are not those announced.
    """
    check_announced(document)
    chunks = sorted(document.chunks, key=lambda each: (each.chunk.index, each.chunk.id))
    made = _worked_out(None, (), [each.chunk for each in chunks], [each.vector for each in chunks], analyser)
    return replace(made, chunks=chunks)


def _worked_out(
    generation: int | None,
    keys: tuple[int, ...],
    chunks: Sequence[Chunk],
    vectors: Sequence[Vector],
    analyser: Analyser,
) -> PreparedChunks:
    segment = Segment()
    lengths: list[int] = []
    definitions: list[tuple[int, Row]] = []
    for slot, chunk in enumerate(chunks):
        counts = term_counts(analyser.document_terms(chunk.embedding_text))
        segment.add(slot, counts)
        lengths.append(sum(counts.values()))
        definitions.extend((slot, row) for row in _definitions(chunk, analyser))
    signs = sign_bits(np.frombuffer(b"".join(vectors), "<f4").reshape(len(chunks), -1)).tobytes() if chunks else b""
    return PreparedChunks(
        generation=generation,
        keys=keys,
        bits=signs,
        lengths=np.array(lengths, "<u4").tobytes(),
        fields=fields_of(chunks),
        segment=segment,
        definitions=tuple(definitions),
    )


def fields_of(chunks: Sequence[Chunk]) -> str:
    """Write the filter fields of a block's chunks: the combinations that occur, each chunk's own, and its clause."""
    kinds: dict[tuple[str, str, str], int] = {}
    kind = [
        kinds.setdefault(
            (str(each.document_type), each.chunk_type.value, "true" if each.normative else "false"), len(kinds)
        )
        for each in chunks
    ]
    data = {"kinds": list(kinds), "kind": kind, "clause": [each.clause_number for each in chunks]}
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _definitions(chunk: Chunk, analyser: Analyser) -> list[Row]:
    found: list[Row] = []
    for place, each in enumerate(chunk.definitions):
        for alias, term in enumerate((each.term, *each.aliases)):
            found.append((analyser.term_key(term), int(alias > 0), chunk.document_id, chunk.index, place, term))
    return found


SPARSE_SLACK = 2_000
"""Dead slots up to which their numbers are not worth taking back."""


def stage(
    connection: Session, collection: int, document_id: str, generation: str, chunks: Sequence[EmbeddedChunk]
) -> None:
    """Write chunks of a generation that no search sees; a chunk id staged before is replaced."""
    found = connection.rows(
        "SELECT id FROM generations WHERE collection = ? AND document_id = ? AND name = ? AND visible = 0",
        (collection, document_id, generation),
    )
    if found:
        owner = int(found[0][0])
    else:
        owner = connection.insert(
            "INSERT INTO generations (collection, document_id, name, visible) VALUES (?, ?, ?, 0)",
            (collection, document_id, generation),
        )
    for each in chunks:
        if found:
            known = connection.rows(
                "SELECT key FROM chunks WHERE chunk_id = ? AND generation = ?", (each.chunk.id, owner)
            )
            for bound in known:
                connection.run("DELETE FROM vectors WHERE key = ?", bound)
                connection.run("DELETE FROM chunks WHERE key = ?", bound)
        _insert(connection, owner, each)


def _insert(connection: Session, generation: int, each: EmbeddedChunk) -> int:
    """Write one chunk with its vector; returns its key."""
    chunk = each.chunk
    key = connection.insert(
        "INSERT INTO chunks (generation, position, chunk_id, content_hash, embedding_key, payload)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        (generation, chunk.index, chunk.id, chunk.content_hash, each.embedding_key, chunk_to_json(chunk)),
    )
    connection.run("INSERT INTO vectors (key, vector) VALUES (?, ?)", (key, each.vector))
    return key


def publish(
    connection: Session,
    collection: int,
    record: DocumentRecord,
    text: str,
    structure: DocumentStructure,
    prepared: PreparedChunks,
) -> None:
    """Let the prepared generation take the visible one's place.

    Raises:
        InternalError: what is staged now is not what was prepared or announced.
    """
    generation = _take_over(connection, collection, record, prepared)
    bury(connection, collection, record.id)
    connection.run("UPDATE generations SET visible = 1 WHERE id = ?", (generation,))
    first_slot = write_document(
        connection, collection, record, text, structure, replace(prepared, generation=generation)
    )
    if prepared.segment.slots:
        add_segment(connection, collection, prepared.segment.lists(first_slot))
    count_in(connection, collection, [record])
    renumber_if_sparse(connection, collection)


def publish_whole(
    connection: Session, collection: int, documents: Sequence[tuple[WholeDocument, PreparedChunks]]
) -> None:
    """Let documents that were never staged take the visible ones' places, with one segment for all of them."""
    segment, base = Segment(), None
    for each, prepared in documents:
        record = each.record
        discard_staged(connection, collection, record.id)
        bury(connection, collection, record.id)
        generation = connection.insert(
            "INSERT INTO generations (collection, document_id, name, visible) VALUES (?, ?, '', 1)",
            (collection, record.id),
        )
        keys = tuple(_insert(connection, generation, chunk) for chunk in prepared.chunks)
        kept = replace(prepared, generation=generation, keys=keys)
        first_slot = write_document(connection, collection, record, each.text, each.structure, kept)
        base = first_slot if base is None else base
        segment.take_over(prepared.segment, first_slot - base)
    if base is not None and segment.slots:
        add_segment(connection, collection, segment.lists(base))
    count_in(connection, collection, [each.record for each, _ in documents])
    renumber_if_sparse(connection, collection)


def write_document(
    connection: Session,
    collection: int,
    record: DocumentRecord,
    text: str,
    structure: DocumentStructure,
    prepared: PreparedChunks,
) -> int:
    """Write what hangs on a visible generation but its chunks and postings; returns its first slot."""
    generation = prepared.generation
    shape = structure_to_json(structure)
    kept = record_to_json(record, text, shape)
    connection.run(
        "INSERT INTO documents (generation, collection, document_id, chunks, tokens, record) VALUES (?, ?, ?, ?, ?, ?)",
        (generation, collection, record.id, len(prepared.keys), record.token_count, kept),
    )
    connection.run("INSERT INTO texts (generation, text) VALUES (?, ?)", (generation, text))
    if shape:
        connection.run("INSERT INTO structures (generation, structure) VALUES (?, ?)", (generation, shape))
    return write_block(connection, collection, record.id, prepared)


def count_in(connection: Session, collection: int, records: Sequence[DocumentRecord]) -> None:
    """Count new documents, and the version up by one."""
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


def write_block(connection: Session, collection: int, document_id: str, prepared: PreparedChunks) -> int:
    """Write a generation's block and definitions at the next free slots, and return the first of these."""
    generation = prepared.generation
    first_slot = int(connection.rows("SELECT next_slot FROM collections WHERE id = ?", (collection,))[0][0])
    connection.run(
        "INSERT INTO blocks (generation, collection, first_slot, size, document_id, keys, bits, lengths, fields)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            generation,
            collection,
            first_slot,
            len(prepared.keys),
            document_id,
            np.array(prepared.keys, "<i8").tobytes(),
            prepared.bits,
            prepared.lengths,
            prepared.fields,
        ),
    )
    connection.many(
        "INSERT INTO definitions (collection, generation, term_key, alias, document_id, position, place, term, key)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(collection, generation, *row, prepared.keys[slot]) for slot, row in prepared.definitions],
    )
    # an empty block takes a slot too, for blocks are told apart by their first one
    connection.run(
        "UPDATE collections SET next_slot = next_slot + ? WHERE id = ?", (max(1, len(prepared.keys)), collection)
    )
    return first_slot


def bury(connection: Session, collection: int, document_id: str) -> int | None:
    """Take a document's visible generation away; returns its chunks, None where there was none.

    The caller counts the version up.
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
    """Delete generations, staged or visible, with all that hangs on them but their postings; returns their chunks."""
    gone = 0
    for generation in generations:
        bound = (generation,)
        connection.run("DELETE FROM vectors WHERE key IN (SELECT key FROM chunks WHERE generation = ?)", bound)
        gone += connection.delete("DELETE FROM chunks WHERE generation = ?", bound)
        for table in ("documents", "texts", "structures", "blocks", "definitions"):
            connection.run(f"DELETE FROM {table} WHERE generation = ?", bound)
        connection.run("DELETE FROM generations WHERE id = ?", bound)
    return gone


def renumber_if_sparse(connection: Session, collection: int, *, always: bool = False) -> None:
    """Renumber the slots where most of them are dead; every view is then made from nothing."""
    next_slot, chunks, documents = connection.rows(
        "SELECT next_slot, chunks, documents FROM collections WHERE id = ?", (collection,)
    )[0]
    if not always and next_slot <= 2 * (chunks + documents) + SPARSE_SLACK:
        return
    new_slots = np.full(int(next_slot), -1, np.int64)
    blocks = connection.rows(
        "SELECT generation, first_slot, size FROM blocks WHERE collection = ? ORDER BY first_slot",
        (collection,),
    )
    free = 0
    for generation, first_slot, size in blocks:
        new_slots[first_slot : first_slot + size] = np.arange(free, free + size)
        # moves downwards only, in ascending order, so no two blocks ever have one first slot
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


def _take_over(connection: Session, collection: int, record: DocumentRecord, prepared: PreparedChunks) -> int:
    """Make sure that the staged generation is still the one that was prepared, and return its row's id."""
    if prepared.generation is None:
        staged: list[Row] = []
    else:
        staged = connection.rows(
            "SELECT key FROM chunks WHERE generation = ? ORDER BY position, chunk_id",
            (prepared.generation,),
        )
    keys = tuple(int(row[0]) for row in staged)
    if len(keys) != record.chunk_count or keys != prepared.keys:
        raise not_announced(record, len(keys), "Another writer discarded or replaced them.")
    if prepared.generation is not None and connection.rows(
        "SELECT 1 FROM generations WHERE id = ? AND visible = 0", (prepared.generation,)
    ):
        return prepared.generation
    if prepared.keys:
        raise InternalError(f"Document '{record.id}' was published meanwhile.", suggestion="Ingest it again.")
    return connection.insert(
        "INSERT INTO generations (collection, document_id, name, visible) VALUES (?, ?, '', 0)",
        (collection, record.id),
    )


def discard_staged(connection: Session, collection: int, document_id: str | None) -> int:
    """Delete what is staged for one document, or for all."""
    found = connection.rows(
        "SELECT id FROM generations WHERE collection = ? AND visible = 0 AND (? IS NULL OR document_id = ?)",
        (collection, document_id, document_id),
    )
    return delete_generations(connection, [int(row[0]) for row in found])


def delete_document(connection: Session, collection: int, document_id: str) -> int:
    """Delete a document, staged generations too; returns the visible chunks that went."""
    discard_staged(connection, collection, document_id)
    gone = bury(connection, collection, document_id)
    if gone is None:
        return 0
    connection.run("UPDATE collections SET version = version + 1 WHERE id = ?", (collection,))
    renumber_if_sparse(connection, collection)
    return gone


def drop(connection: Session, collection: int) -> None:
    """Delete a collection with all it holds."""
    found = connection.rows("SELECT id FROM generations WHERE collection = ?", (collection,))
    delete_generations(connection, [int(row[0]) for row in found])
    drop_segments(connection, collection)
    connection.run("DELETE FROM graves WHERE collection = ?", (collection,))
    connection.run("DELETE FROM collections WHERE id = ?", (collection,))


def rename(connection: Session, names: Mapping[str, str]) -> None:
    """Give collections new names; everything else refers to their ids."""
    ids = {str(row[1]): int(row[0]) for row in connection.rows("SELECT id, name FROM collections")}
    changed = checked_renames(names, ids)
    for old in changed:  # names are unique at every statement, so that all are given up before any is taken
        connection.run("UPDATE collections SET name = char(0) || id WHERE id = ?", (ids[old],))
    for old, new in changed.items():
        connection.run("UPDATE collections SET name = ? WHERE id = ?", (new, ids[old]))
