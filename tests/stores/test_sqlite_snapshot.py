"""Snapshots of the SQLite store: what one thread reads is of one state, whatever others write."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import apsw
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.model.query import LegHit
from knowledge_mcp.stores.sqlite import view
from knowledge_mcp.stores.sqlite.store import SqliteHandle, SqliteStore
from knowledge_mcp.testing.store_search import cosines
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from knowledge_mcp.testing.stores import put


def opened(path: Path) -> SqliteStore:
    store = SqliteStore(path, EnglishAnalyser())
    store.create_collection("c", SPACE)
    return store


def elsewhere(work: Callable[[], object]) -> None:
    """Do something in another thread, and wait for it."""
    with ThreadPoolExecutor(1) as another:
        another.submit(work).result()


def found(store: SqliteStore | SqliteHandle, text: str) -> tuple[LegHit, ...]:
    handle = store.open("c") if isinstance(store, SqliteStore) else store
    return handle.search(vector=None, text=text, filter=None, limit=9).lexical or ()


@pytest.mark.parametrize("same", [True, False])
def test_what_another_one_publishes_is_seen_after_the_snapshot(tmp_path: Path, *, same: bool) -> None:
    store = opened(tmp_path / "knowledge.db")
    writer = store if same else opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha old", id="1")])
    with store.open("c").snapshot() as held:
        before = held.documents()
        elsewhere(lambda: put(writer, "d", [SamplePassage("alpha new", id="2")]))
        elsewhere(lambda: writer.rename_collections({"c": "b"}))
        assert [hit.chunk_id for hit in found(held, "alpha")] == ["1"]
        assert [each.content for each in held.chunks("id", ["1", "2"])] == ["alpha old"]
        assert held.documents() == before
        assert held.info() is not None
        elsewhere(lambda: writer.rename_collections({"b": "c"}))
        elsewhere(lambda: [hit.chunk_id for hit in found(writer, "alpha")] == ["2"] or pytest.fail("not written"))
    assert [hit.chunk_id for hit in found(store, "alpha")] == ["2"]
    assert [each.content for each in store.open("c").chunks("id", ["1", "2"])] == ["alpha new"]
    for each in {store, writer}:
        each.close()


def test_a_passage_that_is_published_again_is_compared_as_the_snapshot_has_it(tmp_path: Path) -> None:
    store = opened(tmp_path / "knowledge.db")
    put(
        store,
        "d",
        [SamplePassage("alpha", id="same", direction="old"), SamplePassage("beta", id="gone", direction="old")],
    )
    assert cosines(store.open("c"), unit_vector("old"), ["same", "gone"]) == pytest.approx({"same": 1.0, "gone": 1.0})
    with store.open("c").snapshot() as held:
        again = [SamplePassage("alpha", id="same", direction="new"), SamplePassage("gamma", id="come", direction="old")]
        elsewhere(lambda: put(store, "d", again))
        later: list[dict[str, float]] = []
        elsewhere(lambda: later.append(cosines(store.open("c"), unit_vector("old"), ["same", "gone", "come"])))
        assert later[0].keys() == {"same", "come"}
        assert later[0]["same"] < 0.99
        inside = cosines(held, unit_vector("old"), ["same", "gone", "come"])
        assert inside == pytest.approx({"same": 1.0, "gone": 1.0})
    assert cosines(store.open("c"), unit_vector("old"), ["same", "gone", "come"]) == later[0]
    store.close()


def test_passages_of_a_large_collection_are_compared_without_being_held(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "FLOATS_UP_TO", 1)
    store = opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha", id="1", direction="one"), SamplePassage("beta", id="2")])
    put(store, "d", [SamplePassage("alpha", id="1", direction="one"), SamplePassage("gamma", id="3")])
    compared = cosines(store.open("c"), unit_vector("one"), ["1", "2", "3"])
    assert compared.keys() == {"1", "3"}
    assert compared["1"] == pytest.approx(1.0)
    store.close()


def test_a_view_that_is_ahead_of_a_snapshot_is_not_used_in_it(tmp_path: Path) -> None:
    store = opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha old", id="1")])
    begun, published = threading.Event(), threading.Event()
    seen: list[list[str]] = []

    def read() -> None:
        with store.open("c").snapshot() as held:
            begun.set()
            assert published.wait(30)
            seen.append([hit.chunk_id for hit in found(held, "alpha")])

    thread = threading.Thread(target=read)
    thread.start()
    assert begun.wait(30)
    put(store, "d", [SamplePassage("alpha new", id="2")])
    assert [hit.chunk_id for hit in found(store, "alpha")] == ["2"]
    published.set()
    thread.join()
    assert seen == [["1"]]
    assert [hit.chunk_id for hit in found(store, "alpha")] == ["2"]
    store.close()


def test_a_collection_of_another_analyser_is_indexed_before_its_snapshot(tmp_path: Path) -> None:
    store = opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha", id="1")])
    connection: Any = apsw.Connection(str(tmp_path / "knowledge.db"))
    connection.execute("UPDATE collections SET analyser = 'older'")
    connection.close()
    with store.open("c").snapshot() as held:
        assert [hit.chunk_id for hit in found(held, "alpha")] == ["1"]
    store.close()


def test_a_failure_inside_is_reported_in_our_terms_and_the_snapshot_ends(tmp_path: Path) -> None:
    store = opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha", id="1")])

    def damaged() -> list[Chunk]:
        with store.open("c").snapshot() as held:
            with pytest.raises(InternalError, match="could not be used"):
                held.chunks("id", ["1"])
            return held.chunks("id", ["1"])

    connection: Any = apsw.Connection(str(tmp_path / "knowledge.db"))
    connection.execute("ALTER TABLE chunks RENAME COLUMN payload TO gone")
    with pytest.raises(InternalError, match="could not be used"):
        damaged()
    connection.execute("ALTER TABLE chunks RENAME COLUMN gone TO payload")
    connection.close()
    assert [each.content for each in store.open("c").chunks("id", ["1"])] == ["alpha"]
    assert store.open("c").search(vector=unit_vector("x"), text=None, filter=None, limit=1).dense
    store.close()


def test_writers_do_not_wait_for_a_snapshot(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "knowledge.db", EnglishAnalyser(), patience=0.0)
    store.create_collection("c", SPACE)
    with store.open("c").snapshot() as held:
        put(store, "d", [SamplePassage("alpha", id="1")])
        assert held.documents() == [], "what was written here is seen when the snapshot has ended"
    assert len(store.open("c").documents()) == 1
    store.close()


class Counting(SqliteStore):
    """Tell what is held in memory of collections."""

    @property
    def loaded(self) -> int:
        return len(self._views)


def test_reading_a_document_in_a_snapshot_loads_nothing_that_only_searches_need(tmp_path: Path) -> None:
    opened(tmp_path / "knowledge.db").close()
    store = Counting(tmp_path / "knowledge.db", EnglishAnalyser())
    put(store, "d", [SamplePassage("alpha", id="1")])
    with store.open("c").snapshot() as held:
        assert [each.content for each in held.chunks("document", ["d"])] == ["alpha"]
        assert store.loaded == 0
        assert [hit.chunk_id for hit in found(held, "alpha")] == ["1"]
        assert store.loaded == 1
    store.close()


def test_a_snapshot_that_was_overtaken_before_its_first_search_still_sees_its_own_state(tmp_path: Path) -> None:
    store = opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha old", id="1")])
    with store.open("c").snapshot() as held:
        before = held.documents()
        elsewhere(lambda: put(store, "d", [SamplePassage("alpha new", id="2")]))
        elsewhere(lambda: [hit.chunk_id for hit in found(store, "alpha")] == ["2"] or pytest.fail("not written"))
        assert [hit.chunk_id for hit in found(held, "alpha")] == ["1"]
        assert [hit.chunk_id for hit in found(held, "alpha old")] == ["1"]
        assert held.documents() == before
    assert [hit.chunk_id for hit in found(store, "alpha")] == ["2"]
    store.close()


def test_an_older_index_is_made_again_amid_a_snapshot_that_has_begun_to_read(tmp_path: Path) -> None:
    store = opened(tmp_path / "knowledge.db")
    put(store, "d", [SamplePassage("alpha", id="1", terms=(("alpha",),))])
    connection: Any = apsw.Connection(str(tmp_path / "knowledge.db"))
    connection.execute("UPDATE collections SET analyser = 'older'")
    connection.close()
    with store.open("c").snapshot() as held:
        assert len(held.documents()) == 1
        assert [hit.chunk_id for hit in found(held, "alpha")] == ["1"]
        assert [each.id for each in held.chunks("term", ["alpha"])] == ["1"]
    store.close()


def test_the_index_of_one_collection_is_loaded_while_others_are_searched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = opened(tmp_path / "knowledge.db")
    store.create_collection("slow", SPACE)
    put(store, "d", [SamplePassage("alpha", id="1")])
    put(store, "e", [SamplePassage("alpha", id="2")], collection="slow")
    entered, release, first = threading.Event(), threading.Event(), threading.Lock()
    load = view.next_view

    def next_view(*arguments: Any) -> view.SqliteView:
        if first.acquire(blocking=False):
            entered.set()
            assert release.wait(60)
        return load(*arguments)

    monkeypatch.setattr(view, "next_view", next_view)
    with ThreadPoolExecutor(1) as another:
        waiting = another.submit(store.open("slow").search, vector=None, text="alpha", filter=None, limit=9)
        assert entered.wait(60)
        assert [hit.chunk_id for hit in found(store, "alpha")] == ["1"]
        assert not waiting.done()
        release.set()
        assert [hit.chunk_id for hit in waiting.result().lexical or ()] == ["2"]
    store.close()
