"""The planning tools as clients see them: over stdio, SSE and Streamable HTTP, with progress and cancellation."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import httpx2
import jsonschema
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from tests.planning.world import REF, paper, report
from tests.transports.spawned import ROOT, web_server
from tests.transports.tool_results import payload

pytestmark = pytest.mark.anyio

TOOLS = [
    "ingest_document", "search_application_docs", "get_document_text", "list_ingested_documents", "delete_document",
    "ingest_status", "cancel_ingest", "list_applications",
]  # fmt: skip
TOKEN = "case-officer-7"
SERVER = "tests.planning.server"


@asynccontextmanager
async def connected(transport: str, folder: Path, *, token: str = "") -> AsyncGenerator[Client]:
    """Start a server over a folder and connect the SDK's client."""
    if transport == "stdio":
        command = ["-m", "tests.planning.server", "stdio", str(folder)]
        async with Client(StdioServerParameters(command=sys.executable, args=command, cwd=str(ROOT))) as client:
            yield client
        return
    with web_server(str(folder), *([f"officer={token}"] if token else []), module=SERVER) as server:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        if transport == "http":
            http = httpx2.AsyncClient(headers=headers, timeout=30)
            async with http, Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client:
                yield client
        else:
            async with Client(sse_client(f"{server.url}/sse", headers=headers)) as client:
                yield client


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that another process does."""
    with anyio.fail_after(30):
        while not condition():
            await anyio.lowlevel.checkpoint()
            await anyio.to_thread.run_sync(threading.Event().wait, 0.02)


@pytest.mark.slow
@pytest.mark.requirement("document-store-api:FR-009", "document-store-api:FR-001", "document-store-api:OUT-errors")
@pytest.mark.parametrize("transport", ["stdio", "http", "sse"])
async def test_a_document_s_whole_life_over_each_transport(transport: str, tmp_path: Path) -> None:
    path = paper(tmp_path / "papers" / "Transport_Assessment.pdf", *report())
    with anyio.fail_after(60):
        async with connected(transport, tmp_path, token="" if transport == "stdio" else TOKEN) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == TOOLS

            async def call(name: str, **arguments: Any) -> dict[str, Any]:
                result = await client.call_tool(name, arguments)
                answer = payload(result)
                schema = tools[name].output_schema
                assert schema is not None
                jsonschema.validate(answer, schema)
                assert result.is_error == (answer["status"] == "error")
                return answer

            document = await call("ingest_document", file_path=str(path), application_ref=REF)
            assert document["status"] == "success"
            again = await call("ingest_document", file_path=str(path), application_ref=REF)
            assert again["status"] == "already_ingested"
            found = await call("search_application_docs", query="cycle parking", application_ref=REF, max_results=3)
            assert found["results_count"] == 3
            text = await call("get_document_text", document_id=document["document_id"])
            assert text["text"] == "\n\n".join(report())
            listed = await call("list_ingested_documents", application_ref=REF)
            assert listed["document_count"] == 1
            outside = await call("ingest_document", file_path="/etc/passwd", application_ref=REF)
            assert outside["error_type"] == "path_not_allowed"
            gone = await call("delete_document", document_id=document["document_id"])
            assert gone["chunks_deleted"] == document["chunks_created"]
            missing = await call("get_document_text", document_id=document["document_id"])
            assert missing["error_type"] == "document_not_found"
            wrong = await call("search_application_docs", query="x", max_results=1000)
            assert wrong["error_type"] == "invalid_input"
            await hear_progress(client, tmp_path)
            changing = {
                name for name, tool in tools.items() if tool.annotations and not tool.annotations.read_only_hint
            }
            assert changing == {"ingest_document", "delete_document", "cancel_ingest"}
            hints = tools["delete_document"].annotations
            assert hints is not None
            assert hints.destructive_hint


async def hear_progress(client: Client, folder: Path) -> None:
    """Ingest a paper that is held at its second page until three signs of life have come."""
    path = paper(folder / "papers" / "slow.pdf", *report(topic="Slow. "))
    (folder / "hold").touch()
    reported: list[tuple[float, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        assert total == 100.0
        reported.append((progress, message))
        if len(reported) == 3:
            (folder / "hold").unlink()

    arguments = {"file_path": str(path), "application_ref": REF}
    result = await client.call_tool("ingest_document", arguments, progress_callback=note)
    assert payload(result)["status"] == "success"
    values = [progress for progress, _ in reported]
    assert len(values) >= 3
    assert values == sorted(set(values))  # a protocol's progress grows with every message
    assert any(message is not None and "page 1 of 3" in message for _, message in reported)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["stdio", "http"])
async def test_a_cancelled_ingest_leaves_nothing_behind(transport: str, tmp_path: Path) -> None:
    path = paper(tmp_path / "papers" / "slow.pdf", *report(pages=40))
    (tmp_path / "hold").touch()
    arguments = {"file_path": str(path), "application_ref": REF}
    with anyio.fail_after(60):
        async with connected(transport, tmp_path) as client:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(client.call_tool, "ingest_document", arguments)
                await until((tmp_path / "held").exists)
                tasks.cancel_scope.cancel()
            listed = payload(await client.call_tool("list_ingested_documents", {"application_ref": REF}))
            assert listed["document_count"] == 0  # and by this answer the server has heard of the end
            (tmp_path / "hold").unlink()
            # the lock is free again once the work has stopped, and this is the first ingest that there is
            again = payload(await client.call_tool("ingest_document", arguments))
            assert again["status"] == "success"
            assert not list((tmp_path / "data" / "locks").glob("*.lock"))


@pytest.mark.requirement("document-store-api:FR-001")
@pytest.mark.slow
async def test_a_caller_that_cannot_wait_asks_for_its_job(tmp_path: Path) -> None:
    path = paper(tmp_path / "papers" / "slow.pdf", *report())
    (tmp_path / "hold").touch()
    arguments = {"file_path": str(path), "application_ref": REF, "wait": False}
    with anyio.fail_after(60), web_server(str(tmp_path), module=SERVER) as server:
        async with Client(streamable_http_client(f"{server.url}/mcp")) as client:
            accepted = payload(await client.call_tool("ingest_document", arguments))
            assert accepted["status"] == "accepted"
            assert re.fullmatch(r"[0-9a-f]{16}", accepted["job_id"])
            await until((tmp_path / "held").exists)
            same = payload(await client.call_tool("ingest_document", arguments))
            assert same["job_id"] == accepted["job_id"]
            running = payload(await client.call_tool("ingest_status", {"job_id": accepted["job_id"]}))
            assert running["state"] == "running"
            assert "page 1 of 3" in running["progress"]["message"]
            (tmp_path / "hold").unlink()
            state = running
            while state["state"] in {"queued", "running"}:
                state = payload(await client.call_tool("ingest_status", {"job_id": accepted["job_id"]}))
            assert state["state"] == "done"
            assert state["result"]["status"] == "success"
            unknown = payload(await client.call_tool("ingest_status", {"job_id": "../../etc/passwd"}))
            assert unknown["error_type"] == "job_not_found"


@pytest.mark.slow
async def test_a_restarted_server_takes_up_what_its_predecessor_left(tmp_path: Path) -> None:
    path = paper(tmp_path / "papers" / "slow.pdf", *report())
    (tmp_path / "hold").touch()
    arguments = {"file_path": str(path), "application_ref": REF, "wait": False}
    with anyio.fail_after(90):
        with web_server(str(tmp_path), module=SERVER) as server:
            async with Client(streamable_http_client(f"{server.url}/mcp")) as client:
                job = payload(await client.call_tool("ingest_document", arguments))["job_id"]
                await until((tmp_path / "held").exists)
                server.process.kill()
                server.process.wait(20)
                (tmp_path / "hold").unlink()
        with web_server(str(tmp_path), module=SERVER) as server:
            async with Client(streamable_http_client(f"{server.url}/mcp")) as client:
                state = {"state": "queued"}
                while state["state"] in {"queued", "running"}:
                    state = payload(await client.call_tool("ingest_status", {"job_id": job}))
                assert state["state"] == "done"
                listed = payload(await client.call_tool("list_ingested_documents", {"application_ref": REF}))
                assert listed["document_count"] == 1


@pytest.mark.requirement("document-store-api:FR-010")
@pytest.mark.slow
async def test_nothing_but_health_is_answered_without_a_token(tmp_path: Path) -> None:
    with web_server(str(tmp_path), f"officer={TOKEN}", module=SERVER) as server:
        async with httpx2.AsyncClient(timeout=10) as http:
            assert (await http.get(f"{server.url}/health")).json()["status"] == "ok"
            for authorization in ("", "Bearer wrong", f"Basic {TOKEN}", f"bearer{TOKEN}"):
                headers = {"Authorization": authorization} if authorization else {}
                for method, route in (("POST", "/mcp"), ("GET", "/sse"), ("POST", "/messages/")):
                    answer = await http.request(method, f"{server.url}{route}", headers=headers)
                    assert answer.status_code == 401
                    assert answer.json()["error"]["code"] == "unauthorized"
