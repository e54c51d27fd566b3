"""Calls that are slow and that nobody waits for any more: the server keeps to its threads, and answers others."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.attacks import Attack, Outcome
from benchmarks.attacks.connections import Served, served
from knowledge_mcp.transports.mcp.tools import MAX_THREADS
from tests.servers import openai_faults
from tests.servers.openai_server import OpenAIServer

_MANY = 70
_BESIDE = 8
"""Threads that may come beside those of calls: they embed, warm up, look names up."""
_WATCHED = 3.0
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


class _Session:
    """Speak MCP to a server over HTTP, one connection a call."""

    def __init__(self, server: Served) -> None:
        self._server = server
        self.headers = dict(_HEADERS)
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        _, result, _ = self.post({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client})
        self.headers["Mcp-Session-Id"] = result.get("mcp-session-id", "")
        self.post({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def post(self, message: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        """Send one message; returns status, headers in lower case, and body."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=20)) as connection:
            connection.request("POST", "/mcp", json.dumps(message), self.headers)
            answer = connection.getresponse()
            result = {name.lower(): value for name, value in answer.getheaders()}
            return answer.status, result, answer.read().decode()

    def begin(self, number: int, whole: bool = True) -> socket.socket:
        """Ask and do not read the answer; of a call that is not whole the last byte of the body stays here."""
        body = json.dumps(call(number)).encode()
        lines = [f"{name}: {value}" for name, value in {**self.headers, "Host": "127.0.0.1"}.items()]
        head = "\r\n".join(["POST /mcp HTTP/1.1", *lines, f"Content-Length: {len(body)}", "", ""]).encode()
        made = self._server.connect()
        made.sendall(head + (body if whole else body[:-1]))
        return made


def call(number: int) -> dict[str, Any]:
    """Make a search whose question no cache knows."""
    asked = {"name": "knowledge_search", "arguments": {"query": f"question {number} about pumps"}}
    return {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": asked}


@contextmanager
def _slow_server(folder: Path) -> Generator[tuple[Served, OpenAIServer]]:
    """Serve a document whose embeddings come from a stand-in, which the attack makes hang."""
    documents = folder / "documents"
    documents.mkdir()
    (documents / "pumps.md").write_text("# Pumps\n\n## 1 Care\n\nA pump shall be greased once a month.\n")
    with OpenAIServer() as service:
        settings = {"EMBEDDING_PROVIDER": "openai", "OPENAI_API_KEY": service.key, "OPENAI_BASE_URL": service.url}
        environment = {**os.environ, **settings, "DATA_PATH": str(folder / "server" / "data")}
        ingest = [str(Path(sys.executable).with_name("knowledge-ingest")), str(documents)]
        done = subprocess.run(ingest, env=environment, capture_output=True, text=True, check=False, timeout=60)
        if done.returncode != 0:
            raise RuntimeError(done.stderr[-1000:])
        with served(folder / "server", ["knowledge-mcp", "--transport", "http"], settings) as server:
            yield server, service


def _threads(server: Served) -> int:
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    found = re.search(r"^Threads:\s+(\d+)", status, re.MULTILINE)
    return int(found[1]) if found else 0


def _abandoned(folder: Path) -> Outcome:
    """Begin many slow calls; half of the clients cancel theirs, all leave without an answer."""
    with _slow_server(folder) as (server, service):
        session = _Session(server)
        through = _wrong_answer(session, 1)
        before, release = _threads(server), threading.Event()
        service.always = openai_faults.silent(release)
        try:
            left: list[socket.socket] = []
            for number in range(100, 100 + _MANY):
                left.append(session.begin(number))
                if number % 2:
                    cancelled = {"requestId": number}
                    session.post({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled})
            for each in left:
                each.close()
            most = _watched(server, through)
        finally:
            service.always = None
            release.set()
        if most > before + MAX_THREADS + _BESIDE:
            through.append(f"{most} threads after {before}, by {_MANY} calls that nobody waits for")
        through += _wrong_answer(session, 2)
        return Outcome(tried=_MANY, through=tuple(through), note=f"{before} threads before, {most} at most")


def _unfinished(folder: Path) -> Outcome:
    """Begin many calls whose bodies never end: they hold no thread, and a call between them is answered."""
    with _slow_server(folder) as (server, _):
        session = _Session(server)
        through = _wrong_answer(session, 1)
        before = _threads(server)
        held = [session.begin(number, whole=False) for number in range(100, 100 + _MANY)]
        most = _watched(server, through)
        if most > before + _BESIDE:
            through.append(f"{most} threads after {before}, by {_MANY} bodies that are not whole")
        through += _wrong_answer(session, 2)
        for each in held:
            each.close()
        return Outcome(tried=_MANY, through=tuple(through), note=f"{before} threads before, {most} at most")


def _watched(server: Served, through: list[str]) -> int:
    """Return the most threads of a few seconds, in which the server has to answer."""
    most, end = 0, time.monotonic() + _WATCHED
    while time.monotonic() < end:
        most = max(most, _threads(server))
        status = server.ask()
        if status != 200:
            through.append(f"/health answered {status}")
            break
        time.sleep(0.05)
    return most


def _wrong_answer(session: _Session, number: int) -> list[str]:
    try:
        status, _, body = session.post(call(number))
    except OSError as exc:
        return [f"a search was answered by {type(exc).__name__}"]
    return [] if status == 200 and "greased" in body else [f"a search was answered {status}: {body[:200]}"]


ATTACKS = (
    Attack("threads", "slow calls are cancelled or left, seventy of them", _abandoned),
    Attack("threads", "seventy bodies of calls never end", _unfinished),
)
