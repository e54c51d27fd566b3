"""Where the foreign clients are, and a server for them to talk to."""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path

import pytest

from tests.foreign.running import Clients
from tests.machine import in_ci, node22, run_script
from tests.transports.spawned import WebServer, web_server


@pytest.fixture(scope="session")
def clients() -> Clients:
    """Install the foreign clients, once; skips where that is not possible, and fails there in CI."""
    node = node22()
    finished = run_script("node_clients.sh", seconds=300)
    if finished.returncode != 0:
        reason = f"the foreign clients could not be installed: {finished.stderr.strip()}"
        if in_ci():
            pytest.fail(f"in CI nothing may be left out: {reason}")
        pytest.skip(reason)
    return Clients(node, Path(finished.stdout.strip()))


@pytest.fixture(scope="session")
def web() -> Generator[WebServer]:
    """Return a running HTTP server without authentication."""
    with web_server() as server:
        yield server
