"""Run the commands as a user would: in a process of their own, in a folder and an environment that the test chooses."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from knowledge_mcp.settings import variables

ROOT = Path(__file__).resolve().parent.parent.parent
SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command left: its exit code and its two streams."""

    code: int
    out: str
    err: str


def environment(home: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """Return this process's environment without any setting of ours, with a home of its own."""
    ours = {name for each in variables() for name in (each.name, *each.older)}
    kept = {name: value for name, value in os.environ.items() if name not in ours and not name.startswith("XDG_")}
    return {**kept, "HOME": str(home), "PYTHONPATH": str(ROOT), "COLUMNS": "160", "TERM": "xterm", **extra}


def start(
    command: str, *arguments: str, cwd: Path, stdin: int, stdout: int, stderr: int, **extra: str
) -> subprocess.Popen[bytes]:
    """Start a command over the stand-in knowledge base."""
    line = [sys.executable, "-m", "tests.cli.stand_in", command, *arguments]
    return subprocess.Popen(  # in a session of its own, so that /dev/tty is not the terminal of whoever runs the tests
        line, cwd=cwd, env=environment(cwd, extra), stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
    )


def run(command: str, *arguments: str, cwd: Path, stdin: str = "", **extra: str) -> Finished:
    """Run a command over the stand-in knowledge base to its end."""
    pipe = subprocess.PIPE
    process = start(command, *arguments, cwd=cwd, stdin=pipe, stdout=pipe, stderr=pipe, **extra)
    out, err = process.communicate(stdin.encode(), timeout=SECONDS)
    return Finished(process.returncode, out.decode(), err.decode())


class Terminal:
    """Run a command on a terminal; its stdout goes to a pipe, so that results and conversation are separate."""

    def __init__(self, command: str, *arguments: str, cwd: Path, **extra: str) -> None:
        self._own, theirs = pty.openpty()
        self.process = start(command, *arguments, cwd=cwd, stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, **extra)
        os.close(theirs)
        self.seen = ""

    def wait_for(self, text: str) -> None:
        """Read what is shown until a text is there."""
        deadline = time.monotonic() + SECONDS
        while text not in self.seen:
            assert time.monotonic() < deadline, f"'{text}' did not come; seen: {self.seen}"
            if not self._read():
                raise AssertionError(f"the command ended without '{text}'; seen: {self.seen}")

    def _read(self) -> bool:
        if not select.select([self._own], [], [], 1.0)[0]:
            return True
        try:
            data = os.read(self._own, 4096)
        except OSError:
            return False
        self.seen += data.decode(errors="replace")
        return bool(data)

    def type(self, text: str) -> None:
        """Type keys."""
        os.write(self._own, text.encode())

    def finish(self) -> Finished:
        """Wait for the end."""
        deadline = time.monotonic() + SECONDS
        while self._read():
            assert time.monotonic() < deadline, f"the command did not end; seen: {self.seen}"
        out, _ = self.process.communicate(timeout=SECONDS)
        os.close(self._own)
        return Finished(self.process.returncode, out.decode(), self.seen)
