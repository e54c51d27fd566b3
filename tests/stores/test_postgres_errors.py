"""What is wrong with a PostgreSQL server, a database or an address is said with what to do, and nothing is altered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from importlib.resources import files

import psycopg
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import (
    ConfigError,
    ConnectionFailedError,
    InvalidInputError,
    KnowledgeError,
    TimedOutError,
)
from knowledge_mcp.stores.postgres import tables
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.stores.postgres.tables import PostgresSession
from knowledge_mcp.testing.store_search import expect, put
from knowledge_mcp.testing.store_values import SPACE, unit_vector
from tests.servers.postgres_server import PostgresServer
from tests.stores.test_postgres import rows

ANALYSER = EnglishAnalyser()
Make = Callable[[], str]
_TABLES = (
    "SELECT schemaname, tablename FROM pg_tables"
    " WHERE schemaname NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)


def refused(url: str) -> KnowledgeError:
    """Open a store and return why it cannot be used; the next call says the same."""
    with closing(PostgresStore(url, ANALYSER)) as store:
        error = expect(KnowledgeError, store.collections)
        again = expect(KnowledgeError, lambda: store.create_collection("c", SPACE))
        assert (again.code, again.message) == (error.code, error.message)
        assert error.suggestion
        return error


@pytest.fixture(scope="module")
def guarded(postgres: PostgresServer) -> str:
    """Make a user with a password, which the server asks for, and return its name."""
    postgres.execute("CREATE ROLE guarded LOGIN PASSWORD 'right one'")
    return "guarded"


@pytest.mark.parametrize("user", ["guarded:wrong%20one", "guarded", "nobody-here"])
def test_a_wrong_password_or_user_is_a_setting_to_correct(
    database: Make, guarded: str, user: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PGPASSWORD", raising=False)
    url = database()
    error = refused(url.replace("postgres@", f"{user}@"))
    assert isinstance(error, ConfigError)
    assert "DATABASE_URL" in error.suggestion
    assert "wrong one" not in f"{error.message} {error.details}"
    assert rows(url, _TABLES) == []


def test_a_password_of_the_environment_goes_to_no_address(
    database: Make, guarded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSWORD", "right one")
    url = database()
    assert isinstance(refused(url.replace("postgres@", f"{guarded}@")), ConfigError)
    with closing(PostgresStore(url.replace("postgres@", f"{guarded}:right%20one@"), ANALYSER)) as store:
        assert "rights" in expect(ConfigError, store.collections).message, "the password was right"


def test_a_database_that_is_not_there_is_named(postgres: PostgresServer) -> None:
    error = refused(postgres.url("not-there"))
    assert isinstance(error, ConfigError)
    assert "not-there" in error.message


@pytest.mark.parametrize("url", ["nonsense s3cret", "postgresql://h/db?colour=s3cret"])
def test_an_address_that_cannot_be_read_is_refused_without_showing_it(url: str) -> None:
    error = expect(ConfigError, lambda: PostgresStore(url, ANALYSER))
    assert "DATABASE_URL" in error.message
    assert "s3cret" not in f"{error.message} {error.details} {error.suggestion} {error.__cause__}"


def test_a_server_that_is_not_there_is_a_failed_connection_at_once() -> None:
    error = refused("postgresql://127.0.0.1:1/kb")
    assert isinstance(error, ConnectionFailedError)
    assert "127.0.0.1:1" in error.message


def test_a_database_without_pgvector_says_whom_to_ask(postgres: PostgresServer, database: Make) -> None:
    url = database()
    rows(url, "DROP EXTENSION vector")
    error = refused(url)
    assert isinstance(error, ConfigError)
    assert "CREATE EXTENSION vector" in error.suggestion
    assert rows(url, "SELECT 1 FROM pg_extension WHERE extname = 'vector'") == []
    assert rows(url, _TABLES) == []
    rows(url, "CREATE EXTENSION vector")
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.collections()


@pytest.mark.parametrize(("name", "value", "said"), [("_SERVER", 99, "99 or newer"), ("_EXTENSION", (99,), "or newer")])
def test_a_server_or_extension_that_is_too_old_is_refused(
    database: Make, monkeypatch: pytest.MonkeyPatch, name: str, value: object, said: str
) -> None:
    monkeypatch.setattr(tables, name, value)
    url = database()
    error = refused(url)
    assert isinstance(error, ConfigError)
    assert said in error.message
    assert rows(url, _TABLES) == []


def test_tables_are_made_by_statements_that_postgresql_15_knows() -> None:
    text = files(tables.__package__ or "").joinpath("schema.sql").read_text("utf-8")
    made = [each for each in text.split(";") if "CREATE TABLE" in each]
    assert len(made) > 5
    assert [each for each in made if " STORAGE " in each] == [], (
        "known there from 16 on; ALTER TABLE has known it before"
    )


def test_a_database_of_another_encoding_is_refused(postgres: PostgresServer) -> None:
    postgres.execute("CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0")
    error = refused(postgres.url("latin"))
    assert isinstance(error, ConfigError)
    assert "LATIN1" in error.message


def test_a_schema_of_another_program_is_refused_untouched(database: Make) -> None:
    url = database()
    rows(url, "CREATE SCHEMA knowledge_mcp CREATE TABLE theirs (a int)")
    error = refused(url)
    assert isinstance(error, ConfigError)
    assert "another program" in error.message
    assert rows(url, _TABLES) == [("knowledge_mcp", "theirs")]


def test_tables_of_a_newer_version_are_refused_at_the_start_and_while_running(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as running:
        running.create_collection("c", SPACE)
        put(running, "d", ["alpha"])
        rows(url, "UPDATE knowledge_mcp.meta SET version = 99")
        for call in (
            lambda: running.open("c").documents(),
            lambda: running.open("none").documents(),
            lambda: put(running, "e", ["beta"]),
            lambda: running.create_collection("new", SPACE),
            lambda: running.rename_collections({"c": "d"}),
            lambda: running.drop_collection("c"),
            running.collections,
            running.open("none").info,
        ):
            assert "newer version" in expect(ConfigError, call).message
        assert "newer version" in refused(url).message
        assert rows(url, "SELECT name, documents FROM knowledge_mcp.collections") == [("c", 1)]
        rows(url, "UPDATE knowledge_mcp.meta SET version = 2")
        assert len(running.open("c").documents()) == 1


def test_older_tables_are_migrated_once_or_left_whole(database: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)
    rows(url, "UPDATE knowledge_mcp.meta SET version = 0")
    assert "cannot be upgraded" in refused(url).message

    def fail(session: PostgresSession) -> None:
        session.run("CREATE TABLE knowledge_mcp.step (a int)")
        raise InvalidInputError("broken")

    monkeypatch.setattr(tables, "MIGRATIONS", {0: fail, 1: fail})
    assert refused(url).message == "broken"
    assert rows(url, "SELECT to_regclass('knowledge_mcp.step'), version FROM knowledge_mcp.meta") == [(None, 0)]

    def step(session: PostgresSession) -> None:
        session.run("CREATE TABLE knowledge_mcp.step (a int)")

    def nothing(_: PostgresSession) -> None: ...

    monkeypatch.setattr(tables, "MIGRATIONS", {0: step, 1: nothing})
    with closing(PostgresStore(url, ANALYSER)) as store:
        assert [each.name for each in store.collections()] == ["c"]
    assert rows(url, "SELECT version FROM knowledge_mcp.meta") == [(2,)]


def test_a_user_without_rights_is_told_which_and_one_with_a_schema_of_its_own_needs_no_more(
    database: Make, postgres: PostgresServer
) -> None:
    url = database()
    name = url.rpartition("/")[2]
    postgres.execute(f"CREATE ROLE plain_{name} LOGIN")
    mine = url.replace("postgres@", f"plain_{name}@")
    error = refused(mine)
    assert isinstance(error, ConfigError)
    assert "AUTHORIZATION" in error.suggestion
    rows(url, f"CREATE SCHEMA knowledge_mcp AUTHORIZATION plain_{name}")
    with closing(PostgresStore(mine, ANALYSER)) as store:
        store.create_collection("c", SPACE)
        put(store, "d", ["alpha"])
        assert store.open("c").search(vector=unit_vector("x"), text="alpha", filter=None, limit=1).lexical


def test_pgvector_may_lie_in_a_schema_of_its_own(postgres: PostgresServer, database: Make) -> None:
    url = database()
    rows(url, "DROP EXTENSION vector")
    rows(url, 'CREATE SCHEMA "Extra s"')
    rows(url, 'CREATE EXTENSION vector SCHEMA "Extra s"')
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)
        written = put(store, "d", ["alpha", "beta"])
        legs = store.open("c").search(vector=unit_vector("beta"), text=None, filter=None, limit=1)
        assert [hit.chunk_id for hit in legs.dense or ()] == [written[1].chunk.id]


def test_what_postgresql_cannot_hold_is_refused_as_input(database: Make) -> None:
    with closing(PostgresStore(database(), ANALYSER)) as store:
        store.create_collection("c", SPACE)
        for wrong in ("half \ud800 of a pair",):
            expect(InvalidInputError, lambda wrong=wrong: put(store, "d", ["alpha"], text=wrong))
        expect(InvalidInputError, lambda: store.create_collection("a\0b", SPACE))
        assert store.open("c").documents() == []
        put(store, "d", ["alpha \0 beta"], text="with \0 in it")
        parts = store.open("c").parts("d")
        assert parts is not None
        assert parts.text == "with \0 in it"


def test_a_standby_or_a_database_that_may_only_be_read_says_so(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)
    rows(url, f'ALTER DATABASE "{url.rpartition("/")[2]}" SET default_transaction_read_only = on')
    with closing(PostgresStore(url, ANALYSER)) as store:
        assert store.open("c").documents() == []
        put(store, "d", ["alpha"])  # its transactions say themselves that they write


def test_who_waits_too_long_for_another_writer_is_reported(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER, patience=0.2)) as store:
        store.create_collection("c", SPACE)
        put(store, "d", ["alpha"])
        with psycopg.connect(url) as other:
            other.execute("LOCK TABLE knowledge_mcp.chunks IN SHARE MODE")
            expect(TimedOutError, lambda: put(store, "d", ["beta"]))
            assert len(store.open("c").documents()) == 1
        put(store, "d", ["beta"])


def test_tables_that_were_dropped_are_reported_and_not_made_again(database: Make) -> None:
    url = database()
    with closing(PostgresStore(url, ANALYSER)) as store:
        store.create_collection("c", SPACE)
        rows(url, "DROP SCHEMA knowledge_mcp CASCADE")
        assert "not those of this version" in expect(ConfigError, lambda: store.open("c").documents()).message
