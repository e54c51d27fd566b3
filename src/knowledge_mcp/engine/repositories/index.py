"""Index one repository: find its files, detect possible changes, process each file, and write the manifest.

The manifest says `indexing` before the first file changes and `ready` after the last. If a run ends in between, the
passages of every file are complete, old or new; the next run compares all files by hash and finishes the work.
"""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import hashlib
import json
import logging
import os
import platform
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

from knowledge_mcp.engine.core.base import Base, base_of, counts_of
from knowledge_mcp.engine.ingest.ingest import Batch, Embedded, Ingest
from knowledge_mcp.engine.ingest.plan import Pipeline, PreparedDocument
from knowledge_mcp.engine.repositories.manifest import (
    MANIFEST_ID,
    SHADOW,
    RepositoryManifest,
    now,
    path_of,
    write_manifest,
)
from knowledge_mcp.engine.repositories.metrics import Metrics
from knowledge_mcp.engine.repositories.values import IndexResult, RepositoryParts
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.chunk import Chunk, text_key
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import CancelledError, KnowledgeError, noticing
from knowledge_mcp.model.ingest import IngestEvent, IngestEventKind, IngestOptions, IngestReport, LeftOut, SkippedFile
from knowledge_mcp.model.source import Checkout, SourceItem
from knowledge_mcp.ports import Source
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.files import printable_path
from knowledge_mcp.support.wording import how_many


def is_plain(path: str) -> bool:
    """Return whether Git and a scan write a path in the same way: it contains no byte that a scan escapes."""
    return path.isprintable() and "\\" not in path and not any("\ud800" <= sign <= "\udfff" for sign in path)


class RepositoryFiles:
    """Label the files of a scan, and collect those it ignores separately (`ports.Source`).

    Args:
        scan: finds the files.
        copy: the working copy.
        only: paths that may have changed; None for all.

    Attributes:
        hashes: the hash of each file's bytes by URI; complete once `items` has run.
        skipped: skipped files.
    """

    def __init__(self, scan: Source, copy: Checkout, only: Collection[str] | None) -> None:
        self._scan = scan
        self._copy = copy
        self._only = only
        self._dirty = frozenset(printable_path(change.path) for change in copy.dirty)
        self.hashes: dict[str, str] = {}
        self.skipped: list[SkippedFile] = []

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the files in the order of the scan."""
        for entry in self._scan.items():
            if isinstance(entry, SkippedFile):
                self.skipped.append(entry)
            elif self._only is None or entry.name in self._only:
                self.hashes[entry.uri] = entry.sha256
                yield dataclasses.replace(entry, labels=tuple(self._labels(entry).items()), document_id=entry.uri)

    def _labels(self, item: SourceItem) -> dict[str, str]:
        labels = {
            "repository": self._copy.name,
            "path": item.name,
            "extension": PurePosixPath(item.name).suffix,
            "commit": self._copy.commit,
        }
        if item.name in self._dirty:
            labels["uncommitted"] = "true"
        if item.path is not None:
            try:
                modified = datetime.fromtimestamp(item.path.stat().st_mtime, UTC)
                labels["modified_at"] = modified.isoformat(timespec="seconds").replace("+00:00", "Z")
            except OSError:
                return labels  # just deleted; reading it will report that
        return labels


def uncommitted_fingerprint(copy: Checkout) -> str:
    """Hash what differs from the commit, with sizes and times, to detect later changes; empty if nothing differs.

    Args:
        copy: the files; for nested repositories, their commit and what differs from it.
    """
    if not copy.dirty and not copy.nested:
        return ""
    digest = hashlib.sha256()
    for inner in copy.nested:
        state = f"{inner.commit}\0{uncommitted_fingerprint(inner)}\n"
        digest.update(os.fsencode(inner.folder.relative_to(copy.folder)) + f"\0{state}".encode())
    for change in copy.dirty:
        digest.update(os.fsencode(f"{change.kind}\0{change.path}\0"))
        try:
            status = (copy.folder / change.path).lstat()
            digest.update(f"{status.st_size}\0{status.st_mtime_ns}\n".encode())
        except OSError:
            digest.update(b"gone\n")
    return digest.hexdigest()


FILES_AT_ONCE = 50
"""Maximum files whose passages are embedded in one call (C 11.4)."""

HOST = platform.node()
_HEARTBEAT = 5.0
_MOST_DIRTY = 2000
_MOST_REPORTED = 50
_SCANNED_AT_ONCE = 1000
_logger = logging.getLogger(__name__)


class _CodeIngest(Ingest):
    """Ingest code files: renamed files keep their vectors, and embeddings are counted and timed.

    A passage is embedded with its path, so the key of its vector changes with the file's name. For a renamed file, the
    vector under its former name is used: the text is the same.

    Args:
        run: base, pipeline, options, events and cancellation, as for `Ingest`.
        former: returns the former paths of renamed files by present path; called once the scan is done.
        metrics: the counters.
    """

    def __init__(self, *run: Any, former: Callable[[], Mapping[str, str]], metrics: Metrics) -> None:
        super().__init__(*run)
        self._former = functools.cache(former)
        self._metrics = metrics

    def _warn_of_copies(self, documents: Sequence[PreparedDocument]) -> None:
        """Do nothing: files of one repository share licences, imports, empty modules."""

    def _look_up(self, batch: Batch) -> None:
        super()._look_up(batch)
        former = self._former()
        new = ((chunk, key) for each, chunk, key in batch if key not in each.reused)
        earlier = {key: old for chunk, key in new if (old := _former_key(chunk, former))}
        found = self._base.opened.vectors(list(earlier.values())) if earlier else {}
        for each, _, key in batch:
            if earlier.get(key) in found:
                each.reused[key] = found[earlier[key]]

    def _embed(self, batch: Batch) -> Embedded:
        count = len({key for each, _, key in batch if key not in each.reused})
        started = time.perf_counter()
        vectors = super()._embed(batch)
        if count:
            self._metrics.observe("embedding_duration_ms", (time.perf_counter() - started) * 1000)
            self._metrics.count("embeddings_generated", count)
        return vectors


def _former_key(chunk: Chunk, former: Mapping[str, str]) -> str:
    """Return the key of a passage's vector under its file's former name, empty if the file was not renamed."""
    text = chunk.embedding_text
    path = text.partition("\n")[0].partition(" > ")[0]
    if path not in former:
        return ""
    return text_key(former[path] + text[len(path) :])


@dataclass(frozen=True, slots=True)
class _Scope:
    """The paths to read (None for all), the renamed ones (former by present path), and the reason."""

    only: frozenset[str] | None
    former: Mapping[str, str]
    method: str


class IndexRun:
    """Update one collection to a working copy; an instance is used once, by the holder of the lock.

    Args:
        base, pipeline, parts, metrics: those of the service.
        collection: of the repository.
        known: its manifest, None if it is new.
        manifest: name, location and settings of the manifest to write.
        fresh: rebuild the collection next to the existing one, and replace that at the end.
        call: receives the progress, and returns whether to stop.
        begun: called once the manifest has the state `indexing`.
    """

    def __init__(
        self,
        base: Base,
        pipeline: Pipeline,
        parts: RepositoryParts,
        metrics: Metrics,
        *,
        collection: str,
        known: RepositoryManifest | None,
        manifest: RepositoryManifest,
        fresh: bool,
        call: Call,
        begun: Callable[[], None],
    ) -> None:
        self._fresh = fresh and known is not None
        self._collection = collection
        self._target = collection + SHADOW if self._fresh else collection
        self._base = base_of(base, self._target)
        self._embedder = base.embedder
        self._pipeline = pipeline
        self._parts = parts
        self._metrics = metrics
        self._known = known
        self._manifest = manifest
        self._call = call
        self._begun = begun
        self._reported_at = 0.0

    def run(self, copy: Checkout) -> IndexResult:
        """Index the working copy.

        Raises:
            SpaceMismatchError: the collection has another embedding space than the configured one.
            CancelledError: it was cancelled.
            KnowledgeError: the store or the embedder failed; the manifest records it.
        """
        started = time.perf_counter()
        self._make_room()
        pipeline = self._fingerprint()
        scope = self._scope(copy, pipeline)
        if scope.only is not None and not scope.only:
            return self._nothing_to_do(copy, started)
        self._write(state="indexing", error="", files_done=0, files_total=0)
        self._begun()
        try:
            result = self._index(copy, scope, pipeline, started)
        except BaseException as exc:
            message = exc.message if isinstance(exc, KnowledgeError) else "The indexing was interrupted."
            with contextlib.suppress(KnowledgeError):
                self._write(state="error", error=message)
            raise
        self._metrics.count("indexing_runs_total")
        self._metrics.count("indexing_files_processed", result.files_processed)
        self._metrics.observe("indexing_duration_ms", result.duration_ms)
        return result

    # ---- before

    def _make_room(self) -> None:
        store, space = self._base.store, self._embedder.space
        store.drop_collection(self._collection + ".old")  # may be left by a killed run
        if self._fresh:
            there = store.open(self._target).info()
            if there is not None and there.space.fingerprint != space.fingerprint:
                store.drop_collection(self._target)
        self._base.check_space()
        store.create_collection(self._target, space)

    def _fingerprint(self) -> str:
        """Hash everything that decides which files become passages, and how."""
        parts = [
            *(f"{name}={self._pipeline.fingerprint(name)}" for name in sorted(self._pipeline.readers)),
            list(self._manifest.include_extensions or ()),
            list(self._manifest.exclude_patterns),
            self._manifest.include_extensions is None,
        ]
        return hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def _scope(self, copy: Checkout, pipeline: str) -> _Scope:
        known = self._known
        if self._fresh or known is None:
            return _Scope(None, {}, "full")
        every = _Scope(None, {}, "content_hash")
        whole = known.state == "ready" and known.pipeline == pipeline and not known.problems
        whole = whole and not known.nested and not copy.nested
        if not whole or not known.commit or not copy.commit or not (copy.folder / ".git").exists():
            return every
        changes = self._parts.copies.changes(copy.folder, known.commit, copy.commit)
        if changes is None:
            return every
        touched = [*changes, *copy.dirty]
        paths = {path for change in touched for path in (change.path, change.old_path) if path}
        paths.update(known.dirty_paths or ())
        if any(Path(path).name == ".gitignore" for path in paths) or not all(map(is_plain, paths)):
            return every
        former = {change.path: change.old_path for change in changes if change.old_path}
        return _Scope(frozenset(paths), former, "commit_diff")

    def _nothing_to_do(self, copy: Checkout, started: float) -> IndexResult:
        files = counts_of(self._base.store.open(self._target)).documents - 1
        known = self._known or self._manifest
        self._manifest = dataclasses.replace(
            self._manifest,
            state="ready",
            commit=copy.commit,
            pipeline=known.pipeline,
            indexed_at=known.indexed_at,
            duration_ms=known.duration_ms,
            skipped_files=known.skipped_files,
        )
        self._write()
        return IndexResult(
            repository=self._manifest.name,
            status="success",
            files_processed=0,
            chunks_created=0,
            duration_ms=_since(started),
            method="unchanged",
            commit=copy.commit,
            previous_commit=known.commit,
            files_unchanged=files,
        )

    # ---- the files

    def _index(self, copy: Checkout, scope: _Scope, pipeline: str, started: float) -> IndexResult:
        scan = self._parts.scan(
            copy.folder,
            repository=copy.name,
            include_extensions=self._manifest.include_extensions,
            exclude_patterns=self._manifest.exclude_patterns,
            only=scope.only,
        )
        files = RepositoryFiles(scan, copy, scope.only)
        with noticing():  # a damaged record counts as none: its file is indexed again
            before = {
                each.id: each for each in self._base.store.open(self._target).documents() if each.id != MANIFEST_ID
            }
        ingest = _CodeIngest(
            self._base,
            self._pipeline,
            IngestOptions(files_at_once=FILES_AT_ONCE),
            self._hear,
            self._call.cancelled,
            former=lambda: _former(scope, files, before),
            metrics=self._metrics,
        )
        report = ingest.run(files, lambda _: True)
        if self._call.cancelled():
            raise CancelledError("The indexing was cancelled.", suggestion="Index it again; what is done is kept.")
        removed = self._remove(files, scope, before, report)
        left_out = scan.not_looked_at() if scope.only is None else ()
        return self._finish(copy, scope, pipeline, files, report, removed, started, left_out)

    def _remove(
        self, files: RepositoryFiles, scope: _Scope, before: Mapping[str, DocumentRecord], report: IngestReport
    ) -> int:
        """Remove files that are gone or unreadable: their passages no longer match the files."""
        lost = {each.source for each in (*report.skipped, *report.failed)}
        removed = 0
        for uri in before:
            in_scope = scope.only is None or path_of(uri) in scope.only
            if in_scope and (uri not in files.hashes or uri in lost):
                self._base.store.open(self._target).delete(uri)
                removed += 1
        return removed

    def _finish(
        self,
        copy: Checkout,
        scope: _Scope,
        pipeline: str,
        files: RepositoryFiles,
        report: IngestReport,
        removed: int,
        started: float,
        left_out: tuple[LeftOut, ...],
    ) -> IndexResult:
        done = [each for each in report.documents if not each.unchanged]
        lost = [*report.skipped, *report.failed, *(each for each in files.skipped if each.reason == "inaccessible")]
        problems = tuple(f"{each.message} ({each.source})" for each in lost)
        dirty = tuple(change.path for change in copy.dirty)
        many = len(dirty) > _MOST_DIRTY
        duration = _since(started)
        self._write(
            state="ready",
            error="",
            commit=copy.commit,
            dirty=uncommitted_fingerprint(copy),
            dirty_paths=None if many else tuple(map(printable_path, dirty)),
            nested=tuple(printable_path(each.folder.relative_to(copy.folder)) for each in copy.nested),
            pipeline=pipeline if all(map(is_plain, dirty)) and not many and self._stood_still(copy) else "",
            indexed_at=now(),
            duration_ms=duration,
            skipped_files=self._skipped(scope, files)[:_MOST_REPORTED],
            problems=problems[:_MOST_REPORTED],
        )
        self._take_place()
        total = counts_of(self._base.store.open(self._collection)).documents - 1
        result = IndexResult(
            repository=copy.name,
            status="partial" if problems else "success",
            files_processed=len(done),
            chunks_created=sum(each.record.chunk_count for each in done),
            duration_ms=duration,
            errors=problems,
            method=scope.method,
            commit=copy.commit,
            previous_commit=self._known.commit if self._known is not None else "",
            files_unchanged=total - len(done),
            files_removed=removed,
            files_skipped=len(files.skipped),
            chunks_embedded=sum(each.embedded for each in done),
            chunks_reused=sum(each.reused for each in done),
            skipped=tuple(each.message for each in files.skipped),
            warnings=_warnings(copy, [each.record for each in done]),
            left_out=left_out,
        )
        _log(result)
        return result

    def _skipped(self, scope: _Scope, files: RepositoryFiles) -> tuple[str, ...]:
        """List the files that are left out now, those that were not looked at included."""
        known = self._known.skipped_files if self._known is not None and scope.only is not None else ()
        kept = [each for each in known if each.partition(": ")[0] not in (scope.only or ())]
        return (*kept, *(each.message for each in files.skipped))

    def _stood_still(self, copy: Checkout) -> bool:
        """Return whether a working tree is as before: no difference of commits lists what was read in between."""
        if not copy.local:
            return True
        after = self._parts.copies.worktree(copy.folder, name=copy.name)
        return (after.commit, uncommitted_fingerprint(after)) == (copy.commit, uncommitted_fingerprint(copy))

    def _take_place(self) -> None:
        """Replace the collection in use by the rebuilt one, in one step."""
        if self._fresh:
            store = self._base.store
            store.rename_collections({self._collection: self._collection + ".old", self._target: self._collection})
            store.drop_collection(self._collection + ".old")

    # ---- progress and state

    def _hear(self, event: IngestEvent) -> None:
        done, total = self._manifest.files_done, self._manifest.files_total
        if event.kind is IngestEventKind.CHECKED:
            total += 1
            if not total % _SCANNED_AT_ONCE:
                self._call.progress(0.0, None, f"found {how_many(total, 'file')} to index")
        elif event.kind in {IngestEventKind.STORED, IngestEventKind.FAILED}:
            done += 1
        else:
            return
        self._manifest = dataclasses.replace(self._manifest, files_done=done, files_total=total)
        if event.kind is IngestEventKind.STORED:
            self._call.progress(float(done), float(total), f"indexed {path_of(event.source)}")
        if time.monotonic() - self._reported_at >= _HEARTBEAT:
            self._write()

    def _write(self, **changed: object) -> None:
        fields = {"host": HOST, "heartbeat": now(), **changed}
        self._manifest = dataclasses.replace(self._manifest, **fields)
        write_manifest(self._base.store, self._target, self._manifest, self._embedder.space)
        self._reported_at = time.monotonic()


def _warnings(copy: Checkout, records: Sequence[DocumentRecord]) -> tuple[str, ...]:
    """List each warning once, with its file, or the number of files and one of them."""
    paths: dict[str, list[str]] = {}
    for record in records:
        for warning in record.warnings:
            paths.setdefault(warning, []).append(path_of(record.id))
    warnings = [
        f"{each[0]}: {warning}" if len(each) == 1 else f"{warning} ({how_many(len(each), 'file')}, e.g. {each[0]})"
        for warning, each in paths.items()
    ]
    if copy.absent:
        warnings.append(f"Submodules without files: {', '.join(copy.absent)}. Index their own repositories.")
    return tuple(warnings)


def _log(result: IndexResult) -> None:
    log_event(
        _logger,
        logging.INFO,
        "repository_indexed",
        repository=result.repository,
        commit=result.commit,
        method=result.method,
        files=result.files_processed,
        removed=result.files_removed,
        chunks_embedded=result.chunks_embedded,
        chunks_reused=result.chunks_reused,
        duration_ms=result.duration_ms,
    )


def _former(scope: _Scope, files: RepositoryFiles, before: Mapping[str, DocumentRecord]) -> dict[str, str]:
    """Map each new path to the former path of its bytes, from Git or by equal hash."""
    gone = {record.sha256: path_of(uri) for uri, record in before.items() if uri not in files.hashes}
    renamed = {
        path_of(uri): gone[sha256] for uri, sha256 in files.hashes.items() if uri not in before and sha256 in gone
    }
    return {**renamed, **scope.former}


def _since(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)
