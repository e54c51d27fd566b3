"""What changed between two editions: side by side, of a kind, page by page, and there again on coming back."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Route, expect

from tests.console.browser import Console
from tests.console.service import Failure, Service, a_document
from tests.waiting import wait_until

OLD, NEW = f"{1:016x}", f"{2:016x}"
COMPARISON = f"#/compare?old={OLD}&new={NEW}"


def _side(label: str, passage: int) -> dict[str, Any]:
    return {"label": label, "citation": f"Crossing, {label}, p. 1 [crossing.pdf]", "passage": passage}


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
PLACE = {
    "doc_id": NEW, "kind": "requirement", "identifier": "", "text": "A zoo shall comply with CROSS 1, clause 1.",
    "citation": "Zoos, 2 Roads, p. 1", "passage": 1, "reference": "CROSS 1, clause 1", "dated": "", "clause": "1",
    "became": "edited", "kinds": ["force", "requirements_added"],
}  # fmt: skip
MOVED = [
    {
        "became": "moved", "level": 1, "old": _side(f"{number} Gate", 0), "new": _side(f"{number + 1} Gate", 1),
        "kinds": ["number"] if number % 40 == 0 else [], "obligations": [], "rows": [],
    }
    for number in range(3, 123)
]  # fmt: skip


@pytest.fixture
def editions(service: Service) -> Service:
    """Return a service with two editions of one title, and what changed from one to the other."""
    for number, edition, texts in (
        (1, "2020", ["A zebra should cross.", "x"]),
        (2, "2026", ["x", "A zebra shall cross."]),
    ):
        service.add(a_document(number, texts, title="Crossing", edition=edition))
    service.changes = CLAUSES
    return service


@pytest.fixture
def many(editions: Service) -> Service:
    """Return a service with editions that differ in more clauses than are shown at once: 122."""
    editions.changes = [*CLAUSES, *MOVED]
    return editions


def test_changes_stand_side_by_side_and_lead_to_their_passages(console: Console, editions: Service) -> None:
    console.open(f"#/document/{NEW}")
    console.page.get_by_role("link", name="Compare", exact=True).nth(1).click()
    expect(console.at("#compare-status")).to_have_text("Choose the other document.")
    expect(console.at("#compare-new option:checked")).to_have_text("Crossing (edition 2026, file-2.pdf)")
    console.at("#compare-old").select_option(label="Crossing (edition 2020, file-1.pdf)")
    console.at("#compare-submit").click()
    expect(console.at("#compare-status")).to_have_text("2 clauses changed; 2 shown.")
    assert console.at("#compare-clauses del, #compare-clauses ins").all_text_contents() == [
        "should", "shall", "A horse shall wait.",
    ]  # fmt: skip
    assert console.at("#compare-summary .tag").all_text_contents() == [
        "1 edited", "1 force", "1 added", "1 requirement added",
    ]  # fmt: skip
    assert console.at(".clause").first.locator("strong").all_text_contents() == [
        "Before, edition 2020",
        "After, edition 2026",
    ]
    console.page.get_by_role("link", name="1 Crossing, p. 1", exact=True).last.click()
    expect(console.at(".passage.found")).to_contain_text("A zebra shall cross.")
    console.page.go_back()
    console.at("#compare-swap").click()
    expect(console.at("#compare-old option:checked")).to_have_text("Crossing (edition 2026, file-2.pdf)")
    wait_until(lambda: editions.took("GET /changes")[-1]["old"] == NEW)


def test_what_is_shown_is_chosen_among_what_there_is_and_asked_of_the_service(
    console: Console, editions: Service
) -> None:
    console.open(COMPARISON)
    shown = console.at("#compare-kind")
    expect(shown.locator("option")).to_have_text([
        "All changes (2 clauses)", "Force: shall, should, may (1)", "Requirements added (1)", "Clauses edited (1)",
        "Clauses added (1)",
    ])  # fmt: skip
    shown.focus()
    shown.select_option("requirements_added")
    expect(console.at("#compare-status")).to_have_text("Requirements added: 1 of 2 changed clauses; 1 shown.")
    expect(console.at(".clause")).to_contain_text("not in this edition")
    expect(shown).to_be_focused()
    assert editions.took("GET /changes")[-1]["kinds"] == "requirements_added"
    console.page.go_back()
    expect(console.at(".clause")).to_have_count(2)
    expect(shown).to_have_value("")
    console.page.go_forward()
    expect(shown).to_have_value("requirements_added")
    console.page.reload()
    console.enter_key()
    expect(console.at("#compare-status")).to_contain_text("Requirements added: 1 of 2")
    expect(shown).to_have_value("requirements_added")
    shown.select_option("")
    expect(console.at("#compare-status")).to_have_text("2 clauses changed; 2 shown.")


def test_where_nothing_is_of_a_kind_that_is_said(console: Console, editions: Service) -> None:
    console.open(f"{COMPARISON}&kinds=definition")
    expect(console.at("#compare-status")).to_have_text("Definitions: none of 2 changed clauses.")
    expect(console.at("#compare-clauses")).to_contain_text("There are no changes of this kind")
    expect(console.at("#compare-kind option:checked")).to_have_text("Definitions (0)")
    console.page.get_by_role("button", name="Show all changes").click()
    expect(console.at(".clause")).to_have_count(2)
    expect(console.at("#compare-kind")).to_be_focused()
    expect(console.at("#compare-kind").get_by_text("Definitions")).to_have_count(0)


def test_editions_that_say_the_same_leave_nothing_to_choose(console: Console, editions: Service) -> None:
    editions.changes = []
    console.open(COMPARISON)
    expect(console.at("#compare-status")).to_have_text("Nothing changed: all clauses are the same.")
    expect(console.at("#compare-kind")).to_be_hidden()
    expect(console.at("#compare-touched")).to_be_empty()


def test_documents_that_cannot_be_compared_say_why_and_are_tried_again(console: Console, editions: Service) -> None:
    message = "These are not editions of the same document."
    editions.failures["GET /changes"] = [Failure(422, "validation_error", message)]
    console.open(COMPARISON)
    expect(console.at("#compare-problem")).to_contain_text("These are not editions of the same document.")
    expect(console.at("#compare-submit")).to_be_enabled()
    expect(console.page.get_by_role("button", name="Show all changes")).to_have_count(0)
    console.page.get_by_role("button", name="Try again").click()
    expect(console.at(".clause")).to_have_count(2)
    expect(console.at("#compare-problem")).to_be_empty()


def test_a_kind_that_the_service_does_not_know_leads_to_all_changes(console: Console, editions: Service) -> None:
    refusal = Failure(422, "validation_error", "Unknown kind of change: 'colour'.", "Use force, number.")
    editions.failures["GET /changes"] = [refusal]
    console.open(f"{COMPARISON}&kinds=colour")
    expect(console.at("#compare-problem")).to_contain_text("Use force, number.")
    console.page.get_by_role("button", name="Show all changes").click()
    expect(console.at(".clause")).to_have_count(2)


def test_what_takes_its_time_says_so_and_leaves_no_clause_of_another_kind(console: Console, editions: Service) -> None:
    console.open(COMPARISON)
    expect(console.at(".clause")).to_have_count(2)
    waiting: list[Route] = []

    def hold(route: Route) -> None:
        waiting.append(route)

    console.page.route("**/changes?*", hold)
    console.at("#compare-kind").select_option("force")
    expect(console.at("#compare-status")).to_have_text("Comparing …")
    expect(console.at("#compare-kind")).to_have_value("force")
    expect(console.at("#compare-clauses")).to_have_attribute("aria-busy", "true")
    expect(console.at("#compare-submit")).to_be_disabled()
    wait_until(lambda: len(waiting) == 1)
    waiting[0].abort()
    expect(console.at("#compare-problem")).to_contain_text("Try again")
    expect(console.at(".clause")).to_have_count(0)
    expect(console.at("#compare-clauses")).not_to_have_attribute("aria-busy", "true")
    console.page.unroute_all()
    console.page.go_back()
    expect(console.at("#compare-kind")).to_have_value("")
    expect(console.at(".clause")).to_have_count(2)
    console.at("#compare-kind").select_option("added")
    expect(console.at(".clause")).to_have_count(1)
    expect(console.at(".clause")).to_contain_text("A horse shall wait.")
    console.page.route("**/changes?*", hold)
    console.at("#compare-swap").click()
    expect(console.at("#compare-submit")).to_be_disabled()
    console.go("#/compare")
    expect(console.at("#compare-submit")).to_be_enabled()
    expect(console.at(".clause")).to_have_count(0)


def test_many_changes_come_page_by_page_also_those_of_a_kind(console: Console, many: Service) -> None:
    console.open(f"{COMPARISON}&kinds=moved")
    expect(console.at("#compare-status")).to_have_text("Clauses moved: 120 of 122 changed clauses; 50 shown.")
    more = console.page.get_by_role("button", name="Show more changed clauses")
    more.focus()
    console.press("Enter")
    expect(console.at("#compare-status")).to_contain_text("100 shown.")
    expect(console.at(".clause").nth(50).locator("summary")).to_be_focused()
    more.click()
    expect(console.at(".clause")).to_have_count(120)
    expect(more).to_have_count(0)
    asked = [(each["kinds"], each["offset"], each["limit"]) for each in many.took("GET /changes")]
    assert asked == [("moved", "0", "50"), ("moved", "50", "50"), ("moved", "100", "50")]


def test_a_page_that_fails_leaves_the_others_and_is_tried_again(console: Console, many: Service) -> None:
    console.open(COMPARISON)
    more = console.page.get_by_role("button", name="Show more changed clauses")
    expect(more).to_be_visible()
    many.failures["GET /changes"] = [Failure(503, "unavailable", "The store does not answer.")]
    more.click()
    expect(console.at("#compare-more")).to_contain_text("The store does not answer.")
    expect(console.at(".clause")).to_have_count(50)
    console.at("#compare-more").get_by_role("button", name="Try again").click()
    expect(console.at(".clause")).to_have_count(100)
    assert console.at(".clause-name").all_text_contents()[49:52] == [
        "50 Gate 51 Gate",
        "51 Gate 52 Gate",
        "52 Gate 53 Gate",
    ]


def test_what_was_loaded_is_there_again_on_coming_back_and_after_a_reload(console: Console, many: Service) -> None:
    console.open(COMPARISON)
    console.page.get_by_role("button", name="Show more changed clauses").click()
    expect(console.at(".clause")).to_have_count(100)
    link = console.at(".clause").nth(80).get_by_role("link").last
    link.click()
    expect(console.at("#document-heading")).to_have_text("Crossing")
    before = len(many.took("GET /changes"))
    console.page.go_back()
    expect(link).to_be_focused()
    expect(link).to_be_in_viewport()
    assert len(many.took("GET /changes")) == before
    console.page.reload()
    console.enter_key()
    expect(console.at("#compare-status")).to_have_text("122 clauses changed; 100 shown.")
    assert (many.took("GET /changes")[-1]["offset"], many.took("GET /changes")[-1]["limit"]) == ("0", "100")
    console.at("#compare-kind").select_option("moved")
    expect(console.at("#compare-status")).to_contain_text("50 shown.")
    console.page.go_back()
    expect(console.at("#compare-status")).to_have_text("122 clauses changed; 100 shown.")


def test_what_a_comparison_touches_is_looked_for_where_somebody_opens_it(console: Console, editions: Service) -> None:
    whole: dict[str, Any] = {"clause": "", "became": "", "kinds": [], "dated": "2020", "reference": "CROSS 1:2020"}
    editions.places = [PLACE, {**PLACE, **whole}]
    editions.failures["GET /impact"] = [Failure(503, "unavailable", "The store does not answer.")]
    console.open(COMPARISON)
    expect(console.at(".clause")).to_have_count(2)
    assert editions.took("GET /impact") == []
    part = console.at("#compare-touched")
    part.locator("summary").focus()
    console.press("Enter")
    expect(part).to_contain_text("The store does not answer.")
    part.get_by_role("button", name="Try again").click()
    status = part.get_by_role("status")
    expect(status).to_have_text("2 references in other documents. 1 reference to unchanged clauses.")
    expect(part.locator("li").first).to_contain_text(
        "Zoos, 2 Roads, p. 1 refers to CROSS 1, clause 1, the current edition; "
        "clause 1: edited, force, requirements added"
    )
    expect(part.locator("li").last).to_have_text(re.compile("refers to CROSS 1:2020, the edition 2020$"))
    console.at("#compare-kind").select_option("force")
    expect(console.at(".clause")).to_have_count(1)
    expect(part.locator("li")).to_have_count(2)
    part.get_by_role("link").first.click()
    expect(console.at(".passage.found")).to_contain_text("A zebra shall cross.")
    console.page.go_back()
    console.at("#compare-swap").click()
    wait_until(lambda: editions.took("GET /changes")[-1]["old"] == NEW)
    expect(part.locator("li")).to_have_count(0)


def test_a_library_that_changed_is_compared_again(console: Console, many: Service) -> None:
    console.open(COMPARISON)
    expect(console.at(".clause")).to_have_count(50)
    console.go("#/documents")
    many.changes = CLAUSES
    console.page.evaluate("dispatchEvent(new Event('library-changed'))")
    console.page.go_back()
    expect(console.at("#compare-status")).to_have_text("2 clauses changed; 2 shown.")
