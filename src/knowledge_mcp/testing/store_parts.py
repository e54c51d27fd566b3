"""The part of the store contract that is about names: collections renamed together, and one put in another's place."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.model.collection import NO_STRUCTURE, WholeDocument
from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.ports import Collection, Store
from knowledge_mcp.testing.store_search import SearchContract, expect, put, structure_of, text_of, whole
from knowledge_mcp.testing.store_values import (
    SPACE,
    SamplePassage,
    full_structure,
    structure,
    unit_vector,
)

OTHER = replace(SPACE, model="another")


class RenamingContract(SearchContract):
    """Hold a store to what `Store.rename_collections` promises."""

    def test_a_collection_takes_the_place_of_the_live_one_with_all_it_holds(self) -> None:
        with self.filled() as store:
            live = put(store, "d", ["old words"], text="old text")
            made = store.create_collection("c.next", OTHER)
            coming = put(store, "d", ["new words", "more words"], collection="c.next", text="new text")
            was = store.open("c").info()
            store.rename_collections({"c": "c.old", "c.next": "c"})
            assert [each.name for each in store.collections()] == ["c", "c.old"]
            assert store.open("c").info() == replace(made, name="c"), "space and time of creation go along"
            assert was is not None
            assert store.open("c.old").info() == replace(was, name="c.old")
            assert store.open("c.next").info() is None
            expect(NotFoundError, lambda: store.open("c.next").documents())
            assert text_of(store.open("c"), "d") == "new text"
            assert text_of(store.open("c.old"), "d") == "old text"
            assert store.open("c.old").chunks("document", ["d"]) == [live[0].chunk]
            assert self.found(store, "old") == []
            assert sorted(self.found(store, "words")) == sorted(each.chunk.id for each in coming)
            assert set(self.nearest(store, "new words")) == {each.chunk.id for each in coming}
            assert (counts_of(store.open("c")).chunks, counts_of(store.open("c.old")).chunks) == (2, 1)
            assert store.open("c").verify() == []
            assert store.open("c.old").verify() == []

    def test_two_collections_exchange_their_names(self) -> None:
        with self.filled() as store:
            store.create_collection("other", SPACE)
            put(store, "d", ["alpha words"])
            theirs = put(store, "e", ["beta words"], collection="other")
            store.rename_collections({"c": "other", "other": "c"})
            assert self.found(store, "words") == [theirs[0].chunk.id]
            assert [each.id for each in store.open("other").documents()] == ["d"]
            store.rename_collections({"c": "other", "other": "c"})
            assert self.found(store, "beta") == []
            assert [each.id for each in store.open("c").documents()] == ["d"]

    def test_a_name_given_up_is_free_for_a_new_collection(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha words"])
            store.rename_collections({"c": "kept"})
            assert store.open("c").info() is None
            expect(NotFoundError, lambda: counts_of(store.open("c")))
            store.create_collection("c", SPACE)
            assert store.open("c").documents() == []
            assert self.found(store, "alpha") == []
            put(store, "d", ["beta words"])
            assert store.drop_collection("kept")
            assert len(self.found(store, "beta")) == 1

    def test_names_that_cannot_all_be_given_change_nothing(self) -> None:
        with self.filled() as store:
            for name in ("a", "b"):
                store.create_collection(name, SPACE)
            put(store, "d", ["alpha words"])
            refused: list[tuple[type[Exception], Mapping[str, str]]] = [
                (NotFoundError, {"none": "x"}),
                (NotFoundError, {"c": "x", "none": "y"}),
                (InvalidInputError, {"c": "a"}),
                (InvalidInputError, {"c": "x", "a": "x"}),
                (InvalidInputError, {"c": "x", "a": "b"}),
            ]
            for error, names in refused:

                def call(names: Mapping[str, str] = names) -> None:
                    store.rename_collections(names)

                expect(error, call)
                assert [each.name for each in store.collections()] == ["a", "b", "c"]
            store.rename_collections({})
            store.rename_collections({"c": "c", "a": "a"})
            assert [each.name for each in store.collections()] == ["a", "b", "c"]
            assert len(self.found(store, "alpha")) == 1

    def test_another_handle_follows_a_swap_at_once(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha words"])
            store.create_collection("c.next", SPACE)
            coming = put(store, "d", ["beta words"], collection="c.next")
            other: Store | None = self.open_again(store)
            if other is None:
                return
            with contextlib.closing(other):
                assert len(self.found(other, "alpha")) == 1
                store.rename_collections({"c": "c.old", "c.next": "c"})
                assert self.found(other, "alpha") == []
                assert self.found(other, "beta") == [coming[0].chunk.id]
                assert self.nearest(other, "beta words") == [coming[0].chunk.id]
                put(other, "e", ["gamma words"])
                assert len(self.found(store, "gamma")) == 1
                assert [each.id for each in store.open("c.old").documents()] == ["d"]


class StructureContract(RenamingContract):
    """Hold a store to what `publish` and `parts` promise of sections and pages."""

    def test_sections_and_pages_come_back_as_they_were_published(self) -> None:
        with self.filled() as store:
            put(store, "d", ["some words"], structure=full_structure())
            put(store, "plain", ["other words"])
            store.open("c").publish([whole("empty", [], text="text", structure=full_structure())], lambda _: None)
            assert structure_of(store.open("c"), "d") == full_structure()
            assert structure_of(store.open("c"), "empty") == full_structure()
            assert structure_of(store.open("c"), "plain") == NO_STRUCTURE, "a document without any is a document"
            assert store.open("c").parts("unknown") is None
            assert store.open("c").verify() == []

    def test_a_publish_takes_the_old_sections_and_pages_away_with_the_old_version(self) -> None:
        with self.filled() as store:
            put(store, "d", ["one"], structure=structure(3))
            put(store, "d", ["two"], structure=structure(1))
            assert structure_of(store.open("c"), "d") == structure(1)
            put(store, "d", ["three"])
            assert structure_of(store.open("c"), "d") == NO_STRUCTURE
            put(store, "d", ["four"], structure=structure(2))
            assert structure_of(store.open("c"), "d") == structure(2)
            assert store.open("c").verify() == []

    def test_a_publish_that_is_refused_leaves_sections_and_pages_as_they_were(self) -> None:
        with self.filled() as store:
            put(store, "d", ["old words"], structure=structure(2))
            made = whole("d", ["new words", "more words"], structure=structure(5))
            wrong = replace(made, chunks=made.chunks[:1])
            expect(InternalError, lambda: store.open("c").publish([wrong], lambda _: None))
            assert structure_of(store.open("c"), "d") == structure(2)
            assert store.open("c").verify() == []

    def test_sections_and_pages_go_with_their_document_and_with_no_other(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha words"], structure=structure(2))
            put(store, "e", ["beta words"], structure=structure(3))
            store.open("c").delete("d")
            assert store.open("c").parts("d") is None
            assert structure_of(store.open("c"), "e") == structure(3)
            put(store, "d", ["alpha words"])
            assert structure_of(store.open("c"), "d") == NO_STRUCTURE
            store.drop_collection("c")
            store.create_collection("c", SPACE)
            assert store.open("c").parts("e") is None

    def test_sections_and_pages_go_along_with_a_renamed_collection(self) -> None:
        with self.filled() as store:
            put(store, "d", ["old words"], structure=structure(1))
            store.create_collection("c.next", SPACE)
            put(store, "d", ["new words"], collection="c.next", structure=structure(4))
            store.rename_collections({"c": "c.old", "c.next": "c"})
            assert structure_of(store.open("c"), "d") == structure(4)
            assert structure_of(store.open("c.old"), "d") == structure(1)

    def test_five_thousand_sections_on_a_thousand_pages_come_back_whole(self) -> None:
        with self.filled() as store:
            large = structure(5_000, pages=1_000)
            put(store, "d", ["some words"], structure=large)
            assert structure_of(store.open("c"), "d") == large
            assert store.open("c").verify() == []
            other: Store | None = self.open_again(store)
            if other is not None:
                with contextlib.closing(other):
                    assert structure_of(other.open("c"), "d") == large


class WholeContract(StructureContract):
    """Hold a store to what `Store.publish` promises."""

    def test_documents_published_together_are_all_there_and_each_is_told_of(self) -> None:
        with self.filled() as store:
            first = whole("d", [SamplePassage("alpha words", terms=(("alpha",),)), "beta words"], text="one")
            second = whole("e", ["gamma words"], text="two", structure=structure(2))
            empty = whole("empty", [], text="nothing")
            told: list[str] = []
            store.open("c").publish([first, second, empty], told.append)
            assert told == ["d", "e", "empty"]
            assert store.open("c").documents() == [first.record, second.record, empty.record]
            for each in (first, second, empty):
                assert text_of(store.open("c"), each.record.id) == each.text
                assert structure_of(store.open("c"), each.record.id) == each.structure
                assert store.open("c").chunks("document", [each.record.id]) == [chunk.chunk for chunk in each.chunks]
            assert self.found(store, "gamma") == [second.chunks[0].chunk.id]
            assert self.nearest(store, "beta words")[0] == first.chunks[1].chunk.id
            assert store.open("c").chunks("term", [self.analyser.term_key("alpha")]) == [first.chunks[0].chunk]
            keys = [chunk.embedding_key for chunk in first.chunks]
            assert store.open("c").vectors(keys) == {chunk.embedding_key: chunk.vector for chunk in first.chunks}
            assert (counts_of(store.open("c")).documents, counts_of(store.open("c")).chunks) == (3, 3)
            assert store.open("c").verify() == []

    def test_documents_published_together_take_the_places_of_those_that_were_visible(self) -> None:
        with self.filled() as store:
            put(store, "d", ["old words", "alpha words"], structure=structure(3))
            put(store, "e", ["other words"])
            store.open("c").publish([whole("d", ["new words"]), whole("f", ["more words"])], lambda _: None)
            assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["new words"]
            assert structure_of(store.open("c"), "d") == NO_STRUCTURE
            assert self.found(store, "alpha") == []
            assert len(self.found(store, "words")) == 3
            assert counts_of(store.open("c")).chunks == 3
            assert store.open("c").verify() == []

    def test_chunks_given_in_any_order_stand_by_index(self) -> None:
        with self.filled() as store:
            made = whole(
                "d",
                [SamplePassage("one word", terms=(("one",),)), "two words", SamplePassage("three", terms=(("3",),))],
            )
            store.open("c").publish([replace(made, chunks=made.chunks[::-1])], lambda _: None)
            assert store.open("c").chunks("document", ["d"]) == [each.chunk for each in made.chunks]
            assert store.open("c").chunks("term", [self.analyser.term_key("3")]) == [made.chunks[2].chunk]
            assert self.nearest(store, "two words")[0] == made.chunks[1].chunk.id
            assert store.open("c").verify() == []

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
            expect(InternalError, lambda: store.open("c").publish([whole("e", ["fine"]), wrong], told.append))
            assert "d" not in told
            assert text_of(store.open("c"), "d") == "old"
            assert len(self.found(store, "words")) == 1
            assert bool(store.open("c").documents(["e"])) == (told == ["e"]), "only what was reported"
            assert store.open("c").verify() == []

    def test_a_whole_document_with_a_vector_of_another_length_is_refused(self) -> None:
        with self.filled() as store:
            made = whole("d", ["one", "two"])
            bad = replace(made.chunks[1], vector=made.chunks[1].vector + b"\0\0\0\0")
            wrong = replace(made, chunks=[made.chunks[0], bad])
            expect(InvalidInputError, lambda: store.open("c").publish([wrong], lambda _: None))
            assert store.open("c").documents(["d"]) == []

    def test_a_whole_document_of_no_collection_is_refused(self) -> None:
        with self.opened() as store:
            expect(NotFoundError, lambda: store.open("none").publish([whole("d", ["x"])], lambda _: None))


class SnapshotContract(WholeContract):
    """Hold a store to what `Collection` promises of snapshots; `StoreContract` has these tests too."""

    def test_a_snapshot_answers_as_the_store_does_and_ends_with_its_context(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha beta", SamplePassage("gamma", terms=(("gamma",),))])
            store.create_collection("other", SPACE)

            def answers(handle: Collection) -> list[object]:
                return [
                    handle.info(),
                    handle.documents(),
                    text_of(handle, "d"),
                    [each.id for each in handle.chunks("document", ["d"])],
                    handle.chunks("term", ["gamma"]),
                    counts_of(handle).chunks,
                    handle.search(vector=unit_vector("alpha beta"), text="beta", filter=None, limit=3),
                ]

            handle = store.open("c")
            outside = answers(handle)
            with handle.snapshot() as held:
                assert answers(held) == outside
                with store.open("other").snapshot() as other, store.open("c").snapshot() as again:
                    assert answers(again) == answers(held) == outside
                    assert counts_of(other).chunks == 0
                expect(NotFoundError, lambda: store.open("none").documents())
                expect(InvalidInputError, lambda: held.search(vector=b"", text=None, filter=None, limit=3))
                assert answers(held) == outside
            put(store, "d", ["delta"])
            assert [one != other for one, other in zip(answers(handle), outside, strict=True)][-2:] == [True, True]
            assert self.found(store, "beta") == []
            assert len(self.found(store, "delta")) == 1

    def test_a_collection_that_gives_its_name_away_amid_a_snapshot_is_read_as_one_or_the_other(self) -> None:
        self._replaced_amid_a_snapshot(dropped=False)

    def test_a_collection_that_is_replaced_and_dropped_amid_a_snapshot_is_read_as_one_or_the_other(self) -> None:
        self._replaced_amid_a_snapshot(dropped=True)

    def _replaced_amid_a_snapshot(self, *, dropped: bool) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha old"])
            store.create_collection("next", SPACE)
            put(store, "d", ["alpha new"], collection="next")

            def read(handle: Collection) -> set[str]:
                legs = handle.search(vector=unit_vector("x"), text="alpha", filter=None, limit=3)
                hits = [hit.chunk_id for hit in (*(legs.dense or ()), *(legs.lexical or ()))]
                return {each.content for each in (*handle.chunks("id", hits), *handle.chunks("document", ["d"]))}

            with store.open("c").snapshot() as held:
                assert read(held) == {"alpha old"}
                store.rename_collections({"c": "before", "next": "c"})
                if dropped:
                    store.drop_collection("before")
                assert held.info() is not None
                assert read(held) <= {"alpha old", "alpha new"}
                assert len(read(held)) == 1, "it was told apart at the first read, if at all"
            assert read(store.open("c")) == {"alpha new"}

    def test_a_snapshot_of_an_unknown_collection_is_an_error_at_its_first_read(self) -> None:
        with self.opened() as store:

            def read() -> None:
                with store.open("none").snapshot() as held:
                    held.documents()

            expect(NotFoundError, read)
