"""Waiting for work that takes long, with signs of life to whoever waits, until it ends or is given up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from knowledge_mcp.engine.jobs import CancelledError
from knowledge_mcp.surfaces.contract import Call

__all__ = ["HEARTBEAT", "Progress", "follow"]

Progress = Callable[[float, float | None, str], None]
T = TypeVar("T")

HEARTBEAT = 2.0
"""Seconds, at most, between two signs of life to a caller that waits."""
_GLANCE = 0.1
_STEP = 0.001


class _Work(Generic[T]):
    """Do the work on a thread of its own, and hold how far it is and what became of it."""

    def __init__(self, work: Callable[[Progress, Callable[[], bool]], T], gave_up: Callable[[], bool]) -> None:
        self._work = work
        self._gave_up = gave_up
        self._ended = threading.Event()
        self.stop = threading.Event()
        self.state = (0.0, "waiting for its turn")
        self.result: T | None = None
        self.error: BaseException | None = None
        threading.Thread(target=self._run, name="conversion", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for its end; tells whether it came."""
        return self._ended.wait(seconds)

    def _run(self) -> None:
        try:
            self.result = self._work(self._tell, lambda: self.stop.is_set() or self._gave_up())
        except BaseException as exc:  # noqa: BLE001 - raised again on the caller's thread
            self.error = exc
        finally:
            self._ended.set()

    def _tell(self, done: float, total: float | None, message: str) -> None:
        share = 100.0 * min(done / total, 1.0) if total else 0.0
        self.state = (max(share, self.state[0]), message)


def follow(work: Callable[[Progress, Callable[[], bool]], T], call: Call) -> T:
    """Do work and wait for it; tell its progress in hundredths as it moves, and a little more where it does not.

    Args:
        work: gets how to tell its progress, and how to ask whether to stop.
        call: the line to the caller.

    Raises:
        CancelledError: the caller has given up; the work is told, and nobody waits for it.
    """
    doing = _Work(work, call.cancelled)
    told, said, at = -1.0, "", time.monotonic() - HEARTBEAT
    while not doing.wait(_GLANCE):
        if call.cancelled():
            doing.stop.set()
            raise CancelledError("The conversion was cancelled.")
        now = time.monotonic()
        done, message = doing.state
        moved = done > told or message != said
        if now - at >= HEARTBEAT or (moved and now - at >= HEARTBEAT / 4):
            # a protocol's progress must grow with every message
            told = done if done > told else told + _STEP
            said, at = message, now
            call.progress(told, 100.0, message)
    if doing.error is not None:
        raise doing.error
    call.progress(100.0, 100.0, "done")
    return cast("T", doing.result)
