"""Servers that are killed, connections and answers that are lost: nothing half, nothing lost, nothing twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Generator
from contextlib import closing

import psycopg
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConnectionFailedError, KnowledgeError
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.postgres.tables import Connection
from knowledge_mcp.testing.store_search import expect, put
from knowledge_mcp.testing.store_values import SPACE
from tests.servers.postgres_server import PostgresServer
from tests.stores.killing import killed, start
from tests.stores.processes import check, ended, generation
from tests.stores.test_postgres import rows

ANALYSER = EnglishAnalyser()
Make = Callable[[], str]


@pytest.fixture
def own() -> Generator[PostgresServer]:
    """Run a server that a test may kill."""
    with PostgresServer() as made:
        yield made


def cut(url: str) -> None:
    """End every other connection to a database."""
    rows(
        url,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def test_connections_that_died_meanwhile_are_renewed_for_reads_and_writes(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)
        with store.open("c").snapshot(), store.open("c").snapshot():
            pass  # so that there are several connections
        cut(url)
        put(store, "d", ["alpha"])
        cut(url)
        assert len(store.open("c").documents()) == 1
        cut(url)
        assert store.open("c").delete("d") == 1


def test_a_snapshot_whose_connection_is_lost_fails_rather_than_go_on_in_another_state(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)

        def read() -> None:
            with store.open("c").snapshot() as held:
                cut(url)
                held.documents()

        expect(ConnectionFailedError, read)
        assert store.open("c").documents() == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_commit_whose_answer_is_lost_is_looked_up_and_made_once(
    database: Make, monkeypatch: pytest.MonkeyPatch, committed: bool
) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)
        put(store, "d", ["old"])
        honest = psycopg.Connection.commit
        lost: list[int] = []

        def commit(self: Connection) -> None:
            if self.autocommit or self.read_only or lost:
                honest(self)
                return
            lost.append(1)
            if committed:
                honest(self)
            self.close()
            raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(psycopg.Connection, "commit", commit)
        before = rows(url, "SELECT last_value FROM knowledge_mcp.keys")[0][0]
        put(store, "d", ["new one", "new two"])
        assert lost == [1]
        after = rows(url, "SELECT last_value FROM knowledge_mcp.keys")[0][0]
        assert isinstance(before, int)
        assert isinstance(after, int)
        assert after - before == (3 if committed else 6), "it was written once more exactly where it had to be"
        assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["new one", "new two"]
        assert store.open("c").verify() == []


def test_other_writes_whose_answer_is_lost_are_made_once_too(database: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(PostgresStore(database(), ANALYSER)) as store:
        for name in ("a", "b"):
            store.create_collection(name, SPACE)
            put(store, name, [name, "more"], collection=name)
        honest = psycopg.Connection.commit
        lost: list[int] = []

        def commit(self: Connection) -> None:
            honest(self)
            if not self.autocommit and not self.read_only and lost:
                lost.pop()
                self.close()
                raise psycopg.OperationalError("the connection is lost")

        monkeypatch.setattr(psycopg.Connection, "commit", commit)
        lost.append(1)
        store.rename_collections({"a": "b", "b": "a"})
        assert [each.id for each in store.open("a").documents()] == ["b"], "they were exchanged once"
        lost.append(1)
        assert store.open("a").delete("b") == 2
        lost.append(1)
        assert store.drop_collection("a")
        lost.append(1)
        assert store.create_collection("new", SPACE).name == "new"
        assert lost == []
        assert [each.name for each in store.collections()] == ["b", "new"]


@pytest.mark.slow
def test_a_server_killed_while_documents_are_written_leaves_whole_generations_and_loses_none_acknowledged(
    own: PostgresServer,
) -> None:
    url = own.make_database("kb")
    store = PostgresStore(url, ANALYSER)
    store.create_collection("c", SPACE)
    acknowledged: dict[str, int] = {}
    for attempt in range(4):
        begun, stop = threading.Event(), threading.Event()

        def write(attempt: int = attempt, begun: threading.Event = begun, stop: threading.Event = stop) -> None:
            turn = attempt * 1000
            while not stop.is_set():
                turn += 1
                document_id = f"d{turn % 3}"
                try:
                    put(store, document_id, generation(document_id, turn), text=f"text of {turn}", sha256=str(turn))
                except KnowledgeError:
                    return
                acknowledged[document_id] = turn
                if turn % 1000 > 3 + attempt:
                    begun.set()

        writer = threading.Thread(target=write)
        writer.start()
        assert begun.wait(60)
        own.kill()
        stop.set()
        writer.join(60)
        assert not writer.is_alive()
        expect(ConnectionFailedError, lambda: store.open("c").documents())
        own.start()
        check(store)
        kept = {each.id: int(each.sha256) for each in store.open("c").documents()}
        for document_id, turn in acknowledged.items():
            assert kept[document_id] >= turn, f"{document_id} fell back from turn {turn}"
            parts = store.open("c").parts(document_id)
            assert parts is not None
            assert parts.text == f"text of {kept[document_id]}"
        assert store.open("c").verify() == []
    store.close()


@pytest.mark.slow
def test_sixteen_processes_write_and_search_at_once(database: Make) -> None:
    url = database()
    seeds = [1, 1, 2, 2, 3, 3]  # two of each write the same documents
    writers = [start("write", url, seed, 10.0) for seed in seeds]
    readers = [start("read", url, 0, 10.0) for _ in range(10)]
    written, looked = ended(writers, readers, 180)
    assert written > 20
    assert sum(looked) > 10
    with closing(PostgresStore(url, ANALYSER)) as store:
        check(store)
        assert store.open("c").verify() == []


@pytest.mark.slow
def test_a_writer_killed_at_any_moment_leaves_whole_generations_and_loses_none_acknowledged(database: Make) -> None:
    url = database()
    dice = random.Random(11)
    acknowledged: dict[str, int] = {}
    for attempt in range(8):
        acknowledged |= killed(start("write", url, attempt, 60.0), dice)
        with closing(PostgresStore(url, ANALYSER)) as store:
            check(store)
            kept = {each.id: int(each.sha256) for each in store.open("c").documents()}
            assert all(kept[document_id] >= turn for document_id, turn in acknowledged.items())
            assert store.open("c").verify() == []
    assert len(acknowledged) > 4, "no writer came far enough to show anything"


def test_processes_that_all_make_the_tables_at_once_all_get_them(database: Make) -> None:
    url = database()
    for process in [start("read", url, 0, 0.0) for _ in range(4)]:
        said, complaints = process.communicate(timeout=60)
        assert (said.splitlines(), complaints) == (["ready", "0"], "")


@pytest.mark.slow
def test_a_failover_to_a_standby_loses_nothing_that_was_answered() -> None:
    with PostgresServer("synchronous_commit=remote_apply") as primary:
        primary.make_database("kb")
        with PostgresServer(primary=primary) as standby:
            primary.execute("ALTER SYSTEM SET synchronous_standby_names = '*'")
            primary.execute("SELECT pg_reload_conf()")
            url = (
                f"postgresql://postgres@127.0.0.1:{primary.port},127.0.0.1:{standby.port}/kb"
                "?target_session_attrs=read-write"
            )
            with closing(PostgresStore(url, ANALYSER)) as store:
                store.create_collection("c", SPACE)
                for turn in range(1, 12):
                    put(store, f"d{turn % 4}", generation(f"d{turn % 4}", turn), text=f"{turn}", sha256=str(turn))
                before = store.open("c").documents()
                primary.kill()
                expect(ConnectionFailedError, lambda: put(store, "d0", ["lost"]))
                standby.promote()
                standby.execute("ALTER SYSTEM RESET synchronous_standby_names")
                standby.execute("SELECT pg_reload_conf()")
                assert store.open("c").documents() == before
                check(store)
                put(store, "d9", generation("d9", 50))
                assert store.open("c").verify() == []
