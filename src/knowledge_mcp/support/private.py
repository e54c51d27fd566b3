"""Folders and files that only their owner reads, unless the platform shares the folder with a group."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["make_private_folder", "private_file_mode", "touch_private"]


def make_private_folder(folder: Path) -> None:
    """Make a folder with those above it, each new one for its owner only; one that is there stays as it is.

    Below a folder that the platform shares with a group, such as a volume of OpenShift, new ones are shared too.

    Raises:
        OSError: one cannot be made.
    """
    missing: list[Path] = []
    there = folder
    while not there.exists():
        missing.append(there)
        there = there.parent
    for each in reversed(missing):
        each.mkdir(mode=0o700, exist_ok=True)
        if _is_shared(each.parent):
            each.chmod(stat.S_IMODE(each.stat().st_mode) | 0o770)
    if not missing:
        folder.mkdir(exist_ok=True)  # which says what is wrong where it is no folder


def private_file_mode(folder: Path) -> int:
    """Return the mode of a new file: 0600, or 0660 in a folder that the platform shares with a group."""
    return 0o660 if _is_shared(folder) else 0o600


def touch_private(path: Path) -> None:
    """Make an empty private file where there is none.

    Raises:
        OSError: it cannot be made.
    """
    if not path.exists():
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            if private_file_mode(path.parent) != 0o600:
                os.fchmod(descriptor, private_file_mode(path.parent))
        finally:
            os.close(descriptor)


def _is_shared(folder: Path) -> bool:
    """Tell whether a group may write and all others may not, and the group is the folder's own or the platform's."""
    status = folder.stat()
    if not status.st_mode & stat.S_IWGRP or status.st_mode & stat.S_IWOTH:
        return False
    return bool(status.st_mode & stat.S_ISGID) or (status.st_gid == 0 and os.geteuid() != 0)
