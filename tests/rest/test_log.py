"""What the REST service logs: every request, ingestions, searches, what fails; and what it never logs."""

from __future__ import annotations

import json
import logging

import pytest

from knowledge_mcp.cli.shared.logs import JsonFormatter, TextFormatter
from knowledge_mcp.model.errors import ConnectionFailedError, InternalError, NotFoundError
from tests.rest.world import DEPLOYING, KEY, events, make_world

pytestmark = pytest.mark.anyio


@pytest.mark.requirement("D-REQ-11.10")
async def test_every_request_is_logged_in_one_line_with_its_template_and_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    async with make_world() as world:
        done = await world.bring(filename="a.md", author="Somebody-Private")
        headers = {"X-Request-ID": "my.own-ID_1", "X-Forwarded-For": "203.0.113.9"}
        await world.client.get(f"/documents/{done['doc_id']}", params={"text": "true"}, headers=headers)
        await world.client.get("/nowhere/secret-path")
        await world.client.delete("/search")
        logged = events(caplog, "request")
        assert [(each["method"], each["route"], each["status"]) for each in logged] == [
            ("POST", "/ingest", 200),
            ("GET", "/documents/{doc_id}", 200),
            ("GET", "unmatched", 404),
            ("DELETE", "/search", 405),
        ]
        read = logged[1]
        assert (read["request_id"], read["key"], read["client"]) == ("my.own-ID_1", "default", "192.0.2.7")
        assert read["forwarded_for"] == "203.0.113.9"
        assert read["duration_ms"] >= 0
        assert logged[2]["error"] == "not_found"
        everything = repr([vars(record) for record in caplog.records if not record.name.startswith("http")])
        for hidden in (KEY, "secret-path", "Roll out", "Somebody-Private"):
            assert hidden not in everything


HOSTILE = '10.0.0.1\x1b[2J\x85{"message": "request"}\x9b31m' + "9" * 500
"""An address that would begin a line and move a terminal's cursor."""


async def test_what_clients_write_into_headers_is_logged_in_one_line_escaped_and_cut(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    said = HOSTILE.encode("latin-1")
    async with make_world() as world:
        await world.client.get("/health", headers=[(b"X-Forwarded-For", said)])
        await world.client.get("/health", headers=[(b"Host", said)])
        await world.client.get("/%1b%5b2J%c2%85", headers={"Authorization": "Bearer wrong"})
    (read, *_), (host,), (key,) = (
        events(caplog, name) for name in ("request", "host_refused", "authentication_failed")
    )
    for shown, most in ((read["forwarded_for"], 200), (host["hosts"][0], 100), (key["path"], 200)):
        assert shown.isprintable()
        assert "\\x1b[2J\\x85" in shown
        assert len(shown) <= most
    forms = (JsonFormatter(), TextFormatter())
    assert all(form.format(each).isprintable() for form in forms for each in caplog.records)


def test_a_line_of_json_holds_no_control_character_of_any_kind_and_is_read_back_as_it_was() -> None:
    odd = "a\x1b\x7f\x85\x9b\u2028\u202e\U000e0041b\n"
    record = logging.LogRecord("x", logging.INFO, "", 0, odd, (), None)
    line = JsonFormatter().format(record)
    assert line.isprintable()
    assert json.loads(line)["message"] == odd


@pytest.mark.requirement("D-REQ-9.2")
async def test_an_ingestion_is_logged_with_id_size_collection_and_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with make_world() as world:
        done = await world.bring("Grüße.", filename="a.md", collection="ops")
        await world.client.post("/ingest_file", files={"file": ("b.md", b"12345")})
        accepted = await world.client.post("/ingest", json={"text": "Later.", "wait": False})
    first, second = events(caplog, "ingest")
    assert (first["doc_id"], first["size"], first["collection"]) == (done["doc_id"], 8, "ops")
    assert (first["chunks"], first["unchanged"], first["source"]) == (1, False, "a.md")
    assert second["size"] == 5
    (later,) = events(caplog, "ingest_accepted")
    assert later["job_id"] == accepted.json()["job_id"]
    record = next(record for record in caplog.records if record.getMessage() == "ingest")
    assert json.loads(JsonFormatter().format(record))["timestamp"].endswith("Z")


@pytest.mark.requirement("D-REQ-9.3")
async def test_a_search_is_logged_with_query_collection_results_and_latency(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with make_world() as world:
        await world.bring(collection="ops")
        await world.client.post("/search", json={"query": "roll back", "collection": "ops"})
        await world.client.post("/search", json={"query": "roll back", "collection": "nowhere"})
    (found,) = events(caplog, "search")
    assert (found["query"], found["collection"], found["results"]) == ("roll back", "ops", 2)
    assert found["latency_ms"] >= 0
    (failed,) = events(caplog, "search_failed")
    assert (failed["query"], failed["collection"], failed["error_code"]) == ("roll back", "nowhere", "not_found")


@pytest.mark.requirement("D-REQ-9.5")
@pytest.mark.parametrize(
    ("error", "level"),
    [
        (ConnectionFailedError("The store does not answer."), logging.ERROR),
        (InternalError("The embedding service failed.", recoverable=True), logging.ERROR),
        (NotFoundError("The page is gone."), logging.WARNING),
    ],
)
async def test_a_failed_ingestion_is_logged_with_what_failed_and_why(
    error: ConnectionFailedError, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    page = "https://docs.example.com/x"
    async with make_world(web={page: error}) as world:
        await world.client.post("/ingest_url", json={"url": page, "collection": "web"})
        await world.client.post("/ingest_file", files={"file": ("a.md", b"\xff")})
    first, second = events(caplog, "ingest_failed")
    assert (first["collection"], first["source"]) == ("web", page)
    assert (first["error_code"], first["error_message"]) == (error.code.value, error.message)
    assert next(record.levelno for record in caplog.records if record.getMessage() == "ingest_failed") == level
    assert (second["source"], second["error_message"]) == ("a.md", "a.md cannot be read.")


@pytest.mark.parametrize("given", ["", "a b", "x" * 129, "ü", 'a"b', "a/b"])
async def test_an_id_of_the_client_s_that_is_none_is_replaced(given: str) -> None:
    async with make_world() as world:
        sent = {"X-Request-ID": given.encode("latin-1").decode("latin-1")}
        answer = await world.client.get("/health", headers={**sent} if given.isascii() else {"X-Request-ID": "%"})
        assert len(answer.headers["x-request-id"]) == 16
        assert answer.headers["x-request-id"] != given


async def test_what_is_removed_is_logged_with_the_key_that_did_it(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with make_world() as world:
        done = await world.bring(DEPLOYING, collection="ops")
        await world.client.delete(f"/documents/{done['doc_id']}")
        await world.client.delete("/collections/ops")
    document, collection = events(caplog, "removed")
    assert (document["doc_id"], document["key"]) == (done["doc_id"], "default")
    assert (collection["collection"], collection["documents"]) == ("ops", 0)


async def test_a_password_in_an_address_is_refused_before_it_is_logged_or_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.DEBUG)
    async with make_world() as world:
        for wait in (True, False):
            answer = await world.client.post(
                "/ingest_url", json={"url": "https://ada:hunter2@x.example/a", "wait": wait}
            )
            assert answer.status_code == 422
            assert "a user name or a password" in answer.json()["detail"]
        assert (await world.client.get("/jobs")).json()["jobs"] == []
        assert "hunter2" not in repr([vars(record) for record in caplog.records])


async def test_a_search_in_all_collections_is_logged_as_one(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    async with make_world() as world:
        await world.bring(filename="a.md", collection="alpha")
        await world.client.post("/search", json={"query": "roll out", "everywhere": True})
        assert [each["collection"] for each in events(caplog, "search")] == ["*"]
