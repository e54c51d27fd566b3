"""Report the progress of a call to the client while the call runs, without waiting for it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import anyio
from mcp.server.mcpserver import Context

from knowledge_mcp.model.call import Progress, ignore_progress
from knowledge_mcp.transports.shared.threads import Outbox

logger = logging.getLogger(__name__)

T = TypeVar("T")

_LAST = 1.0
"""Seconds at the end for sending remaining progress before the answer is sent without it."""


async def run_with_progress(context: Context[Any, Any] | None, work: Callable[[Progress], Awaitable[T]]) -> T:
    """Run a call with a function that reports progress to the client; failing reports are ignored.

    The function is for worker threads, and returns at once.
    """
    if context is None:
        return await work(ignore_progress)
    outbox = Outbox[tuple[float, float | None, str]]()
    sent = anyio.Event()

    async def send() -> None:
        while (progress := await outbox.get()) is not None:
            try:
                await context.report_progress(*progress)
            except Exception as exc:  # noqa: BLE001 - the work goes on whoever listens
                logger.debug("progress was not reported: %s", exc)
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
