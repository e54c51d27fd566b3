"""The Qdrant store keeps the contract: on the stand-in and over the wire, or on the real server that is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_machine import store_machine
from knowledge_mcp.testing.stores import StoreContract
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_server import QdrantServer

FEW = settings(max_examples=15, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
EXACT = QdrantConfig("http://local", drift=0.0)
"""Weights follow the mean length at once, so that scores equal the memory store's."""
TOLERANCE = 1e-5
"""Qdrant adds up in 32 bits."""


class TestQdrantOverTheWire(StoreContract):
    lexical_tolerance: ClassVar[float] = TOLERANCE

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


LOCALS: dict[str, LocalQdrant] = {}


def make_store(analyser: Analyser) -> Store:
    LOCALS.clear()
    LOCALS["last"] = LocalQdrant()
    return QdrantStore(EXACT, analyser, connect=lambda: LOCALS["last"].client)


def open_again(store: Store, analyser: Analyser) -> Store:
    return QdrantStore(EXACT, analyser, connect=lambda: LOCALS["last"].client)


TestQdrantMachine = store_machine(make_store, open_again=open_again, tolerance=TOLERANCE).TestCase
TestQdrantMachine.settings = FEW
