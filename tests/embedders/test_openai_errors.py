"""Every row of clarification 2's table and every fault of the wire, with the real library against the stand-in."""

from __future__ import annotations

import logging
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pydantic import SecretStr

from knowledge_mcp.embedders.services.embedder import RemoteEmbedder
from knowledge_mcp.embedders.services.providers import from_openai_options
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    ErrorCode,
    InternalError,
    KnowledgeError,
    QuotaExceededError,
    RateLimitedError,
    TimedOutError,
)
from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.support.retry import RetryPolicy
from tests.embedders.remote_world import Pauses, openai_embedder, openai_service, options_for
from tests.servers import openai_faults as faults
from tests.servers.openai_faults import Fault
from tests.servers.openai_server import OpenAIServer

TEXTS = [f"clause {number}" for number in range(12)]


@pytest.fixture
def release() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def _retries(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    logged = [each for each in caplog.records if each.getMessage() == "retry_attempt"]
    assert all(each.levelno == logging.WARNING for each in logged)
    return [getattr(each, EVENT_FIELDS) for each in logged]


# ---- what is retried


PASSING: list[tuple[Callable[[], Fault], type[KnowledgeError], ErrorCode]] = [
    (faults.rate_limited, RateLimitedError, ErrorCode.RATE_LIMITED),
    (faults.server_error, InternalError, ErrorCode.INTERNAL_ERROR),
    (lambda: faults.server_error(503), InternalError, ErrorCode.INTERNAL_ERROR),
    (lambda: faults.text("<html>bad gateway</html>", status=502), InternalError, ErrorCode.INTERNAL_ERROR),
    (lambda: faults.error(408, "Request timed out"), TimedOutError, ErrorCode.TIMEOUT_ERROR),
    (faults.cut_off, ConnectionFailedError, ErrorCode.CONNECTION_ERROR),
    (faults.dropped, ConnectionFailedError, ErrorCode.CONNECTION_ERROR),
    (lambda: faults.text('{"object": "list", "da'), ConnectionFailedError, ErrorCode.CONNECTION_ERROR),
    (lambda: faults.text("<html>", content_type="text/html"), ConnectionFailedError, ErrorCode.CONNECTION_ERROR),
]
NAMES = ["429", "500", "503", "502 page", "408", "half a body", "dropped", "half an object", "a page"]


@pytest.mark.requirement("CLARIFY-002")
@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.requirement("C-6.2-backoff")
@pytest.mark.parametrize(("fault", "kind", "code"), PASSING, ids=NAMES)
def test_what_passes_is_retried_after_1_2_and_4_seconds_and_no_text_is_lost_or_doubled(
    server: OpenAIServer,
    caplog: pytest.LogCaptureFixture,
    fault: Callable[[], Fault],
    kind: type[KnowledgeError],
    code: ErrorCode,
) -> None:
    pauses = Pauses()
    server.faults.extend([fault(), fault(), fault()])
    embedder = openai_embedder(server, pauses)
    assert embedder.embed_documents(TEXTS) == [server.vector(text) for text in TEXTS]
    assert (len(server.requests), pauses.taken) == (4, [1.0, 2.0, 4.0])
    assert server.answered == Counter(TEXTS)
    assert [(each["service"], each["attempt"]) for each in _retries(caplog)] == [("OpenAI", n) for n in (1, 2, 3)]
    server.always = fault()
    with pytest.raises(kind) as failure:
        embedder.embed_query("a question")
    assert (failure.value.code, failure.value.recoverable) == (code, True)
    assert (len(server.requests), len(pauses.taken)) == (8, 6)
    assert embedder.usage.requests == 8
    embedder.close()


@pytest.mark.requirement("A-REQ-REL-002")
@pytest.mark.parametrize("slow", [faults.silent, faults.dripping])
def test_an_answer_that_is_too_slow_is_a_time_out_even_where_each_byte_comes_soon(
    server: OpenAIServer, release: threading.Event, slow: Callable[[threading.Event], Fault]
) -> None:
    pauses = Pauses()
    service = openai_service(server)
    embedder = RemoteEmbedder(service, retries=pauses.policy, batch_seconds=1.5)
    server.faults.append(slow(release))
    assert embedder.embed_documents(["a passage"]) == [server.vector("a passage")]
    assert pauses.taken == [1.0]
    embedder.close()
    embedder = RemoteEmbedder(service, retries=RetryPolicy(pauses=()), query_seconds=0.2)
    server.always = slow(release)
    with pytest.raises(TimedOutError, match="did not answer in time"):
        embedder.embed_query("a question")
    release.set()
    embedder.close()


def test_a_service_that_is_not_there_is_a_connection_error_that_names_the_setting() -> None:
    with OpenAIServer() as server:
        options = options_for(server)
    pauses = Pauses()
    embedder = from_openai_options(options, retries=pauses.policy)
    with pytest.raises(ConnectionFailedError) as failure:
        embedder.embed_query("a question")
    assert "OPENAI_BASE_URL" in failure.value.suggestion
    assert "refused" in failure.value.details
    assert pauses.taken == [1.0, 2.0, 4.0]
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
@pytest.mark.parametrize(
    ("headers", "asked", "pause"),
    [
        ({"Retry-After": "7"}, 7.0, 7.0),
        ({"retry-after-ms": "2500"}, 2.5, 2.5),
        ({"retry-after-ms": "10", "Retry-After": "30"}, 0.01, 1.0),
        ({"Retry-After": "3600"}, 3600.0, 60.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0, 1.0),
        ({"Retry-After": "soon"}, None, 1.0),
        ({"Retry-After": "nan"}, None, 1.0),
        ({}, None, 1.0),
    ],
)
def test_a_rate_limit_waits_as_long_as_the_service_asks(
    server: OpenAIServer, headers: dict[str, str], asked: float | None, pause: float
) -> None:
    pauses = Pauses()
    server.faults.append(faults.rate_limited(headers))
    embedder = openai_embedder(server, pauses)
    embedder.embed_query("a question")
    assert pauses.taken == [pause]
    server.always = faults.rate_limited(headers)
    with pytest.raises(RateLimitedError) as failure:
        embedder.embed_query("another question")
    assert failure.value.retry_after == asked
    assert not isinstance(failure.value, QuotaExceededError)
    embedder.close()


def test_a_server_error_that_says_how_long_to_wait_is_waited_for(server: OpenAIServer) -> None:
    pauses = Pauses()
    server.faults.append(faults.server_error(503, {"Retry-After": "9"}))
    embedder = openai_embedder(server, pauses)
    embedder.embed_query("a question")
    assert pauses.taken == [9.0]
    embedder.close()


def test_without_a_policy_of_a_test_pauses_have_jitter_and_end_when_the_embedder_is_closed(
    server: OpenAIServer,
) -> None:
    server.always = faults.rate_limited({"Retry-After": "50"})
    embedder = from_openai_options(options_for(server))
    failures: list[KnowledgeError] = []

    def ask() -> None:
        try:
            embedder.embed_query("a question")
        except KnowledgeError as exc:
            failures.append(exc)

    waiting = _Signal()
    logging.getLogger("knowledge_mcp.support.retry").addHandler(waiting)
    try:
        thread = threading.Thread(target=ask)
        thread.start()
        assert waiting.seen.wait(30)
        embedder.close()
        thread.join(30)
    finally:
        logging.getLogger("knowledge_mcp.support.retry").removeHandler(waiting)
    assert not thread.is_alive()
    assert [each.message for each in failures] == ["The embedder is closed."]
    assert 50.0 <= waiting.pauses[0] <= 60.0
    assert len(server.requests) == 1


class _Signal(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.seen = threading.Event()
        self.pauses: list[float] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.pauses.append(getattr(record, EVENT_FIELDS)["pause_s"])
        self.seen.set()


# ---- what ends it at once


@pytest.mark.requirement("CLARIFY-002")
def test_a_refused_key_ends_it_at_once_and_no_part_of_the_key_is_shown(
    server: OpenAIServer, caplog: pytest.LogCaptureFixture
) -> None:
    pauses, secret = Pauses(), "sk-proj-Zq81LmNoPqRsTuVwXyZk"  # an end that no time in a log record has
    embedder = openai_embedder(server, pauses, openai_api_key=SecretStr(secret))
    with caplog.at_level(logging.DEBUG), pytest.raises(AuthError) as failure:
        embedder.embed_documents(TEXTS)
    assert (failure.value.code, failure.value.recoverable) == (ErrorCode.AUTH_ERROR, False)
    assert (len(server.requests), pauses.taken) == (1, [])
    assert "OPENAI_API_KEY" in failure.value.suggestion
    shown = "".join(traceback.format_exception(failure.value))
    shown += f"{failure.value.details} {[record.__dict__ for record in caplog.records]}"
    assert secret not in shown
    assert secret[:7] not in shown, "the service's masked form is struck out as well"
    assert secret[-4:] not in shown
    embedder.close()


def test_a_key_that_a_service_repeats_in_any_error_is_struck_out(server: OpenAIServer) -> None:
    words = f"cannot serve {server.key} now"
    for fault in (faults.refused(words, code="content_filter"), faults.error(500, words), faults.error(404, words)):
        server.always = fault
        embedder = openai_embedder(server)
        with pytest.raises(KnowledgeError) as failure:
            embedder.embed_query("a question")
        shown = "".join(traceback.format_exception(failure.value)) + failure.value.details
        assert server.key not in shown
        assert "cannot serve [key] now" in failure.value.details
        embedder.close()


@pytest.mark.requirement("CLARIFY-002")
@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        (faults.forbidden(), AuthError, "does not allow"),
        (faults.model_not_found(), ConfigError, "has no 'text-embedding-3-small'"),
        (faults.text("no such page", status=404, content_type="text/plain"), ConfigError, "has no"),
        (faults.error(405, "Method not allowed"), ConfigError, "HTTP 405"),
    ],
)
def test_what_trying_again_does_not_help_is_raised_after_one_request(
    server: OpenAIServer, fault: Fault, kind: type[KnowledgeError], said: str
) -> None:
    pauses = Pauses()
    server.always = fault
    embedder = openai_embedder(server, pauses)
    with pytest.raises(kind, match=said) as failure:
        embedder.embed_documents(TEXTS)
    assert (len(server.requests), pauses.taken, failure.value.recoverable) == (1, [], False)
    embedder.close()


@pytest.mark.requirement("CLARIFY-002")
def test_a_used_up_quota_is_distinguished_with_its_status_and_where_to_look_at_the_billing(
    server: OpenAIServer,
) -> None:
    pauses = Pauses()
    server.always = faults.quota_used_up({"x-ratelimit-remaining-tokens": "0", "Retry-After": "20"})
    embedder = openai_embedder(server, pauses)
    with pytest.raises(QuotaExceededError) as failure:
        embedder.embed_documents(TEXTS)
    error = failure.value
    assert error.code is ErrorCode.RATE_LIMITED
    assert (len(server.requests), pauses.taken, error.retry_after) == (1, [], None)
    assert "exceeded your current quota" in error.message
    assert "x-ratelimit-remaining-tokens: 0" in error.details
    assert "billing" in error.suggestion
    embedder.close()


def test_of_several_requests_the_first_failure_stops_the_rest(server: OpenAIServer) -> None:
    server.faults.append(None)
    server.always = faults.quota_used_up()
    embedder = openai_embedder(server, embedding_batch_size=1, embedding_concurrency=2)
    with pytest.raises(QuotaExceededError):
        embedder.embed_documents([f"text {number}" for number in range(100)])
    assert len(server.requests) <= 4
    embedder.close()


def test_a_policy_is_used_as_it_is_given(server: OpenAIServer) -> None:
    server.always = faults.server_error()
    embedder = from_openai_options(options_for(server), retries=RetryPolicy(pauses=()))
    with pytest.raises(InternalError):
        embedder.embed_query("a question")
    assert len(server.requests) == 1
    embedder.close()
