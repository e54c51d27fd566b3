"""The surface as MCP clients see it: over a library behind the REST service, in memory and as a process of its own."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from knowledge_mcp.model.library import Deposit
from knowledge_mcp.remote.client import RemoteLibrary
from knowledge_mcp.transports.mcp.server import build_server
from tests.fakes.library import FakeLibrary
from tests.rag.conftest import GUIDE, PAGE, WEB
from tests.remote.serving import AT_ONCE, KEY, rest_service
from tests.transports.spawned import ROOT
from tests.transports.tool_results import payload

pytestmark = pytest.mark.anyio

TOOLS = [
    "search", "ingest_url", "list_collections", "get_document", "ingest_url_status", "cancel_ingest_url",
]  # fmt: skip


@dataclass
class Served:
    """The library behind the REST service, and where that is."""

    held: FakeLibrary
    url: str


@pytest.fixture(scope="module")
def served() -> Generator[Served]:
    """Serve a library with one document in `project-alpha`."""
    held = FakeLibrary(web=WEB)
    held.deposit(Deposit("project-alpha", "guide.md", GUIDE))
    with rest_service(held) as url:
        yield Served(held, url)
    held.close()


@asynccontextmanager
async def connected(served: Served) -> AsyncGenerator[Client]:
    """Connect to a server in this process, whose library is behind the REST service."""
    with anyio.fail_after(30), closing(RemoteLibrary(served.url, KEY, policy=AT_ONCE)) as remote:
        async with Client(build_server(lambda _: remote, ["rag"], version="9.9.9")) as client:
            yield client


async def call(client: Client, name: str, **arguments: Any) -> dict[str, Any]:
    """Call a tool that must not fail; its answer must match the published schema."""
    result = await client.call_tool(name, arguments)
    answer = payload(result)
    assert not result.is_error, answer
    schema = next(tool.output_schema for tool in (await client.list_tools()).tools if tool.name == name)
    assert schema is not None
    jsonschema.validate(answer, schema)
    return answer


@pytest.mark.requirement("D-REQ-2.6")
@pytest.mark.requirement("D-REQ-3.7")
@pytest.mark.requirement("D-REQ-4.5")
@pytest.mark.requirement("D-REQ-5.4")
async def test_every_tool_wraps_the_service(served: Served) -> None:
    async with connected(served) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == TOOLS
        ingested = await call(client, "ingest_url", uri=PAGE, collection="web")
        assert ingested["status"] == "ingested"
        assert ingested["chunks"] == 2
        assert served.held.deposits[-1].url == PAGE
        found = await call(client, "search", query="authentication approach", collection="web", top_k=1)
        assert found["results"][0]["metadata"]["source"] == PAGE
        assert found["results"][0]["metadata"]["page"] == 1
        listed = await call(client, "list_collections")
        assert {each["name"]: each["doc_count"] for each in listed["collections"]} == {
            "default": 0, "project-alpha": 1, "web": 1,
        }  # fmt: skip
        document = await call(client, "get_document", doc_id=ingested["doc_id"])
        assert (document["source"], len(document["chunks"])) == (PAGE, 2)
        assert (await call(client, "search", query="authentication"))["results"] == []


@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.requirement("D-REQ-5.3")
@pytest.mark.parametrize(
    ("tool", "arguments", "code", "words"),
    [
        ("get_document", {"doc_id": "abc123"}, "not_found", "Document not found: abc123"),
        ("search", {"query": "x", "collection": "nowhere"}, "not_found", "nowhere"),
        ("ingest_url", {"uri": "https://gone.example.com/a.pdf"}, "not_found", "404"),
        ("ingest_url", {"uri": "https://slow.example.com/"}, "timeout_error", "too long"),
        ("ingest_url", {"uri": "file:///etc/passwd"}, "invalid_input", ""),
        ("ingest_url_status", {"job_id": "nothing"}, "not_found", ""),
    ],
)
async def test_a_failure_of_the_service_is_reported_as_it_is(
    served: Served, tool: str, arguments: dict[str, Any], code: str, words: str
) -> None:
    async with connected(served) as client:
        result = await client.call_tool(tool, arguments)
        assert result.is_error
        error = payload(result)["error"]
        assert error.keys() == {"code", "message", "details", "recoverable", "suggestion"}
        assert error["code"] == code
        assert words in error["message"]
        assert error["suggestion"]


async def test_progress_of_an_ingestion_reaches_the_client(served: Served) -> None:
    reported: list[float] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    async with connected(served) as client:
        result = await client.call_tool("ingest_url", {"uri": PAGE, "force": True}, progress_callback=hear)
    assert not result.is_error
    assert reported
    assert reported == sorted(set(reported))
    assert reported[-1] == 100.0


@pytest.mark.requirement("D-REQ-10.2")
@pytest.mark.requirement("D-REQ-6.5")
@pytest.mark.requirement("D-REQ-6.6")
async def test_a_server_of_its_own_reads_address_and_key_from_its_environment(served: Served, tmp_path: Path) -> None:
    environment = {
        "PATH": os.environ["PATH"], "DATA_PATH": str(tmp_path), "RAG_API_URL": served.url, "RAG_API_KEY": KEY,
    }  # fmt: skip
    command = ["-m", "knowledge_mcp.cli.serve.mcp", "--surface", "rag"]
    server = StdioServerParameters(command=sys.executable, args=command, env=environment, cwd=str(ROOT))
    with anyio.fail_after(60):
        async with Client(server) as client:
            found = await call(client, "search", query="bearer token", collection="project-alpha")
            assert found["results"][0]["metadata"]["filename"] == "guide.md"


@pytest.mark.requirement("D-REQ-6.2")
async def test_a_wrong_key_is_reported_and_never_shown(served: Served) -> None:
    with closing(RemoteLibrary(served.url, "not-the-key", policy=AT_ONCE)) as remote:
        async with Client(build_server(lambda _: remote, ["rag"], version="9.9.9")) as client:
            refused = await client.call_tool("search", {"query": "bearer"})
    assert refused.is_error
    assert payload(refused)["error"]["code"] == "auth_error"
    assert "not-the-key" not in refused.model_dump_json()


async def test_cancelling_a_call_cancels_its_job(tmp_path: Path) -> None:
    begun, cancelled, release = threading.Event(), threading.Event(), threading.Event()

    def before(method: str) -> None:
        if method == "work":
            begun.set()
            assert release.wait(20)
        if method == "cancel_job":
            cancelled.set()

    held = FakeLibrary(web=WEB, before=before)
    with rest_service(held) as url:
        async with connected(Served(held, url)) as client:
            with anyio.move_on_after(20):
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "ingest_url", {"uri": PAGE})
                    assert await anyio.to_thread.run_sync(begun.wait, 20)
                    group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(cancelled.wait, 20)
        release.set()
