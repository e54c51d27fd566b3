"""Job objects and pipes of Windows, by its own API; not used elsewhere.

A job object contains a process with all that it starts. It limits their memory, and ends them when its last handle is
closed, which the system does when this process ends, even by a crash.
"""

from __future__ import annotations

import contextlib
import ctypes
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

_KILL_ON_CLOSE, _PROCESS_MEMORY, _ACTIVE_PROCESSES, _NO_DIALOG = 0x2000, 0x100, 0x8, 0x400
_EXTENDED_LIMITS = 9
_NO_WINDOW, _SUSPENDED = 0x0800_0000, 0x4
_ASK_LITTLE, _STILL_ACTIVE, _DENIED = 0x1000, 259, 5

_JOBS: weakref.WeakKeyDictionary[subprocess.Popen[bytes], int] = weakref.WeakKeyDictionary()
"""The job object of each process started here."""


class _Limits(ctypes.Structure):
    """Limits of a job object, in the system's layout."""

    _fields_ = (
        ("process_time", ctypes.c_int64),
        ("job_time", ctypes.c_int64),
        ("flags", ctypes.c_uint32),
        ("least_working_set", ctypes.c_size_t),
        ("most_working_set", ctypes.c_size_t),
        ("processes", ctypes.c_uint32),
        ("affinity", ctypes.c_size_t),
        ("priority", ctypes.c_uint32),
        ("scheduling", ctypes.c_uint32),
        ("operations", ctypes.c_uint64 * 6),
        ("process_memory", ctypes.c_size_t),
        ("job_memory", ctypes.c_size_t),
        ("process_peak", ctypes.c_size_t),
        ("job_peak", ctypes.c_size_t),
    )


class _Memory(ctypes.Structure):
    """Memory of a process, in the system's layout."""

    _fields_ = (
        ("size", ctypes.c_uint32),
        ("faults", ctypes.c_uint32),
        ("peak_working_set", ctypes.c_size_t),
        ("working_set", ctypes.c_size_t),
        ("pools", ctypes.c_size_t * 4),
        ("committed", ctypes.c_size_t),
        ("peak_committed", ctypes.c_size_t),
    )


def _library(name: str) -> Any:
    if sys.platform != "win32":
        raise OSError(f"{name} is a library of Windows")
    return ctypes.WinDLL(name, use_last_error=True)


def _check(succeeded: object, what: str) -> None:
    if not succeeded:
        code = 0
        if sys.platform == "win32":
            code = ctypes.get_last_error()
        raise OSError(code, f"Windows refused to {what} (error {code})")


def start_in_job(start: Callable[[int, dict[str, str]], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    """Start a process in its own job object, before it runs.

    Args:
        start: starts it, given its creation flags and the variables that every program needs.

    Raises:
        OSError: it cannot be started or put in a job object; nothing runs then.
    """
    kernel = _library("kernel32")
    create = kernel.CreateJobObjectW
    create.restype = ctypes.c_void_p
    job = create(None, None)
    _check(job, "make a job")
    try:
        _set(kernel, job, _Limits(flags=_KILL_ON_CLOSE | _NO_DIALOG))
        process = start(_NO_WINDOW | _SUSPENDED, {"SYSTEMROOT": _system_root(kernel)})
        try:
            handle = _handle_of(process)
            _check(kernel.AssignProcessToJobObject(ctypes.c_void_p(job), handle), "put a process in its job")
            _check(_library("ntdll").NtResumeProcess(handle) >= 0, "let a process begin")
        except BaseException:
            process.kill()
            with process:  # closes its pipes and waits for its end
                raise
    except BaseException:
        kernel.CloseHandle(ctypes.c_void_p(job))
        raise
    _JOBS[process] = job
    weakref.finalize(process, kernel.CloseHandle, ctypes.c_void_p(job))
    return process


def limit_job(process: subprocess.Popen[bytes], *, memory: int, alone: bool) -> None:
    """Allow a process to commit a number of bytes more than now, and with `alone` no other processes.

    Raises:
        OSError: it cannot be limited; it must not go on.
    """
    kernel = _library("kernel32")
    flags = _KILL_ON_CLOSE | _NO_DIALOG | _PROCESS_MEMORY | (_ACTIVE_PROCESSES if alone else 0)
    most = _memory_of(kernel, _handle_of(process)).committed + memory
    _set(kernel, _JOBS[process], _Limits(flags=flags, process_memory=most, processes=1 if alone else 0))


def end_job(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it has started."""
    _library("kernel32").TerminateJobObject(ctypes.c_void_p(_JOBS[process]), 1)


def peak_of_job(process: subprocess.Popen[bytes]) -> int:
    """Return the peak committed bytes of one process of a job object, also after its end; 0 if unknown."""
    limits = _Limits()
    _library("kernel32").QueryInformationJobObject(
        ctypes.c_void_p(_JOBS[process]), _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits), None
    )
    return int(limits.process_peak)


def own_peak() -> int:
    """Return the peak committed bytes of this process."""
    kernel = _library("kernel32")
    current = kernel.GetCurrentProcess
    current.restype = ctypes.c_void_p
    return int(_memory_of(kernel, ctypes.c_void_p(current())).peak_committed)


def is_running(number: int) -> bool:
    """Return whether a process runs, of any user."""
    kernel = _library("kernel32")
    opened = kernel.OpenProcess
    opened.restype = ctypes.c_void_p
    handle = opened(_ASK_LITTLE, 0, number)
    if not handle:
        if sys.platform == "win32":
            return ctypes.get_last_error() == _DENIED
        return False
    code = ctypes.c_uint32()
    succeeded = kernel.GetExitCodeProcess(ctypes.c_void_p(handle), ctypes.byref(code))
    kernel.CloseHandle(ctypes.c_void_p(handle))
    return not succeeded or code.value == _STILL_ACTIVE


def has_input(descriptor: int) -> bool:
    """Return whether a pipe has data, or its other end is closed."""
    if sys.platform == "win32":
        import msvcrt

        waiting = ctypes.c_uint32()
        pipe = ctypes.c_void_p(msvcrt.get_osfhandle(descriptor))
        succeeded = _library("kernel32").PeekNamedPipe(pipe, None, 0, None, ctypes.byref(waiting), None)
        return not succeeded or waiting.value > 0
    return False


def _set(kernel: Any, job: int, limits: _Limits) -> None:
    succeeded = kernel.SetInformationJobObject(
        ctypes.c_void_p(job), _EXTENDED_LIMITS, ctypes.byref(limits), ctypes.sizeof(limits)
    )
    _check(succeeded, "limit a job")


def _memory_of(kernel: Any, handle: ctypes.c_void_p) -> _Memory:
    memory = _Memory(size=ctypes.sizeof(_Memory))
    _check(kernel.K32GetProcessMemoryInfo(handle, ctypes.byref(memory), memory.size), "tell a process's memory")
    return memory


def _handle_of(process: subprocess.Popen[bytes]) -> ctypes.c_void_p:
    return ctypes.c_void_p(int(getattr(process, "_handle")))  # noqa: B009 - only Windows has it


def _system_root(kernel: Any) -> str:
    name = ctypes.create_unicode_buffer(260)
    with contextlib.suppress(OSError):
        kernel.GetSystemWindowsDirectoryW(name, len(name))
    return name.value
