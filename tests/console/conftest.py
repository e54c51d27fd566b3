"""What the tests of the console share: one browser, one server; a fresh page and a fresh service for each test."""

from __future__ import annotations

import shutil
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.browser import Console, new_page, opened
from tests.console.service import Service, application
from tests.machine import needs
from tests.transports.in_thread import serving


class Holder:
    """Holds the service that the running server shows now."""

    def __init__(self) -> None:
        self.service = Service()
        self.base = ""


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
    with serving(application(lambda: made.service), grace=1) as made.base:
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
