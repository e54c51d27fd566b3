"""What every store refuses before it writes."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge_mcp.model.chunk import EmbeddedChunk
from knowledge_mcp.model.errors import InvalidInputError

__all__ = ["check_vectors"]


def check_vectors(chunks: Iterable[EmbeddedChunk], dimensions: int) -> None:
    """Make sure that every vector has the components of its collection's space.

    Raises:
        InvalidInputError: one has more or fewer; names the chunk.
    """
    size = 4 * dimensions
    for each in chunks:
        if len(each.vector) != size:
            raise InvalidInputError(f"Chunk {each.chunk.id}: vector of {len(each.vector)} bytes, not {size}.")
