"""Wait until a pipe can be read: by `poll`, on Windows by looking, since nothing waits for a pipe there."""

from __future__ import annotations

import sys
import time

_GLANCE = 0.005
"""Seconds between two looks; reading a page takes longer."""


class PipeEnd:
    """Watch the end of a pipe that is read.

    Args:
        descriptor: of an open pipe.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        if sys.platform != "win32":
            import select

            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLIN)

    def is_readable(self, seconds: float) -> bool:
        """Wait until there is something to read or the other end is closed; tells whether that came in time."""
        if sys.platform != "win32":
            return bool(self._poll.poll(seconds * 1000))
        from knowledge_mcp.support.system import windows

        deadline = time.monotonic() + seconds
        while not windows.has_input(self._descriptor):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(left, _GLANCE))
        return True
