"""On every store alike: collections go from and to each, and planning, repositories and the library work."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Generator
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.engine.transfer.move import content_hash
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.engine.moving import everything, fill, move, place
from tests.engine.shelf import PUMPS, VALVES, Shelf, ended
from tests.planning.world import REF
from tests.planning.world import World as Planning
from tests.repositories.world import FILES
from tests.repositories.world import World as Repositories
from tests.servers.chroma_server import quick_folder
from tests.servers.qdrant_server import QdrantServer

pytestmark = pytest.mark.slow  # each store and each of these parts has tests of its own

STORES = ("sqlite", "postgres", "qdrant", "chromadb")
Open = Callable[[str], Store]


@pytest.fixture
def opened(tmp_path: Path, database: Callable[[], str]) -> Generator[Open]:
    """Return a function that opens an empty store of a kind."""
    analyser = EnglishAnalyser()
    with ExitStack() as ends:

        def make(kind: str) -> Store:
            store: Store
            if kind == "sqlite":
                store = SqliteStore(tmp_path / "knowledge.sqlite", analyser)
            elif kind == "postgres":
                store = PostgresStore(database(), analyser)
            elif kind == "qdrant":
                server = QdrantServer()
                ends.callback(server.stop)
                store = QdrantStore(QdrantConfig(server.url, grpc="off"), analyser)
            else:
                folder = quick_folder()
                ends.callback(shutil.rmtree, folder)
                store = ChromaStore(Address(folder), analyser)
            ends.callback(store.close)
            return store

        yield make


@pytest.mark.parametrize(("source", "target"), [*zip(STORES, (*STORES[1:], STORES[0]), strict=True)])
def test_a_collection_goes_from_each_store_and_to_each_as_it_is(opened: Open, source: str, target: str) -> None:
    here, there = opened(source), opened(target)
    fill(here)
    report = move(place(here), place(there))
    assert report.good
    assert everything(there) == everything(here)
    assert content_hash(place(there)).sha256 == content_hash(place(here)).sha256
    assert there.open("kb").verify() == []
    again = move(place(here), place(there))
    assert again.good
    assert content_hash(place(there)).sha256 == content_hash(place(here)).sha256


@pytest.mark.parametrize("kind", STORES)
def test_planning_documents_are_filed_found_listed_and_filed_again(opened: Open, kind: str, tmp_path: Path) -> None:
    world = Planning(tmp_path, store=opened(kind))
    path = world.paper("Transport Assessment.pdf")
    filed = world.ingest(path)
    assert world.chunks() == filed["chunks_created"] > 0
    ask = partial(world.call, "search_application_docs", query="cycle parking", max_results=100)
    found = ask(application_ref=REF)["results"]
    assert {each["metadata"]["document_id"] for each in found} == {filed["document_id"]}
    assert ask(application_ref="99/1")["results"] == []
    assert world.ingest(path)["status"] == "already_ingested"
    (listed,) = world.call("list_ingested_documents", application_ref=REF)["documents"]
    assert listed["document_id"] == filed["document_id"]
    assert world.store.open("application_docs").verify() == []


@pytest.mark.parametrize("kind", STORES)
def test_repositories_are_indexed_searched_changed_and_removed(opened: Open, kind: str, tmp_path: Path) -> None:
    world = Repositories(tmp_path, store=opened(kind))
    repository = world.repository()
    indexed = world.index(repository.folder)
    assert indexed.chunks_created > 0
    (collection,) = world.store.collections()
    assert counts_of(world.store.open(collection.name)).documents == len(FILES) + 1, "and the manifest"
    best = world.search("computes the surface of a circle")["results"][0]
    assert best["file_path"] == "src/geometry/area.go"
    assert world.search("E4711 refresh window")["results"][0]["file_path"] == "src/auth/tokens.py"
    assert world.store.open(collection.name).verify() == []


@pytest.mark.parametrize("kind", STORES)
def test_the_library_takes_in_answers_and_forgets_with_its_jobs_beside(opened: Open, kind: str, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    shelf.store = opened(kind)
    service, replica = shelf.open(), shelf.open()
    pumps = service.deposit(Deposit("docs", "pumps.md", PUMPS)).document_id
    job = ended(replica, service.submit(Deposit("docs", "valves.md", VALVES)).id)
    assert job.state == "done", job
    found = replica.search_in("docs", SearchQuery("how often is a valve turned"))
    assert found.hits[0].chunk.document_id != pumps
    assert {each.id for each in replica.records("docs")} == {pumps, found.hits[0].chunk.document_id}
    service.remove_document(pumps)
    assert [each.id for each in replica.records("docs")] == [found.hits[0].chunk.document_id]
    assert shelf.store.open("docs").verify() == []
    for each in shelf.services:
        each.close()
