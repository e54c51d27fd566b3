"""What holds for the chunks of any document, whichever chunker makes them."""

from __future__ import annotations

import hashlib

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Document
from tests.fakes.documents import PieceMeasure


def every_chunk_is_its_span_and_no_text_is_lost(document: Document, chunks: list[Chunk], measure: PieceMeasure) -> None:
    covered = bytearray(len(document.text))
    before = -1
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.content == chunk.span.of(document.text)
        assert chunk.content.strip()
        assert chunk.content_hash == hashlib.sha256(chunk.content.encode()).hexdigest()
        assert chunk.token_count == measure.count_tokens(chunk.content)
        assert chunk.span.start > before
        before = chunk.span.start
        covered[chunk.span.start : chunk.span.end] = b"\x01" * len(chunk.span)
    assert [i for i, sign in enumerate(document.text) if not sign.isspace() and not covered[i]] == []


def no_chunk_is_longer_than_asked_or_than_the_model_reads(
    most: int, chunks: list[Chunk], measure: PieceMeasure
) -> None:
    for chunk in chunks:
        assert chunk.token_count <= most
        assert measure.count_tokens(chunk.embedding_text) <= measure.max_tokens


def ids_are_unique_and_parents_come_first(chunks: list[Chunk]) -> None:
    ids = [chunk.id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    for chunk in chunks:
        assert chunk.parent_chunk_id is None or ids.index(chunk.parent_chunk_id) < chunk.index
