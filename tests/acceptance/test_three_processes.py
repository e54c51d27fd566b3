"""The enterprise set-up for real: the REST service over Qdrant and Azure, with the local and the remote MCP server."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import httpx
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.acceptance.commands import command
from tests.readers.pdf_files import standard
from tests.servers.openai_server import OpenAIServer
from tests.servers.postgres_server import free_port
from tests.servers.qdrant_server import QdrantServer

KEY = "a-key-of-the-rag-service"
PATIENCE = 60.0


@dataclass(frozen=True)
class Service:
    """The running REST service: its address, what it logged, and what stands behind it."""

    url: str
    log: list[str]
    qdrant: QdrantServer
    azure: OpenAIServer
    folder: Path


def clean(folder: Path, **variables: str) -> dict[str, str]:
    """Build an environment with nothing in it but these variables and what every program needs."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    coverage = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE")}
    return {**kept, **coverage, "DATA_PATH": str(folder), **variables}


@contextmanager
def running(arguments: list[str], environment: dict[str, str], ready: str, log: list[str]) -> Generator[None]:
    """Run a command until the block ends; it is ready once a line of its log says so."""
    with subprocess.Popen(
        [command(arguments[0]), *arguments[1:]], env=environment, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
        text=True, cwd=environment["DATA_PATH"],
    ) as process:  # fmt: skip
        seen = threading.Event()

        def read() -> None:
            assert process.stderr is not None
            for line in process.stderr:
                log.append(line)
                if ready in line:
                    seen.set()
            seen.set()

        reader = threading.Thread(target=read, daemon=True)
        reader.start()
        try:
            assert seen.wait(PATIENCE), "".join(log)
            assert process.poll() is None, "".join(log)
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)
            reader.join(10)
    assert process.returncode == 0, "".join(log)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Start the stand-ins of Qdrant and Azure, and the REST service as its manifests configure it."""
    folder = tmp_path_factory.mktemp("rag")
    qdrant = QdrantServer(api_key="key-of-qdrant")
    with OpenAIServer(deployments={"our-embedding": "text-embedding-3-small"}) as azure:
        port, log = free_port(), list[str]()
        environment = clean(
            folder,
            QDRANT_URL=qdrant.url,
            QDRANT_API_KEY="key-of-qdrant",
            QDRANT_GRPC="off",
            AZURE_OPENAI_ENDPOINT=azure.endpoint,
            AZURE_OPENAI_KEY=azure.key,
            AZURE_OPENAI_EMBEDDING_DEPLOYMENT="our-embedding",
            EMBEDDING_MODEL="text-embedding-3-small",
            RAG_API_KEY=KEY,
        )
        arguments = ["rag-api", "--host", "127.0.0.1", "--port", str(port), "--log-level", "INFO"]
        with running(arguments, environment, "listening on", log):
            yield Service(f"http://127.0.0.1:{port}", log, qdrant, azure, folder)
    qdrant.stop()


def said(result: Any) -> dict[str, Any]:
    """Read the answer of a tool as a program would, and make sure that the text says the same."""
    assert not result.is_error, result.content
    answer: dict[str, Any] = json.loads(result.content[0].text)
    return answer


async def convert(service: Service, tool: str, **arguments: Any) -> Any:
    """Call a tool of the local MCP server, spawned as an assistant does."""
    environment = clean(service.folder, RAG_API_URL=service.url, RAG_API_KEY=KEY)
    environment["ALLOWED_ROOTS"] = str(service.folder)
    local = StdioServerParameters(
        command=command("knowledge-mcp"), args=["--surface", "convert", "--log-level", "WARNING"], env=environment
    )
    async with Client(local) as client:
        names = {each.name for each in (await client.list_tools()).tools}
        assert names == {"convert_to_text", "convert_and_ingest"}, "the local server converts and nothing else"
        return await client.call_tool(tool, arguments)


@pytest.mark.slow
@pytest.mark.requirement("D-REQ-1.1", "D-REQ-1.2", "D-REQ-1.5", "D-REQ-1A.1", "D-REQ-1A.2", "D-REQ-1A.3", "D-REQ-1A.5")
@pytest.mark.requirement("D-REQ-1A.6", "D-REQ-3.1", "D-REQ-3.2", "D-REQ-3.3", "D-REQ-3.6", "D-REQ-3.7", "D-REQ-7.2")
@pytest.mark.requirement("D-REQ-7.3", "D-REQ-7.4", "D-REQ-6.4", "D-REQ-6.5", "D-REQ-6.6", "D-REQ-10.1", "D-REQ-10.2")
@pytest.mark.requirement("D-REQ-10.3", "D-REQ-10.4", "D-REQ-10.5", "D-REQ-10.6", "D-REQ-10.7")
def test_a_file_of_a_laptop_is_found_through_all_three_processes(service: Service) -> None:
    path = service.folder / "station manual.pdf"
    path.write_bytes(standard(bookmarks=True))
    uri = path.as_uri()

    converted = said(anyio.run(lambda: convert(service, "convert_to_text", uri=uri)))
    assert "<!-- page 1 -->" in converted["text"]

    taken = said(anyio.run(lambda: convert(service, "convert_and_ingest", uri=uri, collection="project-alpha")))
    assert taken["status"] == "ingested"
    assert taken["chunks"] > 1

    port, log = free_port(), list[str]()
    environment = clean(service.folder, RAG_API_URL=service.url, RAG_API_KEY=KEY)
    arguments = ["knowledge-mcp", "--surface", "rag", "--transport", "http", "--host", "127.0.0.1", "--port", str(port)]

    async def ask() -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
        async with Client(streamable_http_client(f"http://127.0.0.1:{port}/mcp")) as client:
            shelves = said(await client.call_tool("list_collections", {}))
            found = said(
                await client.call_tool("search", {"query": "shall", "collection": "project-alpha", "top_k": 3})
            )
            whole = said(await client.call_tool("get_document", {"doc_id": taken["doc_id"]}))
            return shelves, found, whole

    with running(arguments, environment, "listening on", log):
        shelves, found, whole = anyio.run(ask)
    assert {"name": "project-alpha", "doc_count": 1}.items() <= shelves["collections"][1].items()
    assert 1 <= len(found["results"]) <= 3
    best = found["results"][0]
    assert best["text"]
    assert 0 < best["score"] <= 1
    assert (best["metadata"]["filename"], best["metadata"]["source"]) == ("station manual.pdf", uri)
    assert best["metadata"]["page"] >= 1
    assert whole["doc_id"] == taken["doc_id"]
    assert len(whole["chunks"]) == taken["chunks"]
    assert service.azure.texts, "the vectors come from Azure's stand-in"
    assert KEY not in "".join([*service.log, *log])


@pytest.mark.slow
@pytest.mark.requirement("D-REQ-9.2", "D-REQ-9.3", "D-REQ-9.4")
def test_the_service_logs_what_was_ingested_and_asked_and_who_was_refused(service: Service) -> None:
    with httpx.Client(base_url=service.url) as client:
        assert client.post("/search", json={"query": "gauge"}).status_code == 401
        assert client.get("/collections", headers={"Authorization": "Bearer wrong"}).status_code == 403
        client.headers["Authorization"] = f"Bearer {KEY}"
        body = {"text": "# Gauges\n\nRead the gauge daily.", "metadata": {"filename": "gauges.md"}}
        taken = client.post("/ingest", json=body)
        assert taken.status_code == 200, taken.text
        assert client.post("/search", json={"query": "how often is the gauge read"}).json()["results"]
    expected = (taken.json()["doc_id"], "how often is the gauge read", "/search", "127.0.0.1")
    reading, deadline = threading.Event(), time.monotonic() + 20
    while not all(result in "".join(service.log) for result in expected) and time.monotonic() < deadline:
        reading.wait(0.02)  # the log comes through a pipe, read by a thread of its own
    log = "".join(service.log)
    for result in expected:
        assert result in log
    assert "wrong" not in [word.strip("'\"=") for word in log.split() if word.startswith("Bearer")]
