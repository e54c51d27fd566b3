"""The Qdrant store keeps the contract: in the client's local mode, over the wire, and on a real server if one is named.

`KNOWLEDGE_TEST_QDRANT_URL` (and `KNOWLEDGE_TEST_QDRANT_API_KEY`) name a server whose collections may be dropped.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_machine import store_machine
from knowledge_mcp.testing.store_search import SearchContract
from knowledge_mcp.testing.stores import StoreContract
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_server import QdrantServer

REAL = os.environ.get("KNOWLEDGE_TEST_QDRANT_URL", "")
REAL_KEY = os.environ.get("KNOWLEDGE_TEST_QDRANT_API_KEY") or None
FEW = settings(max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
ITSELF = QdrantConfig(REAL, api_key=REAL_KEY, drift=0.0)
EXACT = QdrantConfig("http://local", drift=0.0)
"""Weights follow the mean length at once, so that scores equal the memory store's."""


class TestQdrantInLocalMode(StoreContract):
    def make_store(self, analyser: Analyser) -> Store:
        self.local = LocalQdrant()
        return QdrantStore(EXACT, analyser, connect=lambda: self.local.client)

    def open_again(self, store: Store) -> Store | None:
        return QdrantStore(EXACT, self.analyser, connect=lambda: self.local.client)


class TestQdrantByFullText(SearchContract):
    """A collection without sparse vectors: the named capability `full-text`."""

    config: ClassVar = QdrantConfig("http://local", lexical="full-text")

    def make_store(self, analyser: Analyser) -> Store:
        self.local = LocalQdrant()
        return QdrantStore(self.config, analyser, connect=lambda: self.local.client)

    def open_again(self, store: Store) -> Store | None:
        return QdrantStore(self.config, self.analyser, connect=lambda: self.local.client)


class TestQdrantOverTheWire(StoreContract):
    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.server = QdrantServer(api_key="a secret key")
        yield
        self.server.stop()

    def config(self) -> QdrantConfig:
        return QdrantConfig(self.server.url, api_key="a secret key", grpc="off", drift=0.0)

    def make_store(self, analyser: Analyser) -> Store:
        return QdrantStore(self.config(), analyser)

    def open_again(self, store: Store) -> Store | None:
        return QdrantStore(self.config(), self.analyser)


def emptied(analyser: Analyser) -> Store:
    """Open the real server without any collection of ours."""
    store = QdrantStore(ITSELF, analyser)
    for each in store.collections():
        store.drop_collection(each.name)
    return store


if REAL:  # not collected without a server: a run that lacks it has not skipped anything that it could have run

    class TestQdrantItself(StoreContract):
        lexical_tolerance: ClassVar[float] = 1e-5

        def make_store(self, analyser: Analyser) -> Store:
            return emptied(analyser)

        def open_again(self, store: Store) -> Store | None:
            return QdrantStore(ITSELF, self.analyser)

    TestQdrantItselfMachine = store_machine(emptied, tolerance=1e-5).TestCase
    TestQdrantItselfMachine.settings = FEW


LOCALS: dict[str, LocalQdrant] = {}


def make_store(analyser: Analyser) -> Store:
    LOCALS.clear()
    LOCALS["last"] = LocalQdrant()
    return QdrantStore(EXACT, analyser, connect=lambda: LOCALS["last"].client)


def open_again(store: Store, analyser: Analyser) -> Store:
    return QdrantStore(EXACT, analyser, connect=lambda: LOCALS["last"].client)


TestQdrantMachine = store_machine(make_store, open_again=open_again).TestCase
TestQdrantMachine.settings = FEW
