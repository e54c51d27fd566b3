"""The API key: asked for once, kept nowhere, asked for again when it is refused; and the service's state."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import KEY, Failure, Service, a_document


def test_the_key_is_asked_for_once_and_sent_in_its_header_only(console: Console, service: Service) -> None:
    service.add(a_document(1, ["A zebra."]))
    console.open("#/search?q=zebra")
    expect(console.at(".result")).to_have_count(1)
    for view in ("documents", "collections", "ingest"):
        console.go(f"#/{view}")
        expect(console.at(f"#view-{view}")).to_be_visible()
    expect(console.at("#collections-table, #documents-table").first).not_to_be_empty()
    expect(console.at("#key-dialog")).to_be_hidden()
    asked = [each for each in console.requests if each.url.endswith(("/search", "limit=100&offset=0"))]
    assert len(asked) >= 2
    assert {each.headers["authorization"] for each in asked} == {f"Bearer {KEY}"}
    assert all("authorization" not in each.headers for each in console.requests if "/console/" in each.url)


def test_a_wrong_key_is_asked_for_again_with_the_reason(console: Console, service: Service) -> None:
    console.open("#/collections", key=None)
    expect(console.at("#key")).to_be_focused()
    for key, result in (
        ("", "This service requires a key"),
        ("wrong-key", "The API key was not accepted: The API key is not known."),
        ("no key at all", "contains spaces"),
    ):
        console.at("#key").fill(key)
        console.press("Enter")
        expect(console.at("#key-problem")).to_contain_text(result)
    console.enter_key()
    expect(console.at("#collections-table th a")).to_have_text("default")


def test_a_key_that_is_replaced_meanwhile_is_asked_for_and_the_request_repeated(
    console: Console, service: Service
) -> None:
    service.add(a_document(1, ["A zebra."]))
    console.open()
    expect(console.at("#search-status")).to_contain_text("1 document")  # what the page asks at its start is answered
    service.keys = {"the-new-key"}
    console.at("#q").fill("zebra")
    console.press("Enter")
    expect(console.at("#key-problem")).to_contain_text("The API key is not known.")
    console.enter_key("the-new-key")
    expect(console.at(".result")).to_have_count(1)
    service.keys = {KEY}
    console.enter_key_anew(KEY)
    expect(console.at(".result")).to_have_count(1)


def test_a_right_that_the_key_lacks_is_reported_and_no_key_asked_for(console: Console, service: Service) -> None:
    service.always["POST /search"] = Failure(403, "forbidden", "The key 'ci' may not read default.")
    console.open("#/search?q=zebra")
    expect(console.at("#search-notices")).to_contain_text(
        "This key does not have the right to do that: The key 'ci' may not read default."
    )
    expect(console.at("#search-notices")).to_contain_text("Use a key with the right")
    expect(console.at("#key-dialog")).to_be_hidden()


def test_without_a_key_the_page_says_how_to_go_on(console: Console, service: Service) -> None:
    console.open("#/documents", key=None)
    expect(console.at("#key")).to_be_visible()
    console.press("Escape")
    expect(console.at("#documents-problem")).to_contain_text("No API key was given")
    console.at("#documents-problem button").click()
    console.enter_key()
    expect(console.at("#documents-status")).to_have_text("0 documents in default")


def test_the_key_is_gone_after_a_reload(console: Console) -> None:
    console.open()
    console.page.reload()
    expect(console.at("#key")).to_be_visible()
    expect(console.at("#key")).to_have_value("")


def test_the_state_says_what_is_down_and_what_cannot_be_reached(console: Console, service: Service) -> None:
    service.ready = {
        "status": "not_ready",
        "checks": {
            "vector_store": {"up": False, "message": "does not answer"},
            "embedding_service": {"up": True, "message": "answers"},
        },
    }
    console.open()
    expect(console.at("#status-button")).to_have_text("Not ready")
    console.at("#status-button").click()
    expect(console.at("#status-details tr").first).to_have_text("Vector storedowndoes not answer")
    expect(console.at("#status-details")).to_contain_text("version 9.9.9")
    service.ready = {"status": "ready", "checks": {}}
    console.at("#status-again").click()
    expect(console.at("#status-text")).to_have_text("Ready")
    console.page.context.set_offline(True)
    try:
        console.at("#status-again").click()
        expect(console.at("#status-text")).to_have_text("Unreachable")
        expect(console.at("#status-details")).to_contain_text("Check your network")
    finally:
        console.page.context.set_offline(False)


def test_a_request_that_nobody_answers_changes_the_status_at_once(console: Console, service: Service) -> None:
    console.open()
    console.search("horse")
    expect(console.at("#status-text")).to_have_text("Ready")
    console.page.context.set_offline(True)
    try:
        console.search("zebra")
        expect(console.at("#status-text")).to_have_text("Unreachable")
    finally:
        console.page.context.set_offline(False)
    console.search("zebra")
    expect(console.at("#status-text")).to_have_text("Ready")


def test_an_answer_that_is_not_the_services_is_reported_as_such(console: Console, service: Service) -> None:
    console.open()
    console.page.route("**/search", lambda route: route.fulfill(status=200, body="<html>Sign in</html>"))
    console.search("zebra")
    expect(console.at("#search-notices")).to_contain_text("The answer is not from this service")
