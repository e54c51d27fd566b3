"""How collections lie in Qdrant: settings handed on, foreign ones refused, weights kept true, damage repaired."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from qdrant_client import models

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import ConfigError, InvalidInputError, NotFoundError
from knowledge_mcp.model.query import NotIn, Prefix
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.layout import INDEXES, META, point_id
from knowledge_mcp.stores.qdrant.points import query_sparse, term_index, weighted
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.stores.shared.filters import clause_prefixes, keeps_value
from knowledge_mcp.stores.shared.ranking import K1, B
from knowledge_mcp.testing.store_search import make_document, put, same_ranking
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, structure, unit_vector
from tests.servers.qdrant_local import LocalQdrant, refusal

SIZED = {"v": models.VectorParams(size=4, distance=models.Distance.COSINE)}


@pytest.fixture
def local() -> LocalQdrant:
    return LocalQdrant()


@pytest.fixture
def store(local: LocalQdrant) -> Iterator[QdrantStore]:
    made = opened(local)
    made.create_collection("c", SPACE)
    yield made
    made.close()


class OtherAnalyser(EnglishAnalyser):
    """Takes every word as it stands."""

    @property
    def version(self) -> str:
        return "english-3-another"

    def document_terms(self, text: str) -> list[str]:
        return [f"x{each}" for each in text.lower().split()]

    def query_terms(self, text: str) -> list[str]:
        return sorted(set(self.document_terms(text)))

    def term_key(self, term: str) -> str:
        return f"key {term}"


def opened(local: LocalQdrant, analyser: EnglishAnalyser | None = None, **more: Any) -> QdrantStore:
    return QdrantStore(
        QdrantConfig("http://local", known_seconds=0.0, **more),
        analyser or EnglishAnalyser(),
        connect=lambda: local.client,
    )


def found(store: QdrantStore, text: str) -> list[str]:
    legs = store.open("c").search(vector=None, text=text, filter=None, limit=50)
    return [hit.chunk_id for hit in legs.lexical or ()]


# what is there


@pytest.mark.requirement("A-REQ-IF-003")
def test_a_foreign_collection_is_refused_and_never_altered(local: LocalQdrant) -> None:
    client = local.client
    client.create_collection("mine", vectors_config=SIZED)
    client.upsert("mine", [models.PointStruct(id=1, vector={"v": [1.0, 0, 0, 0]}, payload={"x": 1})])
    store = opened(local)
    for call in (
        lambda: store.create_collection("mine", SPACE),
        lambda: store.open("mine").info(),
        lambda: store.open("mine").documents(),
        lambda: store.drop_collection("mine"),
        lambda: put(store, "d", ["words"], collection="mine"),
    ):
        with pytest.raises(ConfigError, match="mine"):
            call()
    store.create_collection("c", SPACE)
    assert [each.name for each in store.collections()] == ["c"]
    with pytest.raises(ConfigError, match="mine"):
        store.rename_collections({"c": "mine"})
    assert [each.payload for each in client.scroll("mine")[0]] == [{"x": 1}]
    assert [each.name for each in store.collections()] == ["c"]


def test_a_collection_of_another_layout_version_is_refused_and_never_altered(
    local: LocalQdrant, store: QdrantStore, caplog: pytest.LogCaptureFixture
) -> None:
    put(store, "d", ["alpha"])
    local.client.set_payload("c__records", {"layout": 99}, points=[META])
    before = [local.client.scroll(name, with_payload=True, with_vectors=True) for name in ("c", "c__records")]
    for call in (
        lambda: store.open("c").documents(),
        lambda: store.open("c").info(),
        lambda: store.open("c").verify(repair=True),
        lambda: store.open("c").delete("d"),
        lambda: store.create_collection("c", SPACE),
        lambda: store.drop_collection("c"),
        lambda: put(store, "e", ["beta"]),
    ):
        with pytest.raises(ConfigError, match="layout 99"):
            call()
    with pytest.raises(NotFoundError):
        store.rename_collections({"c": "d"})
    store.create_collection("other", SPACE)
    with pytest.raises(ConfigError, match="layout 99"):
        store.rename_collections({"other": "c"})
    store.drop_collection("other")
    caplog.clear()
    assert store.collections() == []
    assert [each.getMessage() for each in caplog.records] == ["collection_left_out"], "the log reports it"
    assert [local.client.scroll(name, with_payload=True, with_vectors=True) for name in ("c", "c__records")] == before


@pytest.mark.parametrize("name", ["", "a/b", "x" * 300, "c__records", "c__1", "a:b"])
def test_a_name_that_qdrant_or_the_layout_cannot_take_is_refused(store: QdrantStore, name: str) -> None:
    with pytest.raises(InvalidInputError):
        store.create_collection(name, SPACE)
    assert store.open(name).info() is None
    with pytest.raises(NotFoundError):
        store.open(name).documents()
    with pytest.raises(InvalidInputError):
        store.rename_collections({"c": name})


class Making(LocalQdrant):
    """A local Qdrant that keeps how collections were made."""

    def __init__(self) -> None:
        super().__init__()
        self.made: dict[str, dict[str, Any]] = {}

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name != "create_collection":
            return method

        def create(collection: str, **asked: Any) -> Any:
            self.made[collection] = asked
            return method(collection, **asked)

        return create


def test_settings_of_shards_replicas_disk_and_quantization_are_handed_to_qdrant() -> None:
    local = Making()
    store = opened(local, shards=3, replication_factor=2, write_consistency=2, on_disk=True, quantization="scalar")
    store.create_collection("c", SPACE)
    assert sorted(local.made) == ["c__1", "c__1__records"]
    for made in local.made.values():
        assert (made["shard_number"], made["replication_factor"], made["write_consistency_factor"]) == (3, 2, 2)
    chunks = local.made["c__1"]
    assert chunks["vectors_config"]["dense"].on_disk is True
    assert isinstance(chunks["quantization_config"], models.ScalarQuantization)
    assert chunks["sparse_vectors_config"]["bm25"].modifier == models.Modifier.IDF
    assert local.made["c__1__records"]["vectors_config"] == {}
    binary = Making()
    opened(binary, quantization="binary").create_collection("c", SPACE)
    assert isinstance(binary.made["c__1"]["quantization_config"], models.BinaryQuantization)
    assert set(local.client.get_collection("c__1").payload_schema) == set(INDEXES)


def test_a_collection_without_sparse_vectors_is_refused(local: LocalQdrant, store: QdrantStore) -> None:
    put(store, "d", ["alpha words"])
    local.client.set_payload("c__records", {"lexical": "full-text"}, points=[META])
    for call in (lambda: found(opened(local), "alpha"), lambda: opened(local).create_collection("c", SPACE)):
        with pytest.raises(ConfigError, match="no sparse vectors"):
            call()
    local.client.set_payload("c__records", {"lexical": "sparse"}, points=[META])
    assert len(found(opened(local), "alpha")) == 1


def test_what_an_interrupted_make_or_drop_has_left_is_done_away_with(local: LocalQdrant, store: QdrantStore) -> None:
    put(store, "d", ["alpha words"])
    local.client.set_payload("c__records", {"state": "dropping"}, points=[META])
    other = opened(local)
    assert other.open("c").info() is None
    other.create_collection("c", SPACE)
    assert other.open("c").documents() == []
    assert found(other, "alpha") == []
    local.client.set_payload("c__records", {"state": "dropping"}, points=[META])
    local.client.update_collection_aliases(
        [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)) for name in ("c", "c__records")]
    )
    assert other.open("c").info() is None
    other.create_collection("c", SPACE)
    assert other.open("c").documents() == []
    assert sorted(each.name for each in local.client.get_collections().collections) == ["c__1", "c__1__records"]


class SavesOneByOne(LocalQdrant):
    """A Qdrant that dies between two of the names that it saves."""

    left: int | None = None

    def __getattr__(self, name: str) -> Any:
        method = super().__getattr__(name)
        if name != "update_collection_aliases":
            return method

        def change(changes: list[Any], **more: Any) -> Any:
            for each in changes:
                if self.left == 0:
                    raise refusal(400, "killed")
                self.left = None if self.left is None else self.left - 1
                method([each], **more)

        return change


@pytest.mark.parametrize("saved", range(8))
def test_a_server_killed_amid_a_swap_of_names_has_made_it_or_not(saved: int) -> None:
    local = SavesOneByOne()
    first = opened(local)
    for name in ("a", "b"):
        first.create_collection(name, SPACE)
        put(first, name, [f"{name} words"], collection=name)
    local.left = saved
    with pytest.raises(InvalidInputError):
        first.rename_collections({"a": "b", "b": "a"})
    local.left = None
    names = [opened(local).open(each).documents()[0].id for each in ("a", "b")]
    assert names == (["b", "a"] if saved else ["a", "b"])
    assert [each.name for each in opened(local).collections()] == ["a", "b"]
    opened(local).rename_collections({"a": "c"})
    assert [opened(local).open(each).documents()[0].id for each in ("c", "b")] == names
    assert opened(local).drop_collection("b")
    assert [each.name for each in opened(local).collections()] == ["c"]


@pytest.mark.parametrize("saved", range(2))
def test_a_server_killed_while_a_new_collection_gets_its_names_has_it_at_the_next_attempt(saved: int) -> None:
    local = SavesOneByOne()
    local.left = saved
    with pytest.raises(InvalidInputError):
        opened(local).create_collection("c", SPACE)
    local.left = None
    opened(local).create_collection("c", SPACE)
    put(opened(local), "d", ["alpha"])
    assert found(opened(local), "alpha") != []
    assert sorted(each.name for each in local.client.get_collections().collections) == ["c__1", "c__1__records"]


def test_a_collection_that_has_lost_its_names_is_never_removed(local: LocalQdrant, store: QdrantStore) -> None:
    put(store, "d", ["alpha words"])
    local.client.update_collection_aliases(
        [models.DeleteAliasOperation(delete_alias=models.DeleteAlias(alias_name=name)) for name in ("c", "c__records")]
    )
    opened(local).create_collection("c", SPACE)
    assert opened(local).open("c").documents() == []
    assert local.client.count("c__1").count == 1


# weights


@given(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=40), st.floats(0.5, 50.0))
def test_a_weight_is_that_of_bm25_without_the_inverse_document_frequency(terms: list[str], mean: float) -> None:
    vector = weighted(terms, mean)
    counts = Counter(terms)
    by_index = dict(zip(vector.indices, vector.values, strict=True))
    norm = K1 * (1 - B + B * len(terms) / mean)
    assert by_index.keys() == {term_index(term) for term in counts}
    for term, count in counts.items():
        assert math.isclose(by_index[term_index(term)], count / (count + norm))
    assert vector.indices == sorted(vector.indices)
    assert sorted(query_sparse(["a", "b", "a"]).values) == [1.0, 2.0]


def test_weights_follow_the_mean_length_when_it_drifts(local: LocalQdrant) -> None:
    analyser = EnglishAnalyser()
    loose, oracle = opened(local, drift=0.2), MemoryStore(analyser)
    loose.create_collection("c", SPACE)
    oracle.create_collection("c", SPACE)
    worst = 0.0
    for turn in range(12):
        words = " ".join(["alpha", *(f"word{place}" for place in range(4 * turn))])
        for each in (loose, oracle):
            put(each, f"d{turn}", [words, "alpha beta"])
        mine, theirs = (
            each.open("c").search(vector=None, text="alpha beta", filter=None, limit=40).lexical or ()
            for each in (loose, oracle)
        )
        scores = {hit.chunk_id: hit.score for hit in theirs}
        assert scores.keys() == {hit.chunk_id for hit in mine}
        worst = max(worst, *(abs(hit.score - scores[hit.chunk_id]) / scores[hit.chunk_id] for hit in mine))
        assert loose.open("c").verify() == []
    assert 0.0 < worst < 0.1, "a fifth more or less of the mean is a tenth of a score at the most"
    meta = local.client.retrieve("c__records", [META])[0].payload or {}
    assert meta["mean"] > 8, "weights never followed"


@pytest.mark.parametrize("words", [1, 90])
def test_scores_are_exact_for_who_may_not_see_all_however_far_the_mean_lies(local: LocalQdrant, words: int) -> None:
    analyser = EnglishAnalyser()
    loose, oracle = opened(local, drift=100.0), MemoryStore(analyser)
    passages = [
        " ".join(["alpha"] * (1 + place % 4) + ["beta"] * (place % 7) + ["gamma"] * place) for place in range(40)
    ]
    for each in (loose, oracle):
        each.create_collection("c", SPACE)
        put(each, "a", passages)
        put(each, "b", ["alpha beta " * words] * 120)
    absent = NotIn("document_id", frozenset({"b"}), absent=True)
    for limit in (2, 30):
        mine, theirs = (
            each.open("c").search(vector=None, text="alpha beta", filter=absent, limit=limit).lexical
            for each in (loose, oracle)
        )
        assert mine is not None
        assert theirs is not None
        assert same_ranking(mine, theirs, 1e-5)


def test_sums_are_made_again_of_what_was_published_only(local: LocalQdrant) -> None:
    read: list[str] = []

    class ReadsRecorded:
        """Notes the records that are read."""

        def __getattr__(self, name: str) -> Any:
            def called(*args: Any, **kwargs: Any) -> Any:
                answer = getattr(local.client, name)(*args, **kwargs)
                if name == "scroll" and args[0].endswith("__records"):
                    points = cast("list[models.Record]", answer[0])
                    read.extend((each.payload or {})["document_id"] for each in points)
                return answer

            return called

    writer, oracle = opened(local), MemoryStore(EnglishAnalyser())
    reader = QdrantStore(QdrantConfig("http://local"), EnglishAnalyser(), connect=lambda: cast("Any", ReadsRecorded()))
    for each in (writer, oracle):
        each.create_collection("c", SPACE)
    for turn in range(30):
        for each in (writer, oracle):
            put(each, f"d{turn:02}", ["alpha words"] * (1 + turn % 3))

    def counted() -> list[str]:
        read.clear()
        seen, expected = (counts_of(each.open("c")) for each in (reader, oracle))
        assert replace(seen, storage_bytes=0) == replace(expected, storage_bytes=0)
        return sorted(read)

    assert len(counted()) == 30
    assert counted() == []
    for each in (writer, oracle):
        put(each, "d07", ["alpha"])
        put(each, "new", ["alpha", "beta"])
        each.open("c").delete("d11")
    assert counted() == ["d07", "new"]
    for each in (writer, oracle):
        each.open("c").publish([make_document("d01", ["x"]), make_document("d02", ["y", "z"])], lambda _: None)
        put(each, "d02", ["y"])
    assert counted() == ["d01", "d02"]
    writer.open("c").delete("d01")
    oracle.open("c").delete("d01")
    assert counted() == [], "its generation is gone"


def test_another_analyser_indexes_the_collection_again_at_its_first_use(local: LocalQdrant, store: QdrantStore) -> None:
    put(
        store,
        "d",
        [SamplePassage("The Requirements apply", id="1", terms=(("Alpha",),)), SamplePassage("words", id="2")],
    )
    assert found(store, "requirement") == ["1"]
    other = opened(local, OtherAnalyser())
    assert found(other, "requirement") == []
    assert found(other, "requirements") == ["1"]
    assert [each.id for each in other.open("c").chunks("term", ["key Alpha"])] == ["1"]
    assert other.open("c").verify() == []
    oracle = MemoryStore(OtherAnalyser())
    oracle.create_collection("c", SPACE)
    put(oracle, "d", [SamplePassage("The Requirements apply", id="1"), SamplePassage("words", id="2")])
    mine, theirs = (
        each.open("c").search(vector=None, text="the words", filter=None, limit=9).lexical or ()
        for each in (other, oracle)
    )
    assert same_ranking(mine, theirs, 1e-5)


# filters


@given(st.text("5.3A", max_size=8), st.text("5.3A", max_size=6))
def test_a_clause_lies_below_exactly_what_the_filter_says(clause: str, stem: str) -> None:
    part = Prefix("clause_number", stem)
    assert (stem.rstrip(".") in clause_prefixes(clause)) == keeps_value(part, clause)


# damage


DAMAGE: list[tuple[str, str, bool]] = [
    ("weights", "BM25 weights", True),
    ("unsettled", "waits for the end of a publish", True),
    ("orphans", "left over from a publish or delete", True),
    ("text", "The canonical text is missing", False),
    ("chunk", "The record states 2 chunks, the store contains 1", False),
    ("structure", "The sections and pages are missing", False),
    ("stray text", "1 part of texts or structures without a document", True),
    ("stray structure", "1 part of texts or structures without a document", True),
]


@pytest.mark.parametrize(("damage", "message", "repaired"), DAMAGE, ids=[each for each, *_ in DAMAGE])
def test_damage_is_found_and_what_is_derived_is_repaired(
    local: LocalQdrant, store: QdrantStore, damage: str, message: str, repaired: bool
) -> None:
    put(
        store,
        "d",
        [SamplePassage("alpha words", id="1"), SamplePassage("beta words", id="2")],
        text="the text",
        structure=structure(1),
    )
    assert store.open("c").verify() == []
    client = local.client
    points = client.scroll("c", limit=9)[0]
    if damage == "weights":
        client.delete_vectors("c", ["bm25"], points=[points[0].id])
    elif damage == "unsettled":
        client.set_payload("c", {"state": "moving"}, points=[points[0].id])
    elif damage == "orphans":
        client.delete("c__records", models.PointIdsList(points=[point_id("document", "d")]))
    elif damage in {"text", "structure"}:
        kept = models.FieldCondition(key="kind", match=models.MatchValue(value=damage))
        client.delete("c__records", models.FilterSelector(filter=models.Filter(must=[kept])))
    elif damage == "chunk":
        client.delete("c", models.PointIdsList(points=[points[0].id]))
    else:
        kind = damage.removeprefix("stray ")
        stray = {"kind": kind, "document_id": "d", "generation": "old", kind: "x"}
        client.upsert("c__records", [models.PointStruct(id=7, vector={}, payload=stray)])
    findings = store.open("c").verify()
    assert any(message in each.message for each in findings), findings
    assert all(each.suggestion and not each.repaired for each in findings)
    assert any(message in each.message and each.repaired == repaired for each in store.open("c").verify(repair=True))
    left = store.open("c").verify()
    assert (left == []) == repaired
    if damage in {"weights", "unsettled", "stray text", "stray structure"}:
        assert sorted(found(store, "words")) == ["1", "2"]


def test_a_missing_payload_index_is_found_and_made(local: LocalQdrant, store: QdrantStore) -> None:
    local.client.delete_payload_index("c__1", "clauses")
    assert ["clauses" in each.message for each in store.open("c").verify()] == [True]
    store.open("c").verify(repair=True)
    assert store.open("c").verify() == []


def test_vectors_are_kept_bit_for_bit(store: QdrantStore) -> None:
    chunks = put(store, "d", [f"passage {number}" for number in range(60)])
    kept = store.open("c").vectors([each.embedding_key for each in chunks])
    assert kept == {each.embedding_key: each.vector for each in chunks}
    assert unit_vector("passage 3") in kept.values()


@pytest.mark.parametrize("step", ["aliases", "exists"])
def test_a_collection_that_is_made_while_it_is_looked_up_is_found(
    local: LocalQdrant, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    looking, making = opened(local), opened(local)
    asked = getattr(looking.connection, step)

    def after_it_is_made(*names: str) -> Any:
        if making.open("new").info() is None:
            making.create_collection("new", SPACE)
        return asked(*names)

    monkeypatch.setattr(looking.connection, step, after_it_is_made)
    info = looking.open("new").info()
    assert info is not None
    assert info.name == "new"
