"""The library as one sees it who may not see all: what is hidden is answered like what is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import NotFoundError
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.model.query import SearchQuery
from knowledge_mcp.stores.memory import MemoryStore
from tests.engine.shelf import PUMPS, VALVES, Shelf, ended


class Counted(MemoryStore):
    """Write down which of its methods are called."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self._calls: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("_"):
            self._calls.append(name)
        return super().__getattribute__(name)

    def _forget(self) -> None:
        self._calls.clear()

    def _told(self) -> tuple[str, ...]:
        return tuple(self._calls)


def test_what_one_may_not_reach_is_answered_like_what_is_not_there_by_the_same_store_calls(shelf: Shelf) -> None:
    shelf.store = store = Counted()
    desk = shelf.open()
    desk.deposit(Deposit("docs", "pumps.md", PUMPS))
    foreign = desk.deposit(Deposit("secret", "valves.md", VALVES)).document_id
    job = ended(desk, desk.submit(Deposit("secret", "more.md", PUMPS)).id).id
    seen = desk.seen_by(lambda name: name == "docs")

    def answer(ask: Callable[[str], Any], name: str) -> tuple[str, str | None, tuple[str, ...]]:
        store._forget()  # pyright: ignore[reportPrivateUsage] - every public name counts as a call
        with pytest.raises(NotFoundError) as raised:
            ask(name)
        calls = store._told()  # pyright: ignore[reportPrivateUsage] - as above
        return raised.value.message.replace(name, "it"), raised.value.suggestion, calls

    def search(name: str) -> Any:
        return seen.search_in(name, SearchQuery("valve"))

    near = foreign[:-1] + ("0" if foreign[-1] != "0" else "1")
    no_job = "f" * len(job)
    asks: list[tuple[Callable[[str], Any], str, str]] = [
        (seen.where, foreign, near), (seen.find, foreign, near), (seen.record, foreign, near),
        (seen.remove_document, foreign, near), (seen.job, job, no_job), (seen.cancel_job, job, no_job),
        (seen.records, "secret", "secreu"), (seen.drop_collection, "secret", "secreu"), (search, "secret", "secreu"),
    ]  # fmt: skip
    for ask, there, absent in asks:
        found = answer(ask, there)
        assert found == answer(ask, absent), ask
        assert there not in str(found)
    assert [each.name for each in seen.collections()] == ["docs"]
    assert desk.where(foreign) == "secret"


def test_collections_are_found_that_may_be_written_but_never_suggested(shelf: Shelf) -> None:
    desk = shelf.open()
    desk.deposit(Deposit("inbox", "pumps.md", PUMPS))
    seen = desk.seen_by(lambda _: False, lambda name: name == "inbox")
    with pytest.raises(NotFoundError) as raised:
        seen.drop_collection("inbux")
    assert "inbox" not in str(raised.value.suggestion)
    assert seen.drop_collection("inbox") == 1
