"""Locks between processes and threads: one file for each name, with one holder at a time.

The system releases a lock when its holder ends, even by a crash. The last holder removes the lock's file.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Generator
from pathlib import Path

from knowledge_mcp.support.files import make_private_folder
from knowledge_mcp.support.system.locking import try_lock

_PAUSE = 0.05


@contextlib.contextmanager
def hold_lock(folder: Path, name: str, *, give_up: Callable[[], bool] = bool) -> Generator[bool]:
    """Hold the lock of a name during the block; waits until `give_up` returns true, and yields whether it was acquired.

    Args:
        folder: contains the lock files; created if missing.
        name: any text.
        give_up: called a few times a second while another holds the lock.

    Raises:
        OSError: the folder is not writable.
    """
    path = _file(folder, name)
    descriptor = _try_lock(path)
    while descriptor is None and not give_up():
        time.sleep(_PAUSE)
        descriptor = _try_lock(path)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            _free(path, descriptor)


def acquire(folder: Path, name: str) -> Callable[[], None]:
    """Take a lock that nobody else should want, until the returned function is called or garbage-collected.

    Raises:
        OSError: the folder is not writable.
    """
    stack = contextlib.ExitStack()
    stack.enter_context(hold_lock(folder, name))
    return stack.close


def is_free(folder: Path, name: str) -> bool:
    """Return whether the lock of a name is free now."""
    path = _file(folder, name)
    if not path.exists():
        return True
    descriptor = _try_lock(path)
    if descriptor is None:
        return False
    _free(path, descriptor)
    return True


def _free(path: Path, descriptor: int) -> None:
    """Remove a lock's file while holding it: others who opened it meanwhile notice that it is gone."""
    if sys.platform == "win32":
        os.close(descriptor)
        with contextlib.suppress(OSError):  # a file that another process has open cannot be removed there
            path.unlink()
    else:
        path.unlink(missing_ok=True)
        os.close(descriptor)


def _file(folder: Path, name: str) -> Path:
    make_private_folder(folder)
    return folder / f"{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}.lock"


def _try_lock(path: Path) -> int | None:
    """Lock the file without waiting and return its descriptor; None if another holds it, or has just removed it."""
    try:
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
    except PermissionError:
        if sys.platform == "win32" and path.parent.is_dir():
            return None  # it is just being removed
        raise
    try:
        if try_lock(descriptor):
            opened, there = os.fstat(descriptor), path.stat()
            if (opened.st_ino, opened.st_dev) == (there.st_ino, there.st_dev):
                return descriptor
    except FileNotFoundError:
        pass
    except BaseException:
        os.close(descriptor)
        raise
    os.close(descriptor)
    return None
