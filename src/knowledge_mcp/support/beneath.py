"""Open files beneath a folder, so that no link put in the way leads out of it; the descriptor is judged, not the name.

The folder of the file is opened from the root on without following any link: by `openat2` where the kernel has it,
else component by component. Then the file is opened in that folder. Whatever is renamed or replaced meanwhile, the
descriptor belongs to a regular file that stood beneath the root. A hard link is a name like any other: what one leads
to cannot be told, so a root should lie where no stranger may make hard links (Linux refuses those to files that their
maker may not write: `fs.protected_hardlinks`).
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import sys
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path

__all__ = ["NotRegularError", "identity_of", "open_beneath", "open_same"]

_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_LACKING = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.EAGAIN})
_FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC


class NotRegularError(OSError):
    """Say that a folder, a pipe, a device or a socket stands where a file was asked for."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: str | os.PathLike[str] | None, path: Path) -> BufferedReader:
    """Open a regular file for reading.

    Args:
        root: a folder, links in it resolved, or the file itself; None where the file may be anywhere.
        path: the file's absolute path without any link or `..`, below the root.

    Raises:
        NotRegularError: it is something else than a file.
        OSError: it is not there, may not be read, or a link stands in the way.
    """
    place = path.parent if root is None or path == Path(root) else Path(root)
    with ExitStack() as stack:
        folder = os.open(place, _FOLDER)
        stack.callback(os.close, folder)
        parts = path.parent.relative_to(place).parts
        if parts:
            folder = _folder_beneath(folder, parts)
            stack.callback(os.close, folder)
        # a pipe or a device is not even opened: that alone may wait for ever, or set something going
        _make_sure_regular(os.stat(path.name, dir_fd=folder, follow_symlinks=False), path)
        descriptor = os.open(path.name, _FILE, dir_fd=folder)
    try:
        _make_sure_regular(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def open_same(root: str | os.PathLike[str] | None, path: Path, identity: tuple[int, ...]) -> BufferedReader:
    """Open a file as `open_beneath` does, and make sure that it is the one that was looked at before.

    Raises:
        OSError: as `open_beneath`, or it was replaced or changed.
    """
    stream = open_beneath(root, path)
    if identity_of(stream) != identity:
        stream.close()
        raise OSError(errno.ESTALE, "The file was replaced or changed", str(path))
    return stream


def identity_of(stream: BufferedReader) -> tuple[int, ...]:
    """Return what differs for another file, or for other bytes: device, inode, size, time of the last change."""
    status = os.fstat(stream.fileno())
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _make_sure_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "This is no regular file", str(path))


def _folder_beneath(root: int, parts: tuple[str, ...]) -> int:
    descriptor = _at_once(root, parts)
    return descriptor if descriptor is not None else _step_by_step(root, parts)


def _at_once(root: int, parts: tuple[str, ...]) -> int | None:
    """Open a folder by one call of `openat2`; None where the system has no such call, or is too busy to be sure."""
    call = _system_call()
    if call is None:
        return None
    how = _OpenHow(_FOLDER, 0, _BENEATH | _NO_SYMLINKS | _NO_MAGICLINKS)
    name = os.fsencode("/".join(parts))
    descriptor: int = call(_OPENAT2, root, name, ctypes.byref(how), ctypes.sizeof(how))
    if descriptor >= 0:
        return descriptor
    code = ctypes.get_errno()
    if code in _LACKING:
        return None
    raise OSError(code, os.strerror(code), os.fsdecode(name))


def _step_by_step(root: int, parts: tuple[str, ...]) -> int:
    """Open a folder component by component, following no link; the caller closes the descriptor."""
    folder = root
    for part in parts:
        if part in {"..", "."} or "/" in part:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)
        try:
            deeper = os.open(part, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
        finally:
            if folder != root:
                os.close(folder)
        folder = deeper
    return folder


@functools.cache
def _system_call() -> ctypes._NamedFuncPointer | None:  # pyright: ignore[reportPrivateUsage]  # its only name
    if sys.platform != "linux" or os.uname().machine not in {"x86_64", "aarch64"}:
        return None
    call = ctypes.CDLL(None, use_errno=True).syscall
    call.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_size_t)
    call.restype = ctypes.c_long
    return call
