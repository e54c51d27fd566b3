"""What the tests of the planning document store share."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.planning.world import World


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    """Return an empty store, and close it."""
    made = World(tmp_path)
    yield made
    made.service.close()


@pytest.fixture(autouse=True)
def _own_logging(logging_restored: None) -> None:
    """Undo what a command set up: these tests run commands in this process."""
