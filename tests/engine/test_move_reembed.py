"""A collection re-embedded: the live one answers until one step puts the new one in its place; nothing is lost."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from knowledge_mcp.engine.core.base import record_of
from knowledge_mcp.engine.transfer.copying import CollectionPlace, MoveEvent, MoveEventKind
from knowledge_mcp.engine.transfer.move import content_hash
from knowledge_mcp.engine.transfer.reembed import Reembed, ReembedOptions, ReembedReport
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import EmbeddedChunk, Vector
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentParts, WholeDocument
from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    NotFoundError,
    QuotaExceededError,
)
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from knowledge_mcp.testing.store_search import structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, embedded
from tests.engine.moving import RecordedEvents, chunks_of, fill, memory, place, put_document, sqlite
from tests.engine.overridden import OverriddenStore
from tests.engine.publishing import PublishingStore

ROOT = Path(__file__).resolve().parents[2]
TODAY = date(2026, 11, 22)
NEW = HashingEmbedder(dimensions=64, model="new").space


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Store:
    """Make a store with eight documents in the old space."""
    made: Store = memory() if request.param == "memory" else sqlite(tmp_path / "kb.db")
    fill(made)
    return made


def reembed(
    store: Store,
    expected: Callable[[MoveEvent], None] | None = None,
    *,
    embedder: HashingEmbedder | None = None,
    options: ReembedOptions | None = None,
) -> ReembedReport:
    """Embed collection `kb` again."""
    run = Reembed(
        place(store),
        embedder or HashingEmbedder(dimensions=64, model="new"),
        options or ReembedOptions(slice=4),
        expected or RecordedEvents(),
        today=TODAY,
    )
    return run.run()


def contents(store: Store, collection: str = "kb") -> dict[str, object]:
    """Read texts, chunks and structures, without what depends on the space."""
    return {
        each.id: (
            each.sha256,
            text_of(store.open(collection), each.id),
            [replace(chunk, token_count=0) for chunk in store.open(collection).chunks("document", [each.id])],
            structure_of(store.open(collection), each.id),
        )
        for each in store.open(collection).documents()
    }


def test_the_live_name_stands_for_the_new_space_and_the_old_collection_is_kept(store: Store) -> None:
    before, old_hash = contents(store), content_hash(place(store)).sha256
    report = reembed(store)
    assert report.good
    assert report.swapped
    assert (report.documents, report.embedded + report.reused, report.failed) == (8, 31, ())
    assert report.old_collection == "kb.old-20261122"
    assert [each.name for each in store.collections()] == ["kb", "kb.old-20261122"]
    info = store.open("kb").info()
    assert info is not None
    assert info.space == NEW
    assert contents(store) == before
    assert content_hash(place(store, "kb.old-20261122")).sha256 == old_hash


def test_vectors_token_counts_and_label_are_the_new_models(store: Store) -> None:
    reembed(store)
    embedder = HashingEmbedder(dimensions=64, model="new")
    for each in store.open("kb").documents():
        chunks = store.open("kb").chunks("document", [each.id])
        assert [chunk.token_count for chunk in chunks] == [embedder.count_tokens(chunk.content) for chunk in chunks]
        assert each.token_count == sum(chunk.token_count for chunk in chunks)
        assert each.embedding_model == NEW.label
        assert each.created_at == "2026-01-01T00:00:00+00:00"
    chunk = store.open("kb").chunks("document", ["doc-03"])[2]
    hit = store.open("kb").search(
        vector=embedder.embed_query(chunk.embedding_text), text=None, filter=None, limit=1
    ).dense  # fmt: skip
    assert hit is not None
    assert hit[0].chunk_id == chunk.id
    assert store.open("kb").verify() == []


def test_the_old_collection_can_be_dropped_and_a_second_run_has_nothing_to_do(store: Store) -> None:
    assert reembed(store, options=ReembedOptions(drop_old=True)).old_collection == ""
    assert [each.name for each in store.collections()] == ["kb"]
    embedder = HashingEmbedder(dimensions=64, model="new")
    report = reembed(store, embedder=embedder)
    assert (report.good, report.swapped, report.documents, embedder.documents) == (True, False, 0, [])


def test_a_second_old_collection_of_a_day_gets_a_number(store: Store) -> None:
    reembed(store)
    report = reembed(store, embedder=HashingEmbedder(dimensions=64, model="newer"))
    assert report.old_collection == "kb.old-20261122-2"


def test_the_live_collection_answers_until_the_swap_and_late_changes_are_caught_up_with(store: Store) -> None:
    seen: list[bool] = []

    def meddle(event: MoveEvent) -> None:
        if event.kind == MoveEventKind.READ:
            info = store.open("kb").info()
            assert info is not None
            seen.append(info.space == SPACE)
            assert store.open("kb").search(vector=None, text="valve", filter=None, limit=3).lexical
        if event.kind == MoveEventKind.STORED and event.document_id == "doc-03":
            put_document(store, "doc-00", chunks_of("doc-00", 3, turn=2), turn=2)
            put_document(store, "late", chunks_of("late", 2))
            store.open("kb").delete("doc-05")
        if event.kind == MoveEventKind.COMPARED and event.document_id == "doc-01":
            put_document(store, "later", chunks_of("later", 2))

    assert reembed(store, meddle).good
    assert all(seen)
    assert len(seen) > 7
    ids = [each.id for each in store.open("kb").documents()]
    assert "late" in ids
    assert "later" in ids
    assert "doc-05" not in ids
    assert contents(store) == contents(store, "kb.old-20261122")


class _PublishesBeforeTheSwap(MemoryStore):
    """Stands for an ingest that ends between the last look and the swap."""

    def rename_collections(self, names: Mapping[str, str]) -> None:
        put_document(self, "doc-01", chunks_of("doc-01", 4, turn=6), turn=6)
        put_document(self, "last", chunks_of("last", 2))
        self.open("kb").delete("doc-02")
        super().rename_collections(names)


def test_what_is_published_at_the_last_moment_is_caught_up_with_after_the_swap() -> None:
    store = _PublishesBeforeTheSwap(EnglishAnalyser())
    fill(store)
    assert reembed(store).good
    assert "last" in contents(store)
    assert contents(store) == contents(store, "kb.old-20261122")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ConnectionFailedError("gone")])
def test_a_stopped_run_continues_and_embeds_nothing_twice(store: Store, error: BaseException) -> None:
    first = HashingEmbedder(dimensions=64, model="new", failure=ConnectionFailedError("gone"), fail_after=12)
    with pytest.raises(ConnectionFailedError):
        reembed(store, embedder=first)
    live = store.open("kb").info()
    assert live is not None
    assert live.space == SPACE
    second = HashingEmbedder(dimensions=64, model="new")
    with pytest.raises(type(error)):
        reembed(store, RecordedEvents(error, after=0), embedder=second)
    third = HashingEmbedder(dimensions=64, model="new")
    assert reembed(store, embedder=third).good
    texts = first.documents + second.documents + third.documents
    lost = 2  # the first run failed in the middle of a slice, of which two texts were done
    assert len(texts) == 31 + lost
    assert len(set(texts)) == 31


def test_documents_too_long_for_the_new_model_are_reported_before_anything_is_embedded(store: Store) -> None:
    put_document(store, "long", _long())
    embedder = HashingEmbedder(dimensions=64, model="new", max_tokens=30)
    report = reembed(store, embedder=embedder)
    assert not report.good
    assert not report.swapped
    assert [each.document_id for each in report.failed] == ["long"]
    assert "2 of 3 chunks with more than the 30 tokens" in report.failed[0].message
    assert "ingested again" in report.failed[0].message
    assert embedder.documents == []
    assert [each.name for each in store.collections()] == ["kb"]


def test_documents_that_do_not_fit_can_be_left_out(store: Store) -> None:
    put_document(store, "long", _long())
    report = reembed(
        store,
        embedder=HashingEmbedder(dimensions=64, model="new", max_tokens=30),
        options=ReembedOptions(leave_out=True, drop_old=True),
    )
    assert (report.swapped, report.good) == (True, False)
    assert [each.document_id for each in report.failed] == ["long"]
    assert len(store.open("kb").documents()) == 8
    assert store.open("kb").documents(["long"]) == []


def test_a_document_ingested_again_into_the_coming_collection_counts_as_carried_over(store: Store) -> None:
    put_document(store, "long", _long())
    store.open("kb").delete("full")
    embedder = HashingEmbedder(dimensions=64, model="new", max_tokens=30)
    coming = f"kb.next-{NEW.fingerprint[:8]}"
    store.create_collection(coming, NEW)
    cut = chunks_of("long", 9)
    vectors = embedder.embed_documents([each.chunk.embedding_text for each in cut])
    cut = [replace(each, vector=vector) for each, vector in zip(cut, vectors, strict=True)]
    kept = record_of(store.open("kb"), "long")
    assert kept is not None
    newer = replace(kept, chunk_count=9, updated_at="2026-11-22T00:00:00+00:00", pipeline="finer")
    store.open(coming).publish([WholeDocument(newer, "text", cut)], lambda _: None)
    assert reembed(store, embedder=embedder).good
    assert len(store.open("kb").chunks("document", ["long"])) == 9


class _Refuses(HashingEmbedder):
    def embed_documents(self, texts: Sequence[str]) -> list[Vector]:
        if any("doc-02" in text for text in texts):
            raise InvalidInputError("The content was refused.")
        return super().embed_documents(texts)


def test_a_document_that_cannot_be_embedded_keeps_the_live_collection_in_its_place(store: Store) -> None:
    report = reembed(store, embedder=_Refuses(dimensions=64, model="new"))
    assert not report.swapped
    assert [(each.document_id, each.message) for each in report.failed] == [("doc-02", "The content was refused.")]
    assert report.documents == 7
    live = store.open("kb").info()
    assert live is not None
    assert live.space == SPACE
    assert reembed(store).good


class _Paid(HashingEmbedder):
    @property
    def price(self) -> float | None:
        return 1000.0


def test_a_cost_limit_ends_the_run_before_it_is_passed_and_keeps_the_live_collection(store: Store) -> None:
    with pytest.raises(QuotaExceededError):
        reembed(store, embedder=_Paid(dimensions=64, model="new"), options=ReembedOptions(max_cost=0.001))
    assert contents(store)
    live = store.open("kb").info()
    assert live is not None
    assert live.space == SPACE


class _LosesAVector(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        spoilt = [replace(each, embedding_key="0" * 64) for each in new.chunks]
        super().take(collection, replace(new, chunks=spoilt) if "next" in collection else new)


class _LosesText(OverriddenStore):
    def parts(self, collection: str, document_id: str) -> DocumentParts | None:
        found = super().parts(collection, document_id)
        text = None if found is None else found.text
        return replace(found, read_text=lambda: text[:-1]) if found and text and "next" in collection else found


class _LosesStructure(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        super().take(collection, replace(new, structure=NO_STRUCTURE) if "next" in collection else new)


@pytest.mark.parametrize("wrong", [_LosesAVector, _LosesText, _LosesStructure])
def test_a_store_that_does_not_keep_the_new_collection_whole_is_found_out_before_the_swap(
    wrong: type[MemoryStore],
) -> None:
    store = wrong(EnglishAnalyser())
    fill(store)
    report = reembed(store)
    assert not report.swapped
    assert len(report.failed) >= 7


class _CannotSwap(MemoryStore):
    def rename_collections(self, names: Mapping[str, str]) -> None:
        if names:
            raise InternalError("The disk is full.")


def test_a_swap_that_fails_leaves_the_live_collection_and_what_was_built() -> None:
    store = _CannotSwap(EnglishAnalyser())
    fill(store)
    with pytest.raises(InternalError):
        reembed(store)
    assert [each.name for each in store.collections()] == ["kb", f"kb.next-{NEW.fingerprint[:8]}"]


def test_an_unknown_collection_cannot_be_embedded_again(store: Store) -> None:
    with pytest.raises(NotFoundError):
        Reembed(CollectionPlace(store, "none"), HashingEmbedder(), ReembedOptions(), RecordedEvents())


def test_the_embedders_own_texts_are_embedded_with_their_context(tmp_path: Path) -> None:
    store = memory()
    fill(store, documents=0)
    embedder = HashingEmbedder(dimensions=64, model="new")
    reembed(store, embedder=embedder)
    assert embedder.documents == [chunk.embedding_text for chunk in store.open("kb").chunks("document", ["full"])]


@pytest.mark.slow
def test_a_run_killed_at_any_moment_is_finished_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    store: SqliteStore = sqlite(path)
    fill(store, documents=6, chunks=40)
    before = contents(store)
    for heard in ("read doc-01", "compared doc-02"):
        child = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.moving", "reembed", "compared full", str(path)],
            cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        assert child.stdout is not None
        for line in iter(child.stdout.readline, f"{heard}\n"):
            assert line, "the run ended without the step at which it is to be killed"
        child.kill()
        assert child.communicate(timeout=60)[1] == ""
        assert contents(store) == before
    report = reembed(store)
    assert report.good
    assert contents(store) == before
    assert store.open("kb").verify() == []
    store.close()


def _long() -> list[EmbeddedChunk]:
    made = embedded("long", ["short enough", "word " * 40, "other " * 50])
    assert len(made) == 3
    return [replace(each, embedding_key=key) for each, key in zip(made, _keys(made), strict=True)]


def _keys(chunks: Sequence[EmbeddedChunk]) -> list[str]:
    from knowledge_mcp.model.chunk import embedding_key

    return [embedding_key(each.chunk) for each in chunks]
