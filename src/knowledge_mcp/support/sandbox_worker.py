"""The child's side of `support/sandbox.py`: take jobs from a pipe, run them under limits, stream their values back.

It runs in a process of its own that knows no secret of its parent's: an empty environment, no inherited descriptors.
What goes over the pipe is JSON or plain bytes, never pickles, so that a child taken over by a hostile file cannot make
its parent execute anything. Only the standard library is imported here; a job brings its own modules.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import struct
import sys
import threading
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "ACCEPTED",
    "BYTES",
    "DONE",
    "FAILED",
    "HEADER",
    "MEMORY_EXIT",
    "NO_MEMORY",
    "REFUSED",
    "VALUE",
    "Refusal",
    "confine",
    "main",
    "peak_of",
    "serve",
]

HEADER = struct.Struct(">cQ")
"""Before each frame: its kind, and the length of what follows in bytes."""

ACCEPTED, VALUE, BYTES, DONE, REFUSED, FAILED, NO_MEMORY = b"A", b"V", b"B", b"D", b"R", b"F", b"M"

MEMORY_EXIT = 86
"""Exit code of a child that found itself over its memory limit."""


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """Let a job say in its own words why it will not go on; the child stays in service.

    Args:
        reason: a short code for the parent.
        message: one sentence for a person.
        details: technical details.
        suggestion: what to do next, empty where there is nothing special.
    """

    def __init__(self, reason: str, message: str, *, details: str = "", suggestion: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details
        self.suggestion = suggestion


def main(idle_seconds: float) -> None:
    """Serve jobs from standard input until it ends or nothing came for `idle_seconds`; prints go to standard error."""
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    serve(requests, replies, idle_seconds=idle_seconds, confine=confine)


def serve(requests: int, replies: int, *, idle_seconds: float, confine: Callable[[int, float], None]) -> None:
    """Run one job after the other: a request is a line of JSON, a reply some frames that end with one verdict."""
    with os.fdopen(requests, "rb", buffering=0) as source, os.fdopen(replies, "wb", buffering=0) as sink:

        def send(kind: bytes, payload: bytes) -> None:
            _write_all(sink.fileno(), HEADER.pack(kind, len(payload)))
            _write_all(sink.fileno(), payload)

        while select.select([source], [], [], idle_seconds)[0]:
            line = source.readline()
            if not line.endswith(b"\n"):
                return
            send(ACCEPTED, b"")
            job = json.loads(line)
            confine(job["memory"], job["seconds"])
            if not _run(job["function"], job["arguments"], send):
                return


def _run(function: str, arguments: dict[str, Any], send: Callable[[bytes, bytes], None]) -> bool:
    """Run one job and send its verdict; tells whether this process is still fit for another one."""
    try:
        for value in _resolve(function)(**arguments):
            if isinstance(value, bytes):
                send(BYTES, value)
            else:
                send(VALUE, _encode(value))
    except Refusal as refusal:
        fields = {name: getattr(refusal, name) for name in ("reason", "message", "details", "suggestion")}
        send(REFUSED, _encode(fields))
        return True
    except MemoryError:
        send(NO_MEMORY, b"")
        return False
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return False
        send(FAILED, _describe(error))
        return False
    except Exception as error:  # noqa: BLE001 - whatever a parser throws at a hostile file ends up at the parent's
        send(FAILED, _describe(error))
        return False
    send(DONE, _encode({"peak": _peak_memory()}))
    return True


def _resolve(function: str) -> Callable[..., Iterable[Any]]:
    module, _, name = function.partition(":")
    return getattr(importlib.import_module(module), name)


def _encode(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=True, separators=(",", ":")).encode("ascii")


def _describe(error: Exception) -> bytes:
    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return _encode({"error": f"{type(error).__name__}: {error}"[:500], "place": places})


def _write_all(descriptor: int, payload: bytes) -> None:
    view = memoryview(payload)
    while view:
        view = view[os.write(descriptor, view) :]


# ---- limits ---------------------------------------------------------------------------------------------------------


def confine(memory: int, seconds: float) -> None:
    """Limit this process from here on.

    Args:
        memory: bytes of address space beyond what an idle child maps. Where the system has no such limit (macOS ignores
            it) a thread compares the resident size four times a second and ends the process with `MEMORY_EXIT`.
        seconds: processor time for the coming job; the process ends with SIGXCPU after it. The parent watches the wall
            clock; this one makes an orphan end too.
    """
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    processor = int(usage.ru_utime + usage.ru_stime + seconds) + 1
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, processor)
    mapped = _mapped_at_start()
    if mapped is None or not _lower(resource.RLIMIT_AS, mapped + memory):
        _watch(memory)


def _lower(kind: int, soft: int) -> bool:
    import resource

    _, hard = resource.getrlimit(kind)
    if hard != resource.RLIM_INFINITY:
        soft = min(soft, hard)
    try:
        resource.setrlimit(kind, (soft, hard))
    except (ValueError, OSError):
        return False
    return True


_START: dict[str, int | None] = {}


def _mapped_at_start() -> int | None:
    """Count the bytes of address space mapped when this was first asked; None where the system does not tell."""
    if "mapped" not in _START:
        _START["mapped"] = None
        with contextlib.suppress(OSError, ValueError):
            pages = Path("/proc/self/statm").read_text(encoding="ascii").split()[0]
            _START["mapped"] = int(pages) * os.sysconf("SC_PAGE_SIZE")
    return _START["mapped"]


def _watch(memory: int) -> None:
    if "watched" in _START:
        return
    _START["watched"] = memory

    def watch() -> None:
        pause = threading.Event()
        while not pause.wait(0.25):
            if _peak_memory() > memory:
                os._exit(MEMORY_EXIT)

    threading.Thread(target=watch, name="memory-watch", daemon=True).start()


def peak_of(process: int | str) -> int:
    """Tell the largest resident size of a process's program so far in bytes, 0 where there is no /proc to tell it."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="ascii", errors="replace")
        return next(int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM:"))
    except (OSError, StopIteration):
        return 0


def _peak_memory() -> int:
    """Tell the same of this process; `ru_maxrss` also counts what the parent had before this program began."""
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak_of("self") or (peak if sys.platform == "darwin" else peak * 1024)
