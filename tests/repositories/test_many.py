"""Many repositories searched at once: over servers by threads, and whatever happens to one of them meanwhile."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from knowledge_mcp.engine.repositories.state import lanes_over
from knowledge_mcp.engine.repositories.values import CodeQuery
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import StoreIdentity
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.stores.memory import MemoryStore
from tests.engine.overridden import OverriddenStore
from tests.repositories.world import World

QUESTION = CodeQuery("check the signature and the expiry of a token", limit=20, threshold=0.0)


class Served(OverriddenStore):
    """Be taken for a server; say on which threads snapshots were taken, and lose a collection just before one."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self.threads: set[int] = set()
        self.lost = ""

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity("qdrant", "a server")

    def enter(self, collection: str) -> None:
        self.threads.add(threading.get_ident())
        if collection == self.lost:
            self.drop_collection(collection)
        super().enter(collection)


def filled(folder: Path, store: MemoryStore) -> World:
    world = World(folder, store=store)
    for name in ("team/one", "team/two", "team/three"):
        world.index(world.repository(name).folder)
    return world


def test_a_served_store_is_searched_by_threads_with_the_same_answer(tmp_path: Path) -> None:
    served = Served()
    by_threads = filled(tmp_path / "a", served).service
    alone = filled(tmp_path / "b", MemoryStore(EnglishAnalyser())).service
    served.threads.clear()
    one, other = by_threads.search_code(QUESTION), alone.search_code(QUESTION)
    assert threading.get_ident() not in served.threads
    assert [(hit.chunk.id, hit.similarity) for hit in one.hits] == [
        (hit.chunk.id, hit.similarity) for hit in other.hits
    ]
    assert [info.name for info in one.searched] == ["one", "three", "two"]
    assert one.total_matches == other.total_matches
    assert lanes_over(served).width > lanes_over(MemoryStore(EnglishAnalyser())).width == 1
    for service in (by_threads, alone):
        service.close()


def test_a_repository_that_goes_amid_a_search_is_left_out_unless_it_was_the_one_asked_for(tmp_path: Path) -> None:
    store = Served()
    service = filled(tmp_path, store).service
    infos = {info.name: info for info in service.repositories()}
    store.lost = infos["two"].collection
    answer = service.search_code(QUESTION)
    assert [info.name for info in answer.searched] == ["one", "three"]
    assert {hit.repository.name for hit in answer.hits} == {"one", "three"}
    assert answer.degraded == ()
    store.lost = infos["one"].collection
    with pytest.raises(NotFoundError):
        service.search_code(CodeQuery(QUESTION.text, threshold=0.0, repository="one"))
    service.close()
