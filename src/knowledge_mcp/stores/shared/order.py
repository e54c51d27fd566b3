"""The order in which every store gives the chunks that it was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from knowledge_mcp.model.chunk import Chunk


def in_order(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Sort chunks by document and index."""
    return sorted(chunks, key=lambda chunk: (chunk.document_id, chunk.index, chunk.id))


def by_value(chunks: Iterable[Chunk], value_of: Callable[[Chunk], str], values: Sequence[str]) -> list[Chunk]:
    """List for each value, in the order asked, the chunks that have it; a value asked twice is answered twice."""
    having: dict[str, list[Chunk]] = {}
    for chunk in in_order(chunks):
        having.setdefault(value_of(chunk), []).append(chunk)
    return [chunk for value in values for chunk in having.get(value, ())]
