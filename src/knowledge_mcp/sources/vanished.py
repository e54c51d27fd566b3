"""Which ingested files of a folder are gone from the disk."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path

from knowledge_mcp.model.collection import DocumentRecord


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
    below = (each for each in records if lies_below(folder, each) and each.source_path not in seen)
    return [each for each in below if is_gone(each.source_path)]


def lies_below(folder: Path, record: DocumentRecord) -> bool:
    """Tell whether a document was read from a file below a folder."""
    return record.source_path.startswith(os.path.join(folder, ""))  # noqa: PTH118 - compared as text


def is_gone(path: str) -> bool:
    """Tell whether there is no file of that name any more; False where that cannot be looked at."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return True
    except (OSError, ValueError):  # closed to us, or no name of this machine
        return False
