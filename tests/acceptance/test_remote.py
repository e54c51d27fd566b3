"""The same commands over ChromaDB, Qdrant, OpenAI and Azure: chosen, working together, and failing as specified."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.commands import EXAMPLES, command
from tests.servers.chroma_server import ChromaServer
from tests.servers.openai_faults import quota_used_up, unauthorized
from tests.servers.openai_server import OpenAIServer
from tests.servers.qdrant_server import QdrantServer

GUIDE = EXAMPLES / "quality-control-guide.md"
"""For tests of what is chosen or fails, in which a second format would only be read again."""
NOWHERE = "1"
"""A port that nobody listens on."""


@pytest.fixture
def openai() -> Iterator[OpenAIServer]:
    """Start the stand-in of OpenAI's and Azure's service."""
    with OpenAIServer() as server:
        yield server


def run(data: Path, name: str, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run one of our commands with nothing but these variables set."""
    environ = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    environ |= {"DATA_PATH": str(data), "CHROMADB_PATH": str(data / "chroma"), **variables}
    return subprocess.run(
        [command(name), *arguments], env=environ, cwd=data, capture_output=True, text=True, check=False, timeout=300
    )


def paid(server: OpenAIServer) -> dict[str, str]:
    """Choose OpenAI's stand-in."""
    return {"OPENAI_API_KEY": server.key, "OPENAI_BASE_URL": server.url, "EMBEDDING_DIMENSIONS": "256"}


def stats(data: Path, **variables: str) -> dict[str, dict[str, object]]:
    """Ask for the statistics."""
    done = run(data, "knowledge", "stats", "--json", **variables)
    assert done.returncode == 0, done.stderr
    found: dict[str, dict[str, object]] = json.loads(done.stdout)
    return found


@pytest.mark.slow
@pytest.mark.requirement("A-REQ-IF-002", "A-REQ-IF-003", "A-REQ-MAINT-002")
def test_documents_go_through_openai_into_qdrant_and_are_found_with_what_it_cost(
    tmp_path: Path, openai: OpenAIServer
) -> None:
    qdrant = QdrantServer(api_key="the-key")
    chosen = {**paid(openai), "QDRANT_URL": qdrant.url, "QDRANT_API_KEY": "the-key", "QDRANT_GRPC": "off"}
    try:
        done = run(tmp_path, "knowledge-ingest", str(EXAMPLES), "--json", **chosen)
        assert done.returncode == 0, done.stderr
        report = json.loads(done.stdout)
        assert report["billed_tokens"] > 0
        assert report["cost_usd"] == pytest.approx(report["billed_tokens"] * 0.02 / 1e6)
        found = run(tmp_path, "knowledge", "search", "rain gauge check", "--json", **chosen)
        assert found.returncode == 0, found.stderr
        assert json.loads(found.stdout)["results"]
        result = stats(tmp_path, **chosen)
        assert result["vector_store"] == {"backend": "qdrant", "status": "healthy", "hybrid_enabled": True}
        assert result["embedding"] == {
            "provider": "openai", "model": "text-embedding-3-small", "dimensions": 256, "variant": "",
        }  # fmt: skip
        sent = len(openai.texts)
        again = run(tmp_path, "knowledge-ingest", str(EXAMPLES), "--force", "--json", **chosen)
        assert json.loads(again.stdout)["billed_tokens"] == 0, "what was paid for is in the cache"
        assert len(openai.texts) == sent
        assert "the-key" not in done.stderr + found.stderr + again.stderr
    finally:
        qdrant.stop()


@pytest.mark.slow
@pytest.mark.requirement("A-REQ-IF-002", "A-REQ-IF-003")
def test_azure_is_reached_by_endpoint_key_and_deployment(tmp_path: Path) -> None:
    with OpenAIServer(deployments={"our-embedding": "text-embedding-3-small"}) as server:
        chosen = {
            "EMBEDDING_PROVIDER": "azure", "AZURE_OPENAI_ENDPOINT": server.endpoint, "AZURE_OPENAI_KEY": server.key,
            "AZURE_OPENAI_EMBEDDING_DEPLOYMENT": "our-embedding", "EMBEDDING_MODEL": "text-embedding-3-small",
        }  # fmt: skip
        qdrant = QdrantServer(api_key="another-key")
        chosen |= {"QDRANT_URL": qdrant.url, "QDRANT_API_KEY": "another-key", "QDRANT_GRPC": "off"}
        done = run(tmp_path, "knowledge-ingest", str(GUIDE), **chosen)
        assert done.returncode == 0, done.stderr
        assert all(request.path.startswith("/openai/deployments/our-embedding/") for request in server.requests)
        result = stats(tmp_path, **chosen)["embedding"]
        assert (result["provider"], result["model"], result["dimensions"]) == ("azure", "text-embedding-3-small", 1536)
        qdrant.stop()


@pytest.mark.slow
@pytest.mark.requirement("CLARIFY-002", "A-REQ-IF-002")
@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [(unauthorized(), 3, ("refused", "OPENAI_API_KEY")), (quota_used_up(), 2, ("quota", "billing"))],
    ids=["401", "quota"],
)
def test_a_service_that_refuses_ends_the_ingest_with_the_specified_code(
    tmp_path: Path, openai: OpenAIServer, fault: object, code: int, words: tuple[str, ...]
) -> None:
    openai.always = fault  # pyright: ignore[reportAttributeAccessIssue] - a Fault, as the two functions give
    done = run(tmp_path, "knowledge-ingest", str(GUIDE), **paid(openai))
    assert done.returncode == code, done.stderr
    for word in words:
        assert word.lower() in done.stderr.lower()
    assert openai.key not in done.stderr + done.stdout
    assert len(openai.requests) <= 4, "neither is tried again"


@pytest.mark.slow
@pytest.mark.requirement("CLARIFY-005", "A-REQ-IF-003", "A-REQ-TOOL-005")
def test_chromadb_takes_over_when_qdrant_does_not_answer_with_a_warning(tmp_path: Path, openai: OpenAIServer) -> None:
    with ChromaServer(tmp_path / "server") as chroma:
        chosen = {
            **paid(openai), "QDRANT_URL": f"http://127.0.0.1:{NOWHERE}", "QDRANT_GRPC": "off",
            "CHROMADB_HOST": "127.0.0.1", "CHROMADB_PORT": str(chroma.port),
        }  # fmt: skip
        done = run(tmp_path, "knowledge-ingest", str(GUIDE), **chosen)
        assert done.returncode == 0, done.stderr
        assert "vector_store_fallback" in done.stderr
        result = stats(tmp_path, **chosen)
    assert result["vector_store"] == {"backend": "chromadb", "status": "degraded", "hybrid_enabled": True}
    assert result["knowledge_base"]["total_documents"] == 1
    assert "qdrant does not answer" in str(result["notes"])


@pytest.mark.slow
@pytest.mark.requirement("CLARIFY-005", "A-REQ-REL-003", "A-REQ-CLI-002")
def test_a_server_without_any_store_says_which_were_tried_and_what_to_check_and_exits_with_3(tmp_path: Path) -> None:
    done = run(
        tmp_path, "knowledge-mcp", QDRANT_URL=f"http://127.0.0.1:{NOWHERE}", QDRANT_GRPC="off", CHUNK_SIZE_MIN="7",
        CHROMADB_HOST="127.0.0.1", CHROMADB_PORT=NOWHERE, EMBEDDING_PROVIDER="local",
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (3, "")
    for word in ("qdrant", "chromadb", "QDRANT_URL", "CHROMADB_HOST", "CHUNK_SIZE_MIN"):
        assert word in done.stderr
