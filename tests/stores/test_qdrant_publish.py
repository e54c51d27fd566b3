"""A publish in Qdrant is several requests: killed after any of them, or met by searches, no mix is ever seen."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, cast

import pytest
from qdrant_client import models
from qdrant_client.local.local_collection import LocalCollection

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.qdrant import layout
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_search import put, structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, embedded, structure, unit_vector
from tests.servers.qdrant_indexed import IndexedCollection
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_server import QdrantServer
from tests.stores.processes import check
from tests.stores.qdrant_processes import write_once

ROOT = Path(__file__).resolve().parents[2]
OLD = [SamplePassage(f"alpha old {number}", id=f"old-{number}", direction="near") for number in range(4)]
NEW = [SamplePassage(f"alpha new {number}", id=f"new-{number}", direction="near") for number in range(3)]
SHAPES = {"old": structure(4), "new": structure(3)}


class Killed(BaseException):
    """Stands for the end of the process."""


class Tapped(LocalQdrant):
    """A local Qdrant that tells of each call before it is made, and may be killed at one of them."""

    def __init__(self, kind: type[LocalCollection] = IndexedCollection) -> None:
        super().__init__(kind=kind)
        self.before: Callable[[str], None] | None = None

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)

        def called(*args: Any, **kwargs: Any) -> Any:
            if self.before is not None:
                self.before(name)
            return method(*args, **kwargs)

        return called


@pytest.fixture
def tapped() -> Tapped:
    return Tapped()


def opened(tapped: LocalQdrant, drift: float = 0.05) -> QdrantStore:
    config = QdrantConfig("http://local", drift=drift, retries=RetryPolicy(()))
    return QdrantStore(config, EnglishAnalyser(), connect=lambda: tapped.client)


def seen(store: QdrantStore) -> tuple[list[str], list[str]]:
    legs = store.open("c").search(vector=unit_vector("near"), text="alpha", filter=None, limit=50)
    dense, lexical = (sorted(hit.chunk_id for hit in leg or ()) for leg in (legs.dense, legs.lexical))
    return dense, lexical


def whole(ids: list[str]) -> bool:
    return ids in (["old-0", "old-1", "old-2", "old-3"], ["new-0", "new-1", "new-2"])


def test_what_decides_is_written_in_turn_by_any_replica_that_is_there() -> None:
    class Ordered(LocalQdrant):
        orders: ClassVar[set[Any]] = set()

        def __getattr__(self, name: str) -> Any:
            method = super().__getattr__(name)

            def called(*args: Any, **kwargs: Any) -> Any:
                if name == "batch_update_points" and args[0].endswith("__records"):
                    self.orders.add(kwargs["ordering"])
                return method(*args, **kwargs)

            return called

    local = Ordered()
    store = opened(local)
    store.create_collection("c", SPACE)
    put(store, "d", OLD, text="old text")
    store.open("c").delete("d")
    assert local.orders == {models.WriteOrdering.MEDIUM, None}


@pytest.mark.requirement("CLARIFY-006")
def test_a_publish_killed_before_any_of_its_requests_leaves_one_version_whole(tapped: Tapped) -> None:
    versions: set[str] = set()
    for step in range(40):
        store = opened(tapped)
        if store.open("c").info() is not None:
            store.drop_collection("c")
        store.create_collection("c", SPACE)
        put(store, "d", OLD, text="old text", structure=SHAPES["old"])
        put(store, "e", ["alpha beside"])
        left = [step]

        def die(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        tapped.before = die
        finished = False
        try:
            put(store, "d", NEW, text="new text", structure=SHAPES["new"])
            finished = True
        except Killed:
            pass
        tapped.before = None
        other = opened(tapped)
        dense, lexical = (
            [each for each in ids if not each.startswith(embedded("e", ["alpha beside"])[0].chunk.id)]
            for ids in seen(other)
        )
        assert dense == lexical
        assert whole(dense), f"killed before request {step}: {dense}"
        text, found = (
            text_of(other.open("c"), "d"),
            [each.id for each in other.open("c").chunks("document", ["d"])],
        )
        assert sorted(found) == dense
        assert text == f"{dense[0][:3]} text"
        assert structure_of(other.open("c"), "d") == SHAPES[dense[0][:3]]
        assert counts_of(other.open("c")).chunks == len(dense) + 1
        versions.add(dense[0][:3])
        _repaired(other, step)
        if finished:
            assert step > 8, "a publish was not cut at all"
            break
    assert versions == {"old", "new"}


def _repaired(store: QdrantStore, step: int) -> None:
    """Whatever was left over goes in one of three ways."""
    if step % 3 == 0:
        store.open("c").verify(repair=True)
    elif step % 3 == 1:
        store.open("c").delete("d")
    else:
        put(store, "d", OLD, text="old text", structure=SHAPES["old"])
    leftovers = [each for each in store.open("c").verify() if "parts of texts" not in each.message]
    assert leftovers == []
    store.open("c").verify(repair=True)
    assert store.open("c").verify() == []
    put(store, "d", NEW, text="new text", structure=SHAPES["new"])
    assert seen(store)[0][-3:] == ["new-0", "new-1", "new-2"]
    assert store.open("c").verify() == []


def test_a_search_between_any_two_requests_of_a_publish_sees_one_version_whole(tapped: Tapped) -> None:
    store, reader = opened(tapped), opened(tapped)
    store.create_collection("c", SPACE)
    put(store, "d", OLD, text="old text", structure=SHAPES["old"])
    looks: list[str] = []

    def look(_: str) -> None:
        before, tapped.before = tapped.before, None
        dense, lexical = seen(reader)
        assert dense == lexical
        assert whole(dense), dense
        assert sorted(each.id for each in reader.open("c").chunks("document", ["d"])) == dense
        assert text_of(reader.open("c"), "d") == f"{dense[0][:3]} text"
        assert structure_of(reader.open("c"), "d") == SHAPES[dense[0][:3]]
        looks.append(dense[0][:3])
        tapped.before = before

    tapped.before = look
    put(store, "d", NEW, text="new text", structure=SHAPES["new"])
    tapped.before = None
    assert looks[0] == "old"
    assert looks[-1] == "new"
    assert looks == sorted(looks, reverse=True), "a search fell back to the old version"


def test_a_publish_between_the_requests_of_a_search_is_seen_whole(tapped: Tapped) -> None:
    store, reader = opened(tapped), opened(tapped)
    store.create_collection("c", SPACE)
    put(store, "d", OLD)
    seen(reader)
    for turn in range(1, 9):
        steps = [turn // 2]

        def publish(_: str, steps: list[int] = steps, turn: int = turn) -> None:
            if steps[0] == 0:
                tapped.before = None
                put(store, "d", NEW if turn % 2 else OLD)
            steps[0] -= 1

        tapped.before = publish
        dense, lexical = seen(reader)
        tapped.before = None
        assert whole(dense)
        assert dense == lexical
        if steps[0] >= 0:  # the search was over before its turn came
            put(store, "d", NEW if turn % 2 else OLD)


def test_an_unfinished_publish_costs_searches_a_second_look_and_shows_nothing_of_it(tapped: Tapped) -> None:
    store = opened(tapped)
    store.create_collection("c", SPACE)
    put(store, "d", OLD)
    calls: list[str] = []

    def die(name: str) -> None:
        calls.append(name)
        if calls.count("batch_update_points") == 3:
            raise Killed

    tapped.before = die
    with pytest.raises(Killed):
        put(store, "d", NEW)
    tapped.before = None
    other = opened(tapped)
    assert whole(seen(other)[0])
    legs = other.open("c").search(vector=unit_vector("near"), text="alpha", filter=None, limit=2)
    assert [len(leg or ()) for leg in (legs.dense, legs.lexical)] == [2, 2], "dropped hits must not use up the limit"


def test_two_publishes_of_one_document_leave_one_of_them(tapped: Tapped) -> None:
    store, rival = opened(tapped), opened(tapped)
    store.create_collection("c", SPACE)
    put(store, "d", ["first words"])
    for step in range(12):
        left = [step]

        def overtake(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                tapped.before = None
                put(rival, "d", OLD, text="old text", structure=SHAPES["old"])

        tapped.before = overtake
        put(store, "d", NEW, text="new text", structure=SHAPES["new"])
        tapped.before = None
        store.open("c").verify(repair=True)
        dense, _ = seen(opened(tapped))
        assert whole(dense), f"overtaken at {step}: {dense}"
        assert store.open("c").verify() == []
        assert text_of(store.open("c"), "d") == f"{dense[0][:3]} text"
        assert structure_of(store.open("c"), "d") == SHAPES[dense[0][:3]]


@pytest.mark.slow
def test_processes_that_write_and_read_at_once_never_see_a_mix(server: QdrantServer) -> None:
    """Another process and this one write the same documents, and this one looks at them all the time."""
    arguments = [sys.executable, "-m", "tests.stores.qdrant_processes", server.url]
    rival = subprocess.Popen(
        arguments, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert rival.stdout is not None
    assert rival.stdout.readline() == "ready\n"
    config = QdrantConfig(server.url, grpc="off")
    mine, reader = QdrantStore(config, EnglishAnalyser()), QdrantStore(config, EnglishAnalyser())
    done = threading.Event()
    failures: list[BaseException] = []
    looks: list[int] = []

    def look() -> None:
        try:
            while not done.is_set():
                check(reader)
                looks.append(1)
        except BaseException as exc:  # noqa: BLE001 - passed to the test's thread
            failures.append(exc)

    watcher = threading.Thread(target=look)
    watcher.start()
    written = sum(write_once(mine, random.Random(turn), 100_000 + turn) for turn in range(12))
    said, complaints = rival.communicate("stop\n", timeout=120)
    done.set()
    watcher.join()
    assert (complaints, rival.returncode) == ("", 0)
    assert failures == []
    assert min(len(looks), written, int(said)) > 0, "somebody never got to work"
    mine.open("c").verify(repair=True)
    assert mine.open("c").verify() == []
    check(mine)
    for each in (mine, reader):
        each.close()


def stepping_in(tapped: Tapped, at: int, *, after: str = "") -> list[str]:
    """Make and fill the collection before request `at`, counted from the first named `after`; return the requests."""
    other = opened(tapped)
    calls: list[str] = []

    def step_in(call: str) -> None:
        if calls or call == after or not after:
            calls.append(call)
        if len(calls) == at:
            tapped.before = None
            other.create_collection("c", SPACE)
            put(other, "d", OLD)

    tapped.before = step_in
    return calls


@pytest.mark.parametrize("left", ["nothing", "a drop that was interrupted", "a drop that had taken its names"])
def test_a_collection_made_by_another_process_meanwhile_keeps_its_documents(left: str) -> None:
    for at in range(1, 100):
        tapped = Tapped()
        store = opened(tapped)
        if left != "nothing":
            store.create_collection("c", SPACE)
            layout.update_description(store.connection, "c__1", {"state": "dropping"})
        if left == "a drop that had taken its names":
            unnamed = [
                models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name))
                for name in ("c", "c__records")
            ]
            tapped.client.update_collection_aliases(unnamed)
        calls = stepping_in(tapped, at)
        store.create_collection("c", SPACE)
        if len(calls) < at:
            assert at > 10, "nobody stepped in"
            return
        assert whole(seen(store)[0]), f"lost at request {at}, {calls[-1]}"
        assert len(cast("Any", tapped).get_collections().collections) == 2
    raise AssertionError("it does not end")


def test_a_collection_made_again_while_another_process_drops_the_old_one_keeps_its_documents() -> None:
    for at in range(2, 40):
        tapped = Tapped()
        store = opened(tapped)
        store.create_collection("c", SPACE)
        calls = stepping_in(tapped, at, after="batch_update_points")  # which decides that it is dropped
        store.drop_collection("c")
        if len(calls) < at:
            assert at > 3, "nobody stepped in"
            return
        assert whole(seen(store)[0]), f"lost at request {at}, {calls[-1]}"
    raise AssertionError("it does not end")


def test_threads_that_make_one_collection_at_once_all_get_it(tapped: Tapped) -> None:
    stores = [opened(tapped) for _ in range(4)]
    failures: list[BaseException] = []

    def make(store: QdrantStore) -> None:
        try:
            store.create_collection("c", SPACE)
        except BaseException as exc:  # noqa: BLE001 - passed to the test's thread
            failures.append(exc)

    threads = [threading.Thread(target=make, args=(each,)) for each in stores]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failures == []
    assert [each.name for each in stores[0].collections()] == ["c"]
    put(stores[0], "d", OLD)
    assert whole(seen(stores[1])[0])
    assert len(cast("Any", tapped).get_collections().collections) == 2
