"""Ingest, ask over MCP, get cited evidence."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp.types import TextContent

from tests.acceptance.commands import EXAMPLES, run, stdio_server

Calls = list[tuple[str, dict[str, Any]]]
Ask = Callable[[Calls], list[dict[str, Any]]]


async def ask(client: Client, calls: Calls) -> list[dict[str, Any]]:
    """Put calls to a server; every answer must agree with its tool's output schema and its own text."""
    schemas = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    answers: list[dict[str, Any]] = []
    for name, arguments in calls:
        result = await client.call_tool(name, arguments)
        jsonschema.validate(result.structured_content, schemas[name] or {})
        first = result.content[0]
        assert isinstance(first, TextContent)
        answer = json.loads(first.text)
        assert answer == result.structured_content
        answers.append(answer)
    return answers


@contextmanager
def server(data: Path) -> Generator[tuple[BlockingPortal, Client]]:
    """Connect to a stdio server as an assistant does; the portal runs what is asked of its client."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(stdio_server(data))) as client:
        yield portal, client


@pytest.fixture(scope="module")
def examples(examples_data: Path) -> Generator[tuple[BlockingPortal, Client]]:
    """Connect to one server over the examples for all tests that only ask."""
    with server(examples_data) as connected:
        yield connected


@pytest.fixture
def asked(examples: tuple[BlockingPortal, Client]) -> Ask:
    """Return a function that puts calls to that server."""
    portal, client = examples
    return lambda calls: portal.call(ask, client, calls)


STANDARD = "unattended-weather-stations"
QUESTIONS: list[tuple[str, set[tuple[str, str]]]] = [
    ("How many days must a class 1 station run without sun or mains?", {(STANDARD, "4.2"), (STANDARD, "6.2.1")}),
    ("What does a station switch off first when its battery runs low?", {(STANDARD, "6.2.3.1")}),
    ("How do I check a tipping-bucket rain gauge on site?", {("fsc-4110", "4.3.2")}),
    ("limits of the comparison with the travelling reference", {(STANDARD, "10.3"), ("fsc-4110", "3.4")}),
    ("The wind speed has been exactly zero for hours. Is that an error?", {("fsc-4120", "4.4"), (STANDARD, "5.3.2")}),
]


@pytest.mark.requirement("A-REQ-TOOL-001", "A-REQ-IF-001")
def test_the_questions_of_the_examples_are_answered_by_the_clauses_that_it_promises(asked: Ask) -> None:
    calls: Calls = [("knowledge_search", {"query": question}) for question, _ in QUESTIONS]
    for answer, (question, clauses) in zip(asked(calls), QUESTIONS, strict=True):
        found = {(each["source"]["document_id"], each["source"].get("clause_number")) for each in answer["results"]}
        assert clauses & found, (question, found)


@pytest.mark.requirement("A-REQ-TOOL-002")
def test_a_term_is_defined_with_its_clause(asked: Ask) -> None:
    (gust,) = asked([("knowledge_lookup", {"term": "Gusts"})])
    assert gust["found"]
    assert any(
        each["source"]["document_id"] == "unattended-weather-stations" and "3.4" in each["source"]["citation"]
        for each in gust["definitions"]
    )


@pytest.mark.requirement("A-REQ-TOOL-003")
def test_requirements_are_mandatory_sentences_of_the_one_standard_asked_for(asked: Ask) -> None:
    (answer,) = asked([("knowledge_requirements", {"topic": "recalibration", "standard": "FSC 4100"})])
    assert answer["total"] == len(answer["results"]) > 0
    assert all(each["normative"] for each in answer["results"])
    assert all("shall" in each["requirement_text"] or "must" in each["requirement_text"] for each in answer["results"])
    assert {each["source"]["document_id"] for each in answer["results"]} == {"unattended-weather-stations"}
    assert "10.4" in {each["requirement_id"] for each in answer["results"]}


FILTERS: list[tuple[dict[str, Any], str, Any]] = [
    ({"document_type": "standard"}, "document_type", "standard"),
    ({"document_id": "fsc-4120"}, "document_id", "fsc-4120"),
    ({"chunk_type": "definition"}, "chunk_type", "definition"),
    ({"normative_only": True}, "normative", True),
]


@pytest.mark.requirement("A-REQ-SEARCH-003")
def test_each_filter_keeps_only_what_it_names(asked: Ask) -> None:
    calls: Calls = [("knowledge_search", {"query": "station sensor wind", **given}) for given, _, _ in FILTERS]
    for answer, (given, field, value) in zip(asked(calls), FILTERS, strict=True):
        assert answer["results"], given
        for each in answer["results"]:
            assert {**each["source"], **each["metadata"]}[field] == value


@pytest.mark.requirement("A-REQ-TOOL-004", "A-REQ-TOOL-005", "A-REQ-TOOL-006")
def test_keywords_statistics_and_health_answer(asked: Ask) -> None:
    keyword, stats, health = asked(
        [("knowledge_keyword_search", {"query": "pyranometer"}), ("knowledge_stats", {}), ("knowledge_health", {})],
    )
    assert keyword["search_type"] == "keyword"
    assert stats["knowledge_base"]["total_documents"] == 3
    assert stats["vector_store"] == {"backend": "sqlite", "status": "healthy", "hybrid_enabled": True}
    assert stats["embedding"]["dimensions"] == 384
    assert health["checks"]["vector_store"]["status"] == health["checks"]["embedding_service"]["status"] == "up"


def test_every_passage_found_stands_word_for_word_in_its_document(
    asked: Ask, examples: tuple[BlockingPortal, Client]
) -> None:
    portal, client = examples
    (answer,) = asked([("knowledge_search", {"query": "power supply", "n_results": 30})])
    assert answer["results"]
    for each in answer["results"]:
        read = portal.call(client.read_resource, f"knowledge://documents/{each['source']['document_id']}")
        assert each["content"] in "".join(getattr(part, "text", "") for part in read.contents)


def test_a_second_run_changes_nothing_and_the_doctor_is_content(examples_data: Path) -> None:
    again = run(examples_data, "knowledge-ingest", str(EXAMPLES), "--json")
    assert again.returncode == 0, again.stderr
    report = json.loads(again.stdout)
    assert (report["files_unchanged"], report["files_processed"], report["chunks_embedded"]) == (3, 0, 0)
    doctor = run(examples_data, "knowledge", "doctor")
    assert doctor.returncode == 0, doctor.stdout


def test_the_server_says_what_to_do_when_nothing_was_ingested(tmp_path: Path) -> None:
    calls: Calls = [("knowledge_search", {"query": "anything"}), ("knowledge_stats", {})]
    with server(tmp_path) as (portal, client):
        search, stats = portal.call(ask, client, calls)
    assert search["results"] == []
    assert "knowledge-ingest" in json.dumps(search)
    assert stats["knowledge_base"]["total_chunks"] == 0
