"""Whole documents in Qdrant, many in each request: how few those are, and what any of them failing leaves behind."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Literal

import pytest

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import InternalError, KnowledgeError
from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from knowledge_mcp.stores.qdrant.store import QdrantStore
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_search import make_document, put, structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, structure, unit_vector
from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_server import Fault, QdrantServer
from tests.stores.test_qdrant_publish import Killed, Tapped, opened

IDS = ("a", "b", "c")
SHAPES = {"old": structure(4), "new": structure(3), "rival": structure(2)}
COUNTS = {"old": 4, "new": 3, "rival": 2}


def version(document_id: str, name: str) -> WholeDocument:
    """Make one version of a document, which every passage, the text and the structure tell."""
    passages = [
        SamplePassage(f"alpha {name} {place}", id=f"{document_id}/{name}/{place}", direction="near")
        for place in range(COUNTS[name])
    ]
    return make_document(document_id, passages, text=f"{name} text", structure=SHAPES[name])


def versions(ids: Sequence[str], name: str) -> list[WholeDocument]:
    return [version(each, name) for each in ids]


def whole_versions(store: QdrantStore) -> dict[str, str]:
    """Tell which version of each document is there, having looked in every way; a mix of two fails."""
    found: dict[str, str] = {}
    for each in store.open("c").documents():
        chunks = [chunk.id for chunk in store.open("c").chunks("document", [each.id])]
        name = chunks[0].split("/")[1]
        assert chunks == [f"{each.id}/{name}/{place}" for place in range(COUNTS[name])]
        assert each == version(each.id, name).record
        assert text_of(store.open("c"), each.id) == f"{name} text"
        assert structure_of(store.open("c"), each.id) == SHAPES[name]
        found[each.id] = name
    legs = store.open("c").search(vector=unit_vector("near"), text="alpha", filter=None, limit=100)
    expected = sorted(f"{each}/{name}/{place}" for each, name in found.items() for place in range(COUNTS[name]))
    for leg in (legs.dense, legs.lexical):
        assert sorted(hit.chunk_id for hit in leg or ()) == expected
    assert counts_of(store.open("c")).chunks == len(expected)
    return found


def connected(server: QdrantServer, pauses: tuple[float, ...] = ()) -> QdrantStore:
    quick = RetryPolicy(pauses, sleep=lambda _: None)
    return QdrantStore(QdrantConfig(server.url, grpc="off", retries=quick), EnglishAnalyser())


def begun(store: QdrantStore) -> None:
    """Begin with one document of three."""
    if store.open("c").info() is not None:
        store.drop_collection("c")
    store.create_collection("c", SPACE)
    store.open("c").publish([version("b", "old")], lambda _: None)


def repaired(store: QdrantStore, step: int) -> None:
    """Whatever was left over goes in one of three ways, and the documents can be published after that."""
    if step % 3 == 0:
        for each in IDS:
            store.open("c").delete(each)
    elif step % 3 == 1:
        store.open("c").publish(versions(IDS, "new"), lambda _: None)
    else:
        store.open("c").verify(repair=True)
    assert store.open("c").verify() == []
    messages: list[str] = []
    store.open("c").publish(versions(IDS, "new"), messages.append)
    assert messages == list(IDS)
    assert whole_versions(store) == dict.fromkeys(IDS, "new")
    assert store.open("c").verify() == []


def test_the_requests_grow_with_the_batches_and_not_with_the_documents(server: QdrantServer) -> None:
    store = connected(server)
    store.create_collection("c", SPACE)
    store.open("c").publish([version("first", "old")], lambda _: None)
    asked: list[int] = []
    for count in (2, 20, 60):
        ids = [f"{count}-{number}" for number in range(count)]
        for name in ("old", "new"):
            messages: list[str] = []
            before = len(server.seen.paths)
            store.open("c").publish(versions(ids, name), messages.append)
            asked.append(len(server.seen.paths) - before)
            assert messages == ids
    assert max(asked) <= 15, "a document by itself needs more"
    assert asked[2] == asked[4], "of new ones"
    assert asked[3] == asked[5], "of new versions"
    assert store.open("c").verify() == []


@pytest.mark.slow
def test_what_is_too_large_for_one_request_is_cut(server: QdrantServer) -> None:
    store = connected(server)
    store.create_collection("c", SPACE)
    many = [make_document(f"many-{each}", [f"words {each} {place}" for place in range(90)]) for each in range(8)]
    long = [make_document(f"long-{each}", ["word"], text="t" * 3_000_000) for each in range(4)]
    wide = [make_document("wide", ["word " * 60_000 + str(each) for each in range(30)])]
    none = [make_document(f"none-{each}", []) for each in range(250)]
    messages: list[str] = []
    store.open("c").publish([*many, *long, *wide, *none], messages.append)
    assert messages == [each.record.id for each in (*many, *long, *wide, *none)]
    assert server.seen.largest < 9_000_000
    assert counts_of(store.open("c")).documents == 263
    assert text_of(store.open("c"), "long-3") == "t" * 3_000_000
    assert store.open("c").verify() == []


def test_a_document_given_twice_in_one_call_stands_as_it_was_given_last() -> None:
    store = opened(LocalQdrant())
    store.create_collection("c", SPACE)
    messages: list[str] = []
    store.open("c").publish([version("a", "old"), version("b", "new"), version("a", "new")], messages.append)
    assert messages == ["a", "b", "a"]
    assert whole_versions(store) == {"a": "new", "b": "new"}
    assert store.open("c").verify() == []


@pytest.mark.slow
@pytest.mark.requirement("CLARIFY-006")
@pytest.mark.parametrize("kind", ["status", "lose"])
def test_a_request_that_fails_leaves_each_document_old_or_new(
    server: QdrantServer, kind: Literal["status", "lose"]
) -> None:
    seen: set[str] = set()
    for step in itertools.count():
        store = connected(server)
        begun(store)
        messages: list[str] = []
        server.faults.extend([Fault("none")] * step + [Fault(kind)])
        try:
            store.open("c").publish(versions(IDS, "new"), messages.append)
        except KnowledgeError:
            assert messages == []
        else:
            assert messages == list(IDS)
        unused = len(server.faults)
        server.faults.clear()
        other = connected(server)
        found = whole_versions(other)
        assert found.keys() <= set(IDS)
        assert found["b"] in {"old", "new"}
        assert all(name == "new" for each, name in found.items() if each != "b")
        assert all(found[each] == "new" for each in messages)
        seen.add(found["b"])
        repaired(other, step)
        store.close()
        other.close()
        if unused:
            assert step > 10, "it was not hit at all"
            break
    assert seen == {"old", "new"}


@pytest.mark.requirement("CLARIFY-006")
def test_a_process_killed_before_any_of_its_requests_leaves_each_document_old_or_new() -> None:
    tapped = Tapped()
    for step in itertools.count():
        store = opened(tapped)
        begun(store)
        left, reported = [step], list[str]()

        def die(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise Killed

        tapped.before = die
        try:
            store.open("c").publish(versions(IDS, "new"), reported.append)
            finished = True
        except Killed:
            finished = False
        tapped.before = None
        other = opened(tapped)
        found = whole_versions(other)
        assert found in ({"b": "old"}, dict.fromkeys(IDS, "new"))
        assert all(found[each] == "new" for each in reported)
        repaired(other, step)
        if finished:
            assert step > 10, "it was not killed at all"
            break


@pytest.mark.slow
def test_a_write_of_several_whose_answer_was_lost_is_made_again_without_harm(server: QdrantServer) -> None:
    store = connected(server, (0.0,))
    for turn in range(15):
        begun(store)
        messages: list[str] = []
        server.faults.extend([Fault("none")] * turn + [Fault("lose")])
        store.open("c").publish(versions(IDS, "new"), messages.append)
        server.faults.clear()
        assert messages == list(IDS)
        assert whole_versions(store) == dict.fromkeys(IDS, "new")
        assert store.open("c").verify() == []


def test_a_look_between_any_two_requests_sees_each_document_whole() -> None:
    tapped = Tapped()
    store, reader = opened(tapped), opened(tapped)
    begun(store)
    looks: list[dict[str, str]] = []

    def look(_: str) -> None:
        before, tapped.before = tapped.before, None
        looks.append(whole_versions(reader))
        tapped.before = before

    tapped.before = look
    store.open("c").publish(versions(IDS, "new"), lambda _: None)
    tapped.before = None
    assert [each for each, _ in itertools.groupby(looks)] == [{"b": "old"}, dict.fromkeys(IDS, "new")]
    store.open("c").publish(versions(IDS, "rival"), lambda _: None)
    assert whole_versions(reader) == dict.fromkeys(IDS, "rival"), "totals of before were kept"


def test_what_is_discarded_before_its_commit_is_written_again_and_the_old_version_stays_till_then() -> None:
    tapped = Tapped()
    store, rival, reader = opened(tapped), opened(tapped), opened(tapped)
    begun(store)
    looks: list[dict[str, str]] = []

    def look(_: str) -> None:
        tapped.before = None
        looks.append(whole_versions(reader))
        tapped.before = look

    def discard(name: str) -> None:
        if name == "count":  # just before the first look whether all points are there
            tapped.before = None
            rival.open("c").verify(repair=True)
            tapped.before = look

    tapped.before = discard
    messages: list[str] = []
    store.open("c").publish(versions(IDS, "new"), messages.append)
    tapped.before = None
    assert messages == list(IDS)
    assert [each for each, _ in itertools.groupby(looks)] == [{"b": "old"}, dict.fromkeys(IDS, "new")]
    assert store.open("c").verify() == []


def interfere(rival: QdrantStore, kind: str) -> None:
    """Do to two of the documents what another process may do at any moment."""
    theirs = versions(("b", "c"), "rival")
    if kind == "publishing":
        rival.open("c").publish(theirs, lambda _: None)
        return
    for each in theirs:
        if kind == "repairing":
            rival.open("c").verify(repair=True)
        else:
            rival.open("c").delete(each.record.id)


@pytest.mark.parametrize("kind", ["publishing", "repairing", "deleting"])
def test_of_two_writers_of_one_document_one_wins_wholly(kind: str) -> None:
    tapped = Tapped()
    store, rival = opened(tapped), opened(tapped)
    winners: set[str] = set()
    for step in range(20):
        begun(store)
        left, reported = [step], list[str]()

        def overtake(_: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                tapped.before = None
                interfere(rival, kind)

        tapped.before = overtake
        store.open("c").publish(versions(IDS, "new"), reported.append)
        overtaken = tapped.before is None
        tapped.before = None
        assert sorted(reported) == list(IDS)
        found = whole_versions(opened(tapped))
        assert found["a"] == "new"
        assert overtaken or found == dict.fromkeys(IDS, "new")
        assert set(found) == set(IDS) or (kind == "deleting" and set(found) == {"a"})
        winners |= set(found.values())
        store.open("c").verify(repair=True)
        assert store.open("c").verify() == [], f"overtaken at {step}"
    assert winners <= {"new", "rival"}


def test_a_document_that_others_change_again_and_again_is_reported_as_failed_and_the_rest_as_published() -> None:
    tapped = Tapped()
    store, rival = opened(tapped), opened(tapped)
    begun(store)

    def overtake(name: str) -> None:
        if name == "count":  # just before each look whether all points are there
            tapped.before = None
            put(rival, "b", ["alpha rival"])
            tapped.before = overtake

    tapped.before = overtake
    messages: list[str] = []
    with pytest.raises(InternalError, match="'b'"):
        store.open("c").publish(versions(IDS, "new"), messages.append)
    tapped.before = None
    assert messages == ["a", "c"]
    assert [each.content for each in store.open("c").chunks("document", ["b"])] == ["alpha rival"]
    store.open("c").verify(repair=True)
    assert store.open("c").verify() == []


def test_documents_are_counted_without_the_index_of_their_generation() -> None:
    local = LocalQdrant()
    store = opened(local)
    store.create_collection("c", SPACE)
    for number in range(3):
        put(store, f"d{number}", ["alpha", "beta"])
    local.client.delete_payload_index("c__1__records", "generation")
    put(store, "d3", ["gamma"])
    assert (counts_of(store.open("c")).documents, counts_of(store.open("c")).chunks) == (4, 7)
    assert ["generation" in each.message for each in store.open("c").verify()] == [True]
