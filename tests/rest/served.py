"""Serve the REST service over a library in memory for a test, on a free port, in this process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Generator
from dataclasses import dataclass

import httpx

from knowledge_mcp.model.call import Progress
from knowledge_mcp.model.library import Deposit, Deposited
from knowledge_mcp.transports.rest.app import RestService, build_rest_app
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.fakes.library import FakeLibrary
from tests.rest.world import KEY, Options
from tests.transports.in_thread import serving
from tests.waiting import wait_until


@dataclass(frozen=True)
class Served:
    """A running service, and a client of it that shows the key."""

    library: FakeLibrary
    service: RestService
    port: int
    client: httpx.Client


@contextlib.contextmanager
def served(before: Callable[[str], None] | None = None, keys: KeyRing | None = None) -> Generator[Served]:
    """Run the service on a thread until the block ends."""
    library = FakeLibrary(before=before)
    service = build_rest_app(
        KnowledgeProvider(lambda: library), keys or KeyRing(KEY), options=Options(), version="9.9.9"
    )
    headers = {"Authorization": f"Bearer {KEY}"}
    with serving(service) as url, httpx.Client(base_url=url, headers=headers, timeout=30) as client:
        assert client.get("/health").status_code == 200
        yield Served(library, service, int(url.rpartition(":")[2]), client)


def held_until_cancelled(library: FakeLibrary) -> threading.Event:
    """Let every deposit go on only once it was cancelled; the event tells that one has begun."""
    begun = threading.Event()
    deposit_it = library.deposit

    def deposit(
        deposit: Deposit, *, on_progress: Progress | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Deposited:
        begun.set()
        assert cancelled is not None
        wait_until(cancelled)
        return deposit_it(deposit, on_progress=on_progress, cancelled=cancelled)

    library.deposit = deposit
    return begun
