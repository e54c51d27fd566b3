"""A real ChromaDB server (`chroma run`) for tests: in a folder of its own, on a free port, to be killed and restarted.

```python
with ChromaServer(folder) as server:
    store = ChromaStore(server.address(), analyser)
```

Needs the `chroma` extra.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Generator
from pathlib import Path
from types import TracebackType
from typing import Self

from knowledge_mcp.stores.chroma.client import Address
from tests.servers.postgres_server import free_port

_MEMORY = Path("/dev/shm")


def quick_folder() -> Path:
    """Make an empty folder, in memory where the system offers that: ChromaDB waits for the disk at each small write."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    return Path(tempfile.mkdtemp(prefix="chroma-", dir=_MEMORY if usable else None))


class ChromaServer:
    """Run a server until the end of a `with` block.

    Args:
        folder: for its data and its log.
        patience: seconds until its first heartbeat.
    """

    def __init__(self, folder: Path, *, patience: float = 60.0) -> None:
        self.folder = folder
        self.port = free_port()
        self._patience = patience
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.kill()

    def address(self, database: str = "default_database") -> Address:
        """Give the address of one of its databases."""
        return Address(path=self.folder, host="127.0.0.1", port=self.port, database=database)

    def start(self) -> None:
        """Start it, again on the same folder and port, and wait for its heartbeat."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = Path(sysconfig.get_path("scripts")) / "chroma"
        command = [sys.executable, str(program), "run", "--host", "127.0.0.1", "--port", str(self.port)]
        # its log goes to a file: a pipe that nobody reads stops it
        with (self.folder / "server.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*command, "--path", str(self.folder / "data")],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.folder,
            )
        deadline = time.monotonic() + self._patience
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > deadline:
                self.kill()
                raise RuntimeError(f"The server did not start: {self.log()[-2000:]}")
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(0.02)

    def kill(self) -> None:
        """End it at once (SIGKILL), as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log(self) -> str:
        """Read what it has said so far."""
        return (self.folder / "server.log").read_text("utf-8", "replace")

    def make_database(self, name: str) -> None:
        """Make a database: collections of two of them know nothing of each other."""
        self._request("POST", "/api/v2/tenants/default_tenant/databases", f'{{"name": "{name}"}}')

    def _answers(self) -> bool:
        try:
            self._request("GET", "/api/v2/heartbeat")
        except (OSError, http.client.HTTPException):
            return False
        return True

    def _request(self, method: str, path: str, body: str | None = None) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10.0)
        try:
            connection.request(method, path, body, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
            if answer.status >= 400:
                raise http.client.HTTPException(f"{answer.status}: {said[:500]!r}")
        finally:
            connection.close()


@contextlib.contextmanager
def temporary_server() -> Generator[ChromaServer]:
    """Run a server over a folder that goes with it."""
    folder = quick_folder()
    try:
        with ChromaServer(folder) as made:
            yield made
    finally:
        shutil.rmtree(folder)
