"""Every failure has one form, whatever fails: what was sent, what is asked for, what stands behind, a defect."""

from __future__ import annotations

import json
import logging
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import httpx
import pytest

from knowledge_mcp.model.errors import (
    AuthError,
    CancelledError,
    ConfigError,
    ConnectionFailedError,
    ContentRefusedError,
    DamagedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    SpaceMismatchError,
    TimedOutError,
    UnreadableDocumentError,
    UnreadableReason,
    WrongAnswerError,
)
from knowledge_mcp.remote.failures import CODES
from knowledge_mcp.transports.rest.errors import failure_of
from tests.rest.world import Options, events, make_world

JSON = {"Content-Type": "application/json"}
MAPPED: list[tuple[KnowledgeError, int, str]] = [
    (ConfigError("x"), 500, "internal_error"),
    (SpaceMismatchError("x"), 409, "conflict"),
    (ConnectionFailedError("x"), 503, "unavailable"),
    (TimedOutError("x"), 504, "timeout"),
    (AuthError("x"), 502, "upstream_error"),
    (NotFoundError("x"), 404, "not_found"),
    (InvalidInputError("x"), 422, "validation_error"),
    (ContentRefusedError("x", vectors=[], reasons={}), 422, "validation_error"),
    (RateLimitedError("x"), 429, "rate_limited"),
    (QuotaExceededError("x"), 429, "rate_limited"),
    (InternalError("x"), 500, "internal_error"),
    (DamagedError("x"), 500, "internal_error"),
    (InternalError("x", recoverable=True), 502, "upstream_error"),
    (WrongAnswerError("x"), 502, "upstream_error"),
    (KnowledgeError("x"), 500, "internal_error"),
    (CancelledError("x"), 503, "unavailable"),
    *[
        (UnreadableDocumentError("x", reason=reason, source="f"), status, CODES[status])
        for reason in UnreadableReason
        for status in [{"unsupported": 415, "too_large": 413}.get(reason.value, 422)]
    ],
]
BODIES: list[tuple[bytes, dict[str, str], int, str]] = [
    (b"", JSON, 400, "not valid JSON"),
    (b"{", JSON, 400, "not valid JSON"),
    (b"nonsense", JSON, 400, "not valid JSON"),
    (b'{"query": "a", "query": "b"}', JSON, 400, "same name twice"),
    (b'{"query": "a", "min_score": NaN}', JSON, 400, "NaN"),
    (b'{"query": "a", "min_score": -Infinity}', JSON, 400, "Infinity"),
    (b'{"query": "\xff"}', JSON, 400, "UTF-8"),
    (b'{"query": "\\ud800"}', JSON, 400, "surrogate"),
    (b'{"query": "a\\u0000b"}', JSON, 400, "NUL"),
    (b'{"query": "a\x00b"}', JSON, 400, "not valid JSON"),
    (b'{"\\ud800": 1}', JSON, 400, "surrogate"),
    (b'{"query": "a", "top_k": ' + b"9" * 5000 + b"}", JSON, 400, "too many digits"),
    (b'{"query": "a", "top_k": ' + b"9" * 400 + b"}", JSON, 422, "top_k"),
    (b'{"query": "a", "weight": ' + b"9" * 400 + b"}", JSON, 422, "weight"),
    (b'{"query": "a", "min_score": 1e999}', JSON, 422, "min_score"),
    (b'{"query": ' + b"[" * 20 + b"]" * 20 + b"}", JSON, 400, "nested too deeply"),
    (b"[" * 200_000, JSON, 400, "not valid JSON"),
    (b"[" + b"1," * 250_000 + b"1]", JSON, 422, ""),
    (b"[]", JSON, 422, ""),
    (b"null", JSON, 422, ""),
    (b'"text"', JSON, 422, ""),
    (b'{"query": ""}', JSON, 422, "query"),
    (b'{"query": "  \\n"}', JSON, 422, "query"),
    (b'{"query": 5}', JSON, 422, "query"),
    (b'{"query": null}', JSON, 422, "query"),
    (b"{}", JSON, 422, "query"),
    (json.dumps({"query": "x" * 2001}).encode(), JSON, 422, "query"),
    (b'{"query": "a", "collection": "../etc"}', JSON, 422, "collection"),
    (b'{"query": "a", "mode": "magic"}', JSON, 422, "mode"),
    (b'{"query": "a", "weight": "0.5"}', JSON, 422, "weight"),
    (b'{"query": "a", "weight": true}', JSON, 422, "weight"),
    (b'{"query": "a", "unknown": 1}', JSON, 422, "unknown: unknown field"),
    (b'{"query": "%s"}' % (b"a" * 2001), JSON, 422, "query: has 2001 characters, more than the 2000 allowed"),
    (b'{"query": "a", "filters": {"colour": "red"}}', JSON, 422, "filters.colour"),
    (b'{"query": "a", "filters": {"normative": "yes"}}', JSON, 422, "filters.normative"),
    (b'{"query": "a"}', {}, 415, "unknown type"),
    (b'{"query": "a"}', {"Content-Type": "text/plain"}, 415, "text/plain"),
    (b'{"query": "a"}', {"Content-Type": "application/json; charset=utf-16"}, 415, "UTF-8"),
    (b'{"query": "a"}', {**JSON, "Content-Encoding": "gzip"}, 415, "compressed"),
]


def tree(kind: type[KnowledgeError] = KnowledgeError) -> Iterator[type[KnowledgeError]]:
    """List the tree of errors, adapters' own ones too."""
    yield kind
    for below in kind.__subclasses__():
        yield from tree(below)


def is_failure(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Make sure that an answer is a failure of the one form; returns it."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body: dict[str, Any] = answer.json()
    known = {"error", "detail", "status_code", "suggestion", "request_id", "reason", "source"}
    assert {"error", "detail", "status_code", "request_id"} <= set(body) <= known
    assert (body["error"], body["status_code"]) == (CODES[status], status)
    assert body["detail"]
    assert body["request_id"] == answer.headers["x-request-id"]
    return body


def test_every_error_of_the_tree_is_mapped() -> None:
    shown = {type(error) for error, _, _ in MAPPED}
    assert {kind for kind in tree() if kind.__module__ == "knowledge_mcp.model.errors"} <= shown
    for error, status, code in MAPPED:
        failure = failure_of(error)
        assert (failure.status, failure.code) == (status, code), error
        assert (status in {429, 503} and not isinstance(error, QuotaExceededError)) == (
            "Retry-After" in failure.headers
        )


def test_the_seconds_that_a_service_asked_for_are_passed_on_and_details_only_of_what_was_sent() -> None:
    assert failure_of(RateLimitedError("x", retry_after=2.1)).headers == {"Retry-After": "3"}
    assert failure_of(InvalidInputError("Wrong.", details="line 3")).detail == "Wrong. (line 3)"
    assert failure_of(ConnectionFailedError("Down.", details="10.0.0.5:6333")).detail == "Down."
    assert failure_of(SpaceMismatchError("Another model.", details="EmbeddingSpace(…)")).detail == "Another model."


@pytest.mark.anyio
@pytest.mark.requirement("D-REQ-9.1")
@pytest.mark.requirement("D-REQ-11.9")
@pytest.mark.parametrize("error", [error for error, _, _ in MAPPED[:13]], ids=lambda error: type(error).__name__)
async def test_a_failure_behind_the_service_is_answered_in_the_one_form(error: KnowledgeError) -> None:
    def before(method: str) -> None:
        if method in {"search_in", "deposit", "collections"}:
            raise error

    async with make_world(before=before) as world:
        for answer in (
            await world.client.post("/search", json={"query": "x"}),
            await world.client.post("/ingest", json={"text": "x"}),
            await world.client.get("/collections"),
        ):
            body = is_failure(answer, failure_of(error).status)
            assert body["detail"] == "x"
            assert body["suggestion"] == error.suggestion


@pytest.mark.anyio
@pytest.mark.requirement("D-REQ-11.9")
@pytest.mark.parametrize(
    ("body", "headers", "status", "message"), BODIES, ids=[f"{each[0][:30]!r}-{each[2]}" for each in BODIES]
)
async def test_a_body_that_is_wrong_is_refused_and_says_why(
    body: bytes, headers: dict[str, str], status: int, message: str
) -> None:
    async with make_world() as world:
        answer = await world.client.post("/search", content=body, headers=headers)
        assert message in is_failure(answer, status)["detail"]
        assert world.library.queries == []


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("path", "body", "words"),
    [
        ("/ingest_url", {"url": "http://example.com/x"}, "url: must be an https address"),
        ("/ingest_url", {"url": "https://example.com/a b"}, "url: must be an https address"),
        ("/ingest_url", {"url": "https://me:pass@example.com/x"}, "url: contains a user name or a password"),
        ("/ingest", {"text": " "}, "text: must not be blank"),
        ("/ingest", {"text": "x", "metadata": {"filename": "a/b"}}, "metadata.filename: must be a file name"),
        ("/search", {"query": "x", "collection": "a b"}, "collection: must be 1 to 63 letters"),
    ],
)
async def test_what_is_wrong_is_said_in_words_and_not_by_an_expression(path: str, body: Any, words: str) -> None:
    async with make_world() as world:
        answer = await world.client.post(path, json=body)
        detail = is_failure(answer, 422)["detail"]
        assert words in detail
        assert "pattern" not in detail
        assert "Value error" not in detail


@pytest.mark.anyio
@pytest.mark.parametrize(
    "metadata",
    [
        {"a": {"b": 1}}, {"a": [1]}, {"a": None}, {"": "x"}, {"a" * 101: "x"}, {"a": "x" * 10_001},
        {"filename": "a/b"}, {"filename": "a\nb"}, {"collection": ""}, {"collection": "-x"}, {"collection": "x" * 64},
        {f"k{number}": 1 for number in range(65)}, [1], "x", 1,
    ],
    ids=lambda value: str(value)[:30],
)  # fmt: skip
async def test_metadata_that_cannot_be_kept_is_refused(metadata: Any) -> None:
    async with make_world() as world:
        answer = await world.client.post("/ingest", json={"text": "x", "metadata": metadata})
        assert "metadata" in is_failure(answer, 422)["detail"]
        assert world.library.deposits == []


@pytest.mark.anyio
async def test_a_value_that_may_be_of_several_kinds_is_named_as_its_field() -> None:
    async with make_world() as world:
        answer = await world.client.post("/ingest", json={"text": "x", "metadata": {"int": {"b": 1}}})
        result = is_failure(answer, 422)["detail"].split("; ")
        assert {each.partition(":")[0] for each in result} == {"metadata.int"}
        unknown = await world.client.get("/documents", params={"int": 1})
        assert is_failure(unknown, 422)["detail"] == "int: unknown field"


@pytest.mark.anyio
async def test_text_of_any_language_comes_through_unharmed() -> None:
    text = "Überprüfung 安全 🛡\u200d \u202e ﷽ e\u0301"
    async with make_world() as world:
        done = await world.bring(text, filename="安全.md")
        whole = (await world.client.get(f"/documents/{done['doc_id']}")).json()
        assert [each["text"] for each in whole["chunks"]] == [text]
        assert whole["filename"] == "安全.md"
        body = json.dumps({"query": "🛡 安全"}).encode()  # as escaped surrogate pairs
        assert (await world.client.post("/search", content=body, headers=JSON)).status_code == 200


@pytest.mark.anyio
async def test_what_is_not_there_and_what_is_not_allowed_is_reported_with_what_is() -> None:
    async with make_world() as world:
        for path in ("/nowhere", "/search/", "/Search", "/documents/a/b", "/docs", "/redoc"):
            is_failure(await world.client.get(path), 404)
        for method, path, allowed in (
            ("GET", "/search", "OPTIONS, POST"),
            ("PUT", "/documents/x", "DELETE, GET, HEAD, OPTIONS"),
            ("TRACE", "/collections", "GET, HEAD, OPTIONS"),
            ("BREW", "/health", "GET, HEAD, OPTIONS"),
        ):
            answer = await world.client.request(method, path)
            is_failure(answer, 405)
            assert answer.headers["allow"] == allowed
        options = await world.client.options("/documents/x")
        assert (options.status_code, options.headers["allow"]) == (204, "DELETE, GET, HEAD, OPTIONS")


@pytest.mark.anyio
async def test_a_head_request_is_answered_as_its_get_without_the_body() -> None:
    async with make_world() as world:
        for path in ("/health", "/ready", "/collections", "/metrics", "/openapi.json", "/", "/nowhere"):
            get, head = await world.client.get(path), await world.client.head(path)
            assert (head.status_code, head.content) == (get.status_code, b"")
            assert head.headers["content-type"] == get.headers["content-type"]
        is_405 = await world.client.head("/search")
        assert (is_405.status_code, is_405.content) == (405, b"")


@pytest.mark.anyio
async def test_a_body_over_its_limit_is_refused_before_it_is_read() -> None:
    async with make_world(options=Options(rag_max_upload_bytes=4096)) as world:
        text = {"text": "x" * 5000}
        assert "4096 bytes" in is_failure(await world.client.post("/ingest", json=text), 413)["detail"]
        is_failure(await world.client.post("/search", json={"query": "x" * 5000}), 413)
        big = {"file": ("a.txt", b"x" * (3 * 1024 * 1024))}
        is_failure(await world.client.post("/ingest_file", files=big), 413)

        async def endless() -> AsyncGenerator[bytes]:
            while True:
                yield b"x" * 1024

        answer = await world.client.post("/ingest", content=endless(), headers=JSON)
        is_failure(answer, 413)
        assert answer.headers["connection"] == "close"
        lied = {**JSON, "Content-Length": "9" * 400}
        is_failure(await world.client.post("/ingest", content=b"{}", headers=lied), 413)
        assert world.library.deposits == []


@pytest.mark.anyio
async def test_a_defect_is_answered_with_nothing_but_the_id_that_finds_it_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def before(method: str) -> None:
        if method in {"search_in", "deposit"}:
            raise ZeroDivisionError("a secret of ours")

    async with make_world(before=before) as world:
        for path, body in (("/search", {"query": "x"}), ("/ingest", {"text": "x"})):
            caplog.clear()
            answer = await world.client.post(path, json=body)
            assert "secret" not in json.dumps(is_failure(answer, 500))
            crashes = [record for record in caplog.records if record.exc_info]
            assert [record.levelno for record in crashes] == [logging.ERROR]
            assert answer.headers["x-request-id"] in crashes[0].getMessage()
            assert events(caplog, "request")[0]["status"] == 500


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("/collections?limit=1&limit=2", "limit"),
        ("/documents?collection=knowledge&collection=other", "collection"),
        ("/documents/x?text=true&offset=0&text=false", "text"),
        ("/changes?old=a&new=b&old=c", "old"),
        ("/conflicts?document=a&document=b&limit=1&limit=2", "limit"),
    ],
)
async def test_a_field_that_is_given_twice_is_refused_and_the_last_is_not_taken_silently(
    address: str, name: str
) -> None:
    async with make_world() as world:
        assert f"{name}: the field occurs 2 times" in is_failure(await world.client.get(address), 422)["detail"]
        lists = await world.client.get("/conflicts?document=a&document=b&kind=force&kind=value")
        assert "times" not in lists.text, "these are lists"
