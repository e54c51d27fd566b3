"""The console in a browser: what a test does with it, and what must hold of every page whatever it did."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request, Response

from tests.console.service import KEY

_TOLD_BY_THE_NETWORK = "Failed to load resource:"


def probe(name: str) -> str:
    """Return a script of the folder `probes`, to be run in the page."""
    return (Path(__file__).parent / "probes" / f"{name}.js").read_text(encoding="utf-8").rstrip().removesuffix(";")


_FOCUSED = probe("focused")
_LEFT_BEHIND = probe("leftbehind")


@dataclass
class Console:
    """One page of the console, and all that it said, asked for and was refused."""

    page: Page
    base: str
    errors: list[str] = field(default_factory=list[str])
    requests: list[Request] = field(default_factory=list[Request])
    broken_files: list[str] = field(default_factory=list[str])

    def open(self, address: str = "", key: str | None = KEY) -> None:
        """Open an address such as `#/documents`, and enter the key unless it is None."""
        self.page.goto(f"{self.base}/{address}")
        if key is not None:
            self.enter_key(key)

    def enter_key(self, key: str = KEY) -> None:
        """Enter a key into the dialog that asks for it, and wait until it is gone."""
        self.page.locator("#key").fill(key)
        self.page.locator("#key").press("Enter")
        self.page.locator("#key-dialog").wait_for(state="hidden")

    def enter_key_anew(self, key: str) -> None:
        """Change the key by the button at the top."""
        self.page.locator("#key-button").click()
        self.enter_key(key)

    def go(self, address: str) -> None:
        """Follow an address within the page, as a link does."""
        self.page.evaluate("(hash) => { location.hash = hash; }", address)

    def search(self, query: str) -> None:
        """Ask in the search view, and wait for the answer."""
        self.page.locator("#q").fill(query)
        self.page.locator("#q").press("Enter")
        self.page.locator("#search-submit[aria-busy=false]").wait_for()

    def at(self, selector: str) -> Locator:
        """Find in the page."""
        return self.page.locator(selector)

    def press(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        for key in keys:
            self.page.keyboard.press(key)

    def tab_to(self, selector: str, most: int = 60) -> None:
        """Press Tab until an element has the focus; each one on the way must show that it has it."""
        for _ in range(most):
            self.press("Tab")
            focused: dict[str, Any] = self.page.evaluate(_FOCUSED, selector)
            assert focused["shown"], f"the focus on {focused['what']} cannot be seen"
            if focused["there"]:
                return
        raise AssertionError(f"{selector} was not reached by {most} tabs")

    def has_focus(self, selector: str) -> bool:
        """Tell whether an element has the focus."""
        return bool(self.page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector))

    def violations(self) -> list[str]:
        """Return what the policy refused."""
        return list(self.page.evaluate("window.violations"))

    def left_behind(self) -> list[str]:
        """Return everything that would outlive the page: storages, cookies, caches, workers."""
        cookies = [f"{each.get('name')}={each.get('value')}" for each in self.page.context.cookies()]
        return [*cookies, *self.page.evaluate(_LEFT_BEHIND)]

    def must_be_clean(self) -> None:
        """Hold what must hold of every page at its end."""
        assert self.errors == []
        assert self.broken_files == []
        assert self.violations() == []
        assert {each.url for each in self.requests if _origin(each.url) != self.base} == set()
        assert [each.url for each in self.requests if KEY in each.url] == []
        assert KEY not in self.page.url
        assert KEY not in self.page.content()
        assert self.left_behind() == []


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def new_page(browser: Browser) -> Page:
    """Make a page of a profile that knows nothing; it may use the clipboard."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    context.set_default_timeout(10_000)
    context.add_init_script(probe("policy"))
    return context.new_page()


def make_blank(page: Page) -> None:
    """Make a shared page an empty one on a light, wide screen, whatever the test before left of it."""
    page.goto("about:blank")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.emulate_media(color_scheme="light", media="null")  # the console has no buttons in print


@contextmanager
def opened(page: Page, base: str) -> Generator[Console]:
    """Watch a page for the time of a test, from an empty one on."""
    make_blank(page)
    console = Console(page, base)

    def heard(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not message.text.startswith(_TOLD_BY_THE_NETWORK):
            console.errors.append(message.text)

    def failed(error: Error) -> None:
        console.errors.append(str(error))

    def asked(request: Request) -> None:
        console.requests.append(request)

    def answered(response: Response) -> None:
        path = urlsplit(response.url).path
        if (path == "/" or path.startswith("/console/")) and response.status >= 400:
            console.broken_files.append(response.url)

    page.on("console", heard)
    page.on("pageerror", failed)
    page.on("request", asked)
    page.on("response", answered)
    try:
        yield console
    finally:
        page.unroute_all()
        page.remove_listener("console", heard)
        page.remove_listener("pageerror", failed)
        page.remove_listener("request", asked)
        page.remove_listener("response", answered)
