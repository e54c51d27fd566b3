"""Run an ASGI app's lifespan around a block: of an app within another one, which no server starts by itself."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator

import anyio
from starlette.types import ASGIApp, Message

__all__ = ["living"]


@contextlib.asynccontextmanager
async def living(app: ASGIApp) -> AsyncGenerator[None]:
    """Start an app, and stop it at the end of the block.

    Raises:
        RuntimeError: it says that it could not start.
    """
    incoming, outgoing = anyio.create_memory_object_stream[Message](2)
    started, ended = anyio.Event(), anyio.Event()
    failed: list[str] = []

    async def send(message: Message) -> None:
        kind = str(message["type"])
        if kind.endswith("failed"):
            failed.append(str(message.get("message", "")))
        (started if "startup" in kind else ended).set()

    async def run() -> None:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, outgoing.receive, send)
        started.set()
        ended.set()

    async with incoming, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await incoming.send({"type": "lifespan.startup"})
        await started.wait()
        if failed:
            raise RuntimeError(f"the app did not start: {failed[0]}")
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await incoming.send({"type": "lifespan.shutdown"})
                await ended.wait()
