"""How many connections a web server holds, and for how long a client may keep one without a request.

A connection without a request (idle, or its headers still on their way) gives way to a new one; one that is being
answered never does. Imports uvicorn: whoever serves over stdio never loads this.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from knowledge_mcp.transports.listening import Tally

__all__ = ["Connection", "Connections", "Limits", "usual_limits"]

logger = logging.getLogger(__name__)

_MOST = 1024
_LEAST = 8
_RESERVE = 96
"""Descriptors, at least, that stay free for stores, models and calls to other services."""

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n"
    b"Connection: close\r\nContent-Length: 41\r\n\r\nToo many connections are open. Try again."
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound the connections of a server.

    Attributes:
        connections: most at a time.
        by_address: most at a time from one address that is no named proxy.
        header_seconds: from a connection's start, or the first byte of its next request, until all headers are there.
    """

    connections: int
    by_address: int
    header_seconds: float = 10.0


def usual_limits() -> Limits:
    """Choose limits that stay below the process's descriptors; one address gets half of all connections."""
    most = max(_LEAST, min(_MOST, _descriptors() * 3 // 4, _descriptors() - _RESERVE))
    return Limits(most, most // 2)


def _descriptors() -> int:
    if sys.platform == "win32":
        return 2 * _MOST
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * _MOST if soft == resource.RLIM_INFINITY else soft


class Connections:
    """Count the connections of one server, and find those that give way; for the thread of its event loop only.

    Args:
        limits: of this server.
        proxies: addresses and networks through which many clients come; they have no limit of their own.
    """

    def __init__(self, limits: Limits, proxies: Iterable[str] = ()) -> None:
        self.limits = limits
        self.tally = Tally(logger, "connections_closed")
        self._proxies = [ipaddress.ip_network(each, strict=False) for each in proxies]
        self._held: dict[Connection, str] = {}
        self._by_address: Counter[str] = Counter()
        self._waiting: dict[Connection, None] = {}

    def __len__(self) -> int:
        """Count those that are open."""
        return len(self._held)

    def admit(self, connection: Connection, host: str) -> bool:
        """Take a connection in, where need be in the place of one without a request; False where there is no place."""
        address, proxied = self._sender(host)
        crowded = not proxied and self._by_address[address] >= self.limits.by_address
        if crowded and not self._give_way(address):
            self.tally.add("too many from one address")
            return False
        if len(self._held) >= self.limits.connections and not self._give_way(None):
            self.tally.add("too many")
            return False
        self._held[connection] = address
        self._by_address[address] += 1
        return True

    def has_request(self, connection: Connection, has: bool) -> None:
        """Note whether a request of this connection is being answered."""
        if has or connection not in self._held:
            self._waiting.pop(connection, None)
        else:
            self._waiting.setdefault(connection)

    def leave(self, connection: Connection) -> None:
        """Forget a connection; idempotent."""
        self._waiting.pop(connection, None)
        address = self._held.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def _give_way(self, address: str | None) -> bool:
        """Close the connection that has been without a request for longest, of this address where one is given."""
        for each in self._waiting:
            if address is None or self._held[each] == address:
                self.leave(each)
                self.tally.add("gave way")
                each.transport.abort()
                return True
        return False

    def _sender(self, host: str) -> tuple[str, bool]:
        """Name who sends: an IPv4 address, or the network of an IPv6 one; tell whether it is a named proxy."""
        try:
            found = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host, False
        if isinstance(found, ipaddress.IPv6Address):
            found = found.ipv4_mapped or found
        proxied = any(found in network for network in self._proxies)
        return str(ipaddress.ip_network((found, 64), strict=False) if found.version == 6 else found), proxied


class Connection(H11Protocol):
    """Speak HTTP on one connection, within the server's limits."""

    def __init__(
        self,
        connections: Connections,
        *,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._counted = connections
        self._deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Begin, or refuse where there is no place."""
        super().connection_made(transport)
        if self._counted.admit(self, self.client[0] if self.client else ""):
            self._look()
        else:
            transport.write(_FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Take bytes of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._counted.has_request(self, not self._idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """End."""
        super().connection_lost(exc)
        self._counted.leave(self)
        self._unset_deadline()

    @property
    def _idle(self) -> bool:
        return bool(getattr(self.cycle, "response_complete", True))  # None before the first request

    def _look(self) -> None:
        """Start the deadline where headers are not whole yet, end it where they are."""
        idle = self._idle
        self._counted.has_request(self, not idle)
        if not idle:
            self._unset_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self._counted.limits.header_seconds, self._too_slow)

    def _unset_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _too_slow(self) -> None:
        self._counted.tally.add("headers too slow")
        self.transport.abort()
