"""The present state of each repository, read from the store: contents, completeness, freshness."""

from __future__ import annotations

import dataclasses
import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Literal, Self

from knowledge_mcp.engine.core.base import Base, counts_of, snapshot
from knowledge_mcp.engine.core.restricted import copy_with
from knowledge_mcp.engine.jobs.journal import HeartbeatWatch
from knowledge_mcp.engine.repositories.index import HOST, uncommitted_fingerprint
from knowledge_mcp.engine.repositories.manifest import (
    PREFIX,
    SHADOW,
    RepositoryManifest,
    collection_name,
    now,
    read_manifest,
)
from knowledge_mcp.engine.repositories.values import Freshness, RepositoryInfo, RepositoryParts
from knowledge_mcp.model.errors import ConnectionFailedError, KnowledgeError, NotFoundError
from knowledge_mcp.ports import Store
from knowledge_mcp.support.locks import is_free
from knowledge_mcp.support.workers import WorkerPool

_OLD = ".old"
_REMEMBERED = 5.0
_SILENCE = 120.0
"""Seconds without a new heartbeat after which an indexing on another machine counts as interrupted."""

_LONG_AGO = timedelta(days=1)
"""Age at which a heartbeat is old without waiting for the next one; no clock is that wrong."""

_INTERRUPTED = "The indexing was interrupted. Refresh or index it again to resume; what is done is kept."


_AT_ONCE = 4
"""Repositories that are described or searched at the same time in a remote store."""

_FOLDERS_AT_ONCE = 8
"""Working copies for which git runs at the same time."""


def workers_over(store: Store) -> WorkerPool:
    """Create the threads on which the repositories of a store are described and searched."""
    at_once = 1 if store.identity.computes_here else _AT_ONCE
    return WorkerPool(at_once, "repositories", _closed_error)


def _closed_error() -> Exception:
    return ConnectionFailedError("The store is closed.", suggestion="Open it again.", recoverable=False)


class RepositoryStates:
    """Determine the state of repositories. Thread-safe.

    Args:
        base: its store is read.
        parts: provides access to working copies.
        locks: folder of the locks.
        workers: threads that describe as many repositories at once.
    """

    def __init__(self, base: Base, parts: RepositoryParts, locks: Path, workers: WorkerPool) -> None:
        self._base = base
        self._workers = workers
        self._parts = parts
        self._locks = locks
        self._lock = threading.Lock()
        self._looked: dict[str, tuple[float, Freshness]] = {}
        self._pushed: dict[tuple[str, str], tuple[float, bool]] = {}
        self._signs = HeartbeatWatch(_SILENCE)
        self._looking = WorkerPool(_FOLDERS_AT_ONCE, "folders", _closed_error)

    def over(self, base: Base) -> Self:
        """Return the same for another view of the store."""
        return copy_with(self, _base=base)

    @staticmethod
    def lock_name(collection: str) -> str:
        """Return the name of the lock for writing a collection."""
        return f"repository:{collection}"

    def all(self) -> list[RepositoryInfo]:
        """List all repositories by name."""
        live, describe = self.describing()
        found = self._workers.map(describe, live)
        return sorted((each for each in found if each is not None), key=lambda each: each.name)

    def describing(self) -> tuple[list[str], Callable[[str], RepositoryInfo | None]]:
        """Return the names of possible repository collections, and a function that describes one (None: it is none)."""
        names = {each.name for each in self._base.store.collections() if each.name.startswith(PREFIX)}
        live = sorted(name for name in names if not name.endswith((SHADOW, _OLD)))
        return live, lambda name: self._describe(name, shadowed=name + SHADOW in names)

    def one(self, name: str) -> RepositoryInfo | None:
        """Describe a repository, None if there is none of that name."""
        collection, manifest = self.place_of(name)
        if manifest is None:
            return None
        return self._describe(collection, shadowed=self._base.store.open(collection + SHADOW).info() is not None)

    def place_of(self, name: str) -> tuple[str, RepositoryManifest | None]:
        """Return the (present or future) collection of a repository and its manifest."""
        plain = collection_name(name)
        distinct = f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:6]}"
        for collection in (plain, distinct):
            if self._base.store.open(collection).info() is None:
                continue
            manifest = read_manifest(self._base.store, collection)
            if manifest is not None and manifest.name == name:
                return collection, manifest
        occupant = self._base.store.open(plain).info()
        free = occupant is None or (
            read_manifest(self._base.store, plain) is None and counts_of(self._base.store.open(plain)).documents == 0
        )
        return (plain if free else distinct), None

    def drop(self, collection: str) -> None:
        """Remove a collection with everything that was built next to it."""
        self.forget(collection)
        for name in (collection + SHADOW, collection + _OLD, collection):
            self._base.store.drop_collection(name)

    def forget(self, collection: str | None = None) -> None:
        """Invalidate the cached state of a working copy, or of all."""
        with self._lock:
            if collection is None:
                self._looked.clear()
            else:
                self._looked.pop(collection, None)

    def freshness(self, info: RepositoryInfo) -> Freshness:
        """Compare an index with its repository: a folder is inspected, for a clone the last known head is used."""
        if not info.local:
            return info.freshness
        with self._lock:
            at, known = self._looked.get(info.collection, (0.0, info.freshness))
        if at and time.monotonic() - at < _REMEMBERED:
            return known
        try:
            freshness = self.look_at(info)
        except KnowledgeError as exc:
            freshness = dataclasses.replace(info.freshness, head_commit="", stale=None, problem=exc.message)
        with self._lock:
            self._looked[info.collection] = (time.monotonic(), freshness)
        return freshness

    def is_public(self, info: RepositoryInfo, commit: str) -> bool:
        """Return whether the remote has a commit: those of clones, and those that a local repository has pushed."""
        if not info.local:
            return True
        with self._lock:
            at, known = self._pushed.get((info.collection, commit), (0.0, False))
        if known or (at and time.monotonic() - at < _REMEMBERED):
            return known
        try:
            known = self._parts.copies.is_pushed(Path(info.local_path), commit)
        except (KnowledgeError, OSError):
            known = False
        with self._lock:
            self._pushed[info.collection, commit] = (time.monotonic(), known)
        return known

    def freshness_of(self, infos: Sequence[RepositoryInfo]) -> list[Freshness]:
        """Do `freshness` for several repositories, inspecting as many folders at once as allowed."""
        return self._looking.map(self.freshness, infos)

    def close(self) -> None:
        """Stop the threads."""
        self._workers.close()
        self._looking.close()

    def look_at(self, info: RepositoryInfo) -> Freshness:
        """Inspect a local folder now.

        Raises:
            KnowledgeError: it no longer exists, or git cannot read it.
        """
        indexed = info.freshness.indexed_commit
        at = now()
        copy = self._parts.copies.worktree(Path(info.local_path), name=info.name)
        if not copy.commit:
            return Freshness(indexed, "", None, len(copy.dirty), at)
        manifest = read_manifest(self._base.store, info.collection)
        dirty = manifest.dirty if manifest is not None else ""
        stale = copy.commit != indexed or uncommitted_fingerprint(copy) != dirty or info.status != "ready"
        return Freshness(indexed, copy.commit, stale, len(copy.dirty), at)

    # ---- one repository

    def _describe(self, collection: str, *, shadowed: bool) -> RepositoryInfo | None:
        store = self._base.store
        try:
            with snapshot(store, collection) as opened:
                manifest = read_manifest(store, collection)
                counts = counts_of(opened)
            shadow = read_manifest(store, collection + SHADOW) if shadowed else None
        except NotFoundError:  # just deleted
            return None
        if manifest is None:
            return None
        status, error = self._status(collection, manifest)
        progress = (manifest.files_done, manifest.files_total) if status == "indexing" else None
        if shadow is not None and status == "ready" and self._is_at_work(collection, shadow):
            status, progress = "indexing", (shadow.files_done, shadow.files_total)
        stale = None
        if manifest.head_commit and manifest.commit:
            stale = manifest.head_commit != manifest.commit or manifest.state != "ready"
        return RepositoryInfo(
            name=manifest.name,
            url=manifest.url,
            local_path=manifest.local_path,
            collection=collection,
            local=manifest.local,
            branch=manifest.branch,
            file_count=max(counts.documents - 1, 0),
            chunk_count=counts.chunks,
            last_indexed=manifest.indexed_at or manifest.heartbeat,
            status=status,
            index_duration_ms=manifest.duration_ms,
            error_message=error,
            include_extensions=manifest.include_extensions or self._parts.extensions,
            exclude_patterns=(*self._parts.excludes, *manifest.exclude_patterns),
            freshness=Freshness(manifest.commit, manifest.head_commit, stale, 0, manifest.head_at),
            progress=progress,
            problems=manifest.problems,
            skipped_files=manifest.skipped_files,
            uncommitted=None if manifest.dirty_paths is None else frozenset(manifest.dirty_paths),
            nested=manifest.nested,
            partial_tree=manifest.local and not (Path(manifest.local_path) / ".git").exists(),
        )

    def _status(
        self, collection: str, manifest: RepositoryManifest
    ) -> tuple[Literal["ready", "indexing", "error"], str]:
        if manifest.state == "ready":
            return "ready", ""
        if manifest.state == "error":
            return "error", manifest.error or _INTERRUPTED
        return ("indexing", "") if self._is_at_work(collection, manifest) else ("error", _INTERRUPTED)

    def _is_at_work(self, collection: str, manifest: RepositoryManifest) -> bool:
        if manifest.state != "indexing":
            return False
        if manifest.host != HOST:
            try:
                age = datetime.now(UTC) - datetime.fromisoformat(manifest.heartbeat)
            except ValueError:
                return False
            return age < _LONG_AGO and self._signs.is_alive(collection, manifest.heartbeat)
        # try twice: another reader may be testing the lock at this moment
        return not any(is_free(self._locks, self.lock_name(collection)) for _ in range(2))
