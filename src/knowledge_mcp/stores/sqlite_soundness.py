"""What the SQLite store holds of each document, compared with its check sums, and its vectors with what vectors are."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from knowledge_mcp.model.damage import noticing
from knowledge_mcp.model.errors import DamagedError
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.stores.payload import has_check_sums
from knowledge_mcp.stores.sqlite_reading import document_chunks, document_structure, document_text, records
from knowledge_mcp.stores.sqlite_session import Session

__all__ = ["damaged_parts", "damaged_vectors", "unchecked_documents"]

_LONGEST, _SHORTEST = 1.1, 0.9
"""Norms that a vector of unit norm has, however coarse its numbers are."""


def damaged_parts(connection: Session, collection: int) -> Iterator[Finding]:
    """Read every record, text, structure and chunk, and tell which are not what was stored."""
    with noticing() as damage:
        for each in records(connection, collection):
            document_text(connection, collection, each.id)
            document_structure(connection, collection, each.id)
        for (document_id,) in connection.rows(
            "SELECT document_id FROM documents WHERE collection = ? ORDER BY document_id", (collection,)
        ):
            document_chunks(connection, collection, document_id)
    for each in damage:
        yield _finding(each)


def damaged_vectors(connection: Session, collection: int, dimensions: int) -> Iterator[Finding]:
    """Tell which vectors of visible chunks have another length, are no numbers, or are not of unit norm."""
    for document_id, chunk_id, vector in connection.stream(
        "SELECT d.document_id, c.chunk_id, CAST(v.vector AS BLOB) FROM documents d"
        " JOIN chunks c ON c.generation = d.generation JOIN vectors v ON v.key = c.key WHERE d.collection = ?",
        (collection,),
    ):
        why = ""
        if len(vector) != 4 * dimensions:
            why = f"It has {len(vector)} bytes, not {4 * dimensions}."
        else:
            norm = float(np.linalg.norm(np.frombuffer(vector, "<f4").astype(np.float64)))
            if not _SHORTEST < norm < _LONGEST:
                why = f"Its norm is {norm:.3g}."
        if why:
            yield _finding(DamagedError.of("vector", document_id, chunk_id, why=why))


def unchecked_documents(connection: Session, collection: int) -> int:
    """Count the documents that were stored before there were check sums."""
    found = connection.rows("SELECT CAST(record AS BLOB) FROM documents WHERE collection = ?", (collection,))
    return sum(not has_check_sums(row[0]) for row in found)


def _finding(damage: DamagedError) -> Finding:
    message = f"{damage.message} {damage.details}".strip()
    return Finding(message, damage.document_id or None, suggestion=damage.suggestion)
