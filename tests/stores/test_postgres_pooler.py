"""PostgreSQL behind PgBouncer in transaction mode: the whole contract, many clients on few connections, a kill, TLS."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConfigError, ConnectionFailedError
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.testing.store_search import expect, put
from knowledge_mcp.testing.store_values import SPACE
from knowledge_mcp.testing.stores import StoreContract
from tests.servers.pgbouncer import CONNECTIONS, Pooler
from tests.servers.postgres_server import PostgresServer
from tests.sources.web_site import Authority
from tests.stores.killing import start
from tests.stores.processes import check, generation
from tests.stores.test_postgres import rows

pytestmark = pytest.mark.slow  # the contract again, as without PgBouncer

ANALYSER = EnglishAnalyser()
Make = Callable[[], str]


@pytest.fixture(scope="module")
def pooler(postgres: PostgresServer) -> Generator[Pooler]:
    with Pooler(postgres) as made:
        yield made


class TestPostgresBehindPgBouncer(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self, database: Make, pooler: Pooler) -> None:
        self.database = lambda: pooler.through(database())

    def make_store(self, analyser: Analyser) -> Store:
        self.url = self.database()
        return PostgresStore(self.url, analyser)

    def open_again(self, store: Store) -> Store | None:
        return PostgresStore(self.url, self.analyser)


def test_more_threads_than_connections_write_and_read_and_each_waits_its_turn(database: Make, pooler: Pooler) -> None:
    direct = database()
    url = pooler.through(direct)
    failures: list[BaseException] = []
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)

        def work(number: int) -> None:
            try:
                for turn in range(1, 6):
                    document_id = f"d{number}"
                    put(store, document_id, generation(document_id, turn), sha256=str(turn))
                    check(store)
            except BaseException as exc:  # noqa: BLE001 - passed to the test's thread
                failures.append(exc)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(3 * CONNECTIONS)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert failures == []
        used = rows(direct, "SELECT pid FROM pg_stat_activity WHERE datname = current_database()")
        assert len(used) <= CONNECTIONS + 1, "this one too"
        assert len(store.open("c").documents()) == 3 * CONNECTIONS
        assert store.open("c").verify() == []


def test_processes_behind_one_pooler_see_whole_generations(database: Make, pooler: Pooler) -> None:
    url = pooler.through(database())
    processes = [
        *(start("write", url, seed, 5.0) for seed in (1, 1, 2)),
        *(start("read", url, 0, 5.0) for _ in range(3)),
    ]
    for process in processes:
        _, complaints = process.communicate(timeout=120)
        assert (complaints, process.returncode) == ("", 0)
    with closing(PostgresStore(url, ANALYSER)) as store:
        check(store)
        assert store.open("c").verify() == []


def test_a_pooler_that_is_killed_is_a_failed_connection_and_loses_nothing(
    postgres: PostgresServer, database: Make
) -> None:
    direct = database()
    with Pooler(postgres) as own, closing(PostgresStore(own.through(direct), ANALYSER)) as store:
        store.create_collection("c", SPACE)
        put(store, "d", ["alpha"])
        own.kill()
        expect(ConnectionFailedError, lambda: store.open("c").documents())
        own.start()
        assert [each.id for each in store.open("c").documents()] == ["d"]


def test_tls_settings_are_those_of_libpq_and_one_that_does_not_fit_is_a_setting_to_correct(
    postgres: PostgresServer, database: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority, direct = Authority(tmp_path), database()
    own = authority.certified("localhost")
    own.chmod(0o600)
    trusted, missing = tmp_path / "authority.pem", tmp_path / "missing.pem"
    trusted.write_text(authority.pem())

    def refused(url: str) -> ConfigError:
        with closing(PostgresStore(url, ANALYSER)) as store:
            return expect(ConfigError, store.collections)

    with Pooler(postgres, certificate=own, clients=authority.pem()) as pooler:
        url = pooler.through(direct).replace("127.0.0.1", "localhost")
        known = f"{url}?sslcert={own}&sslkey={own}&sslmode="
        checked = f"{known}verify-full&sslrootcert={trusted}"
        with closing(PostgresStore(checked, ANALYSER)) as store:
            store.create_collection("c", SPACE)
        for wrong in (
            f"{url}?sslmode=disable",
            f"{url}?sslmode=verify-full&sslrootcert={trusted}",  # without a certificate of its own
            checked.replace("localhost:", "127.0.0.1:"),
            f"{known}verify-full&sslrootcert={missing}",
            f"{known}verify-full&sslrootcert=system",
            f"{known}unheard-of",
            f"{direct}?sslmode=require",
        ):
            error = refused(wrong)
            assert "TLS settings" in error.message, (wrong, error.details)
            assert "sslrootcert" in error.suggestion
        monkeypatch.setenv("PGSSLMODE", "verify-full")
        monkeypatch.setenv("PGSSLROOTCERT", str(trusted))
        with closing(PostgresStore(known.removesuffix("&sslmode="), ANALYSER)) as store:
            assert [each.name for each in store.collections()] == ["c"]
        monkeypatch.setenv("PGSSLROOTCERT", str(missing))
        assert "TLS settings" in refused(known.removesuffix("&sslmode=")).message
