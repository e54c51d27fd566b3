"""What the SQLite store keeps of what it read: vectors, names and counts of frequent terms answer as the file does."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.query import Filter, In, NotIn
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite import search, view
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import put
from knowledge_mcp.testing.store_values import SPACE, unit_vector

ANALYSER = EnglishAnalyser()


@pytest.fixture(autouse=True)
def _few_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "FLOATS_UP_TO", 0)
    monkeypatch.setattr(view, "RECENT", 3)
    monkeypatch.setattr(view, "RECENT_NAMES", 5)
    monkeypatch.setattr(view, "_MOST_FREQUENT", 2)
    monkeypatch.setattr(search, "TERMS_AT_ONCE", 2)


class _Pair:
    """Write to a store and to the one it is compared with."""

    def __init__(self, path: Path) -> None:
        self.store, self.oracle = SqliteStore(path, ANALYSER), MemoryStore(ANALYSER)
        for each in (self.store, self.oracle):
            each.create_collection("c", SPACE)
        self.named: list[str] = []

    def put(self, document_id: str, texts: list[str]) -> None:
        for each in (self.store, self.oracle):
            put(each, document_id, texts)

    def check(self, text: str, filter: Filter | None = None) -> None:
        vector = unit_vector(text)
        mine, theirs = (
            each.open("c").search(vector=vector, text=text, filter=filter, limit=7)
            for each in (self.store, self.oracle)
        )
        assert mine == theirs
        assert mine.dense is not None
        among = In("chunk_id", (*(hit.chunk_id for hit in mine.dense[::2]), *self.named))
        self.named = [hit.chunk_id for hit in mine.dense]
        mine, theirs = (
            each.open("c").search(vector=vector, text=text, filter=among, limit=7) for each in (self.store, self.oracle)
        )
        assert mine == theirs


def test_answers_are_the_same_whatever_is_kept_of_earlier_questions(tmp_path: Path) -> None:
    both = _Pair(tmp_path / "knowledge.db")
    both.put("a", [f"alpha beta {number}" for number in range(9)])
    both.put("b", [f"alpha gamma delta {number}" for number in range(5)])
    questions = ("alpha beta gamma", "delta alpha", "beta beta 3 alpha gamma delta", "epsilon", "alpha")
    for _ in range(2):
        for question in questions:
            both.check(question)
            both.check(question, NotIn("document_id", ("b",), absent=True))
    both.put("b", ["alpha epsilon", "gamma"])
    for question in questions:
        both.check(question)
    for each in (both.store, both.oracle):
        each.open("c").delete("a")
    for question in questions:
        both.check(question)
    both.store.close()


def test_hits_are_the_same_where_frequent_terms_are_looked_up_only_for_some(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "FREQUENT", 3)
    counted, at_some = list[int](), search._summed_at  # pyright: ignore[reportPrivateUsage]

    def spied(slots: NDArray[np.int64], *rest: Any) -> NDArray[np.float64]:
        counted.append(len(slots))
        return at_some(slots, *rest)

    monkeypatch.setattr(search, "_summed_at", spied)
    both, draw = _Pair(tmp_path / "knowledge.db"), random.Random(1)
    words = [f"word{chr(97 + number)}" for number in range(26)]
    chances = [1 / number for number in range(1, 27)]
    for name in "abc":
        both.put(name, [" ".join(draw.choices(words, chances, k=draw.randint(2, 12))) for _ in range(60)])
    for when in range(2):
        for _ in range(60):
            asked = " ".join({*draw.choices(words, chances, k=2), *draw.choices(words[8:], k=2)})
            both.check(asked)
            both.check(asked, NotIn("document_id", ("b",), absent=True))
            both.check(asked, NotIn("document_id", ("c",)))
        assert counted
        assert max(counted) < 120
        if not when:
            for each in (both.store, both.oracle):
                each.open("c").delete("a")
    both.store.close()


def test_values_are_those_of_the_slots_that_are_asked_for() -> None:
    recent = view._RecentValues(np.float32, 3, 2)  # pyright: ignore[reportPrivateUsage]
    asked: list[list[int]] = []

    def read(slots: np.ndarray[tuple[int], np.dtype[np.int64]]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
        asked.append(slots.tolist())
        return np.stack([slots, -slots], axis=1).astype(np.float32)

    for slots in ([1, 4, 7, 2], [4, 1, 2], [0, 2, 5, 7]):  # 1, 4 and 7 share a place, and so do 2 and 5
        assert recent.get(np.array(slots), read).tolist() == [[float(slot), -float(slot)] for slot in slots]
    assert asked == [[1, 4, 7, 2], [4, 1], [0, 5, 7]]


def test_many_threads_get_the_values_of_their_own_slots() -> None:
    recent = view._RecentValues(np.float32, 3, 2)  # pyright: ignore[reportPrivateUsage]
    wrong: list[int] = []

    def ask(seed: int) -> None:
        draw = np.random.default_rng(seed)
        for _ in range(300):
            slots = draw.choice(12, 4, replace=False)
            found = recent.get(slots, lambda some: np.stack([some, -some], axis=1).astype(np.float32))
            wrong.extend(slots[found[:, 0] != slots].tolist())

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert wrong == []
