"""What a key may not read costs the store what something absent costs: statements of SQLite, requests to servers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import apsw
import httpx
import pytest

from knowledge_mcp.engine.jobs.store_journal import ENDED_COLLECTION
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.engine.shelf import PUMPS, VALVES, Shelf, ended
from tests.servers.qdrant_server import QdrantServer


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """List every statement of SQLite, and every request to a server, that this thread makes: jobs have their own."""
    taken: list[str] = []
    own = threading.get_ident()

    def note(step: str) -> None:
        if threading.get_ident() == own:
            taken.append(step)

    send = httpx.Client.send

    def noted(_: object, statement: str, __: object) -> bool:
        note(statement)
        return True

    def sent(self: httpx.Client, request: httpx.Request, **how: Any) -> httpx.Response:
        note(f"{request.method} {request.url.path.count('/')}")
        return send(self, request, **how)

    def follow(connection: apsw.Connection) -> None:
        connection.exec_trace = noted

    monkeypatch.setattr(apsw, "connection_hooks", [*apsw.connection_hooks, follow])
    monkeypatch.setattr(httpx.Client, "send", sent)
    return taken


@pytest.fixture(params=["sqlite", "chromadb", "qdrant"])
def store(
    request: pytest.FixtureRequest, chroma_database: Address, steps: list[str], tmp_path: Path
) -> Generator[Store]:
    del steps  # which listens before anything is opened
    analyser = EnglishAnalyser()
    if request.param == "sqlite":
        yield from _open(lambda: SqliteStore(tmp_path / "held.db", analyser))
    elif request.param == "chromadb":
        yield from _open(lambda: ChromaStore(chroma_database, analyser))
    else:
        qdrant = QdrantServer()
        yield from _open(lambda: QdrantStore(QdrantConfig(qdrant.url, grpc="off"), analyser))
        qdrant.stop()


def _open(make: Callable[[], Store]) -> Generator[Store]:
    made = make()
    yield made
    made.close()


def test_what_one_may_not_reach_costs_the_store_what_a_missing_one_costs(
    store: Store, steps: list[str], tmp_path: Path
) -> None:
    shelf = Shelf(tmp_path)
    shelf.store = store
    service = shelf.open()
    service.deposit(Deposit("docs", "pumps.md", PUMPS))
    foreign = service.deposit(Deposit("secret", "valves.md", VALVES)).document_id
    job = ended(service, service.submit(Deposit("secret", "more.md", PUMPS)).id).id
    pause = threading.Event()
    while store.open(ENDED_COLLECTION).info() is None or not store.open(ENDED_COLLECTION).documents():
        assert not pause.wait(0.02)  # the job is moved there at its very end
    seen = service.seen_by(Rights(("docs",)))
    near = foreign[:-1] + ("0" if foreign[-1] != "0" else "1")
    no_job = job[:-1] + ("0" if job[-1] != "0" else "1")

    def search(name: str) -> Any:
        return seen.search_in(name, SearchQuery("valve"))

    def cost(ask: Callable[[str], Any], name: str) -> list[str]:
        steps.clear()
        with pytest.raises(NotFoundError) as raised:
            ask(name)
        assert not {foreign, job, "secret"} & set(str(raised.value.suggestion).replace("?", "").split(" "))
        return list(steps)

    asks: list[tuple[Callable[[str], Any], str, str]] = [
        (seen.where, foreign, near), (seen.find, foreign, near), (seen.record, foreign, near),
        (seen.remove_document, foreign, near), (seen.job, job, no_job), (seen.cancel_job, job, no_job),
        (seen.records, "secret", "secreu"), (seen.drop_collection, "secret", "secreu"), (search, "secret", "secreu"),
    ]  # fmt: skip
    for ask, there, absent in asks:
        cost(ask, absent)  # what is opened once is opened now
        assert cost(ask, there) == cost(ask, absent), ask
        assert steps, "nothing was counted"
    service.close()
