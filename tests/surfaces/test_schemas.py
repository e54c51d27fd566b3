"""Published schemas: what clients of every temper accept, and what the specification asks for."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from knowledge_mcp.embedders.services.embedder import RemoteTokenizer
from knowledge_mcp.model.errors import ConfigError, ErrorCode, InvalidInputError
from knowledge_mcp.surfaces.answers import MAX_DETAILS, ErrorEnvelope, render_error
from knowledge_mcp.surfaces.arguments import input_schema, output_schema, parse
from knowledge_mcp.surfaces.contract import Tool, load_surfaces
from knowledge_mcp.surfaces.standards import SURFACE
from knowledge_mcp.surfaces.standards.shapes import StandardsSearchRequest
from knowledge_mcp.transports.mcp.listing import build_listing

Schema = dict[str, Any]
TOOLS = {tool.name: tool for tool in SURFACE.tools}
KEYWORDS = "knowledge_keyword_search"


def tokens_of(value: Any) -> int:
    """Count the tokens of a value as it is sent."""
    return RemoteTokenizer().count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))


def published(name: str) -> dict[str, Schema]:
    """Return the properties of a tool's input schema."""
    properties: dict[str, Schema] = input_schema(TOOLS[name].request, whole=True)["properties"]
    return properties


@pytest.mark.parametrize("tool", SURFACE.tools, ids=lambda tool: tool.name)
@pytest.mark.requirement("A-REQ-IF-001")
def test_schemas_are_valid_and_free_of_what_strict_clients_refuse(tool: Tool) -> None:
    asked = input_schema(tool.request)
    answered = output_schema(tool.response, SURFACE.error_model)
    for schema in (asked, answered):
        jsonschema.Draft202012Validator.check_schema(schema)
        assert schema["type"] == "object"
        assert "$ref" not in json.dumps(schema)
    text = json.dumps(asked)
    assert asked["additionalProperties"] is False
    assert "anyOf" not in text
    assert "null" not in text
    assert '"title"' not in text
    assert all(field["description"] for field in published(tool.name).values())


def test_the_input_schema_says_each_constraint_and_default() -> None:
    search = published("knowledge_search")
    assert next(iter(search)) == "query"
    assert (search["query"]["minLength"], search["query"]["maxLength"]) == (1, 2000)
    assert (search["n_results"]["minimum"], search["n_results"]["maximum"], search["n_results"]["default"]) == (
        1,
        100,
        10,
    )
    assert (search["hybrid_weight"]["minimum"], search["hybrid_weight"]["maximum"]) == (0, 1)
    assert search["hybrid_weight"]["default"] == 0.7
    assert search["use_hybrid"] | {"description": ""} == {"type": "boolean", "default": True, "description": ""}
    assert search["document_type"]["type"] == "string"
    assert search["document_id"]["items"]["type"] == "string"
    assert published("knowledge_keyword_search")["query"]["maxLength"] == 500
    assert published("knowledge_lookup")["term"]["maxLength"] == 200
    requirements = published("knowledge_requirements")
    assert (requirements["topic"]["maxLength"], requirements["standard"]["maxLength"]) == (1000, 100)
    assert requirements["n_results"]["maximum"] == 50
    assert published("knowledge_stats") == {}


def test_what_an_assistant_reads_of_the_tools_takes_two_thousand_tokens_and_the_whole_list_five() -> None:
    listed_tools = build_listing(SURFACE).contents["tools"]
    read = [{name: each[name] for name in ("name", "description", "inputSchema")} for each in listed_tools]
    longest = sorted(((tokens_of([each]), each["name"]) for each in listed_tools), reverse=True)[:5]
    assert tokens_of(read) <= 2_000, f"shorten descriptions, or give a tool another surface; the longest: {longest}"
    assert tokens_of(listed_tools) <= 5_000, f"shorten answers' descriptions; the longest: {longest}"


def test_an_argument_without_words_is_explained_by_its_name_or_by_another_tool() -> None:
    fields = [each for tool in SURFACE.tools for each in input_schema(tool.request)["properties"].items()]
    result = {name for name, field in fields if "description" in field}
    search, keywords = (input_schema(TOOLS[name].request)["properties"] for name in ("knowledge_search", KEYWORDS))
    for name in ("document_type", "chunk_type", "detail"):
        assert keywords[name]["enum"] == search[name]["enum"]
    assert {"edition", "metadata", "clause_number", "from", "to", "chunk_id", "detail"} <= result
    assert "knowledge_search" in TOOLS[KEYWORDS].description


def test_values_of_metadata_are_texts_numbers_and_truths_and_all_are_bounded() -> None:
    asked = parse(StandardsSearchRequest, {"query": "a", "metadata": {"no": 7, "draft": True}, "tags": "steel"})
    assert asked.where() == (("no", "7"), ("draft", "true"), ("tags", "steel"))
    for wrong in ({"metadata": {str(each): "x" for each in range(21)}}, {"metadata": {"a": ["b"]}}, {"tags": [""]}):
        with pytest.raises(InvalidInputError):
            parse(StandardsSearchRequest, {"query": "a", **wrong})


@pytest.mark.requirement("A-REQ-DATA-002", "A-REQ-DATA-003")
def test_enumerations_are_published_as_specified() -> None:
    search = published("knowledge_search")
    assert search["document_type"]["enum"] == [
        "standard", "handbook", "guide", "specification", "report", "policy", "custom",
    ]  # fmt: skip
    assert search["chunk_type"]["enum"] == [
        "definition", "requirement", "recommendation", "guidance", "example", "figure", "table", "overview",
        "reference", "annex",
    ]  # fmt: skip


def test_the_published_schema_refuses_what_the_server_refuses() -> None:
    schema = input_schema(StandardsSearchRequest)
    for arguments in ({}, {"query": ""}, {"query": "a", "n_results": 101}, {"query": "a", "typo": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(arguments, schema)
    jsonschema.validate({"query": "a", "document_type": "guide", "document_id": ["x"]}, schema)


def test_an_answer_is_either_a_success_or_an_error_never_both() -> None:
    schema = output_schema(TOOLS["knowledge_search"].response, ErrorEnvelope, whole=True)
    brief = output_schema(TOOLS["knowledge_search"].response, ErrorEnvelope)
    error = render_error(InvalidInputError("No."))
    success: Schema = {"results": [], "total": 0, "query": "a", "search_type": "hybrid"}
    for each in (schema, brief):
        jsonschema.validate(error, each)
        jsonschema.validate(success, each)
    refused: list[Schema] = [{}, {"results": []}, {**success, "total": "0"}, {"error": "other"}]
    for each in refused:
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(each, brief)
    for wrong in ({}, {**success, "total": "0"}, {"error": {"code": "other"}}, {**success, "surprise": 1}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(wrong, schema)


@pytest.mark.requirement("A-REQ-REL-001", "A-REQ-DATA-004")
def test_an_error_has_the_specified_form_and_a_bounded_size() -> None:
    rendered = render_error(InvalidInputError("m" * 9000, details="d" * 9000, suggestion="s"))["error"]
    assert set(rendered) == {"code", "message", "details", "recoverable", "suggestion"}
    assert rendered["code"] == "invalid_input"
    assert rendered["recoverable"] is True
    assert len(rendered["message"]) == len(rendered["details"]) == MAX_DETAILS
    assert rendered["details"].endswith("…")
    assert {code.value for code in ErrorCode} == {
        "config_error", "connection_error", "timeout_error", "auth_error", "not_found", "invalid_input",
        "rate_limited", "internal_error",
    }  # fmt: skip


def test_the_tools_cost_an_assistant_few_tokens() -> None:
    tools = [
        {"name": t.name, "description": t.description, "inputSchema": input_schema(t.request)} for t in SURFACE.tools
    ]
    specified, evidence, editions, tracing = tools[:6], tools[6:10], tools[10:12], tools[12:]
    assert len(json.dumps(specified)) / 4 < 1700  # 80 of them for the edition, on four tools
    assert len(json.dumps(evidence)) / 4 < 1150  # the four beyond the specification
    assert len(json.dumps(editions)) / 4 < 700
    assert len(json.dumps(tracing)) / 4 < 550


def test_what_is_published_is_brief_and_what_is_checked_is_not() -> None:
    brief, whole = (input_schema(StandardsSearchRequest, whole=each)["properties"] for each in (False, True))
    assert brief.keys() == whole.keys()
    assert {**brief["n_results"], "description": whole["n_results"]["description"]} == whole["n_results"]
    assert brief["cursor"] == {"type": "integer"}
    for arguments in ({"query": "a", "cursor": -1}, {"query": "a", "clause_number": "x" * 101}):
        with pytest.raises(InvalidInputError):
            parse(StandardsSearchRequest, arguments)


def test_surfaces_are_loaded_once_each_and_unknown_ones_named() -> None:
    assert load_surfaces(["standards", "standards"]) == (SURFACE,)
    with pytest.raises(ConfigError) as caught:
        load_surfaces(["standards", "nowhere"])
    assert "nowhere" in caught.value.message
    assert "standards" in caught.value.details
    with pytest.raises(ConfigError):
        load_surfaces([])
