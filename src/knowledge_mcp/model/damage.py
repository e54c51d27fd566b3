"""How damage found in a store reaches the answer: left out where an answer can say so, raised everywhere else."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from contextvars import ContextVar
from typing import TypeVar

from knowledge_mcp.model.errors import DamagedError

__all__ = ["leave_out", "noticing", "sound"]

T = TypeVar("T")
S = TypeVar("S")

_noticed: ContextVar[list[DamagedError] | None] = ContextVar("noticed", default=None)


@contextlib.contextmanager
def noticing() -> Generator[list[DamagedError]]:
    """Gather what this thread's reads leave out as damaged until the context ends; the caller must name it."""
    found: list[DamagedError] = []
    token = _noticed.set(found)
    try:
        yield found
    finally:
        _noticed.reset(token)


def leave_out(damage: DamagedError) -> None:
    """Leave something damaged out.

    Raises:
        DamagedError: nobody is noticing, so that it would go missing without a word.
    """
    found = _noticed.get()
    if found is None:
        raise damage
    if all(each.message != damage.message for each in found):
        found.append(damage)


def sound(items: Iterable[S], read: Callable[[S], T]) -> list[T]:
    """Read items, leaving out those that are damaged."""
    values: list[T] = []
    for each in items:
        try:
            values.append(read(each))
        except DamagedError as exc:
            leave_out(exc)
    return values
