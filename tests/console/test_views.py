"""The documents, a document and the collections: listed, filtered, turned over, opened and deleted."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import Failure, Service, a_document


def test_documents_are_listed_by_page_and_filtered_by_name(console: Console, service: Service) -> None:
    for number in range(60):
        service.add(a_document(number, ["x", "y", "z"], title=f"Note {number:02}", collection="team"))
    console.open("#/documents?c=team")
    expect(console.at("#documents-range")).to_have_text("1–25 of 60")
    expect(console.at("#documents-previous")).to_be_disabled()
    console.at("#documents-next").click()
    console.at("#documents-next").click()
    expect(console.at("#documents-range")).to_have_text("51–60 of 60")
    expect(console.at("#documents-next")).to_be_disabled()
    assert console.at("#documents-table tbody tr").count() == 10
    expect(console.at("#documents-table tbody tr").first.locator("th a")).to_have_text("Note 50")
    expect(console.at("#documents-table tbody tr").first.locator("[data-label=Size]")).to_have_text(
        "2 pages, 3 passages"
    )
    console.at("#name-filter").fill("note 1")
    console.press("Enter")
    expect(console.at("#documents-status")).to_have_text("10 documents in team whose name contains “note 1”")
    expect(console.at("#documents-pager")).to_be_hidden()
    console.page.go_back()
    expect(console.at("#documents-range")).to_have_text("51–60 of 60")
    console.at("#documents-collection").select_option("default")
    expect(console.at("#documents-status")).to_have_text("0 documents in default")


def test_a_partial_document_tells_its_warnings(console: Console, service: Service) -> None:
    service.add(a_document(1, ["x"], status="partial", warnings=["Page 2 is a scan.", "Page 3 is a scan."]))
    console.open("#/documents")
    console.at(".warnings summary").click()
    expect(console.at(".warnings summary")).to_have_text("partial 2 warnings")
    assert console.at(".warnings li").all_text_contents() == ["Page 2 is a scan.", "Page 3 is a scan."]
    console.at("#documents-table th a").click()
    expect(console.at("#document-heading")).to_have_text("Document 1")
    expect(console.at("#document-facts .notice")).to_contain_text("Page 2 is a scan.")


def test_what_a_file_says_of_itself_is_labelled_in_words(console: Console, service: Service) -> None:
    service.add(a_document(1, ["x"], metadata={"test_case": "7", "running_lines": "Draft (2 pages)"}))
    console.open(f"#/document/{1:016x}")
    facts = console.at("#document-facts dl")
    expect(facts).to_contain_text("Test case7")
    expect(facts).to_contain_text("Headers and footersDraft (2 pages)")


def test_a_document_is_deleted_once_it_is_confirmed(console: Console, service: Service) -> None:
    service.add(a_document(1, ["x"]))
    service.add(a_document(2, ["y"]))
    console.open("#/documents")
    button = console.at("#documents-table tbody tr").first.locator("button")
    button.click()
    expect(console.at("#confirm-text")).to_contain_text("“Document 1” with its 1 passage will be deleted from default.")
    expect(console.at("#confirm-cancel")).to_be_focused()
    console.press("Escape")
    assert len(service.documents) == 2
    button.click()
    console.at("#confirm-submit").click()
    expect(console.at("#documents-status")).to_have_text("1 document in default")
    expect(console.at("#announcer")).to_have_text("Deleted Document 1")
    assert list(service.documents) == [f"{2:016x}"]
    console.at("#documents-table th a").click()
    console.at("#document-facts button.danger-quiet").click()
    console.at("#confirm-submit").click()
    expect(console.at("#documents-status")).to_have_text("0 documents in default")
    assert service.documents == {}


def test_a_deletion_that_fails_says_why_and_leaves_the_row(console: Console, service: Service) -> None:
    service.add(a_document(1, ["x"]))
    service.failures["DELETE /documents"] = [Failure(500, "internal_error", "The store is full.")]
    console.open("#/documents")
    console.at("#documents-table button").click()
    console.at("#confirm-submit").click()
    expect(console.at("#documents-problem")).to_contain_text("The service failed: The store is full.")
    expect(console.at("#documents-table button")).to_be_enabled()


def test_a_document_that_is_gone_and_a_passage_that_is_gone_are_reported(console: Console, service: Service) -> None:
    service.add(a_document(1, ["x", "y"]))
    console.open("#/document/ffffffffffffffff")
    expect(console.at("#document-problem")).to_contain_text("There is no document 'ffffffffffffffff'.")
    console.go(f"#/document/{1:016x}?at=77")
    expect(console.at("#document-problem")).to_contain_text("This document no longer has a passage 78")
    console.at("#jump").fill("2")
    console.press("Enter")
    expect(console.at(".passage.found")).to_contain_text("y")
    console.at("#jump").fill("3")
    console.press("Enter")
    expect(console.at("#document-status")).to_have_text("Enter a number from 1 to 2.")


def test_a_search_within_one_document_starts_at_the_document(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A zebra."]))
    service.add(a_document(2, ["Another zebra."]))
    console.open(f"#/document/{2:016x}")
    console.page.get_by_role("link", name="Search in this document").click()
    expect(console.at("#document-filter")).to_have_value("Document 2 (file-2.pdf) · 0000000000000002")
    expect(console.at("#q")).to_be_focused()
    console.search("zebra")
    assert console.at(".result h2").all_text_contents() == ["1. Document 2"]


def test_a_collection_is_deleted_once_its_name_is_typed(console: Console, service: Service) -> None:
    service.add(a_document(1, ["x", "y"], collection="team"))
    console.open("#/collections")
    expect(console.at("#collections-table tbody tr")).to_have_count(2)
    row = console.at("#collections-table tbody tr").nth(1)
    assert row.locator("td, th").all_text_contents()[:5] == [
        "team",
        "1",
        "2",
        "360",
        "local/all-MiniLM-L6-v2 (int8, 384)",
    ]
    row.locator("button").click()
    expect(console.at("#confirm-submit")).to_be_disabled()
    console.at("#confirm-input").fill("tea")
    console.press("Enter")
    expect(console.at("#confirm-dialog")).to_be_visible()
    console.at("#confirm-input").fill("team")
    console.press("Enter")
    expect(console.at("#collections-status")).to_have_text("1 collection, 0 documents")
    expect(console.at("#announcer")).to_have_text("Deleted team with 1 document")
    assert service.documents == {}


def test_more_collections_than_one_answer_holds_are_all_listed(console: Console, service: Service) -> None:
    service.collections = [f"c{number:03}" for number in range(230)]
    console.open("#/collections")
    expect(console.at("#collections-table tbody tr")).to_have_count(230)


def test_an_address_that_names_nothing_says_so(console: Console) -> None:
    console.open("#/nothing/here", key=None)
    expect(console.at("#missing-heading")).to_be_visible()
    console.at("#view-missing a").click()
    expect(console.at("#q")).to_be_attached()
