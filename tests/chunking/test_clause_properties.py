"""Whatever the document: no text is lost, no clauses mixed, nothing too long, and nothing moves without need."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from knowledge_mcp.chunking.prose.sections import ClauseChunker
from knowledge_mcp.language.clauses import SectionFacts
from knowledge_mcp.language.sentences import sentence_spans
from knowledge_mcp.model.chunk import Chunk, Modality
from knowledge_mcp.model.document import BlockKind, Document, DocumentType
from tests.chunking.properties import (
    every_chunk_is_its_span_and_no_text_is_lost,
    ids_are_unique_and_parents_come_first,
    no_chunk_is_longer_than_asked_or_than_the_model_reads,
)
from tests.fakes.documents import Part, PieceMeasure, build_document, documents, parts
from tests.machine import examples

_SIZES = st.tuples(st.integers(50, 120), st.integers(200, 400), st.integers(0, 49))
_MEASURES = st.builds(PieceMeasure, max_tokens=st.sampled_from([16, 40, 96, 256, 8192]), piece=st.integers(3, 7))
_SETTINGS = settings(
    max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
_PROSE = {
    BlockKind.PARAGRAPH,
    BlockKind.LIST_ITEM,
    BlockKind.NOTE,
    BlockKind.EXAMPLE,
    BlockKind.QUOTE,
    BlockKind.FOOTNOTE,
}


def _chunks(document: Document, sizes: tuple[int, int, int], measure: PieceMeasure) -> list[Chunk]:
    return ClauseChunker(*sizes).chunk(document, DocumentType.STANDARD, measure)


@pytest.mark.requirement("A-REQ-DATA-001")
@pytest.mark.requirement("A-REQ-INGEST-005")
@_SETTINGS
@given(document=documents(), sizes=_SIZES, measure=_MEASURES)
def test_chunks_hold_all_text_of_one_clause_each_within_bounds_and_alike_each_time(
    document: Document, sizes: tuple[int, int, int], measure: PieceMeasure
) -> None:
    chunks = _chunks(document, sizes, measure)
    assert chunks == _chunks(document, sizes, measure)
    every_chunk_is_its_span_and_no_text_is_lost(document, chunks, measure)
    no_chunk_is_longer_than_asked_or_than_the_model_reads(sizes[1], chunks, measure)
    _no_chunk_holds_text_of_two_clauses(document, chunks)
    ids_are_unique_and_parents_come_first(chunks)
    assert all(len(chunk.section_hierarchy) <= 6 for chunk in chunks)
    _what_a_chunk_reports_stands_in_it(document, chunks)


def _no_chunk_holds_text_of_two_clauses(document: Document, chunks: list[Chunk]) -> None:
    facts = SectionFacts(document)
    for chunk in chunks:
        bodies = [b for b in document.blocks if b.kind is not BlockKind.HEADING and b.span.overlaps(chunk.span)]
        clauses = {facts.clause(b.section) for b in bodies}
        assert len(clauses) <= 1
        assert not clauses or {facts.clause_number(b.section) for b in bodies} == {chunk.clause_number}


def _what_a_chunk_reports_stands_in_it(document: Document, chunks: list[Chunk]) -> None:
    for chunk in chunks:
        assert chunk.normative == any(s.modality is Modality.REQUIREMENT for s in chunk.statements)
        for statement in chunk.statements:
            assert chunk.span.start <= statement.span.start < chunk.span.end
            assert re.sub(r"\s+", " ", statement.span.of(document.text)) in statement.text
        assert chunk.references == tuple(dict.fromkeys(link.target for link in chunk.links))


@pytest.mark.requirement("A-REQ-INGEST-005")
@_SETTINGS
@given(document=documents(most_sections=3), sizes=_SIZES, measure=_MEASURES)
def test_chunks_overlap_in_whole_sentences_of_one_clause_and_no_more_than_asked(
    document: Document, sizes: tuple[int, int, int], measure: PieceMeasure
) -> None:
    chunks = _chunks(document, sizes, measure)
    for first, second in pairwise(chunks):
        if second.span.start >= first.span.end:
            continue
        shared = document.text[second.span.start : first.span.end]
        assert measure.count_tokens(shared) <= sizes[2]
        assert first.clause_number == second.clause_number
        assert second.span.end > first.span.end
        touched = [b for b in document.blocks if b.span.start < first.span.end and b.span.end > second.span.start]
        assert {b.kind for b in touched} <= _PROSE
        starts = {s.start for b in touched for s in sentence_spans(document.text, b.span.start, b.span.end)}
        assert second.span.start in starts


@_SETTINGS
@given(drawn=parts(), sizes=_SIZES, measure=_MEASURES, data=st.data())
def test_an_edit_in_one_clause_changes_no_chunk_of_another(
    drawn: list[Part], sizes: tuple[int, int, int], measure: PieceMeasure, data: st.DataObject
) -> None:
    facts = SectionFacts(build_document(drawn))
    bodies = [
        (position, number)
        for position, number in _clauses_of(drawn)
        if number is not None and drawn[position].kind is BlockKind.PARAGRAPH
    ]
    assume(bodies and facts.sections)
    position, number = data.draw(st.sampled_from(bodies))
    edited = list(drawn)
    edited[position] = replace(drawn[position], text=drawn[position].text + " And something more was said here.")
    before = _chunks(build_document(drawn), sizes, measure)
    after = _chunks(build_document(edited), sizes, measure)
    assert [(c.id, c.embedding_text) for c in before if c.clause_number != number] == [
        (c.id, c.embedding_text) for c in after if c.clause_number != number
    ]


def _clauses_of(drawn: list[Part]) -> list[tuple[int, str | None]]:
    """Pair each part's position with the number of the clause that it stands in."""
    document = build_document(drawn)
    facts = SectionFacts(document)
    return [(position, facts.clause_number(b.section)) for position, b in enumerate(document.blocks)]
