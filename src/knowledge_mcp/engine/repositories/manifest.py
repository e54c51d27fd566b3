"""What the store itself says of a repository: one record without passages in the repository's own collection.

It is written before the first file and after the last, so that whoever reads it knows what is there, whatever became of
the process that wrote it. `repositories.json` is only its mirror.
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
"""End of the name of a collection that is being made beside the one in use."""

_LABEL = "repository_manifest"


@dataclass(frozen=True, slots=True)
class RepositoryManifest:
    """Keep what is known of one repository.

    Attributes:
        name, url, local_path, local, branch: what and where it is; `branch` is the one checked out.
        follow: the branch that was asked for, empty for the remote's default.
        include_extensions, exclude_patterns, shallow: what it is indexed with.
        state: `indexing` from before the first change until all is done; `error` where it ended in between.
        commit, dirty, dirty_paths: what was wholly indexed: commit, fingerprint and paths of uncommitted changes; no
            paths (None) where these are too many.
        nested: folders in it that were repositories of their own.
        pipeline: fingerprint of readers, chunker and scan settings of that.
        files_done, files_total: how far an indexing is; host, heartbeat: who does it, and when it last said so.
        indexed_at, duration_ms: of the last whole indexing.
        head_commit, head_at: where the remote stood when last asked.
        skipped, problems: files passed over; files that could not be read, each in a sentence.
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
    skipped: int = 0
    problems: tuple[str, ...] = ()


_FIELDS = {field.name for field in dataclasses.fields(RepositoryManifest)}
_LISTS = ("include_extensions", "exclude_patterns", "dirty_paths", "nested", "problems")


def now() -> str:
    """Return the time as ISO 8601 in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def collection_name(name: str) -> str:
    """Name a repository's collection: `repo_` and its name, special characters replaced by underscores (C 5.1)."""
    return (PREFIX + re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_"))[:200] or PREFIX


def path_of(document_id: str) -> str:
    """Return the path of a file below its repository's root from the id of its document, `repository:path`."""
    return document_id.partition(":")[2]


def read_manifest(store: Store, collection: str) -> RepositoryManifest | None:
    """Read a collection's manifest; None where it is no repository's."""
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
    """Write a collection's manifest in place of the one before."""
    text = json.dumps(dataclasses.asdict(manifest), ensure_ascii=False)
    publish_note(store.open(collection), space, MANIFEST_ID, manifest.name, (_LABEL, text), manifest.name)


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
            with hold_lock(self._locks, "repositories.json"):
                content = {"version": "1.0", "repositories": {each.name: _entry(each) for each in list_all()}}
                text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
                write_atomically(self.path, text.encode("utf-8", "backslashreplace"), durable=True, private=True)
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
