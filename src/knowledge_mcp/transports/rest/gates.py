"""Checks of every REST request: Host and Origin, CORS, the key. Pure ASGI, so that streams are not buffered."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Annotated, Any

import anyio
from fastapi import Depends
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.support.events import in_one_line, log_event
from knowledge_mcp.transports.rest.errors import (
    FAILURE,
    REQUEST_ID,
    RETRY_SECONDS,
    Failure,
    RefusedRequest,
    log_crash,
    send_failure,
)
from knowledge_mcp.transports.rest.observing import RestMetrics, Tracing
from knowledge_mcp.transports.shared.admission import ROUTE, Rejection
from knowledge_mcp.transports.shared.guards import TWO_LENGTHS, Refused
from knowledge_mcp.transports.shared.keys import KEY, Key

logger = logging.getLogger(__name__)

UNMATCHED = "unmatched"
CLIENT_LEFT = 499
"""Logged instead of a status if the client disconnected before the answer."""

_STOPPING = Failure(
    503, "The server stopped before this was done.", "Try again in a moment.", {"Retry-After": str(RETRY_SECONDS)}
)
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


class AccessLayer:
    """The outermost layer; a HEAD request is served as the corresponding GET, without the body.

    Args:
        app: the wrapped app.
        metrics: counts the requests.
        tracing: creates a span for each.
        template: returns the route template of a path, for requests that did not reach a route; empty if there is none.
    """

    def __init__(self, app: ASGIApp, metrics: RestMetrics, tracing: Tracing, *, template: Callable[[str], str]) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing
        self._template = template

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        idents = Headers(scope=scope).getlist("x-request-id")
        ident = idents[0] if len(idents) == 1 and _REQUEST_ID.fullmatch(idents[0]) else secrets.token_hex(8)
        scope[REQUEST_ID] = ident
        method = str(scope["method"])
        if method == "HEAD":
            scope["method"] = "GET"
        answer = _Answer(send, ident, bodiless=method == "HEAD")
        started = time.perf_counter()
        with self._metrics.in_flight(), self._tracing.request(scope, method) as span:
            try:
                await self._app(scope, receive, answer)
            except anyio.get_cancelled_exc_class():
                if answer.status is not None:
                    raise
                # the server is stopping, and would send its own 500
                with anyio.CancelScope(shield=True):
                    await send_failure(scope, answer, _STOPPING)
            except Exception as exc:  # noqa: BLE001 - logged by log_crash(); the client must get an answer
                failure = log_crash(exc, ident, f"{method} {self._route(scope)}")
                scope[FAILURE] = failure
                if answer.status is None:
                    await send_failure(scope, answer, failure)
            finally:
                status = answer.status or CLIENT_LEFT
                span.end(self._route(scope), status)
                self._log(scope, method, status, time.perf_counter() - started)

    def _route(self, scope: Scope) -> str:
        """Return the template of the route that a request reached, or would have reached."""
        if ROUTE in scope:
            return str(scope[ROUTE])
        route = scope.get("route")
        template = getattr(route, "path_format", "") or self._template(str(scope["path"]))
        return str(template) or UNMATCHED

    def _log(self, scope: Scope, method: str, status: int, seconds: float) -> None:
        route = self._route(scope)
        self._metrics.request(method, route, status, seconds)
        key: Key | None = scope.get(KEY)
        failure: Failure | None = scope.get(FAILURE)
        fields: dict[str, Any] = {
            "request_id": scope[REQUEST_ID],
            "method": method,
            "route": route,
            "status": status,
            "duration_ms": round(seconds * 1000, 1),
            "key": key.name if key is not None else "",
            "client": client_of(scope),
        }
        if forwarded := Headers(scope=scope).get("x-forwarded-for"):
            fields["forwarded_for"] = in_one_line(forwarded, 200)
        if failure is not None:
            fields.update(error=failure.code, detail=failure.detail[:500])
        level = logging.ERROR if status >= 500 else logging.WARNING if failure is not None else logging.INFO
        log_event(logger, level, "request", **fields)


class _Answer:
    """Forward the response with the headers that every response has, and record its status."""

    def __init__(self, send: Send, ident: str, *, bodiless: bool) -> None:
        self._send = send
        self._ident = ident
        self._bodiless = bodiless
        self.status: int | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            headers = MutableHeaders(raw=list(message["headers"]))
            headers["x-request-id"] = self._ident
            for name, value in _SAFE.items():
                headers.setdefault(name, value)
            message = {**message, "headers": headers.raw}
        elif message["type"] == "http.response.body" and self._bodiless:
            message = {**message, "body": b""}
        await self._send(message)


def client_of(scope: Scope) -> str:
    """Return the address of the client."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"


_CHALLENGE = 'Bearer realm="rag-api"'


async def refuse_name(scope: Scope, send: Send, what: Refused) -> None:
    """Refuse a foreign Host with 421, a foreign Origin with 403, two lengths with 400."""
    headers = Headers(scope=scope)
    log_event(
        logger, logging.WARNING, "host_refused", request_id=scope[REQUEST_ID], client=client_of(scope),
        hosts=[in_one_line(each, 100) for each in headers.getlist("host")[:4]],
        origins=[in_one_line(each, 100) for each in headers.getlist("origin")[:4]],
    )  # fmt: skip
    if what == "Length":
        failure = Failure(400, TWO_LENGTHS, "Send one of them.", {"Connection": "close"})
    elif what == "Host":
        text = "This server does not accept requests for that Host."
        failure = Failure(421, text, "If the name is correct, add it to MCP_ALLOWED_HOSTS.")
    else:
        text = "Requests from that Origin are not allowed."
        failure = Failure(403, text, "If the origin is correct, add it to MCP_ALLOWED_ORIGINS.")
    await send_failure(scope, send, failure)


async def refuse_key(metrics: RestMetrics, scope: Scope, send: Send, refusal: Rejection) -> None:
    """Respond 401 without a key, 403 for a wrong one; 401 for an invalid token, so that clients get a new one.

    Args:
        metrics: counts refusals.
        scope, send: of the request.
        refusal: the reason.
    """
    metrics.refused(missing=refusal.reason == "missing")
    log_event(
        logger, logging.WARNING, "authentication_failed", request_id=scope[REQUEST_ID],
        reason=refusal.reason, client=client_of(scope), method=scope["method"],
        path=in_one_line(str(scope["path"]), 200),
    )  # fmt: skip
    await send_failure(scope, send, _failure_of(refusal))


def _failure_of(refusal: Rejection) -> Failure:
    challenge = ", ".join([_CHALLENGE, *([refusal.challenge] if refusal.challenge else [])])
    headers = {"WWW-Authenticate": challenge}
    match refusal.reason:
        case "missing":
            text = "A key is needed: `Authorization: Bearer <key>`."
            return Failure(401, text, "Send the key in the Authorization header.", headers)
        case "unknown":
            return Failure(503, refusal.message, "Try again later.", {"Retry-After": "30"})
        case "scope":
            return Failure(403, refusal.message, "Request a token with that scope from the issuer.", headers)
        case _ if refusal.challenge:
            return Failure(401, refusal.message, "Sign on again, or send a valid key.", headers)
        case _:
            return Failure(403, "The key is not valid.", "Use a valid key.")


def key_of(request: Request) -> Key:
    """Return the key of a request."""
    key: Key = request.scope[KEY]
    return key


async def _key(request: Request) -> Key:
    return key_of(request)  # FastAPI calls a function that is no coroutine on another thread


KeyOf = Annotated[Key, Depends(_key)]
"""The key as a parameter of a route."""


def readable(library: SharedLibrary, key: Key) -> SharedLibrary:
    """Return the library restricted to the collections that a key may read."""
    return library.seen_by(key.rights)


def reachable(library: SharedLibrary, key: Key) -> SharedLibrary:
    """Return the library restricted to what a key may read or write; only readable ones are listed and suggested."""
    return library.seen_by(key.reach)


def need_write(key: Key, collection: str) -> None:
    """Refuse a key without write permission for a collection with 403, whether the collection exists or not."""
    if not key.may_write(collection):
        raise RefusedRequest(
            403,
            f"The key '{key.name}' may not write to the collection '{collection}'.",
            "Use another key, or request this right.",
        )
