"""Run a foreign client and take in what it prints."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tests.transports.spawned import ROOT, Transport, WebServer


@dataclass(frozen=True)
class Clients:
    """Node.js and the folder in which the clients are installed."""

    node: str
    folder: Path

    def run(self, script: str, *arguments: str, timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run one of the installed programs in the project's folder; its exit code is the caller's to judge."""
        command = [self.node, str(self.folder / script), *arguments]
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=timeout)


def target_of(transport: Transport, server: WebServer) -> list[str]:
    """Name the test server as a client wants it: a command over stdio, else an address."""
    if transport == "stdio":
        return [sys.executable, "-m", "tests.transports.server", "stdio"]
    return [f"{server.url}/mcp" if transport == "http" else f"{server.url}/sse"]
