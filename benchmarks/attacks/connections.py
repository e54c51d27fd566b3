"""Connections that ask for nothing, and addresses that clients make up: both servers must answer others."""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.attacks import Attack, Outcome

_SERVERS = {"knowledge-mcp": ["knowledge-mcp", "--transport", "http"], "rag-api": ["rag-api"]}
_MANY = 300
_DESCRIPTORS = 256
_MOST_LOG = 100_000
_LOOKS = 5


class Served:
    """A server of ours that runs: its process, its port, its log."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, log: Path) -> None:
        self.process, self.port, self.log = process, port, log

    def connect(self) -> socket.socket:
        """Connect to it."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=10)

    def ask(self, path: str = "/health", headers: dict[str, str] | None = None) -> int | str:
        """Ask for a path; returns the status, or what went wrong."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)) as connection:
            try:
                connection.request("GET", path, headers=headers or {})
                return connection.getresponse().status
            except (OSError, http.client.HTTPException) as exc:
                return type(exc).__name__


@contextmanager
def served(
    folder: Path, command: Sequence[str], settings: dict[str, str] | None = None, *, descriptors: int = 0
) -> Generator[Served]:
    """Start an installed command on a free port of the loopback, and end it.

    Args:
        folder: for its data and its log.
        command: its name and arguments; the port is added.
        settings: further environment variables.
        descriptors: most that it may have open; 0 for as many as usual.
    """
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "log"
    program = shutil.which(command[0], path=os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]))
    whole = [program or command[0], *command[1:], "--host", "127.0.0.1", "--port", str(_free_port())]
    if descriptors:
        whole = ["sh", "-c", f'ulimit -n {descriptors}; exec "$@"', "sh", *whole]
    environment = {
        **os.environ, "DATA_PATH": str(folder / "data"), "EMBEDDING_PROVIDER": "local", **(settings or {}),
    }  # fmt: skip
    with log.open("wb") as stream:
        process = subprocess.Popen(whole, cwd=folder, env=environment, stdout=stream, stderr=stream)
    try:
        deadline = time.monotonic() + 30
        while (found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", log.read_text())) is None:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]} did not start: {log.read_text()[-500:]}")
            time.sleep(0.05)
        yield Served(process, int(found[1]), log)
    finally:
        process.terminate()
        try:
            process.wait(40)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as found:
        return int(found.getsockname()[1])


def _crowd(folder: Path, send: Callable[[socket.socket], None]) -> Outcome:
    """Open many connections to both servers, and look whether others are answered meanwhile."""
    through: list[str] = []
    sizes: list[int] = []
    for name, command in _SERVERS.items():
        with served(folder / name, command, descriptors=_DESCRIPTORS) as server, ExitStack() as opened:
            for _ in range(_MANY):
                with contextlib.suppress(OSError):
                    connection = opened.enter_context(contextlib.closing(server.connect()))
                    send(connection)
            for look in range(_LOOKS):
                if (status := server.ask()) != 200:
                    through.append(f"{name}: /health said {status}")
                time.sleep(0.2 * (look < _LOOKS - 1))
            sizes.append(server.log.stat().st_size)
            if sizes[-1] > _MOST_LOG:
                through.append(f"{name}: logged {sizes[-1]} bytes")
    return Outcome(_MANY * len(_SERVERS), tuple(through), note=f"logs of {', '.join(map(str, sizes))} bytes")


def _half(connection: socket.socket) -> None:
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")


def _idle(connection: socket.socket) -> None:
    connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
    connection.recv(4096)


def _half_open(folder: Path) -> Outcome:
    return _crowd(folder, _half)


def _keep_alive(folder: Path) -> Outcome:
    return _crowd(folder, _idle)


def _dripping(folder: Path) -> Outcome:
    """Send a byte of a header now and then: no byte makes the deadline longer."""
    through: list[str] = []
    for name, command in _SERVERS.items():
        with served(folder / name, command) as server, contextlib.closing(server.connect()) as connection:
            connection.settimeout(0.5)
            _half(connection)
            deadline = time.monotonic() + 13
            while time.monotonic() < deadline:
                try:
                    connection.sendall(b"x")
                    if connection.recv(1) == b"":
                        break
                except TimeoutError:
                    continue
                except OSError:
                    break
            else:
                through.append(f"{name}: still open after 13 s")
    return Outcome(len(_SERVERS), tuple(through))


def _forged(folder: Path) -> Outcome:
    """Claim another address; it may only be believed of a proxy that is named."""
    through: list[str] = []
    claimed = {"X-Forwarded-For": "203.0.113.9", "Authorization": "Bearer wrong-but-long-enough"}
    keys = {"MCP_API_KEY": "a-key-of-thirty-two-characters-or-more", "RAG_API_KEY": "another-key-of-thirty-two-chars-x"}
    for name, command in _SERVERS.items():
        path = "/mcp" if name == "knowledge-mcp" else "/api/v1/collections"
        for proxies in ("", "127.0.0.1"):
            own = folder / f"{name}-{proxies or 'none'}"
            with served(own, command, {**keys, "MCP_TRUSTED_PROXIES": proxies}) as server:
                server.ask(path, claimed)
            result = server.log.read_text()
            believed = re.search(r"(from|client=|\"client\": \")\s*203\.0\.113\.9", result) is not None
            if believed is not bool(proxies):
                through.append(
                    f"{name}, proxies {proxies or 'none'}: the address was {'' if believed else 'not '}taken"
                )
    return Outcome(4, tuple(through))


ATTACKS: tuple[Attack, ...] = (
    Attack("connections", "300 connections with half a header, 256 descriptors, both servers", _half_open),
    Attack("connections", "300 idle keep-alive connections, 256 descriptors, both servers", _keep_alive),
    Attack("connections", "one header sent byte by byte for 13 s, both servers", _dripping),
    Attack("connections", "forged X-Forwarded-For, with and without named proxies, both servers", _forged),
)
