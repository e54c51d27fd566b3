"""What every request to the REST service must pass: Host and Origin, CORS, the key. Pure ASGI: streams stream."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import Depends
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.engine.repositories.manifest import PREFIX
from knowledge_mcp.model.errors import AuthError
from knowledge_mcp.model.rights import EVERYBODY, Rights
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.support.events import in_one_line, log_event
from knowledge_mcp.transports.rest.errors import FAILURE, REQUEST_ID, Failure, RefusedRequest, log_crash, send_failure
from knowledge_mcp.transports.rest.observing import RestMetrics, Tracing
from knowledge_mcp.transports.shared.admission import METADATA_PATH, Admission, Rejection
from knowledge_mcp.transports.shared.guards import HostGuard, serve_while_valid
from knowledge_mcp.transports.shared.keys import ANONYMOUS, KEY, Key
from knowledge_mcp.transports.shared.provider import restrict_service

logger = logging.getLogger(__name__)

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
        """Name the template of the route that a request came to, or would have come to."""
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


_METHODS = "GET, POST, DELETE"
_EXPOSED = "X-Request-ID, Retry-After, WWW-Authenticate, Mcp-Session-Id"
_CHALLENGE = 'Bearer realm="rag-api"'


class HostGate:
    """Refuse a foreign Host with 421 and a foreign Origin with 403, on every route, as `HostGuard` judges them."""

    def __init__(self, app: ASGIApp, guard: HostGuard) -> None:
        self._app = app
        self._guard = guard

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or not self._guard.admits_host(hosts[0]):
            failure = Failure(
                421, "This server does not answer for that Host.", "Add the name to MCP_ALLOWED_HOSTS if it is meant."
            )
        elif len(origins) > 1 or (origins and not self._admits(origins[0], hosts[0])):
            failure = Failure(
                403, "Requests from that Origin are not allowed.", "Add it to MCP_ALLOWED_ORIGINS if it is meant."
            )
        else:
            await self._app(scope, receive, send)
            return
        log_event(
            logger, logging.WARNING, "host_refused", request_id=scope[REQUEST_ID], client=client_of(scope),
            hosts=[in_one_line(each, 100) for each in hosts[:4]],
            origins=[in_one_line(each, 100) for each in origins[:4]],
        )  # fmt: skip
        await send_failure(scope, send, failure)

    def _admits(self, origin: str, host: str) -> bool:
        """Admit our own pages, too: a proxy may have ended TLS, so that only the name can be compared.

        The Host was admitted before, so that a name which somebody made to point here does not pass.
        """
        scheme, _, name = origin.lower().partition("://")
        return (scheme in {"http", "https"} and name == host.lower()) or self._guard.admits_origin(origin)


class CorsGate:
    """Tell browsers what pages of the configured origins may do; preflight requests carry no key and need none.

    Foreign origins never come as far as this; a page of this server itself needs nothing of it.
    """

    def __init__(self, app: ASGIApp, guard: HostGuard, *, configured: bool) -> None:
        self._app = app
        self._guard = guard
        self._configured = configured

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        origin = headers.get("origin")
        if not self._configured or origin is None or not self._guard.admits_origin(origin):
            await self._app(scope, receive, send)
            return
        allowed = {"access-control-allow-origin": origin, "vary": "Origin"}
        if scope["method"] == "OPTIONS" and "access-control-request-method" in headers:
            requested = headers.get("access-control-request-headers", "authorization, content-type, x-request-id")
            lines = {
                **allowed,
                "access-control-allow-methods": _METHODS,
                "access-control-allow-headers": requested,
                "access-control-max-age": "600",
            }
            raw = [(name.encode(), value.encode("latin-1")) for name, value in lines.items()]
            await send({"type": "http.response.start", "status": 204, "headers": raw})
            await send({"type": "http.response.body", "body": b""})
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                answer = MutableHeaders(raw=list(message["headers"]))
                answer["access-control-allow-origin"] = origin
                answer["access-control-expose-headers"] = _EXPOSED
                answer["cross-origin-resource-policy"] = "cross-origin"
                answer.add_vary_header("Origin")
                message = {**message, "headers": answer.raw}
            await send(message)

        await self._app(scope, receive, with_headers)


class KeyGate:
    """Ask for `Authorization: Bearer <key>`: 401 without one, 403 with a wrong one; the key is kept in the scope.

    Where tokens of an issuer are taken, what does not hold is answered with 401, so that clients get another.

    Args:
        app: what stands behind.
        admission: recognises keys and tokens; where none is required, everybody is `anonymous` and may do everything.
        metrics: counts the refused.
        is_open: tells by method and path what needs no key.
    """

    def __init__(
        self,
        app: ASGIApp,
        admission: Admission,
        metrics: RestMetrics,
        *,
        is_open: Callable[[str, str], bool],
    ) -> None:
        self._app = app
        self._admission = admission
        self._metrics = metrics
        self._is_open = is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(str(scope["method"]), str(scope["path"])):
            await self._app(scope, receive, send)
            return
        if self._admission.describes(str(scope["method"]), str(scope["path"])):
            scope[ROUTE] = METADATA_PATH
            await self._admission.describe(send)
            return
        if not self._admission.required:
            scope[KEY] = ANONYMOUS
            await self._app(scope, receive, send)
            return
        judged = await self._admission.admit(Headers(scope=scope).getlist("authorization"))
        if isinstance(judged, Rejection):
            await self._refuse(scope, send, judged)
            return
        scope[KEY] = judged.key
        await serve_while_valid(self._app, scope, receive, send, judged.valid)

    async def _refuse(self, scope: Scope, send: Send, refusal: Rejection) -> None:
        missing = refusal.reason == "missing"
        self._metrics.refused(missing=missing)
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
            return Failure(403, refusal.message, "Ask the issuer for a token with that scope.", headers)
        case _ if refusal.challenge:
            return Failure(401, refusal.message, "Sign on again, or send a valid key.", headers)
        case _:
            return Failure(403, "The key is not valid.", "Ask for a valid key.")


def key_of(request: Request) -> Key:
    """Return the key that a request showed."""
    key: Key = request.scope[KEY]
    return key


KeyOf = Annotated[Key, Depends(key_of)]
"""The key as a parameter of a route."""


def readable(library: SharedLibrary, key: Key) -> SharedLibrary:
    """Return the library with the collections only that a key may read."""
    return library.seen_by(key.rights)


def reachable(library: SharedLibrary, key: Key) -> SharedLibrary:
    """Return the library with what a key may read or write; only what it may read is listed and suggested."""
    return library.seen_by(key.reach)


def need_write(key: Key, collection: str) -> None:
    """Refuse a key that may not write a collection with 403, whether there is such a collection or not."""
    if not key.may_write(collection):
        raise RefusedRequest(
            403,
            f"The key '{key.name}' may not write the collection '{collection}'.",
            "Use another key, or ask for the right.",
        )


def may_use(request: Request, right: str, what: str) -> None:
    """Refuse a key that lacks `read` or `write` for something beside the collections, e.g. `engine:standards`.

    Writing there tells what was there before, so it is for keys that see the documents of all groups.

    Raises:
        AuthError: none of the key's patterns for that right is like it.
    """
    key = key_of(request)
    allowed = key.may_read(what) if right == "read" else key.may_write(what) and EVERYBODY in key.groups
    request.state.refusal = None
    if not allowed:
        request.state.refusal = refusal = AuthError(
            f"The key '{key.name}' may not {right} '{what}'.", suggestion="Use another key, or ask for the right."
        )
        raise refusal


def restrict_engine(request: Request, service: Any) -> Any:
    """Return an engine with what a key may read: its own collection, for which it was admitted, and the key's.

    Raises:
        AuthError: the engine is another machine's, which would see this one's key.
    """
    key = key_of(request)
    collections = [name for name in (getattr(service, "collection", ""),) if name]
    code = [f"{PREFIX}*"] if key.may_read("engine:repositories") else []
    return restrict_service(service, Rights(read=(*key.read, *collections, *code), groups=key.groups, beside=key.read))
