"""The contract of `ports.Store` as a test suite, for built-in and third-party stores.

Subclass `StoreContract` in a test module and define `make_store`; pytest collects the rest:

```python
class TestMyStore(StoreContract):
    def make_store(self, analyser: Analyser) -> Store:
        return MyStore(analyser)
```

`testing.store_machine` compares a store with the memory store over any sequence of operations.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from knowledge_mcp.engine.core.base import counts_of
from knowledge_mcp.model.collection import WholeDocument
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError, SpaceMismatchError
from knowledge_mcp.ports import Store
from knowledge_mcp.testing.store_parts import SnapshotContract
from knowledge_mcp.testing.store_search import expect, make_document, put, text_of
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, full_chunk, record, unit_vector

__all__ = ["StoreContract", "expect", "make_document", "put"]


class StoreContract(SnapshotContract):
    """Tests that a store does what `ports.Store` promises; each test makes and closes its own."""

    def test_a_collection_is_made_once_described_listed_and_dropped(self) -> None:
        with self.open_store() as store:
            assert store.open("b").info() is None
            made = store.create_collection("b", SPACE)
            store.create_collection("a", SPACE)
            assert made.name == "b"
            assert made.space == SPACE
            assert store.create_collection("b", SPACE) == made, "making it again gives the same one"
            assert store.open("b").info() == made
            assert [each.name for each in store.collections()] == ["a", "b"]
            assert store.drop_collection("b")
            assert not store.drop_collection("b")
            assert [each.name for each in store.collections()] == ["a"]

    def test_a_dropped_collection_leaves_nothing_behind_for_a_new_one_of_its_name(self) -> None:
        with self.open_store() as store:
            store.create_collection("c", SPACE)
            put(store, "d", ["alpha beta"])
            store.drop_collection("c")
            store.create_collection("c", SPACE)
            assert counts_of(store.open("c")).chunks == 0
            assert store.open("c").documents() == []
            assert self.found(store, "alpha") == []

    def test_another_embedding_space_is_refused_and_both_are_named(self) -> None:
        with self.open_store() as store:
            store.create_collection("c", SPACE)
            error = expect(SpaceMismatchError, lambda: store.create_collection("c", replace(SPACE, model="another")))
            assert SPACE.label in error.message
            assert "another" in error.message

    def test_an_unknown_collection_is_an_error_and_never_an_empty_answer(self) -> None:
        with self.open_store() as store:
            calls: list[Callable[[], object]] = [
                lambda: store.open("none").documents(),
                lambda: store.open("none").documents(["d"]),
                lambda: store.open("none").parts("d"),
                lambda: store.open("none").chunks("document", ["d"]),
                lambda: store.open("none").chunks("id", ["x"]),
                lambda: counts_of(store.open("none")),
                lambda: store.open("none").chunks("term", ["x"]),
                lambda: store.open("none").defined_terms(),
                lambda: store.open("none").vectors(["x"]),
                lambda: store.open("none").chunks("content", ["x"]),
                lambda: store.open("none").search(vector=unit_vector("x"), text="x", filter=None, limit=3),
                lambda: store.open("none").publish([make_document("d", ["x"])], lambda _: None),
                lambda: store.open("none").delete("d"),
                lambda: store.open("none").verify(),
            ]
            for call in calls:
                expect(NotFoundError, call)

    def test_publishing_swaps_chunks_record_and_text_in_one_step(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["alpha one", "beta two"], text="first text")
            old = store.open("c").chunks("document", ["d"])
            new = put(store, "d", ["beta two", "gamma three", "delta four"], text="second text", sha256="1" * 64)
            assert [each.content for each in store.open("c").chunks("document", ["d"])] == [
                "beta two",
                "gamma three",
                "delta four",
            ]
            assert store.open("c").documents(["d"]) == [record("d", new, sha256="1" * 64)]
            assert text_of(store.open("c"), "d") == "second text"
            assert self.found(store, "alpha") == []
            assert self.found(store, "gamma") == [new[1].chunk.id]
            assert store.open("c").chunks("id", [old[0].id]) == []
            assert set(self.nearest(store, "alpha one")) == {each.chunk.id for each in new}
            assert counts_of(store.open("c")).chunks == 3

    def test_a_chunk_that_is_in_both_generations_is_found_once(self) -> None:
        with self.open_filled() as store:
            put(store, "d", [SamplePassage("same words", id="one")])
            put(store, "d", [SamplePassage("same words", id="one"), SamplePassage("more words", id="two")])
            assert sorted(self.found(store, "words")) == ["one", "two"]
            assert sorted(self.nearest(store, "same words")) == ["one", "two"]
            assert [each.id for each in store.open("c").chunks("id", ["one"])] == ["one"]

    def test_a_document_without_chunks_is_kept_too(self) -> None:
        with self.open_filled() as store:
            put(store, "empty", [], text="text without chunks")
            assert text_of(store.open("c"), "empty") == "text without chunks"
            assert store.open("c").chunks("document", ["empty"]) == []
            assert counts_of(store.open("c")).documents == 1
            put(store, "d", ["some words"])
            put(store, "d", [])
            assert self.found(store, "words") == []
            assert self.nearest(store, "x") == []

    def test_a_deleted_document_is_gone_from_everywhere(self) -> None:
        with self.open_filled() as store:
            deleted = put(store, "d", [SamplePassage("alpha words", terms=(("alpha",),)), "beta words"])
            remaining = put(store, "e", ["gamma words"])
            assert store.open("c").delete("d") == 2
            assert store.open("c").delete("d") == 0
            assert store.open("c").delete("never there") == 0
            assert store.open("c").documents(["d"]) == []
            assert store.open("c").parts("d") is None
            assert store.open("c").chunks("document", ["d"]) == []
            assert store.open("c").chunks("id", [each.chunk.id for each in deleted]) == []
            assert store.open("c").chunks("term", ["alpha"]) == []
            assert store.open("c").chunks("content", [each.chunk.content_hash for each in deleted]) == []
            assert store.open("c").vectors([each.embedding_key for each in deleted]) == {}
            assert self.found(store, "words") == [remaining[0].chunk.id]
            assert self.nearest(store, "alpha words") == [remaining[0].chunk.id]
            assert counts_of(store.open("c")).documents == 1

    def test_what_was_deleted_can_come_back(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["alpha words"])
            store.open("c").delete("d")
            back = put(store, "d", ["alpha words"])
            assert self.found(store, "alpha") == [back[0].chunk.id]
            assert self.nearest(store, "alpha words") == [back[0].chunk.id]

    def test_every_field_of_a_chunk_and_of_a_record_comes_back(self) -> None:
        with self.open_filled() as store:
            each = full_chunk("d")
            announced = record("d", [each])
            text = "Zeile\n\n東京 🎉 \u2028 end"
            store.open("c").publish([WholeDocument(announced, text, [each])], lambda _: None)
            assert store.open("c").chunks("id", [each.chunk.id]) == [each.chunk]
            assert store.open("c").chunks("document", ["d"]) == [each.chunk]
            assert store.open("c").documents(["d"]) == [announced]
            assert text_of(store.open("c"), "d") == text

    def test_lists_are_ordered_by_id_and_index(self) -> None:
        with self.open_filled() as store:
            for name in ("b", "a", "Z", "ä"):
                put(store, name, [f"{name} one", f"{name} two", f"{name} three"])
            assert [each.id for each in store.open("c").documents()] == ["Z", "a", "b", "ä"]
            assert [each.id for each in store.open("c").documents(["b", "none", "Z", "b"])] == ["Z", "b"]
            assert store.open("c").documents([]) == []
            assert len({each.id for each in store.open("c").documents(limit=2)} & {"Z", "a", "b", "ä"}) == 2
            assert len(store.open("c").documents(limit=9)) == 4
            assert [each.index for each in store.open("c").chunks("document", ["b"])] == [0, 1, 2]

    def test_each_change_of_the_documents_gives_another_state_and_nothing_else_does(self) -> None:
        with self.open_filled() as store:
            states = [self._state(store)]
            for change in (
                lambda: put(store, "d", ["alpha"]),
                lambda: put(store, "d", ["beta"]),
                lambda: put(store, "e", ["gamma"]),
                lambda: store.open("c").delete("e"),
            ):
                change()
                states.append(self._state(store))
                store.open("c").documents()
                assert self._state(store) == states[-1]
            assert len(set(states)) == len(states)
            store.drop_collection("c")
            store.create_collection("c", SPACE)
            put(store, "d", ["alpha"])
            assert self._state(store) not in states, "of another collection"

    def _state(self, store: Store) -> str:
        info = store.open("c").info()
        assert info is not None
        return info.state

    def test_chunks_come_in_the_order_asked_without_those_unknown(self) -> None:
        with self.open_filled() as store:
            put(
                store, "d", [SamplePassage("one", id="1"), SamplePassage("two", id="2"), SamplePassage("three", id="3")]
            )
            assert [each.id for each in store.open("c").chunks("id", ["3", "none", "1"])] == ["3", "1"]
            assert store.open("c").chunks("id", []) == []

    def test_known_vectors_and_equal_contents_are_looked_up_in_any_number(self) -> None:
        with self.open_filled() as store:
            one = put(store, "d", [f"passage {number}" for number in range(1200)])
            (copy,) = put(store, "e", ["passage 7"])
            keys = [each.embedding_key for each in one]
            assert store.open("c").vectors([*keys, "unknown"]) == {each.embedding_key: each.vector for each in one}
            hashes = [each.chunk.content_hash for each in one]
            expected = [each.chunk for each in one]
            expected.insert(8, copy.chunk)
            assert store.open("c").chunks("content", [*hashes, "unknown"]) == expected
            assert store.open("c").chunks("content", hashes[8:6:-1]) == [one[8].chunk, one[7].chunk, copy.chunk]

    def test_definitions_are_found_by_term_and_alias_in_order(self) -> None:
        with self.open_filled() as store:
            second = put(store, "b", [SamplePassage("x", terms=(("Systems", "SOI"),))])
            first = put(
                store,
                "a",
                ["none", SamplePassage("y", terms=(("system",), ("part",))), SamplePassage("z", terms=(("SYSTEM",),))],
            )
            expected = [first[1].chunk, first[2].chunk, second[0].chunk]
            assert store.open("c").chunks("term", [self.analyser.term_key("system")]) == expected
            assert store.open("c").chunks("term", [self.analyser.term_key("SOI")]) == [second[0].chunk]
            assert store.open("c").chunks("term", ["unknown"]) == []
            assert store.open("c").defined_terms() == {
                self.analyser.term_key(term): term for term in ("system", "part", "SOI")
            }

    def test_statistics_count_what_is_visible(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["one two", "three"])
            put(store, "e", ["four five six"])
            put(store, "d", ["one two"])
            counted = counts_of(store.open("c"))
            assert (counted.documents, counted.chunks, counted.tokens) == (2, 2, 5)
            assert counted.storage_bytes > 0

    def test_a_vector_of_another_length_is_refused(self) -> None:
        with self.open_filled() as store:
            good = make_document("d", ["words"])
            vector = good.chunks[0].vector
            bad = replace(good, chunks=[replace(good.chunks[0], vector=vector + b"\0\0\0\0")])
            expect(InvalidInputError, lambda: store.open("c").publish([bad], lambda _: None))
            query = vector[:-4]
            expect(InvalidInputError, lambda: store.open("c").search(vector=query, text=None, filter=None, limit=1))

    def test_collections_know_nothing_of_each_other(self) -> None:
        with self.open_filled() as store:
            store.create_collection("other", SPACE)
            first = put(store, "d", [SamplePassage("alpha words", id="same")])
            second = put(store, "d", [SamplePassage("alpha beta", id="same"), "beta"], collection="other")
            assert store.open("c").chunks("document", ["d"]) == [first[0].chunk]
            assert store.open("other").chunks("id", ["same"]) == [second[0].chunk]
            assert self.found(store, "beta") == []
            store.open("other").delete("d")
            assert self.found(store, "alpha") == ["same"]
            assert store.open("other").vectors([first[0].embedding_key]) == {}

    def test_a_sound_store_verifies_clean_whatever_was_done_to_it(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["one words", "two words"])
            put(store, "d", ["three words"])
            put(store, "e", ["four words"])
            store.open("c").delete("e")
            assert store.open("c").verify() == []
            assert store.open("c").verify(repair=True) == []

    def test_the_store_names_itself_and_refuses_work_once_closed(self) -> None:
        store = self.make_store(self.analyser)
        store.create_collection("c", SPACE)
        assert store.identity.backend
        assert store.identity.location
        store.close()
        expect(KnowledgeError, store.collections)
        expect(KnowledgeError, lambda: store.open("c").info())
        expect(KnowledgeError, lambda: store.open("c").documents())

    def test_what_one_handle_wrote_another_one_reads(self) -> None:
        with self.open_filled() as store:
            put(store, "d", ["alpha words"])
            other = self.open_again(store)
            if other is None:
                return
            with contextlib.closing(other):
                assert len(self.found(other, "alpha")) == 1
                written = put(store, "d", ["beta words", "gamma words"])
                assert self.found(other, "alpha") == []
                assert self.found(other, "beta") == [written[0].chunk.id]
                assert len(self.nearest(other, "x")) == 2
                put(other, "e", ["delta words"])
                store.open("c").delete("d")
                assert [each.id for each in store.open("c").documents()] == ["e"]
                assert other.open("c").chunks("document", ["d"]) == []
                assert len(self.nearest(other, "x")) == 1
