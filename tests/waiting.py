"""Wait for what another thread or process does, with an end: a test that waits without one hangs the whole run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Look again and again until something holds; fail the test where it never does."""
    pause, end = threading.Event(), time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"it did not come true within {seconds:g} s"
        pause.wait(0.02)
