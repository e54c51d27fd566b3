"""HTTP: Streamable HTTP at `/mcp`, the older SSE at `/sse` and `/messages/`, and `/health`, in one ASGI app."""

from __future__ import annotations

import contextlib
import logging
import re
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from knowledge_mcp.transports.mcp.server import KnowledgeServer
from knowledge_mcp.transports.mcp.sessions import SessionLimit
from knowledge_mcp.transports.shared.guards import BodyLimit, HostGuard, send_error
from knowledge_mcp.transports.shared.keys import Key, KeyRing
from knowledge_mcp.transports.shared.revoking import serve_while_valid

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = [
    "CALL_SECONDS",
    "MAX_BODY_BYTES",
    "STREAM_SECONDS",
    "BearerAuth",
    "build_app",
    "serve",
]

logger = logging.getLogger(__name__)

_CHALLENGE = (b"www-authenticate", b'Bearer realm="knowledge-mcp"')


class BearerAuth:
    """Ask every request for `Authorization: Bearer <token>`; exactly `GET /health` needs none.

    Who was recognised becomes the request's user, to whom the SDK binds the sessions it opens: another name's valid
    token does not reach them. A failure is answered with 401 and logged with the client's address, method and path.

    Args:
        app: what stands behind.
        keys: the tokens by name; one that is limited to some collections is refused, for limits are not looked at here.
            A token that is taken out of its file is refused from the next request on, and its open streams end.
    """

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        if not keys.required:
            raise ValueError("at least one token is needed")
        self._app = AuthContextMiddleware(app)
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/health":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("authorization")
        key = self._recognise(given[0]) if len(given) == 1 else None
        if key is None:
            await self._refuse(scope, send, missing=not given)
            return
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=key.name, scopes=[]))
        valid = self._keys.validity(_token(given[0]), key)
        await serve_while_valid(self._app, scope, receive, send, valid)

    def _recognise(self, header: str) -> Key | None:
        found = self._keys.recognise(_token(header))
        if found is None or not found.may_do_everything:
            return None
        return found if header.partition(" ")[0].lower() == "bearer" else None

    @staticmethod
    async def _refuse(scope: Scope, send: Send, *, missing: bool) -> None:
        client = scope.get("client")
        logger.warning(
            "authentication failed: %s token from %s, %s %s",
            "no" if missing else "wrong",
            client[0] if client else "unknown",
            scope.get("method", "WEBSOCKET"),
            scope["path"],
        )
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await send_error(send, 401, "unauthorized", "A valid bearer token is required.", [_CHALLENGE])


def _token(header: str) -> bytes:
    return header.partition(" ")[2].strip(" ").encode("latin-1")  # the bytes as they came


MAX_BODY_BYTES = 4 * 1024 * 1024
"""Most bytes of a request body, unless said otherwise."""

CALL_SECONDS = 25.0
"""How long calls that are under way may go on after SIGTERM; what ends the process by force waits 30, usually."""

STREAM_SECONDS = 3.0
"""How long open streams may go on after that."""


def build_app(
    server: KnowledgeServer,
    *,
    keys: KeyRing,
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    max_body_bytes: int = MAX_BODY_BYTES,
) -> ASGIApp:
    """Build the app; once for each server.

    Args:
        server: what to serve; it is warmed up when the app starts and closed when it stops.
        keys: bearer tokens by name; a ring that requires none means no authentication, which is the caller's decision.
        allowed_hosts, allowed_origins: beside the loopback ones, as `HostGuard` takes them. Browsers get CORS answers
            for the origins named here.
        max_body_bytes: larger request bodies are answered with 413.
    """
    # HostGuard stands in front of every route, these included; the SDK's own check would only repeat it.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # Stateful, with streamed answers: the only mode in which progress and cancellation work for clients of both eras.
    streamable = server.streamable_http_app(
        streamable_http_path="/mcp", transport_security=security, max_request_body_size=max_body_bytes
    )
    sse = server.sse_app(
        sse_path="/sse", message_path="/messages/", transport_security=security, max_request_body_size=max_body_bytes
    )

    async def health(_: Request) -> JSONResponse:
        return JSONResponse({"status": "ok", "version": server.version})

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncGenerator[None]:
        server.providers.start_warm_up()
        try:
            async with server.session_manager.run(), anyio.create_task_group() as group:
                group.start_soon(sessions.close_revoked)
                yield
                group.cancel_scope.cancel()
        finally:
            server.close()

    routes = [Route("/health", health, methods=["GET"]), *streamable.routes, *sse.routes]
    sessions = SessionLimit(Starlette(routes=routes, lifespan=lifespan))
    app: ASGIApp = BodyLimit(sessions, max_body_bytes)
    if keys.required:
        app = BearerAuth(app, keys)
    if origins := list(allowed_origins):
        app = _with_cors(app, origins)
    return HostGuard(app, allowed_hosts, origins)


def serve(
    app: ASGIApp,
    listener: socket.socket,
    log_level: str = "INFO",
    *,
    proxies: Sequence[str] = (),
    running: Callable[[], int] = lambda: 0,
) -> None:
    """Serve until SIGTERM or SIGINT, then return.

    After SIGTERM calls that are under way get 25 seconds to be answered; then open streams get three more to end.

    Args:
        app: as `build_app` makes it.
        listener: a listening socket; it is closed at the end.
        log_level: of the HTTP server's own log.
        proxies: addresses and networks whose `X-Forwarded-For` is believed.
        running: how many calls are under way.

    Raises:
        InternalError: the app could not start.
    """
    from knowledge_mcp.transports.shared.serving import serve_until_told

    serve_until_told(
        app,
        listener,
        grace=STREAM_SECONDS,
        log_level=log_level,
        proxies=proxies,
        may_stop=lambda: running() == 0,
        patience=CALL_SECONDS,
    )


def _with_cors(app: ASGIApp, origins: list[str]) -> ASGIApp:
    """Answer browsers' preflight requests, which carry no token, before the authentication."""
    exact = [origin for origin in origins if not origin.endswith(":*")]
    any_port = [origin.removesuffix(":*") for origin in origins if origin.endswith(":*")]
    pattern = "|".join(rf"{re.escape(base)}(:\d+)?" for base in any_port)
    return CORSMiddleware(
        app,
        allow_origins=exact,
        allow_origin_regex=pattern or None,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["Mcp-Session-Id", "WWW-Authenticate"],
    )
