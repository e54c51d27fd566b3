"""Code search reads only what it may show, and shows what it would show if it read everything."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import ChunkKey
from tests.engine.overridden import OverriddenStore
from tests.repositories.world import World


class Counting(OverriddenStore):
    """Remember which passages are read."""

    def __init__(self) -> None:
        super().__init__(EnglishAnalyser())
        self.asked: list[str] = []
        self.times = 0

    def chunks(self, collection: str, key: ChunkKey, values: Sequence[str]) -> list[Chunk]:
        self.asked += values
        self.times += 1
        return super().chunks(collection, key, values)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Index sixty files about valves; every third is nothing but a comment about them."""
    files: dict[str, str | bytes] = {}
    for number in range(60):
        words = " ".join(f"valve{each}" for each in range(number % 7))
        if number % 3:
            files[f"lib/valve_{number:02}.py"] = (
                f"def open_valve_{number}(wheel):\n    # open the valve {words}\n    return wheel.turn({number})\n"
            )
        else:
            files[f"lib/note_{number:02}.py"] = f"# open the valve with its wheel {words}\n"
    made = World(tmp_path_factory.mktemp("world"), store=Counting())
    made.index(made.repository(files=files).folder)
    return made


def shown(answer: dict[str, Any]) -> list[tuple[str, float]]:
    return [(each["file_path"], each["similarity_score"]) for each in answer["results"]]


QUESTIONS = (
    "how is the valve opened with its wheel",
    "open_valve_7",
    "open the `valve3` by `open_valve_7` or wheel.turn(4)",
    "where is open_valve_8 defined",
)


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("mode", ["hybrid", "dense", "keyword"])
def test_the_first_results_are_those_of_a_search_that_reads_all(world: World, question: str, mode: str) -> None:
    every = world.search(question, limit=50, mode=mode)
    assert len(every["results"]) == 50
    for limit in (1, 4, 17):
        assert shown(world.search(question, limit=limit, mode=mode)) == shown(every)[:limit]


def test_only_what_may_be_shown_is_read(world: World) -> None:
    store = world.store
    assert isinstance(store, Counting)
    store.asked.clear()
    store.times = 0
    assert len(world.search(QUESTIONS[0], limit=3)["results"]) == 3
    assert 3 <= len(store.asked) <= 40, "comments are read to be put behind"
    assert store.times <= 4
    store.asked.clear()
    world.search(QUESTIONS[0], limit=50)
    assert len(store.asked) >= 50


def test_a_threshold_counts_what_is_not_shown(world: World) -> None:
    every = world.search(QUESTIONS[0], limit=50, threshold=0.0)
    lowest = every["results"][9]["similarity_score"]
    some = world.search(QUESTIONS[0], limit=5, threshold=lowest)
    assert shown(some) == shown(every)[:5]
    assert some["metadata"]["total_matches"] >= 10
