"""What the tests of the console share: one browser, one server; a fresh page and a fresh service for each test."""

from __future__ import annotations

import shutil
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager

import pytest
import uvicorn
from playwright.sync_api import Browser, Page, expect, sync_playwright
from starlette.types import ASGIApp

from tests.console.browser import Console, new_page, opened
from tests.console.service import Service, application
from tests.machine import needs

__all__ = ["Holder", "served"]


class Holder:
    """Holds the service that the running server shows now."""

    def __init__(self) -> None:
        self.service = Service()
        self.base = ""


class _Server(uvicorn.Server):
    def __init__(self, app: ASGIApp) -> None:
        super().__init__(uvicorn.Config(app, log_config=None, lifespan="auto", ws="none", timeout_graceful_shutdown=1))
        self.is_up = threading.Event()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


@contextmanager
def served(app: ASGIApp) -> Generator[str]:
    """Run an application on a free port of the loopback, and give its address."""
    server = _Server(app)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, name="console test server")
        thread.start()
        try:
            assert server.is_up.wait(20)
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


@pytest.fixture(scope="package")
def browser() -> Generator[Browser]:
    """Return a running headless Chromium, or leave the test where there is none.

    The headless shell does without windows altogether, which takes a quarter of the time; Chromium itself does too.
    """
    path = shutil.which("chromium-headless-shell") or shutil.which("chromium") or needs("chromium-headless-shell")
    expect.set_options(timeout=10_000)
    with sync_playwright() as driver:
        switches = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"]
        running = driver.chromium.launch(executable_path=path, args=switches)
        yield running
        running.close()


@pytest.fixture(scope="package")
def page(browser: Browser) -> Page:
    """Return the page that the tests share; each begins with an empty one."""
    return new_page(browser)


@pytest.fixture(scope="package")
def holder() -> Generator[Holder]:
    """Return the running stand-in server."""
    made = Holder()
    with served(application(lambda: made.service)) as made.base:
        yield made


@pytest.fixture
def service(holder: Holder) -> Service:
    """Return a fresh service, empty."""
    holder.service = Service()
    return holder.service


@pytest.fixture
def console(page: Page, holder: Holder, service: Service) -> Generator[Console]:
    """Return a fresh page; whatever the test did with it, it must be clean at the end."""
    with opened(page, holder.base) as made:
        yield made
        made.must_be_clean()
