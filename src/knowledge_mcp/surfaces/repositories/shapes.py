"""Arguments of the repositories' tools: the specified ones by their names, and what is added."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from knowledge_mcp.surfaces.answers import NOT_CUT, Truncation
from knowledge_mcp.surfaces.arguments import WHOLE, Text
from knowledge_mcp.surfaces.contract import Request, Response

RepositoryName = Annotated[Text, Field(min_length=1, max_length=200)]


class CodeSearchRequest(Request):
    """Arguments of `semantic_search` (C 3.2)."""

    SUBJECT = "query"
    FILTERS = frozenset({"repository", "language", "path", "symbol"})
    BOUNDED = frozenset({"limit", "threshold"})

    query: Annotated[Text, Field(min_length=1, max_length=1000)] = Field(
        description="Natural language search query describing what you're looking for"
    )
    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(
        default=10, description="Maximum number of results to return"
    )
    threshold: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.7,
        description=("Minimum similarity score (0.0 to 1.0). Higher values return more relevant but fewer results."),
    )
    repository: RepositoryName | None = Field(
        default=None,
        description="Filter results to a specific repository name. If omitted, searches all indexed repositories.",
    )
    language: Annotated[Text, Field(min_length=1, max_length=40)] | None = Field(
        default=None, description="Only files of this language, e.g. python, typescript, go, markdown."
    )
    path: Annotated[Text, Field(min_length=1, max_length=500)] | None = Field(
        default=None, description="Only files whose path matches this glob, e.g. src/**/*.py, tests/, *.md."
    )
    symbol: Annotated[Text, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Only code that defines this class, function or method, or lies inside it."
    )
    mode: Literal["hybrid", "dense", "keyword"] = Field(
        default="hybrid", description="hybrid ranks by meaning and words, dense by meaning alone, keyword by words."
    )


class ListRepositoriesRequest(Request):
    """Arguments of `list_indexed_repositories`: none (C 3.3)."""


class ReadLinesRequest(Request):
    """Arguments of `read_file_lines`."""

    repository: RepositoryName = Field(description="Repository name, from list_indexed_repositories.")
    file_path: Annotated[Text, Field(min_length=1, max_length=4096)] = Field(
        description="Path within the repository, from semantic_search."
    )
    start_line: Annotated[int, Field(ge=1, le=10_000_000), WHOLE] = Field(
        default=1, description="First line to return, counted from 1."
    )
    end_line: Annotated[int, Field(ge=1, le=10_000_000), WHOLE] | None = Field(
        default=None, description="Last line to return. Default: 200 lines from start_line on."
    )

    def subject(self) -> str:
        """Return the path."""
        return f"{self.repository}:{self.file_path}"


class RefreshRequest(Request):
    """Arguments of `refresh_repository`."""

    SUBJECT = "repository"

    repository: RepositoryName = Field(description="Repository name, from list_indexed_repositories.")
    check_only: bool = Field(
        default=False, description="Only report whether the repository has changed since it was indexed."
    )


_CUT = Field(default=NOT_CUT, description="Present if the answer was cut to fit.")


class FileMetadata(Response):
    """What is known of a result's file."""

    file_extension: str
    file_size_bytes: int
    indexed_at: str = Field(description="ISO 8601.")
    language: str = ""
    total_chunks: int = 0
    content_hash: str = Field(default="", description="SHA-256 of the chunk's whole text.")
    file_modified_at: str = ""


class CodeSearchResult(Response):
    """One piece of code."""

    file_path: str = Field(description="Relative path within the repository.")
    repository: str
    content_snippet: str = Field(description="The code word for word, cut at about 500 characters.")
    similarity_score: float = Field(ge=0.0, le=1.0, description="Higher is better.")
    chunk_index: int = Field(description="Position within the file.")
    metadata: FileMetadata
    id: str = Field(description="repository:path:index.")
    start_line: int = Field(description="First line of the whole chunk, from 1.")
    end_line: int = Field(description="Last line of the whole chunk.")
    snippet_end_line: int = Field(description="Last line that the snippet shows, in full or in part.")
    symbol: str = Field(default="", description="The symbol defined here, with its enclosing scope.")
    permalink: str = Field(default="", description="Web page that shows these lines at the indexed commit.")
    commit: str = Field(default="", description="Commit that the lines belong to.")
    uncommitted: bool = Field(default=False, description="The file had uncommitted changes.")
    exact_symbol: bool = Field(default=False, description="This chunk defines the requested symbol.")


class RepositoryFreshness(Response):
    """State of the index of one repository."""

    repository: str
    status: Literal["ready", "indexing", "error"]
    indexed_commit: str = ""
    head_commit: str = ""
    stale: bool = False
    dirty_files: int = 0


class SearchMetadata(Response):
    """About the search."""

    total_matches: int = Field(description="Candidates at or above the threshold.")
    query_time_ms: int
    repositories_searched: list[str]
    mode: Literal["hybrid", "dense", "keyword"]
    threshold: float
    below_threshold: int = Field(description="Candidates below the threshold.")
    freshness: list[RepositoryFreshness] = Field(default=[])
    degraded: list[str] = Field(default=[], description="What failed, and why; results may be incomplete.")


class CodeSearchResponse(Response):
    """Answer of `semantic_search`."""

    results: list[CodeSearchResult]
    metadata: SearchMetadata
    message: str = Field(default="", description="Why nothing was found.")
    suggestions: list[str] = Field(default=[])
    truncated: Truncation = _CUT


class RepositoryEntry(Response):
    """One repository."""

    name: str
    url: str
    file_count: int
    chunk_count: int
    last_indexed: str = Field(description="ISO 8601.")
    status: Literal["ready", "indexing", "error"]
    index_duration_ms: int = 0
    error_message: str = ""
    branch: str = ""
    local_path: str = Field(default="", description="For a folder on this machine.")
    indexed_commit: str = ""
    head_commit: str = Field(default="", description="Latest known commit of the repository.")
    head_checked_at: str = ""
    stale: bool = Field(
        default=False, description="The repository has changed since it was indexed; call refresh_repository."
    )
    dirty_files: int = 0
    files_done: int = 0
    files_total: int = 0
    problems: list[str] = Field(
        default=[], description="Files that could not be indexed, or why the repository cannot be checked."
    )


class Summary(Response):
    """Totals."""

    total_repositories: int
    total_files_indexed: int
    total_chunks: int


class ListRepositoriesResponse(Response):
    """Answer of `list_indexed_repositories`."""

    repositories: list[RepositoryEntry]
    summary: Summary
    truncated: Truncation = _CUT


class ReadLinesResponse(Response):
    """Answer of `read_file_lines`."""

    repository: str
    file_path: str
    start_line: int
    end_line: int
    total_lines: int
    content: str = Field(description="The lines word for word, as they were indexed.")
    language: str = ""
    commit: str = ""
    permalink: str = ""
    uncommitted: bool = False
    line_cut: bool = Field(default=False, description="The line is too long; its end is cut.")
    more: bool = Field(default=False, description="There are more lines; continue at end_line + 1.")


class RefreshResponse(Response):
    """Answer of `refresh_repository`."""

    repository: str
    status: Literal["success", "partial", "failed", "unchanged", "stale", "unknown"] = Field(
        description="unknown: the folder has no commit to compare, so only a refresh can tell."
    )
    indexed_commit: str = ""
    previous_commit: str = ""
    head_commit: str = ""
    stale: bool = Field(default=False, description="Absent if unknown.")
    method: str = Field(default="", description="commit_diff, content_hash, full or unchanged.")
    files_processed: int = 0
    files_unchanged: int = 0
    files_removed: int = 0
    files_skipped: int = Field(default=0, description="Files skipped: binary, generated, too large …")
    chunks_created: int = 0
    chunks_embedded: int = 0
    duration_ms: int = 0
    errors: list[str] = Field(default=[])
    warnings: list[str] = Field(default=[], description="What is not in the index, or may be wrong in it.")
