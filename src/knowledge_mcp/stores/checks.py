"""What every store refuses before it writes or searches."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge_mcp.model.chunk import EmbeddedChunk, Vector
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace
from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.model.publication import WholeDocument

__all__ = ["check_announced", "check_query", "check_vectors", "not_announced"]


def check_vectors(chunks: Iterable[EmbeddedChunk], dimensions: int) -> None:
    """Make sure that every vector has the components of its collection's space.

    Raises:
        InvalidInputError: one has more or fewer; names the chunk.
    """
    size = 4 * dimensions
    for each in chunks:
        if len(each.vector) != size:
            raise InvalidInputError(f"Chunk {each.chunk.id}: vector of {len(each.vector)} bytes, not {size}.")


def check_query(vector: Vector | None, space: EmbeddingSpace) -> None:
    """Make sure that a query's vector, where there is one, has the components of the collection's space.

    Raises:
        InvalidInputError: it has more or fewer.
    """
    if vector is not None and len(vector) != 4 * space.dimensions:
        raise InvalidInputError(f"The query vector is not of {space.label}.")


def check_announced(document: WholeDocument) -> None:
    """Make sure that a whole document has as many chunks as its record says, each once.

    Raises:
        InternalError: it has not.
    """
    there = len({each.chunk.id for each in document.chunks})
    if there != document.record.chunk_count or there != len(document.chunks):
        raise not_announced(document.record, there)


def not_announced(record: DocumentRecord, there: int, why: str = "") -> InternalError:
    """Say that a document has not the chunks that its record tells of."""
    return InternalError(
        f"Document '{record.id}' has {there} chunks, not the {record.chunk_count} announced.",
        details=why,
        suggestion="Ingest the document again.",
    )
