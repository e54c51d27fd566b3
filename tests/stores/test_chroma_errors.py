"""Every failure of ChromaDB and of what carries it is one of our own errors, retried only where it may pass."""

from __future__ import annotations

import inspect
import json
import socket
import sqlite3
import threading
from collections.abc import Generator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import chromadb.errors
import httpx
import pytest

from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    QuotaExceededError,
    RateLimitedError,
    TimedOutError,
    may_pass,
)
from knowledge_mcp.stores.chroma import server
from knowledge_mcp.stores.chroma.client import Address
from knowledge_mcp.stores.chroma.errors import StatusError, as_knowledge_error, mapped
from knowledge_mcp.stores.chroma.store import ChromaStore
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.testing.store_values import SPACE

NO_PAUSE = RetryPolicy((0.0, 0.0, 0.0))


def every_class(base: type[Any]) -> list[type[Any]]:
    return [base, *(each for child in base.__subclasses__() for each in every_class(child))]


class Answers:
    """An HTTP server that gives one prepared answer after the other, the last one for ever."""

    def __init__(self) -> None:
        self.prepared: list[tuple[int, str, dict[str, str]]] = [(200, '{"nanosecond heartbeat": 1}', {})]
        self.asked: list[str] = []
        self.tokens: list[str] = []
        self.drop = False
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                del format, args

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request as prepared."""
        self.asked.append(request.path)
        self.tokens.append(request.headers.get("Authorization", ""))
        status, body, headers = self.prepared.pop(0) if len(self.prepared) > 1 else self.prepared[0]
        if self.drop:
            request.close_connection = True
            request.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
            return
        data = body.encode()
        request.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    def store(self) -> ChromaStore:
        """Make a store that asks this server."""
        port = int(self.server.server_address[1])
        address = Address(Path(), host="127.0.0.1", port=port, token="s3cret-token")
        return ChromaStore(address, EnglishAnalyser(), policy=NO_PAUSE)

    def close(self) -> None:
        """Stop it."""
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def answers() -> Generator[Answers]:
    made = Answers()
    yield made
    made.close()


def test_every_class_of_the_library_and_of_its_http_client_has_an_error_of_ours() -> None:
    classes = [*every_class(chromadb.errors.ChromaError), *every_class(httpx.HTTPError), httpx.InvalidURL]
    assert len(classes) > 25
    for each in classes:
        if inspect.isabstract(each):
            continue
        error = each("words") if not issubclass(each, httpx.HTTPStatusError) else StatusError(500, "words")
        found = as_knowledge_error(error, "here")
        assert "here" in found.message, each
        assert "words" in found.details, each
        if issubclass(each, httpx.TimeoutException):
            assert isinstance(found, TimedOutError)
        elif issubclass(each, httpx.TransportError) and not issubclass(each, httpx.UnsupportedProtocol):
            assert isinstance(found, ConnectionFailedError), each


@pytest.mark.parametrize(
    ("error", "expected", "passing"),
    [
        (chromadb.errors.AuthorizationError("x"), AuthError, False),
        (chromadb.errors.ChromaAuthError("x"), AuthError, False),
        (chromadb.errors.NotFoundError("x"), NotFoundError, False),
        (chromadb.errors.RateLimitError("x"), RateLimitedError, True),
        (chromadb.errors.QuotaError("x"), QuotaExceededError, False),
        (chromadb.errors.InvalidDimensionException("x"), InvalidInputError, False),
        (chromadb.errors.BatchSizeExceededError("x"), InvalidInputError, False),
        (chromadb.errors.InternalError("(code: 13) database or disk is full"), ConnectionFailedError, True),
        (chromadb.errors.InternalError("attempt to write a readonly database"), ConnectionFailedError, True),
        (chromadb.errors.InternalError("(code: 26) file is not a database"), InternalError, False),
        (chromadb.errors.InternalError("database disk image is malformed"), InternalError, False),
        (chromadb.errors.InternalError("database is locked"), TimedOutError, True),
        (StatusError(401, ""), AuthError, False),
        (StatusError(403, ""), AuthError, False),
        (StatusError(404, ""), NotFoundError, False),
        (StatusError(408, ""), TimedOutError, True),
        (StatusError(413, "Payload too large"), InvalidInputError, False),
        (StatusError(422, ""), InvalidInputError, False),
        (StatusError(429, "", 2.5), RateLimitedError, True),
        (StatusError(500, "anything"), InternalError, True),
        (StatusError(503, "database or disk is full"), ConnectionFailedError, True),
        (StatusError(504, ""), TimedOutError, True),
        (OSError(28, "No space left on device"), ConnectionFailedError, True),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), InvalidInputError, False),
        (json.JSONDecodeError("x", "", 0), InternalError, True),
        (ImportError("No module named 'chromadb'"), ConfigError, False),
        (RuntimeError("anything else"), InternalError, False),
    ],
    ids=lambda value: getattr(value, "__name__", None) or str(value)[:40],
)  # fmt: skip
def test_each_failure_has_its_kind(error: Exception, expected: type[KnowledgeError], passing: bool) -> None:
    found = as_knowledge_error(error, "here")
    assert isinstance(found, expected)
    assert may_pass(found) is passing
    if isinstance(error, StatusError) and isinstance(found, RateLimitedError):
        assert found.retry_after == 2.5


def test_a_panic_of_the_compiled_core_is_an_internal_error_and_an_interrupt_stays_one() -> None:
    panic = type("PanicException", (BaseException,), {})
    with pytest.raises(InternalError) as caught, mapped("here"):
        raise panic("called `Option::unwrap()` on a `None` value")
    assert isinstance(caught.value.__cause__, panic)
    for other in (KeyboardInterrupt, SystemExit):
        with pytest.raises(other), mapped("here"):
            raise other


@pytest.mark.requirement("A-REQ-REL-002")
def test_a_server_that_fails_is_asked_four_times_and_one_that_refuses_once(answers: Answers) -> None:
    for status, kind, times in ((503, InternalError, 4), (429, RateLimitedError, 4), (401, AuthError, 1)):
        answers.prepared, answers.asked = [(status, "no", {})], []
        store = answers.store()
        with pytest.raises(kind) as caught:
            store.collections()
        assert len(answers.asked) == times, status
        assert "s3cret" not in f"{caught.value} {caught.value.details} {store.identity.location} {store.address!r}"
        store.close()
    assert set(answers.tokens) == {"Bearer s3cret-token"}


@pytest.mark.requirement("A-REQ-REL-002")
def test_a_connection_dropped_in_the_middle_of_an_answer_is_a_connection_error(answers: Answers) -> None:
    answers.drop = True
    store = answers.store()
    with pytest.raises(ConnectionFailedError):
        store.collections()
    assert len(answers.asked) == 4
    store.close()


@pytest.mark.requirement("A-REQ-REL-002")
def test_a_server_that_says_nothing_is_given_up_after_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "READING_SECONDS", 0.05)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(8)
        address = Address(Path(), host="127.0.0.1", port=int(listening.getsockname()[1]))
        store = ChromaStore(address, EnglishAnalyser(), policy=NO_PAUSE)
        with pytest.raises(TimedOutError):
            store.collections()
        store.close()


@pytest.mark.requirement("A-REQ-REL-002")
def test_queries_get_ten_seconds_and_writes_sixty() -> None:
    for method, path, seconds in (
        ("POST", "/api/v2/x/query", 10.0),
        ("GET", "/api/v2/heartbeat", 10.0),
        ("POST", "/api/v2/x/upsert", 60.0),
        ("POST", "/api/v2/x/delete", 60.0),
        ("DELETE", "/api/v2/x", 60.0),
    ):
        request = httpx.Request(method, f"http://host{path}")
        (limit_time,) = server.hooks()["request"]
        limit_time(request)
        assert request.extensions["timeout"]["read"] == seconds, path


def test_a_server_that_is_not_there_is_named_with_its_variables() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    store = ChromaStore(Address(Path(), host="127.0.0.1", port=port), EnglishAnalyser(), policy=NO_PAUSE)
    with pytest.raises(ConnectionFailedError) as caught:
        store.collections()
    assert str(port) in caught.value.message
    assert "CHROMADB_HOST" in caught.value.suggestion
    store.close()


@pytest.mark.parametrize(
    ("status", "body"),
    [(404, "<html>"), (410, "gone"), (200, "<html>"), (200, '{"title": "another service"}'), (200, "1")],
)
def test_an_address_where_something_else_answers_is_a_matter_of_settings(
    answers: Answers, status: int, body: str
) -> None:
    answers.prepared = [(status, body, {})]
    store = answers.store()
    with pytest.raises(ConfigError) as caught:
        store.collections()
    assert "is not ChromaDB" in caught.value.message
    assert "CHROMADB_PORT" in caught.value.suggestion
    assert len(answers.asked) == 1
    store.close()


@pytest.mark.parametrize("kind", ["not a database", "a folder that is a file", "a damaged database"])
def test_a_folder_that_is_no_chromadb_is_a_clear_error(kind: str, tmp_path: Path) -> None:
    folder = tmp_path / "store"
    if kind == "a folder that is a file":
        folder.write_text("x")
    else:
        folder.mkdir()
        file = folder / "chroma.sqlite3"
        file.write_bytes(b"x" * 9000)
        if kind == "a damaged database":
            file.unlink()
            connection = sqlite3.connect(file)
            connection.execute("CREATE TABLE migrations (dir TEXT)")
            connection.close()
    store = ChromaStore(Address(folder), EnglishAnalyser())
    with pytest.raises((InternalError, ConnectionFailedError)) as caught:
        store.create_collection("c", SPACE)
    assert str(folder) in caught.value.message
    assert caught.value.suggestion
    store.close()
