"""The part of the store contract about sections and pages: they come and go with their document, in one step."""

from __future__ import annotations

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.model.structure import NO_STRUCTURE
from knowledge_mcp.ports import Store
from knowledge_mcp.testing.store_renaming import RenamingContract
from knowledge_mcp.testing.store_search import expect, put
from knowledge_mcp.testing.store_values import SPACE, embedded, full_structure, record, structure

__all__ = ["StructureContract"]


class StructureContract(RenamingContract):
    """Hold a store to what `Store.publish` and `Store.document_structure` promise of sections and pages."""

    def test_sections_and_pages_come_back_as_they_were_published(self) -> None:
        with self.filled() as store:
            put(store, "d", ["some words"], structure=full_structure())
            put(store, "plain", ["other words"])
            store.publish("c", record("empty", []), "text", "g", full_structure())
            assert store.document_structure("c", "d") == full_structure()
            assert store.document_structure("c", "empty") == full_structure()
            assert store.document_structure("c", "plain") == NO_STRUCTURE, "a document without any is a document"
            assert store.document_structure("c", "unknown") is None
            assert store.verify("c") == []

    def test_a_publish_takes_the_old_sections_and_pages_away_with_the_old_version(self) -> None:
        with self.filled() as store:
            put(store, "d", ["one"], structure=structure(3))
            put(store, "d", ["two"], structure=structure(1))
            assert store.document_structure("c", "d") == structure(1)
            put(store, "d", ["three"])
            assert store.document_structure("c", "d") == NO_STRUCTURE
            put(store, "d", ["four"], structure=structure(2))
            assert store.document_structure("c", "d") == structure(2)
            assert store.verify("c") == []

    def test_a_publish_that_is_refused_leaves_sections_and_pages_as_they_were(self) -> None:
        with self.filled() as store:
            put(store, "d", ["old words"], structure=structure(2))
            chunks = embedded("d", ["new words", "more words"])
            store.stage("c", "d", "g2", chunks[:1])
            expect(InternalError, lambda: store.publish("c", record("d", chunks), "new", "g2", structure(5)))
            assert store.document_structure("c", "d") == structure(2)
            store.discard_staged("c")
            assert store.document_structure("c", "d") == structure(2)
            assert store.verify("c") == []

    def test_sections_and_pages_go_with_their_document_and_with_no_other(self) -> None:
        with self.filled() as store:
            put(store, "d", ["alpha words"], structure=structure(2))
            put(store, "e", ["beta words"], structure=structure(3))
            store.delete_document("c", "d")
            assert store.document_structure("c", "d") is None
            assert store.document_structure("c", "e") == structure(3)
            put(store, "d", ["alpha words"])
            assert store.document_structure("c", "d") == NO_STRUCTURE
            store.drop_collection("c")
            store.create_collection("c", SPACE)
            assert store.document_structure("c", "e") is None

    def test_sections_and_pages_go_along_with_a_renamed_collection(self) -> None:
        with self.filled() as store:
            put(store, "d", ["old words"], structure=structure(1))
            store.create_collection("c.next", SPACE)
            put(store, "d", ["new words"], collection="c.next", structure=structure(4))
            store.rename_collections({"c": "c.old", "c.next": "c"})
            assert store.document_structure("c", "d") == structure(4)
            assert store.document_structure("c.old", "d") == structure(1)

    def test_five_thousand_sections_on_a_thousand_pages_come_back_whole(self) -> None:
        with self.filled() as store:
            large = structure(5_000, pages=1_000)
            put(store, "d", ["some words"], structure=large)
            assert store.document_structure("c", "d") == large
            assert store.verify("c") == []
            other: Store | None = self.open_again(store)
            if other is not None:
                try:
                    assert other.document_structure("c", "d") == large
                finally:
                    other.close()
