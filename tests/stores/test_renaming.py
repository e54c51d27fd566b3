"""Names exchanged under readers and writers: a live name always stands for one whole collection."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import InternalError, InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.ports import Analyser, Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.shared.rules import checked_renames
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put, text_of
from knowledge_mcp.testing.store_values import SPACE, unit_vector

SWAPS = 60


def test_a_live_name_is_never_missing_and_never_mixed_while_it_is_swapped(tmp_path: Path) -> None:
    path = tmp_path / "kb.db"
    swapping, reading = SqliteStore(path, EnglishAnalyser()), SqliteStore(path, EnglishAnalyser())
    for name, words in (("live", "alpha"), ("next", "beta")):
        swapping.create_collection(name, SPACE)
        put(swapping, "d", [f"{words} one", f"{words} two"], collection=name, text=words)
    done, ready = threading.Event(), threading.Event()
    seen: set[str] = set()
    wrong: list[object] = []

    def read() -> None:
        while not done.is_set() or len(seen) < 2:
            try:
                legs = reading.open("live").search(vector=unit_vector("x"), text="alpha beta", filter=None, limit=9)
                chunks = reading.open("live").chunks("id", [hit.chunk_id for hit in legs.dense or ()])
                words = {chunk.content.split()[0] for chunk in chunks}
                text = text_of(reading.open("live"), "d")
            except KnowledgeError as exc:
                wrong.append(exc.message)
                break
            if len(legs.dense or ()) != 2 or len(legs.lexical or ()) != 2 or len(words) > 1:
                wrong.append(legs)
                break
            seen.add(str(text))
            ready.set()

    reader = threading.Thread(target=read)
    reader.start()
    assert ready.wait(30)
    for turn in range(SWAPS):
        swapping.rename_collections({"live": "next", "next": "live"})
        if turn % 20 == 0:
            ready.clear()
            assert ready.wait(30) or wrong
    done.set()
    reader.join(30)
    assert wrong == []
    assert seen == {"alpha", "beta"}
    for store in (swapping, reading):
        assert store.open("live").verify() == []
        store.close()


class _SwappedWhilePublishing(EnglishAnalyser):
    """Swap two collections at the moment at which a publish works out its terms."""

    swap: SqliteStore | None = None

    def document_terms(self, text: str) -> list[str]:
        if self.swap is not None:
            store, self.swap = self.swap, None
            store.rename_collections({"c": "old", "next": "c"})
        return super().document_terms(text)


def test_a_publish_never_moves_chunks_into_the_collection_that_has_just_taken_the_name(tmp_path: Path) -> None:
    analyser = _SwappedWhilePublishing()
    store = SqliteStore(tmp_path / "kb.db", analyser)
    other = SqliteStore(tmp_path / "kb.db", EnglishAnalyser())
    for name in ("c", "next"):
        store.create_collection(name, SPACE)
    analyser.swap = other
    with pytest.raises(InternalError):
        put(store, "d", ["alpha words"])
    assert store.open("c").documents() == []
    put(store, "d", ["alpha words"], collection="old")
    for name in ("c", "old"):
        assert store.open(name).verify() == []
    for each in (store, other):
        each.close()


def stores(analyser: Analyser, path: Path) -> list[Store]:
    """Make one of each built-in kind."""
    return [MemoryStore(analyser), SqliteStore(path, analyser)]


def test_a_collection_cannot_be_given_an_empty_name(tmp_path: Path) -> None:
    for store in stores(EnglishAnalyser(), tmp_path / "kb.db"):
        store.create_collection("a", SPACE)
        with pytest.raises(InvalidInputError):
            store.rename_collections({"a": ""})
        store.close()


def test_only_entries_that_change_something_are_returned() -> None:
    assert checked_renames({"a": "a", "b": "c"}, ["a", "b"]) == {"b": "c"}
    assert checked_renames({"a": "b", "b": "a"}, ["a", "b"]) == {"a": "b", "b": "a"}
    with pytest.raises(NotFoundError):
        checked_renames({"x": "x"}, ["a"])
