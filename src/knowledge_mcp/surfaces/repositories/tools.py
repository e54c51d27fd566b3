"""The tools over repositories (C 3.2, 3.3, and those that are added): from a request to the desk and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from knowledge_mcp.engine.jobs import Line
from knowledge_mcp.engine.repositories import RepositoryDesk
from knowledge_mcp.engine.repository_values import CodeAnswer, CodeQuery, Freshness, RepositoryInfo
from knowledge_mcp.model.errors import ConfigError, InvalidInputError
from knowledge_mcp.surfaces.contract import Call, Tool
from knowledge_mcp.surfaces.repositories.passages import commit_of, entry, link, result
from knowledge_mcp.surfaces.repositories.requests import ListRequest, ReadLinesRequest, RefreshRequest, SearchRequest
from knowledge_mcp.surfaces.repositories.responses import (
    ListResponse,
    ReadLinesResponse,
    RefreshResponse,
    RepositoryFreshness,
    SearchMetadata,
    SearchResponse,
    Summary,
)

__all__ = ["TOOLS", "list_indexed_repositories", "read_file_lines", "refresh_repository", "semantic_search"]

_LINES = 200
_MOST_CHARACTERS = 60_000


def semantic_search(knowledge: object, request: SearchRequest) -> SearchResponse:
    """Answer `semantic_search`."""
    desk = _desk(knowledge)
    limits = desk.limits
    limit = request.limit if "limit" in request.model_fields_set else limits.default_limit
    if limit > limits.max_limit:
        raise InvalidInputError(
            "Invalid value for limit.",
            details=f"limit: must not be more than {limits.max_limit}, as this server is configured",
            suggestion="Ask for fewer results.",
        )
    threshold = request.threshold if "threshold" in request.model_fields_set else limits.threshold
    answer = desk.search_code(
        CodeQuery(
            text=request.query,
            limit=limit,
            threshold=threshold,
            repository=request.repository,
            language=request.language,
            path=request.path,
            symbol=request.symbol,
            mode=request.mode,
        )
    )
    more: dict[str, Any] = {"degraded": list(answer.degraded)} if answer.degraded else {}
    if answer.searched:
        known = desk.freshness_of(answer.searched)
        more["freshness"] = [_freshness(*each) for each in zip(answer.searched, known, strict=True)]
    said: dict[str, Any] = {}
    if not answer.hits:
        said["message"], said["suggestions"] = _why_nothing(request, answer, threshold)
    return SearchResponse(
        results=[result(desk, hit) for hit in answer.hits],
        metadata=SearchMetadata(
            total_matches=answer.total_matches,
            query_time_ms=answer.milliseconds,
            repositories_searched=[info.name for info in answer.searched],
            mode=request.mode,
            threshold=threshold,
            below_threshold=answer.below_threshold,
            **more,
        ),
        **said,
    )


def list_indexed_repositories(knowledge: object, _: ListRequest) -> ListResponse:
    """Answer `list_indexed_repositories`."""
    desk = _desk(knowledge)
    found = desk.repositories()
    return ListResponse(
        repositories=[entry(*each) for each in zip(found, desk.freshness_of(found), strict=True)],
        summary=Summary(
            total_repositories=len(found),
            total_files_indexed=sum(info.file_count for info in found),
            total_chunks=sum(info.chunk_count for info in found),
        ),
    )


def read_file_lines(knowledge: object, request: ReadLinesRequest) -> ReadLinesResponse:
    """Answer `read_file_lines`: from the text as it was indexed, so that nothing but indexed files can be read."""
    desk = _desk(knowledge)
    info, record, text = desk.file(request.repository, request.file_path)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first = request.start_line
    last = min(request.end_line if request.end_line is not None else first + _LINES - 1, len(lines))
    if first > len(lines) or (request.end_line is not None and request.end_line < first):
        raise InvalidInputError(
            "These lines are not there.",
            details=f"{request.file_path[:300]} has {len(lines)} lines.",
            suggestion="Ask for lines from 1 to that, start_line not after end_line.",
        )
    chosen = lines[first - 1 : last]
    while len(chosen) > 1 and sum(len(line) + 1 for line in chosen) > _MOST_CHARACTERS:
        chosen = chosen[: max(len(chosen) // 2, 1)]
    last = first + len(chosen) - 1
    commit, uncommitted = commit_of(info, record)
    path = record.id.partition(":")[2]
    more: dict[str, Any] = dict(link(desk, info, commit, path, (first, last)))
    if commit:
        more["commit"] = commit
    if uncommitted:
        more["uncommitted"] = True
    if last < len(lines):
        more["more"] = True
    if language := dict(record.metadata).get("language"):
        more["language"] = language
    return ReadLinesResponse(
        repository=info.name,
        file_path=path,
        start_line=first,
        end_line=last,
        total_lines=len(lines),
        content="\n".join(chosen),
        **more,
    )


def refresh_repository(knowledge: object, request: RefreshRequest, call: Call | None = None) -> RefreshResponse:
    """Answer `refresh_repository`."""
    desk = _desk(knowledge)
    info = desk.repository(request.repository)
    if request.check_only:
        fresh = desk.freshness(info, ask=True)
        more: dict[str, Any] = {"head_commit": fresh.head_commit} if fresh.head_commit else {}
        return RefreshResponse(
            repository=info.name,
            status="stale" if fresh.stale else "unchanged",
            indexed_commit=fresh.indexed_commit,
            stale=bool(fresh.stale),
            **more,
        )
    line = call or Call()
    done = desk.refresh(info.name, Line(_rising(line), line.cancelled))
    more = {"errors": list(done.errors)} if done.errors else {}
    return RefreshResponse(
        repository=done.repository,
        status="unchanged" if done.method == "unchanged" else done.status,
        indexed_commit=done.commit,
        previous_commit=done.previous_commit,
        head_commit=done.commit,
        stale=False,
        method=done.method,
        files_processed=done.files_processed,
        files_unchanged=done.files_unchanged,
        files_removed=done.files_removed,
        chunks_created=done.chunks_created,
        chunks_embedded=done.chunks_embedded,
        duration_ms=done.duration_ms,
        **more,
    )


def _rising(call: Call) -> Callable[[float, float | None, str], None]:
    """Tell progress that is greater each time, as MCP asks, also while files are fetched and none is done yet."""
    told = [-1.0]

    def progress(done: float, total: float | None, message: str) -> None:
        told[0] = done if done > told[0] else told[0] + 1e-6
        call.progress(told[0], total, message)

    return progress


def _desk(knowledge: object) -> RepositoryDesk:
    if not isinstance(knowledge, RepositoryDesk):
        raise ConfigError("This knowledge base holds no repositories.", details=type(knowledge).__name__)
    return knowledge


def _freshness(info: RepositoryInfo, fresh: Freshness) -> RepositoryFreshness:
    more: dict[str, Any] = {}
    if fresh.indexed_commit:
        more["indexed_commit"] = fresh.indexed_commit
    if fresh.head_commit:
        more["head_commit"] = fresh.head_commit
    if fresh.stale is not None:
        more["stale"] = fresh.stale
    if fresh.dirty_files:
        more["dirty_files"] = fresh.dirty_files
    return RepositoryFreshness(repository=info.name, status=info.status, **more)


def _why_nothing(request: SearchRequest, answer: CodeAnswer, threshold: float) -> tuple[str, list[str]]:
    if not answer.searched:
        return "No repository is indexed yet.", ["Index one with `pk-mcp index URL`."]
    if answer.notes:
        return " ".join(answer.notes), ["Leave out the filter, or correct it."]
    if answer.below_threshold:
        count = answer.below_threshold
        return (
            f"No result reached the threshold {threshold:g}; {count} lay below it.",
            ["Lower the threshold.", "Describe what the code does, or name a symbol in it."],
        )
    if request.filters():
        named = ", ".join(f"{name}={value}" for name, value in request.filters().items())
        return f"No code matched with these filters ({named[:300]}).", ["Leave out a filter."]
    return "No code matched the query.", ["Try other words.", "Use list_indexed_repositories to see what is indexed."]


TOOLS = (
    Tool(
        name="semantic_search",
        title="Search code",
        description=(
            "Search indexed code repositories using natural language queries. Returns relevant code snippets ranked by "
            "semantic similarity."
        ),
        request=SearchRequest,
        response=SearchResponse,
        run=semantic_search,
        items="results",
    ),
    Tool(
        name="list_indexed_repositories",
        title="List repositories",
        description=(
            "List all repositories currently indexed in the knowledge base. Shows repository names, file counts, and "
            "indexing status."
        ),
        request=ListRequest,
        response=ListResponse,
        run=list_indexed_repositories,
        items="repositories",
    ),
    Tool(
        name="read_file_lines",
        title="Read lines of a file",
        description=(
            "Read lines of an indexed file as it was indexed, e.g. around a result of semantic_search. Only indexed "
            "files can be read."
        ),
        request=ReadLinesRequest,
        response=ReadLinesResponse,
        run=read_file_lines,
    ),
    Tool(
        name="refresh_repository",
        title="Refresh a repository",
        description=(
            "Bring the index of a repository to its present commit (or, for a folder, its present files); only what "
            "changed is read and embedded. Use it when `stale` is true. With check_only it tells whether that is so."
        ),
        request=RefreshRequest,
        response=RefreshResponse,
        run=refresh_repository,
        run_long=refresh_repository,
        writes=True,
    ),
)
"""All tools of the surface, in the order in which they are listed."""
