"""The part of the store contract that is about names: collections renamed together, and one put in another's place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from knowledge_mcp.model.errors import InternalError, InvalidInputError, NotFoundError
from knowledge_mcp.ports import Store
from knowledge_mcp.testing.store_search import SearchContract, expect, put
from knowledge_mcp.testing.store_values import SPACE, embedded, record

__all__ = ["RenamingContract"]

OTHER = replace(SPACE, model="another")


class RenamingContract(SearchContract):
    """Hold a store to what `Store.rename_collections` promises."""

    def test_a_collection_takes_the_place_of_the_live_one_with_all_it_holds(self) -> None:
        with self.filled() as store:
            live = put(store, "d", ["old words"], text="old text")
            made = store.create_collection("c.next", OTHER)
            coming = put(store, "d", ["new words", "more words"], collection="c.next", text="new text")
            was = store.collection("c")
            store.rename_collections({"c": "c.old", "c.next": "c"})
            assert [each.name for each in store.collections()] == ["c", "c.old"]
            assert store.collection("c") == replace(made, name="c"), "space and time of creation go along"
            assert was is not None
            assert store.collection("c.old") == replace(was, name="c.old")
            assert store.collection("c.next") is None
            expect(NotFoundError, lambda: store.documents("c.next"))
            assert store.document_text("c", "d") == "new text"
            assert store.document_text("c.old", "d") == "old text"
            assert store.document_chunks("c.old", "d") == [live[0].chunk]
            assert self.found(store, "old") == []
            assert sorted(self.found(store, "words")) == sorted(each.chunk.id for each in coming)
            assert set(self.nearest(store, "new words")) == {each.chunk.id for each in coming}
            assert (store.statistics("c").chunks, store.statistics("c.old").chunks) == (2, 1)
            assert store.verify("c") == []
            assert store.verify("c.old") == []

    def test_two_collections_exchange_their_names(self) -> None:
        with self.filled() as store:
            store.create_collection("other", SPACE)
            put(store, "d", ["alpha words"])
            theirs = put(store, "e", ["beta words"], collection="other")
            store.rename_collections({"c": "other", "other": "c"})
            assert self.found(store, "words") == [theirs[0].chunk.id]
            assert [each.id for each in store.documents("other")] == ["d"]
            store.rename_collections({"c": "other", "other": "c"})
            assert self.found(store, "beta") == []
            assert [each.id for each in store.documents("c")] == ["d"]

    def test_a_name_given_up_is_free_for_a_new_collection(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha words"])
            store.rename_collections({"c": "kept"})
            assert store.collection("c") is None
            expect(NotFoundError, lambda: store.statistics("c"))
            store.create_collection("c", SPACE)
            assert store.documents("c") == []
            assert self.found(store, "alpha") == []
            put(store, "d", ["beta words"])
            assert store.drop_collection("kept")
            assert len(self.found(store, "beta")) == 1

    def test_what_is_staged_goes_along_and_is_published_under_the_new_name(self) -> None:
        with self.filled() as store:
            staged = embedded("d", ["alpha words"])
            store.stage("c", "d", "g", staged)
            store.rename_collections({"c": "kept"})
            store.create_collection("c", SPACE)
            keys = [each.embedding_key for each in staged]
            assert store.vectors("kept", keys) == {keys[0]: staged[0].vector}
            assert store.vectors("c", keys) == {}
            expect(InternalError, lambda: store.publish("c", record("d", staged), "", "g"))
            store.publish("kept", record("d", staged), "", "g")
            assert store.document_chunks("kept", "d") == [staged[0].chunk]

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
            try:
                assert len(self.found(other, "alpha")) == 1
                store.rename_collections({"c": "c.old", "c.next": "c"})
                assert self.found(other, "alpha") == []
                assert self.found(other, "beta") == [coming[0].chunk.id]
                assert self.nearest(other, "beta words") == [coming[0].chunk.id]
                put(other, "e", ["gamma words"])
                assert len(self.found(store, "gamma")) == 1
                assert [each.id for each in store.documents("c.old")] == ["d"]
            finally:
                other.close()
