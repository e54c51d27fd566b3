"""One search sees one state of the collection, where the store can hold one."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk, Vector
from knowledge_mcp.model.query import ChunkKey, RequirementQuery, SearchQuery
from knowledge_mcp.stores.sqlite.store import SqliteHandle, SqliteStore
from knowledge_mcp.testing.embedders import HashingEmbedder
from tests.engine.world import PUMPS, World


class Losing(SqliteStore):
    """Lose a document, by another connection, as soon as a search asks for its passages."""

    lost: str = ""

    def open(self, name: str) -> SqliteHandle:
        return LosingHandle(self, name)

    def lose(self, collection: str) -> None:
        if self.lost:
            other = SqliteStore(Path(self.identity.location), EnglishAnalyser())
            other.open(collection).delete(self.lost)
            other.close()
            self.lost = ""


class LosingHandle(SqliteHandle):
    """Have the store lose it."""

    def __init__(self, store: Losing, name: str) -> None:
        super().__init__(store, name)
        self._loses = store

    def chunks(self, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        self._loses.lose(self._name)
        return super().chunks(key, values)


def test_a_document_deleted_amid_a_search_is_in_it_whole_and_in_none_after_it(tmp_path: Path) -> None:
    store = Losing(tmp_path / "knowledge.db", EnglishAnalyser())
    world = World(tmp_path / "documents", store=store).holding(
        {"pumps.md": "# Pumps\n\n## 1 Care\n\nA pump shall be greased once a month.\n"}
    )
    before = world.knowledge.search(SearchQuery("how often is a pump greased"))
    (record,) = world.knowledge.documents()
    store.lost = record.id
    during = world.knowledge.search(SearchQuery("how often is a pump greased"))
    assert during == before
    assert len(during.hits) == 1
    assert store.lost == ""
    assert world.knowledge.search(SearchQuery("how often is a pump greased")).hits == ()
    store.close()


class Watched(SqliteStore):
    """Count the snapshots that are open."""

    snapshots = 0

    def open(self, name: str) -> SqliteHandle:
        return WatchedHandle(self, name)


class WatchedHandle(SqliteHandle):
    """Have the store count it."""

    def __init__(self, store: Watched, name: str) -> None:
        super().__init__(store, name)
        self._counts = store

    @contextmanager
    def snapshot(self) -> Generator[Self]:
        self._counts.snapshots += 1
        try:
            with super().snapshot() as held:
                yield held
        finally:
            self._counts.snapshots -= 1


class Outside(HashingEmbedder):
    """Count questions, and those asked while a snapshot of the store was open."""

    def __init__(self, store: Watched) -> None:
        super().__init__()
        self._store = store
        self.asked = self.inside = 0

    def embed_query(self, text: str) -> Vector:
        self.asked += 1
        self.inside += self._store.snapshots
        return super().embed_query(text)


def test_no_question_is_embedded_while_a_snapshot_is_open(tmp_path: Path) -> None:
    store = Watched(tmp_path / "knowledge.db", EnglishAnalyser())
    embedder = Outside(store)
    world = World(tmp_path / "documents", store=store, embedder=embedder).holding({"pumps.md": PUMPS})
    world.knowledge.search(SearchQuery("how often is a pump greased"))
    world.knowledge.requirements(RequirementQuery("battery of the station"))
    world.knowledge.lookup("outages of the power")
    assert embedder.asked == 3
    assert embedder.inside == 0
    assert world.knowledge.lookup("outage").definitions
    assert embedder.asked == 3  # what is defined costs no embedding
    store.close()
