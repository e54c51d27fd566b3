"""Where the foreign clients are, and a server for them to talk to."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.foreign.running import Clients
from tests.machine import node22, node_clients
from tests.transports.spawned import WebServer, web_server


@pytest.fixture(scope="session")
def clients() -> Clients:
    """Install the foreign clients, once; skips where that is not possible, and fails there in CI."""
    return Clients(node22(), node_clients())


@pytest.fixture(scope="session")
def web() -> Generator[WebServer]:
    """Return a running HTTP server without authentication."""
    with web_server() as server:
        yield server
