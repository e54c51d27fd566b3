"""Repositories that are hard to index, and `pk-mcp` over one data folder, for `benchmarks.code_faults`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.product import environment
from knowledge_mcp.engine.repositories.manifest import MANIFEST_ID
from knowledge_mcp.lexical.analyser import EnglishAnalyser
from knowledge_mcp.stores.sqlite.store import SqliteStore
from knowledge_mcp.testing.store_search import text_of
from tests.servers.git_server import GitServer, MadeRepository

TOKEN = "ghp_seenByNobody0123456789"
_IDENTITY = "committer A Tester <tester@example.invalid> 1700000000 +0000"
_LINES = 4 * 1024


@dataclass(frozen=True, slots=True)
class Done:
    """Tell how a command ended: code, streams, seconds by the clock and of the processor, bytes at the peak."""

    code: int
    out: str
    err: str
    seconds: float
    processor: float
    peak: int

    @property
    def told(self) -> str:
        """Return its message of failure, or the last line that it wrote."""
        lines = [line for line in self.err.splitlines() if line.strip()]
        first = [line for line in lines if line.startswith(("Error:", "Next:"))]
        return " ".join(first) or (lines[-1] if lines else "")

    @property
    def cost(self) -> str:
        """Say what it took."""
        return f"{self.seconds:.0f} s, processor {self.processor:.0f} s, {self.peak / 1024**2:.0f} MB"


class World:
    """Run `pk-mcp` over a folder of its own, with the token for a server.

    Args:
        folder: made where it is missing.
        server: whose token is known.
    """

    def __init__(self, folder: Path, server: GitServer) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.data = folder / "data"
        self.clones = folder / "clones"
        self._tokens = f"{server.host}={TOKEN}"
        self._runs = 0

    def start(self, *arguments: str, **more: str) -> subprocess.Popen[bytes]:
        """Start a command; what it writes goes to files of its own."""
        self._runs += 1
        environ = {
            **environment(self.data),
            "REPO_CLONE_PATH": str(self.clones),
            "GIT_TOKENS": self._tokens,
            "COLUMNS": "200",
            **more,
        }
        place = self.folder / f"run-{self._runs}"
        with place.with_suffix(".out").open("wb") as out, place.with_suffix(".err").open("wb") as err:
            line = [sys.executable, "-m", "benchmarks.faulty_repositories", *arguments]
            return subprocess.Popen(line, env=environ, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def finish(self, process: subprocess.Popen[bytes], started: float = 0.0) -> Done:
        """Wait for the last command that was started."""
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        place = self.folder / f"run-{self._runs}"
        out, err = (place.with_suffix(end).read_text(errors="replace") for end in (".out", ".err"))
        taken = time.monotonic() - started if started else 0.0
        return Done(process.returncode, out, err, taken, used.ru_utime + used.ru_stime, used.ru_maxrss * 1024)

    def run(self, *arguments: str, **more: str) -> Done:
        """Run a command to its end."""
        started = time.monotonic()
        return self.finish(self.start(*arguments, **more), started)

    def status(self) -> list[dict[str, Any]]:
        """Return what `pk-mcp status --json` lists."""
        done = self.run("status", "--json")
        assert done.code == 0, done.err
        found: list[dict[str, Any]] = json.loads(done.out)["repositories"]
        return found

    def results(self, query: str) -> list[dict[str, Any]]:
        """Return what `pk-mcp search --json` finds without a threshold."""
        done = self.run("search", query, "--threshold", "0", "--limit", "50", "--json")
        found: list[dict[str, Any]] = json.loads(done.out)["results"]
        return found

    def readable(self, path: str) -> bool:
        """Tell whether a file's text is kept under the path that a search gives."""
        store = self._store()
        try:
            return text_of(store.open("repo_code"), f"code:{path}") is not None
        finally:
            store.close()

    def contents(self) -> dict[str, list[tuple[str, str]]]:
        """Map each file to the ids and hashes of its passages; findings of the store's verification stand under ''."""
        store = self._store()
        try:
            found = {
                record.id: [
                    (chunk.id, chunk.content_hash) for chunk in store.open("repo_code").chunks("document", [record.id])
                ]
                for record in store.open("repo_code").documents()
                if record.id != MANIFEST_ID
            }
            wrong = [("verify", finding.message) for finding in store.open("repo_code").verify()]
            others = [("collection", each.name) for each in store.collections() if each.name != "repo_code"]
            return {**found, "": [*wrong, *others]}
        finally:
            store.close()

    def leaks(self) -> str:
        """Say where the token stands in what was written, empty where it does not."""
        for path in self.folder.rglob("*"):
            if path.is_file() and not path.is_symlink() and TOKEN.encode() in path.read_bytes():
                return f"the token stands in {path.relative_to(self.folder)}"
        return ""

    def _store(self) -> SqliteStore:
        return SqliteStore(self.data / "knowledge.sqlite", EnglishAnalyser())


def fill(count: int, *, edition: int) -> Mapping[str, str]:
    """Return so many small modules, each saying which edition it is of."""
    return {
        f"src/part{number % 7}/m{number}.py": (
            f'"""Module {number}."""\n\n\ndef value_{number}():\n    """Return the value of edition {edition}."""\n'
            f"    return {number * edition}\n"
        )
        for number in range(count)
    }


def tiny_repository(folder: Path, count: int, *, again: bool = False) -> MadeRepository:
    """Commit so many files of one line at once, without writing them to the disk first."""
    made = _Found(folder) if again else MadeRepository(folder)
    parts = [b"commit refs/heads/main\n", _IDENTITY.encode(), b"\ndata 4\nmany\n"]
    if again:
        parts.append(b"from refs/heads/main^0\n")
    for number in range(count):
        text = f"value_{number} = {number + again}\n".encode()
        parts.append(f"M 100644 inline d{number % 997}/m{number}.py\ndata {len(text)}\n".encode() + text + b"\n")
    _import(folder, b"".join(parts))
    return made


def big_repository(folder: Path, size: int) -> MadeRepository:
    """Commit a file of so many bytes, and a small one."""
    made = MadeRepository(folder)
    line = b"value = 'sixteen'"[:15] + b"\n"
    text = b"def small():\n    return 1\n"
    process = subprocess.Popen(["git", "fast-import", "--quiet"], cwd=folder, stdin=subprocess.PIPE)
    assert process.stdin is not None
    with process.stdin as pipe:
        pipe.write(f"commit refs/heads/main\n{_IDENTITY}\ndata 3\nbig\n".encode())
        pipe.write(b"M 100644 inline small.py\ndata %d\n%b\n" % (len(text), text))
        pipe.write(b"M 100644 inline big.py\ndata %d\n" % size)
        block = line * _LINES
        for _ in range(size // len(block)):
            pipe.write(block)
        pipe.write(b"\n")
    assert process.wait() == 0
    return made


class _Found(MadeRepository):
    """A repository that is there already."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder


def _import(folder: Path, stream: bytes) -> None:
    subprocess.run(["git", "fast-import", "--quiet"], cwd=folder, input=stream, check=True, capture_output=True)
