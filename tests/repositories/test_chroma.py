"""Repositories in a real ChromaDB server: connected to, filled, listed, asked by a client of its own, dropped."""

from __future__ import annotations

import logging
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.cli.repositories.repositories import health_status
from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.support.retry import RetryPolicy
from tests.repositories.world import FILES, World
from tests.servers.chroma_server import ChromaServer, temporary_server
from tests.stores import plain_chroma

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def chroma() -> Generator[ChromaServer]:
    """Run one server for all tests of this module."""
    with temporary_server() as running:
        yield running


@pytest.fixture
def stored(chroma: ChromaServer, tmp_path: Path) -> Generator[World]:
    """Return a service over the server."""
    store = ChromaStore(chroma.address(), EnglishAnalyser(), policy=RetryPolicy(()))
    made = World(tmp_path, store=store)
    yield made
    made.service.close()


@pytest.mark.requirement("C-4.2-collections", "C-4.2-add", "C-4.2-stats", "C-B.1-operations", "C-12.2-integration")
def test_a_repository_s_collection_is_made_filled_counted_asked_and_dropped(
    stored: World, chroma: ChromaServer
) -> None:
    import chromadb

    indexed = stored.index(stored.repository().folder)
    assert [each.name for each in stored.store.collections()] == ["repo_my_api"]
    counts = counts_of(stored.store.open("repo_my_api"))
    assert (counts.documents, counts.chunks) == (len(FILES) + 1, indexed.chunks_created)
    client: Any = chromadb.HttpClient(host="127.0.0.1", port=chroma.port)
    theirs = client.get_collection("repo_my_api")
    assert theirs.configuration_json["hnsw"]["space"] == "cosine"
    everything = theirs.get(include=["documents", "metadatas", "embeddings"])
    assert len(everything["ids"]) == indexed.chunks_created
    place = next(at for at, text in enumerate(everything["documents"]) if "CircleArea" in text)
    answer = theirs.query(
        query_embeddings=[everything["embeddings"][place]], n_results=2, include=["documents", "metadatas", "distances"]
    )
    assert answer["documents"][0][0] == everything["documents"][place]
    assert answer["metadatas"][0][0]["content_hash"]
    assert answer["distances"][0][0] == pytest.approx(0.0, abs=1e-5)
    stored.service.remove("my-api")
    assert stored.store.collections() == []
    assert "repo_my_api" not in [each.name for each in client.list_collections()]
    plain_chroma.close(client)


@pytest.mark.requirement("C-11.3-handles")
def test_a_collection_is_looked_up_once_and_its_handle_kept(stored: World, caplog: pytest.LogCaptureFixture) -> None:
    def looked_up() -> list[str]:
        """List the requests that ask for a collection by its name, except the one that names them all."""
        logged = [record.getMessage() for record in caplog.records if record.name.startswith("httpx")]
        return [line for line in logged if "GET" in line and "/collections/repo_my_api" in line]

    stored.index(stored.repository().folder)
    stored.search("acquire a connection")
    caplog.set_level(logging.INFO)
    caplog.clear()
    for query in ("validate a token", "circle area", "retries"):
        assert stored.search(query)["results"]
    asked = [record.getMessage() for record in caplog.records if record.name.startswith("httpx")]
    assert asked, "the server was not asked at all"
    assert looked_up() == []
    stored.service.remove("my-api")


@pytest.mark.requirement("C-4.2-connect", "C-4.1-health")
def test_a_server_that_has_gone_shows_in_the_health_and_is_found_again(tmp_path: Path) -> None:
    with temporary_server() as server:
        world = World(tmp_path, store=ChromaStore(server.address(), EnglishAnalyser(), policy=RetryPolicy(())))
        before = health_status(world.service)
        assert before["status"] in {"healthy", "degraded"}
        assert before["components"]["chromadb"]["status"] in {"up", "degraded"}
        server.kill()
        gone = health_status(world.service)
        assert gone["status"] == "unhealthy"
        assert gone["components"]["chromadb"]["status"] == "down"
        assert gone["components"]["chromadb"]["message"]
        server.start()
        assert health_status(world.service)["components"]["chromadb"]["status"] in {"up", "degraded"}
        world.service.close()
