"""The repositories' tools as a client sees them: a real server process over stdio, a real Git server on loopback."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from knowledge_mcp.engine.repositories.values import IndexRequest
from tests.cli.running import ROOT
from tests.repositories.world import FILES, make_service, sqlite
from tests.servers.git_server import GitServer, MadeRepository
from tests.transports.tool_results import payload

pytestmark = pytest.mark.anyio


@asynccontextmanager
async def connected(folder: Path) -> AsyncGenerator[Client]:
    """Start the real server over a folder and connect the SDK's client."""
    command = ["-m", "tests.repositories.server", str(folder), "serve"]
    async with Client(StdioServerParameters(command=sys.executable, args=command, cwd=str(ROOT))) as client:
        yield client


@pytest.mark.requirement(
    "C-2.3-query_flow", "C-3.1-server_info", "C-3.2-text", "C-6.1-tools", "C-12.2-end_to_end", "C-13.2-process",
    "C-13.4-startup", "C-9.1-format", "C-10.3-inputs", "C-A.2-codes",
)  # fmt: skip
async def test_a_client_finds_reads_and_refreshes_code_over_stdio(tmp_path: Path) -> None:
    made = MadeRepository(tmp_path / "served" / "team" / "my-api")
    first = made.commit(FILES)
    with GitServer(tmp_path / "served") as server, anyio.fail_after(60):
        service = make_service(tmp_path, store=sqlite(tmp_path))
        service.index(IndexRequest(server.url("team/my-api.git")))
        service.close()
        async with connected(tmp_path) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == [
                "semantic_search", "list_indexed_repositories", "read_file_lines", "refresh_repository"
            ]  # fmt: skip

            async def call(name: str, **arguments: Any) -> dict[str, Any]:
                result = await client.call_tool(name, arguments)
                answer = payload(result)
                schema = tools[name].output_schema
                assert schema is not None
                jsonschema.validate(answer, schema)
                assert bool(result.is_error) == ("error" in answer)
                return answer

            found = await call("semantic_search", query="check the signature of a token", threshold=0.3)
            best = found["results"][0]
            assert best["file_path"] == "src/auth/tokens.py"
            assert found["metadata"]["repositories_searched"] == ["my-api"]
            lines = await call(
                "read_file_lines",
                repository="my-api",
                file_path=best["file_path"],
                start_line=best["start_line"],
                end_line=best["end_line"],
            )
            assert lines["content"].startswith(best["content_snippet"])
            listed = await call("list_indexed_repositories")
            assert listed["repositories"][0]["indexed_commit"] == first
            second = made.commit({"src/new.py": "def brand_new_function() -> None:\n    pass\n"})
            refreshed = await call("refresh_repository", repository="my-api")
            assert (refreshed["indexed_commit"], refreshed["files_processed"]) == (second, 1)
            exact = await call("semantic_search", query="brand_new_function")
            assert exact["results"][0]["file_path"] == "src/new.py"
            unknown = await call("semantic_search", query="x", repository="my-apo")
            assert unknown["error"]["code"] == "not_found"
            assert "my-api" in unknown["error"]["suggestion"]
            wrong = await call("semantic_search", query="", limit=51)
            assert wrong["error"]["code"] == "invalid_input"


@pytest.mark.requirement("C-3.2-semantic_search", "C-3.3-list_indexed_repositories")
async def test_the_published_schemas_are_those_specified(tmp_path: Path) -> None:
    with anyio.fail_after(60):
        async with connected(tmp_path) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    search = tools["semantic_search"]
    assert search.description == (
        "Search indexed code repositories using natural language queries. Returns relevant code snippets ranked by "
        "semantic similarity."
    )
    properties = search.input_schema["properties"]
    assert search.input_schema["required"] == ["query"]
    assert properties["query"] == {
        "type": "string",
        "description": "Natural language search query describing what you're looking for",
        "minLength": 1,
        "maxLength": 1000,
    }
    assert properties["limit"] == {
        "type": "integer",
        "description": "Maximum number of results to return",
        "default": 10,
        "minimum": 1,
        "maximum": 50,
    }
    assert properties["threshold"] == {
        "type": "number",
        "description": ("Minimum similarity score (0.0 to 1.0). Higher values return more relevant but fewer results."),
        "default": 0.7,
        "minimum": 0.0,
        "maximum": 1.0,
    }
    assert properties["repository"]["type"] == "string"
    assert properties["repository"]["description"] == (
        "Filter results to a specific repository name. If omitted, searches all indexed repositories."
    )
    listing = tools["list_indexed_repositories"]
    assert listing.description == (
        "List all repositories currently indexed in the knowledge base. Shows repository names, file counts, and "
        "indexing status."
    )
    assert listing.input_schema["properties"] == {}
