"""How many MCP sessions are open, in all and for each key. Pure ASGI, so that streams stream.

A session takes about 39 KB, for 30 minutes after its last request. A client whose session was closed is answered with
404 and opens another, as the protocol has it, so that closing one that rests costs its client one request.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
from mcp.server.streamable_http_manager import DEFAULT_SESSION_IDLE_TIMEOUT
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.transports.shared.guards import send_error
from knowledge_mcp.transports.shared.revoking import LOOK_SECONDS, VALID

__all__ = ["MAX_SESSIONS", "MAX_SESSIONS_OF_KEY", "SessionLimit"]

logger = logging.getLogger(__name__)

MAX_SESSIONS = 1000
"""Most sessions open at a time, 39 MB of memory."""

MAX_SESSIONS_OF_KEY = 250
"""Most of one key, so that one alone never shuts the others out."""

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
    """Stand in front of `/mcp` and `/sse`; at a limit the same key's session that rests longest is closed.

    One with a call under way is never closed; where there is no other, the new one is refused with 503.

    Args:
        app: what stands behind.
        most: sessions in all; `of_key`: of one key.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        app: ASGIApp,
        most: int = MAX_SESSIONS,
        of_key: int = MAX_SESSIONS_OF_KEY,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._app = app
        self._most = most
        self._of_key = of_key
        self._clock = clock
        self._sessions: dict[str, _Session] = {}
        self._opening = Counter[object]()
        self._told = float("-inf")

    @property
    def held(self) -> int:
        """Return how many sessions are open or being opened."""
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
        else:  # a request of the newer protocol, which knows no sessions
            await self._app(scope, receive, send)

    async def close_revoked(self) -> None:
        """Close the sessions of keys that were taken away, as long as the task lives."""
        while True:
            for ident in [ident for ident, each in self._sessions.items() if not each.valid()]:
                logger.info("a session is closed: its key was taken away")
                await self._close(ident)
            await anyio.sleep(LOOK_SECONDS)

    async def _go_on(self, ident: str, scope: Scope, receive: Receive, send: Send) -> None:
        session = self._sessions.get(ident)
        if session is None or session.owner != _owner(scope):
            await self._app(scope, receive, send)  # answered there, as a session that is not
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
            session.used = self._clock()
            if answer.status == 404 or (scope["method"] == "DELETE" and answer.status == 200):
                self._sessions.pop(ident, None)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        owner = _owner(scope)
        if not await self._make_room(owner):
            self._tell(owner)
            text = "Too many sessions are open, and each has a call under way. Close some, or try again later."
            await send_error(send, 503, "too_many_sessions", text, [_WAIT])
            return
        self._opening[owner] += 1
        answer = _Opening(send=self._keeping(scope, owner, send))
        try:
            await self._app(scope, receive, answer)
        finally:
            if answer.ident in self._sessions:
                session = self._sessions[answer.ident]
                session.calls -= 1
                session.used = self._clock()
            else:
                self._release(owner)

    def _keeping(self, scope: Scope, owner: object, send: Send) -> Send:
        """Note the session that an answer opens, before its client learns of it."""

        async def keep(message: Message) -> None:
            if message["type"] == "http.response.start" and int(message["status"]) < 400:
                ident = Headers(raw=list(message["headers"])).get(_ID, "")
                if ident and ident not in self._sessions:
                    host = [each for each in scope["headers"] if each[0] == b"host"]
                    valid = scope.get(VALID, _always)
                    self._sessions[ident] = _Session(owner, host, scope.get("user"), valid, self._clock(), calls=1)
                    self._release(owner)
            await send(message)

        return keep

    def _release(self, owner: object) -> None:
        self._opening[owner] -= 1
        if not self._opening[owner]:
            del self._opening[owner]

    async def _make_room(self, owner: object) -> bool:
        """Close what rests longest of this key, where a limit is reached; False where nothing of it rests."""
        self._forget()
        own = {ident: each for ident, each in self._sessions.items() if each.owner == owner}
        if len(own) + self._opening[owner] < self._of_key and self.held < self._most:
            return True
        resting = [ident for ident, each in own.items() if not each.calls]
        if not resting:
            return False
        await self._close(min(resting, key=lambda ident: (own[ident].streams, own[ident].used)))
        return True

    def _forget(self) -> None:
        """Forget what ended behind by itself, after as long a rest."""
        before = self._clock() - DEFAULT_SESSION_IDLE_TIMEOUT
        for ident in [
            ident for ident, each in self._sessions.items()
            if each.used < before and not each.calls and not each.streams
        ]:  # fmt: skip
            del self._sessions[ident]

    async def _close(self, ident: str) -> None:
        """Close a session as its client would, by DELETE."""
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

    def _tell(self, owner: object) -> None:
        now = self._clock()
        if now - self._told >= 1.0:
            self._told = now
            logger.warning("a session of %r was refused: %d are open", owner, self.held)


def _owner(scope: Scope) -> object:
    user = scope.get("user")
    return user.display_name if user is not None else ""


def _always() -> bool:
    return True


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _ignore(_: Message) -> None:
    return
