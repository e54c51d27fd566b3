"""Connections without a request never keep others out: deadlines, limits, a process out of descriptors."""

from __future__ import annotations

import errno
import functools
import http.client
import logging
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import ExitStack, closing, contextmanager
from typing import Any
from urllib.parse import urlsplit

import anyio.to_thread
import pytest
from starlette.types import Receive, Scope, Send

from knowledge_mcp.support.events import EVENT_FIELDS
from knowledge_mcp.transports.shared.guards import AllowedNames, HostGuard
from knowledge_mcp.transports.shared.serving import (
    ConnectionLimits,
    Connections,
    EventTally,
    HttpConnection,
    Listener,
    usual_limits,
)
from tests.transports.in_thread import serving

HALF = b"GET / HTTP/1.1\r\nHost: a\r\nX-Slow: "


class App:
    """Answer at once, `/slow` when let go."""

    def __init__(self) -> None:
        self.working = threading.Semaphore(0)
        self.go = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            while (message := await receive())["type"] == "lifespan.startup":
                await send({"type": message["type"] + ".complete"})
            await send({"type": message["type"] + ".complete"})
            return
        if scope["path"] == "/slow":
            self.working.release()
            await anyio.to_thread.run_sync(self.go.wait, 20)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


class Long:
    """Send an answer that no buffer of the system holds, and note whose client has left."""

    SIZE = 32 << 20

    def __init__(self) -> None:
        self.gone: dict[str, threading.Event] = {name: threading.Event() for name in ("/first", "/second")}
        self.sent = threading.Semaphore(0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        length = str(self.SIZE).encode()
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
        await send({"type": "http.response.body", "body": b"x" * (self.SIZE - 1), "more_body": True})
        self.sent.release()
        await receive()
        await send({"type": "http.response.body", "body": b"x"})
        while (await receive())["type"] != "http.disconnect":
            pass
        self.gone[scope["path"]].set()


@contextmanager
def limited(app: App | Long, limits: ConnectionLimits) -> Generator[Callable[[], socket.socket]]:
    """Serve an app within limits; gives what connects to it."""
    made = functools.partial(HttpConnection, Connections(limits))
    with serving(app, http=made) as url, ExitStack() as opened:
        address = urlsplit(url)

        def connect() -> socket.socket:
            connection = socket.create_connection((str(address.hostname), address.port or 0), timeout=20)
            return opened.enter_context(closing(connection))

        yield connect


def asked(connection: socket.socket, path: str = "/") -> int:
    """Send a whole request, and return the status; the connection stays open."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    return answered(connection)


def answered(connection: socket.socket) -> int:
    """Return the status of an answer."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    answer.read()
    return answer.status


def closed(connection: socket.socket) -> bool:
    """Wait until the server closes a connection without a word."""
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"G", HALF])
def test_headers_that_are_not_whole_in_time_end_the_connection(sent: bytes) -> None:
    with limited(App(), ConnectionLimits(8, 8, header_seconds=0.05)) as connect:
        connection = connect()
        connection.sendall(sent)
        assert closed(connection)


def test_the_headers_of_a_second_request_have_the_same_deadline() -> None:
    with limited(App(), ConnectionLimits(8, 8, header_seconds=0.05)) as connect:
        connection = connect()
        assert asked(connection) == 200
        connection.sendall(HALF)
        assert closed(connection)


def test_a_request_that_takes_longer_than_its_headers_may_is_answered() -> None:
    app = App()
    with limited(app, ConnectionLimits(8, 8, header_seconds=0.05)) as connect:
        slow, silent = connect(), connect()
        slow.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
        assert app.working.acquire(timeout=20)
        assert closed(silent)
        app.go.set()
        assert answered(slow) == 200


def test_a_request_of_two_lengths_is_refused_and_what_follows_it_is_not_read() -> None:
    http = functools.partial(HttpConnection, Connections(usual_limits()))
    with serving(HostGuard(App(), AllowedNames(["*"])), http=http) as url:
        address = urlsplit(url)
        with closing(socket.create_connection((str(address.hostname), address.port or 0), timeout=20)) as connection:
            connection.sendall(
                b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
                b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"
            )
            answers = b"".join(iter(lambda: connection.recv(4096), b""))
    assert answers.count(b"HTTP/1.1 ") == 1
    assert answers.startswith(b"HTTP/1.1 400 ")
    assert b"two_lengths" in answers


def asks(connection: socket.socket, path: str) -> None:
    """Send a request, and read nothing of its answer."""
    connection.sendall(f"GET {path} HTTP/1.1\r\nHost: a\r\n\r\n".encode())


def test_a_client_that_takes_nothing_of_its_answer_is_disconnected() -> None:
    app = Long()
    with limited(app, ConnectionLimits(8, 8, unread_seconds=0.05)) as connect:
        asks(connect(), "/first")
        assert app.gone["/first"].wait(20)


def test_answers_that_nobody_takes_are_kept_up_to_a_limit_the_latest_longest() -> None:
    app = Long()
    with limited(app, ConnectionLimits(8, 8, unread_bytes=app.SIZE)) as connect:
        first, second = connect(), connect()
        for connection, path in ((first, "/first"), (second, "/second")):
            asks(connection, path)
            assert app.sent.acquire(timeout=20)
        assert app.gone["/first"].wait(20)
        assert answered(second) == 200


@pytest.mark.parametrize(
    "limits", [ConnectionLimits(4, 4, 600), ConnectionLimits(100, 4, 600), ConnectionLimits(4, 100, 600)]
)
def test_half_open_connections_give_way_to_new_ones_the_oldest_first(limits: ConnectionLimits) -> None:
    with limited(App(), limits) as connect:
        half = [connect() for _ in range(4)]
        for each in half:
            each.sendall(HALF)
        assert asked(connect()) == 200
        assert closed(half[0])
        half[3].sendall(b"x\r\n\r\n")
        assert answered(half[3]) == 200


def test_idle_connections_give_way_to_new_ones() -> None:
    with limited(App(), ConnectionLimits(4, 4, 600)) as connect:
        idle = [connect() for _ in range(4)]
        assert [asked(each) for each in idle] == [200] * 4
        assert asked(connect()) == 200
        assert closed(idle[0])
        assert asked(idle[3]) == 200


def test_a_connection_that_is_being_answered_keeps_its_place_and_a_new_one_is_told_to_come_back() -> None:
    app = App()
    with limited(app, ConnectionLimits(2, 2, 600)) as connect:
        working = [connect() for _ in range(2)]
        for each in working:
            each.sendall(b"GET /slow HTTP/1.1\r\nHost: a\r\n\r\n")
            assert app.working.acquire(timeout=20)
        assert answered(connect()) == 503
        app.go.set()
        assert [answered(each) for each in working] == [200, 200]


# ---- who counts as one sender


class _Transport:
    def __init__(self) -> None:
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


class _Held:
    """Stand for a connection in the counting."""

    def __init__(self) -> None:
        self.transport = _Transport()


def _admit(connections: Connections, host: str) -> bool:
    held: Any = _Held()
    return connections.admit(held, host)


def test_one_address_never_takes_all_places_but_a_named_proxy_may() -> None:
    own = Connections(ConnectionLimits(6, 2), ["10.128.0.0/14"])
    assert [_admit(own, "192.0.2.1") for _ in range(3)] == [True, True, False]
    assert [_admit(own, "10.129.3.4") for _ in range(4)] == [True] * 4
    assert not _admit(own, "192.0.2.9")  # all places are taken
    assert len(own) == 6


def test_an_ip_version_six_network_counts_as_one_sender() -> None:
    own = Connections(ConnectionLimits(9, 2))
    assert [_admit(own, f"2001:db8::{last}") for last in (1, 2, 3)] == [True, True, False]
    assert _admit(own, "2001:db8:0:1::1")
    assert [_admit(own, "::ffff:192.0.2.1"), _admit(own, "192.0.2.1"), _admit(own, "192.0.2.1")] == [True, True, False]


def test_connections_stay_below_the_descriptors_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for descriptors, most in ((256, 160), (1024, 768), (1_000_000, 1024), (20, 8)):
        monkeypatch.setattr("knowledge_mcp.transports.shared.serving._descriptors", lambda result=descriptors: result)
        assert usual_limits() == ConnectionLimits(most, most // 2)


# ---- a process that has no descriptor left


class _Starved(Listener):
    """Find no descriptor to accept with, unless the spare one was given up."""

    def _accept(self) -> Any:
        if self._spare is not None:
            raise OSError(errno.EMFILE, "Too many open files")
        return super()._accept()  # pyright: ignore - the C class's own, which `accept` calls


def test_a_process_out_of_descriptors_closes_what_it_cannot_hold_and_logs_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with closing(_Starved(socket.AF_INET, socket.SOCK_STREAM)) as listener, ExitStack() as opened:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        for _ in range(40):
            connection = opened.enter_context(socket.create_connection(listener.getsockname(), timeout=20))
            with pytest.raises(BlockingIOError):
                listener.accept()
            assert closed(connection)
    assert len(caplog.records) <= 2


def test_accepting_lets_the_event_loop_count_what_came_before_more_comes() -> None:
    with closing(Listener(socket.AF_INET, socket.SOCK_STREAM)) as listener, ExitStack() as opened:
        listener.bind(("127.0.0.1", 0))
        listener.listen(64)
        listener.setblocking(False)
        for _ in range(40):
            opened.enter_context(socket.create_connection(listener.getsockname(), timeout=20))
        rows: list[int] = []
        while sum(rows) < 40:
            rows.append(0)
            while True:
                try:
                    opened.enter_context(closing(listener.accept()[0]))
                except BlockingIOError:
                    break
                rows[-1] += 1
    assert rows == [16, 16, 8]


def test_a_tally_is_one_line_a_second_with_all_that_happened_since(caplog: pytest.LogCaptureFixture) -> None:
    now = [0.0]
    tally = EventTally(logging.getLogger("tests.tally"), "closed", clock=lambda: now[0])
    for _ in range(5):
        tally.add("too slow")
    now[0] = 1.0
    tally.add("too many")
    assert len(caplog.records) == 2
    assert getattr(caplog.records[1], EVENT_FIELDS) == {"too_slow": 4, "too_many": 1}
