"""Process untrusted bytes in a child process with memory and time limits.

A parser of a hostile or broken file can use all memory, never end, or crash; in a child it affects nothing else. The
child is a fresh interpreter (no fork of a threaded parent). Its standard streams are its own pipes (a server's stdin
and stdout are never touched), and its environment is built from nothing. It has its own folder, into which the bytes
of a job's files are copied from descriptors: it never gets another path, and could not open it. `sandbox_worker` says
what else it gives up. A child that completed its job is kept warm for the next one; after any failure, or once it has
grown, it is ended. Values are streamed one by one, so that neither side ever holds them all.
"""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import IO, Any, BinaryIO

from knowledge_mcp.support import sandbox_worker as worker
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.support.system.locking import lock, open_folder, release_folder, try_lock
from knowledge_mcp.support.system.processes import (
    PipeEnd,
    end_tree,
    interpreter,
    limit,
    own_peak,
    ran_out_of_time,
    reap,
    start_tree,
)
from knowledge_mcp.support.system.sandbox_linux import hide_memory

Refusal = worker.Refusal

_ENTRY = (
    "import sys; from knowledge_mcp.support.sandbox_worker import main;"
    "main(float(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:])"
)
_NO_MEMORY = re.compile(
    rb"memory allocation of|out of memory|bad_alloc|MemoryError|cannot allocate memory", re.IGNORECASE
)

_GLANCE = 0.05
"""Maximum seconds between two checks of a working child's size; a dead child cannot be asked."""
_MOST = 0.75
"""A crash above this share of the memory limit counts as out of memory: native code aborts without a message."""
_THREADS = 512
"""A child with more threads than this is stopped: it cannot start processes, but no limit of its own counts threads."""
_PREFIX = "knowledge-reading-"
_ABANDONED_AFTER = 60.0
_SUFFIX = 20
"""Maximum characters of a file name's suffix that a job sees."""


class FailureKind(StrEnum):
    """How a job failed."""

    TOO_SLOW = "too_slow"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    FAILED = "failed"


class SandboxFailure(Exception):  # noqa: N818 - named for what happened
    """A job failed: too slow, out of memory, crashed, or an exception in its function."""

    def __init__(self, kind: FailureKind, details: str) -> None:
        super().__init__(f"{kind}: {details}")
        self.kind = kind
        self.details = details


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one job.

    Attributes:
        memory: bytes that the child may map beyond its size at start.
        seconds: maximum wall-clock seconds, and also maximum seconds of CPU time; time in which the child waits for its
            parent to take the next value is not counted.
        silence: maximum wall-clock seconds between two values.
        frame: maximum bytes of one value.
    """

    memory: int = 1024 * 1024 * 1024
    seconds: float = 1800.0
    silence: float = 120.0
    frame: int = 128 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class InputFile:
    """The bytes of a file, as input of a job.

    Attributes:
        stream: open for reading, at the beginning of the bytes; closed by whoever opened it.
        suffix: of the file's name, with its dot; some libraries depend on it.
    """

    stream: BinaryIO
    suffix: str = ""


def copy_files(files: Mapping[str, InputFile], folder: Path) -> dict[str, str]:
    """Copy files into a folder, and return each path by its argument's name; raises OSError."""
    paths: dict[str, str] = {}
    for name, file in files.items():
        place = folder / f"{name}{file.suffix[:_SUFFIX]}"
        with place.open("xb") as copy:
            shutil.copyfileobj(file.stream, copy, 1 << 20)
        paths[name] = str(place)
    return paths


class Sandbox:
    """Run functions in warm child processes. Thread-safe: each job has its own child.

    Args:
        limits: default limits of jobs.
        keep: maximum number of idle children.
        idle_seconds: a child ends itself after this time without a job.
        retire_above: a child whose peak memory exceeded this many bytes is not kept.
    """

    def __init__(
        self,
        limits: Limits | None = None,
        *,
        keep: int = 2,
        idle_seconds: float = 60.0,
        retire_above: int = 384 * 1024 * 1024,
    ) -> None:
        self._limits = limits or Limits()
        self._keep = keep
        self._idle_seconds = idle_seconds
        self._retire_above = retire_above
        self._lock = threading.Lock()
        self._idle: list[_Child] = []
        self._closed = False
        self._finalizer = weakref.finalize(self, _stop_all, self._idle)
        with _REGISTERING:
            _SANDBOXES.add(self)

    def run(
        self,
        function: str,
        arguments: Mapping[str, Any],
        *,
        files: Mapping[str, InputFile] | None = None,
        limits: Limits | None = None,
    ) -> Generator[Any]:
        """Yield what `function` yields, value by value; closing the generator kills the child.

        Args:
            function: `package.module:name` of a function that yields JSON values or bytes; it may raise `Refusal`.
            arguments: its keyword arguments, JSON values.
            files: further arguments: each becomes the path of a copy that lives as long as the job.
            limits: for this job.

        Raises:
            Refusal: the function refused.
            SandboxFailure: the job failed.
            OSError: a file cannot be read, or there is no space for its copy.
        """
        bounds = limits or self._limits
        job = {"function": function, "arguments": dict(arguments), "memory": bounds.memory, "seconds": bounds.seconds}
        child = self._take(job, files or {}, bounds)
        fit = False
        try:
            peak = yield from child.values(bounds)
            fit = peak <= self._retire_above
        except Refusal:
            fit = True
            raise
        finally:
            self._return(child, fit=fit)

    def close(self) -> None:
        """End every idle child; running jobs end theirs when they are done."""
        with self._lock:
            self._closed = True
        _stop_all(self._idle)

    def reap(self) -> None:
        """Remove idle children that have ended; runs every few seconds for each sandbox."""
        with self._lock:
            ended = [child for child in self._idle if child.has_ended()]
            for child in ended:
                self._idle.remove(child)
        _stop_all(ended)

    def _take(self, job: dict[str, Any], files: Mapping[str, InputFile], bounds: Limits) -> _Child:
        """Give the job to an idle child or a new one; an idle one may have ended, or have too low limits left."""
        module = job["function"].partition(":")[0]
        while True:
            warm = self._idle_one(module, bounds)
            child = warm or _Child(self._idle_seconds, module)
            try:
                child.accept(job, files, bounds)
            except SandboxFailure:
                child.kill()
                if warm is None:
                    raise
                for file in files.values():
                    file.stream.seek(0)
            except BaseException:
                child.kill()
                raise
            else:
                return child

    def _idle_one(self, module: str, bounds: Limits) -> _Child | None:
        """Take an idle child that may read the code of a module and has enough memory for a job, if there is one."""
        package = module.partition(".")[0]
        with self._lock:
            found = next(
                (each for each in reversed(self._idle) if (each.package, each.memory) == (package, bounds.memory)), None
            )
            if found is not None:
                self._idle.remove(found)
        return found

    def _return(self, child: _Child, *, fit: bool) -> None:
        child.forget()
        with self._lock:
            if fit and not self._closed and len(self._idle) < self._keep:
                self._idle.append(child)
                return
        child.kill()


@functools.cache
def shared_sandbox() -> Sandbox:
    """Return the shared sandbox for callers without their own; its idle children end by themselves."""
    return Sandbox()


def _stop_all(children: list[_Child]) -> None:
    while children:
        children.pop().kill()


_SANDBOXES: weakref.WeakSet[Sandbox] = weakref.WeakSet()
_REGISTERING = threading.Lock()
_SWEEP = 10.0
"""Seconds between two checks for children that have ended while idle."""


def _remove_abandoned_folders() -> None:
    """Remove the folders of children whose parents were killed, once they are a minute old."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            descriptor = open_folder(folder)
            is_abandoned = False
            try:
                is_abandoned = try_lock(descriptor) and time.time() - os.fstat(descriptor).st_mtime > _ABANDONED_AFTER
                if is_abandoned:
                    shutil.rmtree(folder, ignore_errors=True)
            finally:
                release_folder(descriptor, folder) if is_abandoned else os.close(descriptor)


def _sweep() -> None:
    with _REGISTERING:
        sandboxes = list(_SANDBOXES)
    for sandbox in sandboxes:
        sandbox.reap()


_logger = logging.getLogger(__name__)


class _Starter:
    """Start processes from one thread that lasts as long as this process, and remove children that have ended.

    A child asks the kernel to kill it when its parent ends; the kernel takes the thread that started it as the parent.
    """

    def __init__(self) -> None:
        self._begin()
        if sys.platform != "win32":
            os.register_at_fork(after_in_child=self._begin)  # a forked process does not have the thread

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._requests: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] | None = None

    def start(self, make: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Call `make` in that thread and return or raise its result."""
        with self._lock:
            if self._requests is None:
                self._requests = queue.SimpleQueue()
                _remove_abandoned_folders()
                hide_memory()  # work on untrusted bytes runs next to secrets of this process
                threading.Thread(
                    target=self._serve, args=(self._requests,), name="process-starter", daemon=True
                ).start()
        future: Future[subprocess.Popen[bytes]] = Future()
        self._requests.put((future, make))
        return future.result()

    def _serve(self, requests: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]]) -> None:
        while True:
            try:
                future, make = requests.get(timeout=_SWEEP)
            except queue.Empty:
                try:
                    _sweep()
                except Exception:
                    _logger.exception("children that have ended could not be cleared away")  # the next ones still start
                continue
            try:
                future.set_result(make())
            except BaseException as error:  # noqa: BLE001 - it is raised where the process was asked for
                future.set_exception(error)
            del future, make  # otherwise the child's pipes would stay open until the next one is started


_STARTER = _Starter()


def start_process(make: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start a process for untrusted bytes, from a thread that lasts; this process hides its memory first."""
    return _STARTER.start(make)


class _Child:
    """One child process with its pipes and its folder."""

    def __init__(self, idle_seconds: float, module: str) -> None:
        self.package = module.partition(".")[0]
        self._folder = Path(tempfile.mkdtemp(prefix=_PREFIX)).resolve()
        self._lock = open_folder(self._folder, new=True)
        lock(self._lock)  # released with this process: an unlocked folder was left by a killed one
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        environment = {
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            "PYTHONUTF8": "1",
            "HOME": str(self._folder),
            "TMPDIR": str(self._folder),
        }
        command = [
            interpreter(),
            "-P",
            "-S",
            "-c",
            _ENTRY,
            str(idle_seconds),
            str(os.getpid()),
            module,
            str(self._folder),
        ]
        try:
            self._process = start_process(
                lambda: start_tree(
                    command,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=self._errors,
                    bufsize=0,
                )
            )
        except BaseException:
            self._errors.close()
            self._remove_folder()
            raise
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._end = PipeEnd(self._replies.fileno())
        self._waited = 0.0
        self.memory = 0
        self._inherited = own_peak()
        # until the child's program begins, the system counts this process's own size as the child's
        self._observed_peak = 0

    def accept(self, job: Mapping[str, Any], files: Mapping[str, InputFile], bounds: Limits) -> None:
        """Send one job with its files and wait until the child has accepted it."""
        self._waited = 0.0
        self._observed_peak = 0
        self.memory = bounds.memory
        self._errors.seek(0)  # parent and child share the offset: output of earlier jobs is overwritten
        self._errors.truncate()
        if sys.platform == "win32":
            limit(self._process, memory=bounds.memory, alone=True)  # elsewhere the child limits itself
        arguments = {**job["arguments"], **copy_files(files, self._folder)}
        try:
            self._requests.write(json.dumps({**job, "arguments": arguments}).encode() + b"\n")
        except BrokenPipeError as error:
            raise self._crash() from error
        self._frame(bounds)

    def forget(self) -> None:
        """Remove the files of the finished job."""
        for path in self._folder.iterdir():
            path.unlink()

    def values(self, bounds: Limits) -> Generator[Any, None, int]:
        """Yield the values of the accepted job; return the child's peak memory in bytes."""
        while True:
            kind, payload = self._frame(bounds)
            if kind == worker.BYTES:
                yield payload
            elif kind == worker.VALUE:
                yield json.loads(payload)
            elif kind == worker.DONE:
                return int(json.loads(payload)["peak"])
            elif kind == worker.REFUSED:
                fields = json.loads(payload)
                raise Refusal(fields.pop("reason"), fields.pop("message"), **fields)
            elif kind == worker.NO_MEMORY:
                raise SandboxFailure(FailureKind.OUT_OF_MEMORY, f"more than {bounds.memory >> 20} MiB were needed")
            else:
                fields = json.loads(payload)
                raise SandboxFailure(FailureKind.FAILED, f"{fields['error']} ({fields['place']})")

    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def kill(self) -> None:
        """Kill the child and what it started, and free its pipes; harmless if it has already ended."""
        if self._process.poll() is None:
            end_tree(self._process)
        self._process.wait()
        for stream in (self._requests, self._replies, self._errors):
            with contextlib.suppress(OSError):
                stream.close()
        self._remove_folder()

    def _remove_folder(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        if self._lock >= 0:
            release_folder(self._lock, self._folder)
            self._lock = -1

    def _frame(self, bounds: Limits) -> tuple[bytes, bytes]:
        deadline = time.monotonic() + bounds.silence
        kind, length = worker.HEADER.unpack(self._receive(worker.HEADER.size, deadline, bounds))
        if length > bounds.frame:
            raise SandboxFailure(FailureKind.OUT_OF_MEMORY, f"one value has {length} bytes, more than {bounds.frame}")
        return kind, self._receive(length, deadline, bounds)

    def _receive(self, length: int, deadline: float, bounds: Limits) -> bytes:
        received, glance = bytearray(), _GLANCE / 32
        while len(received) < length:
            start = time.monotonic()
            remaining = max(min(deadline - start, bounds.seconds - self._waited), 0.0)
            ready = self._end.is_readable(min(remaining, glance))
            self._waited += time.monotonic() - start
            if not ready and remaining > glance:
                checkpoint()
                peak, threads = worker.parts_of(self._process.pid)
                self._observed_peak = max(self._observed_peak, peak)
                if threads > _THREADS:
                    raise SandboxFailure(FailureKind.CRASHED, f"stopped with {threads} threads")
                glance = min(2 * glance, _GLANCE)
                continue
            if not ready:
                limit = "in all" if self._waited >= bounds.seconds else "without a sign of progress"
                raise SandboxFailure(FailureKind.TOO_SLOW, f"stopped after {self._waited:.1f} seconds {limit}")
            piece = os.read(self._replies.fileno(), min(length - len(received), 1 << 20))
            if not piece:
                raise self._crash()
            received += piece
        return bytes(received)

    def _crash(self) -> SandboxFailure:
        """Explain why the child's end of the pipe is closed: it is dead, or about to be killed."""
        end_tree(self._process)  # changes nothing for a process that is already ending
        code, peak = reap(self._process)
        peak = peak if peak > self._inherited else self._observed_peak
        output = self._last_words()
        words = output.decode(errors="replace")
        if ran_out_of_time(code):
            return SandboxFailure(FailureKind.TOO_SLOW, "the processor time was used up")
        # native code aborts silently if it gets no memory; if it detects corruption, it prints a message
        gave_up = code == worker.MEMORY_EXIT or (code == -signal.SIGABRT and not output)
        if gave_up or _NO_MEMORY.search(output) or peak > _MOST * self.memory:
            return SandboxFailure(FailureKind.OUT_OF_MEMORY, f"{peak >> 20} MiB of {self.memory >> 20} MiB; {words}")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return SandboxFailure(FailureKind.CRASHED, f"{how}; {words}".strip("; "))

    def _last_words(self) -> bytes:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(size - 600, 0))
        return self._errors.read().strip()
