"""Restrict paths from callers to allowed folders: links are resolved first, then the location is checked.

The file is then opened below its allowed folder without following any link, even if names change meanwhile, and its
content is read from that descriptor.
"""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from knowledge_mcp.model.errors import InvalidInputError, UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import MOST_BYTES
from knowledge_mcp.support.files import identity_of, open_beneath, open_same

_BLOCK = 1 << 20


class PathNotAllowedError(InvalidInputError):
    """A path leads outside the readable folders; whether anything exists there is not disclosed."""

    default_suggestion = "Use a file in an allowed folder; the server's ALLOWED_ROOTS lists them."


def allowed_path(path: str, roots: Sequence[Path] | None) -> Path:
    """Resolve an absolute path and check that it is below an allowed folder.

    Args:
        path: as given by the caller.
        roots: readable folders, with links resolved; None allows every location.

    Returns:
        The path without links or `..`; whether the file exists is not checked.

    Raises:
        PathNotAllowedError: it is elsewhere, or no folder is allowed.
        InvalidInputError: it is not an absolute path.
    """
    if "\0" in path or not os.path.isabs(path):  # noqa: PTH117 - judged before anything is made of it
        raise InvalidInputError(
            "The path must be absolute.", suggestion="Give the full path, from the root of the file system."
        )
    # realpath, not Path.resolve, which raises on loops of links
    resolved = Path(os.path.realpath(path))
    if roots is None or any(resolved.is_relative_to(os.path.realpath(root)) for root in roots):
        return resolved
    if not roots:
        raise PathNotAllowedError(
            "This server may not read any file by its path.",
            suggestion="Set ALLOWED_ROOTS to the folders that it may read, and restart it.",
        )
    raise PathNotAllowedError("The path is not in a folder that this server may read.")


@dataclass(frozen=True, slots=True)
class AllowedFile:
    """A file with the facts of its bytes as read.

    Attributes:
        size, sha256: of its bytes.
        identity: device, inode, size and time of last change.
        open: opens the same file again; raises OSError if it was replaced or changed.
    """

    size: int
    sha256: str
    identity: tuple[int, ...]
    open: Callable[[], BinaryIO]


def look_at(path: Path, roots: Sequence[Path] | None, on_block: Callable[[], None] = lambda: None) -> AllowedFile:
    """Open a file below an allowed folder, check its size, and hash it.

    Args:
        path: as returned by `allowed_path`.
        roots: as for `allowed_path`.
        on_block: called before each megabyte; an exception ends the reading.

    Raises:
        PathNotAllowedError: it is elsewhere.
        UnreadableDocumentError: it is larger than `MOST_BYTES`.
        OSError: it no longer exists, is not a regular file, cannot be read, or part of its path is now a link.
    """
    root = None
    if roots is not None:
        places = (Path(os.path.realpath(each)) for each in roots)
        root = next((each for each in places if path.is_relative_to(each)), None)
        if root is None:
            raise PathNotAllowedError("The path is not in a folder that this server may read.")
    digest = hashlib.sha256()
    with open_beneath(root, path) as stream:
        identity = identity_of(stream)
        size = os.fstat(stream.fileno()).st_size
        left = size
        if size > MOST_BYTES:
            raise UnreadableDocumentError(
                f"The file has {size >> 20} MiB, more than {MOST_BYTES >> 20} MiB.",
                reason=UnreadableReason.TOO_LARGE,
                source=str(path),
                name=path.name,
                suggestion="Split it.",
            )
        while block := stream.read(min(_BLOCK, left)):  # not beyond its first size, in case it grows
            on_block()
            digest.update(block)
            left -= len(block)
    return AllowedFile(size, digest.hexdigest(), identity, functools.partial(open_same, root, path, identity))
