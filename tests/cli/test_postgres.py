"""The commands on a real PostgreSQL: there and back by `migrate`, the doctor, the settings, what a backup says."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import pytest

from knowledge_mcp.engine.transfer.move import content_hash
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.postgres.store import PostgresStore
from tests.cli.conftest import Command
from tests.cli.test_move import NAME, loaded
from tests.engine.moving import fill, place, sqlite
from tests.servers.postgres_server import PostgresServer


@pytest.fixture(scope="module")
def server() -> Generator[PostgresServer]:
    with PostgresServer() as made:
        yield made


@pytest.fixture
def database(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch, home: Path, request: pytest.FixtureRequest
) -> str:
    """Make a database, with a password in its address, and let the settings name it."""
    url = server.make_database(request.node.name).replace("postgres@", "postgres:s3cret@")
    monkeypatch.setenv("DATABASE_URL", url)
    return url


def test_migrate_brings_everything_into_postgresql_and_back(home: Path, database: str, knowledge: Command) -> None:
    store = sqlite(home / ".local" / "share" / "knowledge-mcp" / "knowledge.sqlite")
    fill(store, collection=NAME)
    there = loaded(knowledge("migrate", "--from", "sqlite", "--to", "postgres", "--json").out)
    assert there["exit_code"] == 0
    assert there["to"]["backend"] == "postgres"
    assert there["collections"][0]["comparison"]["equal"]
    back = knowledge("migrate", "--from", "postgres", "--to", "sqlite", "--to-path", str(home / "copy"), "--json")
    assert loaded(back.out)["collections"][0]["comparison"]["equal"]
    assert "s3cret" not in f"{there} {back.out} {back.err}"
    with closing(store), closing(PostgresStore(database, EnglishAnalyser())) as other:
        assert content_hash(place(other, NAME)).sha256 == content_hash(place(store, NAME)).sha256


def test_the_store_in_force_is_shown_without_its_password_and_checked(
    database: str, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTOR_STORE", "postgres")
    shown = knowledge("config", "show")
    assert "DATABASE_URL" in shown.out
    listed = knowledge("collections", "list")
    checked = knowledge("doctor", "--json")
    assert "postgres at postgresql://127.0.0.1" in checked.out
    assert "s3cret" not in f"{shown.out} {shown.err} {listed.out} {listed.err} {checked.out} {checked.err}"
    result = knowledge("backup", "a.tar")
    assert result.code == 3
    assert "pg_dump" in result.err


def test_a_database_that_is_not_configured_or_not_there_ends_with_3(
    home: Path, server: PostgresServer, knowledge: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VECTOR_STORE", "postgres")
    unset = knowledge("collections", "list")
    assert unset.code == 3
    assert "DATABASE_URL" in unset.err
    monkeypatch.setenv("DATABASE_URL", server.url("not-there"))
    missing = knowledge("collections", "list")
    assert missing.code == 3
    assert "CREATE DATABASE" in missing.err
