"""What several tests of evaluations use."""

from __future__ import annotations

import pytest

from tests.engine.world import PUMPS, VALVES, World


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """Ingest two documents with clauses."""
    return World(tmp_path_factory.mktemp("world")).holding({"pumps.md": PUMPS, "valves.md": VALVES})
