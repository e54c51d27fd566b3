"""What a client makes of a bad network, a wrong address and a service that misbehaves: clear errors, no key lost."""

from __future__ import annotations

import json
import logging
import socket
import threading
import time
from collections.abc import Generator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import pytest

from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
    UnreadableDocumentError,
)
from knowledge_mcp.model.library import Deposit
from knowledge_mcp.remote.client import RemoteLibrary
from knowledge_mcp.remote.connection import RemoteRequest, ServiceConnection
from knowledge_mcp.remote.failures import failure_of_answer, failure_of_transport
from tests.embedders.remote_world import Pauses
from tests.remote.serving import AT_ONCE, KEY, answer, scripted

COLLECTIONS = json.dumps({"collections": [{"name": "default", "doc_count": 3}], "total": 1}).encode()
GET = RemoteRequest("GET", "/collections")


@contextmanager
def connection(url: str, pauses: Pauses | None = None, **more: float) -> Generator[ServiceConnection]:
    policy = AT_ONCE if pauses is None else pauses.policy
    with closing(ServiceConnection(url, KEY, policy=policy, timeout=more.pop("timeout", 5.0))) as made:
        yield made


def failure(status: int, **result: object) -> bytes:
    return answer(
        status, json.dumps({"error": "code", "detail": "It failed.", "status_code": status, **result}).encode()
    )


# ---- what a service answers


@pytest.mark.requirement("D-REQ-1A.4")
@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, InvalidInputError), (401, AuthError), (403, AuthError), (404, NotFoundError), (405, ConfigError),
        (408, TimedOutError), (409, InvalidInputError), (413, InvalidInputError), (415, InvalidInputError),
        (418, InvalidInputError), (422, InvalidInputError), (429, RateLimitedError), (500, InternalError),
        (501, InternalError), (502, ConnectionFailedError), (503, ConnectionFailedError), (504, TimedOutError),
    ],
)  # fmt: skip
def test_every_status_is_an_error_of_ours(status: int, kind: type[KnowledgeError]) -> None:
    result = {"error": "code", "detail": "It failed, and why.", "status_code": status, "suggestion": "Do this."}
    error = failure_of_answer(status, {}, result, KEY).error
    assert type(error) is kind
    assert "It failed, and why." in f"{error.message} {error.details}"
    assert f"HTTP {status}" in error.details
    bare = failure_of_answer(status, {}, None, KEY).error
    assert bare.message
    assert bare.suggestion


def test_no_status_at_all_goes_unmapped() -> None:
    for status in range(300, 600):
        for result in (None, {}, {"detail": "x"}, {"detail": "x", "knowledge_error": 3}, {"detail": 7}):
            assert isinstance(failure_of_answer(status, {}, result, KEY).error, KnowledgeError)


@pytest.mark.requirement("D-REQ-6.6")
def test_a_missing_key_a_wrong_one_and_a_wrong_place_are_distinguished() -> None:
    missing = failure_of_answer(401, {}, {"detail": "no"}, "").error
    assert "without an API key" in missing.message
    assert "RAG_API_KEY" in missing.suggestion
    wrong = failure_of_answer(403, {}, None, KEY).error
    assert "refused" in wrong.message
    nowhere = failure_of_answer(404, {}, None, KEY).error
    assert isinstance(nowhere, ConfigError)
    assert "RAG_API_URL" in nowhere.suggestion


def test_why_a_document_cannot_be_read_comes_back() -> None:
    result = {"detail": "It is encrypted.", "status_code": 422, "reason": "encrypted", "source": "/a.pdf"}
    error = failure_of_answer(422, {}, result, KEY).error
    assert isinstance(error, UnreadableDocumentError)
    assert (error.reason, error.source) == ("encrypted", "/a.pdf")


def test_what_may_pass_is_asked_again_after_the_pause_that_the_service_names() -> None:
    pauses = Pauses()
    replies = [answer(503, b"{}", "Retry-After: 9"), failure(429), failure(502), answer(200, COLLECTIONS)]
    with scripted(*replies) as script, connection(script.url, pauses) as service:
        assert service.ask(GET)["total"] == 1
    assert pauses.taken == [9.0, 2.0, 4.0]
    assert len(script.requests) == 4
    with scripted(failure(504)) as script, connection(script.url, Pauses()) as service, pytest.raises(TimedOutError):
        service.ask(GET)
    assert len(script.requests) == 4


def test_what_will_not_pass_is_asked_once() -> None:
    for status in (401, 403, 404, 422, 500):
        with scripted(failure(status)) as script, connection(script.url, Pauses()) as service:
            with pytest.raises(KnowledgeError):
                service.ask(GET)
            assert len(script.requests) == 1


def test_what_must_not_be_done_twice_is_not_repeated_once_it_was_sent() -> None:
    once = RemoteRequest("DELETE", "/documents/a", repeatable=False)
    with scripted(b"", answer(200)) as script, connection(script.url, Pauses()) as service:
        with pytest.raises(ConnectionFailedError):
            service.ask(once)
        assert len(script.requests) == 1


def test_an_ingest_is_repeated_for_it_does_no_more() -> None:
    done = json.dumps({"status": "ingested", "doc_id": "a", "chunks": 2}).encode()
    with (
        scripted(b"", answer(200, done)) as script,
        closing(RemoteLibrary(script.url, KEY, policy=Pauses().policy)) as library,
    ):
        assert library.deposit(Deposit("team", "a.md", "One.")).collection == "team"
        assert len(script.requests) == 2


# ---- what happens on the way


@pytest.mark.requirement("D-REQ-6.4")
@pytest.mark.requirement("D-REQ-6.5")
def test_the_key_is_sent_as_bearer_token_and_to_no_other_host() -> None:
    with scripted(answer(200, COLLECTIONS)) as other:
        moved = answer(307, b"", f"Location: {other.url}/collections?key=1")
        with scripted(moved) as script, connection(script.url, Pauses()) as service:
            with pytest.raises(ConfigError, match=r"redirect to 127\.0\.0\.1") as refused:
                service.ask(GET)
            assert f"authorization: bearer {KEY}" in script.requests[0].decode().lower()
            assert "key=1" not in f"{refused.value} {refused.value.details}"
        assert other.requests == []


def test_an_answer_that_is_no_json_says_so() -> None:
    page = b"<html>a page of the proxy</html>"
    for body in (page, b"", b"[1]", b'{"collections": ', b"[" * 100_000):
        with scripted(answer(200, body)) as script, connection(script.url, Pauses()) as service:
            with pytest.raises(ConnectionFailedError, match="not a JSON") as met:
                service.ask(GET)
            assert "RAG_API_URL" in met.value.suggestion
            assert len(script.requests) == 1
    with scripted(answer(502, page)) as script, connection(script.url) as service:
        with pytest.raises(ConnectionFailedError, match="502") as met:
            service.ask(GET)
        assert "html" not in f"{met.value} {met.value.details}"


def test_an_answer_of_another_form_is_not_taken_for_ours() -> None:
    bodies: list[object] = [{"things": []}, {"collections": {}}, {"collections": [{"name": "a"}]}]
    for body in bodies:
        with (
            scripted(answer(200, json.dumps(body).encode())) as script,
            closing(RemoteLibrary(script.url, KEY, policy=AT_ONCE)) as library,
            pytest.raises(InternalError, match="unknown format") as met,
        ):
            library.collections()
        assert "collections" in met.value.details


def test_an_answer_that_breaks_off_is_a_failed_connection() -> None:
    cut = answer(200, COLLECTIONS[:20], length=len(COLLECTIONS))
    with scripted(cut, answer(200, COLLECTIONS)) as script, connection(script.url, Pauses()) as service:
        assert service.ask(GET)["total"] == 1
    for broken in (cut, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", b"no http at all\r\n\r\n", b""):
        with (
            scripted(broken) as script,
            connection(script.url) as service,
            pytest.raises(ConnectionFailedError, match="cut off"),
        ):
            service.ask(GET)


def test_a_service_that_is_silent_or_drips_is_waited_for_no_longer_than_told() -> None:
    leave = threading.Event()

    def silent(_: socket.socket) -> None:
        leave.wait(20)

    def drip(client: socket.socket) -> None:
        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not leave.wait(0.05):
            client.sendall(b" ")

    for reply in (silent, drip):
        leave.clear()
        with scripted(reply) as script, connection(script.url, timeout=0.4) as service:
            started = time.monotonic()
            with pytest.raises(TimedOutError):
                service.ask(GET)
            assert time.monotonic() - started < 15, "the service answers after twenty seconds, or never"
            leave.set()


def test_an_answer_without_end_is_not_kept() -> None:
    with scripted(answer(200, b" " * 100_000)) as script:
        small = ServiceConnection(script.url, KEY, policy=AT_ONCE, most_bytes=10_000)
        with closing(small), pytest.raises(InternalError, match="10,000 bytes"):
            small.ask(GET)


def test_nobody_there_is_a_failed_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    pauses = Pauses()
    with connection(f"http://127.0.0.1:{port}", pauses) as service, pytest.raises(ConnectionFailedError):
        service.ask(RemoteRequest("DELETE", "/documents/a", repeatable=False))
    assert pauses.taken == [1.0, 2.0, 4.0]  # nothing was sent, so that even this is asked again


def test_every_error_of_the_library_is_mapped() -> None:
    request = httpx.Request("GET", "https://rag.example.org", headers={"Authorization": f"Bearer {KEY}"})
    kinds: set[type[Exception]] = {httpx.InvalidURL, ValueError, OSError}
    left = [httpx.HTTPError, httpx.StreamError]
    while left:
        kind = left.pop()
        kinds.add(kind)
        left.extend(kind.__subclasses__())
    assert len(kinds) > 20
    for kind in kinds:
        try:
            raised = kind(f"it says Bearer {KEY}")
        except TypeError:
            raised = httpx.HTTPStatusError(f"Bearer {KEY}", request=request, response=httpx.Response(500))
        met = failure_of_transport(raised, KEY).error
        assert isinstance(met, KnowledgeError)
        assert KEY not in f"{met.message} {met.details} {met.suggestion}"


# ---- the key and the address


def test_a_key_that_the_service_repeats_is_struck_out(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    echo = failure(503, detail=f"Bearer {KEY} is down", suggestion=f"not {KEY}")
    with (
        scripted(echo) as script,
        connection(script.url, Pauses()) as service,
        pytest.raises(ConnectionFailedError) as met,
    ):
        service.ask(GET)
    assert KEY not in f"{met.value} {met.value.details} {met.value.suggestion} {met.value.__cause__!r}"
    assert "[key]" in met.value.message
    assert KEY not in caplog.text
    assert KEY not in repr(service)


@pytest.mark.parametrize(
    "url",
    [
        "", "rag.example.org", "ftp://rag.example.org", "https://", "https://user:pw@rag.example.org",
        "https://rag.example.org/?a=b", "https://rag.example.org/#x", "https://rag.example.org:port", "https://[::1",
    ],
)  # fmt: skip
def test_an_address_that_is_none_is_a_setting_to_mend(url: str) -> None:
    with pytest.raises(ConfigError, match="RAG_API_URL") as met:
        ServiceConnection(url, KEY)
    assert "pw" not in f"{met.value} {met.value.details}"


def test_a_key_that_no_header_carries_is_refused() -> None:
    for key in ("two words", "line\nbreak", "schlüssel"):
        with pytest.raises(ConfigError, match="RAG_API_KEY") as met:
            ServiceConnection("https://rag.example.org", key)
        assert key not in f"{met.value} {met.value.details}"


def test_an_address_with_a_path_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    with scripted(answer(200, COLLECTIONS)) as script, connection(f"{script.url}/rag/v1/") as service:
        service.ask(GET)
        assert script.requests[0].startswith(b"GET /rag/v1/collections ")
    assert "unencrypted" not in caplog.text  # it is this machine


def test_http_to_another_machine_is_warned_of_once(caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(3):
        ServiceConnection("http://rag.intranet.example", KEY).close()
        ServiceConnection("https://safe.intranet.example", KEY).close()
    warned = [record.getMessage() for record in caplog.records if "unencrypted" in record.getMessage()]
    assert len(warned) == 1
    assert "rag.intranet.example" in warned[0]
    assert KEY not in warned[0]


def test_a_closed_client_says_so_and_giving_up_ends_a_pause() -> None:
    service = ServiceConnection("http://127.0.0.1:9", KEY)
    service.close()
    with pytest.raises(InternalError, match="closed"):
        service.ask(GET)
    gave_up = threading.Event()
    with scripted(failure(503)) as script, closing(ServiceConnection(script.url, KEY)) as patient:
        leaving = threading.Timer(0.3, gave_up.set)
        leaving.start()
        with pytest.raises(InternalError, match="cancelled"):
            patient.ask(GET, cancelled=gave_up.is_set)
        leaving.join()
        assert len(script.requests) == 1


def test_a_connection_that_is_made_while_the_client_closes_is_closed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    connect = socket.create_connection
    made: list[socket.socket] = []
    with (
        scripted(answer(200, COLLECTIONS).replace(b"close", b"keep-alive")) as server,
        connection(server.url) as asking,
    ):

        def closing_first(*arguments: Any, **named: Any) -> socket.socket:
            asking.close()
            made.append(connect(*arguments, **named))
            return made[-1]

        monkeypatch.setattr(socket, "create_connection", closing_first)
        asking.ask(GET)
    assert [each.fileno() for each in made] == [-1]


def test_many_threads_may_ask_at_once() -> None:
    with scripted(answer(200, COLLECTIONS)) as script, connection(script.url) as service:
        found: list[int] = []
        threads = [threading.Thread(target=lambda: found.append(service.ask(GET)["total"])) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(20)
        assert found == [1] * 8
