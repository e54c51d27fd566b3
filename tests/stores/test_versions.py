"""Two versions on one store: the newer one indexes once, the older one leaves it so and says what it lacks."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knowledge_mcp.lexical.analyser import EnglishAnalyser, MultilingualAnalyser
from knowledge_mcp.model.collection import CollectionInfo
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.chroma import view
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.postgres import tables as postgres_tables
from knowledge_mcp.stores.postgres import verify as postgres_verify
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.postgres.tables import PostgresPlace
from knowledge_mcp.stores.qdrant import search
from knowledge_mcp.stores.qdrant.connection import QdrantConfig, QdrantConnection
from knowledge_mcp.stores.qdrant.layout import QdrantCollection
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.stores.shared.rules import is_newer
from knowledge_mcp.stores.sqlite import tables, verify
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.stores.sqlite.tables import Session
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from tests.servers.chroma_server import temporary_server
from tests.servers.qdrant_server import QdrantServer
from tests.stores.processes import opened, say
from tests.stores.test_sqlite import raw

ROOT = Path(__file__).resolve().parents[2]
Make = Callable[[Analyser], Store]


class Later(EnglishAnalyser):
    """The analyser of a version to come: it stems nothing."""

    def __init__(self, number: int = 9) -> None:
        super().__init__(stemming=False)
        self._number = number

    @property
    def version(self) -> str:
        return f"english-{self._number}-plain"


def answers(store: Store, text: str) -> tuple[list[str] | None, str]:
    """Ask for words and meaning; returns the keyword hits and why there are none."""
    legs = store.open("c").search(vector=unit_vector("1"), text=text, filter=None, limit=9)
    assert legs.dense
    return None if legs.lexical is None else [hit.chunk_id for hit in legs.lexical], legs.lexical_error


def described(store: Store) -> CollectionInfo:
    """Describe the collection, which is there."""
    info = store.open("c").info()
    assert info is not None
    return info


# the order


@given(st.text("english-0123456789", max_size=12), st.text("english-0123456789", max_size=12))
def test_of_two_labels_exactly_one_comes_after_the_other(one: str, other: str) -> None:
    assert is_newer(one, other) + is_newer(other, one) == (one != other)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.text("abc-", max_size=6))
def test_the_number_decides_before_what_follows_it(one: int, other: int, rest: str) -> None:
    assert is_newer(f"english-{one}-{rest}", f"english-{other}-porter2") == (one > other) or one == other


def test_this_version_has_a_number_that_later_ones_raise() -> None:
    """A changed term is another version: raise `_VERSION` of the analyser, or replicas of two versions will differ."""
    assert EnglishAnalyser().version == "english-2-porter2-b7cb99eb"
    assert MultilingualAnalyser().version == "multilingual-4-snowball-4c42afd5"
    assert is_newer(MultilingualAnalyser().version, EnglishAnalyser().version)


# SQLite and Qdrant: one index for all


@pytest.fixture
def sqlite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Make, list[str]]:
    made: list[str] = []
    honest = verify.rebuild_index

    def counted(connection: Session, collection: int, analyser: Analyser) -> None:
        made.append(analyser.version)
        honest(connection, collection, analyser)

    monkeypatch.setattr(verify, "rebuild_index", counted)
    return lambda analyser: SqliteStore(tmp_path / "knowledge.db", analyser), made


@pytest.fixture
def qdrant(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[Make, list[str]]]:
    made: list[str] = []
    honest = search.write_index

    def counted(place: QdrantCollection, analyser: Analyser, claim: str) -> None:
        made.append(analyser.version)
        honest(place, analyser, claim)

    monkeypatch.setattr(search, "write_index", counted)
    server = QdrantServer()
    config = QdrantConfig(server.url, grpc="off", known_seconds=0.3)
    yield lambda analyser: QdrantStore(config, analyser), made
    server.stop()


@pytest.fixture
def postgresql(database: Callable[[], str], monkeypatch: pytest.MonkeyPatch) -> tuple[Make, list[str]]:
    made: list[str] = []
    honest = postgres_verify.rebuild_index

    def counted(session: postgres_tables.PostgresSession, place: PostgresPlace, analyser: Analyser) -> None:
        made.append(analyser.version)
        honest(session, place, analyser)

    monkeypatch.setattr(postgres_verify, "rebuild_index", counted)
    url = database()
    return lambda analyser: PostgresStore(url, analyser), made


@pytest.mark.parametrize("backend", ["sqlite", "postgresql", "qdrant"])
def test_a_newer_version_indexes_once_and_the_older_one_answers_without_words(
    backend: str, request: pytest.FixtureRequest
) -> None:
    make, made = request.getfixturevalue(backend)
    with ExitStack() as stack:
        older = stack.enter_context(closing(make(EnglishAnalyser())))
        older.create_collection("c", SPACE)
        put(
            older,
            "d",
            [SamplePassage("verified systems", id="1", terms=(("Systems",),)), SamplePassage("other", id="2")],
        )
        newer = stack.enter_context(closing(make(Later())))
        assert answers(newer, "verified") == (["1"], "")
        older = stack.enter_context(closing(make(EnglishAnalyser())))
        for _ in range(10):
            hits, why = answers(older, "verify")
            assert hits is None
            assert "newer version" in why
            assert "english-9-plain" in why
            assert answers(newer, "verified") == (["1"], "")
        assert made == ["english-9-plain"], "the index was made again by turns"
        assert "newer version" in described(older).degraded
        assert described(newer).degraded == ""
        for refused in (
            lambda: older.open("c").search(vector=None, text="verify", filter=None, limit=9),
            lambda: older.open("c").chunks("term", ["system"]),
            lambda: older.create_collection("c", SPACE),
            lambda: put(older, "e", [SamplePassage("verified again", id="3")]),
        ):
            with pytest.raises(ConfigError, match="newer version"):
                refused()
        assert [each.id for each in older.open("c").chunks("document", ["d"])] == ["1", "2"]
        assert older.open("c").delete("d") == 2
        assert made == ["english-9-plain"]


def test_an_older_version_stores_nothing_while_a_newer_one_is_indexing_in_qdrant(
    qdrant: tuple[Make, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, _ = qdrant
    with closing(make(EnglishAnalyser())) as older, closing(make(Later())) as newer:
        older.create_collection("c", SPACE)
        put(older, "d", [SamplePassage("verified systems", id="1")])
        honest = search.heads

        def midway(place: QdrantCollection) -> Any:
            with pytest.raises(ConfigError, match="english-9-plain"):
                put(older, "e", [SamplePassage("verified again", id="2")])
            return honest(place)

        monkeypatch.setattr(search, "heads", midway)
        assert answers(newer, "verified") == (["1"], "")
        assert [each.id for each in newer.open("c").documents()] == ["d"]


def test_an_older_version_never_answers_by_an_index_that_has_become_newer_in_qdrant(
    qdrant: tuple[Make, list[str]],
) -> None:
    make, _ = qdrant
    with closing(make(EnglishAnalyser())) as older, closing(make(Later())) as newer:
        older.create_collection("c", SPACE)
        put(older, "d", [SamplePassage("verified systems", id="1")])
        assert answers(older, "verify") == (["1"], ""), "the description is kept in mind"
        assert answers(newer, "verified") == (["1"], "")
        hits, why = answers(older, "verify")
        assert hits is None
        assert "newer version" in why


@pytest.mark.parametrize("backend", ["postgresql", "qdrant"])
def test_of_newer_versions_that_come_at_once_one_indexes(backend: str, request: pytest.FixtureRequest) -> None:
    make, made = request.getfixturevalue(backend)
    with closing(make(EnglishAnalyser())) as older:
        older.create_collection("c", SPACE)
        put(older, "d", [SamplePassage("verified systems", id="1")])
    found: list[tuple[list[str] | None, str]] = []
    with ExitStack() as stack:
        stores: list[Store] = [stack.enter_context(closing(make(Later()))) for _ in range(3)]

        def ask(store: Store) -> None:
            found.append(answers(store, "verified"))

        threads = [threading.Thread(target=ask, args=(store,)) for store in stores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
    assert found == [(["1"], "")] * 3
    assert made == ["english-9-plain"]


def test_a_collection_in_qdrant_names_its_newer_index_when_all_of_it_can_be_found(
    qdrant: tuple[Make, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, _ = qdrant
    with closing(make(EnglishAnalyser())) as older, closing(make(Later())) as newer, closing(make(Later())) as other:
        older.create_collection("c", SPACE)
        put(older, "d", [SamplePassage("verified systems", id="1")])
        honest = search.update_description
        found: list[tuple[list[str] | None, str]] = []

        def result(connection: QdrantConnection, home: str, changes: dict[str, Any]) -> None:
            honest(connection, home, changes)
            if "analyser" in changes:
                found.append(answers(other, "verified"))

        monkeypatch.setattr(search, "update_description", result)
        assert answers(newer, "verified") == (["1"], "")
    assert found == [(["1"], "")]


def test_what_a_process_left_half_indexed_in_qdrant_is_indexed_by_the_next(
    qdrant: tuple[Make, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    make, made = qdrant
    monkeypatch.setattr(search, "SILENCE", 0.5)
    with closing(make(EnglishAnalyser())) as older, closing(make(Later())) as newer:
        older.create_collection("c", SPACE)
        put(older, "d", [SamplePassage("verified systems", id="1")])
        honest = search.look
        looks: list[str] = []

        def left(connection: QdrantConnection, name: str) -> QdrantCollection | None:
            """Show the claim of a process that is gone, until its silence has been noticed."""
            found = honest(connection, name)
            looks.append(name)
            return found if found is None or len(looks) > 4 else replace(found, indexer="of a process that is gone")

        monkeypatch.setattr(search, "look", left)
        assert answers(newer, "verified") == (["1"], "")
    assert made == ["english-9-plain"]


@pytest.mark.slow
def test_chromadb_keeps_the_index_of_the_newer_version_and_the_older_one_makes_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[str] = []
    honest = view.index_rows

    def rows(token: str, document_id: str, index: Any) -> Any:
        made.append(index.analyser)
        return honest(token, document_id, index)

    monkeypatch.setattr(view, "index_rows", rows)
    with ExitStack() as stack:
        server = stack.enter_context(temporary_server())

        def opened(analyser: Analyser) -> ChromaStore:
            store = ChromaStore(Address(Path(), host="127.0.0.1", port=server.port), analyser)
            return stack.enter_context(closing(store))

        first = opened(EnglishAnalyser())
        first.create_collection("c", SPACE)
        put(first, "d", [SamplePassage("verified systems", id="1"), SamplePassage("other", id="2")])
        for _ in range(3):
            assert answers(opened(Later()), "verified") == (["1"], "")
            assert answers(opened(EnglishAnalyser()), "verify") == (["1"], "")
        assert made == ["english-9-plain"], "the index was made again by turns"


# SQLite: the file itself


def test_a_replica_that_runs_while_the_tables_become_newer_refuses_from_then_on(tmp_path: Path) -> None:
    path = tmp_path / "knowledge.db"
    with closing(SqliteStore(path, EnglishAnalyser())) as store:
        store.create_collection("c", SPACE)
        put(store, "d", [SamplePassage("verified systems", id="1")])
        raw(path, f"UPDATE schema_version SET version = {tables.SCHEMA_VERSION + 1}")
        for refused in (
            lambda: answers(store, "verified"),
            lambda: put(store, "e", [SamplePassage("verified again", id="2")]),
            store.collections,
        ):
            with pytest.raises(ConfigError, match="newer version"):
                refused()
        assert raw(path, "SELECT count(*) FROM documents") == [(1,)]
        raw(path, f"UPDATE schema_version SET version = {tables.SCHEMA_VERSION}")
        assert answers(store, "verified") == (["1"], "")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_rolling_upgrade_of_three_replicas_under_load_indexes_once(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = str(tmp_path / "knowledge.db") if kind == "sqlite" else request.getfixturevalue("database")()
    with closing(opened(address)) as store:
        store.create_collection("c", SPACE)
        for number in range(20):
            put(
                store,
                f"d{number}",
                [SamplePassage(f"verified systems {number}", id=f"{number}"), SamplePassage("else")],
            )

    def replica(version: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "tests.stores.versions", address, version],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def heard(each: subprocess.Popen[str], what: str) -> None:
        assert each.stdout is not None
        assert any(line.strip() == what for line in iter(each.stdout.readline, "")), f"never said '{what}'"

    def ended(each: subprocess.Popen[str]) -> dict[str, Any]:
        reported, _ = each.communicate("stop\n", timeout=60)
        assert each.returncode == 0
        return json.loads(reported.splitlines()[-1])

    replicas = [replica("english-2") for _ in range(3)]
    try:
        for each in replicas:
            heard(each, "answers")
        reported: list[tuple[str, dict[str, Any]]] = []
        for place in range(3):
            fresh = replica("english-3")
            replicas.append(fresh)
            heard(fresh, "answers")
            old = replicas[place]
            heard(old, "degraded")
            reported.append(("english-2", ended(old)))
        reported.extend(("english-3", ended(each)) for each in replicas[3:])
    finally:
        for each in replicas:
            with each:
                each.kill()
    say(json.dumps(reported))
    assert sum(each["indexed"] for _, each in reported) == 1, "the collection was indexed more than once"
    for version, each in reported:
        if version == "english-2":
            assert each["whole"]
            assert each["degraded"]
            assert "english-3" in each["info"]
        else:
            assert (each["degraded"], each["refused"], each["info"]) == (0, 0, "")
            assert each["written"]
