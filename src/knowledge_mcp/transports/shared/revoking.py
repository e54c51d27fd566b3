"""Requests of a key that is taken away while they are under way: they end as if their client had left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.transports.shared.guards import send_error

__all__ = ["LOOK_SECONDS", "VALID", "serve_while_valid"]

LOOK_SECONDS = 1.0
"""How often the key of a request that is under way is looked at; its file is read as often, at most."""

VALID = "knowledge_valid"
"""Where a scope keeps what tells whether its key still holds."""


async def serve_while_valid(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, valid: Callable[[], bool]
) -> None:
    """Serve a request; once its key no longer holds, tell the app that the client has left, and end the answer.

    An app that ends without an answer then is answered for, with 401.
    """
    watched = _Watched(receive, send, valid)
    scope[VALID] = valid
    failure: Exception | None = None
    async with anyio.create_task_group() as group:
        group.start_soon(watched.look)
        try:
            await app(scope, watched.receive, watched.send)
        except Exception as exc:  # noqa: BLE001 - raised below as it is, not within the group's
            failure = exc
        group.cancel_scope.cancel()
    if failure is not None:
        raise failure
    if watched.revoked.is_set():
        await watched.end()


class _Watched:
    def __init__(self, receive: Receive, send: Send, valid: Callable[[], bool]) -> None:
        self._receive = receive
        self._send = send
        self._valid = valid
        self._begun = self._ended = False
        self.revoked = anyio.Event()

    async def look(self) -> None:
        while self._valid():  # noqa: ASYNC110 - a file tells of no change by itself
            await anyio.sleep(LOOK_SECONDS)
        self.revoked.set()

    async def receive(self) -> Message:
        got: list[Message] = []

        async def from_client() -> None:
            got.append(await self._receive())
            group.cancel_scope.cancel()

        async def from_ring() -> None:
            await self.revoked.wait()
            group.cancel_scope.cancel()

        async with anyio.create_task_group() as group:
            group.start_soon(from_client)
            group.start_soon(from_ring)
        return got[0] if got else {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        start = message["type"] == "http.response.start"
        if self.revoked.is_set() and (self._ended or (start and self._begun)):
            return  # an app whose client has left may say anything, as to a closed connection
        self._begun = True
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = True
        await self._send(message)

    async def end(self) -> None:
        last: dict[str, Any] = {"type": "http.response.body", "body": b"", "more_body": False}
        if not self._begun:
            await send_error(self._send, 401, "unauthorized", "The key was taken away.", [(b"connection", b"close")])
        elif not self._ended:
            await self._send(last)
