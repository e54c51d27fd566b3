"""A call that may take long: how it reports progress, and how it learns that the caller has cancelled."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from dataclasses import dataclass

from knowledge_mcp.model.errors import CancelledError
from knowledge_mcp.support import checkpoints

Progress = Callable[[float, float | None, str], None]
"""Report progress: work done, total work (None if unknown), and a message."""


def ignore_progress(done: float, total: float | None, message: str) -> None:
    """Ignore progress."""
    del done, total, message


@dataclass(frozen=True, slots=True)
class Call:
    """Connect long work to its caller.

    Attributes:
        progress: reports progress; thread-safe, never raises.
        cancelled: returns whether the caller has cancelled; thread-safe.
    """

    progress: Progress = ignore_progress
    cancelled: Callable[[], bool] = bool

    @contextlib.contextmanager
    def watched(self, message: str) -> Generator[None]:
        """Make every checkpoint in this context stop the work once the caller has cancelled.

        Raises:
            CancelledError: with this message; immediately if the caller cancelled before.
        """

        def look() -> None:
            if self.cancelled():
                raise CancelledError(message)

        with checkpoints.watch_for_stop(look):
            look()
            yield
