"""A test's part of a real Qdrant server: no other test's names are seen there, and nothing of it is left."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from qdrant_client import models

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_search import put, text_of
from knowledge_mcp.testing.store_values import SPACE
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_real import RealPart, RealQdrant
from tests.servers.qdrant_server import QdrantServer

KEY = "a key"


@pytest.fixture
def real() -> Iterator[RealQdrant]:
    """Let the stand-in pass for a server that others use too."""
    server = QdrantServer(api_key=KEY)
    server.local.client.create_collection("theirs", vectors_config={})
    server.local.client.update_collection_aliases(
        [models.CreateAliasOperation(create_alias=models.CreateAlias(alias_name="t", collection_name="theirs"))]
    )
    yield RealQdrant(server.url, key=KEY)
    assert [each.name for each in server.local.client.get_collections().collections] == ["theirs"]
    assert [each.alias_name for each in server.local.client.get_aliases().aliases] == ["t"]
    server.stop()


class Part(LocalQdrant):
    """A local Qdrant that is a part of the server given."""

    def __init__(self, real: RealQdrant) -> None:
        super().__init__()
        self.real = RealPart(real)


def direct(part: Part) -> QdrantStore:
    return QdrantStore(QdrantConfig("http://local"), EnglishAnalyser(), connect=lambda: part.client)


def over_the_wire(server: QdrantServer) -> QdrantStore:
    return QdrantStore(QdrantConfig(server.url, grpc="off"), EnglishAnalyser())


def use(real: RealQdrant) -> None:
    part, server = Part(real), QdrantServer(Part(real))
    stores = [direct(part), over_the_wire(server)]
    for number, store in enumerate(stores):
        assert store.collections() == []
        store.create_collection("c", SPACE)
        put(store, "d", ["alpha"], text=f"text {number}")
    for number, store in enumerate(stores):
        assert [each.name for each in store.collections()] == ["c"]
        assert text_of(store.open("c"), "d") == f"text {number}"
        store.rename_collections({"c": "other"})
        assert [each.name for each in store.collections()] == ["other"]
        assert store.open("other").verify() == []
    assert stores[0].drop_collection("other")
    assert [each.open("other").info() is None for each in stores] == [True, False]
    for store in stores:
        store.close()
    server.stop()


@pytest.mark.slow
def test_parts_of_one_server_see_nothing_of_each_other_and_leave_nothing(real: RealQdrant) -> None:
    use(real)
    gc.collect()
