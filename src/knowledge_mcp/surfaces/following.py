"""Waits for long work and reports its progress to the caller, until it ends or the caller gives up."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar, cast

from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.errors import CancelledError

T = TypeVar("T")

HEARTBEAT = 2.0
"""Maximum seconds between two progress reports to a waiting caller."""
_GLANCE = 0.1
"""Seconds between checks whether the caller has given up: fast enough for a person."""
_STEP = 0.001
"""Smallest increase of reported progress: the protocol requires each number to be greater than the one before."""
_WAITING = "waiting for its turn"


def follow(
    work: Callable[[Progress, Callable[[], bool]], T], call: Call, *, give_up: Callable[[], CancelledError] | None
) -> T:
    """Do work in its own thread and wait for it as in `watch`; return its result, or raise its error.

    Args:
        work: called with a function that reports progress, and one that returns whether to stop.
        call: the connection to the caller.
        give_up: as for `watch`.

    Raises:
        CancelledError: the caller cancelled; the work is asked to stop, without waiting for it.
    """
    doing = _ThreadedWork(work, call.cancelled)
    watch(doing.wait, lambda: doing.state, call, give_up=give_up, failed=lambda: doing.error is not None)
    if doing.error is not None:
        raise doing.error
    return cast("T", doing.result)


def watch(
    ended: Callable[[float], bool],
    state: Callable[[], tuple[float, str]],
    call: Call,
    *,
    give_up: Callable[[], CancelledError] | None,
    failed: Callable[[], bool],
) -> None:
    """Wait for work and report its progress; without progress, report slightly more than before.

    The connection to the caller is used in this thread only. Its numbers grow with every message, as the protocol
    requires.

    Args:
        ended: waits for the end of the work, at most the given seconds; returns whether it has ended.
        state: the progress of the work in percent, and its description.
        call: the connection to the caller.
        give_up: returns the error that ends the wait once the caller has given up; it may stop the work first. None
            continues to wait, for work that checks for cancellation itself.
        failed: whether the ended work failed; then its end is not reported.

    Raises:
        CancelledError: the error that `give_up` returns.
    """
    reported, last_words, reported_at = -1.0, "", time.monotonic() - HEARTBEAT
    while not ended(_GLANCE):
        if give_up is not None and call.cancelled():
            raise give_up()
        now = time.monotonic()
        done, words = state()
        moved = done > reported or words != last_words
        if now - reported_at >= HEARTBEAT or (moved and now - reported_at >= HEARTBEAT / 4):
            reported = done if done > reported else reported + _STEP
            last_words, reported_at = words, now
            call.progress(reported, 100.0, words or _WAITING)
    if not failed():
        call.progress(max(100.0, reported + _STEP), 100.0, "done")


class _ThreadedWork(Generic[T]):
    """Do work in its own thread, and store its progress and result."""

    def __init__(self, work: Callable[[Progress, Callable[[], bool]], T], cancelled: Callable[[], bool]) -> None:
        self._work = work
        self._cancelled = cancelled
        self._ended = threading.Event()
        self.state = (0.0, "")
        self.result: T | None = None
        self.error: BaseException | None = None
        threading.Thread(target=self._run, name="followed work", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Wait for the end of the work; return whether it has ended."""
        return self._ended.wait(seconds)

    def _run(self) -> None:
        try:
            self.result = self._work(self._report, self._cancelled)
        except BaseException as exc:  # noqa: BLE001 - raised again on the caller's thread
            self.error = exc
        finally:
            self._ended.set()

    def _report(self, done: float, total: float | None, words: str) -> None:
        share = 100.0 * min(done / total, 1.0) if total else 0.0
        self.state = (max(share, self.state[0]), words or self.state[1])
