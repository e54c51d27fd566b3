"""Adding documents: files, addresses and text, one after another, with progress, warnings, failures, and a stop."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import expect

from tests.console.browser import Console
from tests.console.service import Failure, Service


def _file(name: str) -> Any:
    return {"name": name, "mimeType": "application/octet-stream", "buffer": b"bytes"}


def _outcomes(job: dict[str, Any]) -> dict[str, Any]:
    match job["source"]:
        case "broken.docx":
            return {**job, "state": "failed", "result": None, "error": "broken.docx is truncated."}
        case "scan.pdf":
            return {**job, "result": {**job["result"], "warnings": ["Page 2 could not be read."]}}
        case "same.md":
            return {**job, "result": {**job["result"], "unchanged": True}}
        case "newer.md":
            return {**job, "result": {**job["result"], "replaced": True, "reused": 4}}
        case _:
            return job


def test_files_go_one_after_another_and_each_tells_its_end(console: Console, service: Service) -> None:
    service.outcome = _outcomes
    console.open("#/ingest?c=team")
    names = ["report.pdf", "broken.docx", "scan.pdf", "same.md", "newer.md"]
    console.at("#files").set_input_files([_file(name) for name in names])
    expect(console.at(".item[data-state=done], .item[data-state=failed]")).to_have_count(5)
    result = console.at(".item").all_inner_texts()
    for text, expected in zip(
        reversed(result),
        (
            "added: 1 page, 1 passage\n",
            "The document could not be added: broken.docx is truncated.",
            "Page 2 could not be read.",
            "unchanged: the same document had already been added (1 page, 1 passage)",
            "replaced the earlier version; 1 embedded, 4 reused: 1 page, 1 passage",
        ),
        strict=True,
    ):
        assert expected in text
    assert service.took("POST /ingest_file") == [
        {"file": name, "collection": "team", "wait": "false", "force": "false"} for name in names
    ]
    console.page.get_by_role("link", name="Open report.pdf").click()
    expect(console.at("#document-heading")).to_have_text("report.pdf")


def test_text_and_addresses_are_added_with_their_names(console: Console, service: Service) -> None:
    console.open("#/ingest")
    console.at("#ingest-force").check()
    console.at("#url").fill("https://docs.example.com/a.pdf")
    console.press("Enter")
    console.at("#text-name").fill("notes.md")
    console.at("#text").fill("# Notes\n\nA zebra.")
    console.page.get_by_role("button", name="Add text").click()
    expect(console.at(".item[data-state=done]")).to_have_count(2)
    expect(console.at("#ingest-status")).to_have_text("notes.md: added: 1 page, 1 passage")
    assert service.took("POST /ingest_url") == [
        {"url": "https://docs.example.com/a.pdf", "collection": "default", "wait": False, "force": True}
    ]
    assert service.took("POST /ingest ") == []
    bodies = [body for _, path, body in service.asked if path == "/ingest"]
    metadata = {"collection": "default", "filename": "notes.md"}
    assert bodies == [{"text": "# Notes\n\nA zebra.", "metadata": metadata, "wait": False, "force": True}]
    console.at("#queue-clear").click()
    expect(console.at(".item")).to_have_count(0)


def test_what_cannot_be_added_is_reported_before_anything_is_sent(console: Console, service: Service) -> None:
    console.open("#/ingest")
    for selector, value, result in (
        ("#url", "http://docs.example.com", "begins with https://"),
        ("#text", "  ", "some text first"),
        ("#ingest-collection", "no/such name", "collection name consists of at most 63 letters"),
    ):
        console.at(selector).fill(value)
        if selector == "#ingest-collection":
            console.at("#text").fill("text")
        console.page.get_by_role("button", name="Add address" if selector == "#url" else "Add text").click()
        expect(console.at("#ingest-status")).to_contain_text(result)
        assert console.has_focus(f"{selector}[aria-invalid=true]")
    assert service.jobs == {}


def test_a_running_and_a_waiting_one_can_be_cancelled_from_anywhere(console: Console, service: Service) -> None:
    service.hold.set()
    console.open("#/ingest")
    console.at("#files").set_input_files([_file("first.pdf"), _file("second.pdf")])
    first, second = console.at(".item").nth(1), console.at(".item").nth(0)
    expect(first.locator(".item-message")).to_have_text("embedding, 40 %")
    assert console.page.evaluate("document.querySelector('.item progress').value") == 40
    expect(console.at("#queue-badge")).to_have_text("2 in progress")
    console.go("#/search")
    expect(console.at("#queue-badge")).to_be_visible()
    console.go("#/ingest")
    second.get_by_role("button", name="Cancel second.pdf").click()
    expect(second).to_have_attribute("data-state", "cancelled")
    first.get_by_role("button", name="Cancel first.pdf").click()
    expect(first).to_contain_text("cancelled")
    assert [path for method, path, _ in service.asked if method == "DELETE"] == [f"/jobs/{1:016x}"]
    assert len(service.jobs) == 1
    service.hold.clear()
    second.get_by_role("button", name="Try again").click()
    expect(second).to_have_attribute("data-state", "done")


def test_a_file_that_is_too_large_is_reported_and_the_next_one_continues(console: Console, service: Service) -> None:
    service.failures["POST /ingest_file"] = [Failure(413, "payload_too_large", "The body has more than 100 bytes.")]
    console.open("#/ingest")
    console.at("#files").set_input_files([_file("large.pdf"), _file("small.pdf")])
    expect(console.at(".item[data-state=failed]")).to_contain_text("Too large: The body has more than 100 bytes.")
    expect(console.at(".item[data-state=failed]")).to_contain_text("Split the file")
    expect(console.at(".item[data-state=done]")).to_contain_text("small.pdf")


def test_a_service_that_is_away_for_a_moment_loses_no_job(console: Console, service: Service) -> None:
    service.failures["GET /jobs"] = [Failure(503, "unavailable"), Failure(502, "upstream_error")]
    console.open("#/ingest")
    console.at("#files").set_input_files([_file("report.pdf")])
    expect(console.at(".item[data-state=done]")).to_have_count(1)
    assert service.failures["GET /jobs"] == []
    assert len(service.jobs) == 1


def test_files_are_dropped_into_the_page(console: Console, service: Service) -> None:
    console.open("#/ingest")
    console.page.evaluate(
        """() => {
            const held = new DataTransfer();
            held.items.add(new File(["text"], "dropped.txt"));
            const drop = new DragEvent("drop", { dataTransfer: held, bubbles: true, cancelable: true });
            document.getElementById("drop").dispatchEvent(drop);
        }"""
    )
    expect(console.at(".item[data-state=done]")).to_contain_text("dropped.txt")
    assert service.took("POST /ingest_file")[0]["file"] == "dropped.txt"
