"""The child's side of `support/sandbox.py`: take jobs from a pipe, run them under limits, stream their values back.

It runs in its own process, which knows no secret of its parent: no inherited descriptors, an environment built from
nothing. Before its first job it gives up what reading a file does not need: opening files other than the
interpreter's and those of its own folder, writing, connecting, starting programs or processes, raising its limits.
The pipe carries JSON or plain bytes, never pickles, so that a child controlled by a hostile file cannot make its
parent execute anything. Only the standard library is imported here; a job imports its own modules.
"""

from __future__ import annotations

import contextlib
import importlib
import itertools
import json
import os
import struct
import sys
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from knowledge_mcp.support.system.processes import PipeEnd, own_peak

HEADER = struct.Struct(">cQ")
"""Header of each frame: its kind, and the length of its content in bytes."""

ACCEPTED, VALUE, BYTES, DONE, REFUSED, FAILED, NO_MEMORY = b"A", b"V", b"B", b"D", b"R", b"F", b"M"

MEMORY_EXIT = 86
"""Exit code of a child that exceeded its memory limit."""


class Refusal(Exception):  # noqa: N818 - it is an answer, not a fault
    """A job refuses to continue, with its own message; the child stays in use.

    Args:
        reason: a short code for the parent.
        message: one sentence for a person.
        details: technical details.
        suggestion: what to do next, empty if there is nothing special.
    """

    def __init__(self, reason: str, message: str, *, details: str = "", suggestion: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message
        self.details = details
        self.suggestion = suggestion


_FILES, _FILE_SIZE = 256, 1 << 20
_SELF: dict[str, Any] = {"status": None, "protections": {}}
"""An open descriptor of this process's `/proc/self/status`, and the result of `restrict`."""


def main(idle_seconds: float, parent: int, module: str, folder: str) -> None:
    """Serve jobs from standard input until it ends or is idle for `idle_seconds`; prints go to standard error.

    Args:
        idle_seconds: this process ends after this time without a job.
        parent: the process that started this one; this one ends with it.
        module: the module of the first job's function; imported before anything is given up, because its byte code may
            have to be written.
        folder: for files of jobs; the only readable files other than the interpreter's.
    """
    from knowledge_mcp.support.system.sandbox_linux import die_with_parent, hide_memory

    die_with_parent(parent)
    hide_memory()
    requests, replies = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    importlib.import_module(module)
    _give_up(module, folder)
    if sys.platform == "darwin":
        _watch_parent(requests)  # Linux and Windows end this process with its parent
    serve(requests, replies, idle_seconds=idle_seconds, confine=confine)


def _give_up(module: str, folder: str) -> None:
    if sys.platform == "win32":
        return
    import resource

    _mapped_at_start()
    _lower(resource.RLIMIT_CORE, 0, hard=True)
    _lower(resource.RLIMIT_NOFILE, _FILES, hard=True)
    _lower(resource.RLIMIT_FSIZE, _FILE_SIZE, hard=True)
    if sys.platform != "linux":
        return
    from knowledge_mcp.support.system.sandbox_linux import INSTALLED, READ, WRITE, restrict

    with contextlib.suppress(OSError):
        _SELF["status"] = os.open("/proc/self/status", os.O_RDONLY)
    if threading.active_count() > 1 or len(list(Path("/proc/self/task").iterdir())) > 1:
        raise RuntimeError(f"{module} starts threads when it is imported; they would not be confined")
    readable = (*INSTALLED, *_interpreter(module), folder)
    _SELF["protections"] = restrict({**dict.fromkeys(readable, READ), "/dev/null": READ | WRITE})


def _interpreter(module: str) -> list[str]:
    """List the folders of the interpreter, of installed packages, and of the packages that contain jobs."""
    homes = {os.path.realpath(each) for each in (sys.prefix, sys.base_prefix, sys.exec_prefix)}
    installed = [
        each
        for each in sys.path
        if Path(each).name in {"site-packages", "dist-packages"}
        or any(os.path.realpath(each).startswith(f"{home}/") for home in homes)
    ]
    packages = (sys.modules.get(name.partition(".")[0]) for name in (__name__, module))
    folders = (getattr(package, "__path__", ()) for package in packages)
    return [*installed, *(f"{home}/lib" for home in homes), *itertools.chain.from_iterable(folders)]


def _watch_parent(requests: int) -> None:
    """End this process when its parent's end of the pipe is closed, whatever a job is doing."""
    if sys.platform != "win32":
        import select

        hung_up = select.poll()
        hung_up.register(requests, 0)

        def watch() -> None:
            hung_up.poll()
            os._exit(0)

        threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def protections() -> Iterable[dict[str, str]]:
    """Yield the status of each protection: empty if active, otherwise why not; a job of its own."""
    yield _SELF["protections"]


def serve(requests: int, replies: int, *, idle_seconds: float, confine: Callable[[int, float], bool | None]) -> None:
    """Run jobs one after another: a request is a line of JSON, a reply is frames that end with a verdict."""
    with os.fdopen(requests, "rb", buffering=0) as source, os.fdopen(replies, "wb", buffering=0) as sink:

        def send(kind: bytes, payload: bytes) -> None:
            _write_all(sink.fileno(), HEADER.pack(kind, len(payload)))
            _write_all(sink.fileno(), payload)

        end = PipeEnd(source.fileno())
        while end.is_readable(idle_seconds):
            line = source.readline()
            if not line.endswith(b"\n"):
                return
            job = json.loads(line)
            if confine(job["memory"], job["seconds"]) is False:
                return  # before it accepts the job: the parent starts another child
            send(ACCEPTED, b"")
            if not _run(job["function"], job["arguments"], send):
                return


def _run(function: str, arguments: dict[str, Any], send: Callable[[bytes, bytes], None]) -> bool:
    """Run one job and send its verdict; return whether this process can run another one."""
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
    import traceback  # few children need it

    frames = traceback.extract_tb(error.__traceback__)[-3:]
    places = " < ".join(f"{Path(frame.filename).name}:{frame.lineno} {frame.name}" for frame in reversed(frames))
    return _encode({"error": f"{type(error).__name__}: {error}"[:500], "place": places})


def _write_all(descriptor: int, payload: bytes) -> None:
    view = memoryview(payload)
    while view:
        view = view[os.write(descriptor, view) :]


# ---- limits ---------------------------------------------------------------------------------------------------------


def confine(memory: int, seconds: float) -> bool:
    """Limit this process from now on; return whether it can run a job of this size: limits can never be raised.

    Args:
        memory: bytes of address space beyond those of an idle child. If the system has no such limit (macOS ignores
            it), a thread checks the resident size four times a second and ends the process with `MEMORY_EXIT`.
        seconds: CPU time for the coming job; then the process ends with SIGXCPU. The parent limits wall-clock time.
            All jobs of a process together get twice the time of its first one.

    On Windows nothing is limited here: the parent limits the job object of this process.
    """
    if sys.platform == "win32":
        return True
    import resource

    usage = resource.getrusage(resource.RUSAGE_SELF)
    processor = int(usage.ru_utime + usage.ru_stime + seconds) + 1
    first = "memory" not in _START
    if first:
        _START["memory"], _START["processor"] = memory, 2 * processor
        _lower(resource.RLIMIT_CPU, 2 * processor, hard=True)
        mapped = _mapped_at_start()
        if mapped is None or not _lower(resource.RLIMIT_AS, mapped + memory, hard=True):
            _watch(memory)
    _lower(resource.RLIMIT_CPU, processor)
    return first or (memory == _START["memory"] and processor <= (_START["processor"] or 0))


def _lower(kind: int, soft: int, *, hard: bool = False) -> bool:
    if sys.platform == "win32":
        return False
    import resource

    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        soft = min(soft, most)
    try:
        resource.setrlimit(kind, (soft, soft if hard else most))
    except (ValueError, OSError):
        return False
    return True


_START: dict[str, int | None] = {}


def _mapped_at_start() -> int | None:
    """Return the bytes of address space mapped at the first call; None if the system does not say."""
    if "mapped" not in _START:
        _START["mapped"] = None
        if sys.platform == "linux":
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


def parts_of(process: int) -> tuple[int, int]:
    """Return the peak resident size of a process in bytes, and its number of threads; 0 without /proc."""
    try:
        return _parse(Path(f"/proc/{process}/status").read_bytes())
    except OSError:
        return 0, 0


def _parse(status: bytes) -> tuple[int, int]:
    fields = dict(line.split(b":", 1) for line in status.splitlines() if b":" in line)
    return int(fields.get(b"VmHWM", b"0").split()[0]) * 1024, int(fields.get(b"Threads", b"0"))


def _peak_memory() -> int:
    """Return this process's peak resident size; the system's own count includes the parent's."""
    if sys.platform != "linux":
        return own_peak()
    status: int | None = _SELF["status"]
    peak = _parse(os.pread(status, 8192, 0))[0] if status is not None else parts_of(os.getpid())[0]
    return peak or own_peak()
