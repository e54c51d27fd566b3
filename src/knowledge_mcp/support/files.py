"""Open files below a folder so that no symbolic link leads outside it; checks use the descriptor, not the name.

The file's folder is opened from the root without following any link: by `openat2` if the kernel has it, otherwise
component by component. Then the file is opened in that folder. Whatever is renamed or replaced meanwhile, the
descriptor belongs to a regular file that was below the root. Hard links cannot be detected, so a root should be where
no untrusted user can create them (Linux refuses hard links to files that their creator cannot write:
`fs.protected_hardlinks`).
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import functools
import io
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from io import BufferedReader
from pathlib import Path

_OPENAT2 = 437
_NO_MAGICLINKS, _NO_SYMLINKS, _BENEATH = 0x02, 0x04, 0x08
_LACKING = frozenset({errno.ENOSYS, errno.EPERM, errno.EINVAL, errno.E2BIG, errno.EAGAIN})
if sys.platform == "win32":
    _NO_LINK = _FOLDER = _FILE = 0  # folders cannot be opened there: `_open_and_look`
else:
    _NO_LINK = os.O_NOFOLLOW
    _FOLDER = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
    _FILE = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC


_MOST_READ = 16 << 20
"""Maximum bytes of a file that is read whole into memory: lists and settings that people write have far less."""


class NotRegularError(OSError):
    """A folder, a pipe, a device or a socket was found instead of a file."""


class _OpenHow(ctypes.Structure):
    _fields_ = (("flags", ctypes.c_uint64), ("mode", ctypes.c_uint64), ("resolve", ctypes.c_uint64))


def open_beneath(root: str | os.PathLike[str] | None, path: Path) -> BufferedReader:
    """Open a regular file for reading.

    Args:
        root: a folder, with links resolved, or the file itself; None if the file may be anywhere.
        path: the file's absolute path without any link or `..`, below the root.

    Raises:
        NotRegularError: it is not a regular file.
        OSError: it does not exist, cannot be read, or a link is in the way.
    """
    place = path.parent if root is None or path == Path(root) else Path(root)
    if sys.platform == "win32":
        return _open_and_look(place, path)
    with ExitStack() as stack:
        folder = os.open(place, _FOLDER)
        stack.callback(os.close, folder)
        parts = path.parent.relative_to(place).parts
        if parts:
            folder = _folder_beneath(folder, parts)
            stack.callback(os.close, folder)
        # pipes and devices are not even opened: that alone may block for ever or trigger an action
        _make_sure_regular(os.stat(path.name, dir_fd=folder, follow_symlinks=False), path)
        descriptor = os.open(path.name, _FILE, dir_fd=folder)
    try:
        _make_sure_regular(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_whole(path: str | os.PathLike[str], *, most: int = _MOST_READ) -> bytes:
    """Read a whole regular file that a person named, links followed; a pipe or a device could block for ever.

    Args:
        path: the file.
        most: maximum bytes.

    Raises:
        NotRegularError: it is a pipe, a device or a socket.
        OSError: it does not exist, cannot be read, or is larger than `most`.
    """
    _make_sure_readable(Path(path).stat(), path)
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    with os.fdopen(os.open(path, flags), "rb") as stream:
        _make_sure_readable(os.fstat(stream.fileno()), path)
        content = stream.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"It has more than {most >> 20} MiB", os.fspath(path))
    return content


def read_whole_text(path: str | os.PathLike[str], *, most: int = _MOST_READ) -> str:
    r"""Read a UTF-8 text file like `read_whole`, without a byte order mark and with `\n` for each end of line.

    Raises:
        OSError: as for `read_whole`.
        UnicodeDecodeError: it is not UTF-8.
    """
    return io.TextIOWrapper(io.BytesIO(read_whole(path, most=most)), encoding="utf-8-sig").read()


def _make_sure_readable(status: os.stat_result, path: str | os.PathLike[str]) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "This is not a regular file", os.fspath(path))


def walk_folders(
    folder: str | os.PathLike[str], on_error: Callable[[OSError], object] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield each folder with the names of its folders and files, as `os.walk` does, at any depth.

    `os.walk` of Python 3.11 calls itself for each level, and fails after a thousand. A name that is taken out of the
    list of folders is not entered, and links are never followed.

    Args:
        folder: where to begin.
        on_error: is given the error of each folder that cannot be listed.
    """
    waiting = [os.fspath(folder)]
    while waiting:
        place = waiting.pop()
        folders: list[str] = []
        files: list[str] = []
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    (folders if is_folder(entry) else files).append(entry.name)
        except OSError as error:
            if on_error is not None:
                on_error(error)
            continue
        yield place, folders, files
        inner = (os.path.join(place, name) for name in reversed(folders))  # noqa: PTH118 - as os.walk gives them
        waiting.extend(each for each in inner if not os.path.islink(each))  # noqa: PTH114 - likewise


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry is a folder, also by a link; False if that cannot be known."""
    try:
        return entry.is_dir()
    except OSError:
        return False


def remove_folder(folder: Path) -> None:
    """Remove a folder and its contents as far as possible, on Windows also write-protected files."""
    if sys.platform == "win32":
        for place, _, names in walk_folders(folder):
            for file in (Path(place, name) for name in names):  # Git's objects are such files
                if not file.is_symlink():
                    with contextlib.suppress(OSError):
                        file.chmod(stat.S_IWRITE)
    with contextlib.suppress(RecursionError):
        shutil.rmtree(folder, ignore_errors=True)
    if folder.is_dir() and not folder.is_symlink():  # too deep for that: one call and one open folder a level
        with contextlib.suppress(OSError):
            _remove_flattened(folder)


def _remove_flattened(folder: Path) -> None:
    """Remove a tree of any depth: each folder is moved to the top before the one that it was in is removed."""
    top, moved = Path(tempfile.mkdtemp(dir=folder)), 0
    waiting = [folder]
    while waiting:
        current = waiting.pop()
        with os.scandir(current) as entries:
            inner = [entry.path for entry in entries if entry.is_dir(follow_symlinks=False) and entry.path != str(top)]
        for each in inner:
            moved += 1
            waiting.append(Path(each).rename(top / str(moved)))
        if current != folder:
            shutil.rmtree(current, ignore_errors=True)
    shutil.rmtree(folder, ignore_errors=True)


def _open_and_look(place: Path, path: Path) -> BufferedReader:
    """Open a file where folders cannot be opened, then check that its path leads to it without any link."""
    _make_sure_regular(path.lstat(), path)
    stream = path.open("rb")
    try:
        _make_sure_regular(os.fstat(stream.fileno()), path)
        direct = os.path.join(os.path.realpath(place), path.relative_to(place))  # noqa: PTH118 - both are texts
        there = path.lstat()
        found = os.fstat(stream.fileno())
        if os.path.normcase(os.path.realpath(path)) != os.path.normcase(direct):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
        if (there.st_dev, there.st_ino) != (found.st_dev, found.st_ino):
            raise OSError(errno.ESTALE, "The file was replaced meanwhile", str(path))
    except BaseException:
        stream.close()
        raise
    return stream


def open_same(root: str | os.PathLike[str] | None, path: Path, identity: tuple[int, ...]) -> BufferedReader:
    """Open a file like `open_beneath`, and check that it is the one seen before.

    Raises:
        OSError: as for `open_beneath`, or the file was replaced or changed.
    """
    stream = open_beneath(root, path)
    if identity_of(stream) != identity:
        stream.close()
        raise OSError(errno.ESTALE, "The file was replaced or changed", str(path))
    return stream


def identity_of(stream: BufferedReader) -> tuple[int, ...]:
    """Return what identifies a file and its version: device, inode, size, time of last change."""
    status = os.fstat(stream.fileno())
    return (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


def _make_sure_regular(status: os.stat_result, path: Path) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise NotRegularError(errno.EINVAL, "This is not a regular file", str(path))


def _folder_beneath(root: int, parts: tuple[str, ...]) -> int:
    descriptor = _at_once(root, parts)
    return descriptor if descriptor is not None else _step_by_step(root, parts)


def _at_once(root: int, parts: tuple[str, ...]) -> int | None:
    """Open a folder with one `openat2` call; None if the system has no such call, or is too busy to be sure."""
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
    """Open a folder component by component without following links; the caller closes the descriptor."""
    folder = root
    for part in parts:
        if part in {"..", "."} or "/" in part:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), part)
        try:
            deeper = os.open(part, _FOLDER | _NO_LINK, dir_fd=folder)
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


def make_private_folder(folder: Path) -> None:
    """Create a folder and its parents; new ones are for the owner only, existing ones stay unchanged.

    Below a folder that the platform shares with a group, such as an OpenShift volume, new ones are shared too.

    Raises:
        OSError: one cannot be created.
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
        folder.mkdir(exist_ok=True)  # raises the right error if it is not a folder


def private_file_mode(folder: Path) -> int:
    """Return the mode of a new file: 0600, or 0660 in a folder that the platform shares with a group."""
    return 0o660 if _is_shared(folder) else 0o600


def touch_private(path: Path) -> None:
    """Create an empty private file if there is none.

    Raises:
        OSError: it cannot be created.
    """
    if not path.exists():
        descriptor = os.open(path, os.O_CREAT | os.O_RDWR, 0o600)
        try:
            if sys.platform != "win32" and private_file_mode(path.parent) != 0o600:
                os.fchmod(descriptor, private_file_mode(path.parent))
        finally:
            os.close(descriptor)


def create_atomically(path: Path, content: bytes) -> None:
    """Create a private file with its content in one step; an existing file stays as it is.

    Raises:
        OSError: it cannot be created; no file of that name is left.
    """
    path = Path(os.path.realpath(path))  # a link may lead to where it shall be
    part = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    try:
        touch_private(part)
        part.write_bytes(content)
        with contextlib.suppress(FileExistsError):
            try:
                os.link(part, path)
            except FileExistsError:
                raise
            except OSError:  # the file system has no links: another process could win only in this very moment
                if not path.exists():
                    part.rename(path)
    finally:
        part.unlink(missing_ok=True)


def _is_shared(folder: Path) -> bool:
    """Return whether a group but not others may write, and the group is the folder's own or the platform's."""
    if sys.platform == "win32":
        return False  # permissions are inherited there, and a user's folder belongs to the user
    status = folder.stat()
    if not status.st_mode & stat.S_IWGRP or status.st_mode & stat.S_IWOTH:
        return False
    return bool(status.st_mode & stat.S_ISGID) or (status.st_gid == 0 and os.geteuid() != 0)


_ESCAPED = re.compile(rb"\\x([89a-f][0-9a-f])")
_UNSAFE = frozenset(
    [*map(chr, range(0x20)), *map(chr, range(0x7F, 0xA0)), *"\\\u2028\u2029\u200e\u200f\u061c"]
    + [chr(code) for code in (*range(0x202A, 0x202F), *range(0x2066, 0x206A))]
)


def path_text(path: Path | str) -> str:
    r"""Return a path as text to store and show; bytes that are not UTF-8 become `\xff`, and stay distinct."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def path_of_text(text: str) -> Path:
    r"""Convert text of `path_text` back to a path; a path whose own name contains `\xff` is kept if it exists."""
    named = Path(os.fsdecode(_ESCAPED.sub(lambda found: bytes([int(found[1], 16)]), os.fsencode(text))))
    return named if os.path.lexists(named) else Path(text)


def is_gone(path: Path) -> bool:
    """Return whether there is certainly no file of that name; False if that cannot be checked."""
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # no permission, or not a valid name on this machine
        return False


def printable_path(path: str | os.PathLike[str]) -> str:
    r"""Return a path as text that can be stored and printed: invalid UTF-8 and control characters are escaped."""
    return "".join(_escaped(character) for character in os.fspath(path))


def _escaped(character: str) -> str:
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode("ascii") if character in _UNSAFE else character


def write_atomically(path: Path, content: bytes, *, durable: bool = False, private: bool = False) -> None:
    """Replace a file's content in one step; its folder is created if missing.

    Args:
        path: the file.
        content: the complete new content.
        private: whether only the owner may read the file and a created folder.
        durable: whether it is flushed to disk before this returns, so that it survives a power failure.

    Raises:
        OSError: it cannot be written; the file is unchanged, and no temporary file is left.
    """
    if private:
        make_private_folder(path.parent)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.{secrets.token_hex(4)}.part")
    try:
        if private:
            touch_private(part)
        with part.open("wb") as stream:
            stream.write(content)
            if durable:
                stream.flush()
                os.fsync(stream.fileno())
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    if durable and sys.platform != "win32":
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
