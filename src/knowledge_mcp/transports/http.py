"""HTTP: Streamable HTTP at `/mcp`, the older SSE at `/sse` and `/messages/`, and `/health`, in one ASGI app."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.applications import Starlette
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from knowledge_mcp.transports.auth import BearerAuth
from knowledge_mcp.transports.guards import BodyLimit, HostGuard
from knowledge_mcp.transports.keys import KeyRing
from knowledge_mcp.transports.mcp import KnowledgeServer
from knowledge_mcp.transports.sessions import SessionLimit

if TYPE_CHECKING:
    from starlette.types import ASGIApp

__all__ = ["CALL_SECONDS", "MAX_BODY_BYTES", "STREAM_SECONDS", "build_app", "serve"]

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
    from knowledge_mcp.transports.stopping import serve_until_told

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
