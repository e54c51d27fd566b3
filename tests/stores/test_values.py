"""What all stores share: the meaning of filters, the terms of BM25, and chunks as JSON text and back."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.collection import (
    NO_STRUCTURE,
    DocumentRecord,
    DocumentStructure,
    EmbeddingSpace,
    OutlineEntry,
    PageCoverage,
)
from knowledge_mcp.model.document import Anchor, Box, Span
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, Filter, FilterField, In, Prefix
from knowledge_mcp.stores.shared.filters import check_filter, field_value, keeps, keeps_value, simple_filters
from knowledge_mcp.stores.shared.payload import (
    chunk_from_json,
    chunk_to_json,
    record_from_json,
    record_to_json,
    space_from_json,
    space_to_json,
    structure_from_json,
    structure_to_json,
)
from knowledge_mcp.stores.shared.ranking import LARGEST_COUNT, inverse_frequency, term_counts
from knowledge_mcp.testing.store_values import SPACE, embedded, full_chunk, record

text = st.text(max_size=30)
chunks = st.builds(
    Chunk,
    id=text,
    document_id=text,
    document_title=text,
    document_type=text,
    index=st.integers(0, 10**6),
    content=text,
    content_hash=text,
    context=text,
    token_count=st.integers(0, 10**6),
    span=st.builds(Span, st.integers(0, 10**9), st.integers(0, 10**9)),
    section_hierarchy=st.lists(text, max_size=6).map(tuple),
    section_title=text,
    clause_number=st.none() | text,
    parent_chunk_id=st.none() | text,
    chunk_type=st.sampled_from(ChunkType),
    normative=st.booleans(),
    source_path=text,
    page_numbers=st.lists(st.integers(1, 9999), max_size=3).map(tuple),
    lines=st.none() | st.tuples(st.integers(1, 99), st.integers(1, 99)),
    references=st.lists(text, max_size=3).map(tuple),
    boxes=st.lists(
        st.builds(Box, st.integers(1, 9999), *[st.floats(0.0, 5000.0, allow_nan=False)] * 4), max_size=3
    ).map(tuple),
)
spans = st.builds(Span, st.integers(0, 10**9), st.integers(0, 10**9))
structures = st.builds(
    DocumentStructure,
    st.lists(
        st.builds(
            OutlineEntry,
            st.integers(1, 12),
            st.none() | text,
            text,
            spans,
            st.none() | st.integers(1, 9999),
            st.booleans(),
            st.none() | st.integers(1, 9999),
        ),
        max_size=4,
    ).map(tuple),
    st.lists(
        st.builds(
            PageCoverage, st.integers(1, 9999), text, spans, text, st.integers(0), st.integers(0), st.integers(0), text
        ),
        max_size=4,
    ).map(tuple),
    st.lists(st.builds(Anchor, text, st.integers(0, 10**9)), max_size=4).map(tuple),
)


@given(chunks)
def test_a_chunk_survives_as_json(chunk: Chunk) -> None:
    assert chunk_from_json(chunk_to_json(chunk)) == chunk
    assert chunk_to_json(chunk_from_json(chunk_to_json(chunk))) == chunk_to_json(chunk)


@given(structures)
def test_sections_and_pages_survive_as_json(structure: DocumentStructure) -> None:
    assert structure_from_json(structure_to_json(structure)) == structure
    assert (structure_to_json(structure) == "") == (structure == NO_STRUCTURE)


def test_a_structure_stored_before_there_were_anchors_is_still_read() -> None:
    plain = DocumentStructure((OutlineEntry(1, None, "Scope", Span(0, 5)),))
    lists = json.loads(structure_to_json(plain))
    assert structure_from_json(json.dumps({name: lists[name] for name in ("sections", "pages")})) == plain


def test_a_chunk_with_every_field_survives_as_json() -> None:
    chunk = full_chunk("d").chunk
    assert chunk_from_json(chunk_to_json(chunk)) == chunk


def test_definitions_stored_before_they_had_notes_are_still_read() -> None:
    written = json.loads(chunk_to_json(full_chunk("d").chunk))
    written["definitions"] = [each[:7] for each in written["definitions"]]
    with_notes, plain = full_chunk("d").chunk.definitions
    assert chunk_from_json(json.dumps(written)).definitions == (replace(with_notes, notes=(), origin=""), plain)


def test_records_and_spaces_survive_as_json() -> None:
    kept: DocumentRecord = record("d", embedded("d", ["x"]))
    assert record_from_json(record_to_json(kept, "x", "")) == kept
    space = EmbeddingSpace("openai", "m", 3, "", "mean", "query: ", "passage: ", "ab")
    assert space_from_json(space_to_json(space)) == space
    assert space_from_json(space_to_json(space)).fingerprint == space.fingerprint != SPACE.fingerprint


@pytest.mark.requirement("A-REQ-SEARCH-003")
@pytest.mark.parametrize(
    ("value", "clause", "kept"),
    [
        ("5.3", "5.3", True),
        ("5.3", "5.3.1.2", True),
        ("5.3", "5.30", False),
        ("5.3", "5", False),
        ("5.3.", "5.3.1", True),
        ("5.3", "5.3.", True),
        ("A", "A.1", True),
        ("A", "AA.1", False),
        ("A", "a.1", False),
        ("5", None, False),
    ],
)
def test_a_prefix_keeps_the_clause_and_what_lies_below_it(value: str, clause: str | None, kept: bool) -> None:
    assert keeps_value(Prefix("clause_number", value), clause) is kept


@given(chunks)
def test_every_field_that_can_be_filtered_is_kept_by_its_own_value(chunk: Chunk) -> None:
    for field in get_args(FilterField):
        value = field_value(chunk, field)
        if value is not None:
            assert keeps(Equals(field, value), chunk)
            assert keeps(In(field, ("something else", value)), chunk)
        assert not keeps(In(field, ()), chunk)
        assert not keeps(Equals(field, f"{value}!"), chunk)
    assert keeps(Equals("normative", chunk.normative), chunk)
    assert not keeps(Equals("normative", not chunk.normative), chunk)


@given(chunks, st.lists(st.sampled_from((Equals("normative", True), Prefix("clause_number", "5"))), max_size=4))
def test_and_keeps_what_every_part_keeps(chunk: Chunk, parts: list[Filter]) -> None:
    nested: Filter = And(())
    for part in parts:
        nested = And((nested, part))
    assert keeps(nested, chunk) == all(keeps(part, chunk) for part in parts) == keeps(And(tuple(parts)), chunk)
    assert list(simple_filters(nested)) == parts


def test_only_known_fields_pass_the_check() -> None:
    check_filter(None)
    check_filter(And((Equals("normative", True), Prefix("clause_number", "5"))))
    broken = Equals("normative", True)
    object.__setattr__(broken, "field", "page")
    with pytest.raises(InvalidInputError, match="page"):
        check_filter(And((And((broken,)),)))
    prefix = Prefix("clause_number", "5")
    object.__setattr__(prefix, "field", "document_id")
    with pytest.raises(InvalidInputError, match="document_id"):
        check_filter(prefix)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_a_rarer_term_weighs_more_and_none_weighs_nothing(total: int, holding: int) -> None:
    holding = min(holding, total)
    weight = inverse_frequency(total, holding)
    assert weight > 0.0
    assert math.isfinite(weight)
    if holding < total:
        assert weight > inverse_frequency(total, holding + 1)


@given(st.lists(st.sampled_from("abc")))
def test_terms_are_counted_up_to_what_a_byte_holds(terms: list[str]) -> None:
    counts = term_counts(terms)
    assert counts == {each: terms.count(each) for each in set(terms)}
    assert term_counts(terms * 300) == {each: min(300 * count, LARGEST_COUNT) for each, count in counts.items()}


def test_equal_values_give_equal_text() -> None:
    chunk = full_chunk("d").chunk
    assert chunk_to_json(chunk) == chunk_to_json(replace(chunk))
