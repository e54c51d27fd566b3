"""Progress of a tool call on its way to the client: no client can hold up the work."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from mcp.server.mcpserver import Context

from knowledge_mcp.engine.jobs import Progress, tell_nobody
from knowledge_mcp.transports.outbox import Outbox

__all__ = ["telling"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LAST = 1.0
"""Seconds that progress which is still to be sent gets at the end, before the answer goes without it."""


async def telling(context: Context[Any, Any] | None, work: Callable[[Progress], Awaitable[T]]) -> T:
    """Do a call's work with a function that tells its client how far it is; what cannot be told is left untold.

    The function is for worker threads, and returns at once.
    """
    if context is None:
        return await work(tell_nobody)
    outbox = Outbox[tuple[float, float | None, str]]()
    sent = anyio.Event()

    async def send() -> None:
        while (progress := await outbox.get()) is not None:
            try:
                await context.report_progress(*progress)
            except Exception as exc:  # noqa: BLE001 - the work goes on whoever listens
                logger.debug("progress was not told: %s", exc)
        sent.set()

    failed: Exception | None = None
    found: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(send)
        try:
            found.append(await work(lambda done, total, message: outbox.put((done, total, message))))
        except Exception as exc:  # noqa: BLE001 - raised below: a group would wrap it
            failed = exc
        outbox.close()
        with anyio.move_on_after(_LAST):
            await sent.wait()
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return found[0]
