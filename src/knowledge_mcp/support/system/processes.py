"""Processes that end with all that they start (a session of their own, on Windows a job), and waits for their pipes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO

_GLANCE = 0.005
"""Seconds between two looks; reading a page takes longer."""


class PipeEnd:
    """Watch the end of a pipe that is read.

    Args:
        descriptor: of an open pipe.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        if sys.platform != "win32":
            import select

            self._poll = select.poll()
            self._poll.register(descriptor, select.POLLIN)

    def is_readable(self, seconds: float) -> bool:
        """Wait until there is something to read or the other end is closed; returns whether that came in time."""
        if sys.platform != "win32":
            return bool(self._poll.poll(seconds * 1000))
        from knowledge_mcp.support.system import windows

        deadline = time.monotonic() + seconds
        while not windows.has_input(self._descriptor):
            remaining = deadline - time.monotonic()
            if remaining <= 0:
                return False
            time.sleep(min(remaining, _GLANCE))
        return True


def start_tree(
    command: Sequence[str],
    *,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int | IO[bytes],
    cwd: Path | None = None,
    bufsize: int = -1,
) -> subprocess.Popen[bytes]:
    """Start a process that `end_tree` ends with all that it has started.

    Args:
        command: the program's path and its arguments.
        env: all its variables; on Windows that of the system's folder is added, without which no program starts.
        stdin, stdout, stderr, bufsize: as `subprocess.Popen` takes them.
        cwd: its folder.

    Raises:
        OSError: it cannot be started.
    """
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        return windows.start_in_job(
            lambda flags, variables: subprocess.Popen(
                command,
                env={**variables, **env},
                cwd=cwd,
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                bufsize=bufsize,
                creationflags=flags,
            )
        )
    return subprocess.Popen(
        command, env=env, cwd=cwd, stdin=stdin, stdout=stdout, stderr=stderr, bufsize=bufsize, start_new_session=True
    )


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process of `start_tree` and all that it has started; harmless where it has ended."""
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        windows.end_job(process)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def limit(process: subprocess.Popen[bytes], *, memory: int, seconds: float | None = None, alone: bool = False) -> None:
    """Limit a process of `start_tree` from outside, as far as the system can; macOS cannot.

    Args:
        process: it has not begun its work.
        memory: bytes that it may have; on Windows beyond what it has now.
        seconds: processor time, on Linux.
        alone: it may start no other process, on Windows.
    """
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        windows.limit_job(process, memory=memory, alone=alone)
    elif sys.platform == "linux":
        import resource

        bounds = {resource.RLIMIT_CORE: 0, resource.RLIMIT_AS: memory}
        if seconds is not None:
            bounds[resource.RLIMIT_CPU] = int(seconds) + 2
        for kind, bound in bounds.items():
            with contextlib.suppress(OSError, ValueError):  # it may have ended already, or its limits be lower
                resource.prlimit(process.pid, kind, (bound, bound))


def reap(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Wait for the end of a process of `start_tree`; returns exit code (a signal's number negated) and memory peak."""
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        return process.wait(), windows.peak_of_job(process)
    try:
        _, status, usage = os.wait4(process.pid, 0)
    except ChildProcessError:
        return process.wait(), 0
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * _UNIT


def ran_out_of_time(code: int) -> bool:
    """Return whether an exit code says that a limit of processor time was reached."""
    return sys.platform != "win32" and code == -signal.SIGXCPU


_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes of what the system counts a resident size in."""


def own_peak() -> int:
    """Return the largest size that this process has had, in bytes; Linux counts what its parent had before."""
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        return windows.own_peak()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def is_running(number: int) -> bool:
    """Return whether this machine has a process of a number, whosever it is; on Windows `os.kill` would send Ctrl-C."""
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        return windows.is_running(number)
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def interpreter() -> str:
    """Return the program to start for another Python; on Windows that of an environment would only start a third."""
    return interpreter_behind() if sys.platform == "win32" else sys.executable


def interpreter_behind() -> str:
    """Return the Python that the environment of this one was made from."""
    return getattr(sys, "_base_executable", "") or sys.executable
