"""Paths that a caller gives are confined to allowed folders: links are resolved first, then the place is judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from knowledge_mcp.model.errors import InvalidInputError

__all__ = ["PathNotAllowedError", "allowed_path"]


class PathNotAllowedError(InvalidInputError):
    """Say that a path leads out of the folders that may be read; whether anything is there is not told."""

    default_suggestion = "Give a file below an allowed folder; the server's ALLOWED_ROOTS names them."


def allowed_path(given: str, roots: Sequence[Path] | None) -> Path:
    """Resolve an absolute path and make sure that it lies below an allowed folder.

    Args:
        given: as the caller wrote it.
        roots: folders that may be read, links in them resolved too; None allows every place.

    Returns:
        The path without any link or `..` in it; whether there is a file is not checked.

    Raises:
        PathNotAllowedError: it lies elsewhere, or no folder is allowed at all.
        InvalidInputError: it is no absolute path.
    """
    if "\0" in given or not os.path.isabs(given):  # noqa: PTH117 - judged before anything is made of it
        raise InvalidInputError(
            "The path must be absolute.", suggestion="Give the whole path, from the root of the file system."
        )
    # realpath, not Path.resolve, which raises on loops of links
    resolved = Path(os.path.realpath(given))
    if roots is None or any(resolved.is_relative_to(os.path.realpath(root)) for root in roots):
        return resolved
    if not roots:
        raise PathNotAllowedError(
            "This server may not read any file by its path.",
            suggestion="Set ALLOWED_ROOTS to the folders that it may read, and start it again.",
        )
    raise PathNotAllowedError("The path is not below a folder that this server may read.")
