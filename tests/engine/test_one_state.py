"""One search sees one state of the collection, where the store can hold one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.stores.sqlite import SqliteStore
from tests.engine.world import World


class Losing(SqliteStore):
    """Lose a document, by another connection, as soon as a search asks for its passages."""

    lost: str = ""

    def chunks(self, collection: str, chunk_ids: Sequence[str]) -> list[Chunk]:
        if self.lost:
            other = SqliteStore(Path(self.location), EnglishAnalyser())
            other.delete_document(collection, self.lost)
            other.close()
            self.lost = ""
        return super().chunks(collection, chunk_ids)


def test_a_document_deleted_amid_a_search_is_in_it_whole_and_in_none_after_it(tmp_path: Path) -> None:
    store = Losing(tmp_path / "knowledge.db", EnglishAnalyser())
    world = World(tmp_path / "documents", store=store)
    world.write("pumps.md", "# Pumps\n\n## 1 Care\n\nA pump shall be greased once a month.\n")
    world.ingest()
    before = world.knowledge.search(SearchQuery("how often is a pump greased"))
    (record,) = world.knowledge.documents()
    store.lost = record.id
    amid = world.knowledge.search(SearchQuery("how often is a pump greased"))
    assert amid == before
    assert len(amid.hits) == 1
    assert store.lost == ""
    assert world.knowledge.search(SearchQuery("how often is a pump greased")).hits == ()
    store.close()
