"""What searching, reading and a mistyped name cost does not grow with what is stored beside it."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from knowledge_mcp.engine.core import documents
from knowledge_mcp.engine.library.service import LibraryService
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.transports.rest.app import build_rest_app, run_app
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.engine.shelf import Shelf
from tests.engine.world import World
from tests.growth.counting import Counting, counted
from tests.rest.world import KEY, Options

MOST_OF_A_SEARCH = 12
"""Calls of a search: collection, both legs, passages once or twice, vectors, the moved leg, records, counts."""

QUESTION = SearchQuery("how often is a turbine greased")


def filled(folder: Path, count: int, collections: int = 1) -> tuple[Counting, LibraryService]:
    """Make a library of so many documents, of which ten answer the question."""
    shelf = Shelf(folder)
    store = Counting(shelf.store)
    shelf.store = store.store
    service = shelf.open()
    for number in range(count):
        words = f"The turbine shall be greased {number} times." if number < 10 else f"Valve {number} is red."
        service.deposit(Deposit("alpha", f"p{number}.md", text=f"# Part {number}\n\n{words}\n"))
    for number in range(1, collections):
        service.deposit(Deposit(f"other-{number}", "q.md", text="# Other\n\nA valve is turned.\n"))
    return store, service


def missed(ask: Callable[[], object]) -> None:
    with contextlib.suppress(NotFoundError):
        ask()


def test_the_library_asks_the_store_as_often_for_ten_times_as_many_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_MOST_COMPARED", 5)
    costs: list[list[Any]] = []
    for count in (12, 120):
        store, service = filled(tmp_path / str(count), count)
        known = service.deposit(Deposit("alpha", "p3.md", text="# Part 3\n\nThe turbine is new.\n")).document_id
        service.search_in("alpha", QUESTION)
        asks: list[Callable[[], object]] = [
            lambda service=service: service.deposit(Deposit("alpha", "new.md", text="# New\n\nA pump.\n")),
            lambda service=service: service.deposit(Deposit("alpha", "new.md", text="# New\n\nA better pump.\n")),
            lambda service=service, known=known: service.find(known),
            lambda service=service, known=known: service.record(known),
            lambda service=service: missed(lambda: service.find("deadbeef")),
            lambda service=service: missed(lambda: service.record("deadbeef")),
            lambda service=service: missed(lambda: service.records("alpa")),
            service.collections,
            lambda service=service, known=known: service.remove_document(known),
        ]
        costs.append([counted(store, ask) for ask in asks])
        calls, _ = counted(store, lambda service=service: service.search_in("alpha", QUESTION))
        assert sum(calls.values()) <= MOST_OF_A_SEARCH, calls
    assert costs[0] == costs[1]


def test_a_document_that_was_found_before_is_found_by_one_look_whatever_collections_there_are(tmp_path: Path) -> None:
    costs: list[Any] = []
    for count in (3, 30):
        store, service = filled(tmp_path / str(count), 1, count)
        place = f"other-{count - 1}"
        known = service.deposit(Deposit(place, "last.md", text="# Last\n\nA gate is shut.\n")).document_id
        costs.append(
            [
                counted(store, lambda service=service, known=known: service.where(known)),
                counted(store, lambda service=service, known=known: service.find(known)),
                counted(store, lambda service=service, known=known: service.remove_document(known)),
            ]
        )
        assert costs[-1][0] == ({"documents": 1}, 1)
        with pytest.raises(NotFoundError):
            service.where(known)
        again = service.deposit(Deposit(place, "last.md", text="# Last\n\nA gate is shut.\n")).document_id
        store.rename_collections({place: "moved"})
        assert service.where(again) == "moved"
        with pytest.raises(NotFoundError):
            service.seen_by(Rights((place,))).where(again)
    assert costs[0] == costs[1]


def test_a_mistyped_name_is_compared_with_so_many_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents, "_MOST_COLLECTIONS", 2)
    costs: list[Any] = []
    for count in (3, 30):
        store, service = filled(tmp_path / str(count), 3, count)
        costs.append(counted(store, lambda service=service: missed(lambda: service.records("alpa")))[0])
        calls, _ = counted(store, lambda service=service: missed(lambda: service.find("deadbeef")))
        assert calls["documents"] == count + 2, "a look into each, and the ids of two"
    assert costs[0] == costs[1]


def test_a_mistyped_id_is_still_told_what_it_looks_like(tmp_path: Path) -> None:
    _, service = filled(tmp_path, 12)
    known = service.records("alpha")[0].id
    with pytest.raises(NotFoundError) as raised:
        service.find(f"{known[:-1]}x")
    assert known in (raised.value.suggestion or "")
    with pytest.raises(NotFoundError) as raised:
        service.records("alpa")
    assert "alpha" in (raised.value.suggestion or "")


def test_a_mistyped_document_of_a_large_knowledge_base_reads_few_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "_MOST_COMPARED", 5)
    costs: list[Any] = []
    for count in (6, 60):
        world = World(tmp_path / str(count), store=(store := Counting(MemoryStore(EnglishAnalyser()))).store)
        for number in range(count):
            world.write(f"p{number}.md", f"# Part {number}\n\nA valve is turned {number} times.\n")
        world.ingest()
        costs.append([counted(store, lambda world=world: missed(lambda: world.knowledge.document("p0x")))])
    assert costs[0] == costs[1]
    assert costs[0][0][1] == 5


@contextlib.asynccontextmanager
async def served(service: LibraryService) -> AsyncGenerator[httpx.AsyncClient]:
    """Serve a library, and give a client of the service."""
    provider: KnowledgeProvider[SharedLibrary] = KnowledgeProvider(lambda: service)
    app = build_rest_app(provider, KeyRing(KEY), options=Options(), version="9.9.9")
    headers = {"Authorization": f"Bearer {KEY}"}
    transport = httpx.ASGITransport(app)
    async with (
        httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers, timeout=30) as client,
        run_app(app),
    ):
        yield client


@pytest.mark.anyio
async def test_a_search_over_rest_reads_the_records_of_its_ten_hits_by_one_call(tmp_path: Path) -> None:
    store, service = filled(tmp_path, 30)
    async with served(service) as client:
        asked: dict[str, Any] = {"query": QUESTION.text, "collection": "alpha", "top_k": 10}
        found = (await client.post("/search", json=asked)).json()["results"]
        assert len(found) == 10
        assert all(each["metadata"]["filename"].startswith("p") for each in found)
        store.calls.clear()
        await client.post("/search", json=asked)
    assert store.calls["documents"] <= 2
    assert sum(store.calls.values()) <= MOST_OF_A_SEARCH + 3, store.calls
