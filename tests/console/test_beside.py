"""The document beside its outline and its page, links to share, and the keys that work everywhere."""

from __future__ import annotations

import base64

from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import Service, a_document
from tests.waiting import wait_until

PICTURE = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR4nGP4DwABAQEAsTj2FAAAAABJRU5ErkJggg=="
)
SECTIONS = [
    {"level": 1, "number": "1", "title": "Scope", "page": 1, "passage": 0},
    {"level": 1, "number": "2", "title": "Zebras", "page": 1, "passage": 1},
    {"level": 2, "number": "2.1", "title": "Crossing", "page": 2, "passage": 3},
]


def with_pages(service: Service) -> str:
    """Add a PDF of three pages whose original is there; returns its id."""
    document = service.add(
        a_document(
            1,
            ["Scope.", "A zebra.", "A horse.", "A zebra crosses.", "Nothing.", "The end."],
            media_type="application/pdf",
            sections=SECTIONS,
        )
    )
    name = str(document["doc_id"])
    service.pictures[name] = PICTURE
    return name


def asked_pages(service: Service) -> list[tuple[str, str]]:
    """List the pages that were asked for, each with the passage to be marked."""
    return [(path.rpartition("/")[2], body.get("passage", "")) for _, path, body in service.asked if "/pages/" in path]


def test_the_page_with_the_passage_stands_beside_the_text(console: Console, service: Service) -> None:
    name = with_pages(service)
    console.open(f"#/document/{name}?at=3&q=zebra")
    picture = console.at("#page-image img")
    expect(picture).to_have_attribute("alt", "Page 2 of file-1.pdf, passage 4 marked; its text is next to it")
    expect(picture).to_be_in_viewport()
    expect(console.at("#page-heading")).to_have_text("Page 2 of 3")
    console.page.get_by_role("button", name="Show on page: passage 6, page 3").click()
    expect(console.at("#page-heading")).to_have_text("Page 3 of 3")
    expect(console.at("#page-next")).to_be_disabled()
    console.at("#page-previous").click()
    expect(console.at("#page-heading")).to_have_text("Page 2 of 3")
    wait_until(lambda: len(asked_pages(service)) == 3)  # the heading comes before the picture is asked for
    assert asked_pages(service) == [("2", "3"), ("3", "5"), ("2", "5")]


def test_the_page_is_enlarged_and_escape_closes_it(console: Console, service: Service) -> None:
    console.open(f"#/document/{with_pages(service)}?at=1")
    console.at("#page-image img").wait_for()
    console.at("#page-enlarge").click()
    expect(console.at("#page-large img")).to_be_visible()
    console.at("#page-large-next").click()
    expect(console.at("#page-dialog-title")).to_have_text("Page 2 of 3")
    console.press("Escape")
    expect(console.at("#page-dialog")).to_be_hidden()
    expect(console.at("#page-enlarge")).to_be_focused()


def test_on_a_telephone_the_page_opens_when_it_is_asked_for(console: Console, service: Service) -> None:
    console.page.set_viewport_size({"width": 360, "height": 740})
    console.open(f"#/document/{with_pages(service)}?at=1")
    expect(console.at(".passage.found")).to_be_visible()
    assert asked_pages(service) == []
    console.page.get_by_role("button", name="Show on page: passage 2, page 1").click()
    expect(console.at("#page-large img")).to_be_visible()


def test_an_original_that_is_gone_is_reported_where_the_page_would_stand(console: Console, service: Service) -> None:
    name = with_pages(service)
    service.pictures.clear()
    console.open(f"#/document/{name}")
    expect(console.at("#page-image .notice")).to_contain_text("The page cannot be shown: The original is gone.")
    expect(console.at("#page-image .notice")).to_contain_text("Put it back.")
    expect(console.at(".passage")).to_have_count(6)


def test_what_has_no_pages_shows_no_place_for_them(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A note."], media_type="text/markdown"))
    console.open(f"#/document/{1:016x}")
    expect(console.at(".passage")).to_have_count(1)
    expect(console.at("#page-panel")).to_be_hidden()
    expect(console.at("#outline-panel")).to_be_hidden()


def test_the_outline_leads_to_its_passages_and_marks_where_one_is(console: Console, service: Service) -> None:
    console.open(f"#/document/{with_pages(service)}?at=2")
    links = console.at("#outline a")
    expect(links).to_have_count(3)
    expect(links.nth(1)).to_have_attribute("aria-current", "true")
    links.nth(2).click()
    expect(console.at(".passage.found")).to_contain_text("A zebra crosses.")
    expect(console.at("#outline [aria-current]")).to_contain_text("2.1 Crossing")


def test_a_document_that_is_not_there_is_shown_without_the_outline_of_the_one_before(
    console: Console, service: Service
) -> None:
    console.open(f"#/document/{with_pages(service)}?at=2")
    expect(console.at("#outline a")).to_have_count(3)
    console.go("#/document/nowhere")
    expect(console.at("#document-problem")).to_contain_text("Not found")
    expect(console.at("#outline-panel")).to_be_hidden()
    expect(console.at("#document-jump")).to_be_hidden()
    console.page.go_back()
    expect(console.at("#outline a")).to_have_count(3)
    expect(console.at("#document-jump")).to_be_visible()


def test_links_to_a_passage_and_to_a_search_lead_there_again(console: Console, service: Service) -> None:
    name = with_pages(service)
    console.open("#/search?q=horse")
    console.page.get_by_role("button", name="Copy link to this search").click()
    search = console.page.evaluate("navigator.clipboard.readText()")
    assert search.endswith("#/search?q=horse")
    console.go(f"#/document/{name}")
    console.page.get_by_role("button", name="Copy link to passage 3", exact=True).click()
    passage = console.page.evaluate("navigator.clipboard.readText()")
    console.go("#/documents")
    console.go(passage.partition("/#")[2].join(["#", ""]))
    expect(console.at(".passage.found")).to_contain_text("A horse.")


def test_a_slash_leads_to_the_search_from_anywhere_but_a_field(console: Console, service: Service) -> None:
    console.open("#/documents")
    expect(console.at("#documents-status")).to_contain_text("0 documents")
    console.at("#name-filter").press("/")
    expect(console.at("#name-filter")).to_have_value("/")
    console.page.evaluate("document.activeElement.blur()")
    console.press("/")
    expect(console.at("#q")).to_be_focused()
    expect(console.at("#q")).to_have_value("")
    console.at("#options summary").click()
    console.at("#mode").focus()
    console.press("Escape")
    expect(console.at("#mode")).to_be_hidden()
    expect(console.at("#options summary")).to_be_focused()


def test_all_collections_are_searched_where_several_hold_something(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A zebra."], collection="animals"))
    service.add(a_document(2, ["The zebra crossing."], collection="roads"))
    console.open()
    expect(console.at("#search-collection option:checked")).to_have_text("All collections (2)")
    console.search("zebra")
    expect(console.at("#search-status")).to_contain_text("2 passages in all collections")
    assert sorted(console.at(".result .places .tag").all_text_contents()) == ["animals", "roads"]
    assert service.took("POST /search")[0]["everywhere"] is True
    assert "c=%2A" in console.page.url or "c=*" in console.page.url
    console.at("#search-collection").select_option("roads")
    console.search("zebra")
    expect(console.at("#search-status")).to_contain_text("1 passage in roads")


def test_the_fullest_collection_is_shown_where_none_was_chosen(console: Console, service: Service) -> None:
    for number in range(3):
        service.add(a_document(number, ["x"], collection="team"))
    service.add(a_document(9, ["x"], collection="other"))
    console.open("#/documents")
    expect(console.at("#documents-status")).to_have_text("3 documents in team")


def test_no_key_is_asked_for_where_none_is_needed(console: Console, service: Service) -> None:
    service.keys = {""}
    service.add(a_document(1, ["A zebra."]))
    console.open("#/search?q=zebra", key=None)
    expect(console.at(".result")).to_have_count(1)
    expect(console.at("#key-dialog")).to_be_hidden()
    expect(console.at("#key-button")).to_be_hidden()


def test_how_likely_an_answer_is_stands_above_the_results(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A zebra."]))
    console.open()
    for estimate, result in ((0.1, "Answer unlikely"), (0.5, "Answer uncertain"), (0.9, "Answer likely")):
        service.extra = {"answerability": estimate}
        console.search("zebra")
        expect(console.at(".answerability .tag")).to_have_text(result)


def test_what_another_part_fills_can_be_read_and_not_changed(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A zebra."], collection="standards"))
    service.read_only = {"standards"}
    console.open("#/collections")
    row = console.at("#collections-table tbody tr").nth(1)
    expect(row).to_contain_text("filled by knowledge-ingest")
    expect(row.get_by_role("button")).to_have_count(0)
    console.go("#/documents?c=standards")
    expect(console.at("#documents-table tbody tr")).to_have_count(1)
    expect(console.at("#documents-table button")).to_have_count(0)
    console.go(f"#/document/{1:016x}")
    expect(console.at(".passage")).to_have_count(1)
    expect(console.page.get_by_role("button", name="Delete document")).to_have_count(0)
    console.go("#/ingest?c=standards")
    expect(console.at("#ingest-collection")).to_have_value("default")


def test_an_outline_that_fails_hides_nothing_of_the_text(console: Console, service: Service) -> None:
    name = with_pages(service)
    console.open("#/documents")
    console.page.route("**/outline", lambda route: route.fulfill(status=500, json={"error": "internal_error"}))
    console.go(f"#/document/{name}")
    expect(console.at(".passage")).to_have_count(6)
