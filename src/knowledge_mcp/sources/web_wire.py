"""An encrypted connection to one machine that was checked, under one deadline and with a limit of bytes.

TLS runs over memory and the bytes come from a plain socket of ours: so every single wait is ours to end, what a server
sends is counted before anything interprets it, and no library opens a connection to a place of its own choice.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self, TypeVar

from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError
from knowledge_mcp.sources.web_address import IpAddress, WebAddress
from knowledge_mcp.sources.web_deadline import Deadline

__all__ = ["Wire", "open_wire"]

_PIECE = 64 * 1024
_MOST_TRIED = 4
_UNDER_WAY = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY})
_CHECK = "Check that the site is up; proxies are not used, so this machine itself must reach it."

T = TypeVar("T")


class Wire:
    """Send and receive on one connection; use it in a `with`.

    Args:
        line: a connected socket; it is closed with the wire.
        tls: TLS over `received` and `to_send`.
        received, to_send: what lies between TLS and the socket.
        address: whom it talks to, for errors.
        deadline: of the whole fetch.
        most: bytes that may be received, encrypted.
    """

    def __init__(
        self,
        line: socket.socket,
        tls: ssl.SSLObject,
        received: ssl.MemoryBIO,
        to_send: ssl.MemoryBIO,
        *,
        address: WebAddress,
        deadline: Deadline,
        most: int,
    ) -> None:
        self._line = line
        self._tls = tls
        self._received = received
        self._to_send = to_send
        self._address = address
        self._deadline = deadline
        self._room = most

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._line.close()

    def handshake(self) -> None:
        """Agree on keys with the server, and check that its certificate is the host's.

        Raises:
            ConnectionFailedError: the certificate, or anything else of TLS, is not right.
        """
        self._run(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        """Send all of it."""
        view = memoryview(data)
        while view:
            view = view[self._run(lambda rest=view: self._tls.write(rest)) :]

    def receive(self) -> bytes:
        """Receive what comes next; empty when the server has properly ended."""
        self._deadline.check()
        return self._run(self._read)

    def _read(self) -> bytes:
        try:
            return self._tls.read(_PIECE)
        except ssl.SSLZeroReturnError:
            return b""

    def _run(self, step: Callable[[], T]) -> T:
        try:
            while True:
                try:
                    result = step()
                except ssl.SSLWantReadError:
                    self._flush()
                    self._fill()
                else:
                    self._flush()
                    return result
        except ssl.SSLError as error:
            raise _tls_error(self._address, error) from error
        except OSError as error:
            raise ConnectionFailedError(
                f"The connection to {self._address.host} broke.", details=str(error), suggestion=_CHECK
            ) from error

    def _flush(self) -> None:
        waiting = self._to_send.read()
        while waiting:
            self._deadline.check()
            self._line.settimeout(self._deadline.pause() or 0.001)
            try:
                waiting = waiting[self._line.send(waiting) :]
            except TimeoutError:
                continue

    def _fill(self) -> None:
        """Take what the socket has, at most one piece; the end of it is an end that TLS judges."""
        while True:
            self._deadline.check()
            self._line.settimeout(self._deadline.pause() or 0.001)
            try:
                data = self._line.recv(_PIECE)
            except TimeoutError:
                continue
            break
        self._room -= len(data)
        if self._room < 0:
            raise InvalidInputError(
                f"{self._address.shown} sends more than is accepted.",
                suggestion="RAG_FETCH_MAX_BYTES sets how much one address may give.",
            )
        if data:
            self._received.write(data)
        else:
            self._received.write_eof()


def open_wire(
    address: WebAddress, places: Sequence[IpAddress], context: ssl.SSLContext, deadline: Deadline, *, most: int
) -> Wire:
    """Connect to the first of some checked addresses that answers, and do the handshake for the host's name.

    Raises:
        ConnectionFailedError: none answers, or TLS fails; a wrong certificate is not tried around.
        TimedOutError: the deadline.
    """
    tried = places[:_MOST_TRIED]
    failed: OSError | None = None
    for position, place in enumerate(tried):
        try:
            line = _connected(place, address.port, deadline, share=len(tried) - position)
        except OSError as error:
            failed = error
            continue
        try:
            received, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(received, to_send, server_hostname=address.host)
            wire = Wire(line, tls, received, to_send, address=address, deadline=deadline, most=most)
            wire.handshake()
        except BaseException:
            line.close()
            raise
        return wire
    raise ConnectionFailedError(
        f"{address.place} cannot be connected to.", details=str(failed), suggestion=_CHECK
    ) from failed


def _connected(place: IpAddress, port: int, deadline: Deadline, *, share: int) -> socket.socket:
    """Connect to an address; only its share of the time is given to one of several.

    Raises:
        OSError: it does not answer.
    """
    line = socket.socket(socket.AF_INET if place.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        line.setblocking(False)
        code = line.connect_ex((str(place), port))
        if code in _UNDER_WAY:
            keep = deadline.left * (share - 1) / share  # what the others are left
            with selectors.DefaultSelector() as selector:
                selector.register(line, selectors.EVENT_WRITE)
                while not selector.select(deadline.pause()):
                    deadline.check()
                    if deadline.left < keep:
                        raise TimeoutError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            code = line.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            raise OSError(code, os.strerror(code))
    except BaseException:
        line.close()
        raise
    return line


def _tls_error(address: WebAddress, error: ssl.SSLError) -> ConnectionFailedError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return ConnectionFailedError(
            f"The certificate of {address.host} is not accepted: {error.verify_message or error.reason}.",
            details=str(error),
            suggestion="Ask whoever runs the site to renew it; a company's own authority goes into SSL_CERT_FILE.",
            recoverable=False,
        )
    if isinstance(error, ssl.SSLEOFError):
        return ConnectionFailedError(
            f"{address.host} cut the connection off before its answer was whole.", details=str(error), suggestion=_CHECK
        )
    return ConnectionFailedError(
        f"{address.host} does not speak TLS as it should: {(error.reason or 'failure').replace('_', ' ').lower()}.",
        details=str(error),
        suggestion=_CHECK,
    )
