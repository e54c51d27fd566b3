"""What the tests of the transports share."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.transports.spawned import WebServer, web_server


@pytest.fixture(scope="session")
def web() -> Generator[WebServer]:
    """Return a running HTTP server without authentication."""
    with web_server() as server:
        yield server
