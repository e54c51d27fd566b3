"""The part of the store contract that is about reading one state."""

from __future__ import annotations

from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.testing.store_search import expect, put
from knowledge_mcp.testing.store_values import SPACE, Passage, unit_vector
from knowledge_mcp.testing.store_whole import WholeContract

__all__ = ["SnapshotContract"]


class SnapshotContract(WholeContract):
    """Hold a store to what `Store.snapshot` promises; `StoreContract` has these tests too."""

    def test_a_snapshot_answers_as_the_store_does_and_ends_with_its_context(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha beta", Passage("gamma", terms=(("gamma",),))])
            store.create_collection("other", SPACE)

            def answers() -> list[object]:
                return [
                    store.collection("c"),
                    store.collection("none"),
                    store.documents("c"),
                    store.document_text("c", "d"),
                    [each.id for each in store.document_chunks("c", "d")],
                    store.definitions("c", "gamma"),
                    store.statistics("c").chunks,
                    store.search("c", vector=unit_vector("alpha beta"), text="beta", filter=None, limit=3),
                    store.statistics("other").chunks,
                ]

            outside = answers()
            with store.snapshot("c"):
                assert answers() == outside
                with store.snapshot("other"), store.snapshot("c"):
                    assert answers() == outside
                expect(NotFoundError, lambda: store.documents("none"))
                expect(InvalidInputError, lambda: store.search("c", vector=b"", text=None, filter=None, limit=3))
                assert answers() == outside
            put(store, "d", ["delta"])
            assert [one != other for one, other in zip(answers(), outside, strict=True)][-3:] == [True, True, False]
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

            def read() -> set[str]:
                legs = store.search("c", vector=unit_vector("x"), text="alpha", filter=None, limit=3)
                hits = [hit.chunk_id for hit in (*(legs.dense or ()), *(legs.lexical or ()))]
                return {each.content for each in (*store.chunks("c", hits), *store.document_chunks("c", "d"))}

            with store.snapshot("c"):
                assert read() == {"alpha old"}
                store.rename_collections({"c": "before", "next": "c"})
                if dropped:
                    store.drop_collection("before")
                assert store.collection("c") is not None
                assert read() <= {"alpha old", "alpha new"}
                assert len(read()) == 1, "it was told apart at the first read, if at all"
            assert read() == {"alpha new"}

    def test_a_snapshot_of_an_unknown_collection_is_an_error_at_its_first_read(self) -> None:
        with self.opened() as store:

            def read() -> None:
                with store.snapshot("none"):
                    store.documents("none")

            expect(NotFoundError, read)
