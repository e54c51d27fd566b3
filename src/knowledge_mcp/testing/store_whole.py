"""The part of the store contract about documents that are published whole, several in one call, never staged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.model.publication import WholeDocument
from knowledge_mcp.model.structure import NO_STRUCTURE, DocumentStructure
from knowledge_mcp.testing.store_search import expect, put
from knowledge_mcp.testing.store_structure import StructureContract
from knowledge_mcp.testing.store_values import Passage, embedded, record, structure

__all__ = ["WholeContract", "whole"]


def whole(
    document_id: str,
    passages: Sequence[Passage | str],
    *,
    text: str = "",
    structure: DocumentStructure = NO_STRUCTURE,
) -> WholeDocument:
    """Make a document with its chunks and their vectors."""
    chunks = embedded(document_id, passages)
    return WholeDocument(record(document_id, chunks), text, chunks, structure)


class WholeContract(StructureContract):
    """Hold a store to what `Store.publish_whole` promises."""

    def test_documents_published_together_are_all_there_and_each_is_told_of(self) -> None:
        with self.filled() as store:
            first = whole("d", [Passage("alpha words", terms=(("alpha",),)), "beta words"], text="one")
            second = whole("e", ["gamma words"], text="two", structure=structure(2))
            empty = whole("empty", [], text="nothing")
            told: list[str] = []
            store.publish_whole("c", [first, second, empty], told.append)
            assert told == ["d", "e", "empty"]
            assert store.documents("c") == [first.record, second.record, empty.record]
            for each in (first, second, empty):
                assert store.document_text("c", each.record.id) == each.text
                assert store.document_structure("c", each.record.id) == each.structure
                assert store.document_chunks("c", each.record.id) == [chunk.chunk for chunk in each.chunks]
            assert self.found(store, "gamma") == [second.chunks[0].chunk.id]
            assert self.nearest(store, "beta words")[0] == first.chunks[1].chunk.id
            assert store.definitions("c", self.analyser.term_key("alpha")) == [first.chunks[0].chunk]
            keys = [chunk.embedding_key for chunk in first.chunks]
            assert store.vectors("c", keys) == {chunk.embedding_key: chunk.vector for chunk in first.chunks}
            assert (store.statistics("c").documents, store.statistics("c").chunks) == (3, 3)
            assert store.verify("c") == []

    def test_a_document_published_whole_takes_the_place_of_what_was_visible_or_staged(self) -> None:
        with self.filled() as store:
            put(store, "d", ["old words", "alpha words"], structure=structure(3))
            put(store, "e", ["other words"])
            store.stage("c", "d", "g", embedded("d", ["staged words"]))
            store.stage("c", "e", "g", embedded("e", ["kept aside"]))
            store.publish_whole("c", [whole("d", ["new words"]), whole("f", ["more words"])], lambda _: None)
            assert [each.content for each in store.document_chunks("c", "d")] == ["new words"]
            assert store.document_structure("c", "d") == NO_STRUCTURE
            assert self.found(store, "alpha") == []
            assert len(self.found(store, "words")) == 3
            assert store.statistics("c").chunks == 3
            assert store.discard_staged("c", "d") == 0
            assert store.discard_staged("c", "e") == 1
            assert store.verify("c") == []

    def test_chunks_given_in_any_order_stand_by_index(self) -> None:
        with self.filled() as store:
            made = whole("d", [Passage("one word", terms=(("one",),)), "two words", Passage("three", terms=(("3",),))])
            store.publish_whole("c", [replace(made, chunks=made.chunks[::-1])], lambda _: None)
            assert store.document_chunks("c", "d") == [each.chunk for each in made.chunks]
            assert store.definitions("c", self.analyser.term_key("3")) == [made.chunks[2].chunk]
            assert self.nearest(store, "two words")[0] == made.chunks[1].chunk.id
            assert store.verify("c") == []

    def test_a_document_with_fewer_chunks_than_announced_is_refused_and_its_old_version_stays(self) -> None:
        made = whole("d", ["new words", "more words"])
        self._refused(replace(made, chunks=made.chunks[:1]))

    def test_a_document_with_a_chunk_twice_is_refused_and_its_old_version_stays(self) -> None:
        made = whole("d", ["new words", "more words"])
        self._refused(replace(made, chunks=[made.chunks[0], made.chunks[0]]))

    def _refused(self, wrong: WholeDocument) -> None:
        with self.filled() as store:
            put(store, "d", ["old words"], text="old")
            told: list[str] = []
            expect(InternalError, lambda: store.publish_whole("c", [whole("e", ["fine"]), wrong], told.append))
            assert "d" not in told
            assert store.document_text("c", "d") == "old"
            assert len(self.found(store, "words")) == 1
            assert (store.document("c", "e") is not None) == (told == ["e"]), "what it was told of is there"
            store.discard_staged("c")
            assert store.verify("c") == []

    def test_a_whole_document_with_a_vector_of_another_length_is_refused(self) -> None:
        with self.filled() as store:
            made = whole("d", ["one", "two"])
            bad = replace(made.chunks[1], vector=made.chunks[1].vector + b"\0\0\0\0")
            wrong = replace(made, chunks=[made.chunks[0], bad])
            expect(InvalidInputError, lambda: store.publish_whole("c", [wrong], lambda _: None))
            assert store.document("c", "d") is None

    def test_a_whole_document_of_no_collection_is_refused(self) -> None:
        with self.opened() as store:
            expect(NotFoundError, lambda: store.publish_whole("none", [whole("d", ["x"])], lambda _: None))
