"""Spawn the test server, and reach it over every transport with the SDK's own client."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

ROOT = Path(__file__).resolve().parents[2]
STDIO = StdioServerParameters(command=sys.executable, args=["-m", "tests.transports.server", "stdio"], cwd=str(ROOT))
Transport = Literal["stdio", "http", "sse"]
Era = Literal["auto", "legacy"]


@dataclass
class WebServer:
    """A running HTTP server: its port, what it logged, its process."""

    process: subprocess.Popen[str]
    port: int = 0
    log: list[str] = field(default_factory=list[str])
    started: threading.Event = field(default_factory=threading.Event)

    @property
    def url(self) -> str:
        """Return its address."""
        return f"http://127.0.0.1:{self.port}"

    def read_log(self) -> None:
        """Take in what it logs, until it ends; the port is in the line that says it runs."""
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.log.append(line)
            if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
                self.port = int(found[1])
                self.started.set()
        self.started.set()


@contextmanager
def web_server(*tokens: str, module: str = "tests.transports.server") -> Generator[WebServer]:
    """Spawn an HTTP server on a free port, wait until it runs, and end it by SIGTERM."""
    command = [sys.executable, "-m", module, "http", *tokens]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        server = WebServer(process)
        reader = threading.Thread(target=server.read_log, daemon=True)
        reader.start()
        try:
            assert server.started.wait(60), "the server did not start in time"
            assert server.port, "".join(server.log)
            yield server
        finally:
            process.terminate()
            process.wait(20)
            reader.join(10)


@asynccontextmanager
async def connected(transport: Transport, server: WebServer | None, era: Era) -> AsyncGenerator[Client]:
    """Connect the SDK's client over a transport, in the modern or the handshake era."""
    if transport == "stdio":
        client = Client(STDIO, mode=era)
    elif server is None:
        raise ValueError("a web server is needed")
    elif transport == "http":
        client = Client(streamable_http_client(f"{server.url}/mcp"), mode=era)
    else:
        client = Client(sse_client(f"{server.url}/sse"), mode=era)
    async with client:
        yield client
