"""Jobs that do in a child process what code that a hostile file brought along would do there."""

from __future__ import annotations

import ctypes
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any


def attempt(what: str, target: str = "") -> Iterator[str]:
    """Try something that no reader needs; yield `refused: …` or what came of it."""
    try:
        yield f"got through: {ATTEMPTS[what](target)!r}"
    except (OSError, ValueError) as error:
        yield f"refused: {error}"


def environment() -> Iterator[dict[str, str]]:
    """Yield the environment."""
    yield dict(os.environ)


def threads(count: int) -> Iterator[int]:
    """Start threads that wait for ever."""
    threading.stack_size(65536)
    for _ in range(count):
        threading.Thread(target=threading.Event().wait, daemon=True).start()
    yield count
    threading.Event().wait()


def fill_descriptors() -> Iterator[int]:
    """Open descriptors until the system refuses, and yield how many there were."""
    opened: list[int] = []
    try:
        while len(opened) < 100_000:
            opened.append(os.dup(1))
    except OSError:
        pass
    yield len(opened)


def linger() -> Iterator[int]:
    """Yield this process's number, then go on for ever in a way that no pipe's end can stop."""
    yield os.getpid()
    while True:
        time.sleep(1)


def hold(path: str) -> Iterator[str]:
    """Yield where this process's file is, then go on for ever."""
    yield path
    yield from map(str, linger())


def exhaust(what: str) -> Iterator[str]:
    """Use something up without end; yields where that came to nothing by itself."""
    try:
        _ENDLESS[what]()
    except (OSError, MemoryError) as error:
        yield f"refused: {error}"


def _memory() -> None:
    held: list[bytearray] = []
    while True:
        held.append(bytearray(b"x") * (16 << 20))


def _threads() -> None:
    for _ in threads(1_000_000):
        pass


def _processes() -> None:
    while True:
        os.fork()  # noqa: TID251 - what the sandbox must stop


def _descriptors() -> None:
    while True:
        os.dup(1)


def _disk() -> None:
    with Path(os.environ["TMPDIR"], "large").open("wb") as stream:
        while True:
            stream.write(b"x" * (1 << 20))


def _printing() -> None:
    while True:
        os.write(2, b"x" * 65536)


def _time() -> None:
    while True:
        pass


_ENDLESS: dict[str, Callable[[], None]] = {
    "memory": _memory,
    "threads": _threads,
    "processes": _processes,
    "descriptors": _descriptors,
    "disk": _disk,
    "printing": _printing,
    "time": _time,
    "sleep": lambda: time.sleep(3600),
}


def _read(target: str) -> bytes:
    return Path(target).read_bytes()[:20]


def _write(target: str) -> int:
    return Path(target).write_bytes(b"x" * (2 << 20))


def _list(target: str) -> list[str]:
    return [each.name for each in Path(target).iterdir()][:3]


def _connect(target: str) -> str:
    with socket.create_connection(("127.0.0.1", int(target)), timeout=5):
        return "connected"


def _send_by_name(target: str) -> int:
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    return one.sendto(b"x", target)


def _execute(target: str) -> int:
    os.execv(target, [target])


def _trace(target: str) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    if library.ptrace(16, int(target), None, None) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")
    return 0


def _read_memory(target: str) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    buffer = ctypes.create_string_buffer(16)
    parts = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 16)
    if library.process_vm_readv(int(target), parts, 1, parts, 1, 0) < 0:
        raise OSError(ctypes.get_errno(), "process_vm_readv")
    return 0


def _raise_limit(_: str) -> int:
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE, resource.RLIMIT_CORE):
        resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return 0


def _stay(_: str) -> int:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(1, 0, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
    return 0


ATTEMPTS: dict[str, Callable[[str], Any]] = {
    "read": _read,
    "write": _write,
    "list": _list,
    "connect": _connect,
    "listen": lambda _: socket.create_server(("127.0.0.1", 0)).close(),
    "send by name": _send_by_name,
    "execute": _execute,
    "fork": lambda _: os.fork(),  # noqa: TID251 - what the sandbox must stop
    "trace": _trace,
    "read memory": _read_memory,
    "signal": lambda target: os.kill(int(target), signal.SIGUSR1),
    "limit another": lambda target: resource.prlimit(int(target), resource.RLIMIT_NOFILE, (8, 8)),
    "raise limits": _raise_limit,
    "outlive": _stay,
    "change rights": lambda target: Path(target).chmod(0o777),
    "remove": lambda target: Path(target).unlink(),
    "rename": lambda target: Path(target).rename(f"{target}-2"),
    "make folder": lambda target: Path(f"{target}-3").mkdir(),
    "link": lambda target: Path(f"{target}-4").symlink_to("/etc"),
}
