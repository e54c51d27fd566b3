"""The contract really tests: deliberately wrong stores must fail it, and fail the state machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk, EmbeddedChunk, Vector
from knowledge_mcp.model.collection import (
    NO_STRUCTURE,
    CollectionInfo,
    DocumentParts,
    DocumentRecord,
    EmbeddingSpace,
    WholeDocument,
)
from knowledge_mcp.model.errors import KnowledgeError, NotFoundError
from knowledge_mcp.model.query import ChunkKey, Filter, In, LegResults
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.testing.store_machine import store_machine
from knowledge_mcp.testing.stores import StoreContract
from tests.engine.overridden import OverriddenStore
from tests.engine.publishing import PublishingStore


class _ForgetsTheFilterOfTheDenseLeg(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        lexical = super().search(collection, vector=None, text=text, filter=filter, limit=limit)
        dense = super().search(collection, vector=vector, text=None, filter=None, limit=limit)
        return replace(lexical, dense=dense.dense)


class _FiltersAfterRanking(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        every = super().search(collection, vector=vector, text=text, filter=None, limit=limit)
        kept = super().search(collection, vector=vector, text=text, filter=filter, limit=10_000)
        dense = None if kept.dense is None else tuple(hit for hit in every.dense or () if hit in kept.dense)
        lexical = None if kept.lexical is None else tuple(hit for hit in every.lexical or () if hit in kept.lexical)
        return LegResults(dense, lexical)


class _GivesOneTooMany(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        return super().search(collection, vector=vector, text=text, filter=filter, limit=limit + 1)


class _OrdersTiesBackwards(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        legs = super().search(collection, vector=vector, text=text, filter=filter, limit=10_000)
        turned = [
            None if leg is None else tuple(sorted(leg, key=lambda hit: (hit.score, hit.chunk_id), reverse=True)[:limit])
            for leg in (legs.dense, legs.lexical)
        ]
        return LegResults(turned[0], turned[1])


class _ScoresByDistance(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        legs = super().search(collection, vector=vector, text=text, filter=filter, limit=limit)
        dense = None if legs.dense is None else tuple(replace(hit, score=1.0 - hit.score) for hit in legs.dense)
        return replace(legs, dense=dense)


class _ShowsBothGenerations(PublishingStore):
    """Stands for a store that publishes in two steps and stops between them."""

    def take(self, collection: str, new: WholeDocument) -> None:
        old = next(iter(self.documents(collection, [new.record.id])), None)
        if old is not None and old.chunk_count:
            chunks = self.chunks(collection, "document", [new.record.id])
            shadow = replace(old, id=f"{new.record.id}~old")
            known = [EmbeddedChunk(each, b"\0" * 64, each.id) for each in chunks]
            super().take(collection, WholeDocument(shadow, "", known))
        super().take(collection, new)


class _LosesDeletes(OverriddenStore):
    def delete(self, collection: str, document_id: str) -> int:
        return len(self.chunks(collection, "document", [document_id]))


class _PublishesWhateverIsThere(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        there = {each.chunk.id: each for each in new.chunks}
        kept = replace(new.record, chunk_count=len(there))
        super().take(collection, replace(new, record=kept, chunks=list(there.values())))


class _LosesTheStructure(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        super().take(collection, replace(new, structure=NO_STRUCTURE))


class _KeepsTheOldStructureAfterAPublish(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        old = self.parts(collection, new.record.id)
        super().take(collection, new if old is None else replace(new, structure=old.structure or new.structure))


class _PublishesTheStructureBeforeItRefuses(PublishingStore):
    def take(self, collection: str, new: WholeDocument) -> None:
        known = self.get(collection).documents.get(new.record.id)
        if known is not None:
            known.structure = new.structure
        super().take(collection, new)


class _TakesNoStructureForNoDocument(OverriddenStore):
    def parts(self, collection: str, document_id: str) -> DocumentParts | None:
        found = super().parts(collection, document_id)
        return None if found is None or found.structure == NO_STRUCTURE else found


class _CutsLongStructures(OverriddenStore):
    def parts(self, collection: str, document_id: str) -> DocumentParts | None:
        found = super().parts(collection, document_id)
        shape = None if found is None else found.structure
        if found is None or shape is None:
            return found
        return replace(found, read_structure=lambda: replace(shape, sections=shape.sections[:1000]))


class _AnswersEmptyForUnknownCollections(OverriddenStore):
    def documents(
        self, collection: str, document_ids: Sequence[str] | None = None, *, limit: int | None = None
    ) -> list[DocumentRecord]:
        try:
            return super().documents(collection, document_ids, limit=limit)
        except NotFoundError:
            return []


class _AcceptsAnySpace(MemoryStore):
    def create_collection(self, name: str, space: EmbeddingSpace) -> CollectionInfo:
        known = self.open(name).info()
        return known if known is not None else super().create_collection(name, space)


class _ListsChunksInItsOwnOrder(OverriddenStore):
    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        return super().chunks(collection, key, sorted(values))


class _DropsDefinitionsOfAliases(OverriddenStore):
    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        found = super().chunks(collection, key, values)
        if key != "term":
            return found
        return [
            chunk for chunk in found if any(self.analyser.term_key(each.term) in values for each in chunk.definitions)
        ]


class _RenamesOneAfterTheOther(MemoryStore):
    def rename_collections(self, names: Mapping[str, str]) -> None:
        for old, new in names.items():
            super().rename_collections({old: new})


class _RenamesWhatItCanBeforeItRefuses(MemoryStore):
    def rename_collections(self, names: Mapping[str, str]) -> None:
        try:
            super().rename_collections(names)
        except KnowledgeError:
            for old, new in names.items():
                with contextlib.suppress(KnowledgeError):
                    super().rename_collections({old: new})
            raise


class _CopiesInsteadOfRenaming(MemoryStore):
    def rename_collections(self, names: Mapping[str, str]) -> None:
        before = {name: self.open(name).info() for name in names}
        super().rename_collections(names)
        for name, info in before.items():
            if info is not None and self.open(name).info() is None:
                self.create_collection(name, info.space)


class _TellsOfDocumentsThatItRefuses(OverriddenStore):
    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        for each in documents:
            on_published(each.record.id)
        super().publish(collection, documents, lambda _: None)


class _LeavesOutDocumentsWithoutChunks(OverriddenStore):
    def publish(
        self, collection: str, documents: Sequence[WholeDocument], on_published: Callable[[str], object]
    ) -> None:
        super().publish(collection, [each for each in documents if each.chunks], on_published)


class _GoesOnReadingItsSnapshot(OverriddenStore):
    answers: dict[str, LegResults] | None = None

    def enter(self, collection: str) -> None:
        self.answers = {}
        super().enter(collection)

    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        found = super().search(collection, vector=vector, text=text, filter=filter, limit=limit)
        return found if self.answers is None else self.answers.setdefault(f"{vector} {text} {limit}", found)


class _ReadsNothingButItsSnapshot(OverriddenStore):
    def enter(self, collection: str) -> None:
        self.others = {name: each for name, each in self._collections.items() if name != collection}
        self._collections = {collection: self.get(collection)}

    def leave(self, collection: str) -> None:
        self._collections |= self.others


class _ComparesByDistance(OverriddenStore):
    def search(
        self, collection: str, *, vector: Vector | None, text: str | None, filter: Filter | None, limit: int
    ) -> LegResults:
        found = super().search(collection, vector=vector, text=text, filter=filter, limit=limit)
        if not (isinstance(filter, In) and filter.field == "chunk_id") or found.dense is None:
            return found
        return replace(found, dense=tuple(replace(hit, score=1.0 - hit.score) for hit in found.dense))


class _FindsAContentInOneDocumentOnly(OverriddenStore):
    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        found = super().chunks(collection, key, values)
        return found if key != "content" else list({each.content_hash: each for each in found}.values())


WRONG: list[Callable[[Analyser], Store]] = [
    _ForgetsTheFilterOfTheDenseLeg,
    _FiltersAfterRanking,
    _GivesOneTooMany,
    _OrdersTiesBackwards,
    _ScoresByDistance,
    _ShowsBothGenerations,
    _LosesDeletes,
    _PublishesWhateverIsThere,
    _LosesTheStructure,
    _KeepsTheOldStructureAfterAPublish,
    _PublishesTheStructureBeforeItRefuses,
    _TakesNoStructureForNoDocument,
    _CutsLongStructures,
    _AnswersEmptyForUnknownCollections,
    _AcceptsAnySpace,
    _ListsChunksInItsOwnOrder,
    _DropsDefinitionsOfAliases,
    _RenamesOneAfterTheOther,
    _RenamesWhatItCanBeforeItRefuses,
    _CopiesInsteadOfRenaming,
    _TellsOfDocumentsThatItRefuses,
    _LeavesOutDocumentsWithoutChunks,
    _GoesOnReadingItsSnapshot,
    _ReadsNothingButItsSnapshot,
    _ComparesByDistance,
    _FindsAContentInOneDocumentOnly,
]
SEEN_BY_SEQUENCES: list[Callable[[Analyser], Store]] = [
    _ForgetsTheFilterOfTheDenseLeg,
    _GivesOneTooMany,
    _ShowsBothGenerations,
    _LosesDeletes,
    _PublishesWhateverIsThere,
    _LosesTheStructure,
    _LeavesOutDocumentsWithoutChunks,
]


def failures(make_store: Callable[[Analyser], Store]) -> list[str]:
    """Run every test of the contract and name those that fail."""

    class Contract(StoreContract):
        def make_store(self, analyser: Analyser) -> Store:
            return make_store(analyser)

    failed: list[str] = []
    for name in dir(Contract):
        if name.startswith("test_"):
            try:
                getattr(Contract(), name)()
            except Exception:  # noqa: BLE001 - whatever a wrong store does, the test has failed
                failed.append(name)
    return failed


def test_the_memory_store_itself_fails_nothing() -> None:
    assert failures(MemoryStore) == []


@pytest.mark.parametrize("wrong", WRONG, ids=lambda each: each.__name__.strip("_"))
def test_a_wrong_store_fails_the_contract(wrong: Callable[[Analyser], Store]) -> None:
    assert failures(wrong), "no test of the contract saw it"


@pytest.mark.parametrize("wrong", SEEN_BY_SEQUENCES, ids=lambda each: each.__name__.strip("_"))
def test_a_wrong_store_fails_the_state_machine(wrong: Callable[[Analyser], Store]) -> None:
    machine = store_machine(wrong)
    searching = settings(
        max_examples=2_000,  # it ends at the first that fails
        stateful_step_count=20,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        report_multiple_bugs=False,
    )
    with pytest.raises((AssertionError, AttributeError)):
        run_state_machine_as_test(machine, settings=searching)


def test_the_analyser_of_the_contract_is_the_products_own() -> None:
    assert isinstance(StoreContract.analyser, EnglishAnalyser)
