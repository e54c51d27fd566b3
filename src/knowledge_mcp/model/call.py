"""A call that may take long: how it tells its caller how far it is, and how it learns that the caller gave up."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass

from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.support import checkpoints

Progress = Callable[[float, float | None, str], None]
"""Tell how far work is: done, of how much (None where that is not known), and in words."""


def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Take progress that nobody asked for."""
    del done, total, message


@dataclass(frozen=True, slots=True)
class Call:
    """Connect long work to whoever asked for it.

    Attributes:
        progress: tell how far it is; thread-safe, never raises.
        cancelled: whether the caller has given up; thread-safe.
    """

    progress: Progress = ignore_progress
    cancelled: Callable[[], bool] = bool

    @contextlib.contextmanager
    def watched(self, message: str) -> Generator[None]:
        """Let every checkpoint below here end the work once the caller has given up.

        Raises:
            CancelledError: with this message; at once where the caller gave up before.
        """

        def look() -> None:
            if self.cancelled():
                raise CancelledError(message)

        with checkpoints.watch_for_stop(look):
            look()
            yield
