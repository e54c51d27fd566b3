"""Failures in transit: converts our errors into the REST error object, and any failed answer into one of our errors.

The object is `{"error", "detail", "status_code", "suggestion"}`. The engine's endpoints add `knowledge_error`, from
which the same class of error is rebuilt; otherwise the class follows from the status.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from knowledge_mcp.model import errors
from knowledge_mcp.model.errors import (
    AuthError,
    ConfigError,
    ConnectionFailedError,
    ContentRefusedError,
    DamagedError,
    ErrorCode,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    TimedOutError,
    UnreadableDocumentError,
    UnreadableReason,
    may_pass,
)
from knowledge_mcp.support.retry import requested_pause

SERVICE = "The RAG API"
REPEATABLE = frozenset({429, 502, 503, 504})
"""Statuses after which the same call may succeed a little later."""
MOST_WORDS = 2000

_CLASSES: dict[str, type[KnowledgeError]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, KnowledgeError)
}

CODES: Mapping[int, str] = {
    400: "validation_error",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "request_timeout",
    409: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    421: "misdirected_request",
    422: "validation_error",
    429: "rate_limited",
    499: "client_left",
    500: "internal_error",
    502: "upstream_error",
    503: "unavailable",
    504: "timeout",
}
"""The error code for each status of a failure."""

STATUS_OF_CODE: Mapping[ErrorCode, int] = {
    ErrorCode.CONFIG_ERROR: 500,
    ErrorCode.CONNECTION_ERROR: 503,
    ErrorCode.TIMEOUT_ERROR: 504,
    ErrorCode.AUTH_ERROR: 502,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.INVALID_INPUT: 422,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.INTERNAL_ERROR: 500,
}
"""The status for each error. Requests are authenticated before, so an AuthError comes from a service behind it."""


@dataclass(eq=False)
class Failed(Exception):  # noqa: N818 - it never leaves the room
    """A failed request, with what the caller needs to decide how to continue.

    Attributes:
        error: to be raised if nothing better is known.
        again: whether the same request may succeed a little later.
        sent: whether the service may have acted on it.
        retry_after: seconds that the service asked to wait.
    """

    error: KnowledgeError
    again: bool = False
    sent: bool = True
    retry_after: float | None = None

    def __str__(self) -> str:
        return self.error.message

    @property
    def details(self) -> str:
        """The error's details, for the log of a retry."""
        return self.error.details


# ---- our errors, encoded


def error_object(error: KnowledgeError) -> dict[str, Any]:
    """Convert an error into the REST error object, with everything needed to rebuild it."""
    status = STATUS_OF_CODE[error.code]
    return {
        "error": CODES[status],
        "detail": error.message,
        "status_code": status,
        "suggestion": error.suggestion,
        "knowledge_error": {
            # the other side builds the first of these that it knows
            "classes": [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, KnowledgeError)],
            "details": error.details,
            "recoverable": error.recoverable,
            **_more(error),
        },
    }


_OF_DAMAGE = ("what", "document_id", "chunk_id")


def _more(error: KnowledgeError) -> dict[str, Any]:
    if isinstance(error, UnreadableDocumentError):
        return {"reason": error.reason.value, "source": error.source, "facts": error.facts}
    if isinstance(error, RateLimitedError):
        return {"retry_after": error.retry_after}
    if isinstance(error, DamagedError):
        return {name: getattr(error, name) for name in _OF_DAMAGE}
    if isinstance(error, ContentRefusedError):
        vectors = [None if each is None else base64.b64encode(each).decode() for each in error.vectors]
        return {"vectors": vectors, "reasons": {str(place): words for place, words in error.reasons.items()}}
    return {}


def _rebuild(payload: Mapping[str, Any], words: str, key: str) -> KnowledgeError | None:
    """Rebuild the error with its class; None if the object lacks the required fields."""
    content = payload.get("knowledge_error")
    if not isinstance(content, Mapping):
        return None
    fields = cast("Mapping[str, Any]", content)
    classes = cast("Sequence[object]", classes) if isinstance(classes := fields.get("classes"), list) else ()
    kind = next((_CLASSES[name] for name in map(str, classes) if name in _CLASSES), InternalError)
    arguments: dict[str, Any] = {
        "details": _redact(str(fields.get("details") or ""), key),
        "suggestion": _suggestion(payload, key),
    }
    try:
        if issubclass(kind, UnreadableDocumentError):
            facts = {str(name): str(value) for name, value in dict(fields.get("facts") or {}).items()}
            arguments |= {"reason": UnreadableReason(fields["reason"]), "source": str(fields["source"]), "facts": facts}
        elif issubclass(kind, ContentRefusedError):
            arguments["vectors"] = [None if each is None else base64.b64decode(each) for each in fields["vectors"]]
            arguments["reasons"] = {int(place): str(why) for place, why in dict(fields["reasons"]).items()}
        elif issubclass(kind, DamagedError):
            arguments |= {name: str(fields.get(name) or "") for name in _OF_DAMAGE}
        elif issubclass(kind, RateLimitedError):
            arguments["retry_after"] = None if fields.get("retry_after") is None else float(fields["retry_after"])
    except (KeyError, TypeError, ValueError):
        return None
    error = kind(words, **arguments)
    error.recoverable = fields.get("recoverable") is True
    return error


# ---- what a server answers


def failure_of_answer(status: int, headers: Mapping[str, str], payload: Mapping[str, Any] | None, key: str) -> Failed:
    """Map any unsuccessful answer; `payload` is its JSON object, or None."""
    pause = requested_pause(headers.get("retry-after", ""))
    answer = payload if payload is not None and isinstance(payload.get("detail"), str) else None
    error = _of_status(status, answer, headers, key)
    if isinstance(error, RateLimitedError) and "knowledge_error" not in (answer or {}):
        error.retry_after = pause
    return Failed(error, again=status in REPEATABLE and may_pass(error), retry_after=pause)


def error_from_payload(payload: Mapping[str, Any], key: str = "") -> KnowledgeError:
    """Map an error object inside an answer, such as that of a job or at the end of a stream."""
    status = payload.get("status_code")
    return failure_of_answer(status if isinstance(status, int) else 500, {}, payload, key).error


def _of_status(status: int, answer: Mapping[str, Any] | None, headers: Mapping[str, str], key: str) -> KnowledgeError:
    if 300 <= status < 400:
        return _redirected(headers)
    words = _redact(str(answer["detail"]), key) if answer is not None else ""
    if answer is not None and (rebuilt := _rebuild(answer, words, key)) is not None:
        return rebuilt
    code = str(answer.get("error") or "") if answer is not None else ""
    details = f"HTTP {status}" + (f" ({code})" if code else "")
    suggestion = _suggestion(answer, key) if answer is not None else None
    if status == 401:
        message = f"{details}: {words}" if words else details
        return AuthError(f"{SERVICE} got a request without an API key.", details=message, suggestion="Set RAG_API_KEY.")
    if status == 403:
        return AuthError(
            words or f"{SERVICE} refused the API key.",
            details=details,
            suggestion=suggestion or "Check RAG_API_KEY, and what this key may read and write.",
        )
    if status in {404, 405} and answer is None:
        return ConfigError(
            f"There is no RAG API at this address (HTTP {status}).", details=details, suggestion="Check RAG_API_URL."
        )
    if answer is not None and (unreadable := _unreadable(answer, words, details, suggestion)) is not None:
        return unreadable
    kind, sentence = _BY_STATUS.get(status) or (
        (InternalError, "failed") if status >= 500 else (InvalidInputError, "refused the request")
    )
    message = words or f"{SERVICE} {sentence} (HTTP {status})."
    return kind(message, details=details, suggestion=suggestion or _DEFAULTS.get(status))


_BY_STATUS: dict[int, tuple[Callable[..., KnowledgeError], str]] = {
    404: (NotFoundError, "has nothing with that name"),
    405: (ConfigError, "does not offer that"),
    408: (TimedOutError, "stopped waiting for the request"),
    409: (InvalidInputError, "refused the request, which conflicts with existing data"),
    413: (InvalidInputError, "refused the document as too large"),
    415: (InvalidInputError, "does not accept documents of this type"),
    429: (RateLimitedError, "asks to slow down"),
    502: (ConnectionFailedError, "could not be reached, or a service that it uses failed"),
    503: (ConnectionFailedError, "is not ready"),
    504: (TimedOutError, "did not answer in time"),
}
_DEFAULTS = {
    405: "Check RAG_API_URL, and whether the service is of the same version.",
    413: "Send a smaller document; the service's RAG_MAX_UPLOAD_BYTES is the limit.",
    500: "Try again; if it happens again, see the service's log for the cause.",
}


def _unreadable(
    answer: Mapping[str, Any], words: str, details: str, suggestion: str | None
) -> UnreadableDocumentError | None:
    try:
        reason = UnreadableReason(str(answer.get("reason")))
    except ValueError:
        return None
    source = str(answer.get("source") or "")
    return UnreadableDocumentError(words, reason=reason, source=source, details=details, suggestion=suggestion)


def _redirected(headers: Mapping[str, str]) -> KnowledgeError:
    from urllib.parse import urlsplit

    try:
        host = urlsplit(headers.get("location", "")).hostname or "the same host"
    except ValueError:
        host = "a malformed address"
    return ConfigError(
        f"{SERVICE} answers with a redirect to {host}, which is not followed: the key is for the given address only.",
        suggestion="Set RAG_API_URL to the final address of the service, with its scheme and path.",
    )


# ---- what happened on the way


def failure_of_transport(exc: Exception, key: str) -> Failed:
    """Map any exception of the HTTP library; no credentials are kept."""
    import httpx

    details = _redact(f"{type(exc).__name__}: {exc}", key)
    if isinstance(exc, httpx.TimeoutException):
        # nothing was sent yet if getting a connection timed out
        sent = not isinstance(exc, httpx.ConnectTimeout | httpx.PoolTimeout)
        return Failed(TimedOutError(f"{SERVICE} did not answer in time.", details=details), again=not sent, sent=sent)
    if isinstance(exc, httpx.InvalidURL | httpx.UnsupportedProtocol):
        return Failed(ConfigError(f"{SERVICE} has no valid address.", details=details, suggestion="Check RAG_API_URL."))
    if isinstance(exc, httpx.HTTPError | httpx.StreamError):
        return Failed(
            ConnectionFailedError(
                f"{SERVICE} could not be reached, or its answer was cut off.",
                details=details,
                suggestion="Check the network and RAG_API_URL, then try again.",
            ),
            again=True,
            sent=not isinstance(exc, httpx.ConnectError | httpx.ProxyError),
        )
    return Failed(InternalError("The request to the RAG API could not be made.", details=details))


def _suggestion(payload: Mapping[str, Any], key: str) -> str | None:
    suggestion = payload.get("suggestion")
    return _redact(suggestion, key) if isinstance(suggestion, str) and suggestion else None


def _redact(words: str, key: str) -> str:
    """Shorten a message of the service, and remove the key from it."""
    return (words.replace(key, "[key]") if key else words)[:MOST_WORDS]
