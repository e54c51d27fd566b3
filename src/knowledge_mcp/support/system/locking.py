"""Lock what is open, for one holder at a time: by `flock`, on Windows by `msvcrt`. It is free once it is closed."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path

_FAR = 0x7FFF_FFFE
"""The byte that is locked on Windows. What is locked there cannot be read, so it lies where nothing is written."""
_LOCKED_ERRORS = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK})
_PAUSE = 0.05
"""Seconds between two tries: a person does not notice them, and the processor does not either."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file now; False where another descriptor holds it, in this process or another one.

    Raises:
        OSError: this file system has no locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(descriptor, _FAR, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _LOCKED_ERRORS:
            return False
        raise
    return True


def lock(descriptor: int) -> None:
    """Lock an open file as `try_lock` does, however long that takes."""
    while not try_lock(descriptor):
        time.sleep(_PAUSE)


def open_folder(folder: Path, *, new: bool = False) -> int:
    """Open what is locked for a folder: itself, on Windows a file next to it.

    Args:
        folder: no link.
        new: the folder was made just now.

    Raises:
        OSError: it cannot be opened.
    """
    if sys.platform == "win32":
        return os.open(_lock_file(folder), os.O_RDWR | (os.O_CREAT if new else 0), 0o600)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def release_folder(descriptor: int, folder: Path) -> None:
    """Close what `open_folder` opened, once the folder is gone."""
    os.close(descriptor)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):  # another process looks at it just now, and removes it
            os.unlink(_lock_file(folder))  # noqa: PTH108 - the same call as above


def _lock_file(folder: Path) -> str:
    return f"{folder}.lock"
