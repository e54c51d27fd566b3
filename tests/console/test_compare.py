"""What changed between two documents, what traces to what, and the jobs of the service."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import TIME, Failure, Service, a_document

OLD, NEW = f"{1:016x}", f"{2:016x}"


def _side(label: str, passage: int) -> dict[str, Any]:
    return {"label": label, "citation": f"{label}, p. 1", "passage": passage}


CLAUSES = [
    {
        "became": "edited", "level": 1, "old": _side("1 Crossing", 0), "new": _side("1 Crossing", 1),
        "kinds": ["force"], "obligations": [],
        "rows": [[[["A zebra", False], ["should", True], ["cross.", False]],
                  [["A zebra", False], ["shall", True], ["cross.", False]]]],
    },
    {
        "became": "added", "level": 1, "old": None, "new": _side("2 Waiting", 1), "kinds": [],
        "obligations": ["added"], "rows": [[[], [["A horse shall wait.", True]]]],
    },
]  # fmt: skip
LINKS = [
    {
        "verdict": verdict, "probability": sure, "words": ["zebra"],
        "from": {"id": f"R-{number}", "title": "", "citation": "one", "passage": 0, "text": f"Zebra {number} crosses."},
        "to": {"id": f"T-{number}", "title": "", "citation": "two", "passage": 1, "text": "The zebra is seen."},
    }
    for number, verdict, sure in ((1, "likely", 0.8), (2, "uncertain", 0.2))
]  # fmt: skip


@pytest.fixture
def two(service: Service) -> Service:
    """Return a service with two documents, their changes and their trace."""
    service.add(a_document(1, ["A zebra should cross.", "x"], title="Crossing 2020"))
    service.add(a_document(2, ["x", "A zebra shall cross."], title="Crossing 2026"))
    service.changes = {"summary": {"edited": 1, "added": 1, "force": 1}, "total": 2, "clauses": CLAUSES}
    gap = {"id": "R-3", "title": "Nobody answers this.", "citation": "one", "passage": 1}
    service.trace = {
        "threshold": 0.5, "summary": {"likely": 1, "uncertain": 1}, "links": LINKS, "gaps": {"from": [gap], "to": []},
    }  # fmt: skip
    return service


def test_changes_stand_side_by_side_and_lead_to_their_passages(console: Console, two: Service) -> None:
    console.open(f"#/document/{NEW}")
    console.page.get_by_role("link", name="Compare", exact=True).nth(1).click()
    expect(console.at("#compare-status")).to_have_text("Choose the other document.")
    expect(console.at("#compare-new option:checked")).to_have_text("Crossing 2026 (file-2.pdf)")
    console.at("#compare-old").select_option(OLD)
    console.at("#compare-submit").click()
    expect(console.at("#compare-status")).to_have_text("2 clauses changed; 2 shown.")
    assert console.at("#compare-clauses del, #compare-clauses ins").all_text_contents() == [
        "should", "shall", "A horse shall wait.",
    ]  # fmt: skip
    assert console.at("#compare-summary .tag").all_text_contents() == ["1 edited", "1 added", "1 force"]
    console.at("#compare-kind").select_option("added")
    expect(console.at(".clause:visible")).to_have_count(1)
    expect(console.at(".clause:visible")).to_contain_text("not there yet")
    console.at("#compare-kind").select_option("")
    console.page.get_by_role("link", name="1 Crossing, p. 1").last.click()
    expect(console.at(".passage.found")).to_contain_text("A zebra shall cross.")
    console.page.go_back()
    console.at("#compare-swap").click()
    expect(console.at("#compare-old option:checked")).to_have_text("Crossing 2026 (file-2.pdf)")
    assert two.took("GET /changes")[-1]["old"] == NEW


def test_documents_that_cannot_be_compared_say_why(console: Console, two: Service) -> None:
    two.always["GET /changes"] = Failure(422, "validation_error", "These are not editions of one document.")
    console.open(f"#/compare?old={OLD}&new={NEW}")
    expect(console.at("#compare-problem")).to_contain_text("These are not editions of one document.")
    expect(console.at("#compare-submit")).to_be_enabled()


def test_many_changes_come_page_by_page(console: Console, two: Service) -> None:
    two.changes["total"] = 4
    console.open(f"#/compare?old={OLD}&new={NEW}")
    expect(console.at("#compare-status")).to_have_text("4 clauses changed; 2 shown.")
    console.at("#compare-more button").click()
    expect(console.at(".clause")).to_have_count(4)
    expect(console.at("#compare-more button")).to_have_count(0)
    assert [each["offset"] for each in two.took("GET /changes")] == ["0", "2"]


def test_a_trace_shows_links_with_evidence_and_gaps_and_is_narrowed(console: Console, two: Service) -> None:
    console.open("#/trace")
    console.at("#trace-from").select_option(OLD)
    console.at("#trace-to").select_option(NEW)
    console.at("#trace-submit").click()
    expect(console.at("#trace-status")).to_contain_text("2 links, 1 of them declared or likely")
    expect(console.at("#trace-links tbody tr")).to_have_count(2)
    console.at("#trace-verdict").select_option("sure")
    expect(console.at("#trace-links tbody tr:visible")).to_have_count(1)
    console.at("#trace-verdict").select_option("")
    console.at("#trace-words").fill("zebra 2")
    expect(console.at("#trace-links tbody tr:visible th")).to_contain_text("R-2")
    console.at(".gaps summary").click()
    expect(console.at(".gaps")).to_contain_text("Nobody answers this.")
    console.at(".gaps a").click()
    expect(console.at("#document-heading")).to_have_text("Crossing 2020")


def test_jobs_of_anybody_are_seen_with_their_progress_and_cancelled(console: Console, service: Service) -> None:
    service.hold.set()
    service.jobs[f"{1:016x}"] = {
        "job_id": f"{1:016x}", "state": "running", "progress": {"done": 10.0, "message": "reading"},
        "collection": "default", "source": "large.pdf", "created_at": TIME, "updated_at": TIME,
        "document": a_document(1, ["x"], title="Large"),
    }  # fmt: skip
    console.open("#/jobs")
    expect(console.at("#jobs-table tbody tr")).to_contain_text("embedding, 40 %")
    assert console.page.evaluate("document.querySelector('#jobs-table progress').value") == 40
    service.hold.clear()
    expect(console.at("#jobs-table tbody tr")).to_contain_text("1 page, 1 passage")
    expect(console.at("#jobs-status")).to_contain_text("1 job, 0 going on.")
    console.page.get_by_role("link", name="Open Large").click()
    expect(console.at("#document-heading")).to_have_text("Large")


def test_a_running_job_is_cancelled_and_a_failed_one_says_why(console: Console, service: Service) -> None:
    service.hold.set()
    base = {"progress": {"done": 0.0, "message": ""}, "collection": "default", "created_at": TIME, "updated_at": TIME}
    service.jobs["a"] = {**base, "job_id": "a", "state": "running", "source": "large.pdf", "document": {}}
    error = {
        "error": "validation_error",
        "detail": "broken.pdf is cut off.",
        "status_code": 422,
        "suggestion": "Mend it.",
    }
    service.jobs["b"] = {**base, "job_id": "b", "state": "failed", "source": "broken.pdf", "error": error}
    console.open("#/jobs")
    expect(console.at("#jobs-table")).to_contain_text("broken.pdf is cut off.")
    console.page.get_by_role("button", name="Cancel large.pdf").click()
    expect(console.at("#jobs-table")).to_contain_text("nothing of it was kept")
