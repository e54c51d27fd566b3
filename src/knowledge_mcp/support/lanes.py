"""Threads that share one list of work: results in order, nothing queued ahead, nothing left running after a failure."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


class Lanes:
    """Map functions over lists on a fixed number of threads, which start at the first list of more than one item.

    Args:
        width: threads.
        name: prefix of their names.
        closed: makes what is raised where somebody goes on using closed lanes.
    """

    def __init__(self, width: int, name: str, closed: Callable[[], Exception]) -> None:
        self.width = width
        self._refusal = closed
        self._name = name
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._closed = False

    def map(self, function: Callable[[A], B], items: Sequence[A]) -> list[B]:
        """Apply the function to every item; the first failure stops the rest and is raised.

        Single items, and everything when there is one lane, run on the calling thread.
        """
        if self.width == 1 or len(items) < 2:
            return [function(item) for item in items]
        results: dict[int, B] = {}
        work = enumerate(items)
        stop, taking = threading.Event(), threading.Lock()

        def lane() -> None:
            for index, item in _take(work, taking):
                if stop.is_set() or self._closed:
                    return
                results[index] = function(item)

        pool = self._start()
        running: list[Future[None]] = []
        try:
            running += [pool.submit(lane) for _ in range(min(self.width, len(items)))]
            wait(running, return_when=FIRST_EXCEPTION)
        except RuntimeError as exc:  # the pool was shut down meanwhile
            raise self._refusal() from exc
        finally:
            stop.set()
            wait([future for future in running if not future.cancel()])
        failed = [future for future in running if not future.cancelled() and future.exception() is not None]
        for future in failed:
            future.result()
        if len(results) < len(items):
            raise self._refusal()
        return [results[index] for index in range(len(items))]

    def close(self) -> None:
        """Stop the threads as soon as their present items are done; later lists are refused."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)  # queued lanes see that it is closed; `wait` never hears of those cancelled here

    def _start(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._closed:
                raise self._refusal()
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.width, thread_name_prefix=self._name)
            return self._pool


def _take(work: Iterator[tuple[int, A]], taking: threading.Lock) -> Iterator[tuple[int, A]]:
    while True:
        with taking:
            pair = next(work, None)
        if pair is None:
            return
        yield pair


CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota_file: Path = CPU_QUOTA) -> int:
    """Count the cores that this process may use: its affinity, or a container's CPU quota where that is less."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or `max`: no quota
        return cores
