"""The Qdrant store keeps the contract over gRPC too: on the stand-in, or on the real server that is named."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import grpc
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.query import And, Equals, In, NotIn, Prefix
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from knowledge_mcp.testing.stores import StoreContract
from tests.servers.qdrant_grpc import CALLS, QdrantGrpcServer
from tests.servers.qdrant_local import LocalQdrant


def config(server: QdrantGrpcServer, spoken: Literal["auto", "on"] = "on", **more: Any) -> QdrantConfig:
    """Name a server; nobody answers by REST."""
    return QdrantConfig("http://127.0.0.1:1", grpc=spoken, grpc_port=server.port, drift=0.0, **more)


@pytest.mark.slow  # the contract again, as over REST
class TestQdrantOverGrpc(StoreContract):
    lexical_tolerance: ClassVar[float] = 1e-5

    @pytest.fixture(autouse=True)
    def _server(self) -> Iterator[None]:
        self.server = QdrantGrpcServer()
        yield
        self.server.stop()

    def make_store(self, analyser: Analyser) -> Store:
        return QdrantStore(config(self.server), analyser)

    def open_again(self, store: Store) -> Store | None:
        return QdrantStore(config(self.server), self.analyser)


@pytest.fixture
def server() -> Iterator[QdrantGrpcServer]:
    made = QdrantGrpcServer()
    yield made
    made.stop()


def used(store: QdrantStore, *, absent: bool = False) -> list[Any]:
    """Use all that a store does of a server, and list what it said."""
    store.create_collection("c", SPACE)
    handle = store.open("c")
    clauses = [SamplePassage("alpha words", id="1", clause_number="5.3", terms=(("alpha", "a"),)), "beta words"]
    put(store, "d", clauses, text="the text")
    said: list[Any] = [store.statistics(store.fresh("c")).chunks]
    put(store, "e", ["gamma words", "alpha"])
    put(store, "d", ["alpha of later words", *clauses], text="later text")
    said.append(store.statistics(store.fresh("c")).chunks)  # by generation, since some are known
    kept = And((Equals("normative", False), In("document_id", ("d", "x")), Prefix("clause_number", "5")))
    for each in (None, kept, NotIn("document_id", frozenset({"e"}), absent=absent)):
        found = handle.search(vector=unit_vector("x"), text="alpha words", filter=each, limit=2)
        said += [found.lexical, [hit.chunk_id for hit in found.dense or ()]]
    said += [handle.chunks("term", ["alpha"]), handle.chunks("id", ["1"]), handle.defined_terms()]
    said += [handle.documents(limit=1)[0].id, handle.verify(repair=True), handle.delete("d")]
    store.rename_collections({"c": "other"})
    said.append([each.name for each in store.collections()])
    said.append(store.drop_collection("other"))
    return said


@pytest.mark.parametrize("more", [{}, {"quantization": "scalar", "on_disk": True, "exact_up_to": 0}])
def test_every_call_is_made_over_grpc_and_answers_as_in_process(server: QdrantGrpcServer, more: dict[str, Any]) -> None:
    local = LocalQdrant()
    here = QdrantStore(QdrantConfig("http://local", drift=0.0, **more), EnglishAnalyser(), connect=lambda: local.client)
    there = QdrantStore(config(server, "auto", **more), EnglishAnalyser())
    assert used(there) == used(here)
    assert server.called == CALLS.keys(), "a call that nobody makes needs no answer"
    there.close()


def test_scores_without_absent_documents_come_over_grpc_too(server: QdrantGrpcServer) -> None:
    """Such a search reads sparse vectors back, and asks for each term's frequency."""
    local = LocalQdrant()
    here = QdrantStore(QdrantConfig("http://local"), EnglishAnalyser(), connect=lambda: local.client)
    there = QdrantStore(config(server), EnglishAnalyser())
    assert used(there, absent=True) == used(here, absent=True)
    there.close()


def test_what_the_server_refuses_over_grpc_is_reported_as_over_rest(server: QdrantGrpcServer) -> None:
    store = QdrantStore(config(server, retries=RetryPolicy(())), EnglishAnalyser())
    with pytest.raises(NotFoundError):
        store.open("nobody").documents()
    assert not store.drop_collection("nobody")
    store.close()


def test_the_stand_in_refuses_what_it_does_not_know(server: QdrantGrpcServer) -> None:
    store = QdrantStore(config(server, retries=RetryPolicy(())), EnglishAnalyser())
    store.create_collection("c", SPACE)
    with pytest.raises(InvalidInputError) as refused:
        store.connection.run("deleting an index", lambda client: client.delete_payload_index("c", "kind"))
    assert isinstance(refused.value.__cause__, grpc.Call)
    assert refused.value.__cause__.code() is grpc.StatusCode.UNIMPLEMENTED
    store.close()
