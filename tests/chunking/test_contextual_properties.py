"""Whatever the document: no text lost, no chapters mixed, nothing longer than the model reads, ids of their own."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.sections import ContextualChunker
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Block, BlockKind, Document
from tests.fakes.documents import PieceMeasure, documents
from tests.machine import examples

_MOST = st.sampled_from([64, 120, 400, 800])
_MEASURES = st.builds(PieceMeasure, max_tokens=st.sampled_from([16, 40, 96, 256, 8192]), piece=st.integers(3, 7))
_SETTINGS = settings(
    max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


def _chunks(document: Document, most: int, measure: PieceMeasure) -> list[Chunk]:
    return ContextualChunker(most).chunk(document, "guide", measure)


@pytest.mark.requirement("D-REQ-7.1")
@_SETTINGS
@given(document=documents(), most=_MOST, measure=_MEASURES)
def test_chunks_hold_all_text_of_one_chapter_each_within_bounds_and_alike_each_time(
    document: Document, most: int, measure: PieceMeasure
) -> None:
    chunks = _chunks(document, most, measure)
    assert chunks == _chunks(document, most, measure)
    _every_chunk_is_its_span_and_no_text_is_lost(document, chunks, measure)
    _no_chunk_is_longer_than_asked_or_than_the_model_reads(most, chunks, measure)
    _no_chunk_holds_text_of_two_chapters(document, chunks)
    _ids_are_unique_and_parents_come_first(chunks)


def _every_chunk_is_its_span_and_no_text_is_lost(
    document: Document, chunks: list[Chunk], measure: PieceMeasure
) -> None:
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


def _no_chunk_is_longer_than_asked_or_than_the_model_reads(
    most: int, chunks: list[Chunk], measure: PieceMeasure
) -> None:
    for chunk in chunks:
        assert chunk.token_count <= most
        assert measure.count_tokens(chunk.embedding_text) <= measure.max_tokens


def _no_chunk_holds_text_of_two_chapters(document: Document, chunks: list[Chunk]) -> None:
    for chunk in chunks:
        bodies = [b for b in document.blocks if b.kind is not BlockKind.HEADING and b.span.overlaps(chunk.span)]
        assert len({_chapter(document, block) for block in bodies}) <= 1
        around = {section.index for section in document.sections if section.label in chunk.section_hierarchy}
        for block in bodies:
            within = {section.index for section in document.ancestors(block.section)}
            assert not chunk.section_hierarchy or within & around


def _chapter(document: Document, block: Block) -> int | None:
    path = [section.index for section in document.ancestors(block.section)]
    return path[0] if path else None


def _ids_are_unique_and_parents_come_first(chunks: list[Chunk]) -> None:
    ids = [chunk.id for chunk in chunks]
    assert len(set(ids)) == len(ids)
    for chunk in chunks:
        assert chunk.parent_chunk_id is None or ids.index(chunk.parent_chunk_id) < chunk.index
