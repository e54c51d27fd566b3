"""WCAG 2.2 AA as axe sees it, in the browser: every view, light and dark, wide and narrow, has no violation."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from playwright.sync_api import expect

from tests.console.browser import Console, probe
from tests.console.service import TIME, Service, a_document
from tests.console.test_beside import PICTURE, SECTIONS
from tests.console.test_changes import CLAUSES, PLACE
from tests.console.test_compare import CONFLICTS, LINKS, ROWS
from tests.machine import node_clients

pytestmark = pytest.mark.slow

SCHEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")
VIOLATIONS = probe("axe")
OPEN = "document.querySelectorAll('main details').forEach((each) => { each.open = true; })"
ONE, TWO = f"{1:016x}", f"{2:016x}"


@pytest.fixture(scope="module")
def axe() -> str:
    """Return the source of axe-core."""
    return (node_clients() / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture
def full(service: Service) -> Service:
    """Return a service in which every view has something of every kind."""
    for number, name in ((1, "animals"), (2, "roads")):
        texts = ["A zebra shall cross.", "| Zebra | Horse |\n|---|---|\n| a | b |", "Zebra crossing. " * 120]
        document = a_document(number, texts, collection=name, media_type="application/pdf", sections=SECTIONS[:2])
        service.add(document)
        service.pictures[document["doc_id"]] = PICTURE
    service.documents[TWO] |= {"status": "partial", "warnings": ["Page 2 is a scan."]}
    service.extra = {"degraded": ["Words only."], "below_min_score": 3, "answerability": 0.2}
    service.changes, service.places = CLAUSES, [PLACE]
    gap = {"id": "R-3", "title": "Nobody answers this.", "citation": "one", "passage": 1}
    gaps = {"from": [gap], "to": [gap]}
    service.trace = {"threshold": 0.5, "summary": {"likely": 1, "uncertain": 1}, "links": LINKS, "gaps": gaps}
    service.trace["rejected"] = [{side: LINKS[0][side] for side in ("from", "to")}]
    service.check = {"warning": "", "summary": {"partial": 1}, "rows": ROWS, "editions": ["two, 1: ISO 1:2001"]}
    service.conflicts = CONFLICTS
    base = {"collection": "animals", "source": "large.pdf", "created_at": TIME, "updated_at": TIME}
    service.jobs["a"] = {**base, "job_id": "a", "state": "running", "progress": {}, "document": {}}
    error = {"error": "validation_error", "detail": "It is cut off.", "status_code": 422, "suggestion": "Mend it."}
    progress = {"done": 0.0, "message": ""}
    service.jobs["b"] = {**base, "job_id": "b", "state": "failed", "progress": progress, "error": error}
    service.hold.set()
    return service


VIEWS = {
    "#/search?q=zebra": ".result mark",
    "#/search?q=nothing%20like%20that": ".notice.info li",
    f"#/document/{ONE}?at=1&q=zebra": "#passages mark",
    "#/document/none": "#document-problem .notice",
    "#/documents?c=roads": "#documents-table summary",
    "#/collections": "#collections-table th a",
    f"#/compare?old={ONE}&new={TWO}": ".clause ins",
    f"#/compare?old={ONE}&new={TWO}&kinds=moved": "#compare-clauses .notice",
    f"#/trace?from={ONE}&to={TWO}": ".gaps",
    f"#/check?document={ONE}&standard={TWO}": "#check-rows select",
    f"#/conflicts?of={ONE}&with={TWO}": "#conflicts-pairs details",
    "#/jobs": "#jobs-table progress",
    "#/ingest": ".item progress",
    "#/missing/there": "#missing-heading",
}


def _found(console: Console) -> list[Any]:
    return list(console.page.evaluate(VIOLATIONS))


def test_axe_finds_no_violation_in_any_view(console: Console, full: Service, axe: str) -> None:
    console.open()
    console.page.evaluate(axe)
    console.go("#/ingest")
    console.at("#text").fill("text")
    console.page.get_by_role("button", name="Add text").click()
    found: list[Any] = []
    for width in (1440, 360):
        console.page.set_viewport_size({"width": width, "height": 900})
        for scheme in SCHEMES:
            console.page.emulate_media(color_scheme=scheme)
            for address, ready in VIEWS.items():
                console.go(address)
                console.at(ready).first.wait_for(state="attached")
                console.page.evaluate(OPEN)
                found += [(width, scheme, address, each) for each in _found(console)]
    assert found == []


def test_axe_finds_no_violation_in_the_dialogs(console: Console, full: Service, axe: str) -> None:
    console.open(key=None)
    expect(console.at("#key")).to_be_focused()
    console.page.evaluate(axe)
    for scheme in SCHEMES:
        console.page.emulate_media(color_scheme=scheme)
        assert _found(console) == []
    console.enter_key()
    console.at("#status-button").click()
    assert _found(console) == []
    console.at("#status-close").click()
    console.go(f"#/document/{ONE}?at=1")
    console.at("#page-enlarge").click()
    console.at("#page-large img").wait_for()
    assert _found(console) == []
    console.press("Escape")
    console.go("#/collections")
    console.page.get_by_role("button", name="Delete animals").click()
    assert _found(console) == []


def test_axe_finds_what_is_wrong_where_something_is(console: Console, axe: str) -> None:
    console.open()
    console.page.evaluate(axe)
    console.page.evaluate(
        """() => {
            const faint = Object.assign(document.createElement("p"), { textContent: "faint", id: "faint" });
            faint.style.color = "#c4c9d0";
            document.querySelector("main").append(faint, document.createElement("img"));
            document.getElementById("q").labels[0].remove();
        }"""
    )
    assert {each["rule"] for each in _found(console)} >= {"color-contrast", "image-alt"}
