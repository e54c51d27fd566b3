"""Hostile sites and names: each is refused, in bounded time, with bounded memory, and with nothing sent elsewhere."""

from __future__ import annotations

import gzip
import socket
import ssl
import threading
import time
import tracemalloc
import zlib
from collections.abc import Callable, Sequence

import pytest

from knowledge_mcp.model.errors import (
    ConnectionFailedError,
    InternalError,
    InvalidInputError,
    KnowledgeError,
    TimedOutError,
)
from knowledge_mcp.sources.web.fetcher import WebFetcher
from tests.sources.web_site import HOST, OTHER, Handler, Line, Names, Site, World, answer, raw, redirect

PAGE = b"<!doctype html><p>A sentence.</p>"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
ZEROS = bytes(20_000_000)
MOST = 30_000
SOON = 0.3
"""Seconds that the fetchers of slow sites have."""
_FROZEN = 60.0
"""Seconds after which a fetch counts as frozen, on a busy machine too: each ends in less than one on an idle one."""


def _again(piece: bytes, head: bytes = HEAD + b"\r\n") -> Handler:
    """Send a piece for ever."""

    def handler(line: Line) -> None:
        line.send(head)
        while True:
            line.send(piece)

    return handler


def _drip(head: bytes, piece: bytes) -> Handler:
    """Send a little now and then, for ever."""

    def handler(line: Line) -> None:
        line.send(head)
        while True:
            line.send(piece)
            line.pause(0.02)

    return handler


def _stall(data: bytes) -> Handler:
    """Send something, and nothing more."""

    def handler(line: Line) -> None:
        line.send(data)
        while True:
            line.pause(0.05)

    return handler


def _bomb(window: int) -> bytes:
    packing = zlib.compressobj(1, zlib.DEFLATED, window)
    return packing.compress(ZEROS) + packing.flush()


BOMB = _bomb(31)
EMPTY_MEMBER = gzip.compress(b"")
EMPTY_BLOCK = b"\0\0\0\xff\xff"

TOO_LARGE: dict[str, Handler] = {
    "a body without end": _again(b"x" * 4096),
    "chunks without end": _again(b"1000\r\n" + b"x" * 4096 + b"\r\n", CHUNKED),
    "small chunks without end": _again(b"1\r\nx\r\n" * 1000, CHUNKED),
    "a length that is too large": _stall(HEAD + b"Content-Length: 30001\r\n\r\n"),
    "a length beyond all numbers": _stall(HEAD + b"Content-Length: 99999999999999999999\r\n\r\n"),
    "a gzip bomb": answer(BOMB, Content_Encoding="gzip"),
    "a gzip bomb in chunks": raw(
        HEAD + b"Content-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(BOMB), BOMB)
    ),
    "a deflate bomb": answer(_bomb(15), Content_Encoding="deflate"),
    "a bare deflate bomb": answer(_bomb(-15), Content_Encoding="deflate"),
    "empty gzip members without end": _again(EMPTY_MEMBER * 200, HEAD + b"Content-Encoding: gzip\r\n\r\n"),
    "padding without end after gzip": _again(
        b"\0" * 4096, HEAD + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(PAGE)
    ),
}
WRONG: dict[str, Handler] = {
    "gzip in gzip": answer(gzip.compress(gzip.compress(PAGE)), Content_Encoding="gzip, gzip"),
    "gzip said twice": raw(HEAD + b"Content-Encoding: gzip\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n"),
    "brotli that nobody asked for": answer(PAGE, Content_Encoding="br"),
    "a packing of its own": answer(PAGE, Content_Encoding="x" * 5000),
    "gzip that is none": answer(PAGE, Content_Encoding="gzip"),
    "deflate that is none": answer(PAGE, Content_Encoding="deflate"),
    "a redirect to itself": redirect("/page"),
    "a redirect without a place": answer(PAGE, 302),
    "a film": _again(b"x" * 4096, b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\n\r\n"),
    "a part only": answer(PAGE, 206),
}
BROKEN: dict[str, Handler] = {
    "a length that promises more": answer(PAGE, Content_Length="9"),
    "a body that ends early": raw(HEAD + b"Content-Length: 1000\r\n\r\nshort"),
    "a body whose end nobody says": raw(HEAD + b"\r\n" + PAGE),
    "chunks that end early": raw(CHUNKED + b"5\r\nab"),
    "chunks without the last": raw(CHUNKED + b"1\r\na\r\n"),
    "gzip that ends early": answer(gzip.compress(PAGE)[:-9], Content_Encoding="gzip"),
    "a chunk of no size": raw(CHUNKED + b"xyz\r\n"),
    "a chunk beyond all sizes": raw(CHUNKED + b"f" * 400 + b"\r\n"),
    "a chunk of a size below zero": raw(CHUNKED + b"-1\r\n"),
    "a mark of a chunk without end": _again(b"x" * 4096, CHUNKED + b"1;"),
    "a length below zero": raw(HEAD + b"Content-Length: -1\r\n\r\n"),
    "a header without end": _again(b"x" * 4096, b"HTTP/1.1 200 OK\r\nX-Long: "),
    "headers without end": _again(b"X-More: x\r\n" * 300, b"HTTP/1.1 200 OK\r\n"),
    "trailers without end": _again(b"X-More: x\r\n" * 300, CHUNKED + b"0\r\n"),
    "a status without end": _again(b"2" * 4096, b"HTTP/1.1 200"),
    "something else than HTTP": raw(b"SSH-2.0-OpenSSH_9.6\r\n\r\n\r\n"),
    "HTTP of the first days": raw(PAGE),
    "another protocol from now on": _stall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n"),
    "nothing at all": raw(b""),
}
SLOW: dict[str, Handler] = {
    "silence": _stall(b""),
    "a head that drips": _drip(b"HTTP/1.1 200 OK\r\nX-Long: ", b"x"),
    "headers that drip": _drip(b"HTTP/1.1 200 OK\r\n", b"X-More: x\r\n"),
    "a body that drips": _drip(HEAD + b"\r\n", b"x"),
    "chunks that drip": _drip(CHUNKED, b"1\r\nx\r\n"),
    "a packed body that drips": _drip(HEAD + b"Content-Encoding: gzip\r\n\r\n" + EMPTY_MEMBER[:10], EMPTY_BLOCK),
    "a length that is never reached": _stall(HEAD + b"Content-Length: 29999\r\n\r\nx"),
    "hints that drip": _drip(b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "a redirect that drips": _drip(b"HTTP/1.1 302 Found\r\nLocation: /", b"x"),
}
SITES: list[tuple[str, Handler, type[KnowledgeError], str, float]] = [
    *((name, handler, InvalidInputError, "returns more than", 20.0) for name, handler in TOO_LARGE.items()),
    *((name, handler, InvalidInputError, ".", 20.0) for name, handler in WRONG.items()),
    *((name, handler, ConnectionFailedError, ".", 20.0) for name, handler in BROKEN.items()),
    *((name, handler, TimedOutError, "within 0.3 seconds", SOON) for name, handler in SLOW.items()),
]


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.requirement("D-REQ-2.4")
@pytest.mark.parametrize(
    ("handler", "error", "words", "timeout"), [site[1:] for site in SITES], ids=[site[0] for site in SITES]
)
def test_a_hostile_site_is_refused_in_bounded_time(
    world: World, handler: Handler, error: type[KnowledgeError], words: str, timeout: float
) -> None:
    world.site.handlers["/page"] = handler
    began = time.monotonic()
    with pytest.raises(KnowledgeError, match=words) as caught:
        world.fetcher(timeout=timeout, max_bytes=MOST).fetch(world.url("/page"))
    assert type(caught.value) is error
    assert time.monotonic() - began < _FROZEN


def test_interim_answers_without_end_run_into_a_limit(world: World) -> None:
    world.site.handlers["/page"] = _again(b"HTTP/1.1 100 Continue\r\n\r\n" * 100, b"")
    with pytest.raises(InvalidInputError, match="sends more data than is allowed"):
        world.fetcher(timeout=30.0, max_bytes=MOST).fetch(world.url("/page"))


def test_what_follows_the_length_that_was_said_is_not_read(world: World) -> None:
    world.site.handlers["/page"] = raw(HEAD + b"Content-Length: 3\r\n\r\n<p>" + b"x" * 100_000)
    assert world.fetcher().fetch(world.url("/page")).content == b"<p>"


def test_a_bomb_costs_no_memory(world: World) -> None:
    world.site.handlers["/page"] = answer(BOMB, Content_Encoding="gzip")
    fetcher = world.fetcher(max_bytes=MOST)
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInputError, match="more than"):
            fetcher.fetch(world.url("/page"))
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.parametrize(
    "location",
    [
        "http://site.example.org/page",
        "http://127.0.0.1/",
        "file:///etc/passwd",
        "ftp://site.example.org/page",
        "gopher://site.example.org/page",
        "data:text/html,<p>",
        "javascript:alert(1)",
        "https://127.0.0.1/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://169.254.169.254/latest/meta-data/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://user:secret@site.example.org/",
        "https://site.example.org\\@127.0.0.1/",
        "https://localhost/",
        "https://inside.example.net/",
        "//10.0.0.1/",
        "https://site.example.org:22/",
        "https://[::1/",
        "/" + "x" * 5000,
    ],
)
def test_a_redirect_to_what_is_not_allowed_is_refused(world: World, location: str) -> None:
    names = Names({HOST: [["127.0.0.1"]], "inside.example.net": [["10.0.0.7"]], "localhost": [["127.0.0.1"]]})
    world.site.handlers["/page"] = redirect(location)
    with pytest.raises(InvalidInputError) as caught:
        world.fetcher(names=names, timeout=5.0).fetch(world.url("/page"))
    assert world.site.paths == ["/page"]
    assert "secret" not in f"{caught.value} {caught.value.details}"


def test_five_redirects_are_followed_and_no_more(world: World) -> None:
    world.site.handlers |= {f"/{step}": redirect(f"/{step + 1}") for step in range(9)} | {"/9": answer(PAGE)}
    assert world.fetcher().fetch(world.url("/4")).content == PAGE
    world.site.received.clear()
    with pytest.raises(InvalidInputError, match="more than 5 times"):
        world.fetcher().fetch(world.url("/3"))
    assert world.site.paths == ["/3", "/4", "/5", "/6", "/7", "/8"]


@pytest.mark.requirement("D-REQ-2.2")
@pytest.mark.parametrize(
    "answers",
    [["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"], ["2606:2800::1", "::ffff:127.0.0.1"]],
)
def test_a_name_with_a_public_and_a_private_address_is_refused(world: World, answers: list[str]) -> None:
    with pytest.raises(InvalidInputError, match="not public"):
        world.fetcher(names=Names({HOST: [answers]}), allowed=()).fetch(world.url("/page"))
    assert world.site.received == []


@pytest.mark.requirement("D-REQ-2.2")
def test_a_name_that_is_bound_again_during_a_fetch_is_not_asked_again(world: World) -> None:
    names = Names({HOST: [["127.0.0.1"], ["169.254.169.254"]], OTHER: [["127.0.0.1"], ["10.0.0.1"]]})
    world.site.handlers |= {
        "/robots.txt": answer(b"User-agent: *\nAllow: /", kind="text/plain"),
        "/page": redirect(world.url("/other", OTHER)),
        "/other": redirect(world.url("/last")),
        "/last": answer(PAGE),
    }
    fetcher = world.fetcher(names=names)
    assert fetcher.fetch(world.url("/page")).content == PAGE
    assert names.asked == [HOST, OTHER]
    with pytest.raises(InvalidInputError, match="metadata"):
        fetcher.fetch(world.url("/page"))


def _nowhere(host: str, port: int) -> list[str]:
    return []


def _nonsense(host: str, port: int) -> list[str]:
    return ["not an address"]


def _at_fault(host: str, port: int) -> list[str]:
    raise RuntimeError(f"{host}:{port}")


@pytest.mark.parametrize(
    ("resolver", "error"),
    [(_nowhere, ConnectionFailedError), (_nonsense, ConnectionFailedError), (_at_fault, InternalError)],
)
def test_a_resolver_that_fails_has_its_error(
    resolver: Callable[[str, int], Sequence[str]], error: type[KnowledgeError]
) -> None:
    with pytest.raises(KnowledgeError) as caught:
        WebFetcher(resolver=resolver, timeout=5.0).fetch("https://site.example.org/")
    assert type(caught.value) is error


def test_a_name_server_that_never_answers_is_left_behind() -> None:
    over, ended = threading.Event(), threading.Event()

    def never(host: str, port: int) -> list[str]:
        over.wait(30)
        ended.set()
        raise OSError(f"{host}:{port} was given up")

    with pytest.raises(TimedOutError):
        WebFetcher(resolver=never, timeout=SOON).fetch("https://site.example.org/")
    assert not ended.is_set(), "the name server was waited for"
    over.set()


def test_name_servers_that_never_answer_hold_only_so_many_threads() -> None:
    over = threading.Event()
    running = threading.Semaphore(0)

    def never(host: str, port: int) -> list[str]:
        running.release()
        over.wait(30)
        raise OSError(f"{host}:{port} was given up")

    fetcher = WebFetcher(resolver=never, timeout=0.005)
    for _ in range(40):
        with pytest.raises(TimedOutError):
            fetcher.fetch("https://site.example.org/")
    over.set()
    started = 0
    while running.acquire(blocking=False):
        started += 1
    assert 0 < started <= 32
    with pytest.raises(ConnectionFailedError):
        WebFetcher(resolver=Names({}), timeout=5.0).fetch("https://site.example.org/")


@pytest.mark.requirement("D-REQ-2.4")
def test_a_host_that_does_not_exist_is_said_to_have_no_address() -> None:
    with pytest.raises(ConnectionFailedError, match="could not be resolved"):
        WebFetcher(resolver=Names({}), timeout=5.0).fetch("https://site.example.org/")


@pytest.mark.parametrize(("name", "expired"), [("another.example.com", False), ("*.example.org", True)])
def test_a_certificate_that_is_not_the_hosts_own_is_refused(world: World, name: str, *, expired: bool) -> None:
    with Site(world.authority.server(name, expired=expired), {"/page": answer(PAGE)}) as site:
        with pytest.raises(ConnectionFailedError, match="certificate") as caught:
            world.fetcher().fetch(f"https://{HOST}:{site.port}/page")
        assert site.received == []
    assert isinstance(caught.value.__cause__, ssl.SSLCertVerificationError)


def _speaking(data: bytes, *, stay: bool) -> tuple[socket.socket, threading.Thread]:
    """Listen without TLS; take one connection, say something, and stay or go."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.settimeout(10)
            connection.recv(65536)
            connection.sendall(data)
            while stay and connection.recv(65536):
                pass

    thread = threading.Thread(target=serve)
    thread.start()
    return listening, thread


@pytest.mark.parametrize(
    ("data", "stay", "error"),
    [
        (b"", True, TimedOutError),
        (b"", False, ConnectionFailedError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", True, ConnectionFailedError),
        (b"\x16\x03\x03\xff\xff" + bytes(200), True, ConnectionFailedError),
        (b"\x16\x03\x03\x40\x00" + bytes(20), True, TimedOutError),
        (b"\x15\x03\x03\x00\x02\x02\x28", True, ConnectionFailedError),
    ],
    ids=["silence", "a hang-up", "HTTP without TLS", "a record too long", "a record that stalls", "an alert"],
)
def test_a_port_that_does_not_speak_tls_is_refused(
    world: World, data: bytes, error: type[KnowledgeError], *, stay: bool
) -> None:
    listening, thread = _speaking(data, stay=stay)
    with listening:
        with pytest.raises(KnowledgeError) as caught:
            world.fetcher(timeout=SOON).fetch(f"https://{HOST}:{listening.getsockname()[1]}/page")
        assert type(caught.value) is error
        thread.join(10)


def test_a_port_where_nobody_listens_cannot_be_connected_to(world: World) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port: int = closed.getsockname()[1]
    with pytest.raises(ConnectionFailedError, match="cannot be reached"):
        world.fetcher(timeout=5.0).fetch(f"https://{HOST}:{port}/page")
