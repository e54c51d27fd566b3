"""`repositories.json`: what is known of each repository, for people and other programs (C 5.2).

It mirrors the store and is never read for an answer. Each writing replaces it as a whole: a reader sees the file before
or the file after, also where the process is killed or the power fails.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.engine.repository_values import RepositoryInfo
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.support.locks import locked
from knowledge_mcp.support.whole_file import write_whole

__all__ = ["RepositoriesFile"]


class RepositoriesFile:
    """Write the file. Thread- and process-safe.

    Args:
        folder: the data folder; made when the file is first written.
        locks: folder of the locks.
    """

    def __init__(self, folder: Path, locks: Path) -> None:
        self.path = folder / "repositories.json"
        self._locks = locks

    def write(self, list_all: Callable[[], Sequence[RepositoryInfo]]) -> None:
        """Write what `list_all` returns, which is asked while nobody else writes.

        Raises:
            InternalError: the file cannot be written.
        """
        try:
            with locked(self._locks, "repositories.json"):
                content = {"version": "1.0", "repositories": {each.name: _entry(each) for each in list_all()}}
                text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
                write_whole(self.path, text.encode("utf-8", "backslashreplace"), durable=True, private=True)
        except OSError as exc:
            said = exc.strerror or type(exc).__name__
            raise InternalError(
                f"{self.path} cannot be written: {said}.", suggestion="Check its permissions and the disk's free space."
            ) from exc


def _entry(info: RepositoryInfo) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": info.name,
        "url": info.url or info.local_path,
        "localPath": info.local_path,
        "collectionName": info.collection,
        "fileCount": info.file_count,
        "chunkCount": info.chunk_count,
        "lastIndexedAt": info.last_indexed,
        "indexDurationMs": info.index_duration_ms,
        "status": info.status,
    }
    if info.error_message:
        entry["errorMessage"] = info.error_message
    entry["branch"] = info.branch
    entry["includeExtensions"] = list(info.include_extensions)
    entry["excludePatterns"] = list(info.exclude_patterns)
    return entry
