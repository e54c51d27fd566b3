"""Threads that share one list of work, the fair sharing of slots among several users, and what is made once for all.

Results of a list come in order, nothing is queued ahead, and nothing is left running after a failure.
"""

from __future__ import annotations

import os
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")


class MadeOnce(Generic[A]):
    """Make something with the first call, once for all threads; later calls return it."""

    def __init__(self, make: Callable[[], A]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self.made: A | None = None
        """The result; None if it was never needed."""

    def __call__(self) -> A:
        """Return the result; an error is raised to its caller, and the next one tries again."""
        with self._lock:
            if self.made is None:
                self.made = self._make()
            return self.made


class WorkerPool:
    """Map functions over lists on a fixed number of threads; they start with the first list of more than one item.

    Args:
        width: number of threads.
        name: prefix of their names.
        closed: creates the error raised when closed workers are used.
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

        Single items, and everything if there is only one thread, run on the calling thread.
        """
        if self.width == 1 or len(items) < 2:
            return [function(item) for item in items]
        results: dict[int, B] = {}
        work = enumerate(items)
        stop, taking = threading.Event(), threading.Lock()

        def work_through() -> None:
            for index, item in _take(work, taking):
                if stop.is_set() or self._closed:
                    return
                results[index] = function(item)

        pool = self._start()
        running: list[Future[None]] = []
        try:
            running += [pool.submit(work_through) for _ in range(min(self.width, len(items)))]
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
        """Stop the threads when their current items are done; later lists are refused."""
        with self._lock:
            self._closed = True
            pool, self._pool = self._pool, None
        if pool is not None:
            pool.shutdown(wait=True)  # queued workers see that it is closed; `wait` does not know those cancelled here

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


class FairQueue(Generic[A]):
    """Share slots among users in round-robin order: one turn for each waiting user, however many requests each has.

    If there are several slots, one user never holds the last one, so that the next user is served at once. A user
    without a name (empty) may hold all. Not thread-safe.

    Args:
        places: number of slots.
    """

    def __init__(self, places: int) -> None:
        self.places = places
        self._taken = Counter[str]()
        self._waiting: dict[str, deque[A]] = {}

    @property
    def taken(self) -> int:
        """Return the number of slots in use."""
        return self._taken.total()

    def waiting(self, asker: str) -> int:
        """Return the number of waiting entries of a user."""
        return len(self._waiting.get(asker, ()))

    def put(self, asker: str, item: A) -> None:
        """Add an entry to the queue."""
        self._waiting.setdefault(asker, deque()).append(item)

    def remove(self, asker: str, item: A) -> bool:
        """Remove a waiting entry; return whether it was waiting."""
        if item not in self._waiting.get(asker, ()):
            return False
        self._waiting[asker].remove(item)
        if not self._waiting[asker]:
            del self._waiting[asker]
        return True

    def take(self) -> tuple[str, A] | None:
        """Give a slot to the next entry; return its user and it, None if nothing waits or no slot is free."""
        free = self.places - self.taken
        for asker, items in self._waiting.items() if free > 0 else ():
            if free == 1 and asker and 0 < self._taken[asker] == self.places - 1:
                continue
            item = items.popleft()
            del self._waiting[asker]
            if items:  # behind all others
                self._waiting[asker] = items
            self._taken[asker] += 1
            return asker, item
        return None

    def give_back(self, asker: str) -> None:
        """Return a slot."""
        self._taken[asker] -= 1
        if not self._taken[asker]:
            del self._taken[asker]


CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def usable_cores(quota_file: Path = CPU_QUOTA) -> int:
    """Count the cores that this process may use: its affinity, or a container's CPU quota if that is lower."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        quota, period = quota_file.read_text(encoding="ascii").split()
        return max(1, min(cores, int(quota) // int(period)))
    except (OSError, ValueError, ZeroDivisionError):  # no such file, or `max`: no quota
        return cores
