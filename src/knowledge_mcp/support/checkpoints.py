"""Places in long work that look whether it is to stop, however deep below whoever may stop it.

Long work names what stops it once (`watch_for_stop`); the loops below pass `checkpoint`, and need no argument for
it. Outside of `watch_for_stop` a checkpoint costs next to nothing and does nothing.
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
"""Seconds between two looks: a look may cost a read from disk."""
GLANCE = 0.25
"""Seconds that long work waits for something at a time, with a checkpoint after each."""

_look: ContextVar[Callable[[], None] | None] = ContextVar("knowledge_mcp_checkpoint", default=None)


@contextlib.contextmanager
def watch_for_stop(stop: Callable[[], None], *, every: float = _EVERY) -> Generator[None]:
    """Let every checkpoint of this thread below here call `stop`, which raises to end the work.

    Args:
        stop: called at a checkpoint.
        every: seconds that pass between two calls at least.
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
    """Look whether the work is to stop; raises what `watch_for_stop` was given raises."""
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
    """Make a function pass its checkpoints on other threads as if it ran on this one, and one before it begins."""
    look = _look.get()

    def run(item: _A) -> _T:
        token = _look.set(look)
        try:
            checkpoint()
            return function(item)
        finally:
            _look.reset(token)

    return run
