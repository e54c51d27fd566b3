"""Jobs that the sandbox tests run in a child process."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from knowledge_mcp.support.sandbox import Refusal


def count(to: int) -> Iterator[int]:
    """Yield 0 … to - 1."""
    yield from range(to)


def identity() -> Iterator[dict[str, Any]]:
    """Yield what this process is and knows."""
    environment = sorted(name for name in os.environ if name not in {"LC_CTYPE", "__CF_USER_TEXT_ENCODING"})
    yield {"pid": os.getpid(), "environment": environment, "stdin": os.read(0, 1).decode(), "session": os.getsid(0)}


def chatter() -> Iterator[bytes]:
    """Print to standard output as parsers do, from Python and from below it."""
    print("noise from Python", flush=True)  # noqa: T201 - what this test is about
    os.write(1, b"noise from C\n")
    yield b"\x00\xff payload"


def refuse() -> Iterator[int]:
    """Say no in the job's own words, after a first value."""
    yield 1
    raise Refusal("empty", "There is nothing.", details="0 pages", suggestion="Try another.")


def fail() -> Iterator[int]:
    """Raise what a parser's bug would."""
    yield 1
    raise ZeroDivisionError("a bug")


def crash() -> Iterator[int]:
    """Read where nothing is mapped."""
    yield 1
    ctypes.string_at(0)


def leave() -> Iterator[int]:
    """End the process without a word."""
    yield 1
    os._exit(7)


def eat(size: int) -> Iterator[int]:
    """Ask for `size` bytes."""
    yield len(bytearray(size))


def spin() -> Iterator[int]:
    """Compute for ever."""
    yield 1
    while True:
        pass


def stall() -> Iterator[int]:
    """Wait for ever."""
    yield 1
    threading.Event().wait()


def wait_for(path: str) -> Iterator[int]:
    """Announce this process, and write a file when it is let go on: never, if it is killed first."""
    yield os.getpid()
    yield 2
    Path(path).write_text("went on", encoding="utf-8")
    yield 3


def wide(size: int) -> Iterator[str]:
    """Yield one value of `size` characters."""
    yield "x" * size
    sys.stderr.flush()
