"""HTTP: Streamable HTTP at `/mcp`, the older SSE at `/sse` and `/messages/`, `/health` and the server card, in one app.

A session takes about 39 KB, for 30 minutes after its last request. A client whose session was closed gets 404 and opens
another, as the protocol specifies, so closing an idle session costs its client one request.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import dataclass, field

import anyio
from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.transports.mcp.pacing import StreamPace
from knowledge_mcp.transports.mcp.server import KnowledgeServer
from knowledge_mcp.transports.mcp.server_card import ServerCard
from knowledge_mcp.transports.shared.admission import Admission, KeyGate, ProtectedResource, Rejection
from knowledge_mcp.transports.shared.guards import (
    LOOK_SECONDS,
    VALID,
    AllowedNames,
    BodyLimit,
    HostGuard,
    send_error,
    with_cors,
)
from knowledge_mcp.transports.shared.keys import KEY, KeyRing

logger = logging.getLogger(__name__)

MAX_SESSIONS = 1000
"""Maximum sessions open at a time, 39 MB of memory."""

MAX_SESSIONS_OF_KEY = 250
"""Maximum sessions of one key, so that one key alone never locks out the others."""

_WAIT = (b"retry-after", b"30")
_ID = "mcp-session-id"


@dataclass(slots=True)
class _Session:
    owner: object
    headers: list[tuple[bytes, bytes]]
    user: object
    valid: Callable[[], bool]
    used: float
    calls: int = 0
    streams: int = 0


@dataclass(slots=True)
class _Opening:
    ident: str = ""
    status: int = 0
    send: Send = field(kw_only=True)

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = int(message["status"])
            self.ident = Headers(raw=list(message["headers"])).get(_ID, "")
        await self.send(message)


class SessionLimit:
    """Limit sessions at `/mcp` and `/sse`; at the limit, the same key's longest idle session is closed.

    A session with a running call is never closed; if there is no other, the new session is refused with 503.

    Args:
        app: the wrapped app.
        most: maximum sessions in all; `of_key`: maximum of one key.
    """

    def __init__(self, app: ASGIApp, most: int = MAX_SESSIONS, of_key: int = MAX_SESSIONS_OF_KEY) -> None:
        self._app = app
        self._most = most
        self._of_key = of_key
        self._sessions: dict[str, _Session] = {}
        self._opening = Counter[object]()
        self._logged_at = float("-inf")

    @property
    def count(self) -> int:
        """Return how many sessions are open or opening."""
        return len(self._sessions) + self._opening.total()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] not in {"/mcp", "/sse"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        if scope["path"] == "/mcp" and (ident := headers.get(_ID)) is not None:
            await self._go_on(ident, scope, receive, send)
        elif scope["path"] == "/sse" or headers.get("mcp-protocol-version", "") in {"", *HANDSHAKE_PROTOCOL_VERSIONS}:
            await self._open(scope, receive, send)
        else:  # a request of the newer protocol, which has no sessions
            await self._app(scope, receive, send)

    async def close_revoked(self) -> None:
        """Close the sessions of revoked keys, as long as the task lives."""
        while True:
            for ident in [ident for ident, each in self._sessions.items() if not each.valid()]:
                logger.info("a session is closed: its key was revoked")
                await self._close(ident)
            await anyio.sleep(LOOK_SECONDS)

    async def _go_on(self, ident: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._sessions.get(ident)
        if session is None or session.owner != _owner(scope):
            await self._app(scope, receive, send)  # answered there like an unknown session
            return
        session.valid = scope.get(VALID, _always)
        stream = scope["method"] == "GET"
        session.streams += stream
        session.calls += not stream
        answer = _Opening(send=send)
        try:
            await self._app(scope, receive, answer)
        finally:
            session.streams -= stream
            session.calls -= not stream
            session.used = time.monotonic()
            if answer.status == 404 or (scope["method"] == "DELETE" and answer.status == 200):
                self._sessions.pop(ident, None)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = _owner(scope)
        if not await self._make_room(owner):
            self._log_refusal(owner)
            text = "Too many sessions are open, and each has a call in progress. Close some, or try again later."
            await send_error(send, 503, "too_many_sessions", text, [_WAIT])
            return
        self._opening[owner] += 1
        answer = _Opening(send=self._note_session(scope, owner, send))
        try:
            await self._app(scope, receive, answer)
        finally:
            if answer.ident in self._sessions:
                session = self._sessions[answer.ident]
                session.calls -= 1
                session.used = time.monotonic()
            else:
                self._release(owner)

    def _note_session(self, scope: Scope, owner: object, send: Send) -> Send:
        """Record the session that a response opens, before its client learns of it."""

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start" and int(message["status"]) < 400:
                ident = Headers(raw=list(message["headers"])).get(_ID, "")
                if ident and ident not in self._sessions:
                    host = [each for each in scope["headers"] if each[0] == b"host"]
                    valid = scope.get(VALID, _always)
                    self._sessions[ident] = _Session(owner, host, scope.get("user"), valid, time.monotonic(), calls=1)
                    self._release(owner)
            await send(message)

        return keep

    def _release(self, owner: object) -> None:
        self._opening[owner] -= 1
        if not self._opening[owner]:
            del self._opening[owner]

    async def _make_room(self, owner: object) -> bool:
        """Close the longest idle session of this key if a limit is reached; False if none of them is idle."""
        self._forget()
        sessions = {ident: each for ident, each in self._sessions.items() if each.owner == owner}
        if len(sessions) + self._opening[owner] < self._of_key and self.count < self._most:
            return True
        resting = [ident for ident, each in sessions.items() if not each.calls]
        if not resting:
            return False
        await self._close(min(resting, key=lambda ident: (sessions[ident].streams, sessions[ident].used)))
        return True

    def _forget(self) -> None:
        """Forget sessions that the server below has ended by itself, after the same idle time."""
        before = time.monotonic() - DEFAULT_SESSION_IDLE_TIMEOUT
        for ident in [
            ident for ident, each in self._sessions.items()
            if each.used < before and not each.calls and not each.streams
        ]:  # fmt: skip
            del self._sessions[ident]

    async def _close(self, ident: str) -> None:
        """Close a session as its client would, with DELETE."""
        session = self._sessions.pop(ident, None)
        if session is None:
            return
        scope: Scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "DELETE", "scheme": "http",
            "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "root_path": "", "client": None, "server": None,
            "headers": [*session.headers, (_ID.encode(), ident.encode("latin-1"))],
        }  # fmt: skip
        if session.user is not None:
            scope["user"] = session.user
        with anyio.CancelScope(shield=True):
            await self._app(scope, _nothing, _ignore)

    def _log_refusal(self, owner: object) -> None:
        now = time.monotonic()
        if now - self._logged_at >= 1.0:
            self._logged_at = now
            logger.warning("a session of %r was refused: %d are open", owner, self.count)


def _owner(scope: Scope) -> object:
    user = scope.get("user")
    return user.display_name if user is not None else ""


def _always() -> bool:
    return True


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Message) -> None:
    return


_REALM = 'Bearer realm="knowledge-mcp"'


class SessionOwner:
    """Make the request's key its user, to whom the SDK binds the sessions it opens.

    Another key, even if valid, cannot access them.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = AuthContextMiddleware(app)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if KEY in scope:
            scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=scope[KEY].name, scopes=[]))
        await self._app(scope, receive, send)


def key_gate(app: ASGIApp, admission: Admission) -> KeyGate:
    """Require a key for every request if keys are configured, except for `GET /health` and the metadata.

    A failure is answered with 401 (403 if a token lacks a scope, 503 if its issuer cannot be reached) and logged with
    the client's address, method and path.
    """
    behind = SessionOwner(app) if admission.required else app
    return KeyGate(behind, admission, is_open=_is_health, refuse=_refuse_key)


def _is_health(method: str, path: str) -> bool:
    return method == "GET" and path == "/health"


async def _refuse_key(scope: Scope, send: Send, refusal: Rejection) -> None:
    client = scope.get("client")
    logger.warning(
        "authentication failed: %s token from %s, %s %s",
        {"missing": "no", "unknown": "unchecked"}.get(refusal.reason, "wrong"),
        client[0] if client else "unknown",
        scope.get("method", "WEBSOCKET"),
        scope["path"],
    )
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
        return
    if refusal.reason == "unknown":
        await send_error(send, 503, "issuer_down", refusal.message, [_WAIT])
        return
    challenge = ", ".join([_REALM, *([refusal.challenge] if refusal.challenge else [])])
    status, code = (403, "insufficient_scope") if refusal.reason == "scope" else (401, "unauthorized")
    await send_error(send, status, code, refusal.message, [(b"www-authenticate", challenge.encode("latin-1"))])


MAX_BODY_BYTES = 4 * 1024 * 1024
"""Default maximum bytes of a request body."""

CALL_SECONDS = 25.0
"""How long running calls may continue after SIGTERM; supervisors usually kill the process after 30 seconds."""

STREAM_SECONDS = 3.0
"""How long open streams may continue after that."""


def build_app(
    server: KnowledgeServer,
    *,
    keys: KeyRing,
    resource: ProtectedResource | None = None,
    allowed_hosts: Iterable[str] = (),
    allowed_origins: Iterable[str] = (),
    max_body_bytes: int = MAX_BODY_BYTES,
) -> ASGIApp:
    """Build the app; call it once for each server.

    Args:
        server: the MCP server; it is warmed up when the app starts and closed when it stops.
        keys: bearer tokens by name; a ring without keys, without a resource, means no authentication, which is the
            caller's decision.
        resource: this server as a resource of an OAuth issuer, None if its tokens are not accepted.
        allowed_hosts, allowed_origins: in addition to loopback ones, in the form of `AllowedNames`. Browsers get CORS
            headers for these origins.
        max_body_bytes: larger request bodies are answered with 413.
    """
    # HostGuard protects every route, including these; the SDK's own check would only repeat it.
    security = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    # Stateful, with streamed responses: the only mode in which progress and cancellation work for old and new clients.
    streamable = server.streamable_http_app(
        streamable_http_path="/mcp", transport_security=security, max_request_body_size=max_body_bytes
    )
    sse = server.sse_app(
        sse_path="/sse", message_path="/messages/", transport_security=security, max_request_body_size=max_body_bytes
    )
    for route in sse.routes:
        if isinstance(route, Route) and route.methods is not None:
            route.methods.discard("HEAD")  # added by Starlette; a stream without a body would end in an error

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
    app: ASGIApp = StreamPace(BodyLimit(sessions, max_body_bytes))
    admission = Admission(keys, resource)
    app = key_gate(app, admission)
    url = resource.url if resource is not None else ""
    app = ServerCard(app, version=server.version or "", closed=admission.required, url=url)
    server.is_shared = True
    if origins := list(allowed_origins):
        app = with_cors(app, origins)
    return HostGuard(app, AllowedNames(allowed_hosts, origins))


def serve(
    app: ASGIApp,
    listener: socket.socket,
    log_level: str = "INFO",
    *,
    proxies: Sequence[str] = (),
    running: Callable[[], int] = lambda: 0,
) -> None:
    """Serve until SIGTERM or SIGINT, then return.

    After SIGTERM, running calls get 25 seconds to finish; then open streams get three more to end.

    Args:
        app: as built by `build_app`.
        listener: a listening socket; it is closed at the end.
        log_level: level of the HTTP server's own log.
        proxies: addresses and networks whose `X-Forwarded-For` is trusted.
        running: returns the number of running calls.

    Raises:
        InternalError: the app could not start.
    """
    from knowledge_mcp.transports.shared.serving import serve_until_stopped

    serve_until_stopped(
        app,
        listener,
        grace=STREAM_SECONDS,
        log_level=log_level,
        proxies=proxies,
        may_stop=lambda: running() == 0,
        patience=CALL_SECONDS,
    )
