"""One ChromaDB server for many processes, and a server that is killed: nothing half seen, nothing acknowledged lost."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConnectionFailedError, KnowledgeError
from knowledge_mcp.stores.chroma import places
from knowledge_mcp.stores.chroma.client import Address, ChromaConnection, ChromaTable
from knowledge_mcp.stores.chroma.places import Catalogue
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.chroma.view import ViewLimits
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_search import put, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from tests.servers.chroma_server import ChromaServer, temporary_server
from tests.stores.processes import check, ended, generation

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
PLAYING = """
import sys
from contextlib import closing
from pathlib import Path
from typing import Any
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.view import ViewLimits
from knowledge_mcp.testing.store_values import SPACE
from tests.stores.processes import read, say, write
part, port, seed, seconds, limit = sys.argv[1:]
address = Address(Path(), host="127.0.0.1", port=int(port))
store = ChromaStore(address, EnglishAnalyser(), limits=ViewLimits(vectors=int(limit)))
store.create_collection("c", SPACE)
say("ready")
write(store, int(seed), float(seconds)) if part == "write" else read(store, float(seconds))
store.close()
"""
NO_RETRY = RetryPolicy(())
DOCUMENTS = 12


@pytest.fixture
def server() -> Generator[ChromaServer]:
    with temporary_server() as running:
        yield running


def opened(server: ChromaServer, policy: RetryPolicy = NO_RETRY, limits: ViewLimits | None = None) -> ChromaStore:
    return ChromaStore(server.address(), EnglishAnalyser(), policy=policy, limits=limits)


def start(server: ChromaServer, part: str, seed: int, seconds: float, limit: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", PLAYING, part, str(server.port), str(seed), str(seconds), str(limit)]
    return subprocess.Popen(arguments, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_publish_and_search_at_once_never_see_a_mix(server: ChromaServer) -> None:
    writers = [start(server, "write", seed, 2.0, 0) for seed in (1, 2)]
    readers = [start(server, "read", 0, 2.0, limit) for limit in (64 * 1024 * 1024, 0)]  # exact, and by the index
    written, looked = ended(writers, readers)
    assert min(looked) > 0, "a reader never got to look"
    assert written > 3
    store = opened(server)
    assert store.open("c").verify() == []
    check(store)
    store.close()


@pytest.mark.requirement("CLARIFY-006")
def test_a_server_killed_amid_writes_and_started_again_ends_up_like_one_undisturbed(server: ChromaServer) -> None:
    store = opened(server)
    store.create_collection("c", SPACE)
    acknowledged: list[str] = []
    failures: list[KnowledgeError] = []
    third = threading.Event()

    def ingest() -> None:
        try:
            for number in range(DOCUMENTS * 50):
                put(store, f"d{number}", generation(f"d{number}", number % 7 + 3), text=f"text of {number}")
                acknowledged.append(f"d{number}")
                if number == 3:
                    third.set()
        except KnowledgeError as exc:
            failures.append(exc)

    writer = threading.Thread(target=ingest)
    writer.start()
    assert third.wait(60.0)
    server.kill()
    writer.join(60.0)
    assert isinstance(failures[0], ConnectionFailedError)
    server.start()
    kept = {each.id for each in store.open("c").documents()}
    assert set(acknowledged) <= kept
    assert kept <= {*acknowledged, f"d{len(acknowledged)}"}, "more than what was under way"
    check(store)
    total = len(acknowledged) + 3
    undisturbed = opened(server)
    undisturbed.create_collection("whole", SPACE)
    for target, collection in ((store, "c"), (undisturbed, "whole")):
        for number in range(total):
            name = f"d{number}"
            if collection == "whole" or name not in acknowledged:
                passages = generation(name, number % 7 + 3)
                put(target, name, passages, collection=collection, text=f"text of {number}")
    assert store.open("c").documents() == undisturbed.open("whole").documents()
    for number in range(total):
        name = f"d{number}"
        assert store.open("c").chunks("document", [name]) == undisturbed.open("whole").chunks("document", [name])
        assert text_of(store.open("c"), name) == text_of(undisturbed.open("whole"), name)
    keys = [each.content_hash for number in range(total) for each in store.open("c").chunks("document", [f"d{number}"])]
    assert store.open("c").chunks("content", keys) == undisturbed.open("whole").chunks("content", keys)
    assert store.open("c").verify() == []
    store.close()
    undisturbed.close()


def test_a_server_that_comes_back_is_used_again_without_opening_again(server: ChromaServer) -> None:
    store = opened(server, RetryPolicy((0.2,) * 200))
    store.create_collection("c", SPACE)
    put(store, "d", [SamplePassage("alpha", id="1")])
    server.kill()
    starting = threading.Thread(target=server.start)
    starting.start()
    legs = store.open("c").search(vector=None, text="alpha", filter=None, limit=3)
    starting.join()
    assert [hit.chunk_id for hit in legs.lexical or ()] == ["1"]
    store.close()


@pytest.mark.parametrize("at", ["make_table", "put"])
def test_a_collection_that_another_process_makes_at_once_keeps_its_documents(
    server: ChromaServer, at: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(server)) as mine, closing(opened(server)) as other:

        def step_in() -> None:
            other.create_collection("c", SPACE)
            put(other, "d", [SamplePassage("alpha", id="a")])

        rival = threading.Thread(target=step_in)
        kind = ChromaTable if at == "put" else ChromaConnection
        method = getattr(kind, at)

        def held_up(self: Any, *args: Any) -> Any:
            if threading.current_thread() is not rival and rival.ident is None:
                rival.start()
                rival.join(2)
            return method(self, *args)

        monkeypatch.setattr(kind, at, held_up)
        mine.create_collection("c", SPACE)
        rival.join(60)
        assert [each.id for each in mine.open("c").documents()] == ["d"]
        assert [each.name for each in other.collections()] == ["c"]


def test_what_a_killed_maker_of_a_collection_has_left_holds_nobody_up_for_long(
    server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(places, "_LEFT_SECONDS", 0.2)

    def killed(*_: Any) -> None:
        raise KeyboardInterrupt

    def dead(*_: Any) -> None: ...

    with closing(opened(server)) as store:
        with monkeypatch.context() as patched:
            patched.setattr(Catalogue, "_make", killed)
            patched.setattr(ChromaConnection, "drop_table", dead)
            with pytest.raises(KeyboardInterrupt):
                store.create_collection("c", SPACE)
        store.create_collection("c", SPACE)
        assert [each.name for each in store.collections()] == ["c"]


def test_a_text_beyond_what_the_server_takes_at_once_is_kept_in_parts(server: ChromaServer) -> None:
    store = opened(server)
    store.create_collection("c", SPACE)
    text = "länge " * 700_000
    put(store, "d", ["x"], text=text)
    assert text_of(store.open("c"), "d") == text
    store.close()


def test_an_address_shows_no_credential() -> None:
    address = Address(Path(), host="https://user:secret@host", port=8000, ssl=True, token="t0ken")
    assert address.location == "https://host:8000"
    assert "t0ken" not in repr(address)


def test_what_a_search_asks_of_the_server_does_not_grow_with_the_documents(
    server: ChromaServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[int] = []
    send = httpx.Client.send

    def counted(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:
        answer = send(client, request, **options)
        answers.append(len(answer.content))
        return answer

    def asked(store: ChromaStore) -> tuple[int, int]:
        answers.clear()
        found = store.open("c").search(vector=unit_vector("a"), text="valve number", filter=None, limit=3)
        chunks = store.open("c").chunks("id", [hit.chunk_id for hit in found.lexical or ()])
        statistics = counts_of(store.open("c"))
        held = (statistics.documents, statistics.chunks, statistics.tokens / 3)
        assert (len(chunks), held) == (3, (statistics.documents,) * 3)
        return len(answers), sum(answers)

    monkeypatch.setattr(httpx.Client, "send", counted)
    with closing(opened(server)) as store:
        store.create_collection("c", SPACE)
        for number in range(5):
            put(store, f"d{number}", [f"Valve number {number:03}"])
        asked(store)  # the first one reads what is new
        few = asked(store)
        for number in range(5, 60):
            put(store, f"d{number}", [f"Valve number {number:03}"])
        asked(store)
        many = asked(store)
    assert many[0] == few[0]
    assert many[1] < 1.05 * few[1] + 500
