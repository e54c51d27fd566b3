"""A stand-in for a Qdrant server: its REST protocol over loopback, in front of the client's local mode.

Where a real server is named (`tests.servers.qdrant_real`), requests are handed on to it.

It answers the calls that `stores.qdrant` makes, and refuses every other route, parameter or field, so that a call that
only it would understand is seen. It can fail in all the ways a server and a network can. Needs the `qdrant` extra.

    python -m tests.servers.qdrant_server [PORT [API_KEY]]
"""

from __future__ import annotations

import contextlib
import json
import secrets
import socket
import sys
import threading
import urllib.parse
from collections import deque
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal

from pydantic_core import to_jsonable_python
from qdrant_client.http.exceptions import UnexpectedResponse

from tests.servers.qdrant_local import LocalQdrant
from tests.servers.qdrant_routes import answer, route_of


@dataclass(frozen=True, slots=True)
class Fault:
    """Say how one request fails.

    Attributes:
        kind: `none` lets the request through; `status` answers with `status`; `drop` closes the connection without a
            word; `half` sends half of the body and closes; `garbage` sends what is no JSON; `hang` answers only once
            the server stops; `lose` does what was asked for and then drops the connection.
        status: HTTP status.
        headers: beside the usual ones.
        only: part of the path of requests that may be hit; empty for all.
    """

    kind: Literal["none", "status", "drop", "half", "garbage", "hang", "lose"]
    status: int = 500
    headers: tuple[tuple[str, str], ...] = ()
    only: str = ""


@dataclass
class _Seen:
    """Requests as they came in."""

    paths: list[str] = field(default_factory=list[str])
    largest: int = 0


HOST = "127.0.0.2" if sys.platform == "linux" else "127.0.0.1"
"""Qdrant's client opens a connection for each request where the address is 127.0.0.1, and keeps them elsewhere."""


class QdrantServer:
    """Serve one local Qdrant to any number of clients, on a free port of the loopback.

    Args:
        local: what keeps the collections; survives `stop`, so that a server can be started again with the same state.
        api_key: asked for in each request where it is given.
        port: 0 for any.
    """

    def __init__(self, local: LocalQdrant | None = None, *, api_key: str | None = None, port: int = 0) -> None:
        self.local = local or LocalQdrant()
        self.api_key = api_key
        self.faults: deque[Fault] = deque()
        self.seen = _Seen()
        self.connections = set[socket.socket]()
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        server = self

        class Handler(_Handler):
            owner = server

        self._http = _Quiet((HOST, port), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """Return the port it listens on."""
        return int(self._http.server_address[1])

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://{HOST}:{self.port}"

    def stop(self) -> None:
        """Stop answering at once; what was kept stays in `local`."""
        self._stopping.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()
        for connection in tuple(self.connections):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def fault_for(self, path: str) -> Fault | None:
        """Take the next fault if it may hit this path."""
        with self._lock:
            self.seen.paths.append(path)
            if self.faults and self.faults[0].only in path:
                return self.faults.popleft()
        return None

    def wait_for_stop(self) -> None:
        """Wait as a server that hangs does."""
        self._stopping.wait(60.0)


class _Quiet(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


class _Handler(BaseHTTPRequestHandler):
    """Answer one connection's requests."""

    owner: QdrantServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # else what follows the headers waits for the client's acknowledgement

    def setup(self) -> None:
        """Let the server end this connection when it stops."""
        super().setup()
        self.owner.connections.add(self.connection)

    def finish(self) -> None:
        """Forget the connection."""
        self.owner.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: Any) -> None:
        """Keep still."""

    def do_GET(self) -> None:
        self._serve()

    def do_PUT(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def do_DELETE(self) -> None:
        self._serve()

    def _serve(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length)
        self.owner.seen.largest = max(self.owner.seen.largest, length)
        url = urllib.parse.urlsplit(self.path)
        key = self.owner.api_key
        given = self.headers.get("api-key") or ""
        if key is not None and not secrets.compare_digest(given.encode(), key.encode()):
            self._send(401, b"Must provide an API key or an Authorization bearer token")
            return
        fault = self.owner.fault_for(f"{self.command} {url.path}")
        if fault is not None and fault.kind not in {"none", "lose", "half"}:
            self._fail(fault)
            return
        status, content = self._answered(url, body)
        if fault is None or fault.kind == "none":
            self._send(status, content)
        elif fault.kind == "half":
            self._send(status, content, cut=True)
        else:
            self._drop()

    def _answered(self, url: urllib.parse.SplitResult, body: bytes) -> tuple[int, bytes]:
        parameters = dict(urllib.parse.parse_qsl(url.query))
        try:
            if self.owner.local.real is not None:
                route_of(self.command, url.path, parameters)  # what nobody else would understand is refused there too
                return self.owner.local.real.forwarded(self.command, url._replace(scheme="", netloc="").geturl(), body)
            result = answer(self.owner.local, self.command, url.path, parameters, body)
        except UnexpectedResponse as exc:
            return exc.status_code or 500, exc.content
        found = to_jsonable_python(result, exclude_none=True)
        frame = found if url.path == "/" else {"time": 0.0, "status": "ok", "result": found}  # who it is has none
        return 200, json.dumps(frame, ensure_ascii=False).encode()

    def _fail(self, fault: Fault) -> None:
        if fault.kind == "hang":
            self.owner.wait_for_stop()
            self._drop()
        elif fault.kind == "drop":
            self._drop()
        elif fault.kind == "garbage":
            self._send(200, b'{"result": [')
        else:
            error = json.dumps({"status": {"error": "made to fail"}, "time": 0.0}).encode()
            self._send(fault.status, error, fault.headers)

    def _send(
        self, status: int, content: bytes, headers: tuple[tuple[str, str], ...] = (), *, cut: bool = False
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self._drop()

    def _drop(self) -> None:
        self.close_connection = True
        self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)


def main() -> None:
    """Serve until standard input ends; the address is the first line of standard output."""
    given = sys.argv[1:3]
    port, key = [*given, *("0", "")[len(given) :]]
    server = QdrantServer(port=int(port), api_key=key or None)
    sys.stdout.write(f"{server.url}\n")
    sys.stdout.flush()
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
