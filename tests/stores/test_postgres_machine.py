"""Any sequence of operations on PostgreSQL, here of an older version, equals the memory store."""

from __future__ import annotations

import itertools
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.postgres.store import PostgresStore
from knowledge_mcp.testing.store_machine import store_machine
from tests.servers.postgres_server import PostgresServer

pytestmark = pytest.mark.slow

_names = (f"machine{number}" for number in itertools.count())
_running: list[PostgresServer] = []
FEW = settings(max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@pytest.fixture(scope="module", autouse=True)
def _server() -> Generator[None]:
    with PostgresServer(version=16) as made:
        _running[:] = [made]
        yield


class _Named(PostgresStore):
    """Keep its address, which a store never tells."""

    def __init__(self, url: str, analyser: Analyser) -> None:
        super().__init__(url, analyser)
        self.url = url


def make_store(analyser: Analyser) -> Store:
    return _Named(_running[0].make_database(next(_names)), analyser)


def open_again(store: Store, analyser: Analyser) -> Store:
    assert isinstance(store, _Named)
    return _Named(store.url, analyser)


TestPostgresMachine = store_machine(make_store, open_again=open_again).TestCase
TestPostgresMachine.settings = FEW
