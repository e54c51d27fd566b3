"""The outermost layer of the REST service: a request's id, its line in the log, its figures, its span, safe headers.

Pure ASGI, so that streams stream. Whatever happens behind it is answered: an unforeseen exception becomes our 500.
"""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.support.events import log_event
from knowledge_mcp.transports.keys import Key
from knowledge_mcp.transports.rest.errors import FAILURE, REQUEST_ID, Failure, crashed, send_failure
from knowledge_mcp.transports.rest.metrics import RestMetrics
from knowledge_mcp.transports.rest.tracing import Tracing

__all__ = ["KEY", "ROUTE", "AccessLayer", "client_of"]

logger = logging.getLogger(__name__)

KEY = "knowledge_key"
"""Where a scope keeps the key that was shown."""

ROUTE = "knowledge_route"
"""Where a scope keeps the route's template, where no framework does."""

UNMATCHED = "unmatched"
CLIENT_LEFT = 499
"""Logged in place of a status where the client left before it was answered."""

_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,128}")
_SAFE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}


class AccessLayer:
    """Stand in front of everything; a HEAD request is served as the GET that it mirrors, without the body.

    Args:
        app: what stands behind.
        metrics: count the requests.
        tracing: make a span of each.
        template: names the route of a path, for requests that never came to it; empty where there is none.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        app: ASGIApp,
        metrics: RestMetrics,
        tracing: Tracing,
        *,
        template: Callable[[str], str],
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._app = app
        self._metrics = metrics
        self._tracing = tracing
        self._template = template
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("x-request-id")
        ident = given[0] if len(given) == 1 and _REQUEST_ID.fullmatch(given[0]) else secrets.token_hex(8)
        scope[REQUEST_ID] = ident
        method = str(scope["method"])
        if method == "HEAD":
            scope["method"] = "GET"
        answer = _Answer(send, ident, bodiless=method == "HEAD")
        started = self._clock()
        with self._metrics.in_flight(), self._tracing.request(scope, method) as span:
            try:
                await self._app(scope, receive, answer)
            except Exception as exc:  # noqa: BLE001 - logged by crashed(); the client must get an answer
                failure = crashed(exc, ident, f"{method} {self._route(scope)}")
                scope[FAILURE] = failure
                if answer.status is None:
                    await send_failure(scope, answer, failure)
            finally:
                status = answer.status or CLIENT_LEFT
                span.end(self._route(scope), status)
                self._tell(scope, method, status, self._clock() - started)

    def _route(self, scope: Scope) -> str:
        """Name the template of the route that a request came to, or would have come to."""
        if ROUTE in scope:
            return str(scope[ROUTE])
        route = scope.get("route")
        named = getattr(route, "path_format", "") or self._template(str(scope["path"]))
        return str(named) or UNMATCHED

    def _tell(self, scope: Scope, method: str, status: int, seconds: float) -> None:
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
            fields["forwarded_for"] = forwarded[:200]
        if failure is not None:
            fields.update(error=failure.code, detail=failure.detail[:500])
        level = logging.ERROR if status >= 500 else logging.WARNING if failure is not None else logging.INFO
        log_event(logger, level, "request", **fields)


class _Answer:
    """Pass the answer on with the headers that every one has, and remember its status."""

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
    """Name the address of whoever is connected."""
    client = scope.get("client")
    return str(client[0]) if client else "unknown"
