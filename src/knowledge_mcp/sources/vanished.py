"""Which ingested files of a folder are gone from the disk."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from knowledge_mcp.model.collection import DocumentRecord

__all__ = ["vanished_below"]


def vanished_below(
    folder: Path, records: Iterable[DocumentRecord], seen: Sequence[str] | frozenset[str] = ()
) -> list[DocumentRecord]:
    """List the records whose file lay below a folder and is gone; what cannot be looked at counts as there.

    Args:
        folder: absolute; where it is no folder, nothing is gone.
        records: of all documents.
        seen: sources that were just met, whatever the disk says of their names.
    """
    if not folder.is_dir():
        return []
    root = os.path.join(folder, "")  # noqa: PTH118 - compared as text
    below = (each for each in records if each.source_path.startswith(root) and each.source_path not in seen)
    return [each for each in below if _is_gone(each.source_path)]


def _is_gone(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # closed to us, or no name of this machine
        return False
    return False
