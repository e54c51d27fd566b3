"""Runs that outlive the call that began them: whoever asks again for the same finds it under way, or its result."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.support.checkpoints import watched
from knowledge_mcp.surfaces.following import watch

__all__ = ["Runs", "UnderWay"]

T = TypeVar("T")

PATIENCE = 45.0
"""Seconds after which a caller is told that a run goes on: many clients give up after a minute."""
_KEPT = 4
"""Results that are kept for the pages after the first."""


@dataclass(frozen=True, slots=True)
class UnderWay:
    """Tell how far a run is that goes on, in hundredths and in words."""

    done: float
    words: str


class Runs(Generic[T]):
    """Keep runs and their results by what was asked. Thread-safe.

    Args:
        patience: seconds that a call waits for its run.
        workers: runs at the same time; the others wait.
    """

    def __init__(self, *, patience: float = PATIENCE, workers: int = 2) -> None:
        self._patience = patience
        self._workers = threading.Semaphore(workers)
        self._lock = threading.Lock()
        self._runs: OrderedDict[Hashable, _Run[T]] = OrderedDict()

    def of(self, key: Hashable, work: Callable[[Progress], T], call: Call) -> T | UnderWay:
        """Return the result of a run, begun now unless it is there; how far it is, where the caller should not wait.

        A caller that gives up ends the run, unless another one waits for it. Errors of the work are raised for all who
        wait, and the run is forgotten.

        Raises:
            CancelledError: the caller gave up.
        """
        with self._lock:
            run = self._runs.get(key)
            if run is None:
                run = self._runs[key] = _Run(work, self._workers)
            self._runs.move_to_end(key)
            for old in [each for each, other in self._runs.items() if other.ended.is_set()][:-_KEPT]:
                del self._runs[old]
            run.waiting += 1
        due = time.monotonic() + self._patience
        try:
            watch(
                lambda seconds: run.ended.wait(seconds) or time.monotonic() >= due,
                lambda: run.state,
                call,
                give_up=lambda: CancelledError("The caller gave up."),
                failed=lambda: run.error is not None or not run.ended.is_set(),
            )
        except CancelledError:
            self._left(key, run)
            raise
        finally:
            with self._lock:
                run.waiting -= 1
        if not run.ended.is_set():
            return UnderWay(*run.state)
        if run.error is not None:
            self._forget(key, run)
            raise run.error
        return cast("T", run.result)

    def _left(self, key: Hashable, run: _Run[T]) -> None:
        with self._lock:
            alone = run.waiting == 1
        if alone:
            run.stop.set()
            self._forget(key, run)

    def _forget(self, key: Hashable, run: _Run[T]) -> None:
        with self._lock:
            if self._runs.get(key) is run:
                del self._runs[key]


class _Run(Generic[T]):
    def __init__(self, work: Callable[[Progress], T], workers: threading.Semaphore) -> None:
        self._work = work
        self._workers = workers
        self.waiting = 0
        self.stop = threading.Event()
        self.ended = threading.Event()
        self.state = (0.0, "")
        self.result: T | None = None
        self.error: BaseException | None = None
        threading.Thread(target=self._run, name="run", daemon=True).start()

    def _run(self) -> None:
        try:
            with self._workers, watched(self._look):
                self._look()
                self.result = self._work(self._tell)
        except BaseException as exc:  # noqa: BLE001 - raised again for whoever waits
            self.error = exc
        finally:
            self.ended.set()

    def _look(self) -> None:
        if self.stop.is_set():
            raise CancelledError("Nobody waits for it.")

    def _tell(self, done: float, total: float | None, words: str) -> None:
        share = 100.0 * min(done / total, 1.0) if total else 0.0
        self.state = (max(share, self.state[0]), words or self.state[1])
