"""Consistency checks and repair of the SQLite store: everything that is derived from chunks can be rebuilt."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np

from knowledge_mcp.model.errors import DamagedError, noticing, sound
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.shared.checking import INGEST, miscounted, of_damage, of_index, repairable, vector_damage
from knowledge_mcp.stores.shared.payload import UNREADABLE, chunk_from_json, has_check_sums, record_from_json
from knowledge_mcp.stores.shared.ranking import counted_terms
from knowledge_mcp.stores.sqlite.postings import Segment, add_segment, all_postings, drop_segments
from knowledge_mcp.stores.sqlite.reading import document_chunks, parts, records
from knowledge_mcp.stores.sqlite.tables import Place, Session
from knowledge_mcp.stores.sqlite.view import sign_bits
from knowledge_mcp.stores.sqlite.writing import fields_of, read_again, write_block
from knowledge_mcp.support.wording import how_many


def damaged_parts(connection: Session, collection: int) -> Iterator[Finding]:
    """Read every record, text, structure and chunk, and yield a finding for each that is damaged."""
    with noticing() as damage:
        for each in records(connection, collection):
            if (kept := parts(connection, collection, each.id)) is not None:
                _ = kept.text, kept.structure
        for (document_id,) in connection.rows(
            "SELECT document_id FROM documents WHERE collection = ? ORDER BY document_id", (collection,)
        ):
            document_chunks(connection, collection, document_id)
    for each in damage:
        yield of_damage(each)


def damaged_vectors(connection: Session, collection: int, dimensions: int) -> Iterator[Finding]:
    """Yield a finding for each visible chunk whose vector has a wrong length, norm or non-finite components."""
    for document_id, chunk_id, vector in connection.stream(
        "SELECT d.document_id, c.chunk_id, CAST(v.vector AS BLOB) FROM documents d"
        " JOIN chunks c ON c.generation = d.generation JOIN vectors v ON v.key = c.key WHERE d.collection = ?",
        (collection,),
    ):
        numbers = np.frombuffer(vector, "<f4", len(vector) // 4)
        damage = vector_damage(document_id, chunk_id, numbers, dimensions)
        if damage is None and len(vector) % 4:
            damage = DamagedError.of("vector", document_id, chunk_id, why=f"It has {len(vector)} bytes.")
        if damage is not None:
            yield of_damage(damage)


def unchecked_documents(connection: Session, collection: int) -> int:
    """Count the documents that were stored before check sums existed."""
    found = connection.rows("SELECT CAST(record AS BLOB) FROM documents WHERE collection = ?", (collection,))
    return sum(not has_check_sums(row[0]) for row in found)


_SAMPLED_CHUNKS = 200
SLOTS_PER_SEGMENT = 5_000
_RESTORE = "Restore a backup with `knowledge restore`, or move the file away and ingest the documents again."

_ORPHANS = (
    ("vectors without a chunk", "DELETE FROM vectors WHERE key NOT IN (SELECT key FROM chunks)"),
    ("chunks without a generation", "DELETE FROM chunks WHERE generation NOT IN (SELECT id FROM generations)"),
    ("texts without a document", "DELETE FROM texts WHERE generation NOT IN (SELECT generation FROM documents)"),
    (
        "structures without a document",
        "DELETE FROM structures WHERE generation NOT IN (SELECT generation FROM documents)",
    ),
    ("postings without a segment", "DELETE FROM postings WHERE segment NOT IN (SELECT id FROM segments)"),
)
"""Rows without a parent, in order of deletion; rows that a deletion orphans are found only by the next check."""


def verify(connection: Session, place: Place, analyser: Analyser, *, repair: bool) -> list[Finding]:
    """Check one collection and the file; `repair` (inside a write transaction) rebuilds derived data."""
    damage = [
        Finding(f"The file is damaged: {row[0]}", suggestion=_RESTORE)
        for row in connection.rows("PRAGMA integrity_check(10)")
        if row[0] != "ok"
    ]
    if damage:
        return damage
    collection = place.id
    findings = [*_orphans(connection, repair=repair), *_documents(connection, collection)]
    lost = [
        *damaged_parts(connection, collection),
        *damaged_vectors(connection, collection, place.space.dimensions),
    ]
    derived = [*_counters(connection, collection), *_readable(lambda: list(_blocks(connection, collection)))]
    if not lost:  # data derived from damaged parts cannot be right
        derived += _readable(lambda: _postings(connection, collection)) or _sample(connection, collection, analyser)
    if derived and repair and not lost:
        rebuild_index(connection, collection, analyser)
    return findings + lost + of_index(derived, lost=bool(lost), repaired=repair)


def _readable(look: Callable[[], list[str]]) -> list[str]:
    try:
        return look()
    except UNREADABLE as exc:
        return [f"The search index cannot be read: {type(exc).__name__}: {exc}"]


def rebuild_index(connection: Session, collection: int, analyser: Analyser) -> None:
    """Rebuild blocks, postings, definitions and counters from the visible chunks."""
    drop_segments(connection, collection)
    for table in ("blocks", "definitions", "graves"):
        connection.run(f"DELETE FROM {table} WHERE collection = ?", (collection,))
    connection.run("UPDATE collections SET next_slot = 0 WHERE id = ?", (collection,))
    segment, base, slots = Segment(), 0, 0
    for document_id, generation in connection.rows(
        "SELECT document_id, generation FROM documents WHERE collection = ? ORDER BY generation",
        (collection,),
    ):
        keys, prepared = read_again(connection, generation, analyser)
        first_slot = write_block(connection, collection, document_id, generation, keys, prepared)
        segment.take_over(prepared.segment, first_slot - base)
        slots = first_slot + len(keys)
        if slots - base >= SLOTS_PER_SEGMENT:
            add_segment(connection, collection, segment.lists(base))
            segment, base = Segment(), slots
    if segment.slots:
        add_segment(connection, collection, segment.lists(base))
    connection.run(
        "UPDATE collections SET version = version + 1, epoch = epoch + 1, analyser = ?,"
        " documents = (SELECT count(*) FROM documents WHERE collection = collections.id),"
        " chunks = (SELECT coalesce(sum(size), 0) FROM blocks WHERE collection = collections.id),"
        " tokens = (SELECT coalesce(sum(tokens), 0) FROM documents WHERE collection = collections.id) WHERE id = ?",
        (analyser.version, collection),
    )


def _orphans(connection: Session, *, repair: bool) -> Iterator[Finding]:
    for what, sweep in _ORPHANS:
        count = int(connection.rows(sweep.replace("DELETE", "SELECT count(*)", 1))[0][0])
        if count:
            if repair:
                connection.run(sweep)
            yield repairable(f"{count} {what}.", repaired=repair)


def _documents(connection: Session, collection: int) -> Iterator[Finding]:
    """Compare each record with the data stored for it; only a new ingest can repair a difference."""
    for (document_id,) in connection.rows(
        "SELECT g.document_id FROM generations g LEFT JOIN documents d ON d.generation = g.id"
        " WHERE g.collection = ? AND g.visible = 1 AND d.generation IS NULL",
        (collection,),
    ):
        yield Finding("Chunks are visible without a record.", document_id=document_id, suggestion=INGEST)
    for row in connection.rows(
        "SELECT d.document_id, CAST(d.record AS BLOB), d.chunks, d.tokens, t.generation IS NOT NULL,"
        " (SELECT count(*) FROM chunks c WHERE c.generation = d.generation),"
        " (SELECT count(*) FROM chunks c JOIN vectors v ON v.key = c.key WHERE c.generation = d.generation)"
        " FROM documents d LEFT JOIN texts t ON t.generation = d.generation"
        " WHERE d.collection = ? ORDER BY d.document_id",
        (collection,),
    ):
        document_id, record_json, announced, tokens, has_text, chunks, vectors = row
        try:
            record = record_from_json(record_json)
        except DamagedError:  # reported by `damaged_parts`
            continue
        if not record.chunk_count == announced == chunks or record.token_count != tokens:
            yield miscounted(record.chunk_count, chunks, document_id)
        if vectors != chunks:
            message = f"{how_many(chunks - vectors, 'chunk has', 'chunks have')} no vector."
            yield Finding(message, document_id, suggestion=INGEST)
        if not has_text:
            yield Finding("The canonical text is missing.", document_id=document_id, suggestion=INGEST)


def _counters(connection: Session, collection: int) -> Iterator[str]:
    kept = connection.rows("SELECT documents, chunks, tokens FROM collections WHERE id = ?", (collection,))[0]
    counted = connection.rows(
        "SELECT count(*), coalesce((SELECT sum(size) FROM blocks WHERE collection = ?1), 0),"
        " coalesce(sum(tokens), 0) FROM documents WHERE collection = ?1",
        (collection,),
    )[0]
    if kept != counted:
        yield f"The collection's counters say {kept}, counted are {counted} (documents, chunks, tokens)."


def _blocks(connection: Session, collection: int) -> Iterator[str]:
    """Compare each block with the chunks and vectors from which it was made."""
    used = 0
    for generation, document_id, first_slot, size, keys, bits, fields in connection.rows(
        "SELECT d.generation, d.document_id, b.first_slot, b.size, b.keys, b.bits, b.fields FROM documents d"
        " LEFT JOIN blocks b ON b.generation = d.generation WHERE d.collection = ? ORDER BY b.first_slot",
        (collection,),
    ):
        if first_slot is None:
            yield f"Document '{document_id}' is not in the search index."
            continue
        if first_slot < used:
            yield f"Document '{document_id}' shares slots with another one."
        used = first_slot + max(1, size)
        found = connection.rows(
            "SELECT c.key, v.vector, CAST(c.payload AS BLOB) FROM chunks c JOIN vectors v ON v.key = c.key"
            " WHERE c.generation = ? ORDER BY c.position, c.chunk_id",
            (generation,),
        )
        vectors = b"".join(row[1] for row in found)
        lengths = {len(row[1]) for row in found}
        expected = np.array([row[0] for row in found], "<i8").tobytes()
        if expected != keys or size != len(found):
            yield f"Document '{document_id}' is indexed with other chunks than it has."
        elif not _are_fields_of(fields, [row[2] for row in found]):
            yield f"Document '{document_id}' is indexed with other kinds or clauses than it has."
        elif len(lengths) > 1 or any(length % 4 for length in lengths):
            continue  # reported by `damaged_vectors`
        elif found and sign_bits(np.frombuffer(vectors, "<f4").reshape(len(found), -1)).tobytes() != bits:
            yield f"Document '{document_id}' is indexed with other vectors than it has."


def _are_fields_of(fields: str, payloads: list[bytes]) -> bool:
    """Return whether a block's filter fields match its chunks; True if one is damaged (reported elsewhere)."""
    with noticing() as damage:
        chunks = sound(payloads, chunk_from_json)
    try:
        return bool(damage) or json.loads(fields) == json.loads(fields_of(chunks))
    except UNREADABLE:
        return False


def _postings(connection: Session, collection: int) -> list[str]:
    """Compare, for each slot, the sum of its counts with the length stored in its block."""
    size = int(connection.rows("SELECT next_slot FROM collections WHERE id = ?", (collection,))[0][0])
    lengths = np.zeros(size, np.int64)
    for first_slot, lengths_of_block in connection.rows(
        "SELECT first_slot, lengths FROM blocks WHERE collection = ?", (collection,)
    ):
        block = np.frombuffer(lengths_of_block, "<u4")
        lengths[first_slot : first_slot + len(block)] = block
    sums = np.zeros(size, np.int64)
    for slots, counts in all_postings(connection, collection):
        if len(slots) and int(slots.max()) >= size:
            return ["The inverted index refers to slots that do not exist."]
        sums += np.bincount(slots, counts, size).astype(np.int64)
    alive = np.zeros(size, np.bool_)
    for first_slot, count in connection.rows("SELECT first_slot, size FROM blocks WHERE collection = ?", (collection,)):
        alive[first_slot : first_slot + count] = True
    wrong = int(np.count_nonzero((sums != lengths) & alive))
    return [f"The inverted index lacks terms of {how_many(wrong, 'chunk')}, or has too many."] if wrong else []


def _sample(connection: Session, collection: int, analyser: Analyser) -> list[str]:
    """Analyse some evenly spread chunks again and compare the number of terms."""
    blocks = connection.rows("SELECT keys, lengths FROM blocks WHERE collection = ?", (collection,))
    keys = np.concatenate([np.frombuffer(row[0], "<i8") for row in blocks] or [np.zeros(0, "<i8")])
    lengths = np.concatenate([np.frombuffer(row[1], "<u4") for row in blocks] or [np.zeros(0, "<u4")])
    wrong = 0
    for place in range(0, len(keys), max(1, len(keys) // _SAMPLED_CHUNKS)):
        payload = connection.rows("SELECT CAST(payload AS BLOB) FROM chunks WHERE key = ?", (int(keys[place]),))
        if payload:
            wrong += sum(counted_terms(chunk_from_json(payload[0][0]), analyser).values()) != int(lengths[place])
    return [f"{wrong} of the checked chunks contain other terms than those indexed."] if wrong else []
