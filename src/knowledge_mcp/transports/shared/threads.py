"""Worker threads for blocking calls, with a limit: a slot is free when its thread has ended, not before.

Callers are distinguished by the key in the request, so that nobody has to wait for all calls of another.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from contextvars import ContextVar
from typing import Generic, TypeVar

import anyio
import anyio.from_thread
import anyio.to_thread

from knowledge_mcp.model.errors import CancelledError, RateLimitedError, TimedOutError
from knowledge_mcp.support.checkpoints import watch_for_stop
from knowledge_mcp.support.workers import FairQueue

T = TypeVar("T")

ASKER: ContextVar[str] = ContextVar("knowledge_asker", default="")
"""Name of the request's key or token; empty if callers are not distinguished."""

MAX_WAITING = 64
WAITING_SECONDS = 30.0
CALL_SECONDS = 300.0
"""Maximum duration of a call; at its next checkpoint afterwards it ends with a timeout."""


def run_until(is_gone: Callable[[], bool], seconds: float, function: Callable[[], T]) -> T:
    """Run a function until the caller has disconnected, and for a maximum number of seconds.

    Raises:
        CancelledError: the caller has disconnected; raised at a checkpoint.
        TimedOutError: the time is up; raised at a checkpoint.
    """
    deadline = time.monotonic() + seconds

    def look() -> None:
        if is_gone():
            raise CancelledError("The caller disconnected.")
        if time.monotonic() > deadline:
            raise TimedOutError(f"The answer took longer than {seconds:.0f} seconds.")

    with watch_for_stop(look, every=0.0):
        return function()


class Threads:
    """Run blocking functions of one kind; callers take turns as in `FairQueue`.

    Args:
        at_once: maximum threads.
        waiting: maximum waiting calls of one caller; further ones are refused.
        patience: maximum seconds of waiting; then calls are refused.
        limit: maximum seconds of a call, tested at checkpoints; infinite for work of any length.
    """

    def __init__(
        self,
        at_once: int,
        *,
        waiting: int = MAX_WAITING,
        patience: float = WAITING_SECONDS,
        limit: float = CALL_SECONDS,
    ) -> None:
        self._turns = FairQueue[anyio.Event](at_once)
        self._unlimited = anyio.CapacityLimiter(math.inf)
        self._waiting = waiting
        self._patience = patience
        self._limit = limit
        self._running: set[asyncio.Task[object]] = set()

    async def run(self, function: Callable[[], T], *, gave_up: threading.Event | None = None, stay: bool = False) -> T:
        """Run a function; cancelling frees the caller at once, and the slot once the function has ended.

        Args:
            function: it stops at its next checkpoint after the caller has gone (`support.checkpoints`).
            gave_up: set when the caller has gone.
            stay: a cancelled caller waits for running work to end, because that uses the caller's resources; a caller
                that waits for a slot still leaves at once.

        Raises:
            RateLimitedError: too many are waiting, or it has waited too long.
        """
        gone, asker = gave_up or threading.Event(), ASKER.get()
        await self._wait(asker)
        task = asyncio.create_task(self._work(functools.partial(run_until, gone.is_set, self._limit, function), asker))
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            with anyio.CancelScope(shield=stay):
                await asyncio.shield(task)
            return task.result()
        finally:
            if not task.done():
                gone.set()

    @property
    def under_way(self) -> int:
        """Return the number of calls whose threads have not ended."""
        return self._turns.taken

    @property
    def waiting(self) -> int:
        """Return the number of the caller's calls that wait for a slot."""
        return self._turns.waiting(ASKER.get())

    async def _wait(self, asker: str) -> None:
        is_full, has_place = self.waiting >= self._waiting, anyio.Event()
        self._turns.put(asker, has_place)
        self._let_in()
        try:
            if not has_place.is_set():
                if is_full:
                    raise self._full()
                with anyio.fail_after(self._patience):
                    await has_place.wait()
        except BaseException as exc:
            if not self._turns.remove(asker, has_place):  # it got a slot at the last moment
                self._give_back(asker)
            if isinstance(exc, TimeoutError):
                raise self._full() from None
            raise

    def _let_in(self) -> None:
        while (taken := self._turns.take()) is not None:
            taken[1].set()

    def _give_back(self, asker: str) -> None:
        self._turns.give_back(asker)
        self._let_in()

    def _full(self) -> RateLimitedError:
        return RateLimitedError(
            f"{self._turns.places} calls are running, and too many others are waiting.",
            suggestion="Wait a moment, then call again.",
            retry_after=5.0,
        )

    async def _work(self, function: Callable[[], T], asker: str) -> T:
        try:
            return await anyio.to_thread.run_sync(function, limiter=self._unlimited)
        finally:
            self._give_back(asker)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # retrieve the exception: nobody else does if the caller has gone


MOST_WAITING = 256
"""Maximum messages waiting for a client; of more, the oldest are dropped. One batch of files (200) fits."""


class Outbox(Generic[T]):
    """Messages still to be sent: the latest ones, always including the last one.

    Created, read and closed on the event loop; `put` is for worker threads started by the loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[T] = deque(maxlen=MOST_WAITING)
        self._changed = anyio.Event()
        self._closed = False

    def put(self, message: T) -> None:
        """Add a message and return at once; if the loop has ended, it is discarded."""
        self._waiting.append(message)
        with contextlib.suppress(RuntimeError):
            anyio.from_thread.run_sync(self._wake)

    def close(self) -> None:
        """Mark the end of the messages."""
        self._closed = True
        self._wake()

    async def get(self) -> T | None:
        """Wait for the next message; None after the last one."""
        while not self._waiting:
            if self._closed:
                return None
            await self._changed.wait()
        return self._waiting.popleft()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()
