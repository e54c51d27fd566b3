"""Consistency checks and repair of the PostgreSQL store: everything that is derived from chunks can be rebuilt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from knowledge_mcp.model.errors import DamagedError, noticing, sound
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.postgres.search import HEAD, postings
from knowledge_mcp.stores.postgres.tables import SCHEMA, PostgresPlace, PostgresSession, Row
from knowledge_mcp.stores.postgres.writing import IndexedDocument, prepare, write_block
from knowledge_mcp.stores.shared.checking import miscounted, of_damage, of_index, repairable, vector_damage
from knowledge_mcp.stores.shared.payload import UNREADABLE, checked_part, chunk_from_json, record_from_json
from knowledge_mcp.stores.shared.ranking import counted_terms
from knowledge_mcp.support.wording import how_many

_SAMPLED_CHUNKS, _AT_ONCE = 200, 2_000


def verify(session: PostgresSession, place: PostgresPlace, analyser: Analyser, *, repair: bool) -> list[Finding]:
    """Check one collection; `repair` rebuilds derived data, in a write transaction that has locked the collection."""
    swept = list(_orphans(session, place, repair=repair))
    lost = list(_damaged(session, place))
    derived = list(_counters(session, place))
    if not lost:  # data derived from damaged parts cannot be right
        derived += _index(session, place, analyser)
    if derived and repair and not lost:
        rebuild_index(session, place, analyser)
    return swept + lost + of_index(derived, lost=bool(lost), repaired=repair)


def rebuild_index(session: PostgresSession, place: PostgresPlace, analyser: Analyser) -> None:
    """Rebuild postings, definitions and counters from the chunks of a locked collection."""
    for table in ("postings", "definitions"):
        session.run(f"DELETE FROM {SCHEMA}.{table} WHERE collection = %s", (place.id,))
    block: list[tuple[Sequence[int], IndexedDocument]] = []
    start, size = 0, 0
    for document_id, first in session.rows(
        f"SELECT d.document_id, min(c.key) FROM {SCHEMA}.documents d LEFT JOIN {SCHEMA}.chunks c"
        " USING (collection, document_id) WHERE d.collection = %s GROUP BY 1 ORDER BY 2",
        (place.id,),
    ):
        found = session.rows(
            f"SELECT key, payload FROM {SCHEMA}.chunks JOIN {SCHEMA}.payloads USING (key)"
            " WHERE collection = %s AND document_id = %s ORDER BY position, chunk_id",
            (place.id, document_id),
        )
        read = sound(found, lambda row: (int(row[0]), chunk_from_json(row[1])))
        if not block or size + len(read) > _AT_ONCE:
            write_block(session, place.id, start, block)
            block, start, size = [], int(first or 0), 0
        size += len(read)
        indexed = prepare([chunk for _, chunk in read], analyser)
        block.append(([key for key, _ in read], indexed))
        session.run(
            f"UPDATE {SCHEMA}.documents SET block = %s, words = %s WHERE collection = %s AND document_id = %s",
            (start, indexed.words, place.id, document_id),
        )
    write_block(session, place.id, start, block)
    session.run(
        f"UPDATE {SCHEMA}.collections SET state = gen_random_uuid(), analyser = %s,"
        f" (documents, chunks, tokens, words) = ({_COUNTED}) WHERE id = %s",
        (analyser.version, place.id, place.id),
    )


_COUNTED = (
    "SELECT count(*), coalesce(sum(chunks), 0)::bigint, coalesce(sum(tokens), 0)::bigint,"
    f" coalesce(sum(words), 0)::bigint FROM {SCHEMA}.documents WHERE collection = %s"
)


def _damaged(session: PostgresSession, place: PostgresPlace) -> Iterator[Finding]:
    """Read every record, text, structure, chunk and vector, and yield a finding for each that is damaged."""
    for (document_id,) in session.rows(
        f"SELECT document_id FROM {SCHEMA}.documents WHERE collection = %s ORDER BY 1", (place.id,)
    ):
        bound = (place.id, document_id)
        ((record, text, shape, tokens),) = session.rows(_DOCUMENT, bound)
        found = session.rows(
            f"SELECT payload, chunk_id, vector FROM {SCHEMA}.chunks LEFT JOIN {SCHEMA}.payloads USING (key)"
            " WHERE collection = %s AND document_id = %s ORDER BY position, chunk_id",
            bound,
        )
        with noticing() as damage:
            known = sound([record], lambda data, whose=document_id: record_from_json(data, whose))
            if known:
                checked_part(record, document_id, "canonical text", text)
                checked_part(record, document_id, "structure", shape)
            sound([row[0] or b"" for row in found], chunk_from_json)
        for each in (*damage, *_vectors(document_id, found, place.space.dimensions)):
            yield of_damage(each, document_id)
        if known and (known[0].chunk_count != len(found) or known[0].token_count != tokens):
            yield miscounted(known[0].chunk_count, len(found), document_id)


_DOCUMENT = f"SELECT record, text, structure, tokens FROM {SCHEMA}.documents WHERE collection = %s AND document_id = %s"


def _vectors(document_id: str, found: Sequence[Row], dimensions: int) -> Iterator[DamagedError]:
    """Yield the damage of vectors with a wrong length or a norm other than 1."""
    for _, chunk_id, vector in found:
        damage = vector_damage(document_id, chunk_id, np.frombuffer(vector[HEAD:], ">f4"), dimensions)
        if damage is not None:
            yield damage


def _orphans(session: PostgresSession, place: PostgresPlace, *, repair: bool) -> Iterator[Finding]:
    """Find, and with `repair` delete, rows without a parent; payloads are checked for all collections."""
    for what, where in _ORPHANS:
        bound = (place.id,) if "%s" in where else ()
        ((count,),) = session.rows(f"SELECT count(*) FROM {where}", bound)
        if count:
            if repair:
                session.run(f"DELETE FROM {where}", bound)
            yield repairable(f"{count} {what}.", repaired=repair)


_ORPHANS = (
    (
        "chunks without a document",
        f"{SCHEMA}.chunks c WHERE collection = %s AND NOT EXISTS (SELECT 1 FROM {SCHEMA}.documents d"
        " WHERE d.collection = c.collection AND d.document_id = c.document_id)",
    ),
    (
        "passages without a chunk",
        f"{SCHEMA}.payloads p WHERE NOT EXISTS (SELECT 1 FROM {SCHEMA}.chunks c WHERE c.key = p.key)",
    ),
    (
        "postings without a document",
        f"{SCHEMA}.postings p WHERE collection = %s AND NOT EXISTS"
        f" (SELECT 1 FROM {SCHEMA}.documents d WHERE d.block = p.block)",
    ),
)
"""In the order in which they are deleted: later statements see what earlier ones leave behind."""


def _counters(session: PostgresSession, place: PostgresPlace) -> Iterator[str]:
    (counted,) = session.rows(_COUNTED, (place.id,))
    kept = (place.documents, place.chunks, place.tokens, place.words)
    if kept != counted:
        yield f"The collection's counters say {kept}, counted are {counted} (documents, chunks, tokens, words)."


def _index(session: PostgresSession, place: PostgresPlace, analyser: Analyser) -> Iterator[str]:
    """Compare index and chunks: all postings by their sums, a sample by its terms, definitions by number."""
    lengths: dict[int, int] = {}
    sums: dict[int, int] = {}
    try:
        for keys, entries in postings(session, place).values():
            for key, (_, number, length) in zip(keys.tolist(), entries.tolist(), strict=True):
                sums[key] = sums.get(key, 0) + number
                lengths[key] = length
    except UNREADABLE as exc:
        yield f"The search index cannot be read: {type(exc).__name__}: {exc}"
        return
    there = [int(row[0]) for row in session.rows(_KEYS, (place.id,))]
    if sums != lengths or not sums.keys() <= set(there) or sum(sums.values()) != place.words:
        yield "The inverted index lacks terms of chunks, or has too many."
    defined = 0
    for start in range(0, len(there), _AT_ONCE):
        found = session.rows(_PAYLOADS, (there[start : start + _AT_ONCE],))
        step = max(1, len(there) // _SAMPLED_CHUNKS)
        for number, (key, payload) in enumerate(found):
            chunk = chunk_from_json(payload)
            defined += sum(1 + len(each.aliases) for each in chunk.definitions)
            if (start + number) % step == 0:
                length = sum(counted_terms(chunk, analyser).values())
                if length != sums.get(int(key), 0):
                    yield f"Chunk {chunk.id} contains other terms than those indexed."
    ((kept,),) = session.rows(f"SELECT count(*) FROM {SCHEMA}.definitions WHERE collection = %s", (place.id,))
    if kept != defined:
        yield f"{how_many(kept, 'definition is', 'definitions are')} indexed, the chunks contain {defined}."


_KEYS = f"SELECT key FROM {SCHEMA}.chunks WHERE collection = %s ORDER BY 1"
_PAYLOADS = f"SELECT key, payload FROM {SCHEMA}.payloads WHERE key = ANY(%s) ORDER BY 1"
