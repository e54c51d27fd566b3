"""Serve the REST service until it is told to stop, and stop so that no client sees more than it must.

On SIGTERM readiness turns to 503 first, so that a balancer sends nothing new; after a moment nothing new is accepted,
and what runs gets its time to end. SIGINT goes without the moment, and a second one without the time. A second SIGTERM
changes nothing: those who signal a whole group of processes send it twice.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

from knowledge_mcp.transports.listening import address_of
from knowledge_mcp.transports.rest.app import RestService
from knowledge_mcp.transports.stopping import serve_until_told

__all__ = ["GRACE_SECONDS", "serve_rest"]

GRACE_SECONDS = 25.0
"""How long running requests may go on after a signal to stop; what ends the process by force waits 30, usually."""


def serve_rest(
    service: RestService,
    listener: socket.socket,
    *,
    grace: float = GRACE_SECONDS,
    drain: float = 0.0,
    log_level: str = "INFO",
    proxies: Sequence[str] = (),
    started: Callable[[str], None] | None = None,
) -> None:
    """Serve until SIGTERM or SIGINT, then return.

    Args:
        service: what to serve.
        listener: a listening socket; it is closed at the end.
        grace: seconds that running requests get to end; then they are cancelled.
        drain: seconds between readiness turning to 503 and the last connection being accepted.
        log_level: of the HTTP server's own log.
        proxies: addresses and networks whose `X-Forwarded-For` is believed.
        started: called with the address, from which on connections wait to be accepted.

    Raises:
        InternalError: the service could not start.
    """

    def told() -> None:
        service.stopping = True

    if started is not None:
        started(address_of(listener))
    serve_until_told(
        service,
        listener,
        grace=grace,
        log_level=log_level,
        proxies=proxies,
        told=told,
        patience=drain,
    )
