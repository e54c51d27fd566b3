"""What tests of stores share: one PostgreSQL server for all of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator

import pytest

from tests.servers.postgres_server import PostgresServer

_names = (f"test{number}" for number in itertools.count())


@pytest.fixture(scope="session")
def postgres() -> Generator[PostgresServer]:
    """Run a server whose new databases have pgvector."""
    with PostgresServer() as made:
        made.execute("CREATE EXTENSION vector", "template1")
        yield made


@pytest.fixture
def database(postgres: PostgresServer) -> Callable[[], str]:
    """Return a function that makes an empty database and gives its address."""
    return lambda: postgres.make_database(next(_names), extension=False)
