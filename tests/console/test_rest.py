"""The console over the real REST service and a library in memory: the main path, and the headers it is served with."""

from __future__ import annotations

import urllib.request
from collections.abc import Generator

import pytest
from playwright.sync_api import Page, expect

from knowledge_mcp.model.errors import ConnectionFailedError
from knowledge_mcp.transports.rest.app import build_rest_app
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.console.browser import Console, opened
from tests.console.service import KEY, POLICY
from tests.fakes.library import FakeLibrary
from tests.rest.world import Options
from tests.transports.in_thread import serving

NOTES = """\
<!-- page 1 -->

# 1 Zebras

A zebra shall cross.

<!-- page 2 -->

## 1.1 Horses

A horse may wait for the zebra.
"""
WEB: dict[str, str | ConnectionFailedError] = {
    "https://docs.example.com/horses.md": "# Horses\n\nA horse waits.",
    "https://down.example.com/": ConnectionFailedError("down.example.com does not answer.", suggestion="Try later."),
}


@pytest.fixture(scope="module")
def library() -> FakeLibrary:
    """Return the library behind the service."""
    return FakeLibrary(web=WEB)


@pytest.fixture(scope="module")
def base(library: FakeLibrary) -> Generator[str]:
    """Return the address of the running service."""
    app = build_rest_app(KnowledgeProvider(lambda: library), KeyRing(KEY), options=Options(), version="9.9.9")
    with serving(app, grace=1) as address:
        yield address


@pytest.fixture
def real(page: Page, base: str) -> Generator[Console]:
    """Return a page of the console that the service itself serves; it must be clean at the end."""
    with opened(page, base) as made:
        yield made
        made.must_be_clean()


def test_a_text_is_added_found_opened_and_deleted(real: Console, library: FakeLibrary) -> None:
    real.open("#/ingest")
    expect(real.at("#status-text")).to_have_text("Ready")
    real.at("#ingest-collection").fill("team")
    real.at("#text-name").fill("notes.md")
    real.at("#text").fill(NOTES)
    real.page.get_by_role("button", name="Add text").click()
    expect(real.at(".item[data-state=done]")).to_contain_text("added: 2 pages, 2 passages")
    real.go("#/search?c=team")
    expect(real.at("#search-collection option:checked")).to_have_text("team (1)")
    real.search("where may a horse wait for the zebra")
    expect(real.at(".result").first.locator(".places")).to_contain_text("page 2")
    expect(real.at(".result").first.locator(".citation q")).to_have_text("Zebras, 1.1 Horses, p. 2")
    real.at(".result a.button").first.click()
    found = real.at(".passage.found")
    expect(found).to_be_focused()
    assert found.locator(".passage-text mark").all_text_contents() == ["horse", "wait", "zebra"]
    assert real.at(".page-line").all_text_contents() == ["Page 1", "Page 2"]
    real.page.get_by_role("button", name="Delete document").click()
    real.at("#confirm-submit").click()
    expect(real.at("#documents-status")).to_have_text("0 documents in team")
    assert library.records("team") == []
    real.go("#/collections")
    real.page.get_by_role("button", name="Delete team").click()
    real.at("#confirm-input").fill("team")
    real.press("Enter")
    expect(real.at("#collections-status")).to_have_text("1 collection, 0 documents")


def test_files_and_addresses_go_in_and_every_option_is_understood(real: Console) -> None:
    real.open("#/ingest", key=None)
    real.at("#key").fill("wrong-key")
    real.press("Enter")
    expect(real.at("#key-problem")).to_contain_text("The API key was not accepted: The key is not valid.")
    real.enter_key()
    real.at("#files").set_input_files(
        [
            {"name": "horses.md", "mimeType": "text/markdown", "buffer": b"# Horses\n\nA horse may wait."},
            {"name": "broken.txt", "mimeType": "text/plain", "buffer": b"\xff\xfe\xff"},
        ]
    )
    for address in WEB:
        real.at("#url").fill(address)
        real.press("Enter")
    expect(real.at(".item[data-state=done]")).to_have_count(2)
    expect(real.at(".item[data-state=failed]")).to_have_count(2)
    expect(real.at(".item").first).to_contain_text("down.example.com does not answer.")
    document = (
        str(real.page.get_by_role("link", name="Open horses.md").get_attribute("href")).split("/")[2].split("?")[0]
    )
    real.go(f"#/search?q=horse%20waits&mode=keyword&k=50&min=0.1&type=custom&normative=false&doc={document}")
    expect(real.at(".result")).to_have_count(1)
    real.go("#/search?q=horse&clause=9.9&c=nowhere")
    expect(real.at("#search-notices")).to_contain_text("There is no collection 'nowhere'.")
    real.go("#/documents?c=default&name=HORSES")
    expect(real.at("#documents-status")).to_contain_text("2 documents in default")


def test_the_service_serves_the_page_under_the_policy_of_these_tests(base: str) -> None:
    for path in ("/", "/console/console.js", "/console/narrow.css"):
        with urllib.request.urlopen(f"{base}{path}", timeout=10) as answer:
            assert answer.headers["Content-Security-Policy"] == POLICY
            assert answer.headers["X-Content-Type-Options"] == "nosniff"
