"""Every failure of the Qdrant client, of HTTP or of gRPC below it, as one of the product's own errors.

The map is total: what nobody foresaw is an `InternalError`. Whoever imports this module has `qdrant_client` already.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping

import grpc
import httpx
from pydantic import ValidationError
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
    RateLimitedError,
    TimedOutError,
)

_MOST_DETAILS = 400
_KEY = "Check QDRANT_API_KEY and what the key may do."
_UNSET = "Set QDRANT_API_KEY."
_LOG = "Look into Qdrant's own log; once it is well, run again."
_DROPPED = "If another program has dropped it, run again; `knowledge collections list` shows what is there."
_REFUSED = "See the details; a server older than 1.16 does not know all that is asked of it."
_OTHER = "Check QDRANT_URL: another service answers there, or a Qdrant that is too old."
_FULL = ("no space left", "not enough space", "out of disk", "disk quota")
_ADDRESS = "Check that Qdrant runs and that QDRANT_URL is right, then try again."

Say = Callable[[str], str]


def mapped(exc: BaseException, *, doing: str, location: str, secret: str | None = None) -> KnowledgeError:
    """Return what the product says of a failure of the client; raise it `from` the failure.

    Args:
        doing: what was being done, e.g. "searching 'standards'".
        location: the address without any secret.
        secret: taken out of whatever text the failure carries.
    """
    if isinstance(exc, KnowledgeError):
        return exc

    def hidden(text: str) -> str:
        text = text.replace(secret, "***") if secret else text
        return " ".join(text.split())[:_MOST_DETAILS]

    where = f"Qdrant at {location}"
    if isinstance(exc, UnexpectedResponse):
        return _of_status(exc, doing, where, hidden, keyed=bool(secret))
    if isinstance(exc, ResourceExhaustedResponse):
        return RateLimitedError(
            f"{where} is asked too often ({doing}).", details=hidden(exc.message), retry_after=float(exc.retry_after_s)
        )
    if isinstance(exc, grpc.RpcError):
        return _of_rpc(exc, doing, where, hidden, keyed=bool(secret))
    source = exc.source if isinstance(exc, ResponseHandlingException) else exc
    return _of_transport(source, doing, where, hidden(f"{type(source).__name__}: {source}"))


def _of_transport(exc: BaseException, doing: str, where: str, details: str) -> KnowledgeError:
    if isinstance(exc, httpx.UnsupportedProtocol | httpx.InvalidURL):
        return ConfigError(
            f"{where} is not the address of a server.", details=details, suggestion="Correct QDRANT_URL."
        )
    if isinstance(exc, httpx.TimeoutException | TimeoutError):
        return TimedOutError(f"{where} did not answer in time ({doing}).", details=details)
    if any(isinstance(each, ssl.SSLCertVerificationError) for each in _chain(exc)):
        return ConnectionFailedError(
            f"{where} shows a certificate that is not trusted ({doing}).", details=details, suggestion=_ADDRESS
        )
    if isinstance(exc, httpx.RequestError | httpx.StreamError | OSError):
        return ConnectionFailedError(f"{where} cannot be reached ({doing}).", details=details, suggestion=_ADDRESS)
    if isinstance(exc, ValidationError | json.JSONDecodeError | UnicodeDecodeError):
        return InternalError(
            f"{where} gave an answer that cannot be understood ({doing}).",
            details=details,
            suggestion=_OTHER,
            recoverable=True,
        )
    return InternalError(f"{where}: {doing} failed.", details=details)


def _of_status(exc: UnexpectedResponse, doing: str, where: str, hidden: Say, *, keyed: bool) -> KnowledgeError:
    status, said = exc.status_code or 0, _said(exc.content)
    details = hidden(f"HTTP {status}: {exc.content.decode('utf-8', 'replace') if said is None else said}")
    if status == 404 and said is None:  # Qdrant says in its own words what it does not have
        return ConfigError(f"{where} does not answer as Qdrant does ({doing}).", details=details, suggestion=_OTHER)
    return _of_code(status, doing, where, details, keyed=keyed)


def _said(content: bytes) -> str | None:
    """Return the server's own words, without the frame around them; None where it is not Qdrant's."""
    try:
        status = json.loads(content)["status"]
        return str(status["error"])
    except (ValueError, KeyError, TypeError):
        return None


def _of_rpc(exc: grpc.RpcError, doing: str, where: str, hidden: Say, *, keyed: bool) -> KnowledgeError:
    code = exc.code() if isinstance(exc, grpc.Call) else None
    details = hidden(f"gRPC {code.name}: {exc.details()}" if isinstance(exc, grpc.Call) and code else str(exc))
    if code is grpc.StatusCode.UNAVAILABLE or code is grpc.StatusCode.CANCELLED:
        return ConnectionFailedError(f"{where} cannot be reached ({doing}).", details=details, suggestion=_ADDRESS)
    return _of_code(_HTTP.get(code, 500), doing, where, details, keyed=keyed)


_HTTP: Mapping[grpc.StatusCode | None, int] = {
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
    **dict.fromkeys(
        (
            grpc.StatusCode.INVALID_ARGUMENT,
            grpc.StatusCode.ALREADY_EXISTS,
            grpc.StatusCode.FAILED_PRECONDITION,
            grpc.StatusCode.OUT_OF_RANGE,
            grpc.StatusCode.UNIMPLEMENTED,
        ),
        400,
    ),
}
"""What HTTP says for the codes of gRPC."""


def _of_code(status: int, doing: str, where: str, details: str, *, keyed: bool) -> KnowledgeError:
    if status in {401, 403}:
        message = f"{where} refused the API key" if keyed else f"{where} asks for an API key, and none is set"
        return AuthError(f"{message} ({doing}).", details=details, suggestion=_KEY if keyed else _UNSET)
    if status == 404:
        return NotFoundError(
            f"{where} does not have what was asked for ({doing}).", details=details, suggestion=_DROPPED
        )
    if status in {408, 504}:
        return TimedOutError(f"{where} did not finish in time ({doing}).", details=details)
    if status == 429:
        return RateLimitedError(f"{where} is asked too often ({doing}).", details=details)
    if status in {502, 503}:
        return ConnectionFailedError(f"{where} is not ready ({doing}).", details=details, suggestion=_ADDRESS)
    if 400 <= status < 500:
        return InvalidInputError(f"{where} refused the request ({doing}).", details=details, suggestion=_REFUSED)
    full = any(each in details.lower() for each in _FULL)
    return InternalError(
        f"{where} has no room left on its disk ({doing})." if full else f"{where} failed ({doing}).",
        details=details,
        suggestion="Free space where Qdrant keeps its data, then run again." if full else _LOG,
        recoverable=status >= 500,
    )


def _chain(exc: BaseException | None) -> Iterator[BaseException]:
    while exc is not None:
        yield exc
        exc = exc.__cause__ or exc.__context__
