"""Work on untrusted bytes in a child process with memory and time limits.

A parser of a hostile or broken file can eat all memory, never end, or crash; in a child it takes nothing else with it.
The child is a fresh interpreter (no fork of a threaded parent), its standard streams are pipes of its own (a server's
stdin and stdout are never touched), its environment is empty. A child that did its job is kept warm for the next one;
after any failure, or once it has grown, it goes. Values come back one by one, so that neither side ever holds them all.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import IO, Any

from knowledge_mcp.support import sandbox_worker as worker

__all__ = ["FailureKind", "Limits", "Refusal", "Sandbox", "SandboxFailure"]

Refusal = worker.Refusal

_ENTRY = "import sys; from knowledge_mcp.support.sandbox_worker import main; main(float(sys.argv[1]))"
_NO_MEMORY = re.compile(
    rb"memory allocation of|out of memory|bad_alloc|MemoryError|cannot allocate memory", re.IGNORECASE
)

_GLANCE = 0.05
"""Seconds, at most, between two looks at how large a working child is; a dead one cannot be asked any more."""
_MOST = 0.75
"""A crash above this share of the memory limit is taken for the limit's doing: native code aborts without a word."""


class FailureKind(StrEnum):
    """How a job came to a bad end."""

    TOO_SLOW = "too_slow"
    OUT_OF_MEMORY = "out_of_memory"
    CRASHED = "crashed"
    FAILED = "failed"


class SandboxFailure(Exception):  # noqa: N818 - named for what happened
    """Say that a job did not end well: too slow, out of memory, crashed, or an exception in its function."""

    def __init__(self, kind: FailureKind, details: str) -> None:
        super().__init__(f"{kind}: {details}")
        self.kind = kind
        self.details = details


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound one job.

    Attributes:
        memory: bytes the child may map beyond its start.
        seconds: wall-clock seconds in all, and the same of processor time; time in which the child waits for its parent
            to take the next value is not counted.
        silence: wall-clock seconds between two values.
        frame: bytes of one value.
    """

    memory: int = 1024 * 1024 * 1024
    seconds: float = 1800.0
    silence: float = 120.0
    frame: int = 128 * 1024 * 1024


class Sandbox:
    """Run functions in warm child processes. Thread-safe: each job has a child to itself.

    Args:
        limits: for jobs that bring none of their own.
        keep: idle children kept at most.
        idle_seconds: after so long without a job a child ends by itself.
        retire_above: a child whose memory peak passed so many bytes is not kept.
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

    def run(self, function: str, arguments: Mapping[str, Any], *, limits: Limits | None = None) -> Generator[Any]:
        """Yield what `function` yields, value by value; closing the generator kills the child.

        Args:
            function: `package.module:name` of a function that yields JSON values or bytes; it may raise `Refusal`.
            arguments: its keyword arguments, JSON values. A file is handed over by its absolute path.
            limits: for this job.

        Raises:
            Refusal: the function said no.
            SandboxFailure: the job did not end well.
        """
        bounds = limits or self._limits
        job = {"function": function, "arguments": dict(arguments), "memory": bounds.memory, "seconds": bounds.seconds}
        child = self._take(json.dumps(job).encode() + b"\n", bounds)
        fit = False
        try:
            peak = yield from child.values(bounds)
            fit = peak <= self._retire_above
        except Refusal:
            fit = True
            raise
        finally:
            self._put_back(child, fit=fit)

    def close(self) -> None:
        """End every idle child; jobs under way end theirs when they are done."""
        with self._lock:
            self._closed = True
        _stop_all(self._idle)

    def _take(self, request: bytes, bounds: Limits) -> _Child:
        """Hand the job to an idle child or to a new one; an idle one may just have ended by itself."""
        while True:
            with self._lock:
                child, warm = (self._idle.pop(), True) if self._idle else (None, False)
            child = child or _Child(self._idle_seconds)
            try:
                child.accept(request, bounds)
            except SandboxFailure:
                child.kill()
                if not warm:
                    raise
            except BaseException:
                child.kill()
                raise
            else:
                return child

    def _put_back(self, child: _Child, *, fit: bool) -> None:
        with self._lock:
            if fit and not self._closed and len(self._idle) < self._keep:
                self._idle.append(child)
                return
        child.kill()


def _stop_all(children: list[_Child]) -> None:
    while children:
        children.pop().kill()


def _resident_peak(usage: resource.struct_rusage) -> int:
    return usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class _Child:
    """One child process with its pipes."""

    def __init__(self, idle_seconds: float) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - lives as long as the child
        environment = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONUTF8": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-c", _ENTRY, str(idle_seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            bufsize=0,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._poll = select.poll()
        self._poll.register(self._replies.fileno(), select.POLLIN)
        self._waited = 0.0
        self._memory = 0
        self._inherited = _resident_peak(resource.getrusage(resource.RUSAGE_SELF))
        # the system counts this process's own size, until the child's program began, as the child's
        self._seen_peak = 0

    def accept(self, request: bytes, bounds: Limits) -> None:
        """Send one job and wait until the child has taken it."""
        self._waited = 0.0
        self._seen_peak = 0
        self._memory = bounds.memory
        self._errors.seek(0)  # parent and child share the offset: what earlier jobs printed is overwritten
        self._errors.truncate()
        try:
            self._requests.write(request)
        except BrokenPipeError as error:
            raise self._crash() from error
        self._frame(bounds)

    def values(self, bounds: Limits) -> Generator[Any, None, int]:
        """Yield the values of the job that was accepted; returns the child's memory peak in bytes."""
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

    def kill(self) -> None:
        """End the child and whatever it started, and free its pipes; harmless when it is gone already."""
        if self._process.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._requests, self._replies, self._errors):
            with contextlib.suppress(OSError):
                stream.close()

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
            left = max(min(deadline - start, bounds.seconds - self._waited), 0.0)
            ready = self._poll.poll(min(left, glance) * 1000)
            self._waited += time.monotonic() - start
            if not ready and left > glance:
                self._seen_peak = max(self._seen_peak, worker.peak_of(self._process.pid))
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
        """Say why the child's end of the pipe is closed: it is dead, or will be once it is killed."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)  # changes nothing for a process that is ending already
        code, peak = self._reap()
        peak = peak if peak > self._inherited else self._seen_peak
        said = self._last_words()
        words = said.decode(errors="replace")
        if code == -signal.SIGXCPU:
            return SandboxFailure(FailureKind.TOO_SLOW, "the processor time was used up")
        # native code that gets no memory aborts without a word; one that found itself in disorder says so
        gave_up = code == worker.MEMORY_EXIT or (code == -signal.SIGABRT and not said)
        if gave_up or _NO_MEMORY.search(said) or peak > _MOST * self._memory:
            return SandboxFailure(FailureKind.OUT_OF_MEMORY, f"{peak >> 20} MiB of {self._memory >> 20} MiB; {words}")
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        return SandboxFailure(FailureKind.CRASHED, f"{how}; {words}".strip("; "))

    def _reap(self) -> tuple[int, int]:
        """Wait for the end; returns exit code (a signal's number negated) and peak resident bytes."""
        try:
            _, status, usage = os.wait4(self._process.pid, 0)
        except ChildProcessError:
            return self._process.wait(), 0
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return self._process.returncode, _resident_peak(usage)

    def _last_words(self) -> bytes:
        size = self._errors.seek(0, os.SEEK_END)
        self._errors.seek(max(size - 600, 0))
        return self._errors.read().strip()
