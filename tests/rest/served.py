"""Serve the REST service over a library in memory for a test, on a free port, in this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass

import httpx
import uvicorn

from knowledge_mcp.transports.http import listen
from knowledge_mcp.transports.keys import KeyRing
from knowledge_mcp.transports.provider import KnowledgeProvider
from knowledge_mcp.transports.rest.app import RestService, build_rest_app
from tests.rest.world import KEY, Options, Shelf

__all__ = ["Served", "served"]


@dataclass(frozen=True)
class Served:
    """A running service, and a client of it that shows the key."""

    library: Shelf
    service: RestService
    port: int
    client: httpx.Client


@contextlib.contextmanager
def served(before: Callable[[str], None] | None = None) -> Generator[Served]:
    """Run the service on a thread until the block ends."""
    library = Shelf(before=before)
    service = build_rest_app(KnowledgeProvider(lambda: library), KeyRing(KEY), options=Options(), version="9.9.9")
    listener = listen("127.0.0.1", 0)
    config = uvicorn.Config(service, log_config=None, access_log=False, server_header=False, ws="none", http="h11")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, args=([listener],), name="test server", daemon=True)
    thread.start()
    port = listener.getsockname()[1]
    headers = {"Authorization": f"Bearer {KEY}"}
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=30) as client:
            assert client.get("/health").status_code == 200
            yield Served(library, service, port, client)
    finally:
        server.should_exit = True
        thread.join(30)
        listener.close()
