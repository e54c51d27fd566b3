"""Processes that end with all that they start (by a session, on Windows by a job), and waiting for their pipes."""

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
"""Seconds between two checks; short compared with reading a page."""


class PipeEnd:
    """Watch the read end of a pipe.

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
        """Wait until there is data or the other end is closed; return whether that happened in time."""
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
    """Start a process that `end_tree` ends together with all that it has started.

    Args:
        command: the program's path and its arguments.
        env: the complete environment; on Windows the system folder's variable is added, which every program needs.
        stdin, stdout, stderr, bufsize: as `subprocess.Popen` takes them.
        cwd: its working directory.

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
    """End a process of `start_tree` and all that it has started; harmless if it has ended."""
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        windows.end_job(process)
    else:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)


def limit(process: subprocess.Popen[bytes], *, memory: int, seconds: float | None = None, alone: bool = False) -> None:
    """Limit a process of `start_tree` from outside, as far as the system can; macOS cannot.

    Args:
        process: must not have begun its work.
        memory: maximum bytes; on Windows in addition to its present size.
        seconds: CPU time, on Linux.
        alone: it must not start other processes, on Windows.
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
            with contextlib.suppress(OSError, ValueError):  # it may have ended already, or have lower limits
                resource.prlimit(process.pid, kind, (bound, bound))


def reap(process: subprocess.Popen[bytes]) -> tuple[int, int]:
    """Wait for the end of a process of `start_tree`; return its exit code (a negated signal number) and peak memory."""
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
    """Return whether an exit code means that a limit of CPU time was reached."""
    return sys.platform != "win32" and code == -signal.SIGXCPU


_UNIT = 1 if sys.platform == "darwin" else 1024
"""Bytes per unit of the system's resident sizes."""


def own_peak() -> int:
    """Return the peak size of this process in bytes; on Linux it includes the parent's size before."""
    if sys.platform == "win32":
        from knowledge_mcp.support.system import windows

        return windows.own_peak()
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _UNIT


def is_running(number: int) -> bool:
    """Return whether a process id is in use, by any user; on Windows `os.kill` would send Ctrl-C."""
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
    """Return the program that starts another Python; on Windows an environment's own would only start a third."""
    return interpreter_behind() if sys.platform == "win32" else sys.executable


def interpreter_behind() -> str:
    """Return the Python from which this environment was created."""
    return getattr(sys, "_base_executable", "") or sys.executable
