"""The console by keyboard alone, for those who listen, in both colour schemes, and on a narrow screen."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests.console.browser import Console, probe
from tests.console.service import Failure, Service, a_document
from tests.console.test_compare import LINKS, ROWS

LONG = "wordswithoutanyblank" * 12
SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")

BASICS = probe("basics")
CONTRAST = probe("contrast")


@pytest.fixture
def full(service: Service) -> Service:
    """Return a service in which every kind of thing is to be seen."""
    texts = [
        "A zebra shall cross.",
        f"{LONG} zebra",
        "| Zebra | Horse |\n|---|---|\n| a | b |",
        "Zebra crossing. " * 120,
    ]
    service.add(a_document(1, texts, title=f"On zebras {LONG}", filename=f"{LONG}.pdf"))
    service.add(a_document(2, ["Nothing."], status="partial", warnings=["Page 2 is a scan."]))
    service.extra = {"degraded": ["Words only."], "below_min_score": 3}
    return service


def _every_view(console: Console, service: Service) -> list[str]:
    """List what to look at; the last ones have failures in them."""
    return [
        "#/search?q=zebra",
        f"#/document/{1:016x}?at=1&q=zebra",
        "#/documents",
        "#/collections",
        "#/ingest",
        "#/document/none",
    ]


def _show(console: Console, address: str) -> None:
    console.go(address)
    expected = {
        "search": ".result mark",
        "documents": "#documents-table summary",
        "collections": "#collections-table th a",
        "ingest": ".item .notice",
    }
    view = address.removeprefix("#/").partition("?")[0].partition("/")[0]
    last = "#document-problem .notice" if address.endswith("none") else "#passages mark"
    console.at(expected.get(view, last)).first.wait_for()
    for summary in console.at("main summary:visible").all():
        summary.click()


def _add_one_with_warnings(console: Console, service: Service) -> None:
    service.outcome = lambda job: {**job, "result": {**job["result"], "warnings": [LONG]}}
    console.go("#/ingest")
    console.at("#text").fill("text")
    console.page.get_by_role("button", name="Add text").click()
    console.at(".item .notice").wait_for()


def test_the_main_path_is_walked_by_keyboard_alone(console: Console, service: Service) -> None:
    service.add(a_document(1, ["Nothing here.", "A zebra crosses.", "Nothing there."]))
    console.open(key=None)
    expect(console.at("#key")).to_be_focused()
    console.page.keyboard.type("the-key-of-the-tests-3f9")
    console.press("Enter")
    expect(console.at("#key-dialog")).to_be_hidden()
    expect(console.at("#q")).to_be_focused()
    console.page.keyboard.type("zebra")
    console.press("Enter")
    expect(console.at("#search-status")).to_contain_text("1 passage in default")
    console.tab_to(".result h2 a")
    console.tab_to(".result a.button")
    console.press("Enter")
    expect(console.at(".passage.found")).to_be_focused()
    expect(console.at(".passage")).to_have_count(3)
    console.page.evaluate("document.getElementById('document-heading').focus()")
    console.tab_to(".danger-quiet")
    console.press("Enter")
    expect(console.at("#confirm-cancel")).to_be_focused()
    console.press("Tab", "Enter")
    expect(console.at("#documents-status")).to_have_text("0 documents in default")
    assert service.documents == {}
    expect(console.at("#documents-heading")).to_be_focused()
    console.page.evaluate("document.activeElement.blur()")
    console.tab_to("[data-view=ingest]")
    console.press("Enter")
    expect(console.at("#ingest-heading")).to_be_focused()
    console.tab_to("#files")
    console.tab_to("#text-name")
    console.page.keyboard.type("notes.md")
    console.press("Tab")
    console.page.keyboard.type("A zebra.")
    console.press("Tab", "Enter")
    expect(console.at(".item[data-state=done]")).to_have_count(1)
    console.tab_to(".item a")
    console.press("Enter")
    expect(console.at("#document-heading")).to_be_focused()
    expect(console.at("#document-heading")).to_have_text("notes.md")


def test_the_first_stop_skips_to_the_content_and_the_address_stays(console: Console) -> None:
    console.open("#/collections")
    console.at("#collections-table th a").wait_for()
    console.page.evaluate("document.activeElement.blur()")
    console.tab_to("#skip", most=1)
    expect(console.at("#skip")).to_be_in_viewport()
    console.press("Enter")
    assert console.has_focus("main")
    assert console.page.url.endswith("#/collections")
    console.tab_to("#collections-table a", most=1)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_everything_has_a_name_and_can_be_read(
    console: Console, full: Service, scheme: Literal["light", "dark"]
) -> None:
    console.page.emulate_media(color_scheme=scheme)
    console.open(key=None)
    expect(console.at("#key")).to_be_visible()
    backgrounds: list[str] = [console.page.evaluate("getComputedStyle(document.body).backgroundColor")]
    seen: list[Any] = console.page.evaluate(CONTRAST)
    wrong: list[str] = console.page.evaluate(BASICS)
    console.enter_key()
    _add_one_with_warnings(console, full)
    for address in _every_view(console, full):
        _show(console, address)
        seen += console.page.evaluate(CONTRAST)
        wrong += console.page.evaluate(BASICS)
    assert wrong == []
    assert len(seen) > 150
    assert [(where, round(ratio, 2)) for where, ratio in seen if ratio < 4.5] == []
    assert backgrounds == [{"light": "rgb(244, 246, 249)", "dark": "rgb(14, 19, 26)"}[scheme]]


WIDTHS = (320, 680, 900, 970)
"""A telephone, and what stands on either side of each width at which tables change."""


def _wider(console: Console) -> list[int]:
    """Return the widths of screens that the page does not fit on."""
    found: list[int] = []
    for width in WIDTHS:
        console.page.set_viewport_size({"width": width, "height": 640})
        if console.page.evaluate("document.documentElement.scrollWidth") > width:
            found.append(width)
    return found


def test_nothing_is_wider_than_the_screen(console: Console, full: Service) -> None:
    console.page.set_viewport_size({"width": 320, "height": 640})
    console.open()
    _add_one_with_warnings(console, full)
    for address in _every_view(console, full):
        _show(console, address)
        assert _wider(console) == [], address


@pytest.mark.parametrize("view", ["search", "documents", "conflicts", "jobs"])
def test_the_views_are_listed_in_two_lines_on_a_phone(console: Console, view: str) -> None:
    console.open(f"#/{view}")
    tops = "[...new Set([...document.querySelectorAll('nav[aria-label=Views] a')].map((a) => a.offsetTop))]"
    for width in (360, 390):
        console.page.set_viewport_size({"width": width, "height": 640})
        assert len(console.page.evaluate(tops)) == 2, width


def test_the_long_name_of_a_collection_takes_no_room_from_others(console: Console, service: Service) -> None:
    for number, name in enumerate(("default", "all-documents-of-the-department-" * 2), start=1):
        service.add(a_document(number, ["A valve is turned once a year."], collection=name[:63]))
    console.open()
    console.search("valve")
    console.at(".result").first.wait_for()
    assert _wider(console) == []
    console.page.set_viewport_size({"width": 1400, "height": 640})
    widths = "['q', 'search-collection'].map((id) => document.getElementById(id).offsetWidth)"
    question, choice = console.page.evaluate(widths)
    assert question > choice


def test_no_review_is_wider_than_the_screen(console: Console, full: Service) -> None:
    gap = {"id": "R-3", "title": "Nobody answers this.", "citation": "one", "passage": 1}
    full.trace = {"threshold": 0.5, "summary": {"likely": 1}, "links": LINKS, "gaps": {"from": [gap], "to": []}}
    full.check = {"warning": "", "summary": {"partial": 1}, "rows": ROWS, "editions": []}
    full.documents[f"{1:016x}"]["title"] = "Requirements on crossings for zebras and others"
    pair = f"{1:016x}", f"{2:016x}"
    console.open()
    for address, ready in (("trace?from=%s&to=%s", ".gaps"), ("check?document=%s&standard=%s", "#check-rows select")):
        console.go(f"#/{address % pair}")
        console.at(ready).first.wait_for()
        assert _wider(console) == [], address


def test_on_paper_stands_what_was_asked_and_nothing_to_press(console: Console, full: Service) -> None:
    full.check = {"warning": "", "summary": {"partial": 1}, "rows": ROWS, "editions": []}
    console.open("#/search?q=zebra")
    console.at(".result mark").first.wait_for()
    console.page.emulate_media(media="print")
    expect(console.at("#search-heading")).to_have_text("Search: zebra")
    assert (console.at("#search-heading").bounding_box() or {})["width"] > 100
    expect(console.at("button:visible, input:visible")).to_have_count(0)
    console.go(f"#/check?document={1:016x}&standard={2:016x}")
    console.at("#check-rows select").first.wait_for()
    expect(console.at("#check-document")).to_be_visible()
    expect(console.at("#check-standard")).to_be_visible()
    expect(console.at("button:visible, input:visible")).to_have_count(0)
    console.page.emulate_media(media="screen")


def test_results_and_progress_are_reported_to_those_who_listen(console: Console, full: Service) -> None:
    console.open("#/search?q=zebra")
    status = console.page.get_by_role("status")
    expect(status.filter(has_text="4 passages in default")).to_have_attribute("aria-live", "polite")
    _add_one_with_warnings(console, full)
    expect(status.filter(has_text="Untitled text: added: 1 page, 1 passage, 1 warning")).to_have_count(1)
    full.failures["GET /documents"] = [Failure(500, "internal_error")]
    console.go("#/documents")
    expect(console.page.get_by_role("alert").filter(has_text="The service failed")).to_be_visible()


def test_the_basics_and_the_contrast_are_really_looked_at(console: Console) -> None:
    console.open(key=None)
    console.page.evaluate(
        """() => {
            const main = document.querySelector("main");
            const add = (tag, changes) => main.append(Object.assign(document.createElement(tag), changes));
            document.getElementById("key-dialog").close();
            add("input", { id: "q" });
            add("button", {});
            add("label", { htmlFor: "nothing", textContent: "x" });
            add("p", { className: "faint", textContent: "faint" });
            document.querySelector(".faint").style.color = "#8a94a3";
        }"""
    )
    wrong = console.page.evaluate(BASICS)
    assert [each.split(":")[0] for each in wrong] == ["no label", "no name", "twice", "for leads nowhere"]
    faint = [ratio for where, ratio in console.page.evaluate(CONTRAST) if where.startswith("P.faint")]
    assert len(faint) == 1
    assert 2.5 < faint[0] < 3.2
