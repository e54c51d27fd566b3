"""A collection copied as it is: everything equal, resumable at any point, and never called good when it is not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from knowledge_mcp.engine.transfer.copying import MoveEventKind
from knowledge_mcp.engine.transfer.move import Move, MoveOptions, content_hash
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.collection import DocumentParts, WholeDocument
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    SpaceMismatchError,
)
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.store_search import text_of
from knowledge_mcp.testing.store_values import SPACE
from tests.engine.moving import RecordedEvents, chunks_of, everything, fill, memory, move, place, put_document, sqlite
from tests.engine.overridden import OverriddenStore
from tests.engine.publishing import PublishingStore

ROOT = Path(__file__).resolve().parents[2]


def test_a_move_carries_records_texts_chunks_and_vectors_as_they_are(source: MemoryStore) -> None:
    target = memory()
    report = move(place(source), place(target))
    assert report.good
    assert (report.copied, report.chunks, report.failed) == (8, 31, ())
    assert everything(target) == everything(source)
    assert report.comparison.source_sha256 == report.comparison.target_sha256 == content_hash(place(target)).sha256
    for each in source.open("kb").documents():
        keys = [known.embedding_key for known in chunks_of(each.id, each.chunk_count)]
        assert target.open("kb").vectors(keys) == source.open("kb").vectors(keys)
    assert report.comparison.overlap.dense == 1.0
    assert report.comparison.overlap.lexical == 1.0
    assert report.comparison.overlap.queries == 20


def test_sqlite_to_memory_and_back_ends_with_the_hash_it_began_with(tmp_path: Path) -> None:
    first, middle, last = sqlite(tmp_path / "a.db"), memory(), sqlite(tmp_path / "b.db")
    fill(first, documents=2, chunks=260)
    before = content_hash(place(first)).sha256
    assert move(place(first), place(middle)).good
    assert move(place(middle, "kb"), place(last, "other")).good
    assert content_hash(place(last, "other")).sha256 == before == content_hash(place(first)).sha256
    assert last.open("other").verify() == []
    for store in (first, last):
        store.close()


def test_a_second_move_finds_everything_present_and_copies_nothing(source: MemoryStore) -> None:
    target = memory()
    move(place(source), place(target))
    result = RecordedEvents()
    report = move(place(source), place(target), result)
    assert (report.good, report.copied, len(report.plan.present)) == (True, 0, 8)
    assert result.of(MoveEventKind.STORED) == []


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ConnectionFailedError("The store has gone.")])
def test_a_move_stopped_between_documents_continues_behind_them(source: MemoryStore, error: BaseException) -> None:
    target = memory()
    with pytest.raises(type(error)):
        move(place(source), place(target), RecordedEvents(error, after=2))
    assert len(target.open("kb").documents()) == 3
    report = move(place(source), place(target))
    assert (report.good, report.copied, len(report.plan.present)) == (True, 5, 3)
    assert everything(target) == everything(source)


class _StopsAfterTwo(PublishingStore):
    """Stands for a store that goes away once."""

    left = 3

    def take(self, collection: str, new: WholeDocument) -> None:
        self.left -= 1
        if not self.left:
            raise ConnectionFailedError("The store has gone.")
        super().take(collection, new)


def test_a_store_that_goes_away_ends_the_move_and_the_next_one_finishes(source: MemoryStore) -> None:
    target = _StopsAfterTwo(EnglishAnalyser())
    with pytest.raises(ConnectionFailedError):
        move(place(source), place(target))
    assert move(place(source), place(target)).good
    assert everything(target) == everything(source)


def test_a_record_that_differs_is_replaced_and_the_source_never_changes(source: MemoryStore) -> None:
    target = memory()
    move(place(source), place(target))
    before = everything(source)
    put_document(source, "doc-01", chunks_of("doc-01", 7, turn=1), turn=1)
    put_document(target, "doc-02", chunks_of("doc-02", 2, turn=3), turn=3)
    now = everything(source)
    report = move(place(source), place(target))
    assert report.plan.replaced == ("doc-01", "doc-02")
    assert report.good
    assert everything(source) == now != before
    assert everything(target) == now


def test_what_only_the_target_has_is_left_and_reported_or_pruned(source: MemoryStore) -> None:
    target = memory()
    target.create_collection("kb", SPACE)
    put_document(target, "stranger", chunks_of("stranger", 4))
    report = move(place(source), place(target))
    assert report.good
    assert report.plan.others == ("stranger",)
    assert not report.comparison.overlap.judged
    assert target.open("kb").documents(["stranger"])
    report = move(place(source), place(target), prune=True)
    assert (report.removed, report.good, report.comparison.overlap.judged) == (("stranger",), True, True)
    assert target.open("kb").documents(["stranger"]) == []


def test_a_plan_writes_nothing(source: MemoryStore) -> None:
    target = memory()
    plan = Move(place(source), place(target), MoveOptions(), RecordedEvents()).plan()
    assert (len(plan.new), plan.chunks, plan.present, plan.replaced) == (8, 31, (), ())
    assert target.collections() == []


def test_another_embedding_space_is_refused_before_anything_is_copied(source: MemoryStore) -> None:
    target = memory()
    target.create_collection("kb", replace(SPACE, model="another"))
    with pytest.raises(SpaceMismatchError) as refused:
        move(place(source), place(target))
    assert "another" in refused.value.message
    assert SPACE.label in refused.value.message
    assert target.open("kb").documents() == []


def test_the_same_collection_of_the_same_store_is_refused(source: MemoryStore) -> None:
    with pytest.raises(InvalidInputError):
        move(place(source), place(source))
    assert move(place(source), place(source, "copy")).good


def test_an_unknown_collection_names_those_there_are(source: MemoryStore) -> None:
    with pytest.raises(NotFoundError) as unknown:
        move(place(source, "typo"), place(memory()))
    assert "kb" in unknown.value.suggestion


class _HasLostVectors(OverriddenStore):
    """Stands for a source whose vectors of one document have gone."""

    def vectors(self, collection: str, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        known = super().vectors(collection, embedding_keys)
        gone = {each.embedding_key for each in chunks_of("doc-03", 5)[2:4]}
        return {key: vector for key, vector in known.items() if key not in gone}


def test_a_missing_vector_fails_its_document_alone_and_drops_no_chunk() -> None:
    source, target = _HasLostVectors(EnglishAnalyser()), memory()
    fill(source)
    result = RecordedEvents()
    report = move(place(source), place(target), result)
    assert not report.good
    assert [(each.document_id, each.message) for each in report.failed] == [
        ("doc-03", "Document 'doc-03' has 2 chunks without a vector.")
    ]
    assert result.of(MoveEventKind.FAILED) == ["doc-03"]
    assert target.open("kb").documents(["doc-03"]) == []
    assert len(target.open("kb").documents()) == 7
    assert [each.document_id for each in report.comparison.differing] == ["doc-03"]


def test_what_changes_at_the_source_meanwhile_is_caught_up_with(source: MemoryStore) -> None:
    target = memory()
    once: list[bool] = []

    class _Meddles(RecordedEvents):
        def __call__(self, event: object) -> None:
            if not once:
                once.append(True)
                put_document(source, "doc-00", chunks_of("doc-00", 9, turn=5), turn=5)
                put_document(source, "late", chunks_of("late", 2))
                source.open("kb").delete("doc-05")

    report = move(place(source), place(target), _Meddles())
    assert report.good
    assert everything(target) == everything(source)


class _DisturbedByAnotherWriter(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        if new.record.id == "doc-02":
            raise InternalError("Chunks were discarded by another writer.")
        super().take(collection, new)


def test_a_target_that_refuses_one_document_gets_all_others(source: MemoryStore) -> None:
    target = _DisturbedByAnotherWriter(EnglishAnalyser())
    report = move(place(source), place(target))
    assert [each.document_id for each in report.failed] == ["doc-02"]
    assert (report.copied, report.good) == (7, False)


class _FilledByAnotherRun(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        super().take(collection, new)
        if new.record.id == "doc-02":
            raise InternalError("Document 'doc-02' has 0 chunks, but its record states 5.")


def test_a_document_that_another_run_copied_at_the_same_time_has_not_failed(source: MemoryStore) -> None:
    target = _FilledByAnotherRun(EnglishAnalyser())
    result = RecordedEvents()
    report = move(place(source), place(target), result)
    assert result.of(MoveEventKind.FAILED) == ["doc-02"]
    assert (report.failed, report.good) == ((), True)
    assert everything(target) == everything(source)


class _IsOverloaded(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        raise InternalError("Status 503.", recoverable=True)


def test_a_failure_that_may_pass_ends_the_move_instead_of_failing_every_document(source: MemoryStore) -> None:
    with pytest.raises(KnowledgeError, match="503"):
        move(place(source), place(_IsOverloaded(EnglishAnalyser())))


@pytest.mark.slow
def test_a_move_killed_twice_ends_equal(tmp_path: Path) -> None:
    first, second = tmp_path / "a.db", tmp_path / "b.db"
    store = sqlite(first)
    fill(store, documents=8, chunks=260)
    before = content_hash(place(store)).sha256
    for heard in ("read doc-02", "stored doc-05"):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.moving", "copy", "read full", str(first), str(second)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        said = [line for line in iter(child.stdout.readline, f"{heard}\n") if line]
        child.kill()
        rest, complaints = child.communicate(timeout=60)
        assert complaints == ""
        assert "finished" not in "".join(said) + rest
    target = sqlite(second)
    present = len(target.open("kb").documents())
    assert 5 < present < 10
    report = move(place(store), place(target))
    assert (report.good, report.copied) == (True, 10 - present)
    assert content_hash(place(target)).sha256 == before == content_hash(place(store)).sha256
    assert target.open("kb").verify() == []
    for each in (store, target):
        each.close()


class _PublishedWhileItIsRead(OverriddenStore):
    """Stands for a source into which an ingest publishes between the reading of a text and of its chunks."""

    left = 1

    def parts(self, collection: str, document_id: str) -> DocumentParts | None:
        found = super().parts(collection, document_id)
        if document_id == "doc-01" and self.left:
            self.left -= 1
            put_document(self, "doc-01", chunks_of("doc-01", 3, turn=7), turn=7 + self.left % 2)
        return found


def test_a_document_published_while_it_is_read_is_copied_in_one_version() -> None:
    source, target = _PublishedWhileItIsRead(EnglishAnalyser()), memory()
    fill(source)
    report = move(place(source), place(target))
    assert report.good
    assert text_of(target.open("kb"), "doc-01") == "text of doc-01, turn 7 東京"
    assert len(target.open("kb").chunks("document", ["doc-01"])) == 3


def test_a_document_that_never_holds_still_is_reported_and_the_others_are_copied() -> None:
    source, target = _PublishedWhileItIsRead(EnglishAnalyser()), memory()
    fill(source)
    source.left = 10_000
    report = move(place(source), place(target))
    assert [each.document_id for each in report.failed] == ["doc-01"]
    assert "changes faster than it can be read" in report.failed[0].message
    assert (report.copied, report.good) == (7, False)
