"""The same conversation over stdio, SSE and Streamable HTTP, in both protocol eras, with the SDK's client."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import anyio
import httpx
import jsonschema
import pytest
from mcp import Client, MCPError
from mcp.types import CallToolResult, PromptReference, ResourceLink, ResourceTemplateReference, TextResourceContents

from knowledge_mcp.transports.mcp.tools import MAX_LINKS
from tests.transports.spawned import ROOT, Transport, WebServer, connected, web_server
from tests.transports.tool_results import text_of
from tests.transports.trouble import SECRET

pytestmark = pytest.mark.anyio

TOOLS = [
    "knowledge_search", "knowledge_lookup", "knowledge_requirements", "knowledge_keyword_search", "knowledge_stats",
    "knowledge_health", "knowledge_read", "knowledge_outline", "knowledge_references", "knowledge_verify_quote",
    "knowledge_changes", "knowledge_impact", "knowledge_trace", "knowledge_check", "knowledge_conflicts",
]  # fmt: skip
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("knowledge_search", {"query": "verification plan"}),
    ("knowledge_search", {"query": "verification plan", "use_hybrid": False, "document_type": "standard"}),
    ("knowledge_search", {"query": "zzz"}),
    ("knowledge_lookup", {"term": "widget"}),
    ("knowledge_lookup", {"term": "widgit"}),
    ("knowledge_requirements", {"topic": "verification"}),
    ("knowledge_requirements", {"topic": "verification", "standard": "nowhere"}),
    ("knowledge_keyword_search", {"query": "verification"}),
    ("knowledge_stats", {}),
    ("knowledge_health", {}),
    ("knowledge_read", {"document_id": "example-standard", "clause": "5.3.1"}),
    ("knowledge_read", {"document_id": "crane-guide", "max_tokens": 20_000}),
    ("knowledge_read", {"document_id": "example-standard", "clause": "5.3.9"}),
    ("knowledge_outline", {"document_id": "example-standard"}),
    ("knowledge_outline", {"document_id": "example-standard", "coverage": True}),
    ("knowledge_references", {"document_id": "example-standard", "clause": "5.3.1"}),
    ("knowledge_verify_quote", {"quote": "records shall not be discarded"}),
    ("knowledge_verify_quote", {"quote": "nobody wrote this"}),
    ("knowledge_search", {"query": ""}),
    ("knowledge_search", {"query": "crash"}),
    ("knowledge_search", {"query": "offline"}),
    ("knowledge_search", {"query": "crane", "n_results": 40}),
]


@pytest.mark.slow
@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
@pytest.mark.requirement("A-REQ-IF-001")
async def test_every_call_is_answered_alike_over_every_transport(
    transport: Transport, era: Any, web: WebServer
) -> None:
    with anyio.fail_after(60):
        async with connected(transport, web, era) as client:
            assert client.server_info is not None
            assert client.server_info.version == "9.9.9"
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == TOOLS
            for name, arguments in CALLS:
                result = await client.call_tool(name, arguments)
                schema = tools[name].output_schema
                assert schema is not None
                jsonschema.validate(result.structured_content, schema)
                assert json.loads(text_of(result)) == result.structured_content
                assert SECRET not in result.model_dump_json()
            await everything_else(client)


async def everything_else(client: Client) -> None:
    """Read resources, render prompts, complete, and meet protocol errors."""
    listed = await client.read_resource("knowledge://documents")
    rest = await client.read_resource("knowledge://documents?start=1")
    documents = listed.contents[0]
    assert isinstance(documents, TextResourceContents)
    assert json.loads(documents.text)["total_documents"] == 3
    assert isinstance(rest.contents[0], TextResourceContents)
    assert json.loads(rest.contents[0].text)["documents"] == json.loads(documents.text)["documents"][1:]
    found = await client.call_tool("knowledge_search", {"query": "verification plan", "detail": "full"})
    links = [block for block in found.content if isinstance(block, ResourceLink)]
    assert 0 < len(links) <= MAX_LINKS
    read = (await client.read_resource(str(links[0].uri))).contents[0]
    assert isinstance(read, TextResourceContents)
    assert found.structured_content is not None
    assert read.text == found.structured_content["results"][0]["content"]
    prompt = await client.get_prompt("define_term", {"term": "widget"})
    assert "knowledge_lookup" in prompt.messages[0].model_dump_json()
    template = ResourceTemplateReference(type="ref/resource", uri="knowledge://documents/{document_id}")
    assert (await client.complete(template, {"name": "document_id", "value": "example-h"})).completion.values == [
        "example-handbook"
    ]
    reference = PromptReference(type="ref/prompt", name="answer_with_citations")
    assert (await client.complete(reference, {"name": "chunk_type", "value": "re"})).completion.values == [
        "requirement", "recommendation", "reference",
    ]  # fmt: skip
    for call in (
        lambda: client.call_tool("knowledge_serach", {}),
        lambda: client.get_prompt("nowhere"),
        lambda: client.get_prompt("define_term", {}),
        lambda: client.read_resource("knowledge://chunks/nowhere"),
        lambda: client.read_resource("knowledge://elsewhere/x"),
    ):
        with pytest.raises(MCPError) as caught:
            await call()
        assert caught.value.error.code == -32602
        assert set(caught.value.error.data["error"]) == {"code", "message", "details", "recoverable", "suggestion"}


@pytest.mark.slow
async def test_two_clients_are_served_at_once_and_a_slow_search_holds_up_neither(web: WebServer) -> None:
    with anyio.fail_after(60):
        async with connected("http", web, "auto") as first, connected("sse", web, "legacy") as second:
            async with anyio.create_task_group() as tasks:
                for number in range(20):
                    client = first if number % 2 else second
                    tasks.start_soon(client.call_tool, "knowledge_search", {"query": f"plan {number}"})
            with anyio.move_on_after(2) as scope:
                await first.call_tool("knowledge_search", {"query": "slow"})
            assert scope.cancelled_caught
            with anyio.fail_after(5):
                answer = await second.call_tool("knowledge_stats", {})
            assert not answer.is_error


@pytest.mark.slow
def test_standard_output_holds_nothing_but_the_protocol_and_a_huge_query_is_not_repeated() -> None:
    lines: list[dict[str, Any]] = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
            "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call",
         "params": {"name": "knowledge_search", "arguments": {"query": "crash"}}},
        {"jsonrpc": "2.0", "id": 3, "method": "tools/call",
         "params": {"name": "knowledge_search", "arguments": {"query": "x" * 10_000_000}}},
        {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": {"name": "knowledge_stats", "arguments": {}}},
    ]  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "tests.transports.server", "stdio"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        for line in lines:
            process.stdin.write(json.dumps(line) + "\n")
            process.stdin.flush()
        answers = {message["id"]: message for message in (json.loads(process.stdout.readline()) for _ in range(4))}
        assert answers[1]["result"]["serverInfo"]["name"] == "knowledge-mcp"
        assert answers[2]["result"]["isError"] is True
        refused = answers[3]["result"]
        assert refused["isError"] is True
        assert len(json.dumps(refused)) < 2000
        assert refused["structuredContent"]["error"]["code"] == "invalid_input"
        assert not answers[4]["result"]["isError"]
        rest, log = process.communicate(timeout=30)
    assert rest == ""
    assert "incident" in log
    assert process.returncode == 0


# SIGTERM ends the command itself in tests/cli/test_serve.py, and the next test ends a web server by it
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.slow), signal.SIGINT])
@pytest.mark.requirement("A-REQ-CLI-002")
def test_a_signal_ends_a_stdio_server_cleanly(number: signal.Signals) -> None:
    with subprocess.Popen(
        [sys.executable, "-m", "tests.transports.server", "stdio"],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        process.stdin.write(json.dumps(ping) + "\n")
        process.stdin.flush()
        assert process.stdout.readline()
        process.send_signal(number)
        assert process.wait(20) == 0


async def test_a_call_under_way_is_answered_before_a_web_server_ends(tmp_path: Path) -> None:
    answers: list[CallToolResult] = []
    done = tmp_path / "done"

    async def ask(client: Client) -> None:
        answers.append(await client.call_tool("knowledge_search", {"query": f"until {done}"}))

    with web_server() as server:
        async with connected("http", server, "auto") as client, anyio.create_task_group() as group:
            await client.list_tools()  # else the client asks for the tool's schema after its answer
            group.start_soon(ask, client)
            with anyio.fail_after(20):
                while not any("query_received" in line for line in server.log):
                    await anyio.lowlevel.checkpoint()
            server.process.send_signal(signal.SIGTERM)
            async with httpx.AsyncClient() as other:
                for _ in range(20):
                    assert (await other.get(f"{server.url}/health")).status_code == 200
            assert answers == []
            done.touch()
        assert [answer.is_error for answer in answers] == [False]
        with anyio.fail_after(20):
            assert await anyio.to_thread.run_sync(server.process.wait) == 0


@pytest.mark.slow  # as the test before and those of the command in tests/cli/test_serve.py
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_web_server_cleanly(number: signal.Signals) -> None:
    with web_server() as server:
        server.process.send_signal(number)
        assert server.process.wait(20) == 0
