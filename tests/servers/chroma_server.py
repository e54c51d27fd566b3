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
import sys
import sysconfig
import tempfile
from collections.abc import Generator
from pathlib import Path

from knowledge_mcp.stores.chroma.client import Address
from tests.servers.postgres_server import free_port
from tests.servers.running import ServerProcess

_MEMORY = Path("/dev/shm")


def quick_folder() -> Path:
    """Make an empty folder, in memory where the system offers that: ChromaDB waits for the disk at each small write."""
    usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
    return Path(tempfile.mkdtemp(prefix="chroma-", dir=_MEMORY if usable else None))


class ChromaServer(ServerProcess):
    """Run a server until the end of a `with` block.

    Args:
        folder: for its data and its log.
        patience: seconds until its first heartbeat.
    """

    def __init__(self, folder: Path, *, patience: float = 60.0) -> None:
        self.folder = folder
        self.port = free_port()
        self._patience = patience

    def address(self, database: str = "default_database") -> Address:
        """Give the address of one of its databases."""
        return Address(path=self.folder, host="127.0.0.1", port=self.port, database=database)

    def start(self) -> None:
        """Start it, again on the same folder and port, and wait for its heartbeat."""
        self.folder.mkdir(parents=True, exist_ok=True)
        program = Path(sysconfig.get_path("scripts")) / "chroma"
        command = [sys.executable, str(program), "run", "--host", "127.0.0.1", "--port", str(self.port)]
        command += ["--path", str(self.folder / "data")]
        self._run_until_it_answers(command, self.folder / "server.log", self._patience)

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
