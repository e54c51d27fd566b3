"""The Qdrant store on Qdrant's own engine: the whole contract, the state machine, and what local mode does not have."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal, cast

import pytest
import qdrant_edge as edge
from hypothesis import HealthCheck, settings

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import Equals, NotIn
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_machine import store_machine
from knowledge_mcp.testing.store_search import make_document, put, same_ranking, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from knowledge_mcp.testing.stores import StoreContract
from tests.servers.qdrant_edge import EdgeCollection
from tests.servers.qdrant_local import LocalQdrant
from tests.stores.test_qdrant_publish import NEW, OLD, SHAPES, Killed, Tapped, seen
from tests.stores.test_qdrant_publish import whole as is_whole

pytestmark = pytest.mark.slow  # the contract again, as over the wire

EXACT = QdrantConfig("http://local", drift=0.0)
FEW = settings(max_examples=10, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
TOLERANCE = 1e-5
"""The engine adds up in 32 bits."""


def engine() -> LocalQdrant:
    return LocalQdrant(kind=EdgeCollection)


class TestQdrantOnItsOwnEngine(StoreContract):
    lexical_tolerance: ClassVar[float] = TOLERANCE

    def make_store(self, analyser: Analyser) -> Store:
        self.local = engine()
        return QdrantStore(EXACT, analyser, connect=lambda: self.local.client)

    def open_again(self, store: Store) -> Store | None:
        return QdrantStore(EXACT, self.analyser, connect=lambda: self.local.client)


LOCALS: dict[str, LocalQdrant] = {}


def make_store(analyser: Analyser) -> Store:
    LOCALS["last"] = engine()
    return QdrantStore(EXACT, analyser, connect=lambda: LOCALS["last"].client)


def open_again(store: Store, analyser: Analyser) -> Store:
    return QdrantStore(EXACT, analyser, connect=lambda: LOCALS["last"].client)


TestEngineMachine = store_machine(make_store, open_again=open_again, tolerance=TOLERANCE).TestCase
TestEngineMachine.settings = FEW


def shards(local: LocalQdrant) -> list[EdgeCollection]:
    """List what holds the points of each of Qdrant's collections."""
    held = cast("Any", local)._client.collections.values()
    return [each for each in held if isinstance(each, EdgeCollection)]


def opened(local: LocalQdrant, **more: Any) -> QdrantStore:
    return QdrantStore(QdrantConfig("http://local", **more), EnglishAnalyser(), connect=lambda: local.client)


def passages(turn: int, count: int = 12) -> list[SamplePassage]:
    words = ("alpha", "beta", "gamma", "delta", "epsilon")
    return [
        SamplePassage(f"{words[place % 5]} {words[(place * turn) % 5]} words", id=f"{turn}-{place}")
        for place in range(count)
    ]


def test_frequencies_of_the_engine_count_what_was_deleted_and_ours_do_not() -> None:
    local, oracle = engine(), MemoryStore(EnglishAnalyser())
    store = opened(local, drift=0.0)
    for each in (store, oracle):
        each.create_collection("c", SPACE)
        for turn in range(6):
            put(each, "d", passages(turn))
            put(each, "e", ["alpha alone"])
    mine, theirs = (
        each.open("c").search(vector=None, text="alpha delta", filter=None, limit=20).lexical or ()
        for each in (store, oracle)
    )
    assert same_ranking(mine, theirs, TOLERANCE)
    counted = opened(local, drift=0.0, exact_up_to=0).open("c")  # as in large collections, where Qdrant tidies up
    others = counted.search(vector=None, text="alpha delta", filter=None, limit=20).lexical or ()
    assert not same_ranking(others, theirs, 0.05)
    for each in shards(local):
        each.optimize()
    assert same_ranking(
        store.open("c").search(vector=None, text="alpha delta", filter=None, limit=20).lexical or (), theirs, TOLERANCE
    )


def test_frequencies_leave_out_documents_that_count_as_absent_in_large_collections_too() -> None:
    store = opened(engine(), drift=9.0, exact_up_to=0)  # the mean length stays, which weighs all passages alike
    store.create_collection("c", SPACE)
    put(store, "d", passages(1))
    before = store.open("c").search(vector=None, text="alpha delta", filter=None, limit=20).lexical or ()
    put(store, "e", [SamplePassage("alpha alone", id=f"e-{place}") for place in range(30)])
    absent = NotIn("document_id", frozenset({"e"}), absent=True)
    counted, found = (
        store.open("c").search(vector=None, text="alpha delta", filter=kept, limit=20).lexical or ()
        for kept in (NotIn("document_id", frozenset({"e"})), absent)
    )
    assert same_ranking(found, before, TOLERANCE)
    assert not same_ranking(counted, before, 0.05)


@pytest.mark.parametrize("quantization", ["none", "scalar", "binary"])
@pytest.mark.parametrize("on_disk", [False, True])
def test_an_index_with_or_without_quantization_finds_what_comparing_all_finds(
    quantization: Literal["none", "scalar", "binary"], on_disk: bool
) -> None:
    local, oracle = LocalQdrant(kind=SmallSegments), MemoryStore(EnglishAnalyser())
    store = opened(local, exact_up_to=0, quantization=quantization, on_disk=on_disk)
    wide = replace(SPACE, dimensions=64)
    for each in (store, oracle):
        each.create_collection("c", wide)
        for number in range(4):
            given = make_document(f"d{number}", [f"passage {number} {place}" for place in range(200)])
            chunks = [replace(one, vector=unit_vector(one.chunk.content, 64)) for one in given.chunks]
            each.open("c").publish([replace(given, chunks=chunks)], lambda _: None)
    for each in shards(local):
        each.optimize()
    assert max(each.indexed for each in shards(local)) == 1600, "both vectors of each point"
    found = kept = 0
    for question in range(20):
        for expected in (None, Equals("document_id", "d1")):
            vector = unit_vector(f"question {question}", 64)
            mine, theirs = (
                {
                    hit.chunk_id
                    for hit in each.open("c").search(vector=vector, text=None, filter=expected, limit=10).dense or ()
                }
                for each in (store, oracle)
            )
            assert len(mine) == 10
            found, kept = found + len(mine & theirs), kept + 10
    assert found / kept > (0.7 if quantization == "binary" else 0.97), "64 components are few for one bit each"
    assert store.open("c").verify() == []


class SmallSegments(EdgeCollection):
    """Index from a few points on, where a server waits for 10,000 kilobytes of them."""

    optimizers = edge.EdgeOptimizersConfig(indexing_threshold=1)


def test_a_crash_of_the_engine_after_any_request_of_a_publish_leaves_one_version_whole() -> None:
    for step in range(1, 40):
        tapped = Tapped(kind=EdgeCollection)
        store = opened(tapped)
        store.create_collection("c", SPACE)
        put(store, "d", OLD, text="old text", structure=SHAPES["old"])
        left = [step]

        def crash(_: str, left: list[int] = left, tapped: Tapped = tapped) -> None:
            left[0] -= 1
            if left[0] == 0:
                for each in shards(tapped):
                    each.crash()
                raise Killed

        tapped.before = crash
        finished = False
        try:
            put(store, "d", NEW, text="new text", structure=SHAPES["new"])
            finished = True
        except Killed:
            pass
        tapped.before = None
        other = opened(tapped)
        dense, lexical = seen(other)
        assert dense == lexical
        assert is_whole(dense), f"crashed before request {step}: {dense}"
        assert text_of(other.open("c"), "d") == f"{dense[0][:3]} text"
        other.open("c").verify(repair=True)
        assert other.open("c").verify() == []
        if finished:
            assert step > 9, "a publish was not cut at all"
            break
