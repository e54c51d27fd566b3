"""Documents for some groups: who is in none of them is answered as where these documents are not stored at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.ports import Store
from knowledge_mcp.stores.memory import MemoryStore
from knowledge_mcp.stores.sqlite.store import SqliteStore
from tests.signon.worlds import leaks

STORES: dict[str, Callable[[Path], Store]] = {
    "memory": lambda _: MemoryStore(EnglishAnalyser()),
    "sqlite": lambda folder: SqliteStore(folder / "kb.sqlite", EnglishAnalyser()),
}


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("seed", range(4))
def test_nothing_of_hidden_documents_can_be_told_in_random_worlds(tmp_path: Path, kind: str, seed: int) -> None:
    for number in range(15 if kind == "memory" else 3):
        assert leaks(f"{kind} {seed} {number}", tmp_path / str(number), STORES[kind], 12)
