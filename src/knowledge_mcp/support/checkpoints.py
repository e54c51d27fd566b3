"""Checkpoints in long work: loops test there whether to stop, without a parameter passed down to them.

Long work registers once what stops it (`watch_for_stop`); the loops below call `checkpoint`. Outside of
`watch_for_stop`, a checkpoint does nothing and costs almost nothing.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from contextvars import ContextVar
from typing import TypeVar

_A = TypeVar("_A")
_T = TypeVar("_T")
_EVERY = 0.1
"""Seconds between two checks: a check may cost a read from disk."""
GLANCE = 0.25
"""Seconds between two checkpoints while long work waits for something."""

_look: ContextVar[Callable[[], None] | None] = ContextVar("knowledge_mcp_checkpoint", default=None)


@contextlib.contextmanager
def watch_for_stop(stop: Callable[[], None], *, every: float = _EVERY) -> Generator[None]:
    """Make every checkpoint of this thread in this context call `stop`, which raises to end the work.

    Args:
        stop: called at a checkpoint.
        every: minimum seconds between two calls.
    """
    due = 0.0

    def look() -> None:
        nonlocal due
        now = time.monotonic()
        if now >= due:
            due = now + every
            stop()

    token = _look.set(look)
    try:
        yield
    finally:
        _look.reset(token)


def checkpoint() -> None:
    """Check whether the work is to stop; raises what `stop` of `watch_for_stop` raises."""
    look = _look.get()
    if look is not None:
        look()


def check_each(items: Iterable[_T]) -> Iterator[_T]:
    """Yield items, with a checkpoint before each."""
    look = _look.get()
    if look is None:
        yield from items
        return
    for item in items:
        look()
        yield item


def inherit_checkpoints(function: Callable[[_A], _T]) -> Callable[[_A], _T]:
    """Make a function use this thread's checkpoints on other threads, with one checkpoint before it starts."""
    look = _look.get()

    def run(item: _A) -> _T:
        token = _look.set(look)
        try:
            checkpoint()
            return function(item)
        finally:
            _look.reset(token)

    return run
