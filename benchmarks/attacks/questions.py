"""Questions that would hold the server, and documents that would hold whoever cuts them into chunks."""

from __future__ import annotations

import json
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from benchmarks.attacks import Attack, Outcome
from benchmarks.product import environment

_ANSWERED = 15.0
"""Seconds in which each call has to be answered, hostile or not, on a busy machine."""
_GRACE = 25.0
"""Seconds after which whoever ends a process by force would do so."""
_STARTED = 60.0
_MEMORY = 2 << 30
_QUESTIONS = (
    "REQ_1" + "_" * 60 + "!",
    "a1" + "_a" * 400 + "(",
    ")" * 900,
    "a-0-0-0-0-0-0-0 " + "0" * 900,
    "“" * 900,
    ". " * 450,
    "shall " * 150,
    "`" * 900,
    "[" * 900,
    "a.a" * 300,
)


def _command(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


class _Client:
    """Speak MCP to one server over standard input and output."""

    def __init__(self, folder: Path) -> None:
        command = [_command("knowledge-mcp")]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(folder / "data"),
            cwd=folder,
        )
        self._answers: dict[int, dict[str, Any]] = {}
        self._arrived = threading.Condition()
        self._last = 0
        assert self.process.stdout is not None
        threading.Thread(target=self._listen, args=(self.process.stdout,), daemon=True).start()

    def _listen(self, stream: IO[bytes]) -> None:
        for line in stream:
            message = json.loads(line)
            with self._arrived:
                self._answers[message.get("id", 0)] = message
                self._arrived.notify_all()

    def send(self, method: str, params: dict[str, Any]) -> int:
        """Ask, and return the number of the question."""
        self._last += 1
        self._write({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        return self._last

    def _write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def answer(self, number: int, seconds: float) -> dict[str, Any] | None:
        """Wait for an answer, None where none comes."""
        with self._arrived:
            self._arrived.wait_for(lambda: number in self._answers, seconds)
            return self._answers.get(number)

    def open(self) -> None:
        """Introduce this client."""
        me = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "attack", "version": "1"}}
        if self.answer(self.send("initialize", me), _STARTED) is None:
            raise RuntimeError("the server did not start")
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def close(self) -> None:
        """End the server."""
        self.process.kill()
        self.process.wait()


def _questions(folder: Path) -> Outcome:
    (folder / "pumps.md").write_text("# Pumps\n\nREQ-1 The pump shall start. a0" + "0" * 5000 + "x\n")
    subprocess.run(
        [_command("knowledge-ingest"), "pumps.md"],
        cwd=folder,
        env=environment(folder / "data"),
        check=True,
        capture_output=True,
        timeout=_STARTED,
    )
    client = _Client(folder)
    through: list[str] = []
    slowest = 0.0
    try:
        client.open()
        tools = client.answer(client.send("tools/list", {}), _STARTED)
        names = [tool["name"] for tool in tools["result"]["tools"]] if tools else []
        search = next(name for name in names if "search" in name)
        client.answer(client.send("tools/call", {"name": search, "arguments": {"query": "warm up"}}), _STARTED)
        for question in _QUESTIONS:
            begun = time.monotonic()
            hostile = client.send("tools/call", {"name": search, "arguments": {"query": question}})
            other = client.send("tools/call", {"name": search, "arguments": {"query": "pump"}})
            for number, what in ((other, "another call beside"), (hostile, "the question")):
                if client.answer(number, _ANSWERED) is None:
                    through.append(f"{what} {question[:20]!r} was not answered in {_ANSWERED:.0f} s")
            slowest = max(slowest, time.monotonic() - begun)
            if through:
                break
    finally:
        client.close()
    return Outcome(len(_QUESTIONS), tuple(through), note=f"slowest pair {slowest:.2f} s")


_DOCUMENTS: dict[str, Callable[[], str]] = {
    "items.md": lambda: "# Items\n\nThe system shall:\n\n" + "".join(f"- item {n} is kept\n" for n in range(15_000)),
    "headings.md": lambda: "".join(f"## Heading {n}\n\n" for n in range(15_000)),
    "line.md": lambda: "word " * 400_000,
    "keywords.md": lambda: "shall may " * 50_000,
    "rows.md": lambda: "| a | b |\n| --- | --- |\n" + "".join(f"| {n} | it shall |\n" for n in range(15_000)),
    "code.md": lambda: "```\n" + "x = 1\n" * 60_000 + "```\n",
    "blanks.md": lambda: "# Blanks\n\nsee " + " \t" * 200_000 + "x\n",
}


def _limited() -> None:
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, _MEMORY))


def _documents(folder: Path) -> Outcome:
    for name, text in _DOCUMENTS.items():
        (folder / name).write_text(text())
    begun = time.monotonic()
    ended = subprocess.run(
        [_command("knowledge-ingest"), "--dry-run", "--json", "--pattern", "*.md", "."],
        cwd=folder,
        env=environment(folder / "data"),
        capture_output=True,
        text=True,
        timeout=300,
        preexec_fn=_limited,
        check=False,
    )
    report: dict[str, Any] = json.loads(ended.stdout) if ended.stdout.strip().startswith("{") else {}
    failed = [f"{each}" for each in report.get("failed", ())] if report else [f"no report: {ended.stderr[-200:]}"]
    return Outcome(len(_DOCUMENTS), tuple(failed), note=f"{time.monotonic() - begun:.1f} s, below {_MEMORY >> 30} GiB")


def _ended_while_reading(folder: Path) -> Outcome:
    (folder / "large.md").write_text("# Large\n\n" + "".join(f"- item {n} shall be kept\n" for n in range(300_000)))
    process = subprocess.Popen(
        [_command("knowledge-ingest"), "large.md"],
        cwd=folder,
        env=environment(folder / "data"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        process.wait(8.0)
        return Outcome(1, ("the document was ingested before it could be stopped",))
    except subprocess.TimeoutExpired:
        pass
    begun = time.monotonic()
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(_GRACE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return Outcome(1, (f"it went on for more than {_GRACE:.0f} s after SIGTERM",))
    return Outcome(1, note=f"ended {time.monotonic() - begun:.2f} s after SIGTERM")


ATTACKS: tuple[Attack, ...] = (
    Attack("questions", "questions made to hold every other call", _questions),
    Attack("chunking", "documents made to be cut slowly, or to fill memory", _documents),
    Attack("chunking", "SIGTERM while a large document is cut", _ended_while_reading),
)
