"""Documents for some groups: who is in none of them is answered as where these documents are not stored at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.engine.knowledge import LocalKnowledge
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ports import Knowledge, Store
from knowledge_mcp.remote.values import RIGHTS
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.signon.asks import CALLS, SURFACE
from tests.signon.worlds import leaks

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(EnglishAnalyser()),
    "sqlite": lambda folder: SqliteStore(folder / "kb.sqlite", EnglishAnalyser()),
}


MORE = pytest.mark.slow  # further seeds draw more of the same


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=MORE) for seed in range(1, 4))])
def test_nothing_of_hidden_documents_can_be_inferred_in_random_worlds(tmp_path: Path, kind: str, seed: int) -> None:
    for number in range(15 if kind == "memory" else 3):
        assert leaks(f"{kind} {seed} {number}", tmp_path / str(number), STORES[kind], 12)


def test_every_way_to_ask_is_among_the_calls_that_are_compared() -> None:
    writing = {name for name, right in RIGHTS.items() if right == "write"}
    methods = {name for name in vars(Knowledge) if not name.startswith("_")} - writing - {"close"}
    assert methods <= vars(LocalKnowledge).keys()
    tools = {tool.name for tool in SURFACE.tools if not tool.writes}
    completions = {f"completes {name}" for name in SURFACE.completers or ()}
    assert set(CALLS) == methods | tools | completions | {each.uri for each in SURFACE.resources}
