"""The store contract for renaming, structures, publishing and snapshots."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.model.collection import NO_STRUCTURE, WholeDocument
from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.ports import Collection, Store
from knowledge_mcp.testing.store_search import SearchContract, expect, make_document, put, structure_of, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, full_structure, structure, unit_vector

OTHER = replace(SPACE, model="another")


class RenamingContract(SearchContract):
    """Tests that a store does what `Store.rename_collections` promises."""

    def test_a_collection_takes_the_place_of_the_live_one_with_all_it_holds(self) -> None:
        with self.open_filled() as store:
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
        with self.open_filled() as store:
            store.create_collection("other", SPACE)
            put(store, "d", ["alpha words"])
            other = put(store, "e", ["beta words"], collection="other")
            store.rename_collections({"c": "other", "other": "c"})
            assert self.found(store, "words") == [other[0].chunk.id]
            assert [each.id for each in store.open("other").documents()] == ["d"]
            store.rename_collections({"c": "other", "other": "c"})
            assert self.found(store, "beta") == []
            assert [each.id for each in store.open("c").documents()] == ["d"]

    def test_a_name_given_up_is_free_for_a_new_collection(self) -> None:
        with self.open_filled() as store:
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
        with self.open_filled() as store:
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
        with self.open_filled() as store:
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
    """Tests that a store does what `publish` and `parts` promise for sections and pages."""

    def test_sections_and_pages_come_back_as_they_were_published(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["some words"], structure=full_structure())
            put(store, "plain", ["other words"])
            store.open("c").publish(
                [make_document("empty", [], text="text", structure=full_structure())], lambda _: None
            )
            assert structure_of(store.open("c"), "d") == full_structure()
            assert structure_of(store.open("c"), "empty") == full_structure()
            assert structure_of(store.open("c"), "plain") == NO_STRUCTURE, "a document without any is a document"
            assert store.open("c").parts("unknown") is None
            assert store.open("c").verify() == []

    def test_a_publish_takes_the_old_sections_and_pages_away_with_the_old_version(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["one"], structure=structure(3))
            put(store, "d", ["two"], structure=structure(1))
            assert structure_of(store.open("c"), "d") == structure(1)
            put(store, "d", ["three"])
            assert structure_of(store.open("c"), "d") == NO_STRUCTURE
            put(store, "d", ["four"], structure=structure(2))
            assert structure_of(store.open("c"), "d") == structure(2)
            assert store.open("c").verify() == []

    def test_a_publish_that_is_refused_leaves_sections_and_pages_as_they_were(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["old words"], structure=structure(2))
            made = make_document("d", ["new words", "more words"], structure=structure(5))
            wrong = replace(made, chunks=made.chunks[:1])
            expect(InternalError, lambda: store.open("c").publish([wrong], lambda _: None))
            assert structure_of(store.open("c"), "d") == structure(2)
            assert store.open("c").verify() == []

    def test_sections_and_pages_go_with_their_document_and_with_no_other(self) -> None:
        with self.open_filled() as store:
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
        with self.open_filled() as store:
            put(store, "d", ["old words"], structure=structure(1))
            store.create_collection("c.next", SPACE)
            put(store, "d", ["new words"], collection="c.next", structure=structure(4))
            store.rename_collections({"c": "c.old", "c.next": "c"})
            assert structure_of(store.open("c"), "d") == structure(4)
            assert structure_of(store.open("c.old"), "d") == structure(1)

    def test_five_thousand_sections_on_a_thousand_pages_come_back_whole(self) -> None:
        with self.open_filled() as store:
            large = structure(5_000, pages=1_000)
            put(store, "d", ["some words"], structure=large)
            assert structure_of(store.open("c"), "d") == large
            assert store.open("c").verify() == []
            other: Store | None = self.open_again(store)
            if other is not None:
                with contextlib.closing(other):
                    assert structure_of(other.open("c"), "d") == large


class PublishContract(StructureContract):
    """Tests that a store does what `Collection.publish` promises."""

    def test_documents_published_together_are_all_there_and_each_is_reported(self) -> None:
        with self.open_filled() as store:
            first = make_document("d", [SamplePassage("alpha words", terms=(("alpha",),)), "beta words"], text="one")
            second = make_document("e", ["gamma words"], text="two", structure=structure(2))
            empty = make_document("empty", [], text="nothing")
            reported: list[str] = []
            store.open("c").publish([first, second, empty], reported.append)
            assert reported == ["d", "e", "empty"]
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
        with self.open_filled() as store:
            put(store, "d", ["old words", "alpha words"], structure=structure(3))
            put(store, "e", ["other words"])
            store.open("c").publish(
                [make_document("d", ["new words"]), make_document("f", ["more words"])], lambda _: None
            )
            assert [each.content for each in store.open("c").chunks("document", ["d"])] == ["new words"]
            assert structure_of(store.open("c"), "d") == NO_STRUCTURE
            assert self.found(store, "alpha") == []
            assert len(self.found(store, "words")) == 3
            assert counts_of(store.open("c")).chunks == 3
            assert store.open("c").verify() == []

    def test_chunks_given_in_any_order_stand_by_index(self) -> None:
        with self.open_filled() as store:
            made = make_document(
                "d",
                [SamplePassage("one word", terms=(("one",),)), "two words", SamplePassage("three", terms=(("3",),))],
            )
            store.open("c").publish([replace(made, chunks=made.chunks[::-1])], lambda _: None)
            assert store.open("c").chunks("document", ["d"]) == [each.chunk for each in made.chunks]
            assert store.open("c").chunks("term", [self.analyser.term_key("3")]) == [made.chunks[2].chunk]
            assert self.nearest(store, "two words")[0] == made.chunks[1].chunk.id
            assert store.open("c").verify() == []

    def test_a_document_with_fewer_chunks_than_announced_is_refused_and_its_old_version_stays(self) -> None:
        made = make_document("d", ["new words", "more words"])
        self._check_refused(replace(made, chunks=made.chunks[:1]))

    def test_a_document_with_a_chunk_twice_is_refused_and_its_old_version_stays(self) -> None:
        made = make_document("d", ["new words", "more words"])
        self._check_refused(replace(made, chunks=[made.chunks[0], made.chunks[0]]))

    def _check_refused(self, wrong: WholeDocument) -> None:
        with self.open_filled() as store:
            put(store, "d", ["old words"], text="old")
            reported: list[str] = []
            expect(
                InternalError, lambda: store.open("c").publish([make_document("e", ["fine"]), wrong], reported.append)
            )
            assert "d" not in reported
            assert text_of(store.open("c"), "d") == "old"
            assert len(self.found(store, "words")) == 1
            assert bool(store.open("c").documents(["e"])) == (reported == ["e"]), "only what was reported"
            assert store.open("c").verify() == []

    def test_a_whole_document_with_a_vector_of_another_length_is_refused(self) -> None:
        with self.open_filled() as store:
            made = make_document("d", ["one", "two"])
            bad = replace(made.chunks[1], vector=made.chunks[1].vector + b"\0\0\0\0")
            wrong = replace(made, chunks=[made.chunks[0], bad])
            expect(InvalidInputError, lambda: store.open("c").publish([wrong], lambda _: None))
            assert store.open("c").documents(["d"]) == []

    def test_a_whole_document_of_no_collection_is_refused(self) -> None:
        with self.open_store() as store:
            expect(NotFoundError, lambda: store.open("none").publish([make_document("d", ["x"])], lambda _: None))


class SnapshotContract(PublishContract):
    """Tests that a store does what `Collection` promises for snapshots; `StoreContract` includes these tests."""

    def test_a_snapshot_answers_as_the_store_does_and_ends_with_its_context(self) -> None:
        with self.open_filled() as store:
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
            with handle.snapshot() as snapshot:
                assert answers(snapshot) == outside
                with store.open("other").snapshot() as other, store.open("c").snapshot() as again:
                    assert answers(again) == answers(snapshot) == outside
                    assert counts_of(other).chunks == 0
                expect(NotFoundError, lambda: store.open("none").documents())
                expect(InvalidInputError, lambda: snapshot.search(vector=b"", text=None, filter=None, limit=3))
                assert answers(snapshot) == outside
            put(store, "d", ["delta"])
            assert [one != other for one, other in zip(answers(handle), outside, strict=True)][-2:] == [True, True]
            assert self.found(store, "beta") == []
            assert len(self.found(store, "delta")) == 1

    def test_a_collection_that_gives_its_name_away_amid_a_snapshot_is_read_as_one_or_the_other(self) -> None:
        self._check_replacement(dropped=False)

    def test_a_collection_that_is_replaced_and_dropped_amid_a_snapshot_is_read_as_one_or_the_other(self) -> None:
        self._check_replacement(dropped=True)

    def _check_replacement(self, *, dropped: bool) -> None:
        with self.open_filled() as store:
            put(store, "d", ["alpha old"])
            store.create_collection("next", SPACE)
            put(store, "d", ["alpha new"], collection="next")

            def read(handle: Collection) -> set[str]:
                legs = handle.search(vector=unit_vector("x"), text="alpha", filter=None, limit=3)
                hits = [hit.chunk_id for hit in (*(legs.dense or ()), *(legs.lexical or ()))]
                return {each.content for each in (*handle.chunks("id", hits), *handle.chunks("document", ["d"]))}

            with store.open("c").snapshot() as snapshot:
                assert read(snapshot) == {"alpha old"}
                store.rename_collections({"c": "before", "next": "c"})
                if dropped:
                    store.drop_collection("before")
                assert snapshot.info() is not None
                assert read(snapshot) <= {"alpha old", "alpha new"}
                assert len(read(snapshot)) == 1, "a difference shows at the first read, if at all"
            assert read(store.open("c")) == {"alpha new"}

    def test_a_snapshot_of_an_unknown_collection_is_an_error_at_its_first_read(self) -> None:
        with self.open_store() as store:

            def read() -> None:
                with store.open("none").snapshot() as snapshot:
                    snapshot.documents()

            expect(NotFoundError, read)
