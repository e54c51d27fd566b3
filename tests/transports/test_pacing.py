"""A client that reads no stream gets no more prepared for it: messages wait, and are refused in the end."""

from __future__ import annotations

import re
import socket
import threading
from contextlib import closing
from urllib.parse import urlsplit

import httpx
import pytest

from knowledge_mcp.transports.mcp import pacing
from knowledge_mcp.transports.mcp.http import build_app
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.transports.in_thread import serving
from tests.transports.test_sessions import HELLO
from tests.transports.trouble import TroubledKnowledge

LIST: dict[str, object] = {"jsonrpc": "2.0", "id": 2, "method": "tools/list", "params": {}}
MOST = 1_000
"""Answers to this request that fit into the buffers of every system: some hundred have several megabytes."""


def opened(url: str) -> tuple[socket.socket, str]:
    """Open a stream, and read no more of it than the path for its messages."""
    address = urlsplit(url)
    stream = socket.socket()
    stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    stream.settimeout(20)
    stream.connect((str(address.hostname), address.port or 0))
    stream.sendall(b"GET /sse HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n")
    result = b""
    while (found := re.search(rb"data: (\S*session_id=[0-9a-f]{32})\r", result)) is None:
        result += stream.recv(512)
    return stream, found[1].decode()


def test_messages_of_a_client_that_reads_nothing_are_refused_and_go_on_once_it_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "WAITING_SECONDS", 0.05)
    server = build_server(lambda _: TroubledKnowledge(), ["standards"], version="9.9.9")
    with serving(build_app(server, keys=KeyRing())) as url, httpx.Client(base_url=url, timeout=30) as client:
        stream, path = opened(url)
        with closing(stream):
            for message in (HELLO, {"jsonrpc": "2.0", "method": "notifications/initialized"}):
                assert client.post(path, json=message).status_code == 202
            statuses = (client.post(path, json=LIST).status_code for _ in range(MOST))
            assert 503 in statuses
            spelled = path[:-32] + path[-32:].upper()
            assert client.post(spelled, json=LIST).json()["error"]["code"] == "stream_not_read"
            monkeypatch.setattr(pacing, "WAITING_SECONDS", 20)
            reading = threading.Thread(target=lambda: [*iter(lambda: stream.recv(1 << 16), b"")], daemon=True)
            reading.start()
            assert client.post(path, json=LIST).status_code == 202
            stream.shutdown(socket.SHUT_RDWR)
            reading.join(20)
