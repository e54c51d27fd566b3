"""Paths that a caller gives are confined to allowed folders: links are resolved first, then the place is judged.

The file is then opened beneath its allowed folder without following any link, however the names change meanwhile, and
what is read is read from that descriptor.
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
    """Say that a path leads out of the folders that may be read; whether anything is there is not disclosed."""

    default_suggestion = "Give a file below an allowed folder; the server's ALLOWED_ROOTS names them."


def allowed_path(path: str, roots: Sequence[Path] | None) -> Path:
    """Resolve an absolute path and make sure that it lies below an allowed folder.

    Args:
        path: as the caller wrote it.
        roots: folders that may be read, links in them resolved too; None allows every place.

    Returns:
        The path without any link or `..` in it; whether there is a file is not checked.

    Raises:
        PathNotAllowedError: it lies elsewhere, or no folder is allowed at all.
        InvalidInputError: it is no absolute path.
    """
    if "\0" in path or not os.path.isabs(path):  # noqa: PTH117 - judged before anything is made of it
        raise InvalidInputError(
            "The path must be absolute.", suggestion="Give the whole path, from the root of the file system."
        )
    # realpath, not Path.resolve, which raises on loops of links
    resolved = Path(os.path.realpath(path))
    if roots is None or any(resolved.is_relative_to(os.path.realpath(root)) for root in roots):
        return resolved
    if not roots:
        raise PathNotAllowedError(
            "This server may not read any file by its path.",
            suggestion="Set ALLOWED_ROOTS to the folders that it may read, and start it again.",
        )
    raise PathNotAllowedError("The path is not below a folder that this server may read.")


@dataclass(frozen=True, slots=True)
class AllowedFile:
    """Describe a file by its bytes as they were read.

    Attributes:
        size, sha256: of its bytes.
        identity: device, inode, size and time of the last change.
        open: opens the same file again; raises OSError where another one, or other bytes, have taken its place.
    """

    size: int
    sha256: str
    identity: tuple[int, ...]
    open: Callable[[], BinaryIO]


def look_at(path: Path, roots: Sequence[Path] | None, on_block: Callable[[], None] = lambda: None) -> AllowedFile:
    """Open a file beneath an allowed folder, look at its size, then hash it.

    Args:
        path: as `allowed_path` returned it.
        roots: as there.
        on_block: called before each megabyte; what it raises ends the reading.

    Raises:
        PathNotAllowedError: it lies elsewhere.
        UnreadableDocumentError: it is larger than `MOST_BYTES`.
        OSError: it is gone, no regular file, may not be read, or a link has taken the place of a part of its path.
    """
    root = None
    if roots is not None:
        places = (Path(os.path.realpath(each)) for each in roots)
        root = next((each for each in places if path.is_relative_to(each)), None)
        if root is None:
            raise PathNotAllowedError("The path is not below a folder that this server may read.")
    digest = hashlib.sha256()
    with open_beneath(root, path) as stream:
        identity = identity_of(stream)
        size = os.fstat(stream.fileno()).st_size
        left = size
        if size > MOST_BYTES:
            raise UnreadableDocumentError(
                f"{path.name}: The file has {size >> 20} MiB, more than {MOST_BYTES >> 20} MiB.",
                reason=UnreadableReason.TOO_LARGE,
                source=str(path),
                suggestion="Split it.",
            )
        while block := stream.read(min(_BLOCK, left)):  # no further than it was at first, should it grow
            on_block()
            digest.update(block)
            left -= len(block)
    return AllowedFile(size, digest.hexdigest(), identity, functools.partial(open_same, root, path, identity))
