"""The manifest of a repository in the store: one record without passages in the repository's own collection.

It is written before the first file and after the last, so that readers know what the collection contains even if the
writing process was killed. `repositories.json` is only a copy.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from knowledge_mcp.engine.core.base import opened, record_of
from knowledge_mcp.engine.core.documents import publish_note
from knowledge_mcp.engine.repositories.values import RepositoryInfo
from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.ports import Store
from knowledge_mcp.support.files import write_atomically
from knowledge_mcp.support.locks import hold_lock

MANIFEST_ID = ".repository"
PREFIX = "repo_"
SHADOW = ".next"
"""Suffix of the name of a collection that is being built next to the one in use."""

_LABEL = "repository_manifest"


@dataclass(frozen=True, slots=True)
class RepositoryManifest:
    """What is known about one repository.

    Attributes:
        name, url, local_path, local, branch: its name and location; `branch` is the one checked out.
        follow: the requested branch, empty for the remote's default.
        include_extensions, exclude_patterns, shallow: its indexing options.
        state: `indexing` from before the first change until all is done; `error` if it ended in between.
        commit, dirty, dirty_paths: the last complete indexing: commit, fingerprint and paths of uncommitted changes; no
            paths (None) if there are too many.
        nested: folders in it that were repositories themselves.
        pipeline: fingerprint of readers, chunker and scan settings at that indexing.
        files_done, files_total: progress of an indexing; host, heartbeat: who does it, and its last heartbeat.
        indexed_at, duration_ms: of the last complete indexing.
        head_commit, head_at: the remote's commit when last asked.
        skipped_files, problems: files left out because of their content; files that could not be read; each why.
    """

    name: str
    url: str = ""
    local_path: str = ""
    local: bool = False
    branch: str = ""
    follow: str = ""
    shallow: bool = True
    include_extensions: tuple[str, ...] | None = None
    exclude_patterns: tuple[str, ...] = ()
    state: Literal["indexing", "ready", "error"] = "indexing"
    error: str = ""
    commit: str = ""
    dirty: str = ""
    dirty_paths: tuple[str, ...] | None = ()
    nested: tuple[str, ...] = ()
    pipeline: str = ""
    files_done: int = 0
    files_total: int = 0
    host: str = ""
    heartbeat: str = ""
    indexed_at: str = ""
    duration_ms: int = 0
    head_commit: str = ""
    head_at: str = ""
    skipped_files: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


_FIELDS = {field.name for field in dataclasses.fields(RepositoryManifest)}
_LISTS = ("include_extensions", "exclude_patterns", "dirty_paths", "nested", "skipped_files", "problems")


def now() -> str:
    """Return the current time in UTC as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def collection_name(name: str) -> str:
    """Return a repository's collection name: `repo_` and its name with underscores for special characters (C 5.1)."""
    return (PREFIX + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_"))[:200] or PREFIX


def path_of(document_id: str) -> str:
    """Return a file's path below its repository's root from its document id, `repository:path`."""
    return document_id.partition(":")[2]


def read_manifest(store: Store, collection: str) -> RepositoryManifest | None:
    """Read a collection's manifest; None if it is not a repository's."""
    record = record_of(opened(store, collection), MANIFEST_ID)
    if record is None:
        return None
    text = dict(record.metadata).get(_LABEL, "")
    values: dict[str, Any] = json.loads(text) if text else {"name": record.title}
    known = {name: value for name, value in values.items() if name in _FIELDS}
    for name in _LISTS:
        if isinstance(known.get(name), list):
            known[name] = tuple(known[name])
    return RepositoryManifest(**known)


def write_manifest(store: Store, collection: str, manifest: RepositoryManifest, space: EmbeddingSpace) -> None:
    """Write a collection's manifest, replacing the previous one."""
    text = json.dumps(dataclasses.asdict(manifest), ensure_ascii=False)
    publish_note(store.open(collection), space, MANIFEST_ID, manifest.name, (_LABEL, text), manifest.name)


class RepositoriesFile:
    """Write `repositories.json`. Thread- and process-safe.

    Args:
        folder: the data folder; created when the file is first written.
        locks: folder of the locks.
    """

    def __init__(self, folder: Path, locks: Path) -> None:
        self.path = folder / "repositories.json"
        self._locks = locks

    def write(self, list_all: Callable[[], Sequence[RepositoryInfo]]) -> None:
        """Write the result of `list_all`, which is called under the lock.

        Raises:
            InternalError: the file cannot be written.
        """
        try:
            with hold_lock(self._locks, "repositories.json"):
                content = {"version": "1.0", "repositories": {each.name: _entry(each) for each in list_all()}}
                text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
                write_atomically(self.path, text.encode("utf-8", "backslashreplace"), durable=True, private=True)
        except OSError as exc:
            reason = exc.strerror or type(exc).__name__
            raise InternalError(
                f"{self.path} cannot be written: {reason}.",
                suggestion="Check its permissions and the disk's free space.",
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
