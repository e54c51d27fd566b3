"""What searches hold of all collections together stays below one limit, and their answers stay the same."""

from __future__ import annotations

import gc
import logging
import shutil
from collections import Counter
from collections.abc import Callable, Generator, Hashable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import LegResults
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.stores.shared.index_memory import IndexMemory, IndexOwner
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, SamplePassage, unit_vector
from tests.servers.chroma_server import quick_folder

NAMES = ("a", "b", "c")

OpenedStore = SqliteStore | ChromaStore
Opening = Callable[[IndexMemory], OpenedStore]


class Watched(IndexMemory):
    """Note each drop, and the greatest sum beside the one in use."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self.sizes: list[tuple[int, int]] = []

    def used(self, owner: IndexOwner, key: Hashable, size: int) -> None:
        super().used(owner, key, size)
        self.sizes.append((size, self.usage()[0]))


class Shelf:
    """Own indexes that are only names."""

    def __init__(self) -> None:
        self.dropped: list[Hashable] = []

    def drop_index(self, key: Hashable) -> None:
        self.dropped.append(key)


@pytest.fixture(params=["sqlite", "chromadb"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[Opening]:
    folder = quick_folder()
    opened: list[OpenedStore] = []

    def open_one(memory: IndexMemory) -> OpenedStore:
        if request.param == "sqlite":
            made = SqliteStore(tmp_path / "knowledge.db", EnglishAnalyser(), memory=memory)
        else:
            made = ChromaStore(Address(folder), EnglishAnalyser(), memory=memory)
        opened.append(made)
        return made

    yield open_one
    for each in opened:
        each.close()
    shutil.rmtree(folder)


def filled(store: OpenedStore) -> None:
    for name in NAMES:
        store.create_collection(name, SPACE)
        put(store, "d", [SamplePassage(f"turbine {name} {number}") for number in range(8)], collection=name)


def asked(store: OpenedStore, name: str) -> LegResults:
    return store.open(name).search(vector=unit_vector("q"), text="turbine", filter=None, limit=5)


def size_of_one(opening: Opening) -> int:
    """Fill a store, and measure what a search of one of its collections holds."""
    memory = IndexMemory()
    store = opening(memory)
    filled(store)
    asked(store, "a")
    size, count = memory.usage()
    store.close()
    assert count == 1
    assert memory.usage() == (0, 0)
    return size


def test_the_least_recently_used_of_three_goes_and_is_read_again_with_the_same_answers(opening: Opening) -> None:
    limit = size_of_one(opening) * 5 // 2
    free = opening(IndexMemory())
    expected = {name: asked(free, name) for name in NAMES}
    free.close()
    memory = Watched(limit)
    store = opening(memory)
    for name in (*NAMES, "b", "a", "a", "c", "b"):
        assert asked(store, name) == expected[name]
        assert memory.usage()[1] <= 2
    assert memory.usage()[1] == 2
    assert all(together <= max(limit, size) for size, together in memory.sizes)


def test_concurrent_searches_answer_the_same_while_indexes_are_dropped(opening: Opening) -> None:
    size_of_one(opening)
    memory = Watched(1)  # none is kept but the one in use
    store = opening(memory)
    expected = {name: asked(store, name) for name in NAMES}
    names = NAMES * 12
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(asked, [store] * len(names), names))
    assert found == [expected[name] for name in names]
    assert memory.usage()[1] == 1


def test_the_one_used_least_recently_goes_first_and_the_one_in_use_stays(caplog: pytest.LogCaptureFixture) -> None:
    memory, shelf = IndexMemory(100), Shelf()
    for name in ("a", "b", "a"):
        memory.used(shelf, name, 50)
    memory.used(shelf, "c", 50)
    assert shelf.dropped == ["b"]
    assert memory.usage() == (100, 2)
    with caplog.at_level(logging.WARNING):
        memory.used(shelf, "large", 500)
        memory.used(shelf, "large", 501)
    assert shelf.dropped == ["b", "a", "c"]
    assert memory.usage() == (501, 1)
    assert Counter(each.message for each in caplog.records).most_common(1)[0][1] == 1
    memory.used(shelf, "a", 50)
    assert shelf.dropped[-1] == "large"


def test_owners_share_the_limit_and_those_that_are_gone_count_no_longer() -> None:
    memory, first, second = IndexMemory(100), Shelf(), Shelf()
    memory.used(first, 1, 60)
    memory.used(second, 1, 60)
    assert (first.dropped, second.dropped) == ([1], [])
    memory.used(first, 2, 40)
    memory.forget(first)
    assert memory.usage() == (60, 1)
    del second
    gc.collect()
    assert memory.usage() == (0, 0)
