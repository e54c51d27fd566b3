"""Searches of one collection that compute in this process take turns, two at a time; a store that is asked is not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.collection import StoreIdentity
from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.model.query import LegResults, SearchQuery
from knowledge_mcp.support.checkpoints import watch_for_stop
from tests.engine.overridden import OverriddenStore
from tests.engine.world import PUMPS, World

SEARCHES = 6
TOO_LONG = 20.0
LONG_ENOUGH = 0.3
"""Seconds in which searches that nothing holds back have all begun."""


class MeetingStore(OverriddenStore):
    """Hold every search until so many are in it at once, or until nobody else came for a while."""

    def __init__(self, backend: str) -> None:
        super().__init__(EnglishAnalyser())
        self.backend = backend
        self.inside, self.most = 0, 0
        self.lock = threading.Condition()
        self.is_open = threading.Event()

    @property
    def identity(self) -> StoreIdentity:
        return StoreIdentity(self.backend, "here")

    def search(self, collection: str, **asked: Any) -> LegResults:
        with self.lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
            self.lock.notify_all()
        self.is_open.wait(TOO_LONG)
        with self.lock:
            self.inside -= 1
        return super().search(collection, **asked)

    def meet(self, count: int) -> bool:
        with self.lock:
            return self.lock.wait_for(lambda: self.inside >= count, TOO_LONG)


@pytest.fixture
def meeting(tmp_path: Path) -> Callable[[str], tuple[World, MeetingStore]]:
    def made(backend: str) -> tuple[World, MeetingStore]:
        store = MeetingStore(backend)
        return World(tmp_path, store).holding({"pumps.md": PUMPS}), store

    return made


@pytest.mark.parametrize(("backend", "at_once"), [("memory", 2), ("sqlite", 2), ("postgres", SEARCHES)])
def test_so_many_search_at_once(
    meeting: Callable[[str], tuple[World, MeetingStore]], backend: str, at_once: int
) -> None:
    world, store = meeting(backend)
    with ThreadPoolExecutor(SEARCHES) as threads:
        asked = [
            threads.submit(world.knowledge.search, SearchQuery(text="battery of a station")) for _ in range(SEARCHES)
        ]
        assert store.meet(at_once)
        threading.Event().wait(LONG_ENOUGH)
        assert store.inside == at_once
        store.is_open.set()
        assert all(each.result(TOO_LONG).hits for each in asked)
    assert store.most == at_once


def test_who_left_while_others_searched_is_not_served(
    meeting: Callable[[str], tuple[World, MeetingStore]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("knowledge_mcp.engine.core.base._LOOK_EVERY", 0.02)
    world, store = meeting("sqlite")
    waits, gone = threading.Event(), threading.Event()

    def look() -> None:
        waits.set()
        if gone.is_set():
            raise CancelledError("The caller has left.")

    def search() -> None:
        with watch_for_stop(look, every=0.0):
            world.knowledge.search(SearchQuery(text="battery of a station"))

    with ThreadPoolExecutor(3) as threads:
        held = [threads.submit(world.knowledge.search, SearchQuery(text="outage of a station")) for _ in range(2)]
        assert store.meet(2)
        left = threads.submit(search)
        assert waits.wait(TOO_LONG)
        gone.set()
        with pytest.raises(CancelledError):
            left.result(TOO_LONG)
        assert store.inside == 2
        store.is_open.set()
        assert all(each.result(TOO_LONG).hits for each in held)
