"""A web server that runs until it is told to stop, and stops so that no caller sees more than it must.

Imports uvicorn: whoever serves over stdio never loads this.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from types import FrameType
from typing import Any, cast

import uvicorn

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.transports.connections import Connection, Connections, usual_limits
from knowledge_mcp.transports.listening import address_of

__all__ = ["serve_until_told"]

logger = logging.getLogger(__name__)

_LOOKS_EVERY = 0.05

_KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than clients and proxies keep theirs, so that none sends into a
closing one."""


def serve_until_told(
    app: Any,
    listener: socket.socket,
    *,
    grace: float,
    log_level: str,
    proxies: Sequence[str] = (),
    told: Callable[[], None] = lambda: None,
    may_stop: Callable[[], bool] = lambda: False,
    patience: float = 0.0,
) -> None:
    """Serve until SIGTERM or SIGINT stops it; the socket is closed then.

    SIGTERM goes on serving for a moment: until `may_stop` says so, or `patience` is over. SIGINT goes without the
    moment, and a second one without the time that open answers get. A second SIGTERM changes nothing: those who signal
    a whole group of processes send it twice.

    Args:
        app: an ASGI app.
        listener: a listening socket.
        grace: seconds that open answers get to end once it stops; then they are cut.
        log_level: of the HTTP server's own log.
        proxies: addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are believed; nobody else's.
        told: called once, at the first signal.
        may_stop: whether nothing is under way that somebody waits for.
        patience: seconds.

    Raises:
        InternalError: the app could not start.
    """
    config = uvicorn.Config(
        app,
        log_config=None,
        log_level=log_level.lower(),
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        # h11: httptools, which uvicorn takes where it finds it, leaves blanks around header values
        http=cast("type[Connection]", functools.partial(Connection, Connections(usual_limits(), proxies))),
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        loop="asyncio",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = _StoppingServer(config, told, may_stop, patience)
    try:
        # uvicorn leaves the process where the app does not start; that is told below as every failure is
        with _signals_stop(server), contextlib.suppress(SystemExit):
            logger.info("listening on http://%s", address_of(listener))
            server.run(sockets=[listener])
    finally:
        listener.close()
    if not server.was_told and not server.started:
        raise InternalError("The server did not start.", suggestion="The reason stands in the log above.")


class _StoppingServer(uvicorn.Server):
    """uvicorn's server, told to stop by us: it would forward the signal at its end, and end with an error."""

    def __init__(
        self, config: uvicorn.Config, told: Callable[[], None], may_stop: Callable[[], bool], patience: float
    ) -> None:
        super().__init__(config)
        self._tell = told
        self._may_stop = may_stop
        self._patience = patience
        self.was_told = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal."""
        del frame
        first, self.was_told = not self.was_told, True
        if first:
            self._tell()
        if sig != signal.SIGTERM:
            self.force_exit = self.should_exit
            self.should_exit = True
        elif first and self._patience > 0:
            threading.Thread(target=self._stop_in_time, name="stopping", daemon=True).start()
        elif first:
            self.should_exit = True

    def _stop_in_time(self) -> None:
        deadline = time.monotonic() + self._patience
        looking = threading.Event()
        while not self._may_stop() and (left := deadline - time.monotonic()) > 0:
            looking.wait(min(_LOOKS_EVERY, left))
        self.should_exit = True


@contextlib.contextmanager
def _signals_stop(server: _StoppingServer) -> Generator[None]:
    """Let SIGTERM and SIGINT stop the server, also before it has taken them over."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = (signal.SIGTERM, signal.SIGINT)
    before = [signal.signal(number, server.handle_exit) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
