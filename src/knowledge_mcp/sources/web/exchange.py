"""One HTTP/1.1 request and response: the head first, the body only on demand, decompressed within limits.

`h11` parses the protocol and has no socket of its own; the bytes come from a `Wire`. A response is compressed by gzip
or deflate or not at all: other encodings are never requested, and refused if they occur.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import ssl
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self, TypeVar

from knowledge_mcp.model.errors import ConnectionFailedError, InvalidInputError
from knowledge_mcp.sources.web.address import Deadline, IpAddress, WebAddress

_READ_SIZE = 64 * 1024
_MOST_TRIED = 4
_UNDER_WAY = frozenset({errno.EINPROGRESS, errno.EWOULDBLOCK, errno.EALREADY})
_CHECK = "Check that the site is up; proxies are not used, so this machine itself must reach it."

T = TypeVar("T")


class Wire:
    """Send and receive on one connection; use it in a `with` block.

    Args:
        line: a connected socket; closed together with the wire.
        tls: TLS over `received` and `to_send`.
        received, to_send: buffers between TLS and the socket.
        address: of the server, for errors.
        deadline: of the whole fetch.
        most: maximum bytes received, encrypted.
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
        """Do the TLS handshake, and check that the certificate belongs to the host.

        Raises:
            ConnectionFailedError: the certificate or the handshake is invalid.
        """
        self._run(self._tls.do_handshake)

    def send(self, data: bytes) -> None:
        """Send all bytes."""
        view = memoryview(data)
        while view:
            view = view[self._run(lambda rest=view: self._tls.write(rest)) :]

    def receive(self) -> bytes:
        """Receive the next bytes; empty if the server has closed the connection properly."""
        self._deadline.check()
        return self._run(self._read)

    def _read(self) -> bytes:
        try:
            return self._tls.read(_READ_SIZE)
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
                f"The connection to {self._address.host} was interrupted.", details=str(error), suggestion=_CHECK
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
        """Read from the socket, at most one piece; TLS decides whether the end of the stream is valid."""
        while True:
            self._deadline.check()
            self._line.settimeout(self._deadline.pause() or 0.001)
            try:
                data = self._line.recv(_READ_SIZE)
            except TimeoutError:
                continue
            break
        self._room -= len(data)
        if self._room < 0:
            raise InvalidInputError(
                f"{self._address.display_url} sends more data than is allowed.",
                suggestion="RAG_FETCH_MAX_BYTES sets the maximum size.",
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
        ConnectionFailedError: none answers, or TLS fails; after a wrong certificate no other address is tried.
        TimedOutError: the deadline has passed.
    """
    tried = places[:_MOST_TRIED]
    failed: OSError | None = None
    for position, place in enumerate(tried):
        try:
            line = _connect(place, address.port, deadline, share=len(tried) - position)
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
        f"{address.place} cannot be reached.", details=str(failed), suggestion=_CHECK
    ) from failed


def _connect(place: IpAddress, port: int, deadline: Deadline, *, share: int) -> socket.socket:
    """Connect to an address; if there are several, each gets only its share of the time.

    Raises:
        OSError: it does not answer.
    """
    line = socket.socket(socket.AF_INET if place.version == 4 else socket.AF_INET6, socket.SOCK_STREAM)
    try:
        line.setblocking(False)
        code = line.connect_ex((str(place), port))
        if code in _UNDER_WAY:
            keep = deadline.left * (share - 1) / share  # for the remaining addresses
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
            f"The certificate of {address.host} is not valid: {error.verify_message or error.reason}.",
            details=str(error),
            suggestion="Ask the site's operator to renew it; for a company's own authority set SSL_CERT_FILE.",
            recoverable=False,
        )
    if isinstance(error, ssl.SSLEOFError):
        return ConnectionFailedError(
            f"{address.host} closed the connection before its answer was complete.",
            details=str(error),
            suggestion=_CHECK,
        )
    return ConnectionFailedError(
        f"{address.host} does not use TLS correctly: {(error.reason or 'failure').replace('_', ' ').lower()}.",
        details=str(error),
        suggestion=_CHECK,
    )


_MOST_HEAD = 64 * 1024
_PIECE = 256 * 1024
_ACCEPTED = "text/html, application/xhtml+xml, application/pdf, text/markdown, text/plain, application/json, */*;q=0.5"


@dataclass(frozen=True, slots=True)
class WebRequest:
    """A request without its address.

    Attributes:
        method: HTTP method.
        headers: in addition to those of every request.
        body: sent with the request.
    """

    method: str = "GET"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @property
    def is_conditional(self) -> bool:
        """Return whether it should only be answered if something changed."""
        return any(name in {"If-None-Match", "If-Modified-Since"} for name, _ in self.headers)


_GET = WebRequest()


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response; header names are in lower case."""

    status: int
    headers: tuple[tuple[str, str], ...]

    def first(self, name: str) -> str:
        """Return a header's first value, empty if it is missing."""
        return next((value for key, value in self.headers if key == name), "")


class Exchange:
    """Send a request and read the response.

    Args:
        wire: a connection after its handshake, for this exchange alone.
        address: the requested address.
        agent: the `User-Agent`.
        question: the rest of the request.

    Raises:
        ConnectionFailedError: the server does not speak HTTP.
        KnowledgeError: as for the wire.
    """

    def __init__(self, wire: Wire, address: WebAddress, agent: str, question: WebRequest = _GET) -> None:
        import h11

        self._wire = wire
        self._address = address
        self._talk = h11.Connection(h11.CLIENT, max_incomplete_event_size=_MOST_HEAD)
        headers = [
            ("Host", address.place),
            ("User-Agent", agent),
            ("Accept", _ACCEPTED),
            ("Accept-Encoding", "gzip, deflate"),
            ("Connection", "close"),
            *question.headers,
            *([("Content-Length", str(len(question.body)))] if question.body else []),
        ]
        request = h11.Request(method=question.method, target=address.target, headers=headers)
        body = [h11.Data(question.body)] if question.body else []
        wire.send(b"".join(self._talk.send(event) or b"" for event in (request, *body, h11.EndOfMessage())))
        self.head = self._read_head()

    def body(self, most: int, *, cut: bool = False) -> bytes:
        """Read the decompressed body.

        Args:
            most: maximum bytes, transferred and decompressed.
            cut: whether to return the beginning of a larger body.

        Raises:
            InvalidInputError: it is larger, or has an encoding that was not requested.
            ConnectionFailedError: it ends too early.
        """
        length = self.head.first("content-length")
        if not cut and length.isdigit() and int(length[:20]) > most:
            raise self._too_large(most)
        packing = ", ".join(value for key, value in self.head.headers if key == "content-encoding").strip().lower()
        unpack = _Unpacking(packing, self._address)
        received = bytearray()
        on_the_way = 0
        for piece in self._pieces():
            on_the_way += len(piece)
            for part in unpack.parts(piece):
                received += part
                if len(received) > most:
                    break
            if max(on_the_way, len(received)) > most:
                if cut:
                    return bytes(received[:most])
                raise self._too_large(most)
        unpack.end()
        return bytes(received)

    def _read_head(self) -> ResponseHead:
        import h11

        while True:
            event = self._next()
            if isinstance(event, h11.Response):
                headers = tuple((name.decode("ascii", "replace"), _text(value)) for name, value in event.headers)
                return ResponseHead(event.status_code, headers)
            if not isinstance(event, h11.InformationalResponse):
                raise ConnectionFailedError(f"{self._address.host} closed the connection without an answer.")

    def _pieces(self) -> Iterator[bytes]:
        import h11

        while True:
            event = self._next()
            if isinstance(event, h11.Data):
                yield bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                return
            else:
                raise ConnectionFailedError(f"{self._address.host} closed the connection in the middle of its answer.")

    def _next(self) -> object:
        import h11

        try:
            while True:
                event = self._talk.next_event()
                if event is not h11.NEED_DATA:
                    return event
                self._talk.receive_data(self._wire.receive())
        except h11.RemoteProtocolError as error:
            raise ConnectionFailedError(
                f"The answer of {self._address.host} is not valid HTTP, or was cut off.", details=str(error)
            ) from error

    def _too_large(self, most: int) -> InvalidInputError:
        return InvalidInputError(
            f"{self._address.display_url} returns more than {most} bytes.",
            suggestion="RAG_FETCH_MAX_BYTES sets the maximum size.",
        )


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value.decode("latin-1")


class _Unpacking:
    """Decompress in pieces of at most `_PIECE`, so that the caller can count and stop."""

    def __init__(self, packing: str, address: WebAddress) -> None:
        self._address = address
        self._kind = {"": "", "identity": "", "x-gzip": "gzip"}.get(packing, packing)
        if self._kind not in {"", "gzip", "deflate"}:
            raise InvalidInputError(
                f"{address.display_url} uses a compression that was not requested ({packing[:40]!r}).",
                suggestion="Add the document as a file.",
            )
        self._unpack = None

    def parts(self, piece: bytes) -> Iterator[bytes]:
        if not self._kind:
            yield piece
            return
        while piece:
            if self._unpack is None:
                self._unpack = zlib.decompressobj(self._window(piece))
            elif self._unpack.eof:
                if self._kind != "gzip" or not piece.startswith(b"\x1f\x8b"):
                    return  # padding after the end
                self._unpack = zlib.decompressobj(31)
            try:
                part = self._unpack.decompress(piece, _PIECE)
            except zlib.error as error:
                raise InvalidInputError(
                    f"{self._address.display_url} is not compressed by {self._kind} as stated.",
                    details=str(error),
                ) from error
            if part:
                yield part
            piece = self._unpack.unused_data if self._unpack.eof else self._unpack.unconsumed_tail

    def end(self) -> None:
        """Signal the end of the data.

        Raises:
            ConnectionFailedError: data is missing.
        """
        if self._unpack is not None and not self._unpack.eof:
            raise ConnectionFailedError(f"The answer of {self._address.host} was cut off.")

    def _window(self, piece: bytes) -> int:
        """Return zlib's mode for the data: deflate comes with zlib's two header bytes, or without."""
        if self._kind == "gzip":
            return 31
        wrapped = piece[0] & 0x0F == 8 and (len(piece) < 2 or (piece[0] << 8 | piece[1]) % 31 == 0)
        return 15 if wrapped else -15
