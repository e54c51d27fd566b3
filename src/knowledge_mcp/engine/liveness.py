"""Whether somebody on another machine is still at work: his sign of life changes, by the clock of whoever looks.

Times that two machines write down are never compared: a clock may be wrong, or be set an hour back or ahead.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

__all__ = ["SignsOfLife"]


class SignsOfLife:
    """Watch signs of life; thread-safe.

    One that is seen for the first time counts as fresh: that it is old shows by its staying as it is.

    Args:
        silence: seconds without a change after which somebody counts as gone.
        clock: seconds that only ever grow.
    """

    def __init__(self, silence: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._silence = silence
        self._clock = clock
        self._lock = threading.Lock()
        self._seen: dict[str, tuple[str, float]] = {}

    def is_alive(self, name: str, sign: str) -> bool:
        """Note somebody's present sign of life, and tell whether it has changed lately."""
        now = self._clock()
        with self._lock:
            last, since = self._seen.get(name, (None, now))
            if last != sign:
                self._seen[name] = sign, now
                return True
            return now - since < self._silence

    def forget(self, name: str) -> None:
        """Watch somebody no longer."""
        with self._lock:
            self._seen.pop(name, None)
