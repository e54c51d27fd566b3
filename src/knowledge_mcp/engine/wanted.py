"""Whether somebody still waits for an answer: looked at wherever a question reads on, so that it ends soon."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from knowledge_mcp.engine.jobs import CancelledError
from knowledge_mcp.model.errors import TimedOutError

__all__ = ["inherited", "still_wanted", "wanted_until", "while_wanted"]

A = TypeVar("A")
T = TypeVar("T")

_LOOK: contextvars.ContextVar[Callable[[], None] | None] = contextvars.ContextVar("still_wanted", default=None)


def wanted_until(left: Callable[[], bool], seconds: float, function: Callable[[], T]) -> T:
    """Run a function whose answer is wanted until the caller has left, and for so many seconds at the most."""
    deadline = time.monotonic() + seconds

    def look() -> None:
        if left():
            raise CancelledError("The caller has left.")
        if time.monotonic() > deadline:
            raise TimedOutError(f"The answer took longer than {seconds:.0f} seconds.")

    token = _LOOK.set(look)
    try:
        return function()
    finally:
        _LOOK.reset(token)


def still_wanted() -> None:
    """Go on, where the answer is wanted or nobody said until when.

    Raises:
        CancelledError: the caller has left.
        TimedOutError: the time is over.
    """
    look = _LOOK.get()
    if look is not None:
        look()


def while_wanted(items: Iterable[T]) -> Iterator[T]:
    """Yield items as long as the answer is wanted; errors as `still_wanted`."""
    for each in items:
        still_wanted()
        yield each


def inherited(function: Callable[[A], T]) -> Callable[[A], T]:
    """Make a function end early on other threads too, as soon as the answer for which it was made is not wanted."""
    look = _LOOK.get()

    def run(item: A) -> T:
        token = _LOOK.set(look)
        try:
            still_wanted()
            return function(item)
        finally:
            _LOOK.reset(token)

    return run
