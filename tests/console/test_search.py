"""The search view: questions, options, results with their evidence, and what is shown without any."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import Failure, Service, a_document

TEXTS = [
    "The supplier shall verify each requirement before delivery.",
    "Verification reports name the tool that was used.",
    "Lunch is served at noon.",
    "| Method | Kept for |\n|---|---|\n| Test | requirement life |",
]


@pytest.fixture
def standard(service: Service) -> Service:
    """Return a service that holds one document."""
    service.add(a_document(1, TEXTS, title="Verifying Software", filename="verify.pdf"))
    return service


def test_a_result_shows_score_place_citation_and_the_words_found(console: Console, standard: Service) -> None:
    console.open()
    console.search("How is each requirement verified before the delivery?")
    first = console.at(".result").first
    expect(first.locator("h2")).to_have_text("1. Verifying Software")
    assert first.locator("mark").all_text_contents() == ["Verifying", "verify", "requirement", "before", "delivery"]
    expect(first.locator(".places")).to_have_text("verify.pdfpage 1lines 1–8clause 5.1Part › Detail")
    expect(first.locator(".citation q")).to_have_text("Verifying Software, 2nd edition, 5.1 Detail, p. 1")
    expect(first.locator("meter")).to_have_attribute("aria-label", "Score 0.80 of 1")
    assert console.page.evaluate("document.querySelector('meter').value") == pytest.approx(0.8)
    expect(console.at("#search-status")).to_contain_text("2 passages in default, hybrid")


def test_a_table_in_a_passage_is_shown_as_a_table(console: Console, standard: Service) -> None:
    console.open()
    console.search("method kept life")
    assert console.at(".result table th").all_text_contents() == ["Method", "Kept for"]
    assert console.at(".result table td").all_text_contents() == ["Test", "requirement life"]


def test_a_passage_from_right_to_left_ends_at_its_left(console: Console, service: Service) -> None:
    service.add(a_document(3, ["يجب أن تتحمل المضخة ضغط 16 بار."], title="المضخة", filename="pumps.pdf"))
    console.open()
    console.search("المضخة")
    ends = """(shown) => {
        const text = document.createTreeWalker(shown, NodeFilter.SHOW_TEXT);
        const nodes = []; while (text.nextNode()) nodes.push(text.currentNode);
        const at = (node, offset) => { const one = document.createRange(); one.setStart(node, offset);
            one.setEnd(node, offset + 1); return one.getBoundingClientRect().left; };
        const last = nodes[nodes.length - 1];
        return [at(nodes[0], 0), at(last, last.data.length - 1)];
    }"""
    first, last = console.at(".passage-text").evaluate(ends)
    assert last < first


def test_what_a_passage_was_cut_off_from_stands_above_it(console: Console, standard: Service) -> None:
    rows = a_document(2, ["| Audit | five years |", "b) audits are kept."], title="Records", filename="records.pdf")
    heads = ["Table 3\n| Method | Kept for |", "The supplier shall see that:"]
    for chunk, head in zip(rows["chunks"], heads, strict=True):
        chunk["metadata"]["cut_from"] = head
    standard.add(rows)
    console.open()
    console.search("audit audits")
    expect(console.at(".result")).to_have_count(2)
    table, item = console.at(".result").all()
    assert table.locator("th").all_text_contents() == ["Method", "Kept for"]
    assert table.locator("td").all_text_contents() == ["Audit", "five years"]
    expect(table.locator(".cut-from")).to_have_text("Table 3 …")
    expect(item.locator(".cut-from")).to_have_text("The supplier shall see that: …")
    expect(item.locator(".passage-text")).to_contain_text("b) audits are kept.")


def test_every_option_is_sent_and_kept_in_the_address(console: Console, standard: Service) -> None:
    console.open()
    console.at("#options summary").click()
    console.at("#mode").select_option("keyword")
    console.at("#top-k").fill("3")
    console.at("#min-score").fill("0.25")
    console.at("#clause").fill("5.1")
    console.at("#document-type").select_option("standard")
    console.at("#normative").select_option("false")
    console.at("#document-filter").press_sequentially("verifying")
    expect(console.at("#document-options option")).to_have_count(1)
    console.at("#document-filter").fill(str(console.at("#document-options option").get_attribute("value")))
    console.search("requirement")
    expected = {
        "query": "requirement", "collection": "default", "mode": "keyword", "top_k": 3, "min_score": 0.25,
        "filters": {"document_id": f"{1:016x}", "document_type": "standard", "normative": False,
                    "clause_number": "5.1"},
    }  # fmt: skip
    assert standard.took("POST /search") == [expected]
    expect(console.at("#options-summary")).to_have_text(
        "keyword, minimum score 0.25, clause 5.1, standard, informative, one document"
    )
    console.page.reload()
    console.enter_key()
    expect(console.at("#document-filter")).to_have_value("Verifying Software (verify.pdf) · 0000000000000001")
    expect(console.at(".result")).to_have_count(1)
    assert standard.took("POST /search") == [expected, expected]


def test_an_address_without_options_sends_the_usual_ones(console: Console, standard: Service) -> None:
    console.open("#/search?q=requirement")
    expect(console.at(".result")).to_have_count(2)
    assert standard.took("POST /search") == [
        {"query": "requirement", "collection": "default", "mode": "hybrid", "top_k": 10, "min_score": 0}
    ]


def test_a_wrong_entry_is_reported_at_its_place_and_not_sent(console: Console, standard: Service) -> None:
    console.open()
    for selector, wrong, right, result in (
        ("#q", " ", "requirement", "Enter a question or a few words first."),
        ("#top-k", "51", "10", "Results: "),
        ("#min-score", "1.5", "0", "Minimum score, 0 to 1: "),
        ("#document-filter", "no such", "", "Choose a document from the list"),
    ):
        console.at(selector).evaluate("(element, value) => { element.value = value; }", wrong)
        console.at("#search-submit").click()
        expect(console.at("#search-status")).to_contain_text(result)
        assert console.has_focus(f"{selector}[aria-invalid=true]")
        console.at(selector).fill(right)
        expect(console.at("[aria-invalid]")).to_have_count(0)
    assert standard.took("POST /search") == []


def test_a_threshold_tells_how_many_it_hides_and_shows_them_at_a_press(console: Console, standard: Service) -> None:
    console.open("#/search?q=requirement%20tool%20reports%20verification&min=0.7")
    expect(console.at(".notice.info")).to_contain_text("Hidden, with a score below 0.7: 2 passages.")
    expect(console.at(".result")).to_have_count(1)
    console.at(".notice.info button").click()
    expect(console.at(".result")).to_have_count(3)
    assert "min=" not in console.page.url


def test_an_answer_says_what_else_was_asked_for(console: Console, standard: Service) -> None:
    console.open()
    console.search("requirement")
    expect(console.at("#search-notices .notice")).to_have_count(0)
    standard.extra = {"also_asked": ["current assets", "the supplier"]}
    console.search("quick ratio requirement")
    expect(console.at("#search-notices .notice")).to_have_text("Also searched for: current assets; the supplier.")
    assert console.at(".result").first.locator("mark").all_text_contents() == ["supplier", "requirement"]


def test_a_degraded_answer_says_what_failed(console: Console, standard: Service) -> None:
    standard.extra = {"degraded": ["The embedding service did not answer: words only."]}
    console.open("#/search?q=requirement")
    expect(console.at(".notice.warn li")).to_have_text("The embedding service did not answer: words only.")
    expect(console.at(".result")).to_have_count(2)


def test_nothing_found_gives_advice_that_fits_the_question(console: Console, standard: Service) -> None:
    console.open("#/search?q=zebra&mode=keyword&clause=9")
    expect(console.at("#search-status")).to_contain_text("Nothing found in default")
    expect(console.at(".notice.info")).to_contain_text("Reset the filters")
    expect(console.at(".notice.info")).to_contain_text("Use hybrid mode")


def test_an_empty_collection_says_so_and_leads_to_adding(console: Console) -> None:
    console.open()
    console.at(".notice a").click()
    expect(console.at("#ingest-heading")).to_be_visible()


def test_an_unknown_collection_is_reported_with_the_services_own_advice(console: Console, standard: Service) -> None:
    console.open("#/search?q=requirement&c=defualt")
    expect(console.at("#search-notices")).to_contain_text("Not found: There is no collection 'defualt'.")
    expect(console.at("#search-notices")).to_contain_text("Did you mean default?")
    expect(console.at("#search-collection")).to_have_value("defualt")


def test_a_failed_search_can_be_tried_again(console: Console, standard: Service) -> None:
    standard.failures["POST /search"] = [Failure(503, "unavailable", headers={"Retry-After": "5"})]
    console.open("#/search?q=requirement")
    expect(console.at("#search-notices")).to_contain_text("Wait 5 seconds")
    expect(console.at("#search-notices")).to_contain_text("request-7")
    expect(console.at("#search-heading")).to_have_text("Search: requirement")
    console.at("#search-notices button").click()
    expect(console.at(".result")).to_have_count(2)
    expect(console.at("#search-notices")).to_be_empty()


def test_the_citation_is_copied(console: Console, standard: Service) -> None:
    console.open("#/search?q=supplier%20shall%20verify")
    console.at(".citation button").click()
    expect(console.at(".citation button")).to_have_text("Copied")
    assert console.page.evaluate("navigator.clipboard.readText()").startswith("Verifying Software, 2nd edition")


def test_a_result_opens_its_document_at_the_passage_with_neighbours_and_back(
    console: Console, service: Service
) -> None:
    texts = [f"Passage number {number} speaks of nothing." for number in range(60)]
    texts[30] = "A zebra crosses the road."
    service.add(a_document(1, texts))
    console.open("#/search?q=where%20does%20a%20zebra%20cross")
    console.at(".result a.button").click()
    found = console.at(".passage.found")
    expect(found).to_be_focused()
    expect(found).to_be_in_viewport()
    assert found.locator("mark").all_text_contents() == ["zebra", "crosses"]
    expect(console.at("#document-status")).to_have_text("Passages 27–46 of 60")
    expect(console.at(".page-line").first).to_have_text("Page 14")
    console.at("#document-earlier").click()
    expect(console.at("#document-status")).to_have_text("Passages 7–46 of 60")
    console.at("#document-later").click()
    expect(console.at("#document-status")).to_have_text("Passages 7–60 of 60")
    expect(console.at("#document-later")).to_be_hidden()
    numbers = console.at(".passage .rank").all_text_contents()
    assert numbers == [str(number) for number in range(7, 61)]
    pages = console.at(".page-line").all_text_contents()
    assert pages == [f"Page {number}" for number in range(4, 31)]
    console.at("#document-back").click()
    expect(console.at(".result a.button")).to_be_focused()
    assert len(service.took("POST /search")) == 1


def test_results_stay_while_one_looks_elsewhere_and_are_renewed_after_a_change(
    console: Console, standard: Service
) -> None:
    console.open("#/search?q=requirement")
    expect(console.at(".result")).to_have_count(2)
    console.page.get_by_role("link", name="Documents").click()
    console.page.get_by_role("link", name="Search", exact=True).click()
    expect(console.at(".result")).to_have_count(2)
    assert console.page.url.endswith("#/search?q=requirement")
    assert len(standard.took("POST /search")) == 1
    console.page.get_by_role("link", name="Documents").click()
    console.at("#documents-table button").click()
    console.at("#confirm-submit").click()
    expect(console.at("#documents-status")).to_have_text("0 documents in default")
    console.page.get_by_role("link", name="Search", exact=True).click()
    expect(console.at("#search-status")).to_contain_text("Nothing found")
    expect(console.at(".result")).to_have_count(0)


def test_another_collection_without_a_question_shows_no_old_results(console: Console, standard: Service) -> None:
    standard.add(a_document(2, ["x"], collection="team"))
    console.open("#/search?q=requirement")
    expect(console.at(".result")).to_have_count(2)
    console.go("#/search?c=team")
    expect(console.at("#search-status")).to_contain_text("1 document in team")
    expect(console.at(".result")).to_have_count(0)
    expect(console.at("#search-collection")).to_have_value("team")
