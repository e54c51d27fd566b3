"""Accept messages of a client only as fast as it reads its stream: the older transport answers on another connection.

Otherwise a client that reads nothing could have any number of answers prepared and kept for it: 4,000 requests for the
list of tools took 750 MB.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from uuid import UUID

import anyio
from starlette.datastructures import QueryParams
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.transports.shared.guards import send_error
from knowledge_mcp.transports.shared.threads import MAX_WAITING, WAITING_SECONDS

_SESSION = re.compile(rb"session_id=([0-9a-f]{32})")


@dataclass(slots=True)
class _Stream:
    sending: int = 0
    waiting: int = 0
    read: anyio.Event = field(default_factory=anyio.Event)


class StreamPace:
    """Let messages posted to `/messages/` wait while their client has not read what its stream at `/sse` has for it.

    Those for which there is no place, or no end of the wait, are refused with 503.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._streams: dict[str, _Stream] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"] if scope["type"] == "http" else ""
        if path == "/sse":
            await self._open(scope, receive, send)
        elif path.startswith("/messages/") and not await self._is_read(scope):
            text = "The stream of this session is not being read. Read it, then send again."
            await send_error(send, 503, "stream_not_read", text, [(b"retry-after", b"5"), (b"connection", b"close")])
        else:
            await self._app(scope, receive, send)

    async def _open(self, scope: Scope, receive: Receive, send: Send) -> None:
        stream, ident = _Stream(), ""

        async def noted(message: Message) -> None:
            nonlocal ident
            if not ident and (found := _SESSION.search(message.get("body", b""))):
                ident = found[1].decode()
                self._streams[ident] = stream
            stream.sending += 1
            try:
                await send(message)
            finally:
                stream.sending -= 1
                if not stream.sending:
                    stream.read.set()
                    stream.read = anyio.Event()

        try:
            await self._app(scope, receive, noted)
        finally:
            self._streams.pop(ident, None)
            stream.read.set()

    async def _is_read(self, scope: Scope) -> bool:
        """Wait until a message's stream is read, or has ended; False if that takes too long."""
        try:
            ident = UUID(hex=QueryParams(scope["query_string"]).get("session_id", "")).hex
        except ValueError:
            return True  # refused by the app
        stream = self._streams.get(ident)
        if stream is None or not stream.sending:
            return True
        if stream.waiting >= MAX_WAITING:
            return False
        stream.waiting += 1
        try:
            with anyio.move_on_after(WAITING_SECONDS) as waiting:
                await stream.read.wait()
            return not waiting.cancelled_caught
        finally:
            stream.waiting -= 1
