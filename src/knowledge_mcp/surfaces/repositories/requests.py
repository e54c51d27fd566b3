"""Arguments of the repositories' tools: the specified ones by their names, and what is added."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from knowledge_mcp.surfaces.arguments import WHOLE, Text
from knowledge_mcp.surfaces.contract import Request

__all__ = ["ListRequest", "ReadLinesRequest", "RefreshRequest", "SearchRequest"]

RepositoryName = Annotated[Text, Field(min_length=1, max_length=200)]


class SearchRequest(Request):
    """Arguments of `semantic_search` (C 3.2)."""

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
        default=None, description="Only files whose path fits this glob, e.g. src/**/*.py, tests/, *.md."
    )
    symbol: Annotated[Text, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="Only code that defines this class, function or method, or lies inside it."
    )
    mode: Literal["hybrid", "dense", "keyword"] = Field(
        default="hybrid", description="hybrid ranks by meaning and words, dense by meaning alone, keyword by words."
    )

    def filters(self) -> dict[str, Any]:
        """List the filters that were given."""
        given = {name: getattr(self, name) for name in ("repository", "language", "path", "symbol")}
        return {name: value for name, value in given.items() if value is not None}

    def subject(self) -> str:
        """Return the query."""
        return self.query


class ListRequest(Request):
    """Arguments of `list_indexed_repositories`: none (C 3.3)."""


class ReadLinesRequest(Request):
    """Arguments of `read_file_lines`."""

    repository: RepositoryName = Field(description="Repository name, as list_indexed_repositories gives it.")
    file_path: Annotated[Text, Field(min_length=1, max_length=4096)] = Field(
        description="Path within the repository, as semantic_search gives it."
    )
    start_line: Annotated[int, Field(ge=1, le=10_000_000), WHOLE] = Field(
        default=1, description="First line to return, counted from 1."
    )
    end_line: Annotated[int, Field(ge=1, le=10_000_000), WHOLE] | None = Field(
        default=None, description="Last line to return; without it, 200 lines from start_line on."
    )

    def subject(self) -> str:
        """Return the path."""
        return f"{self.repository}:{self.file_path}"


class RefreshRequest(Request):
    """Arguments of `refresh_repository`."""

    repository: RepositoryName = Field(description="Repository name, as list_indexed_repositories gives it.")
    check_only: bool = Field(
        default=False, description="Only tell whether the repository has changed since it was indexed."
    )

    def subject(self) -> str:
        """Return the name."""
        return self.repository
