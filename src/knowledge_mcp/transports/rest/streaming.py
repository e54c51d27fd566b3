"""An answer that comes line by line while a thread works on it; a client that leaves ends the work.

One that reads too slowly, or not at all, holds nothing up: of what it has not read, the latest lines wait for it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any

import anyio
from fastapi import Response
from starlette.types import Receive, Scope, Send

from knowledge_mcp.model.errors import KnowledgeError, RateLimitedError
from knowledge_mcp.remote.failures import error_object
from knowledge_mcp.transports.shared.provider import crash
from knowledge_mcp.transports.shared.threads import Outbox, Threads

Tell = Callable[[Mapping[str, Any]], None]
"""Send one JSON object as a line; thread-safe, never waits for the client, never raises for one that left."""


class Streaming(Response):
    """Answer with lines of JSON; an empty line is a sign of life.

    Args:
        work: tells its lines on a worker thread, and looks now and then whether the client has left; an error becomes
            the last line, `{"error": …}`.
        threads: on which such work runs, so many at a time; what finds no place there is told to come again.
        what: is done, for the log.
        heartbeat: seconds of silence after which a sign of life is sent.
        at_end: called in any case, once nobody works any more.
    """

    def __init__(
        self,
        work: Callable[[Tell, threading.Event], None],
        threads: Threads,
        *,
        what: str,
        heartbeat: float,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(media_type="application/x-ndjson")
        self._do = work
        self._threads = threads
        self._what = what
        self._heartbeat = heartbeat
        self._at_end = at_end
        self._gave_up = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        lines = Outbox[bytes]()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, receive, group.cancel_scope)
                group.start_soon(self._work, lines)
                await self._tell(lines, send)
                group.cancel_scope.cancel()
        finally:
            self._gave_up.set()
            self._end()

    async def _tell(self, lines: Outbox[bytes], send: Send) -> None:
        while True:
            line: bytes | None = b""
            with anyio.move_on_after(self._heartbeat):
                line = await lines.get()
            if line is None:
                break
            await send({"type": "http.response.body", "body": line + b"\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _end(self) -> None:
        at_end, self._at_end = self._at_end, None
        if at_end is not None:
            at_end()

    async def _listen(self, receive: Receive, answering: anyio.CancelScope) -> None:
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
            answering.cancel()  # what waits for a place leaves at once; what runs is waited for
        finally:
            self._gave_up.set()

    async def _work(self, lines: Outbox[bytes]) -> None:
        def tell(payload: Mapping[str, Any]) -> None:
            lines.put(json.dumps(payload, allow_nan=False, separators=(",", ":")).encode())

        def work() -> None:
            try:
                self._do(tell, self._gave_up)
            except KnowledgeError as exc:
                tell({"error": error_object(exc)})
            except Exception as exc:  # noqa: BLE001 - logged by crash(); the client must get an answer
                tell({"error": error_object(crash(self._what, exc))})

        try:
            await self._threads.run(work, gave_up=self._gave_up, stay=True)
        except RateLimitedError as exc:
            tell({"error": error_object(exc)})
        finally:
            self._end()  # whoever reads on, and however slowly, holds no files
            lines.close()
