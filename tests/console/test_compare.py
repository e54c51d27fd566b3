"""What traces to what, what is said of obligations, what contradicts what, and the jobs of the service."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import TIME, Failure, Service, a_document

OLD, NEW = f"{1:016x}", f"{2:016x}"
LINKS = [
    {
        "verdict": verdict, "probability": sure, "words": ["zebra"],
        "from": {"id": f"R-{number}", "title": "", "citation": "one", "passage": 0, "text": f"Zebra {number} crosses."},
        "to": {"id": f"T-{number}", "title": "", "citation": "two", "passage": 1, "text": "The zebra is seen."},
    }
    for number, verdict, sure in ((1, "likely", 0.8), (2, "uncertain", 0.2))
]  # fmt: skip


ROWS = [
    {
        "row": f"1#{number}", "requirement": f"A zebra shall cross {number}.", "citation": "one", "passage": 0,
        "kind": "obligation", "verdict": verdict, "quotes": quotes, "checks": checks, "mark": "", "note": "",
    }
    for number, verdict, quotes, checks in (
        (1, "partial", [{"quote": "A zebra crosses.", "citation": "two, 1", "passage": 1}], ["limit not met: 5 / 8"]),
        (2, "none found", [], []),
    )
]  # fmt: skip


def _pair(kind: str, why: str, also_in: int = 0) -> dict[str, Any]:
    one, other = (
        {
            "doc_id": f"{number:016x}", "title": "Crossing", "edition": "", "collection": "default", "id": "R-1",
            "text": f"A zebra shall cross within {number} minutes.", "citation": f"Crossing {number}",
            "passage": number - 1,
        }
        for number in (1, 2)
    )  # fmt: skip
    return {"kind": kind, "why": why, "one": one, "other": other, "also_in": [one] * also_in}


CONFLICTS = [_pair("limit", "at most 60 s and at most 120 s"), _pair("duplicate", "they demand the same", 3)]


@pytest.fixture
def two(service: Service) -> Service:
    """Return a service with two documents, and what they come to when they are held against each other."""
    service.add(a_document(1, ["A zebra should cross.", "x"], title="Crossing 2020"))
    service.add(a_document(2, ["x", "A zebra shall cross."], title="Crossing 2026"))
    gap = {"id": "R-3", "title": "Nobody answers this.", "citation": "one", "passage": 1}
    service.trace = {
        "threshold": 0.5, "summary": {"likely": 1, "uncertain": 1}, "links": LINKS, "gaps": {"from": [gap], "to": []},
    }  # fmt: skip
    service.check = {
        "warning": "", "summary": {"obligation": 2, "partial": 1, "none found": 1}, "rows": ROWS, "editions": [],
    }  # fmt: skip
    return service


def test_a_trace_shows_links_with_evidence_and_gaps_and_is_narrowed(console: Console, two: Service) -> None:
    console.open("#/trace")
    expect(console.at("#view-trace")).to_contain_text("See which requirements of one document belong")
    console.at("#trace-from").select_option(OLD)
    console.at("#trace-to").select_option(NEW)
    console.at("#trace-submit").click()
    expect(console.at("#trace-status")).to_contain_text("2 links, 1 of them declared or likely")
    expect(console.at("#trace-summary .tag.bad")).to_have_text("From: 1 without a link")
    expect(console.at("#trace-shown")).to_be_empty()
    expect(console.at("#trace-links tbody tr")).to_have_count(2)
    console.at("#trace-verdict").select_option("sure")
    expect(console.at("#trace-links tbody tr:visible")).to_have_count(1)
    console.at("#trace-verdict").select_option("")
    console.at("#trace-words").fill("giraffe")
    expect(console.at("#trace-shown")).to_have_text("0 of 2 rows shown")
    console.at("#trace-words").fill("zebra 2")
    expect(console.at("#trace-links tbody tr:visible th")).to_contain_text("R-2")
    console.at(".gaps summary").click()
    expect(console.at(".gaps")).to_contain_text("Nobody answers this.")
    console.at(".gaps a").click()
    expect(console.at("#document-heading")).to_have_text("Crossing 2020")


@pytest.mark.slow
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
    expect(console.at("#jobs-status")).to_contain_text("1 job, 0 in progress.")
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
    expect(console.at("#jobs-table")).to_contain_text("nothing was kept")


def test_links_are_accepted_and_rejected_by_the_keyboard_and_that_is_taken_back(console: Console, two: Service) -> None:
    console.open(f"#/trace?from={OLD}&to={NEW}")
    row = console.at("#trace-links tbody tr").first
    accept = row.get_by_role("button", name="Accept the link from R-1 to T-1")
    accept.focus()
    console.press("Enter")
    expect(accept).to_have_attribute("aria-pressed", "true")
    expect(row.locator(".tag")).to_have_text("declared")
    console.press("Tab")
    console.press("Space")
    reject = row.get_by_role("button", name="Reject the link from R-1 to T-1")
    expect(reject).to_have_attribute("aria-pressed", "true")
    expect(accept).to_have_attribute("aria-pressed", "false")
    expect(row.locator(".tag")).to_have_text("rejected")
    expect(reject).to_be_focused()
    console.press("Space")
    expect(reject).to_have_attribute("aria-pressed", "false")
    expect(row.locator(".tag")).to_have_text("likely")
    pair = {"from": OLD, "to": NEW, "source_item": "R-1", "target_item": "T-1"}
    assert two.took("POST /trace/decisions") == [{**pair, "accepted": each} for each in (True, False, None)]


def test_a_decision_that_is_refused_changes_nothing(console: Console, two: Service) -> None:
    two.always["POST /trace"] = Failure(403, "forbidden", "This key may not write.")
    console.open(f"#/trace?from={OLD}&to={NEW}")
    row = console.at("#trace-links tbody tr").first
    row.get_by_role("button", name="Accept").click()
    expect(console.at("#trace-problem")).to_contain_text("This key may not write.")
    expect(row.locator(".tag")).to_have_text("likely")
    expect(row.get_by_role("button", name="Accept")).to_be_enabled()


def test_rejected_links_are_listed_and_taken_back(console: Console, two: Service) -> None:
    two.trace["rejected"] = [{side: LINKS[0][side] for side in ("from", "to")}]
    console.open(f"#/trace?from={OLD}&to={NEW}")
    console.at(".gaps summary").get_by_text("Rejected: 1 link").click()
    console.page.get_by_role("button", name="Undo the rejection of R-1 to T-1").click()
    expect(console.at("#trace-gaps")).to_contain_text("R-1 → T-1: undone")
    assert two.took("POST /trace/decisions")[0]["accepted"] is None


def test_a_check_shows_evidence_and_keeps_marks_and_notes(console: Console, two: Service) -> None:
    console.open(f"#/document/{NEW}")
    console.page.get_by_role("link", name="Check", exact=True).nth(1).click()
    expect(console.at("#check-status")).to_have_text("Choose the other document.")
    console.at("#check-standard").select_option(OLD)
    console.at("#check-submit").click()
    expect(console.at("#check-status")).to_contain_text("2 rows. A person must decide")
    rows = console.at("#check-rows tbody tr")
    expect(rows.first.locator("blockquote")).to_contain_text("A zebra crosses.")
    expect(rows.first).to_contain_text("limit not met: 5 / 8")
    assert "compliant" not in console.at("#view-check").inner_text().lower()
    console.page.get_by_label("Mark of 1#2").select_option("not-applicable")
    expect(rows.nth(1).locator("th .tag")).to_have_text("not-applicable")
    console.page.get_by_label("Note on 1#2").fill("no zebras here")
    console.press("Tab")
    pair = {"document": NEW, "standard": OLD, "row": "1#2", "requirement": "A zebra shall cross 2."}
    expect(console.page.get_by_label("Note on 1#2")).to_be_enabled()
    assert two.took("POST /check/marks") == [
        {**pair, "mark": "not-applicable", "note": ""},
        {**pair, "mark": "not-applicable", "note": "no zebras here"},
    ]
    console.page.get_by_label("Mark of 1#2").select_option("")
    expect(rows.nth(1).locator("th .tag")).to_have_text("obligation")
    console.at("#check-verdict").select_option("none found")
    expect(console.at("#check-rows tbody tr:visible")).to_have_count(1)
    assert console.at("#check-summary .tag").all_text_contents() == ["2 obligations", "1 partial", "1 none found"]
    rows.nth(0).locator("blockquote a").evaluate("(each) => each.click()")
    expect(console.at(".passage.found")).to_contain_text("A zebra shall cross.")


def test_a_mark_that_is_refused_is_put_back(console: Console, two: Service) -> None:
    two.always["POST /check"] = Failure(403, "forbidden", "This key may not write.")
    console.open(f"#/check?document={NEW}&standard={OLD}")
    console.page.get_by_label("Mark of 1#1").select_option("informative")
    expect(console.at("#check-problem")).to_contain_text("This key may not write.")
    expect(console.page.get_by_label("Mark of 1#1")).to_have_value("")


@pytest.mark.slow
def test_a_trace_that_takes_long_is_followed_as_a_job_and_can_be_cancelled(console: Console, two: Service) -> None:
    base = {"collection": "default", "source": "Crossing 2020 → Crossing 2026", "kind": "trace", "created_at": TIME}
    base |= {"documents": [OLD, NEW], "updated_at": TIME, "state": "running"}
    for name in ("slow", "slower"):
        two.jobs[name] = {**base, "job_id": name, "progress": {"done": 0.0, "message": ""}}
    two.goes_on = ["slow", "slower"]
    two.hold.set()
    console.open(f"#/trace?from={OLD}&to={NEW}")
    expect(console.at("#trace-status")).to_contain_text("If you leave this page, it continues under Jobs.")
    console.at("#trace-cancel").click()
    expect(console.at("#trace-status")).to_have_text("Cancelled.")
    expect(console.at("#trace-submit")).to_be_enabled()
    console.page.reload()
    console.enter_key()
    expect(console.at("#trace-cancel")).to_be_visible()
    two.hold.clear()
    expect(console.at("#trace-status")).to_contain_text("2 links")


def test_another_pair_can_be_chosen_while_a_trace_runs(console: Console, two: Service) -> None:
    base = {"collection": "default", "source": "x", "kind": "trace", "documents": [OLD, NEW], "created_at": TIME}
    two.jobs["slow"] = {**base, "job_id": "slow", "updated_at": TIME, "state": "running", "progress": {}}
    two.goes_on = ["slow"]
    two.hold.set()
    console.open(f"#/trace?from={OLD}&to={NEW}")
    expect(console.at("#trace-cancel")).to_be_visible()
    console.at("nav [data-view=trace]").click()
    expect(console.at("#trace-submit")).to_be_enabled()
    expect(console.at("#trace-status")).to_be_empty()


def test_a_trace_that_failed_as_a_job_says_why(console: Console, two: Service) -> None:
    error = {"error": "validation_error", "detail": "It has no text.", "status_code": 422, "suggestion": "Mend it."}
    two.jobs["bad"] = {
        "job_id": "bad", "collection": "default", "source": "x", "kind": "trace", "documents": [OLD, NEW],
        "created_at": TIME, "updated_at": TIME, "state": "failed", "progress": {}, "error": error,
    }  # fmt: skip
    two.goes_on = ["bad"]
    console.open(f"#/trace?from={OLD}&to={NEW}")
    expect(console.at("#trace-problem")).to_contain_text("It has no text.")
    assert len(two.took("GET /trace")) == 1


def test_conflicts_tell_both_places_and_why_and_are_chosen_by_kind(console: Console, two: Service) -> None:
    two.conflicts = CONFLICTS
    console.open("#/conflicts")
    console.at("#conflicts-of").select_option(OLD)
    console.at("#conflicts-with").select_option(NEW)
    console.at("#conflicts-submit").click()
    expect(console.at("#conflicts-status")).to_contain_text(
        "2 pairs, 2 shown, among 4 sentences with force of 2 documents"
    )
    assert console.at("#conflicts-summary .tag").all_text_contents() == ["1 limit", "1 duplicate"]
    rows = console.at("#conflicts-pairs tbody tr")
    expect(rows.first.locator("th")).to_contain_text("at most 60 s and at most 120 s")
    expect(rows.nth(1).locator("summary")).to_have_text("Also in 3 other places")
    assert [f"document={each}" in console.requests[-1].url for each in (OLD, NEW)] == [True, True]
    kinds = console.at("#conflicts-verdict")
    kinds.focus()
    kinds.select_option("duplicate")
    expect(rows).to_have_count(1)
    expect(kinds).to_be_focused()
    rows.first.get_by_role("link", name="Crossing 2").click()
    expect(console.at(".passage.found")).to_contain_text("A zebra shall cross.")


def test_conflicts_of_a_whole_collection_come_in_pages(console: Console, two: Service) -> None:
    two.conflicts = [_pair("force", f"reason {number}") for number in range(150)]
    console.open("#/conflicts")
    console.at("#conflicts-of").select_option(label="All documents of default")
    console.at("#conflicts-submit").click()
    expect(console.at("#conflicts-status")).to_contain_text("150 pairs, 100 shown")
    assert "collection=default" in console.requests[-1].url
    console.at("#conflicts-more button").click()
    expect(console.at("#conflicts-status")).to_contain_text("150 pairs, 150 shown")
    expect(console.at("#conflicts-pairs tbody tr")).to_have_count(150)
    expect(console.at("#conflicts-more button")).to_have_count(0)


@pytest.mark.slow
def test_a_search_for_conflicts_is_a_job_that_leads_back_to_what_was_chosen(console: Console, two: Service) -> None:
    base = {"source": "default", "kind": "conflicts", "created_at": TIME, "updated_at": TIME, "collection": "default"}
    two.jobs["slow"] = {
        **base, "job_id": "slow", "documents": [], "state": "running", "progress": {"done": 0.0, "message": ""},
    }  # fmt: skip
    two.goes_on, two.conflicts = ["slow"], CONFLICTS
    two.hold.set()
    console.open("#/conflicts?of=all:default")
    expect(console.at("#conflicts-status")).to_contain_text("40 %")
    console.go("#/jobs")
    expect(console.at("#jobs-table")).to_contain_text("conflicts: default")
    two.hold.clear()
    console.page.get_by_role("link", name="Open default").click()
    expect(console.at("#conflicts-status")).to_contain_text("2 pairs")
    expect(console.at("#conflicts-of option:checked")).to_have_text("All documents of default")


def test_jobs_lead_to_what_they_came_to(console: Console, two: Service) -> None:
    two.jobs["done"] = {
        "job_id": "done", "collection": "default", "source": "Crossing 2020 → Crossing 2026", "kind": "check",
        "documents": [NEW, OLD], "created_at": TIME, "updated_at": TIME, "state": "done", "progress": {"done": 100.0},
    }  # fmt: skip
    console.open("#/jobs")
    expect(console.at("#jobs-table tbody th")).to_have_text("check: Crossing 2020 → Crossing 2026")
    console.page.get_by_role("link", name="Open Crossing 2020").click()
    expect(console.at("#check-status")).to_contain_text("2 rows.")
