"""The stand-in's indexed collections give the answers of local mode, which compares every point in every call."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_core import to_jsonable_python
from qdrant_client import models
from qdrant_client.http.exceptions import UnexpectedResponse

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import And, Equals, In, Prefix
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, embedded, structure, unit_vector
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_real import REAL

pytestmark = pytest.mark.skipif(REAL is not None, reason="it compares two stand-ins, and no server")
WORDS = ["alpha", "beta", "gamma", "delta"]
IDS = [f"6d2f1c1e-5b0c-4a36-9b57-0f3c0d4a7e{number:02x}" for number in range(60)]


class Twins(LocalQdrant):
    """Ask local mode and the indexed collections the same, and compare each answer."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = LocalQdrant(indexed=False)
        self.asked: dict[str, int] = {}

    def __getattr__(self, name: str) -> Any:
        indexed, plain = super().__getattr__(name), getattr(self.plain, name)

        def called(*args: Any, **kwargs: Any) -> Any:
            answer, error = outcome(lambda: indexed(*args, **kwargs))
            expected, expected_error = outcome(lambda: plain(*args, **kwargs))
            comparable = by_value if name == "facet" else to_jsonable_python
            assert comparable(answer) == comparable(expected), (name, args, kwargs)
            assert (error is None) == (expected_error is None)
            self.asked[name] = self.asked.get(name, 0) + 1
            if error is not None and expected_error is not None:
                assert (error.status_code, error.content) == (expected_error.status_code, expected_error.content)
                raise error
            return answer

        return called


def by_value(answer: models.FacetResponse) -> dict[str, int]:
    """Read counts by value: local mode writes hyphens into what might be a UUID, and orders by what it wrote."""
    return {str(each.value).replace("-", ""): each.count for each in answer.hits}


def outcome(call: Callable[[], Any]) -> tuple[Any, UnexpectedResponse | None]:
    try:
        return call(), None
    except UnexpectedResponse as exc:
        return None, exc


def match(key: str, value: bool | int | str | list[Any]) -> models.FieldCondition:
    if isinstance(value, list):
        return models.FieldCondition(key=key, match=models.MatchAny(any=value))
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def conditions(dice: random.Random) -> list[models.Condition]:
    """Draw from all that a filter may say, of indexed fields and others."""
    every: list[models.Condition] = [
        match("kind", dice.choice(WORDS)),
        match("kind", dice.sample(WORDS, 2)),
        match("kind", 1),
        match("list", dice.choice(WORDS)),
        match("list", []),
        match("flag", dice.choice([True, False])),
        match("number", dice.choice([0, 1, 2])),
        match("number", [1, 2]),
        match("plain", dice.choice(WORDS)),
        match("unknown", "x"),
        match("nested.kind", dice.choice(WORDS)),
        models.FieldCondition(key="text", match=models.MatchText(text=dice.choice(WORDS))),
        models.FieldCondition(key="number", range=models.Range(gte=1)),
        models.FieldCondition(key="kind", match=models.MatchExcept.model_validate({"except": ["alpha"]})),
        models.FieldCondition(key="list", values_count=models.ValuesCount(gt=1)),
        models.FieldCondition(key="kind", is_empty=True),
        models.IsEmptyCondition(is_empty=models.PayloadField(key="list")),
        models.HasIdCondition(has_id=list(dice.sample(IDS, 20))),
        models.HasVectorCondition(has_vector=dice.choice(["v", "s"])),
    ]
    return dice.sample(every, dice.choice([0, 1, 1, 2]))


def a_filter(dice: random.Random) -> models.Filter | None:
    if dice.random() < 0.15:
        return None
    made = models.Filter(must=conditions(dice) or None, must_not=conditions(dice) or None)
    if dice.random() < 0.3:
        made.should = [models.Filter(must=conditions(dice) or None), *conditions(dice)]
    if dice.random() < 0.2:
        made.must = [*(made.must if isinstance(made.must, list) else []), models.Filter(must_not=conditions(dice))]
    return made


def payload(dice: random.Random) -> dict[str, Any]:
    values: dict[str, Any] = {
        "kind": dice.choice([*WORDS, None, 1, True]),
        "list": dice.sample(WORDS, dice.randrange(3)),
        "flag": dice.choice([True, False, "true", 1]),
        "number": dice.choice([0, 1, 2.0, True, "1"]),
        "plain": dice.choice(WORDS),
        "text": " ".join(dice.choices(WORDS, k=3)),
        "nested": {"kind": dice.choice(WORDS)},
    }
    return {key: value for key, value in values.items() if dice.random() < 0.8}


def vectors(dice: random.Random) -> dict[str, Any]:
    """Draw few different ones, so that scores are often equal."""
    found: dict[str, Any] = {"v": [float(dice.randrange(3)), float(dice.randrange(3))]}
    if dice.random() < 0.7:
        indices = dice.sample(range(9), dice.randrange(4))
        found["s"] = models.SparseVector(indices=indices, values=[dice.choice([0.1, 0.3, 1.0]) for _ in indices])
    return found


def change(dice: random.Random) -> models.UpdateOperation:
    kind = dice.randrange(6)
    some: list[Any] = dice.sample(IDS, 4)
    if kind < 2:
        points = [models.PointStruct(id=each, payload=payload(dice), vector=vectors(dice)) for each in some]
        return models.UpsertOperation(
            upsert=models.PointsList(points=points, update_filter=a_filter(dice) if kind else None)
        )
    if kind == 2:
        kept = a_filter(dice)
        return models.SetPayloadOperation(
            set_payload=models.SetPayload(payload=payload(dice), filter=kept, points=None if kept else some)
        )
    if kind == 3:
        points = [models.PointVectors(id=each, vector=vectors(dice)) for each in some]
        return models.UpdateVectorsOperation(update_vectors=models.UpdateVectors(points=points))
    if kind == 4:
        return models.DeleteOperation(delete=models.PointIdsList(points=some))
    gone = models.Filter(must=[match("kind", dice.choice(WORDS)), match("plain", dice.choice(WORDS))])
    return models.DeleteOperation(delete=models.FilterSelector(filter=gone))


def ask(client: Any, dice: random.Random) -> None:
    kept = a_filter(dice)
    client.count("c", kept)
    offset = None
    for _ in range(4):
        _, offset = client.scroll("c", scroll_filter=kept, limit=5, offset=offset, with_payload=["kind"])
        if offset is None:
            break
    client.scroll("c", scroll_filter=kept, limit=3, offset=dice.choice(IDS), with_vectors=["v", "s"])
    client.retrieve("c", dice.sample(IDS, 5), with_vectors=True)
    sparse = models.SparseVector(indices=dice.sample(range(9), 3), values=[1.0, 0.3, 0.7])
    for query, using in (([1.0, 2.0], "v"), (sparse, "s")):
        asked = models.QueryRequest(query=query, using=using, filter=kept, limit=7, offset=dice.randrange(3))
        client.query_batch_points("c", [asked])


@pytest.mark.parametrize("seed", range(4))
def test_any_calls_have_the_answers_of_local_mode(seed: int) -> None:
    dice, twins = random.Random(seed), Twins()
    client: Any = twins.client
    client.create_collection(
        "c",
        vectors_config={"v": models.VectorParams(size=2, distance=models.Distance.DOT)},
        sparse_vectors_config={"s": models.SparseVectorParams(modifier=models.Modifier.IDF if seed % 2 else None)},
    )
    for field, kind in (("kind", "keyword"), ("list", "keyword"), ("nested.kind", "keyword"), ("flag", "bool")):
        client.create_payload_index("c", field, models.PayloadSchemaType(kind))
    for turn in range(60):
        outcome(lambda: client.batch_update_points("c", [change(dice) for _ in range(2)]))
        ask(client, dice)
        if turn == 30:  # of what is there already
            client.create_payload_index("c", "number", models.PayloadSchemaType.KEYWORD)
    assert client.count("c").count > 10


def test_all_that_the_store_asks_has_the_answer_of_local_mode() -> None:
    twins = Twins()
    for _ in range(2):  # the second one finds what the first has left: nothing
        store = QdrantStore(QdrantConfig("http://local", drift=0.0), EnglishAnalyser(), connect=lambda: twins.client)
        store.create_collection("c", SPACE)
        for number in range(4):
            passages = [f"{word} words of {number % 2}" for word in WORDS] + [
                SamplePassage("beta", clause_number="5.3")
            ]
            put(store, f"d{number}", passages, text="text")
        put(
            store,
            "d",
            [SamplePassage("alpha words", clause_number="5.3", terms=(("alpha", "a"),)), "beta"],
            text="text",
        )
        put(store, "d", ["gamma words", "delta"], text="text", structure=structure(3))
        kept = And((Equals("normative", False), In("document_id", ("d", "d1", "d2")), Prefix("clause_number", "5")))
        for expected in (None, kept):
            store.open("c").search(vector=unit_vector("x"), text="alpha beta words", filter=expected, limit=6)
        chunks = store.open("c").chunks("document", ["d1"])
        store.open("c").chunks("id", [each.id for each in chunks])
        store.open("c").vectors([each.embedding_key for each in embedded("d1", [each.content for each in chunks])])
        store.open("c").chunks("content", [each.content_hash for each in chunks])
        store.open("c").chunks("term", ["alpha"])
        store.open("c").defined_terms()
        counts_of(store.open("c"))
        store.open("c").verify(repair=True)
        store.open("c").delete("d")
        store.rename_collections({"c": "n"})
        assert store.drop_collection("n")
    used = {"scroll", "count", "facet", "retrieve", "query_batch_points", "batch_update_points", "get_collection"}
    assert used <= twins.asked.keys()
    assert sum(twins.asked.values()) > 200
