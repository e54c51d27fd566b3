"""Worker threads for blocking calls, so many at a time: a place is free when its thread has ended, not before."""

from __future__ import annotations

import asyncio
import functools
import math
import threading
from collections.abc import Callable
from typing import TypeVar

import anyio
import anyio.to_thread

from knowledge_mcp.engine.wanted import wanted_until
from knowledge_mcp.model.errors import RateLimitedError

__all__ = ["Threads"]

T = TypeVar("T")

MAX_WAITING = 64
WAITING_SECONDS = 30.0
CALL_SECONDS = 300.0
"""How long a call may ask for more; the next time that it does so afterwards it ends with a time-out."""


class Threads:
    """Run blocking functions of one kind.

    Args:
        at_once: most threads.
        waiting: most calls that wait for a place; more are refused.
        patience: seconds that they wait; then they are refused.
        limit: seconds that a call may take, as far as it looks; infinite for work that takes as long as it takes.
    """

    def __init__(
        self,
        at_once: int,
        *,
        waiting: int = MAX_WAITING,
        patience: float = WAITING_SECONDS,
        limit: float = CALL_SECONDS,
    ) -> None:
        self.places = anyio.CapacityLimiter(at_once)
        self._unlimited = anyio.CapacityLimiter(math.inf)
        self._waiting = waiting
        self._patience = patience
        self._limit = limit
        self._running: set[asyncio.Task[object]] = set()

    async def run(self, function: Callable[[], T], *, gave_up: threading.Event | None = None, stay: bool = False) -> T:
        """Run a function; cancelling frees the caller at once, and the place once the function has ended.

        Args:
            function: what it reads of an engine it stops reading soon after the caller left (`engine.wanted`).
            gave_up: set when the caller leaves.
            stay: a caller that is cancelled waits for the end of what runs, because that uses what goes with the
                caller; one that waits for a place leaves at once all the same.

        Raises:
            RateLimitedError: too many wait, or it has waited too long.
        """
        left = gave_up or threading.Event()
        place = object()
        await self._wait(place)
        task = asyncio.create_task(
            self._work(functools.partial(wanted_until, left.is_set, self._limit, function), place)
        )
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            with anyio.CancelScope(shield=stay):
                await asyncio.shield(task)
            return task.result()
        finally:
            if not task.done():
                left.set()

    async def _wait(self, place: object) -> None:
        try:
            self.places.acquire_on_behalf_of_nowait(place)
        except anyio.WouldBlock:
            if self.places.statistics().tasks_waiting >= self._waiting:
                raise self._full() from None
            try:
                with anyio.fail_after(self._patience):
                    await self.places.acquire_on_behalf_of(place)
            except TimeoutError:
                raise self._full() from None

    def _full(self) -> RateLimitedError:
        return RateLimitedError(
            f"{self.places.total_tokens:.0f} calls are under way, and more wait than can be served soon.",
            suggestion="Wait a little and call again.",
            retry_after=5.0,
        )

    async def _work(self, function: Callable[[], T], place: object) -> T:
        try:
            return await anyio.to_thread.run_sync(function, limiter=self._unlimited)
        finally:
            self.places.release_on_behalf_of(place)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # nobody else looks where the caller has left
