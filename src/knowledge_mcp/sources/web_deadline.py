"""One deadline for all that a fetch does: names, connections, handshakes, robots.txt, redirects, bodies."""

from __future__ import annotations

import time
from collections.abc import Callable

from knowledge_mcp.model.errors import TimedOutError

__all__ = ["Deadline"]

_POLL = 0.1
"""Seconds after which a wait looks whether it was cancelled."""


class Deadline:
    """Tell how much of the time is left; every wait of a fetch asks it.

    Args:
        seconds: for everything together.
        cancelled: asked now and then whether to stop.
        clock: seconds that only grow.
    """

    def __init__(
        self,
        seconds: float,
        cancelled: Callable[[], bool] | None = None,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._seconds = seconds
        self._cancelled = cancelled
        self._clock = clock
        self._end = clock() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, 0 once they are over."""
        return max(0.0, self._end - self._clock())

    def pause(self) -> float:
        """Return for how many seconds to wait at most before checking again."""
        return min(_POLL, self.left)

    def check(self) -> None:
        """Go on only while there is time and nobody cancelled.

        Raises:
            TimedOutError: the time is up, or it was cancelled.
        """
        if self._cancelled is not None and self._cancelled():
            raise TimedOutError("The fetch was cancelled.", suggestion="Start it again when it is wanted.")
        if self.left <= 0:
            raise TimedOutError(
                f"The address did not give its document within {self._seconds:g} seconds.",
                suggestion="Try again later; RAG_FETCH_TIMEOUT sets the time for one fetch.",
            )
