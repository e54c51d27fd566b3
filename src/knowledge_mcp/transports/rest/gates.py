"""What every request to the REST service must pass: Host and Origin, CORS, the key. Pure ASGI: streams stream."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.model.errors import AuthError
from knowledge_mcp.ports import Library, SharedLibrary
from knowledge_mcp.support.events import log_event
from knowledge_mcp.transports.guards import HostGuard
from knowledge_mcp.transports.keys import ANONYMOUS, Key, KeyRing
from knowledge_mcp.transports.rest.access import KEY, client_of
from knowledge_mcp.transports.rest.errors import REQUEST_ID, Failure, Refusal, send_failure
from knowledge_mcp.transports.rest.metrics import RestMetrics
from knowledge_mcp.transports.revoking import serve_while_valid

__all__ = ["CorsGate", "HostGate", "KeyGate", "key_of", "may_use", "need_write", "reachable", "readable"]

logger = logging.getLogger(__name__)

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
            hosts=[host[:100] for host in hosts], origins=[origin[:100] for origin in origins],
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
            asked = headers.get("access-control-request-headers", "authorization, content-type, x-request-id")
            lines = {
                **allowed,
                "access-control-allow-methods": _METHODS,
                "access-control-allow-headers": asked,
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

    Args:
        app: what stands behind.
        keys: which are known; where none is required, everybody is `anonymous` and may do everything.
        metrics: counts the refused.
        is_open: tells by method and path what needs no key.
        is_whole: tells by path what only a key without limits reaches: doors behind which rights are not looked at.
    """

    def __init__(
        self,
        app: ASGIApp,
        keys: KeyRing,
        metrics: RestMetrics,
        *,
        is_open: Callable[[str, str], bool],
        is_whole: Callable[[str], bool],
    ) -> None:
        self._app = app
        self._keys = keys
        self._metrics = metrics
        self._is_open = is_open
        self._is_whole = is_whole

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or self._is_open(str(scope["method"]), str(scope["path"])):
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("authorization")
        key = self._recognise(given)
        if key is None:
            await self._refuse(scope, send, missing=not _shows_one(given))
            return
        scope[KEY] = key
        if self._is_whole(str(scope["path"])) and not key.may_do_everything:
            text = f"The key '{key.name}' is limited to some collections, and this address knows no such limits."
            await send_failure(scope, send, Failure(403, text, "Use a key with all rights."))
            return
        if not self._keys.required:
            await self._app(scope, receive, send)
            return
        await serve_while_valid(self._app, scope, receive, send, self._keys.validity(_token(given[0]), key))

    def _recognise(self, given: Sequence[str]) -> Key | None:
        if not self._keys.required:
            return ANONYMOUS
        if len(given) != 1:
            return None
        found = self._keys.recognise(_token(given[0]))
        return found if given[0].partition(" ")[0].lower() == "bearer" else None

    async def _refuse(self, scope: Scope, send: Send, *, missing: bool) -> None:
        self._metrics.refused(missing=missing)
        log_event(
            logger, logging.WARNING, "authentication_failed", request_id=scope[REQUEST_ID],
            reason="missing" if missing else "wrong", client=client_of(scope), method=scope["method"],
            path=str(scope["path"])[:200],
        )  # fmt: skip
        if missing:
            text, headers = "A key is needed: `Authorization: Bearer <key>`.", {"WWW-Authenticate": _CHALLENGE}
            await send_failure(scope, send, Failure(401, text, "Send the key in the Authorization header.", headers))
            return
        await send_failure(scope, send, Failure(403, "The key is not valid.", "Ask for a valid key."))


def _token(header: str) -> bytes:
    return header.partition(" ")[2].strip(" ").encode("latin-1")  # the bytes as they came


def _shows_one(given: Sequence[str]) -> bool:
    """Tell whether a bearer key was shown at all, right or wrong."""
    return any(
        scheme.lower() == "bearer" and value.strip() for scheme, _, value in (each.partition(" ") for each in given)
    )


def key_of(request: Request) -> Key:
    """Return the key that a request showed."""
    key: Key = request.scope[KEY]
    return key


def readable(library: SharedLibrary, key: Key) -> Library:
    """Return the library with the collections only that a key may read."""
    return library.seen_by(key.may_read)


def reachable(library: SharedLibrary, key: Key) -> Library:
    """Return the library with what a key may read or write; only what it may read is listed and suggested."""
    return library.seen_by(key.may_read, lambda name: key.may_read(name) or key.may_write(name))


def need_write(key: Key, collection: str) -> None:
    """Refuse a key that may not write a collection with 403, whether there is such a collection or not."""
    if not key.may_write(collection):
        raise Refusal(
            403,
            f"The key '{key.name}' may not write the collection '{collection}'.",
            "Use another key, or ask for the right.",
        )


def may_use(request: Request, right: str, what: str) -> None:
    """Refuse a key that lacks `read` or `write` for something beside the collections, e.g. `engine:standards`.

    Raises:
        AuthError: none of the key's patterns for that right is like it.
    """
    key = key_of(request)
    allowed = key.may_read(what) if right == "read" else key.may_write(what)
    request.state.refusal = None
    if not allowed:
        request.state.refusal = refusal = AuthError(
            f"The key '{key.name}' may not {right} '{what}'.", suggestion="Use another key, or ask for the right."
        )
        raise refusal
