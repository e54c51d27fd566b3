"""The socket that a web server listens on, opened before anything else so that a port in use is told at once."""

from __future__ import annotations

import errno
import logging
import os
import socket
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.support.events import log_event

__all__ = ["Listener", "Tally", "address_of", "listen"]

logger = logging.getLogger(__name__)

_AT_ONCE = 16
"""Connections accepted in a row, so that those before them are counted before more come."""

_NOTHING_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class Tally:
    """Log how often something happened, by reason, at most once a second.

    Args:
        target: where to log.
        event: its name.
        clock: seconds, monotonic.
    """

    def __init__(self, target: logging.Logger, event: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._target = target
        self._event = event
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._told: float | None = None

    def add(self, reason: str) -> None:
        """Count one; what is not logged now is in the next line."""
        self._counts[reason] += 1
        now = self._clock()
        if self._told is None or now - self._told >= 1.0:
            self._told = now
            counts = {each.replace(" ", "_"): count for each, count in self._counts.items()}
            self._counts.clear()
            log_event(self._target, logging.WARNING, self._event, **counts)


class Listener(socket.socket):
    """A listening socket that copes with a process out of descriptors: it closes what it cannot hold.

    asyncio would try some thousand times, and log a traceback each time. A descriptor is kept spare for this: with it
    a connection is accepted and closed, so that its client knows and the queue does not stay full.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._spare: int | None = None
        self._in_a_row = 0
        self._tally = Tally(logger, "connections_not_accepted")
        self._keep_spare()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        Raises:
            BlockingIOError: there is none, none can be held, or it is the event loop's turn.
        """
        if self._in_a_row >= _AT_ONCE and self.gettimeout() == 0:
            self._in_a_row = 0
            raise BlockingIOError
        try:
            found = super().accept()
        except OSError as exc:
            self._in_a_row = 0
            if exc.errno not in _NOTHING_LEFT:
                raise
            self._tally.add(exc.strerror or "no resources")
            self._turn_away()
            raise BlockingIOError from exc
        self._in_a_row += 1
        return found

    def close(self) -> None:
        """Close it; idempotent."""
        super().close()
        self._give_spare()

    def _turn_away(self) -> None:
        self._give_spare()
        try:
            connection, _ = super().accept()
        except OSError:
            time.sleep(0.01)  # another thread took the spare one: the event loop would try at once
        else:
            connection.close()
        self._keep_spare()

    def _keep_spare(self) -> None:
        try:
            self._spare = os.open(os.devnull, os.O_RDONLY)
        except OSError:
            self._spare = None

    def _give_spare(self) -> None:
        spare, self._spare = self._spare, None
        if spare is not None:
            os.close(spare)


def listen(host: str, port: int) -> socket.socket:
    """Open the listening socket; port 0 takes any free one.

    Raises:
        InvalidInputError: the address cannot be had: in use, not ours, not allowed.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listener = Listener(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            listener.listen(128)
        except OSError:
            listener.close()
            raise
    except OSError as exc:
        where = _written(host, port)
        if exc.errno == errno.EADDRINUSE:
            raise InvalidInputError(
                f"{where} is already in use.",
                suggestion="Stop the program that listens there, or choose another port with --port.",
            ) from exc
        raise InvalidInputError(
            f"Cannot listen on {where}: {exc.strerror or exc}.",
            suggestion="Choose another address with --host, or another port with --port.",
        ) from exc
    return listener


def address_of(listener: socket.socket) -> str:
    """Write a listening socket's address as it stands in a URL."""
    host, port = listener.getsockname()[:2]
    return _written(host, port)


def _written(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
