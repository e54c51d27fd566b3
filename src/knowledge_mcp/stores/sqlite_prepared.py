"""What a publish writes of a document's chunks, worked out before the writing transaction: bits, postings, fields."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.damage import sound
from knowledge_mcp.model.publication import WholeDocument
from knowledge_mcp.ports import Analyser
from knowledge_mcp.stores.bm25 import term_counts
from knowledge_mcp.stores.checks import check_announced
from knowledge_mcp.stores.payload import chunk_from_json
from knowledge_mcp.stores.sqlite_postings import Segment
from knowledge_mcp.stores.sqlite_session import Row, Session
from knowledge_mcp.stores.sqlite_view import sign_bits

__all__ = ["Prepared", "fields_of", "prepare", "work_out", "work_out_whole"]


@dataclass(frozen=True)
class Prepared:
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


def prepare(connection: Session, collection: int, document_id: str, generation: str, analyser: Analyser) -> Prepared:
    """Read what was staged and work out its block, postings and definitions."""
    found = connection.rows(
        "SELECT id FROM generations WHERE collection = ? AND document_id = ? AND name = ? AND visible = 0",
        (collection, document_id, generation),
    )
    owner = int(found[0][0]) if found else None
    return work_out(connection, owner, analyser)


def work_out(connection: Session, generation: int | None, analyser: Analyser) -> Prepared:
    """Read a generation's chunks that have a vector, and work out their block, postings and definitions."""
    found = connection.rows(
        "SELECT c.key, CAST(c.payload AS BLOB), v.vector FROM chunks c JOIN vectors v ON v.key = c.key"
        " WHERE c.generation = ? ORDER BY c.position, c.chunk_id",
        (generation,),
    )
    read = sound(found, lambda row: (int(row[0]), chunk_from_json(row[1]), row[2]))
    keys = tuple(key for key, _, _ in read)
    return _worked_out(generation, keys, [chunk for _, chunk, _ in read], [vector for _, _, vector in read], analyser)


def work_out_whole(document: WholeDocument, analyser: Analyser) -> Prepared:
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
) -> Prepared:
    segment = Segment()
    lengths: list[int] = []
    definitions: list[tuple[int, Row]] = []
    for slot, chunk in enumerate(chunks):
        counts = term_counts(analyser.document_terms(chunk.embedding_text))
        segment.add(slot, counts)
        lengths.append(sum(counts.values()))
        definitions.extend((slot, row) for row in _definitions(chunk, analyser))
    signs = sign_bits(np.frombuffer(b"".join(vectors), "<f4").reshape(len(chunks), -1)).tobytes() if chunks else b""
    return Prepared(
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
