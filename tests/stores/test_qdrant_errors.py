"""Whatever fails in the client, in HTTP or in gRPC leaves the Qdrant store as one of the product's own errors."""

from __future__ import annotations

import json
import ssl
from collections.abc import Iterator
from typing import Any

import grpc
import httpx
import pytest
from pydantic import BaseModel, ValidationError
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

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
from knowledge_mcp.stores.qdrant.connection import mapped
from tests.servers.qdrant_local import refusal


def error_of(exc: BaseException) -> KnowledgeError:
    return mapped(exc, doing="testing", location="http://host", secret="s3cret")


def kinds_of(base: type[Exception]) -> Iterator[type[Exception]]:
    yield base
    for each in base.__subclasses__():
        yield from kinds_of(each)


STATUSES: dict[int, type[KnowledgeError]] = {
    400: InvalidInputError,
    401: AuthError,
    403: AuthError,
    404: NotFoundError,
    408: TimedOutError,
    409: InvalidInputError,
    413: InvalidInputError,
    422: InvalidInputError,
    429: RateLimitedError,
    500: InternalError,
    502: ConnectionFailedError,
    503: ConnectionFailedError,
    504: TimedOutError,
    507: QuotaExceededError,
}


@pytest.mark.requirement("A-REQ-DATA-004")
@pytest.mark.parametrize(("status", "kind"), STATUSES.items())
def test_each_status_has_its_error(status: int, kind: type[KnowledgeError]) -> None:
    error = error_of(refusal(status, "why it was refused"))
    assert type(error) is kind
    assert "why it was refused" in error.details
    assert "http://host" in error.message


@pytest.mark.requirement("A-REQ-REL-002")
def test_only_what_may_pass_is_tried_again() -> None:
    again = {status for status in range(300, 600) if may_pass(error_of(refusal(status, "no")))}
    assert again == {408, 429} | set(range(500, 600)) - {507}


def test_every_failure_of_http_is_mapped() -> None:
    kinds = set(kinds_of(httpx.HTTPError)) | set(kinds_of(httpx.StreamError)) | {httpx.InvalidURL}
    assert len(kinds) > 20, "httpx has other errors than thought"
    unknown: list[str] = []
    for kind in kinds - {httpx.HTTPStatusError}:
        error = error_of(ResponseHandlingException(kind.__new__(kind, "broken")))
        if isinstance(error, InternalError):
            unknown.append(kind.__name__)
    assert sorted(unknown) == ["HTTPError"], "an error of httpx is not known"
    assert isinstance(error_of(ResponseHandlingException(httpx.ReadTimeout("slow"))), TimedOutError)
    assert isinstance(error_of(ResponseHandlingException(httpx.ConnectError("no"))), ConnectionFailedError)
    assert isinstance(error_of(ResponseHandlingException(httpx.RemoteProtocolError("half"))), ConnectionFailedError)
    assert isinstance(error_of(ResponseHandlingException(httpx.UnsupportedProtocol("ftp"))), ConfigError)


def test_a_missing_key_and_a_wrong_one_are_distinguished() -> None:
    wrong = error_of(refusal(401, "no"))
    missing = mapped(refusal(401, "no"), doing="testing", location="http://host")
    assert "refused the API key" in wrong.message
    assert "none is set" in missing.message
    assert missing.suggestion == "Set QDRANT_API_KEY."


@pytest.mark.parametrize(("status", "body"), [(404, b""), (404, b"<html>404 page not found</html>"), (404, b"[]")])
def test_an_address_where_something_else_answers_is_a_matter_of_settings(status: int, body: bytes) -> None:
    error = error_of(UnexpectedResponse(status, "Not Found", body, httpx.Headers()))
    assert type(error) is ConfigError
    assert "QDRANT_URL" in error.suggestion


def test_a_full_disk_of_the_server_is_named() -> None:
    error = error_of(refusal(500, "Service internal error: No space left on device (os error 28)"))
    assert "no space left" in error.message
    assert "Free space" in error.suggestion
    assert error.recoverable


def test_no_failure_of_a_server_asks_the_user_to_report_it_to_us() -> None:
    failures = [refusal(status, "no") for status in (*range(400, 430), *range(500, 510))]
    failures += [UnexpectedResponse(404, "no", b"", httpx.Headers())]
    for each in failures:
        assert "Report this" not in error_of(each).suggestion, each
        assert error_of(each).suggestion


class RpcFailure(grpc.RpcError, grpc.Call):
    """An error as a gRPC call raises it."""

    def __init__(self, code: grpc.StatusCode, *trailing: tuple[str, str]) -> None:
        super().__init__()
        self._code = code
        self._trailing = trailing

    def code(self) -> grpc.StatusCode:
        return self._code

    def details(self) -> str:
        return "why s3cret was refused"

    def initial_metadata(self) -> tuple[tuple[str, str | bytes], ...]:
        return ()

    def trailing_metadata(self) -> tuple[Any, ...]:
        return self._trailing

    def is_active(self) -> bool:
        return False

    def time_remaining(self) -> float:
        return 0.0

    def cancel(self) -> bool:
        return False

    def add_callback(self, callback: object) -> bool:
        return False


RPC: dict[str, type[KnowledgeError]] = {
    "UNAVAILABLE": ConnectionFailedError,
    "CANCELLED": ConnectionFailedError,
    "DEADLINE_EXCEEDED": TimedOutError,
    "UNAUTHENTICATED": AuthError,
    "PERMISSION_DENIED": AuthError,
    "NOT_FOUND": NotFoundError,
    "RESOURCE_EXHAUSTED": RateLimitedError,
    "INVALID_ARGUMENT": InvalidInputError,
    "ALREADY_EXISTS": InvalidInputError,
    "FAILED_PRECONDITION": InternalError,
    "OUT_OF_RANGE": InvalidInputError,
    "UNIMPLEMENTED": InvalidInputError,
    "INTERNAL": InternalError,
    "UNKNOWN": InternalError,
    "DATA_LOSS": InternalError,
    "ABORTED": InternalError,
}


@pytest.mark.parametrize("code", [each for each in grpc.StatusCode if each is not grpc.StatusCode.OK])
def test_each_code_of_grpc_has_its_error(code: grpc.StatusCode) -> None:
    error = error_of(RpcFailure(code))
    assert type(error) is RPC[code.name]
    assert code.name in error.details
    assert "s3cret" not in error.details


def test_a_server_over_its_quota_says_so_by_rest_and_by_grpc() -> None:
    """By gRPC it is the code of too many requests, with a mark beside."""
    marked = RpcFailure(grpc.StatusCode.RESOURCE_EXHAUSTED, ("qdrant-insufficient-storage", "1"))
    for failure in (refusal(507, "Disk usage is at 95% of total capacity"), marked):
        error = error_of(failure)
        assert type(error) is QuotaExceededError
        assert "has reached its quota" in error.message
        assert "raise the quota" in error.suggestion


class _Model(BaseModel):
    number: int


def test_what_is_left_is_an_internal_error_and_garbled_answers_may_pass() -> None:
    with pytest.raises(ValidationError) as refused:
        _Model.model_validate({"number": "x"})
    for garbled in (refused.value, json.JSONDecodeError("no", "x", 0)):
        error = error_of(ResponseHandlingException(garbled))
        assert isinstance(error, InternalError)
        assert error.recoverable
    for odd in (RuntimeError("odd"), AssertionError(), ValueError("x"), grpc.RpcError("bare"), Exception()):
        assert isinstance(error_of(odd), InternalError)
    assert isinstance(error_of(ConnectionResetError()), ConnectionFailedError)
    assert isinstance(error_of(TimeoutError()), TimedOutError)


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    error = httpx.ConnectError("no")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    result = error_of(ResponseHandlingException(error))
    assert isinstance(result, ConnectionFailedError)
    assert "certificate" in result.message


def test_a_pause_that_the_server_asks_for_is_kept() -> None:
    error = error_of(ResourceExhaustedResponse("slow down", 7))
    assert isinstance(error, RateLimitedError)
    assert error.retry_after == 7.0


def test_an_error_of_our_own_passes_as_it_is() -> None:
    ours = NotFoundError("gone")
    assert error_of(ours) is ours


def test_the_key_is_in_no_error() -> None:
    error = error_of(refusal(400, "the key s3cret is odd"))
    assert "s3cret" not in f"{error.message} {error.details} {error.suggestion}"
