"""Servers to ask: the real service on a free port in a thread of its own, and one that answers badly on purpose."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager

from knowledge_mcp.ports import Knowledge
from knowledge_mcp.remote.knowledge import RemoteKnowledge
from knowledge_mcp.settings import Settings
from knowledge_mcp.support.retry import RetryPolicy
from knowledge_mcp.transports.rest.app import build_rest_app
from knowledge_mcp.transports.rest.engine import engine_router
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider
from tests.fakes.library import FakeLibrary
from tests.transports.in_thread import serving

KEY = "correct-horse-battery-staple"
AT_ONCE = RetryPolicy(pauses=())
"""No retries."""


class Options(Settings):
    """Settings of the service."""

    rag_max_upload_bytes: int = 64 * 1024 * 1024
    allowed_origins: tuple[str, ...] = ()


@contextmanager
def rest_service(
    library: FakeLibrary | None = None,
    *,
    keys: KeyRing | None = None,
    engines: Mapping[str, Knowledge] | None = None,
    options: Options | None = None,
) -> Generator[str]:
    """Serve the REST service over a library in memory, with the engines that are given."""
    held = library or FakeLibrary()
    known = engines or {}
    app = build_rest_app(
        KnowledgeProvider(lambda: held),
        keys or KeyRing(KEY),
        options=options or Options(),
        version="9.9.9",
        engine_router=engine_router(known.__getitem__, tuple(known)),
    )
    with serving(app) as url:
        yield url


@contextmanager
def served_remotely(local: Knowledge) -> Generator[RemoteKnowledge]:
    """Serve an engine, and yield it as a client sees it."""
    with (
        rest_service(engines={"standards": local}) as url,
        closing(RemoteKnowledge(url, KEY, "standards", policy=AT_ONCE)) as remote,
    ):
        yield remote


def answer(status: int, body: bytes = b"{}", *lines: str, length: int | None = None) -> bytes:
    """Write an HTTP answer; `length` is what it claims to be long."""
    head = [f"HTTP/1.1 {status} Whatever", "Content-Type: application/json", "Connection: close", *lines]
    head.append(f"Content-Length: {len(body) if length is None else length}")
    return "\r\n".join(head).encode() + b"\r\n\r\n" + body


Reply = bytes | Callable[[socket.socket], None]


class Script:
    """A server that plays one reply to each request, the last one again and again, and keeps what it was asked."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.requests: list[bytes] = []
        self._replies = list(replies)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._run, name="scripted server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop listening."""
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(10)

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(10)
                try:
                    self._serve(connection)
                except OSError:
                    continue

    def _serve(self, connection: socket.socket) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += connection.recv(65536) or b"\r\n\r\n"
        head, _, body = request.partition(b"\r\n\r\n")
        length = next(
            (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")), 0
        )
        while len(body) < length:
            body += connection.recv(65536)
        self.requests.append(head + b"\r\n\r\n" + body)
        reply = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        if callable(reply):
            reply(connection)
        else:
            connection.sendall(reply)


@contextmanager
def scripted(*replies: Reply) -> Generator[Script]:
    """Run a scripted server."""
    script = Script(replies)
    try:
        yield script
    finally:
        script.close()
