"""Whatever the document: no text lost, no chapters mixed, nothing longer than the model reads, ids of their own."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.sections import ContextualChunker
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Block, BlockKind, Document
from tests.chunking.properties import (
    every_chunk_is_its_span_and_no_text_is_lost,
    ids_are_unique_and_parents_come_first,
    no_chunk_is_longer_than_asked_or_than_the_model_reads,
)
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
    every_chunk_is_its_span_and_no_text_is_lost(document, chunks, measure)
    no_chunk_is_longer_than_asked_or_than_the_model_reads(most, chunks, measure)
    _no_chunk_holds_text_of_two_chapters(document, chunks)
    ids_are_unique_and_parents_come_first(chunks)


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
