"""The six specified tools over a fake Knowledge: every specified field, the empty forms, the truth about them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.query import (
    Hit,
    LookupAnswer,
    RequirementAnswer,
    RequirementQuery,
    SearchAnswer,
    SearchMode,
    SearchQuery,
)
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.planning import tools as planning_tools
from knowledge_mcp.surfaces.rag import tools as rag_tools
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.surfaces.standards.passages import brief_source, search_result
from tests.engine.world import World
from tests.fakes.knowledge import FakeKnowledge
from tests.fakes.passages import SAMPLE

TOOLS = {tool.name: tool for tool in SURFACE.tools}
PROMPTS = {prompt.name: prompt for prompt in SURFACE.prompts}
RESOURCES = {resource.name: resource for resource in SURFACE.resources}


def ask(name: str, knowledge: Knowledge | None = None, /, **arguments: Any) -> dict[str, Any]:
    """Call a tool as a transport does, and return exactly what would be sent."""
    tool = TOOLS[name]
    response = tool.run(knowledge or FakeKnowledge(), parse(tool.request, arguments))
    return response.model_dump(mode="json", exclude_unset=True)


class Ended(FakeKnowledge):
    """Have no result where the question is asked on."""

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Answer from the first result on only."""
        answer = super().search(query)
        return replace(answer, hits=()) if query.offset else answer


class Recording(FakeKnowledge):
    """Remember the last search query."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[SearchQuery] = []

    def search(self, query: SearchQuery) -> SearchAnswer:
        """Remember and search."""
        self.asked.append(query)
        return super().search(query)


@pytest.mark.requirement("A-REQ-TOOL-001")
def test_a_search_result_has_every_specified_field() -> None:
    answer = ask("knowledge_search", query="verification plan")
    assert set(answer) == {"results", "total", "query", "search_type"}
    assert answer["total"] == len(answer["results"]) > 1
    assert answer["query"] == "verification plan"
    assert answer["search_type"] == "hybrid"
    first = answer["results"][0]
    assert set(first) >= {"id", "content", "score", "source", "metadata"}
    assert first["source"] == {
        "document_id": "example-standard",
        "document_title": "Example Standard for Widget Engineering",
        "document_type": "standard",
        "source_path": "/documents/example-standard.md",
        "page_numbers": [7],
        "section": "5.3.1 Verification planning",
        "citation": "Example Standard for Widget Engineering, 5.3.1 Verification planning, p. 7",
        "clause_number": "5.3.1",
    }
    assert first["metadata"] == {
        "chunk_type": "requirement",
        "normative": True,
        "section_hierarchy": ["5.3.1 Verification planning"],
        "references": [],
    }
    assert 0 <= first["score"] <= 1
    assert not {"locator", "uri", "dense", "lexical"} & set(first), "programs ask for them"
    whole = ask("knowledge_search", query="verification plan", detail="full")["results"][0]
    assert whole["dense"]["rank"] == whole["lexical"]["rank"] == 1
    assert whole["uri"] == f"knowledge://chunks/{whole['id']}"


def test_the_search_type_is_the_one_that_was_used() -> None:
    assert ask("knowledge_search", query="plan", use_hybrid=False)["search_type"] == "semantic"
    assert ask("knowledge_keyword_search", query="plan")["search_type"] == "keyword"

    class DenseOnly(FakeKnowledge):
        def search(self, query: SearchQuery) -> SearchAnswer:
            found = super().search(query)
            return SearchAnswer(found.hits, SearchMode.SEMANTIC, found.searched_documents, ("The lexical leg failed.",))

    fallen_back = ask("knowledge_search", DenseOnly(), query="plan")
    assert fallen_back["search_type"] == "semantic"
    assert fallen_back["degraded"] == ["The lexical leg failed."]


def test_parameters_reach_the_engine() -> None:
    knowledge = Recording()
    ask("knowledge_search", knowledge, query="plan", n_results=3, hybrid_weight=0.2, normative_only=True)
    ask("knowledge_search", knowledge, query="plan", use_hybrid=False)
    ask("knowledge_keyword_search", knowledge, query="plan", n_results=4)
    hybrid, semantic, keyword = knowledge.asked
    assert (hybrid.limit, hybrid.weight, hybrid.mode) == (3, 0.2, SearchMode.HYBRID)
    assert hybrid.filter is not None
    assert semantic.mode is SearchMode.SEMANTIC
    assert (keyword.mode, keyword.limit) == (SearchMode.KEYWORD, 4)


@pytest.mark.requirement("A-REQ-SEARCH-003")
def test_filters_narrow_a_search_and_are_named_in_the_answer() -> None:
    answer = ask("knowledge_search", query="plan", document_type="handbook")
    assert {result["source"]["document_id"] for result in answer["results"]} == {"example-handbook"}
    assert answer["filters_applied"] == {"document_type": "handbook"}
    below = ask("knowledge_search", query="verification plan", clause_number="5.3")
    assert {result["source"]["clause_number"] for result in below["results"]} == {"5.3.1", "5.3.2"}
    exact = ask("knowledge_keyword_search", query="verification plan", clause_number="5.3", clause_exact=True)
    assert exact["results"] == []


@pytest.mark.requirement("A-REQ-TOOL-001")
def test_a_search_without_results_has_the_specified_empty_form() -> None:
    answer = ask("knowledge_search", query="zzz")
    assert answer["results"] == []
    assert answer["total"] == 0
    assert answer["message"] == "No documents matched your query"
    assert answer["suggestions"]
    assert "filter" not in str(answer)


@pytest.mark.parametrize("name", ["pumps.md", "Pumps of the Plant", "pumps"])
@pytest.mark.parametrize("tool", ["knowledge_search", "knowledge_keyword_search"])
def test_a_filter_takes_the_file_name_and_the_title_of_a_document_for_its_id(
    tmp_path: Path, tool: str, name: str
) -> None:
    world = World(tmp_path).holding({"pumps.md": "# Pumps of the plant\n\nStop it.", "fans.md": "# Fans\n\nStop it."})
    answer = ask(tool, world.knowledge, query="stop it", document_id=name)
    assert [each["source"]["document_id"] for each in answer["results"]] == ["pumps"]
    assert answer["filters_applied"] == {"document_id": ["pumps"]}


def test_an_empty_answer_tells_why_it_is_empty() -> None:
    nothing = FakeKnowledge(())
    for name, argument, specified in (
        ("knowledge_search", "query", "No documents matched your query"),
        ("knowledge_lookup", "term", "Term 'plan' not found in knowledge base"),
        ("knowledge_requirements", "topic", "No requirements found for this topic"),
    ):
        message = ask(name, nothing, **{argument: "plan"})["message"]
        assert message == f"{specified}. The knowledge base is empty: no document has been ingested yet."
    excluded = ask("knowledge_search", query="verification plan", document_id=["example-standrd"])
    assert "document_id=['example-standrd']" in excluded["message"]
    assert "Remove filters" in excluded["suggestions"]
    assert any("Did you mean example-standard" in suggestion for suggestion in excluded["suggestions"])
    missing = ask("knowledge_search", query="verification plan", document_id=["example-standard", "example-standrd"])
    assert missing["results"]
    assert missing["message"].startswith("There is no document 'example-standrd'. Did you mean example-standard")
    clause = ask("knowledge_search", query="verification plan", clause_number="Planning")
    assert any("knowledge_outline" in suggestion for suggestion in clause["suggestions"])
    not_to_blame = ask("knowledge_search", query="zzz", document_type="standard")
    assert not_to_blame["message"] == "No documents matched your query"


@pytest.mark.requirement("A-REQ-TOOL-002")
def test_a_cursor_behind_the_last_result_is_refused() -> None:
    for name in ("knowledge_search", "knowledge_keyword_search"):
        with pytest.raises(InvalidInputError, match="The cursor 900 is beyond the last result"):
            ask(name, Ended(), query="verification", cursor=900)


def test_a_look_up_has_its_found_and_its_not_found_form() -> None:
    found = ask("knowledge_lookup", term="Widget")
    assert set(found) == {"term", "found", "definitions"}
    assert found["found"] is True
    assert found["definitions"][0]["definition"] == "smallest part of a system that can be replaced."
    assert set(found["definitions"][0]["source"]) >= {"document_id", "document_title", "citation"}
    missing = ask("knowledge_lookup", term="widgit")
    assert missing["found"] is False
    assert "definitions" not in missing
    assert missing["message"] == "Term 'widgit' not found in knowledge base"
    assert missing["similar_terms"] == ["widget"]
    assert ask("knowledge_lookup", term="qqq")["similar_terms"] == []


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_requirements_have_the_specified_fields_and_empty_form() -> None:
    answer = ask("knowledge_requirements", topic="verification records", standard="widget", n_results=2)
    assert (answer["topic"], answer["standard_filter"], answer["total"]) == ("verification records", "widget", 2)
    assert answer["documents"] == ["example-standard"]
    first = answer["results"][0]
    assert first["requirement_text"] == "Verification records shall not be discarded."
    assert first["requirement_id"] == "5.3.2"
    assert first["normative"] is True
    assert first["negated"] is True
    assert set(first["source"]) >= {"document_id", "document_title", "citation"}
    empty = ask("knowledge_requirements", topic="zzz")
    assert (empty["results"], empty["standard_filter"], empty["total"]) == ([], None, 0)
    assert empty["message"] == "No requirements found for this topic"
    wrong = ask("knowledge_requirements", topic="verification", standard="example-standrd")
    assert "'example-standrd'" in wrong["message"]
    assert "Did you mean 'example-standard'?" in wrong["suggestions"]
    narrow = ask("knowledge_requirements", topic="zzz", standard="widget")
    assert narrow["message"] == "No requirements found for this topic"


@pytest.mark.requirement("A-REQ-TOOL-004")
def test_a_keyword_search_answers_in_the_form_of_a_search() -> None:
    answer = ask("knowledge_keyword_search", query="discarded")
    assert set(answer) == {"results", "total", "query", "search_type"}
    assert "dense" not in ask("knowledge_keyword_search", query="discarded", detail="full")["results"][0]
    assert "exact words" in ask("knowledge_keyword_search", query="zzz")["suggestions"][0]


@pytest.mark.requirement("A-REQ-TOOL-005")
def test_stats_count_and_describe() -> None:
    answer = ask("knowledge_stats")
    assert answer["knowledge_base"].keys() == {"total_chunks", "total_documents", "total_tokens", "storage_bytes"}
    assert answer["knowledge_base"]["total_chunks"] == sum(each["chunk_count"] for each in answer["documents"]) == 6
    assert answer["documents"][0].keys() >= {
        "document_id", "document_title", "document_type", "chunk_count", "ingested_at",
    }  # fmt: skip
    assert answer["vector_store"] == {"backend": "memory", "status": "healthy", "hybrid_enabled": True}
    assert answer["embedding"]["model"] == "fake-words"
    assert answer["embedding"]["dimensions"] == 8


@pytest.mark.requirement("A-REQ-TOOL-006")
def test_health_reports_every_dependency() -> None:
    answer = ask("knowledge_health")
    assert answer["status"] == "healthy"
    assert answer["checks"]["vector_store"] == {"status": "up", "latency_ms": 1, "message": "OK"}
    assert answer["checks"].keys() == {"vector_store", "embedding_service"}
    assert answer["timestamp"].startswith("2026-")


def test_a_document_resource_is_the_canonical_text_and_nothing_else() -> None:
    knowledge = FakeKnowledge()
    content = RESOURCES["document"].read(knowledge, "example-standard")
    assert content.text == knowledge.document_text("example-standard")
    assert content.meta["document_title"] == "Example Standard for Widget Engineering"
    for name in ("document", "chunk"):
        with pytest.raises(NotFoundError):
            RESOURCES[name].read(knowledge, "nowhere")


def test_the_list_of_documents_names_each_with_its_address_and_is_never_a_flood() -> None:
    listed = json.loads(RESOURCES["documents"].read(FakeKnowledge(), "").text)
    assert [each["uri"] for each in listed["documents"]] == [
        "knowledge://documents/example-handbook", "knowledge://documents/example-standard",
    ]  # fmt: skip
    many = FakeKnowledge([replace(SAMPLE[0], id=f"document-{number}") for number in range(1000)])
    text = RESOURCES["documents"].read(many, "").text
    assert len(text) <= 200_000
    assert json.loads(text)["total_documents"] == 1000
    asked = ask("knowledge_stats", many)
    shown = [each["document_id"] for each in asked["documents"]]
    note = asked["truncated"]["note"]
    while found := re.search(r"start=(\d+)", note):
        listed = json.loads(RESOURCES["documents"].read(many, found[1]).text)
        shown += [each["document_id"] for each in listed["documents"]]
        note = listed.get("truncated", {}).get("note", "")
    assert shown == [each.id for each in many.documents()]


def test_a_prompt_names_the_tool_and_carries_its_arguments() -> None:
    assert "standard='29148'" in PROMPTS["find_requirements"].render({"topic": "traceability", "standard": "29148"})
    assert "standard=" not in PROMPTS["find_requirements"].render({"topic": "traceability"})
    compared = PROMPTS["compare_standards"].render({"first": "a", "second": "b", "topic": "reviews"})
    assert "Compare 'a' with 'b' on 'reviews'" in compared
    answered = PROMPTS["answer_with_citations"].render({"question": "Why?", "chunk_type": "requirement"})
    assert "chunk_type='requirement'" in answered
    assert "document_type" not in answered
    reviewed = PROMPTS["edition_review"].render({"document": "ACME 100", "from": "2018"})
    assert "knowledge_changes with document='ACME 100', from='2018', and" in reviewed
    ours = PROMPTS["what_changed_for_us"].render({"document": "ACME 100", "about": "doors"})
    assert "knowledge_impact with document='ACME 100', and" in ours
    assert "interested in 'doors'" in ours
    assert "interested" not in PROMPTS["what_changed_for_us"].render({"document": "ACME 100"})


def test_every_tool_that_a_prompt_names_is_one_of_the_surface() -> None:
    for prompt in PROMPTS.values():
        text = prompt.render({argument.name: "x" for argument in prompt.arguments})
        named = set(re.findall(r"knowledge_[a-z_]+", text))
        assert named
        assert named <= {tool.name for tool in SURFACE.tools}


def test_document_ids_are_completed_by_beginning_then_middle_then_title() -> None:
    assert SURFACE.completers is not None
    complete = SURFACE.completers["document_id"]
    knowledge = FakeKnowledge()
    assert complete(knowledge, "") == ["example-handbook", "example-standard"]
    assert complete(knowledge, "stand") == ["example-standard"]
    assert complete(knowledge, "REVIEWS") == ["example-handbook"]
    assert SURFACE.completers["document_type"](knowledge, "s") == ["standard", "specification"]


def test_what_a_passage_has_beside_the_specified_fields_is_reported_only_where_there_is_any() -> None:
    chunk, _ = FakeKnowledge().chunk(ask("knowledge_search", query="verification plan")["results"][0]["id"])
    plain = replace(chunk, clause_number=None, page_numbers=(), page_labels=(), section_hierarchy=("Foreword",))
    rich = replace(chunk, page_numbers=(7, 8), page_labels=("iv", "v"), lines=(10, 12))
    result = search_result(Hit(rich, 1.7, "Cited."), "full").model_dump(mode="json", exclude_unset=True)
    assert result["score"] == 1.0
    assert result["source"]["page_labels"] == ["iv", "v"]
    assert result["source"]["lines"] == [10, 12]
    bare = search_result(Hit(plain, -0.1, "Cited."), "full").model_dump(mode="json", exclude_unset=True)
    assert bare["score"] == 0.0
    assert bare["source"]["section"] == "Foreword"
    assert not bare["source"].keys() & {"clause_number", "page_labels", "lines"}
    assert brief_source(plain, "Cited.").model_dump(exclude_unset=True).keys() == {
        "document_id", "document_title", "citation",
    }  # fmt: skip


def test_every_surface_tells_what_a_passage_was_cut_off_from() -> None:
    chunk, _ = FakeKnowledge().chunk(ask("knowledge_search", query="verification plan")["results"][0]["id"])
    whole = replace(chunk, context="Pumps > 5 Loads")
    row = replace(chunk, context="Pumps > 5 Loads\nTable 3\n| Part | Weight |", content="| pump | 3 kg |")
    for each, result in ((row, "Table 3\n| Part | Weight |"), (whole, None)):
        hit = Hit(each, 0.5, "Cited.")
        shown = (
            search_result(hit, "full"),
            rag_tools.search_result(hit, "default"),
            planning_tools.search_result(FakeKnowledge(), hit, {}, {}),
        )
        assert [answer.sent().get("cut_from") for answer in shown] == [result] * 3


def test_definitions_and_requirements_tell_what_else_is_known_of_them() -> None:
    class Known(FakeKnowledge):
        def lookup(self, term: str, edition: str = "") -> LookupAnswer:
            found = super().lookup(term)
            first = found.definitions[0]
            more = replace(
                first.definition, aliases=("W",), domain="engineering", notes=("NOTE It is small.",), origin="ISO 999"
            )
            return replace(found, definitions=(replace(first, definition=more),), degraded=("Slow.",))

        def requirements(self, query: RequirementQuery) -> RequirementAnswer:
            found = super().requirements(query)
            first = found.hits[0]
            numbered = replace(first.statement, identifier="REQ-12", clause_number=None)
            hit = replace(first, statement=numbered, chunk=replace(first.chunk, clause_number=None))
            return replace(found, hits=(hit,), degraded=("Slow.",))

    defined = ask("knowledge_lookup", Known(), term="widget")
    assert defined["definitions"][0]["aliases"] == ["W"]
    assert defined["definitions"][0]["domain"] == "engineering"
    assert defined["definitions"][0]["notes"] == ["NOTE It is small."]
    assert defined["definitions"][0]["origin"] == "ISO 999"
    assert defined["degraded"] == ["Slow."]
    required = ask("knowledge_requirements", Known(), topic="verification")
    assert required["results"][0]["identifier"] == required["results"][0]["requirement_id"] == "REQ-12"
    assert required["degraded"] == ["Slow."]
