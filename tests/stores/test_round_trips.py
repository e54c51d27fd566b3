"""A question over a store that is a server takes few requests: each one is a way there and back."""

from __future__ import annotations

from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.evidence import ReadQuery
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import RequirementQuery, SearchQuery
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from tests.engine.shelf import Shelf
from tests.engine.world import World
from tests.repositories.world import World as Repositories
from tests.servers.qdrant_real import REAL
from tests.servers.qdrant_server import QdrantServer

MOST = {"qdrant": 7, "chromadb": 7}
"""Requests of a blended search: collection, both legs, two passages, their vectors, the dense leg, the other passages,
records; in ChromaDB the state too."""

MOST_OF_CODE = {"qdrant": 15, "chromadb": 8}
"""Requests of a search of all repositories, where there is one: names (with changes of names that a killed server left
unfinished, on Qdrant), manifest, counts, legs, passages, records."""


@pytest.fixture(params=["qdrant", "chromadb"])
def store(request: pytest.FixtureRequest, chroma_database: Address) -> Generator[Store]:
    if request.param == "qdrant":
        qdrant = QdrantServer()
        opened: Store = QdrantStore(QdrantConfig(qdrant.url, grpc="off"), EnglishAnalyser())
        yield opened
        opened.close()
        qdrant.stop()
    else:
        opened = ChromaStore(chroma_database, EnglishAnalyser())
        yield opened
        opened.close()


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List every request, but not those that the stand-in hands on to a real server."""
    paths: list[str] = []
    send = httpx.Client.send

    def listed(self: httpx.Client, request: httpx.Request, **how: Any) -> httpx.Response:
        if REAL is None or not str(request.url).startswith(REAL.url):
            paths.append(request.url.path)
        return send(self, request, **how)

    monkeypatch.setattr(httpx.Client, "send", listed)
    return paths


def test_a_search_asks_once_for_the_collection_and_once_for_each_thing(
    store: Store, sent: list[str], tmp_path: Path
) -> None:
    world = World(tmp_path, store=store)
    pumps = [f"turbine {'heavy ' * number}" for number in range(1, 13)]
    for number, pump in enumerate(pumps):
        world.write(f"p{number}.md", f"# {pump}\n\n## 1 Care\n\nA {pump} shall be greased {number} times a year.\n")
    world.ingest()
    question = SearchQuery("how often is a turbine greased")
    first = world.knowledge.search(question)
    assert len(first.hits) == 10
    sent.clear()
    assert world.knowledge.search(question) == first
    assert len(sent) <= MOST[store.identity.backend], "\n".join(sent)
    assert len(sent) >= 4, "nothing was counted"
    (record, *_) = world.knowledge.documents()
    for ask, most in (
        (lambda: world.knowledge.requirements(RequirementQuery("how often is a turbine greased")), 9),
        # no definition is found: what is like the term is embedded before a second snapshot is opened
        (lambda: world.knowledge.lookup("turbine"), 6),
        (lambda: world.knowledge.read(ReadQuery(record.id, clause="1")), 9),
    ):
        sent.clear()
        ask()
        assert 2 <= len(sent) <= most, sent


def test_a_search_over_postgresql_is_two_transactions_of_few_statements(
    database: Callable[[], str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[str] = []
    execute, commit = psycopg.Cursor[Any].execute, psycopg.Connection[Any].commit

    def executed(self: psycopg.Cursor[Any], query: Any, *how: Any, **more: Any) -> Any:
        asked.append(query.decode() if isinstance(query, bytes) else str(query))
        return execute(self, query, *how, **more)

    def committed(self: psycopg.Connection[Any]) -> None:
        asked.append("COMMIT")
        commit(self)

    store = PostgresStore(database(), EnglishAnalyser())
    shelf = Shelf(tmp_path)
    shelf.store = store
    service = shelf.open()
    for number in range(12):
        text = f"# Turbine {number}\n\n## 1 Care\n\nA turbine {'heavy ' * number} is greased {number} times a year.\n"
        service.deposit(Deposit("docs", f"{number}.md", text))
    question = SearchQuery("how often is a turbine greased")
    first = service.search_in("docs", question)
    monkeypatch.setattr(psycopg.Cursor, "execute", executed)
    monkeypatch.setattr(psycopg.Connection, "commit", committed)
    again = service.search_in("docs", question)
    assert again == first
    assert all(hit.record is not None and hit.record.id == hit.chunk.document_id for hit in again.hits)
    assert asked.count("COMMIT") == 2, "whether it is there, and the search itself"
    assert 5 <= len(asked) - 2 <= 11, asked
    assert not any("relation_size" in each for each in asked), "nothing has changed"
    service.close()


def test_a_code_search_reads_what_it_shows_at_once_and_compares_in_one_request(
    store: Store, sent: list[str], tmp_path: Path
) -> None:
    world = Repositories(tmp_path, store=store)
    files: dict[str, str | bytes] = {
        f"valve_{number}.py": f"def open_valve_{number}(wheel):\n    return wheel.turn({number})\n"
        for number in range(60)
    }
    world.index(world.repository(files=files).folder)
    first = world.search("open the valve by wheel.turn(4)", limit=5)
    assert len(first["results"]) == 5
    sent.clear()
    assert world.search("open the valve by wheel.turn(4)", limit=5)["results"] == first["results"]
    assert 4 <= len(sent) <= MOST_OF_CODE[store.identity.backend], sent
