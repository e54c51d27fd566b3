"""The engine's values travel: whatever is written is read back as it was, and nothing else is taken for it."""

from __future__ import annotations

import inspect
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Modality, Statement
from knowledge_mcp.model.collection import DocumentRecord, DocumentStatus, EmbeddingSpace
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix, SearchAnswer, SearchMode, SearchQuery, Stats
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.remote.values import RIGHTS, codec_of, method_of
from tests.machine import examples

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
FIELDS = st.sampled_from(["document_id", "document_type", "chunk_type", "normative", "clause_number"])
SIMPLE: st.SearchStrategy[Filter] = st.one_of(
    st.builds(Equals, FIELDS, TEXT | st.booleans() | st.sampled_from(["true", "1", "5.3"])),
    st.builds(In, FIELDS, st.lists(TEXT, max_size=3).map(tuple)),
    st.builds(Prefix, st.just("clause_number"), TEXT),
)
FILTERS: st.SearchStrategy[Filter] = st.recursive(
    SIMPLE, lambda inner: st.builds(And, st.lists(inner, max_size=3).map(tuple)), max_leaves=6
)
QUERIES = st.builds(
    SearchQuery, TEXT, st.integers(1, 100), st.sampled_from(SearchMode), st.floats(0, 1), st.none() | FILTERS
)
SPANS = st.builds(Span, st.integers(0, 99), st.integers(0, 99))
STATEMENTS = st.builds(
    Statement, SPANS, st.sampled_from(Modality), st.booleans(), st.none() | TEXT, TEXT, st.none() | TEXT,
    st.none() | SPANS,
)  # fmt: skip
DEFINITIONS = st.builds(Definition, TEXT, TEXT, SPANS, st.lists(TEXT, max_size=2).map(tuple), st.none() | TEXT)
REFERENCES = st.builds(Reference, TEXT, st.sampled_from(ReferenceKind), TEXT, SPANS)
CHUNKS = st.builds(
    Chunk, TEXT, TEXT, TEXT, TEXT, st.integers(), TEXT, TEXT, TEXT, st.integers(), SPANS,
    st.lists(TEXT, max_size=2).map(tuple), TEXT, st.none() | TEXT, st.none() | TEXT, st.sampled_from(ChunkType),
    st.booleans(), TEXT, st.just((1, 2)), st.just(("i", "ii")), st.none() | st.just((3, 9)),
    st.lists(TEXT, max_size=2).map(tuple), st.lists(REFERENCES, max_size=2).map(tuple),
    st.lists(STATEMENTS, max_size=2).map(tuple), st.lists(DEFINITIONS, max_size=2).map(tuple),
)  # fmt: skip


def travelled(hint: Any, value: Any) -> Any:
    """Write a value, put it through JSON text, and read it back."""
    codec = codec_of(hint)
    return codec.decode(json.loads(json.dumps(codec.encode(value), allow_nan=False)))


@settings(max_examples=examples(60))
@given(QUERIES)
def test_every_question_travels_with_its_filter(query: SearchQuery) -> None:
    assert travelled(SearchQuery, query) == query


@settings(max_examples=examples(30))
@given(st.lists(CHUNKS, max_size=2))
def test_every_chunk_travels_with_all_that_is_in_it(chunks: list[Chunk]) -> None:
    assert travelled(list[Chunk], chunks) == chunks


def test_equals_and_prefix_of_the_same_fields_stay_apart() -> None:
    for expected in (Equals("clause_number", "5.3"), Prefix("clause_number", "5.3")):
        query = SearchQuery("x", filter=And((expected, And(()), In("document_id", ()))))
        assert travelled(SearchQuery, query) == query


def test_records_reports_and_events_travel() -> None:
    record = DocumentRecord(
        "a", "A", "custom", "/a.md", "00", "p", 1, 2, 3, 4, "m", "t", "u", "text/markdown", DocumentStatus.PARTIAL,
        (("k", "v"),), ("w",),
    )  # fmt: skip
    assert travelled(DocumentRecord, record) == record
    assert travelled(IngestReport, IngestReport(price=None, seconds=1.5)) == IngestReport(price=None, seconds=1.5)
    options = IngestOptions(force=True, dry_run=True, max_cost=0.25)
    assert travelled(IngestOptions, options) == options
    stats = method_of("stats").result
    assert replace(stats.decode(stats.encode(_stats())), documents=()) == replace(_stats(), documents=())
    with pytest.raises(ValueError, match="kind"):
        codec_of(IngestEvent).decode({"kind": "exploded", "source": "a"})


def _stats() -> Stats:
    from tests.fakes.knowledge import FakeKnowledge

    found = FakeKnowledge().stats()
    return replace(found, space=EmbeddingSpace("local", "m", 3, "int8"))


def test_every_method_of_the_port_travels_and_has_its_right() -> None:
    methods = {name for name, _ in inspect.getmembers(Knowledge, inspect.isfunction) if not name.startswith("_")}
    assert methods == RIGHTS.keys() | {"close", "code_passages"}
    for name in RIGHTS.keys() - {"ingest"}:
        method_of(name)
    for name in ("ingest", "close", "__init__", "nothing"):
        with pytest.raises(KeyError):
            method_of(name)


def test_arguments_that_do_not_fit_are_refused_by_name() -> None:
    search = method_of("search")
    refused: list[tuple[dict[str, Any], str]] = [
        ({}, "takes: query"),
        ({"query": {"text": "x"}, "limit": 3}, "takes: query"),
        ({"query": "x"}, "query"),
        ({"query": {"text": "x", "mode": "psychic"}}, "query"),
        ({"query": {"text": "x", "filter": {"kind": "like", "field": "document_id", "value": "x"}}}, "query"),
        ({"query": {"text": "x", "filter": {"kind": "and", "parts": {}}}}, "query"),
        ({"query": {"text": "x", "filter": []}}, "query"),
    ]
    for result, words in refused:
        with pytest.raises(InvalidInputError, match=words):
            search.arguments(result)
    nested: dict[str, Any] = {"kind": "and", "parts": []}
    for _ in range(50):
        nested = {"kind": "and", "parts": [nested]}
    with pytest.raises(InvalidInputError, match="query"):
        search.arguments({"query": {"text": "x", "filter": nested}})
    assert method_of("lookup").arguments({"term": "valve"}) == {"term": "valve"}


def test_what_is_new_in_an_answer_is_passed_over() -> None:
    result = codec_of(SearchAnswer).encode(SearchAnswer((), SearchMode.HYBRID, 3))
    assert codec_of(SearchAnswer).decode({**result, "news": [1]}) == SearchAnswer((), SearchMode.HYBRID, 3)
