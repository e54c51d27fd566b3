"""Lock open files, with one holder at a time, by `flock` or `msvcrt`; closing the file releases the lock."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import time
from pathlib import Path

_FAR = 0x7FFF_FFFE
"""The byte locked on Windows. Locked bytes cannot be read, so it is far behind all data."""
_LOCKED_ERRORS = frozenset({errno.EAGAIN, errno.EWOULDBLOCK, errno.EACCES, errno.EDEADLK})
_PAUSE = 0.05
"""Seconds between two tries: too short for a person to notice, and long enough to use little CPU."""


def try_lock(descriptor: int) -> bool:
    """Lock an open file without waiting; False if another descriptor holds it, in this process or another one.

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
    """Lock an open file like `try_lock`, and wait as long as necessary."""
    while not try_lock(descriptor):
        time.sleep(_PAUSE)


def open_folder(folder: Path, *, new: bool = False) -> int:
    """Open what is locked for a folder: the folder itself, on Windows a file next to it.

    Args:
        folder: not a link.
        new: whether the folder was just created.

    Raises:
        OSError: it cannot be opened.
    """
    if sys.platform == "win32":
        return os.open(_lock_file(folder), os.O_RDWR | (os.O_CREAT if new else 0), 0o600)
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)


def release_folder(descriptor: int, folder: Path) -> None:
    """Close what `open_folder` opened, after the folder was removed."""
    os.close(descriptor)
    if sys.platform == "win32":
        with contextlib.suppress(OSError):  # another process is looking at it, and removes it
            os.unlink(_lock_file(folder))  # noqa: PTH108 - the same call as above


def _lock_file(folder: Path) -> str:
    return f"{folder}.lock"
