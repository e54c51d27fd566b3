"""The comparison at the end of a move: every difference is seen, whatever store it is that does not keep its word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from knowledge_mcp.engine.core.base import record_of
from knowledge_mcp.engine.transfer.move import content_hash
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.collection import NO_STRUCTURE, CollectionInfo, WholeDocument
from knowledge_mcp.model.query import ChunkKey, Filter, LegResults
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.store_values import SPACE, structure
from tests.engine.moving import chunks_of, everything, fill, memory, move, place, put_document
from tests.engine.overridden import OverriddenStore
from tests.engine.publishing import PublishingStore


def test_the_content_hash_sees_every_kind_of_difference() -> None:
    seen: set[str] = set()
    for change in ("none", "record", "text", "structure", "chunk", "vector", "order", "missing"):
        store = memory()
        store.create_collection("kb", SPACE)
        chunks = chunks_of("d", 3)
        if change == "chunk":
            chunks[1] = replace(chunks[1], chunk=replace(chunks[1].chunk, page_numbers=(2,)))
        if change == "vector":
            chunks[1] = replace(chunks[1], vector=chunks[2].vector)
        if change == "order":
            swapped = [replace(chunks[0].chunk, index=1), replace(chunks[1].chunk, index=0)]
            chunks = [*(replace(each, chunk=chunk) for each, chunk in zip(chunks, swapped, strict=False)), chunks[2]]
        kept = put_document(store, "d", chunks)
        if change == "record":
            kept = replace(kept, warnings=("Page 4 was empty.",))
        text = "another text" if change == "text" else "text of d, turn 0 東京"
        shape = structure(2 if change == "structure" else 3)
        if change in {"record", "text", "structure"}:
            store.open("kb").publish([WholeDocument(kept, text, chunks, shape)], lambda _: None)
        if change == "missing":
            store.open("kb").delete("d")
        seen.add(content_hash(place(store)).sha256)
    assert len(seen) == 8


class _LosesAChunk(OverriddenStore):
    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        found = super().chunks(collection, key, values)
        return found[:-1] if key == "document" and "doc-01" in values else found


def test_a_source_document_with_fewer_chunks_than_its_record_says_is_not_copied() -> None:
    source = _LosesAChunk(EnglishAnalyser())
    fill(source)
    report = move(place(source), place(memory()))
    assert "4 chunks, but its record says 5" in report.failed[0].message


class _LosesVectors(OverriddenStore):
    def vectors(self, collection: str, embedding_keys: Sequence[str]) -> dict[str, Vector]:
        known = super().vectors(collection, embedding_keys)
        return {key: known[key] for key in list(known)[1:]}


class _RoundsVectors(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        rounded = [replace(each, vector=b"\0\0" + each.vector[2:]) for each in new.chunks]
        super().take(collection, replace(new, chunks=rounded))


class _LosesTexts(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        super().take(collection, replace(new, text=new.text[:-1]))


class _LosesStructures(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        super().take(collection, replace(new, structure=NO_STRUCTURE))


class _ForgetsFields(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        kept = [replace(each, chunk=replace(each.chunk, page_labels=())) for each in new.chunks]
        super().take(collection, replace(new, chunks=kept))


class _FindsNothingNear(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        legs = super().search(collection, vector=vector, text=text, filter=filter, limit=limit)
        return replace(legs, dense=tuple(legs.dense or ())[5:])


class _IndexesNoWords(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        return replace(super().search(collection, vector=vector, text=text, filter=filter, limit=limit), lexical=())


@pytest.mark.parametrize(
    "wrong",
    [
        _LosesAChunk,
        _LosesVectors,
        _RoundsVectors,
        _LosesTexts,
        _LosesStructures,
        _ForgetsFields,
        _FindsNothingNear,
        _IndexesNoWords,
    ],
    ids=lambda each: each.__name__.strip("_"),
)
def test_a_store_that_does_not_keep_what_it_was_given_is_found_out(
    source: MemoryStore, wrong: type[MemoryStore]
) -> None:
    target = wrong(EnglishAnalyser())
    report = move(place(source), place(target))
    assert not report.good
    if wrong in {_FindsNothingNear, _IndexesNoWords}:
        assert not report.comparison.overlap.good
    else:
        assert report.comparison.differing
        assert report.comparison.source_sha256 != report.comparison.target_sha256


def test_what_an_equal_record_hides_is_found_by_the_comparison_and_copied_again(source: MemoryStore) -> None:
    target = memory()
    move(place(source), place(target))
    kept = record_of(source.open("kb"), "doc-02")
    assert kept is not None
    other = WholeDocument(kept, "another text", chunks_of("doc-02", 5, turn=8))
    target.open("kb").publish([other], lambda _: None)
    report = move(place(source), place(target))
    assert "doc-02" in report.plan.present
    assert (report.good, report.copied) == (True, 1)
    assert everything(target) == everything(source)


class _HasLostAChunk(PublishingStore):
    """Stands for a target that was damaged after a move, until the document is rewritten."""

    damaged = False

    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        found = super().chunks(collection, key, values)
        return found[:-1] if self.damaged and key == "document" and "doc-02" in values else found

    def info(self, collection: str, *, counted: bool = False) -> CollectionInfo | None:
        info = super().info(collection, counted=counted)
        if info is None or info.statistics is None:
            return info
        return replace(info, statistics=replace(info.statistics, chunks=info.statistics.chunks - self.damaged))

    def take(self, collection: str, new: WholeDocument) -> None:
        super().take(collection, new)
        self.damaged = False


def test_a_document_of_another_number_of_chunks_under_an_equal_record_is_replaced(source: MemoryStore) -> None:
    target = _HasLostAChunk(EnglishAnalyser())
    move(place(source), place(target))
    target.damaged = True
    report = move(place(source), place(target))
    assert (report.plan.replaced, report.good) == (("doc-02",), True)
