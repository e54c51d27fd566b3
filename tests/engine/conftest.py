"""What the tests of the engine share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from knowledge_mcp.stores.memory import MemoryStore
from tests.engine.moving import fill, memory
from tests.engine.shelf import Shelf
from tests.engine.world import PUMPS, VALVES, World


@pytest.fixture
def shelf(tmp_path: Path) -> Iterator[Shelf]:
    made = Shelf(tmp_path)
    yield made
    for service in made.services:
        service.close()


@pytest.fixture
def source() -> MemoryStore:
    """Make a store with eight documents."""
    store = memory()
    fill(store)
    return store


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents once."""
    return World(tmp_path_factory.mktemp("world")).holding({"pumps.md": PUMPS, "valves.md": VALVES})
