"""A web server that runs until a signal, and shuts down gracefully.

Imports uvicorn: do not import this for stdio.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import functools
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, cast

import uvicorn
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.support.events import log_event

logger = logging.getLogger(__name__)

_AT_ONCE = 16
"""Connections accepted in a row, so that earlier ones are counted before more are accepted."""

_NOTHING_LEFT = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})


class EventTally:
    """Log the number of events by reason, at most once a second.

    Args:
        target: the logger.
        event: the event's name.
        clock: monotonic seconds.
    """

    def __init__(self, target: logging.Logger, event: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._target = target
        self._event = event
        self._clock = clock
        self._counts: Counter[str] = Counter()
        self._logged_at: float | None = None

    def add(self, reason: str) -> None:
        """Count one event; what is not logged now is on the next line."""
        self._counts[reason] += 1
        now = self._clock()
        if self._logged_at is None or now - self._logged_at >= 1.0:
            self._logged_at = now
            counts = {each.replace(" ", "_"): count for each, count in self._counts.items()}
            self._counts.clear()
            log_event(self._target, logging.WARNING, self._event, **counts)


class Listener(socket.socket):
    """A listening socket for a process that may run out of file descriptors: it closes connections that it cannot hold.

    asyncio would try some thousand times, and log a traceback each time. One descriptor is reserved for this: with it a
    connection is accepted and closed, so that its client is informed and the queue does not stay full.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._spare: int | None = None
        self._in_a_row = 0
        self._tally = EventTally(logger, "connections_not_accepted")
        self._keep_spare()

    def accept(self) -> tuple[socket.socket, Any]:
        """Accept a connection.

        Raises:
            BlockingIOError: there is none, none can be held, or the event loop must run first.
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
        """Close the socket; idempotent."""
        super().close()
        self._give_spare()

    def _turn_away(self) -> None:
        self._give_spare()
        try:
            connection, _ = super().accept()
        except OSError:
            time.sleep(0.01)  # another thread took the spare descriptor: the event loop would retry at once
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
    """Open the listening socket; port 0 selects any free one.

    Raises:
        InvalidInputError: the address is in use, not ours, or not permitted.
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
        where = _format_address(host, port)
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
    """Return a listening socket's address in URL form."""
    host, port = listener.getsockname()[:2]
    return _format_address(host, port)


def _format_address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


_MOST, _LEAST = 1024, 8
"""Bounds of the number of connections, whatever the system allows: a few clients always get in."""
_RESERVE = 96
"""Minimum descriptors that stay free for stores, models and calls to other services."""

_UNREAD_BYTES = 256 * 1024 * 1024
"""Maximum bytes of answers that clients have not taken yet: several times the longest document's text."""

_FULL = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nRetry-After: 5\r\n"
    b"Connection: close\r\nContent-Length: 41\r\n\r\nToo many connections are open. Try again."
)


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits for the connections of a server.

    Attributes:
        connections: maximum at a time.
        by_address: maximum from one address that is not a configured proxy.
        header_seconds: from a connection's start, or the first byte of its next request, until all headers have
            arrived.
        unread_seconds: a client that takes nothing of an answer for that long is disconnected.
        unread_bytes: maximum bytes of all answers that clients have not taken yet.
    """

    connections: int
    by_address: int
    header_seconds: float = 10.0
    unread_seconds: float = 60.0
    unread_bytes: int = _UNREAD_BYTES


def usual_limits() -> ConnectionLimits:
    """Choose limits below the process's descriptors; one address gets half of all connections."""
    most = max(_LEAST, min(_MOST, _descriptors() * 3 // 4, _descriptors() - _RESERVE))
    return ConnectionLimits(most, most // 2)


def _descriptors() -> int:
    if sys.platform == "win32":
        return 2 * _MOST
    import resource

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return 2 * _MOST if soft == resource.RLIM_INFINITY else soft


class Connections:
    """Count the connections of one server, and find those to close; only for the thread of its event loop.

    Args:
        limits: limits of this server.
        proxies: addresses and networks used by many clients; they have no limit of their own.
    """

    def __init__(self, limits: ConnectionLimits, proxies: Iterable[str] = ()) -> None:
        self.limits = limits
        self.tally = EventTally(logger, "connections_closed")
        self._proxies = [ipaddress.ip_network(each, strict=False) for each in proxies]
        self._open: dict[HttpConnection, str] = {}
        self._by_address: Counter[str] = Counter()
        self._waiting: dict[HttpConnection, None] = {}
        self._behind: dict[HttpConnection, None] = {}

    def __len__(self) -> int:
        """Return the number of open connections."""
        return len(self._open)

    def admit(self, connection: HttpConnection, host: str) -> bool:
        """Admit a connection, if necessary by closing an idle one; False if there is no room."""
        address, proxied = self._sender(host)
        crowded = not proxied and self._by_address[address] >= self.limits.by_address
        if crowded and not self._give_way(address):
            self.tally.add("too many from one address")
            return False
        if len(self._open) >= self.limits.connections and not self._give_way(None):
            self.tally.add("too many")
            return False
        self._open[connection] = address
        self._by_address[address] += 1
        return True

    def has_request(self, connection: HttpConnection, has: bool) -> None:
        """Record whether a request of this connection is being answered."""
        if has or connection not in self._open:
            self._waiting.pop(connection, None)
        else:
            self._waiting.setdefault(connection)

    def fall_behind(self, connection: HttpConnection) -> None:
        """Record that a client does not take what is sent to it.

        If too much is kept for clients, connections are closed: those of the sender for which most is kept, the one
        that has been behind for longest first.
        """
        if connection in self._open:
            self._behind.setdefault(connection)
        while len(self._behind) > 1:
            kept = Counter[str]()
            for each in self._behind:
                kept[self._open[each]] += each.transport.get_write_buffer_size()
            if kept.total() <= self.limits.unread_bytes:
                return
            address = kept.most_common(1)[0][0]
            self.close(next(each for each in self._behind if self._open[each] == address), "too much unread")

    def catch_up(self, connection: HttpConnection) -> None:
        """Record that a client has taken what was sent to it; idempotent."""
        self._behind.pop(connection, None)

    def close(self, connection: HttpConnection, reason: str) -> None:
        """Close a connection at once, whatever is still to be sent."""
        self.leave(connection)
        self.tally.add(reason)
        connection.transport.abort()

    def leave(self, connection: HttpConnection) -> None:
        """Remove a connection; idempotent."""
        self._waiting.pop(connection, None)
        self._behind.pop(connection, None)
        address = self._open.pop(connection, None)
        if address is not None:
            self._by_address[address] -= 1
            if not self._by_address[address]:
                del self._by_address[address]

    def _give_way(self, address: str | None) -> bool:
        """Close the connection that has been idle for longest, of this address if one is given."""
        for each in self._waiting:
            if address is None or self._open[each] == address:
                self.close(each, "gave way")
                return True
        return False

    def _sender(self, host: str) -> tuple[str, bool]:
        """Return the sender: an IPv4 address, or the network of an IPv6 one; and whether it is a configured proxy."""
        try:
            found = ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            return host, False
        if isinstance(found, ipaddress.IPv6Address):
            found = found.ipv4_mapped or found
        proxied = any(found in network for network in self._proxies)
        return str(ipaddress.ip_network((found, 64), strict=False) if found.version == 6 else found), proxied


class HttpConnection(H11Protocol):
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
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:
        """Start, or refuse the connection if there is no room."""
        super().connection_made(transport)
        if self._counted.admit(self, self.client[0] if self.client else ""):
            self._look()
        else:
            transport.write(_FULL)
            transport.close()

    def data_received(self, data: bytes) -> None:
        """Receive bytes of a request."""
        super().data_received(data)
        self._look()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        super().on_response_complete()
        self._counted.has_request(self, not self._idle)

    def connection_lost(self, exc: Exception | None) -> None:
        """Clean up."""
        super().connection_lost(exc)
        self._counted.leave(self)
        self._unset_deadline()
        self._stop_waiting_for_reader()

    def pause_writing(self) -> None:
        """Wait for the client to take what was sent to it, not for ever."""
        super().pause_writing()
        self._wait_for_reader()
        self._counted.fall_behind(self)

    def resume_writing(self) -> None:
        """Continue: the client has taken most of what was sent to it."""
        super().resume_writing()
        self._stop_waiting_for_reader()
        self._counted.catch_up(self)

    @property
    def _idle(self) -> bool:
        return bool(getattr(self.cycle, "response_complete", True))  # None before the first request

    def _look(self) -> None:
        """Start the deadline if headers are incomplete, cancel it if they are complete."""
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
        self._counted.close(self, "headers too slow")

    def _wait_for_reader(self) -> None:
        kept = self.transport.get_write_buffer_size()
        self._unread = self.loop.call_later(self._counted.limits.unread_seconds, self._look_at_reader, kept)

    def _look_at_reader(self, kept: int) -> None:
        if self.transport.get_write_buffer_size() < kept:
            self._wait_for_reader()
        else:
            self._counted.close(self, "answer not read")

    def _stop_waiting_for_reader(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None


_LOOKS_EVERY = 0.05
"""Seconds between two checks whether all requests are answered: too short to notice."""

_KEEP_ALIVE_SECONDS = 75
"""How long an idle connection stays open: longer than clients and proxies keep theirs, so that none sends into a
closing one.
"""


def serve_until_stopped(
    app: Any,
    listener: socket.socket,
    *,
    grace: float,
    log_level: str,
    proxies: Sequence[str] = (),
    on_stop: Callable[[], None] = lambda: None,
    may_stop: Callable[[], bool] = lambda: False,
    patience: float = 0.0,
) -> None:
    """Serve until SIGTERM or SIGINT, then close the socket.

    After SIGTERM it continues until `may_stop` returns true, or `patience` is over. SIGINT skips that wait, and a
    second one also skips the time for open responses. A second SIGTERM has no effect: signalling a process group sends
    it twice.

    Args:
        app: an ASGI app.
        listener: a listening socket.
        grace: seconds for open responses to end after the stop; then they are cut off.
        log_level: level of the HTTP server's own log.
        proxies: addresses and networks whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.
        on_stop: called once, at the first signal.
        may_stop: returns whether nothing is running that a client waits for.
        patience: maximum seconds to wait for `may_stop`.

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
        # h11: httptools, which uvicorn uses if installed, keeps whitespace around header values
        http=cast("type[HttpConnection]", functools.partial(HttpConnection, Connections(usual_limits(), proxies))),
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        loop="asyncio",
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=max(1, round(grace)),
    )
    server = _StoppingServer(config, on_stop, may_stop, patience)
    try:
        # uvicorn exits the process if the app does not start; that is reported below like every failure
        with _signals_stop(server), contextlib.suppress(SystemExit):
            logger.info("listening on http://%s", address_of(listener))
            server.run(sockets=[listener])
    finally:
        listener.close()
    if not server.is_signalled and not server.started:
        raise InternalError("The server did not start.", suggestion="See the log above for the reason.")


class _StoppingServer(uvicorn.Server):
    """A subclass of uvicorn's server that does not re-raise the signal or end with an error."""

    def __init__(
        self, config: uvicorn.Config, on_stop: Callable[[], None], may_stop: Callable[[], bool], patience: float
    ) -> None:
        super().__init__(config)
        self._on_stop = on_stop
        self._may_stop = may_stop
        self._patience = patience
        self.is_signalled = False

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        del frame
        first, self.is_signalled = not self.is_signalled, True
        if first:
            self._on_stop()
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
    """Let SIGTERM and SIGINT stop the server, also before it has installed its own handlers."""
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
