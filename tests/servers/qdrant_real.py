"""A real Qdrant server in place of the stand-in, for whoever has one.

| variable | what it does |
|---|---|
| `QDRANT_TEST_URL` | every test of the stand-in runs against this server, **whose collections are all dropped** |
| `QDRANT_TEST_GRPC` | its gRPC port: tests that make a client of their own take it instead of REST |
| `QDRANT_TEST_API_KEY` | where it asks for one |
| `QDRANT_TEST_PROGRAM` | the server's own program: tests that start, kill and restart servers run too |

Without them nothing here is used, and tests that need the program are not collected: a run that lacks it has left
nothing out that it could have run. One server serves one run: no `-n`. Needs the `qdrant` extra.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.parse
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Self

import httpx
from qdrant_client import QdrantClient

from knowledge_mcp.stores.qdrant.connection import QdrantConfig
from tests.servers.postgres_server import free_port

__all__ = ["PROGRAM", "REAL", "QdrantProgram", "RealQdrant"]


@dataclass(frozen=True)
class RealQdrant:
    """Say where a real server is.

    Attributes:
        url: of its REST port.
        grpc: its gRPC port, None to speak REST.
        key: asked for in each request, None where it asks for none.
    """

    url: str
    grpc: int | None = None
    key: str | None = field(default=None, repr=False)

    @property
    def config(self) -> QdrantConfig:
        """Say it as a store is told; weights follow the mean length at once: scores are the memory store's."""
        if self.grpc is None:
            return QdrantConfig(self.url, api_key=self.key, grpc="off", drift=0.0)
        return QdrantConfig(self.url, api_key=self.key, grpc="on", grpc_port=self.grpc, drift=0.0)

    def client(self, *, grpc: bool = True) -> QdrantClient:
        """Make a client."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a key without TLS
            return QdrantClient(
                url=self.url, api_key=self.key, prefer_grpc=grpc and self.grpc is not None,
                grpc_port=self.grpc or 6334, timeout=60, check_compatibility=False,
            )  # fmt: skip

    def empty(self) -> None:
        """Drop all collections."""
        with contextlib.closing(self.client(grpc=False)) as client:
            for each in client.get_collections().collections:
                client.delete_collection(each.name)

    def forwarded(self, method: str, target: str, body: bytes) -> tuple[int, bytes]:
        """Let it answer a request as it came in."""
        headers = {"content-type": "application/json", **({"api-key": self.key} if self.key else {})}
        answer = httpx.request(method, f"{self.url}{target}", content=body, headers=headers, timeout=60.0)
        return answer.status_code, answer.content


def _named() -> RealQdrant | None:
    url = os.environ.get("QDRANT_TEST_URL")
    if not url:
        return None
    return RealQdrant(
        url.rstrip("/"),
        int(os.environ.get("QDRANT_TEST_GRPC") or 0) or None,
        os.environ.get("QDRANT_TEST_API_KEY") or None,
    )


REAL = _named()
PROGRAM = os.environ.get("QDRANT_TEST_PROGRAM")


class QdrantProgram:
    """Run a server of our own until the end of a `with` block: on free ports of the loopback, telemetry off.

    Args:
        key: that it asks for.
        storage: folder for its data; None for one in the system's folder for temporary files.
        first: node of the cluster that it joins; itself, where it is to be a cluster's first.
        variables: of its configuration, beside those that keep it small and here.
    """

    def __init__(
        self,
        *,
        key: str | None = None,
        storage: Path | None = None,
        first: QdrantProgram | None = None,
        clustered: bool = False,
        variables: dict[str, str] | None = None,
    ) -> None:
        assert PROGRAM is not None
        self.folder = Path(tempfile.mkdtemp(prefix="qdrant-"))
        self.real = RealQdrant(f"http://127.0.0.1:{free_port()}", free_port(), key)
        self.peers = f"http://127.0.0.1:{free_port()}"
        self.process: subprocess.Popen[bytes] | None = None
        self._command = [PROGRAM, "--disable-telemetry"]
        self._environment = {
            "PATH": os.environ["PATH"],
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "WARN",
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__SERVICE__HTTP_PORT": self.real.url.rpartition(":")[2],
            "QDRANT__SERVICE__GRPC_PORT": str(self.real.grpc),
            "QDRANT__STORAGE__STORAGE_PATH": str(storage or self.folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self.folder / "snapshots"),
            **({"QDRANT__SERVICE__API_KEY": key} if key else {}),
            **(variables or {}),
        }
        if clustered or first is not None:
            port = str(urllib.parse.urlsplit(self.peers).port)
            self._environment |= {"QDRANT__CLUSTER__ENABLED": "true", "QDRANT__CLUSTER__P2P__PORT": port}
            self._command += ["--uri", self.peers, *(["--bootstrap", first.peers] if first is not None else [])]

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()
        shutil.rmtree(self.folder)

    def start(self) -> None:
        """Start it, again on the same data and ports, and wait until it is ready."""
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=self._environment
            )
        while not self._is_ready():
            if self.process.poll() is not None:
                raise RuntimeError(f"The server did not start: {self.log()[-2000:]}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(0.05)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
            self.process.wait()
            self.process = None

    def halt(self) -> None:
        """Let it answer no more, without an end: connections stay."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let it answer again."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def log(self) -> str:
        """Read what it has said so far."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.real.url}/readyz", timeout=2.0).status_code == 200
        except httpx.HTTPError:
            return False
