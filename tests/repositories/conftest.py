"""What the tests of the repositories share."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.repositories.world import SANDBOX, World
from tests.servers.git_server import GitServer


@pytest.fixture(scope="session", autouse=True)
def sandbox() -> Generator[None]:
    """Close the child process that parses, once all is done."""
    yield
    SANDBOX.close()


@pytest.fixture
def world(tmp_path: Path) -> Generator[World]:
    """Return a service without repositories, and close it."""
    made = World(tmp_path)
    yield made
    made.service.close()


@pytest.fixture
def server(world: World) -> Generator[GitServer]:
    """Serve the world's repositories on loopback."""
    world.served.mkdir()
    with GitServer(world.served) as served:
        yield served


@pytest.fixture(autouse=True)
def _own_logging(logging_restored: None) -> None:
    """Undo what a command set up: these tests run commands in this process."""
