"""The MCP Inspector's command line, over every transport; its exit codes say what it thinks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.foreign.running import Clients, target_of
from tests.transports.spawned import Transport, WebServer

pytestmark = pytest.mark.slow

INSPECTOR = "node_modules/@modelcontextprotocol/inspector/clients/launcher/build/index.js"
TOOL_ERROR = 5
SEARCH = ("--method", "tools/call", "--tool-name", "knowledge_search", "--tool-arg")


@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
def test_the_inspector_lists_calls_and_reads(transport: Transport, clients: Clients, web: WebServer) -> None:
    def inspect(*arguments: str, code: int = 0) -> Any:
        finished = clients.run(INSPECTOR, "--cli", *target_of(transport, web), *arguments)
        assert finished.returncode == code, finished.stderr + finished.stdout
        return json.loads(finished.stdout)

    listed = inspect("--method", "tools/list", "--strict")
    assert listed["tools"][0]["name"] == "knowledge_search"
    found = inspect(*SEARCH, "query=verification plan", "n_results=2")
    assert found["structuredContent"]["total"] == 2
    refused = inspect(*SEARCH, "query=plan", "n_results=0", code=TOOL_ERROR)
    assert refused["structuredContent"]["error"]["code"] == "invalid_input"
    read = inspect("--method", "resources/read", "--uri", "knowledge://documents")
    assert json.loads(read["contents"][0]["text"])["total_documents"] == 3
    prompt = inspect("--method", "prompts/get", "--prompt-name", "define_term", "--prompt-args", "term=widget")
    assert "widget" in prompt["messages"][0]["content"]["text"]


def test_the_inspector_knows_that_a_tool_is_not_there(clients: Clients, web: WebServer) -> None:
    call = ("--method", "tools/call", "--tool-name", "knowledge_serach")
    finished = clients.run(INSPECTOR, "--cli", f"{web.url}/mcp", *call)
    assert finished.returncode == TOOL_ERROR
    assert json.loads(finished.stderr)["error"]["code"] == "tool_not_found"
