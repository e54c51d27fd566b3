"""Every failure of the REST service in one form: `{error, detail, status_code, suggestion?, request_id}`."""

from __future__ import annotations

import json
import logging
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any

from starlette.exceptions import HTTPException
from starlette.types import Scope, Send

from knowledge_mcp.model.errors import (
    CancelledError,
    InternalError,
    KnowledgeError,
    QuotaExceededError,
    RateLimitedError,
    SpaceMismatchError,
    UnreadableDocumentError,
    UnreadableReason,
    WrongAnswerError,
)
from knowledge_mcp.remote.failures import CODES, STATUS_OF_CODE
from knowledge_mcp.surfaces.arguments import problem_in_words

logger = logging.getLogger(__name__)

REQUEST_ID = "knowledge_request_id"
"""Key of the request's id in a scope."""

FAILURE = "knowledge_failure"
"""Key of the failure that was returned in a scope, for the log."""

RETRY_SECONDS = 5
"""When a client may try again, if the cause does not state a time."""

MAX_DETAIL = 2000
MAX_PROBLEMS = 8

_MEMBER = re.compile(r"constrained-\w+|bool|int|float|list\[.*\]")
"""Pydantic's names of members of a union; no field of a request has such a name."""

_PLACES = (["body"], ["query"], ["path"])
_OF_READING = {UnreadableReason.UNSUPPORTED: 415, UnreadableReason.TOO_LARGE: 413}


@dataclass(frozen=True, slots=True)
class Failure:
    """A failure as returned; its code depends on its status."""

    status: int
    detail: str
    suggestion: str = ""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    more: Mapping[str, str] = field(default_factory=dict[str, str])

    @property
    def code(self) -> str:
        """Return the code of the status."""
        return CODES.get(self.status) or HTTPStatus(self.status).phrase.lower().replace(" ", "_")

    def body(self, request_id: str) -> bytes:
        """Build the answer's body."""
        content: dict[str, Any] = {"error": self.code, "detail": self.detail[:MAX_DETAIL], "status_code": self.status}
        if self.suggestion:
            content["suggestion"] = self.suggestion[:MAX_DETAIL]
        content.update(self.more)
        content["request_id"] = request_id
        return json.dumps(content, ensure_ascii=False).encode("utf-8", "replace")


class RefusedRequest(HTTPException):
    """Refuse a request wherever it is read or checked; the frameworks pass it to our own handler."""

    def __init__(
        self, status: int, detail: str, suggestion: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(status, detail, headers)
        self.suggestion = suggestion


def _status_of(error: KnowledgeError) -> int:
    """Choose the status of an error: by its code, with exceptions that a caller can distinguish."""
    match error:
        case SpaceMismatchError():
            return 409
        case UnreadableDocumentError():
            return _OF_READING.get(error.reason, 422)
        case CancelledError():
            return 503
        case WrongAnswerError() | InternalError(recoverable=True):  # recoverable ones are a service's own 5xx
            return 502
        case _:
            return STATUS_OF_CODE[error.code]


def failure_of(error: KnowledgeError) -> Failure:
    """Map an error of the engine.

    Technical details are included only if they concern what the client sent or named.
    """
    status = _status_of(error)
    detail = error.message
    if error.details and error.details not in detail and status in {404, 413, 415, 422}:
        detail = f"{detail} ({error.details})"
    headers: dict[str, str] = {}
    if isinstance(error, RateLimitedError):
        if not isinstance(error, QuotaExceededError):
            headers["Retry-After"] = str(max(1, math.ceil(error.retry_after or RETRY_SECONDS)))
    elif status == 503:
        headers["Retry-After"] = str(RETRY_SECONDS)
    more: dict[str, str] = {}
    if isinstance(error, UnreadableDocumentError):
        more = {"reason": error.reason.value, "source": error.source[:500]}
    return Failure(status, detail, error.suggestion, headers, more)


def from_http(error: HTTPException) -> Failure:
    """Map exceptions of the frameworks, and our own refusals."""
    own = error if isinstance(error, RefusedRequest) else None
    detail = str(error.detail)
    if own is None and detail == HTTPStatus(error.status_code).phrase:
        detail = {
            404: "There is nothing at this address. /openapi.json lists the addresses.",
            405: "The method is not allowed here.",
        }.get(error.status_code, detail)
    return Failure(error.status_code, detail, own.suggestion if own else "", dict(error.headers or {}))


def from_validation(errors: Iterable[Mapping[str, Any]]) -> Failure:
    """Map pydantic's validation errors: which fields, and why; never their values."""
    problems: list[str] = []
    for each in errors:
        place = [str(part) for part in each.get("loc", ())]
        unknown = each.get("type") == "extra_forbidden"
        if place and not unknown and _MEMBER.fullmatch(place[-1]):  # name of the union's member
            place.pop()
        name = ".".join(place[1:] if place[:1] in _PLACES else place)[:120]
        words = "unknown field" if unknown else problem_in_words(each)
        problems.append(f"{name}: {words}" if name else words)
    distinct = list(dict.fromkeys(problems))
    more = f" (and {len(distinct) - MAX_PROBLEMS} more)" if len(distinct) > MAX_PROBLEMS else ""
    suggestion = "Correct these fields and send the request again; /openapi.json lists the fields of each request."
    return Failure(422, "; ".join(distinct[:MAX_PROBLEMS]) + more, suggestion)


def log_crash(exc: BaseException, request_id: str, what: str) -> Failure:
    """Log an unexpected exception in full; return only the request's id."""
    logger.error("%s crashed (request %s)", what, request_id, exc_info=exc)
    return Failure(500, "The server failed to answer.", "Report the request_id; the server's log has the cause.")


async def send_failure(scope: Scope, send: Send, failure: Failure) -> None:
    """Return a failure from outside the routes, and keep it for the log."""
    scope[FAILURE] = failure
    body = failure.body(str(scope.get(REQUEST_ID, "")))
    if scope.get("method") == "HEAD":
        length, body = len(body), b""
    else:
        length = len(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(length).encode())]
    headers += [(name.lower().encode(), value.encode("latin-1", "replace")) for name, value in failure.headers.items()]
    await send({"type": "http.response.start", "status": failure.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
