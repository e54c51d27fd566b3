"""The repository service: each repository has its own collection; index, update, search, read and remove it."""

from __future__ import annotations

import dataclasses
import difflib
import re
import threading
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Self

from knowledge_mcp.engine.core import health
from knowledge_mcp.engine.core.base import Base, locked, record_of
from knowledge_mcp.engine.core.restricted import copy_with, restricted_base
from knowledge_mcp.engine.ingest.plan import Pipeline
from knowledge_mcp.engine.repositories.index import IndexRun
from knowledge_mcp.engine.repositories.manifest import (
    RepositoriesFile,
    RepositoryManifest,
    now,
    path_of,
    read_manifest,
    write_manifest,
)
from knowledge_mcp.engine.repositories.metrics import Metrics
from knowledge_mcp.engine.repositories.search import CodeSearch
from knowledge_mcp.engine.repositories.state import RepositoryStates, workers_over
from knowledge_mcp.engine.repositories.values import (
    CodeAnswer,
    CodeQuery,
    Freshness,
    IndexRequest,
    IndexResult,
    RepositoryInfo,
    RepositoryParts,
    SearchLimits,
)
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.model.query import HealthReport
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.model.source import Checkout
from knowledge_mcp.support.locks import hold_lock

_LIKE_SSH = re.compile(r"[\w.-]+@[\w.-]+:")


_SILENT = Call()


def _check_branch(copy: Checkout, branch: str) -> None:
    """Refuse another branch of a folder than the one that is checked out: its files are indexed as they are."""
    if branch and branch != copy.branch:
        raise InvalidInputError(
            f"A folder is indexed as it is checked out: {copy.folder} is on {copy.branch or 'no branch'}, "
            f"not on {branch[:200]}.",
            suggestion="Check out the branch, omit the branch, or index the repository by its address.",
        )


def _plain_address(url: str) -> str:
    return url.removesuffix(".git").casefold()


class RepositoryService:
    """Index, search and maintain repositories. Thread-safe; several processes may share store and folder.

    Args:
        base: its own collection is never created: each repository has its own.
        pipeline, health_threshold_ms: as for `LocalKnowledge`.
        parts: clones, scans, links, calibration.
        folder: for `repositories.json`, the metrics and the locks.
        limits: the configured limits.
        version: the product's version, for health.
    """

    def __init__(
        self,
        base: Base,
        pipeline: Pipeline,
        parts: RepositoryParts,
        *,
        folder: Path,
        limits: SearchLimits | None = None,
        version: str = "",
        health_threshold_ms: int = 500,
    ) -> None:
        self._base = base
        self._pipeline = pipeline
        self.health_threshold_ms = health_threshold_ms
        self._probe = health.EmbeddingProbe(base)
        self._locks = folder / "locks"
        workers = workers_over(base.store)
        self._states = RepositoryStates(base, parts, self._locks, workers)
        self._search = CodeSearch(base, parts, workers)
        self._file = RepositoriesFile(folder, self._locks)
        self._running = 0
        self._idle = threading.Condition()
        self._closing = threading.Event()
        self.parts = parts
        self.limits = limits or SearchLimits()
        self.metrics = Metrics(folder, self._locks)
        self.version = version

    def seen_by(self, rights: Rights) -> Self:
        """Return the service restricted to what a caller may see: the rest is answered as if it did not exist."""
        base = restricted_base(self._base, rights)
        return copy_with(self, _base=base, _states=self._states.over(base), _search=self._search.over(base))

    @property
    def store_name(self) -> str:
        """Return the type of store."""
        return self._base.store.identity.backend

    @property
    def provider(self) -> str:
        """Return the embedding provider."""
        return self._base.embedder.space.provider

    # ---- state

    def repositories(self) -> list[RepositoryInfo]:
        """List all repositories by name, in their present state in the store."""
        found = self._states.all()
        if not found:
            health.check_absence(self._base)
        return found

    def repository(self, name: str) -> RepositoryInfo:
        """Return one repository.

        Raises:
            NotFoundError: there is none of that name; suggests a similar one.
        """
        known = self._states.one(name)
        if known is not None:
            return known
        health.check_absence(self._base)
        names = [each.name for each in self._states.all()]
        near = difflib.get_close_matches(name[:200], names, 1, 0.5)
        indexed = f"Indexed repositories: {', '.join(names[:20])}." if names else "No repository is indexed yet."
        raise NotFoundError(
            f"Repository not found: {name[:200]}",
            details=indexed,
            suggestion=f"Did you mean '{near[0]}'?" if near else indexed,
        )

    def freshness_of(self, infos: Sequence[RepositoryInfo]) -> list[Freshness]:
        """Compare indexes with their repositories, as far as is known locally."""
        return self._states.freshness_of(infos)

    def freshness(self, info: RepositoryInfo, *, ask: bool = False) -> Freshness:
        """Compare an index with its repository; `ask` contacts the remote, otherwise its last known state is used.

        Raises:
            KnowledgeError: with `ask`, the remote or the folder cannot be reached.
        """
        if not ask:
            return self._states.freshness(info)
        if info.local:
            return self._states.look_at(info)
        manifest = read_manifest(self._base.store, info.collection)
        if manifest is None:
            return info.freshness
        try:
            head = self.parts.copies.remote_head(info.url, branch=manifest.follow)
        except NotFoundError:  # its branch is gone, so whether it is up to date is no longer known
            self._note_head(info.collection, "")
            raise
        self._note_head(info.collection, head.commit)
        stale = head.commit != info.freshness.indexed_commit or info.status != "ready"
        return dataclasses.replace(info.freshness, head_commit=head.commit, stale=stale, checked_at=now())

    def is_public(self, info: RepositoryInfo, commit: str) -> bool:
        """Return whether a repository's remote has a commit, as far as is known locally."""
        return self._states.is_public(info, commit)

    def _note_head(self, collection: str, commit: str) -> None:
        """Record the commit that a remote has now; empty if there is none."""
        with hold_lock(self._locks, self._states.lock_name(collection), give_up=lambda: True) as mine:
            manifest = read_manifest(self._base.store, collection)
            if mine and manifest is not None:
                manifest = dataclasses.replace(manifest, head_commit=commit, head_at=now())
                write_manifest(self._base.store, collection, manifest, self._base.embedder.space)

    # ---- indexing

    def index(self, request: IndexRequest, call: Call = _SILENT) -> IndexResult:
        """Index a repository by its address, or a folder; an indexed one is updated.

        Raises:
            InvalidInputError: address, name or branch is invalid; another repository has the name.
            CancelledError: it was cancelled.
            KnowledgeError: the clone, the store or the embedder failed.
        """
        if not request.source.strip():
            raise InvalidInputError("No repository is given.", suggestion="Give an https address or a folder.")
        with self._alone(call) as running:
            local = "://" not in request.source and _LIKE_SSH.match(request.source) is None
            if local:
                copy = self.parts.copies.worktree(Path(request.source), name=request.name)
                _check_branch(copy, request.branch)
            else:
                running.progress(0.0, None, "fetching the repository")
                copy = self.parts.copies.clone(
                    request.source,
                    name=request.name,
                    branch=request.branch,
                    shallow=request.shallow,
                    fresh=request.fresh,
                    cancelled=running.cancelled,
                )
            collection, known = self._states.place_of(copy.name)
            try:
                self._check_same(copy, known)
            except InvalidInputError:
                if not local:  # the clone was just created: that of the known repository had been lost
                    self.parts.copies.remove(copy.name)
                raise
            if not local and known is not None and not request.fresh:
                copy = self.parts.copies.update(
                    copy.name, branch=request.branch or known.follow, cancelled=running.cancelled
                )
            earlier = known or RepositoryManifest(copy.name)
            manifest = dataclasses.replace(
                earlier,
                follow=request.branch or earlier.follow,
                shallow=request.shallow,
                include_extensions=(request.include_extensions or earlier.include_extensions or self.limits.extensions),
                exclude_patterns=request.exclude_patterns or earlier.exclude_patterns or self.limits.excludes,
            )
            return self._run(copy, collection, known, manifest, running, fresh=request.fresh)

    def refresh(self, name: str, call: Call = _SILENT, *, fresh: bool = False) -> IndexResult:
        """Update a repository's index to its current state.

        Args:
            name: name of the repository.
            call: receives the progress, and returns whether to stop.
            fresh: read and embed everything again, next to the existing index, which is then replaced.

        Raises:
            NotFoundError: there is no such repository; or its branch, or its folder, no longer exists.
            CancelledError, KnowledgeError: as for `index`.
        """
        with self._alone(call) as running:
            info = self.repository(name)
            known = read_manifest(self._base.store, info.collection)
            if known is None:
                raise NotFoundError(f"Repository not found: {name[:200]}")
            copy = self._brought_up(info.collection, known, running)
            return self._run(copy, info.collection, known, known, running, fresh=fresh)

    def remove(self, document_id: str, *, call: Call = _SILENT) -> int:
        """Remove a repository: its index, its clone and its entry in repositories.json; a local folder is not deleted.

        Args:
            document_id: the repository's name.
            call: returns whether to stop waiting for an indexing.

        Returns:
            The number of chunks removed.

        Raises:
            NotFoundError: there is none of that name.
        """
        info = self.repository(document_id)
        with self._locked(self._states.lock_name(info.collection), call):
            self._states.drop(info.collection)
            if not info.local:
                self.parts.copies.remove(info.name)
        self._file.write(self._states.all)
        return info.chunk_count

    def _brought_up(self, collection: str, known: RepositoryManifest, call: Call) -> Checkout:
        if known.local:
            return self.parts.copies.worktree(Path(known.local_path), name=known.name)
        call.progress(0.0, None, f"fetching {known.name}")
        try:
            return self.parts.copies.update(known.name, branch=known.follow, cancelled=call.cancelled)
        except NotFoundError:
            if self.parts.copies.place(known.name).is_dir():
                self._note_head(collection, "")
                raise
            return self.parts.copies.clone(
                known.url, name=known.name, branch=known.follow, shallow=known.shallow, cancelled=call.cancelled
            )

    def _run(
        self,
        copy: Checkout,
        collection: str,
        known: RepositoryManifest | None,
        manifest: RepositoryManifest,
        call: Call,
        *,
        fresh: bool,
    ) -> IndexResult:
        manifest = dataclasses.replace(
            manifest,
            name=copy.name,
            url=copy.url,
            local_path=str(copy.folder),
            local=copy.local,
            branch=copy.branch,
            head_commit=copy.commit,
            head_at=now(),
        )
        with self._locked(self._states.lock_name(collection), call):
            store = self._base.store
            current = read_manifest(store, collection) if store.open(collection).info() is not None else None
            if known is not None and current is None:
                raise NotFoundError(f"{copy.name} was removed in the meantime.", suggestion="Index it again.")
            run = IndexRun(
                self._base,
                self._pipeline,
                self.parts,
                self.metrics,
                collection=collection,
                known=current,
                manifest=manifest,
                fresh=fresh,
                call=call,
                begun=lambda: self._file.write(self._states.all),
            )
            try:
                return run.run(copy)
            finally:
                self.metrics.flush()
                self._states.forget(collection)
        # written once the lock is free, otherwise it would say that indexing continues

    def _check_same(self, copy: Checkout, known: RepositoryManifest | None) -> None:
        if known is None:
            return
        if known.local or copy.local:
            same = known.local and copy.local and known.local_path == str(copy.folder)
        else:
            same = _plain_address(known.url) == _plain_address(copy.url)
        if not same:
            raise InvalidInputError(
                f"Another repository is already called {copy.name}.",
                details=f"It comes from {known.url or known.local_path}.",
                suggestion="Choose a name for the new one (--name), or remove the other first.",
            )

    @contextmanager
    def _alone(self, call: Call) -> Generator[Call]:
        """Index one repository at a time (C 11.4); the file of repositories is written at the end in any case."""

        def cancelled() -> bool:
            return call.cancelled() or self._closing.is_set()

        running = Call(call.progress, cancelled)
        with self._idle:
            self._running += 1
        try:
            with self._locked("indexing", running):
                try:
                    yield running
                except BaseException:
                    with suppress(KnowledgeError):  # the error that ended the indexing is reported
                        self._file.write(self._states.all)
                    raise
                self._file.write(self._states.all)
        finally:
            with self._idle:
                self._running -= 1
                self._idle.notify_all()

    @contextmanager
    def _locked(self, name: str, call: Call) -> Generator[None]:
        waits = [True]

        def give_up() -> bool:
            if waits:
                waits.clear()
                call.progress(0.0, None, "waiting for another indexing to end")
            return call.cancelled()

        with locked(self._locks, [name], "repository", "indexing", give_up):
            yield

    # ---- searching and reading

    def search_code(self, query: CodeQuery) -> CodeAnswer:
        """Find code in one repository or all, and count the search.

        Raises:
            NotFoundError: the repository is unknown.
            InvalidInputError: a value is outside what is allowed.
            KnowledgeError: the store or the embedder failed.
        """
        started = time.perf_counter()
        self.metrics.count("queries_total")
        try:
            if query.repository is None:
                answer = self._search.search(query, *self._states.describing())
                if not answer.searched:
                    health.check_absence(self._base)
            else:
                info = self.repository(query.repository)
                answer = self._search.search(query, [info.collection], lambda _: info)
        except KnowledgeError:
            self.metrics.count("query_errors_total")
            raise
        milliseconds = (time.perf_counter() - started) * 1000
        self.metrics.observe("query_duration_ms", milliseconds)
        self.metrics.settle()
        return dataclasses.replace(answer, milliseconds=round(milliseconds))

    def file(self, name: str, path: str) -> tuple[RepositoryInfo, DocumentRecord, str]:
        """Return a repository, the record of one of its files, and the file's text as it was indexed.

        Raises:
            NotFoundError: no such repository or file; suggests similar files.
        """
        info = self.repository(name)
        files = self._base.store.open(info.collection)
        file_path = path.strip().removeprefix("./")
        record = record_of(files, f"{info.name}:{path}") or record_of(files, f"{info.name}:{file_path}")
        parts = files.parts(record.id) if record is not None else None
        if record is None or parts is None or parts.text is None:
            paths = [path_of(each.id) for each in files.documents()]
            ending = [each for each in paths if each.endswith(f"/{file_path}")]
            why = next((each for each in info.skipped_files if each.startswith(f"{file_path}: ")), "")
            near = ending[:3] or difflib.get_close_matches(file_path[:300], paths, 3, 0.6)
            similar = f"Did you mean {' or '.join(near)}?" if near else "Search for it by what it does."
            raise NotFoundError(
                f"File not indexed in {info.name}: {file_path[:300]}",
                details=why,
                suggestion="Read the file itself; the index does not hold it." if why else similar,
            )
        return info, record, parts.text

    # ---- life cycle

    def health(self) -> HealthReport:
        """Check every dependency now."""
        return health.health(self._base, self._probe, threshold_ms=self.health_threshold_ms)

    def warm_up(self) -> None:
        """Load the model, as the first query would; costs no money."""
        self._base.warm_up()

    def close(self) -> None:
        """Stop indexing, which can be resumed; write the metrics; free all resources."""
        self._closing.set()
        with self._idle:
            self._idle.wait_for(lambda: not self._running, timeout=10.0)
        self.metrics.flush()
        self._states.close()
        self._pipeline.close()
        self._base.close()
