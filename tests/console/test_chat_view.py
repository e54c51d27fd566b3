"""The page that clients show in the chat, in a frame as they make it: sandboxed, and without any address to reach."""

from __future__ import annotations

import base64
import json
from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from knowledge_mcp.transports.mcp.extensions import view_page
from tests.console.test_safety import FORBIDDEN, HOSTILE

POLICY = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "media-src 'self' data:; object-src 'none'; connect-src 'none'"
)
"""What a client holds a page to that names no addresses."""
HOST = """<!doctype html><iframe id="view" sandbox="allow-scripts" style="width:600px;height:400px"></iframe><script>
window.got = [];
window.tell = (method, params) => frames[0].postMessage({jsonrpc: '2.0', method, params}, '*');
addEventListener('message', (event) => {
  const {id, method, params} = event.data;
  got.push({method, params});
  const reply = (result) => frames[0].postMessage({jsonrpc: '2.0', id, result}, '*');
  if (method === 'ui/initialize')
    reply({protocolVersion: '2026-01-26', hostInfo: {name: 'test', version: '1'}, hostCapabilities: {serverTools: {}},
      hostContext: {theme: 'dark', toolInfo: {tool: {name: 'knowledge_read'}}}});
  if (method === 'tools/call') reply(window.answer);
});
document.getElementById('view').srcdoc = window.shown;
</script>"""
DOT = base64.b64encode(
    bytes.fromhex(
        "89504e470d0a1a0a0000000d494844520000000100000001080600000"
        "01f15c4890000000d49444154789c6360606060000000050001a5f645400000000049454e44ae426082"
    )
).decode()
READ: dict[str, Any] = {
    "document_title": "Pumping stations",
    "passages": [
        {
            "text": "The station shall run for eight hours.",
            "citation": "Pumping stations, 3.1, p. 4",
            "locator": {"page_numbers": [4]},
        }
    ],
}


@pytest.fixture
def chat(browser: Browser) -> Generator[Page]:
    """Return a page that shows ours as a client does."""
    page = browser.new_page()
    held = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
    shown = view_page().replace("<head>", f"<head>{held}", 1)
    text = json.dumps(shown).replace("</", "<\\/")
    page.set_content(f"<script>window.shown = {text}</script>{HOST}")
    page.wait_for_function("got.some((each) => each.method === 'ui/notifications/initialized')")
    yield page
    page.close()


def view(chat: Page) -> FrameLocator:
    """Return what stands in the frame."""
    return chat.frame_locator("#view")


def tell(chat: Page, method: str, params: dict[str, Any]) -> None:
    """Send a notification to the page."""
    chat.evaluate("([method, params]) => tell(method, params)", [f"ui/notifications/{method}", params])


def test_what_was_read_is_shown_and_its_page_fetched_when_asked_for(chat: Page) -> None:
    tell(chat, "tool-input", {"arguments": {"chunk_id": "c1"}})
    tell(chat, "tool-result", {"content": [], "structuredContent": READ})
    expect(view(chat).locator("blockquote")).to_have_text("The station shall run for eight hours.")
    expect(view(chat).locator("cite")).to_have_text("Pumping stations, 3.1, p. 4")
    picture = {"type": "image", "mimeType": "image/png", "data": DOT}
    chat.evaluate("(answer) => { window.answer = answer; }", {"content": [picture], "structuredContent": READ})
    view(chat).locator("button").click()
    expect(view(chat).locator("img")).to_be_visible()
    asked = chat.evaluate("got.find((each) => each.method === 'tools/call').params")
    assert asked == {"name": "knowledge_read", "arguments": {"chunk_id": "c1", "picture": True}}
    assert chat.evaluate("got.some((each) => each.method === 'ui/notifications/size-changed')")


def test_a_page_that_cannot_be_drawn_says_why(chat: Page) -> None:
    tell(chat, "tool-result", {"content": [], "structuredContent": READ})
    answer: dict[str, Any] = {
        "isError": True,
        "content": [],
        "structuredContent": {"error": {"message": "The file is gone."}},
    }
    chat.evaluate("(answer) => { window.answer = answer; }", answer)
    view(chat).locator("button").click()
    expect(view(chat).locator("main")).to_contain_text("The file is gone.")
    expect(view(chat).locator("blockquote")).to_be_visible()


def test_what_changed_stands_side_by_side_struck_out_and_put_in(chat: Page) -> None:
    one = {
        "kind": "force",
        "from": "should",
        "to": "shall",
        "requirement": "added",
        "old_text": "The station should run.",
        "new_text": "The station shall run.",
    }
    clause = {"became": "edited", "old": "3.1 of 2018", "new": "3.1 of 2024", "changes": [one]}
    answer = {
        "old": {"document_title": "Pumps", "edition": "2018"},
        "new": {"document_title": "Pumps", "edition": "2024"},
        "summary": {"edited": 1},
        "changes": [clause],
        "total": 3,
    }
    tell(chat, "tool-result", {"content": [], "structuredContent": answer})
    expect(view(chat).locator("h1")).to_have_text("Pumps 2018 → Pumps 2024")
    expect(view(chat).locator("del")).to_have_text("should")
    expect(view(chat).locator("ins")).to_have_text("shall")
    expect(view(chat).locator("main")).to_contain_text("requirement added")
    expect(view(chat).locator("main")).to_contain_text("2 more clauses changed.")


def test_hostile_text_stays_text(chat: Page) -> None:
    passage = {"text": HOSTILE, "citation": HOSTILE, "locator": {"page_numbers": [1]}}
    bad = {"type": "image", "mimeType": 'image/png" onerror="x', "data": "x"}
    answer = {"document_title": HOSTILE, "passages": [passage]}
    tell(chat, "tool-result", {"content": [bad], "structuredContent": answer})
    expect(view(chat).locator("blockquote")).to_have_text(HOSTILE)
    expect(view(chat).locator("main script, main img, main svg, [onerror], [onload]")).to_have_count(0)
    assert [each for each in FORBIDDEN if each in view_page()] == []


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"isError": True, "content": [{"type": "text", "text": "No such document."}]}, "No such document."),
        ({"content": [], "structuredContent": {"message": "Nothing changed."}}, "Nothing changed."),
    ],
)
def test_an_error_or_an_empty_answer_is_reported(chat: Page, params: dict[str, Any], words: str) -> None:
    tell(chat, "tool-result", params)
    expect(view(chat).locator("main")).to_have_text(words)
