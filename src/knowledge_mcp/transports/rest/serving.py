"""Serve the REST service until it is told to stop, and stop so that no client sees more than it must.

On SIGTERM readiness turns to 503 first, so that a balancer sends nothing new; after a moment nothing new is accepted,
and what runs gets its time to end. SIGINT goes without the moment, and a second one without the time. A second SIGTERM
changes nothing: those who signal a whole group of processes send it twice.
"""

from __future__ import annotations

import contextlib
import logging
import signal
import socket
import threading
from collections.abc import Callable, Generator
from types import FrameType

import uvicorn

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.transports.rest.app import RestService

__all__ = ["GRACE_SECONDS", "serve_rest"]

logger = logging.getLogger(__name__)

GRACE_SECONDS = 25.0
"""How long running requests may go on after a signal to stop; what ends the process by force waits 30, usually."""

KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than proxies keep theirs, so that none sends into a closing one."""


class _Server(uvicorn.Server):
    """uvicorn's server, told to stop by us: it would forward the signal at its end, and end with an error."""

    def __init__(self, config: uvicorn.Config, service: RestService, drain: float) -> None:
        super().__init__(config)
        self._service = service
        self._drain = drain
        self._told = 0

    @property
    def was_told(self) -> bool:
        """Tell whether a signal came."""
        return self._told > 0

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal: stop being ready, then stop."""
        del frame
        self._service.stopping = True
        self._told += 1
        if sig != signal.SIGTERM:
            self.force_exit = self.should_exit
            self._stop()
        elif self._told == 1 and self._drain > 0:
            waiting = threading.Timer(self._drain, self._stop)
            waiting.daemon = True
            waiting.start()
        elif self._told == 1:
            self._stop()

    def _stop(self) -> None:
        self.should_exit = True


def serve_rest(
    service: RestService,
    listener: socket.socket,
    *,
    grace: float = GRACE_SECONDS,
    drain: float = 0.0,
    log_level: str = "INFO",
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then return.

    Args:
        service: what to serve.
        listener: a listening socket; it is closed at the end.
        grace: seconds that running requests get to end; then they are cancelled.
        drain: seconds between readiness turning to 503 and the last connection being accepted.
        log_level: of the HTTP server's own log.
        started: called with the address, from which on connections wait to be accepted.

    Raises:
        InternalError: the service could not start.
    """
    config = uvicorn.Config(
        service,
        log_config=None,
        log_level=log_level.lower(),
        access_log=False,
        server_header=False,
        lifespan="on",
        ws="none",
        http="h11",  # httptools, which uvicorn takes where it finds it, leaves blanks around header values
        loop="asyncio",
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = _Server(config, service, drain)
    try:
        with _signals_stop(server):
            host, port = listener.getsockname()[:2]
            shown = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
            logger.info("listening on http://%s", shown)
            if started is not None:
                started(shown)
            server.run(sockets=[listener])
    finally:
        listener.close()
    if not server.was_told and not server.started:
        raise InternalError("The server did not start.", suggestion="The reason stands in the log above.")


@contextlib.contextmanager
def _signals_stop(server: _Server) -> Generator[None]:
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
