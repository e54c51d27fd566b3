"""Arguments of the six tools: every constraint of the specification from both sides, and how a refusal reads."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import And, Equals, In, Prefix
from knowledge_mcp.surfaces.arguments import nearest, number_of_clause, parse
from knowledge_mcp.surfaces.contract import Request
from knowledge_mcp.surfaces.standards.shapes import (
    KeywordSearchRequest,
    LookupRequest,
    NoArguments,
    RequirementsRequest,
    StandardsSearchRequest,
)

Q = {"query": "widget"}
T = {"topic": "widget"}

WRONG: list[tuple[type[Request], dict[str, Any], str]] = [
    (StandardsSearchRequest, {}, "query"),
    (StandardsSearchRequest, {"query": ""}, "query"),
    (StandardsSearchRequest, {"query": " \t\n"}, "query"),
    (StandardsSearchRequest, {"query": "x" * 2001}, "query"),
    (StandardsSearchRequest, {"query": 7}, "query"),
    (StandardsSearchRequest, {"query": None}, "query"),
    (StandardsSearchRequest, {"query": "\ud800"}, "query"),
    (StandardsSearchRequest, {**Q, "n_results": 0}, "n_results"),
    (StandardsSearchRequest, {**Q, "n_results": 101}, "n_results"),
    (StandardsSearchRequest, {**Q, "n_results": "7"}, "n_results"),
    (StandardsSearchRequest, {**Q, "n_results": True}, "n_results"),
    (StandardsSearchRequest, {**Q, "n_results": 7.5}, "n_results"),
    (StandardsSearchRequest, {**Q, "n_results": None}, "n_results"),
    (StandardsSearchRequest, {**Q, "document_type": "Standard"}, "document_type"),
    (StandardsSearchRequest, {**Q, "document_type": ["standard"]}, "document_type"),
    (StandardsSearchRequest, {**Q, "chunk_type": "paragraph"}, "chunk_type"),
    (StandardsSearchRequest, {**Q, "normative_only": 1}, "normative_only"),
    (StandardsSearchRequest, {**Q, "normative_only": "true"}, "normative_only"),
    (StandardsSearchRequest, {**Q, "use_hybrid": "false"}, "use_hybrid"),
    (StandardsSearchRequest, {**Q, "hybrid_weight": -0.01}, "hybrid_weight"),
    (StandardsSearchRequest, {**Q, "hybrid_weight": 1.01}, "hybrid_weight"),
    (StandardsSearchRequest, {**Q, "hybrid_weight": "0.5"}, "hybrid_weight"),
    (StandardsSearchRequest, {**Q, "hybrid_weight": float("nan")}, "hybrid_weight"),
    (StandardsSearchRequest, {**Q, "hybrid_weight": True}, "hybrid_weight"),
    (StandardsSearchRequest, {**Q, "document_id": []}, "document_id"),
    (StandardsSearchRequest, {**Q, "document_id": '["a", "b"]'}, "document_id"),
    (StandardsSearchRequest, {**Q, "document_id": [1]}, "document_id"),
    (StandardsSearchRequest, {**Q, "document_id": ""}, "document_id"),
    (StandardsSearchRequest, {**Q, "clause_number": 5.3}, "clause_number"),
    (StandardsSearchRequest, {**Q, "clause_number": ""}, "clause_number"),
    (KeywordSearchRequest, {"query": "x" * 501}, "query"),
    (KeywordSearchRequest, {**Q, "n_results": 101}, "n_results"),
    (KeywordSearchRequest, {**Q, "n_results": 0}, "n_results"),
    (LookupRequest, {}, "term"),
    (LookupRequest, {"term": ""}, "term"),
    (LookupRequest, {"term": "x" * 201}, "term"),
    (RequirementsRequest, {}, "topic"),
    (RequirementsRequest, {"topic": "x" * 1001}, "topic"),
    (RequirementsRequest, {**T, "standard": ""}, "standard"),
    (RequirementsRequest, {**T, "standard": "x" * 101}, "standard"),
    (RequirementsRequest, {**T, "n_results": 51}, "n_results"),
    (RequirementsRequest, {**T, "n_results": 0}, "n_results"),
]
RIGHT: list[tuple[type[Request], dict[str, Any]]] = [
    (StandardsSearchRequest, {"query": "x"}),
    (StandardsSearchRequest, {"query": "x" * 2000}),
    (StandardsSearchRequest, {**Q, "n_results": 1}),
    (StandardsSearchRequest, {**Q, "n_results": 100}),
    (StandardsSearchRequest, {**Q, "n_results": 10.0}),
    (StandardsSearchRequest, {**Q, "hybrid_weight": 0}),
    (StandardsSearchRequest, {**Q, "hybrid_weight": 1}),
    (
        StandardsSearchRequest,
        {**Q, "document_type": None, "chunk_type": None, "document_id": None, "clause_number": None},
    ),
    (KeywordSearchRequest, {"query": "x" * 500, "n_results": 100}),
    (LookupRequest, {"term": "x" * 200}),
    (RequirementsRequest, {"topic": "x" * 1000, "standard": "x" * 100, "n_results": 50}),
    (RequirementsRequest, {**T, "standard": None}),
    (NoArguments, {}),
]


@pytest.mark.parametrize(("model", "arguments", "field"), WRONG)
@pytest.mark.requirement("A-REQ-REL-001")
def test_a_value_outside_its_constraint_is_refused_by_name(
    model: type[Request], arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(model, arguments)
    assert field in caught.value.message
    assert caught.value.details.startswith(f"{field}: ")
    assert caught.value.recoverable
    assert "pydantic" not in caught.value.details


def test_a_text_that_is_too_long_is_told_its_length_in_characters() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {"query": "x" * 2001})
    assert caught.value.details == "query: has 2001 characters, more than the 2000 allowed"
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {**Q, "document_id": ["x" * 501]})
    assert "501 characters" in caught.value.details
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {**Q, "document_id": ["x"] * 51})
    assert "51" in caught.value.details
    assert "characters" not in caught.value.details


@pytest.mark.parametrize(("model", "arguments"), RIGHT)
def test_a_value_at_its_limit_is_accepted(model: type[Request], arguments: dict[str, Any]) -> None:
    assert isinstance(parse(model, arguments), model)


def test_what_is_left_out_takes_the_specified_default() -> None:
    search = parse(StandardsSearchRequest, Q)
    assert (search.n_results, search.normative_only, search.use_hybrid, search.hybrid_weight) == (10, False, True, 0.7)
    assert search.document_type is None
    assert search.chunk_type is None
    assert parse(KeywordSearchRequest, Q).n_results == 10
    requirements = parse(RequirementsRequest, T)
    assert (requirements.n_results, requirements.standard) == (10, None)


@pytest.mark.parametrize(
    ("given_name", "meant"), [("n_result", "n_results"), ("documentType", "document_type"), ("Query", "query")]
)
def test_an_unknown_argument_is_refused_and_the_nearest_named(given_name: str, meant: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {**Q, given_name: 3})
    assert given_name in caught.value.message
    assert f"'{meant}'" in caught.value.suggestion


def test_next_to_an_unknown_argument_the_missing_one_is_named() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {"q": "x"})
    assert caught.value.suggestion == "Remove it, give query and call again."
    assert caught.value.details.startswith("This tool takes: query, ")


def test_what_is_missing_is_distinguished_from_what_is_wrong() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {"n_results": "many"})
    assert caught.value.message == "Missing: query. Invalid value for n_results."
    assert caught.value.suggestion == "Correct what `details` names, and call again."  # a brief schema has no bounds


def test_an_argument_for_a_tool_without_any_is_refused() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(NoArguments, {"x" * 10_000: 1})
    assert caught.value.details == "This tool takes no arguments."
    assert len(caught.value.message) < 200


def test_a_refused_value_is_never_repeated() -> None:
    with pytest.raises(InvalidInputError) as caught:
        parse(StandardsSearchRequest, {"query": "hunter2" * 1000, "n_results": "hunter2"})
    assert "hunter2" not in f"{caught.value.message}{caught.value.details}{caught.value.suggestion}"


@pytest.mark.requirement("A-REQ-SEARCH-003")
def test_filters_become_the_engine_s_filter() -> None:
    def filter_of(**arguments: Any) -> object:
        return parse(StandardsSearchRequest, {**Q, **arguments}).filter()

    assert filter_of() is None
    assert filter_of(document_type="guide") == Equals("document_type", "guide")
    assert filter_of(chunk_type="annex") == Equals("chunk_type", "annex")
    assert filter_of(normative_only=True) == Equals("normative", True)
    assert filter_of(document_id="a") == Equals("document_id", "a")
    assert filter_of(document_id=["a", "b"]) == In("document_id", ("a", "b"))
    assert filter_of(clause_number="5.3.") == Prefix("clause_number", "5.3")
    assert filter_of(clause_number="5.3", clause_exact=True) == Equals("clause_number", "5.3")
    assert filter_of(document_type="guide", normative_only=True) == And(
        (Equals("document_type", "guide"), Equals("normative", True))
    )


@pytest.mark.parametrize(
    ("name", "number"),
    [
        *((name, "B") for name in ("B", "b", "Annex B", "annex b", "APPENDIX B", "Annex B (informative) Notes")),
        *((name, "5.3") for name in ("5.3", "5.3.", "Clause 5.3", "§ 5.3", "5.3 Control", "5.3 a)", "clause 5.3 (b)")),
        ("b.1", "B.1"),
        ("6(1)(a)", "6(1)(a)"),
        ("R302.5", "R302.5"),
        ("5.3 and 5.4", "5.3 and 5.4"),
        ("Control", "Control"),
    ],
)
def test_a_clause_to_search_in_is_given_as_people_and_references_call_it(name: str, number: str) -> None:
    assert number_of_clause(name) == number


@given(st.dictionaries(st.text(max_size=20), st.none() | st.booleans() | st.integers() | st.floats() | st.text()))
def test_whatever_is_sent_it_is_understood_or_refused_in_words(arguments: dict[str, Any]) -> None:
    outcome: StandardsSearchRequest | InvalidInputError
    try:
        outcome = parse(StandardsSearchRequest, arguments)
    except InvalidInputError as error:
        outcome = error
    if isinstance(outcome, InvalidInputError):
        assert 0 < len(outcome.message) < 1000
    else:
        assert 1 <= len(outcome.query) <= 2000


@pytest.mark.parametrize(
    ("name", "known", "meant"),
    [
        ("from_document", ["document", "from", "to"], "from"),
        ("to_document", ["document", "from", "to"], "to"),
        ("pages", ["parents", "first_page", "last_page"], "last_page"),  # it shares a word, not only letters
        ("documents", ["document_id", "cursor"], "document_id"),
        ("qeury", ["query", "cursor"], "query"),
        ("zzz", ["query"], None),
    ],
)
def test_the_nearest_name_shares_a_word_before_it_shares_letters(
    name: str, known: list[str], meant: str | None
) -> None:
    assert nearest(name, known) == meant
