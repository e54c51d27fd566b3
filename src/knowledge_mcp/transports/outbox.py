"""What a worker thread tells a client: nobody waits for a client that does not read, and memory does not grow."""

from __future__ import annotations

import contextlib
from collections import deque
from typing import Generic, TypeVar

import anyio
import anyio.from_thread

__all__ = ["MOST_WAITING", "Outbox"]

T = TypeVar("T")

MOST_WAITING = 256
"""Messages that wait for a client; of more, the oldest go. One parcel of files (200) fits, so who reads misses none."""


class Outbox(Generic[T]):
    """Hold what is still to be sent: the latest messages, whatever was put last among them.

    Made, read and closed on the event loop; `put` is for worker threads that the loop has started.
    """

    def __init__(self) -> None:
        self._waiting: deque[T] = deque(maxlen=MOST_WAITING)
        self._changed = anyio.Event()
        self._closed = False

    def put(self, message: T) -> None:
        """Add a message and return at once; where the loop has gone nobody reads it."""
        self._waiting.append(message)
        with contextlib.suppress(RuntimeError):
            anyio.from_thread.run_sync(self._wake)

    def close(self) -> None:
        """Say that nothing follows."""
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
