"""Documents for some groups: who is in none of them is answered as where these documents are not stored at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.signon.worlds import RandomWorld, asked

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(EnglishAnalyser()),
    "sqlite": lambda folder: SqliteStore(folder / "kb.sqlite", EnglishAnalyser()),
}
READERS = ((), ("legal",), ("eng", "elsewhere"), ("board", "legal"))


def leaks(seed: str, folder: Path, make: Callable[[Path], Store], calls: int) -> int:
    """Compare every call of every reader with the world in which what they may not see was never stored."""
    compared = 0
    (folder / "all").mkdir(parents=True)
    drawn = RandomWorld(seed, folder / "all", make(folder / "all"))
    asks = drawn.calls(calls)
    for number, groups in enumerate(READERS):
        rights = Rights(groups=groups)
        (folder / str(number)).mkdir()
        without = drawn.without(groups, folder / str(number), make(folder / str(number)))
        here, there = drawn.world.knowledge.seen_by(rights), without.knowledge.seen_by(rights)
        for place, call in enumerate(asks):
            assert asked(here, call) == asked(there, call), (seed, groups, place)
            compared += 1
    return compared


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_hidden_documents_can_be_told_in_random_worlds(tmp_path: Path, kind: str, seed: int) -> None:
    for number in range(15 if kind == "memory" else 3):
        assert leaks(f"{kind} {seed} {number}", tmp_path / str(number), STORES[kind], 12)
