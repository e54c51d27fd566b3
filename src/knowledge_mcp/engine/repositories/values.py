"""Queries and answers about repositories, and the parts of the repository service."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, EmbeddingSpace
from knowledge_mcp.model.document import Classification, Document, DocumentType
from knowledge_mcp.model.ingest import LeftOut
from knowledge_mcp.model.query import LegScore
from knowledge_mcp.model.source import Checkout, FileChange, RemoteHead
from knowledge_mcp.ports import Source

# ---- parts


class Copies(Protocol):
    """Clones of remote repositories, and local folders."""

    def clone(
        self,
        url: str,
        *,
        name: str = "",
        branch: str = "",
        shallow: bool = True,
        fresh: bool = False,
        cancelled: Callable[[], bool] | None = None,
    ) -> Checkout:
        """Clone a repository, or return the existing clone."""
        ...

    def update(self, name: str, *, branch: str = "", cancelled: Callable[[], bool] | None = None) -> Checkout:
        """Update a clone to its remote."""
        ...

    def remote_head(self, url: str, *, branch: str = "") -> RemoteHead:
        """Return the commit of a branch on its remote."""
        ...

    def changes(self, folder: Path, old: str, new: str) -> Sequence[FileChange] | None:
        """List the changes between two commits; None if one is no longer known."""
        ...

    def place(self, name: str) -> Path:
        """Return the folder of a clone."""
        ...

    def remove(self, name: str) -> bool:
        """Remove a clone; return whether there was one."""
        ...

    def worktree(self, path: Path, *, name: str = "") -> Checkout:
        """Describe a local folder."""
        ...

    def is_pushed(self, folder: Path, commit: str) -> bool:
        """Return whether a local folder's remote had a commit when it was last contacted."""
        ...


class CodeSource(Source, Protocol):
    """Find source files, and report what was ignored."""

    def not_looked_at(self) -> tuple[LeftOut, ...]:
        """Describe what the last pass ignored, by reason."""
        ...


class ScanFactory(Protocol):
    """Find the source files of a folder."""

    def __call__(
        self,
        root: Path,
        *,
        repository: str,
        include_extensions: Sequence[str] | None,
        exclude_patterns: Sequence[str],
        only: Collection[str] | None,
    ) -> CodeSource:
        """Create the source; URIs are `repository:path`, names are paths; only files in `only` are opened."""
        ...


@dataclass(frozen=True, slots=True)
class RepositoryParts:
    """The parts of the service.

    Attributes:
        copies: clones and folders.
        scan: finds source files.
        permalink: page that shows a file's lines at one commit, None if the host is unknown.
        similarity: maps a cosine in an embedding space to 0..1, so that results from 0.7 are relevant.
        extensions, excludes: what `scan` includes and excludes by default, for display.
    """

    copies: Copies
    scan: ScanFactory
    permalink: Callable[[str, str, str, tuple[int, int] | None], str | None]
    similarity: Callable[[EmbeddingSpace, float], float]
    extensions: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Configured limits of searching and indexing (C 8.2)."""

    default_limit: int = 10
    max_limit: int = 50
    threshold: float = 0.7
    snippet: int = 500
    extensions: tuple[str, ...] | None = None
    excludes: tuple[str, ...] = ()


def source_code(document: Document) -> Classification:
    """Classify every file of a repository as our own type of document."""
    del document
    return Classification(DocumentType.CUSTOM)


# ---- indexing


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Ask to index a repository.

    Attributes:
        source: an https address, or a local folder.
        name: instead of the last part of the address or path.
        branch: instead of the default branch; only for clones.
        shallow: clone one commit only.
        include_extensions: instead of the default ones; None for the default.
        exclude_patterns: additional ones, as in a `.gitignore`.
        fresh: clone and embed everything again, next to the existing index, which is then replaced.
    """

    source: str
    name: str = ""
    branch: str = ""
    shallow: bool = True
    include_extensions: tuple[str, ...] | None = None
    exclude_patterns: tuple[str, ...] = ()
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class IndexResult:
    """The result of an indexing (C 4.4).

    Attributes:
        status: `partial` if some files could not be read.
        method: `commit_diff`, `content_hash`, `full` (next to the old one), or `unchanged`.
        files_processed, files_unchanged, files_removed, files_skipped: files read, left unchanged, removed, and
            skipped with a reason.
        chunks_created, chunks_embedded, chunks_reused: chunks of the processed files.
        skipped: path and reason of each skipped file.
        warnings: warnings of the readers, each sentence once, such as that symbols are unknown; and missing
            submodules.
        left_out: what was ignored, if all files were scanned.
    """

    repository: str
    status: Literal["success", "partial", "failed"]
    files_processed: int
    chunks_created: int
    duration_ms: int
    errors: tuple[str, ...] = ()
    method: str = "content_hash"
    commit: str = ""
    previous_commit: str = ""
    files_unchanged: int = 0
    files_removed: int = 0
    files_skipped: int = 0
    chunks_embedded: int = 0
    chunks_reused: int = 0
    skipped: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


# ---- state


@dataclass(frozen=True, slots=True)
class Freshness:
    """How an index compares to its repository.

    Attributes:
        indexed_commit: completely indexed, empty if none is.
        head_commit: present commit of the repository, as last known; empty if there is none.
        stale: whether they differ, or uncommitted files changed; None if unknown.
        dirty_files: files with uncommitted changes, of a local folder.
        checked_at: when the head was read, ISO 8601.
        problem: why it is unknown, such as a missing folder.
    """

    indexed_commit: str = ""
    head_commit: str = ""
    stale: bool | None = None
    dirty_files: int = 0
    checked_at: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """One repository in the store (C 3.3, 5.2).

    Attributes:
        progress: files done and in total while it is indexed.
        skipped_files: files left out because of their content, each with the reason.
        uncommitted: paths that were indexed with uncommitted changes; None if they are too many to list.
        nested: folders in it that are repositories themselves, which no commit of it records.
        partial_tree: whether it is a folder inside a repository, so that its paths are not the repository's.
    """

    name: str
    url: str
    local_path: str
    collection: str
    local: bool
    branch: str
    file_count: int
    chunk_count: int
    last_indexed: str
    status: Literal["ready", "indexing", "error"]
    index_duration_ms: int
    error_message: str
    include_extensions: tuple[str, ...]
    exclude_patterns: tuple[str, ...]
    freshness: Freshness
    progress: tuple[int, int] | None = None
    problems: tuple[str, ...] = ()
    skipped_files: tuple[str, ...] = ()
    uncommitted: frozenset[str] | None = frozenset()
    nested: tuple[str, ...] = ()
    partial_tree: bool = False


# ---- searching


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """Ask for code.

    Attributes:
        text: 1..1000 characters.
        limit: maximum number of hits.
        threshold: 0..1; less similar hits are left out and counted.
        repository: its name, None for all.
        language: e.g. `python`; path: a glob; symbol: name of a class, function … that hits define or are inside.
        mode: `hybrid`, `dense` or `keyword`.
    """

    text: str
    limit: int = 10
    threshold: float = 0.7
    repository: str | None = None
    language: str | None = None
    path: str | None = None
    symbol: str | None = None
    mode: Literal["hybrid", "dense", "keyword"] = "hybrid"


@dataclass(frozen=True, slots=True)
class CodeHit:
    """A chunk with its repository, its file's record, and why it was found; `similarity` is 0..1."""

    repository: RepositoryInfo
    chunk: Chunk
    record: DocumentRecord | None
    similarity: float
    dense: LegScore | None = None
    lexical: LegScore | None = None
    exact_symbol: bool = False


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """The answer to a code search.

    Attributes:
        hits: best first.
        total_matches: candidates at or above the threshold; below_threshold: those under it. Hits not shown were not
            read, so lone comments among them count with their full similarity.
        searched: the repositories searched.
        degraded: what failed and why.
        notes: for the reader: not ready, nothing matches a filter, unknown language …
    """

    hits: tuple[CodeHit, ...]
    total_matches: int
    below_threshold: int
    searched: tuple[RepositoryInfo, ...]
    milliseconds: int = 0
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
