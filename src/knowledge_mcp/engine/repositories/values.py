"""What is said and answered about repositories, and the parts that the repository service is given."""

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
    """Clones of remote repositories, and folders of this machine."""

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
        """Clone a repository, or return the clone that is there."""
        ...

    def update(self, name: str, *, branch: str = "", cancelled: Callable[[], bool] | None = None) -> Checkout:
        """Bring a clone to where its remote is now."""
        ...

    def remote_head(self, url: str, *, branch: str = "") -> RemoteHead:
        """Ask where a branch stands on its remote."""
        ...

    def changes(self, folder: Path, old: str, new: str) -> Sequence[FileChange] | None:
        """List what changed between two commits; None where one is not known any more."""
        ...

    def place(self, name: str) -> Path:
        """Return the folder of a clone."""
        ...

    def remove(self, name: str) -> bool:
        """Remove a clone; tells whether there was one."""
        ...

    def worktree(self, path: Path, *, name: str = "") -> Checkout:
        """Describe a folder of this machine."""
        ...


class CodeSource(Source, Protocol):
    """Find source files, and tell what was not looked at."""

    def not_looked_at(self) -> tuple[LeftOut, ...]:
        """Tell what the last pass over the files did not look at, by why."""
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
        """Make the source; uris are `repository:path`, names the paths; `only` these are opened, None for all."""
        ...


@dataclass(frozen=True, slots=True)
class RepositoryParts:
    """Bundle what the service works with.

    Attributes:
        copies: clones and folders.
        scan: finds source files.
        permalink: page that shows a file's lines at one commit, None where the host is not known.
        similarity: maps a cosine in an embedding space to 0..1, so that 0.7 is where results begin to be relevant.
        extensions, excludes: what `scan` looks at and leaves out where nothing else is chosen, for display.
    """

    copies: Copies
    scan: ScanFactory
    permalink: Callable[[str, str, str, tuple[int, int] | None], str | None]
    similarity: Callable[[EmbeddingSpace, float], float]
    extensions: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """Hold what a configuration decides of searching and indexing (C 8.2)."""

    default_limit: int = 10
    max_limit: int = 50
    threshold: float = 0.7
    snippet: int = 500
    extensions: tuple[str, ...] | None = None
    excludes: tuple[str, ...] = ()


def source_code(document: Document) -> Classification:
    """Say of every file of a repository that it is of our own kind."""
    del document
    return Classification(DocumentType.CUSTOM)


# ---- indexing


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """Ask for a repository to be indexed.

    Attributes:
        source: an https address, or a folder of this machine.
        name: instead of the last part of the address or path.
        branch: instead of the default branch; for clones only.
        shallow: clone one commit only.
        include_extensions: instead of the default ones; None for those.
        exclude_patterns: further ones, as in a `.gitignore`.
        fresh: clone again, and embed everything again, beside the index that is there, which it then replaces.
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
    """Tell what an indexing came to (C 4.4).

    Attributes:
        status: `partial` where files that were to be indexed could not be read.
        method: `commit_diff`, `content_hash`, `full` (beside the old one), or `unchanged`.
        files_processed, files_unchanged, files_removed, files_skipped: files read, left as they were, taken out, and
            passed over with a reason.
        chunks_created, chunks_embedded, chunks_reused: chunks of the files processed.
        skipped: path and reason of each file passed over.
        warnings: what the readers said of files, each sentence once, such as that symbols are not known; and which
            submodules are not there.
        left_out: what was not even looked at, where all files were.
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
    """Tell how an index stands to its repository.

    Attributes:
        indexed_commit: wholly indexed, empty where none is.
        head_commit: where the repository stands, as last known; empty where there is none.
        stale: whether they differ, or uncommitted files changed; None where nothing is known.
        dirty_files: files with changes that are not committed, of a folder of this machine.
        checked_at: when the head was asked for, ISO 8601.
        problem: why that is not known, such as a folder that is gone.
    """

    indexed_commit: str = ""
    head_commit: str = ""
    stale: bool | None = None
    dirty_files: int = 0
    checked_at: str = ""
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """Describe one repository as the store has it (C 3.3, 5.2).

    Attributes:
        progress: files done and in all while it is indexed.
        uncommitted: paths that were indexed with changes that no commit has; None where they are too many to list.
        nested: folders in it that are repositories of their own, of which no commit of it speaks.
        partial_tree: it is a folder inside a repository, whose paths are not the repository's.
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
    skipped: int = 0
    uncommitted: frozenset[str] | None = frozenset()
    nested: tuple[str, ...] = ()
    partial_tree: bool = False


# ---- searching


@dataclass(frozen=True, slots=True)
class CodeQuery:
    """Ask for code.

    Attributes:
        text: 1..1000 characters.
        limit: most hits.
        threshold: 0..1; hits less similar are left out and counted.
        repository: its name, None for all.
        language: e.g. `python`; path: a glob; symbol: name of a class, function … that hits define or stand in.
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
    """Pair a chunk with its repository, its file's record, and why it was found; `similarity` is 0..1."""

    repository: RepositoryInfo
    chunk: Chunk
    record: DocumentRecord | None
    similarity: float
    dense: LegScore | None = None
    lexical: LegScore | None = None
    exact_symbol: bool = False


@dataclass(frozen=True, slots=True)
class CodeAnswer:
    """Answer a code search.

    Attributes:
        hits: best first.
        total_matches: candidates at or above the threshold; below_threshold: those under it. What is not shown was
            not read, so a lone comment among it counts by its full similarity.
        searched: the repositories searched.
        degraded: what failed on the way and why.
        notes: what a reader should know: not ready, nothing matches a filter, unknown language …
    """

    hits: tuple[CodeHit, ...]
    total_matches: int
    below_threshold: int
    searched: tuple[RepositoryInfo, ...]
    milliseconds: int = 0
    degraded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
