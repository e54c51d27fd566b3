"""The tools over repositories (C 3.2, 3.3, and those that are added): from a request to the service and back."""

from __future__ import annotations

from knowledge_mcp.engine.repositories.manifest import path_of
from knowledge_mcp.engine.repositories.service import RepositoryService
from knowledge_mcp.engine.repositories.values import CodeAnswer, CodeHit, CodeQuery, Freshness, RepositoryInfo
from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.surfaces.answers import round_score
from knowledge_mcp.surfaces.contract import Surface, Tool
from knowledge_mcp.surfaces.repositories import shapes


def snippet(content: str, longest: int) -> str:
    """Cut a chunk's text to what is shown: whole lines where one ends in the last third, else at a character."""
    if len(content) <= longest:
        return content
    cut = content[:longest]
    line = cut.rfind("\n")
    return cut[:line] if line > 2 * longest // 3 else cut


def commit_of(info: RepositoryInfo, record: DocumentRecord | None) -> tuple[str, bool]:
    """Return the commit at which a file's lines stand as indexed, and whether it had changes not committed.

    In an index that is whole every file is as at the indexed commit; in one that is not, as when it was read itself.
    The commit of a file in a nested repository is not reported.
    """
    labels = dict(record.metadata) if record is not None else {}
    path = path_of(record.id) if record is not None else ""
    if any(path.startswith(f"{folder}/") for folder in info.nested):
        return "", False
    if info.status == "ready" and info.uncommitted is not None:
        uncommitted = path in info.uncommitted
        return ("" if uncommitted else info.freshness.indexed_commit), uncommitted
    uncommitted = labels.get("uncommitted") == "true"
    return ("" if uncommitted else labels.get("commit", "")), uncommitted


def link(
    service: RepositoryService, info: RepositoryInfo, commit: str, path: str, lines: tuple[int, int] | None
) -> str:
    """Build the permalink; empty where there is none: no commit, a commit not pushed, a host not known."""
    if not commit or not info.url or info.partial_tree or not service.is_public(info, commit):
        return ""
    return service.parts.permalink(info.url, commit, path, lines) or ""


def result(service: RepositoryService, hit: CodeHit) -> shapes.CodeSearchResult:
    """Turn a hit into a result."""
    chunk, record, info = hit.chunk, hit.record, hit.repository
    labels = dict(record.metadata) if record is not None else {}
    path = path_of(chunk.document_id)
    content = snippet(chunk.content, service.limits.snippet)
    first, last = chunk.lines or (1, 1)
    commit, uncommitted = commit_of(info, record)
    symbols = [*(each for each in chunk.section_hierarchy if each != chunk.section_title), chunk.section_title]
    metadata = shapes.FileMetadata.of(
        file_extension=labels.get("extension", ""),
        file_size_bytes=record.size if record is not None else 0,
        indexed_at=_utc(record.updated_at) if record is not None else info.last_indexed,
        language=labels.get("language"),
        total_chunks=record.chunk_count if record is not None else 0,
        content_hash=chunk.content_hash,
        file_modified_at=labels.get("modified_at"),
        keep=["total_chunks"],
    )
    return shapes.CodeSearchResult.of(
        hit,
        file_path=path,
        repository=info.name,
        content_snippet=content,
        similarity_score=round_score(hit.similarity),
        chunk_index=chunk.index,
        metadata=metadata,
        id=f"{info.name}:{path}:{chunk.index}",
        start_line=first,
        end_line=last,
        snippet_end_line=min(first + content.count("\n"), last),
        symbol=" > ".join(filter(None, symbols)),
        permalink=link(service, info, commit, path, chunk.lines),
        commit=commit,
        uncommitted=uncommitted,
    )


def entry(info: RepositoryInfo, freshness: Freshness) -> shapes.RepositoryEntry:
    """Describe a repository; what is not known is left out."""
    done, total = info.progress or (None, None)
    return shapes.RepositoryEntry.of(
        info,
        url=info.url or info.local_path,
        local_path=info.local_path if info.local else "",
        indexed_commit=freshness.indexed_commit,
        head_commit=freshness.head_commit,
        head_checked_at=freshness.checked_at,
        stale=freshness.stale,
        dirty_files=freshness.dirty_files,
        files_done=done,
        files_total=total,
        problems=[*filter(None, [freshness.problem]), *info.problems, *_skipped(info)],
        keep=["stale", "files_done", "files_total"],
    )


def _skipped(info: RepositoryInfo) -> list[str]:
    more = ["More files were left out."] if len(info.skipped_files) > _MOST_SKIPPED else []
    return [*info.skipped_files[:_MOST_SKIPPED], *more]


def _utc(moment: str) -> str:
    return moment.replace("+00:00", "Z")


_MOST_SKIPPED = 3
"""Files left out that are listed of each repository: binary files are many, and few are searched for."""
_MOST_WARNINGS = 20
"""Warnings of one refresh: each sentence is reported once, so more are rare."""
_LINES = 200
"""Lines read where no end is named: most functions are shorter."""
_MOST_CHARACTERS = 60_000
"""Characters of lines in one answer: with their numbers and the escapes of JSON they stay within an answer's size."""


def semantic_search(service: RepositoryService, request: shapes.CodeSearchRequest) -> shapes.CodeSearchResponse:
    """Answer `semantic_search`."""
    limits = service.limits
    limit = request.limit if "limit" in request.model_fields_set else limits.default_limit
    if limit > limits.max_limit:
        raise InvalidInputError(
            "Invalid value for limit.",
            details=f"limit: must not be more than {limits.max_limit}, as this server is configured",
            suggestion="Request fewer results.",
        )
    threshold = request.threshold if "threshold" in request.model_fields_set else limits.threshold
    answer = service.search_code(
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
    freshness = zip(answer.searched, service.freshness_of(answer.searched), strict=True) if answer.searched else ()
    message, suggestions = ("", []) if answer.hits else _why_nothing(request, answer, threshold)
    return shapes.CodeSearchResponse.of(
        results=[result(service, hit) for hit in answer.hits],
        metadata=shapes.SearchMetadata.of(
            answer,
            query_time_ms=answer.milliseconds,
            repositories_searched=[info.name for info in answer.searched],
            mode=request.mode,
            threshold=threshold,
            freshness=[_freshness(*each) for each in freshness],
        ),
        message=message,
        suggestions=suggestions,
    )


def list_indexed_repositories(
    service: RepositoryService, _: shapes.ListRepositoriesRequest
) -> shapes.ListRepositoriesResponse:
    """Answer `list_indexed_repositories`."""
    found = service.repositories()
    return shapes.ListRepositoriesResponse(
        repositories=[entry(*each) for each in zip(found, service.freshness_of(found), strict=True)],
        summary=shapes.Summary(
            total_repositories=len(found),
            total_files_indexed=sum(info.file_count for info in found),
            total_chunks=sum(info.chunk_count for info in found),
        ),
    )


def read_file_lines(service: RepositoryService, request: shapes.ReadLinesRequest) -> shapes.ReadLinesResponse:
    """Answer `read_file_lines`: from the text as it was indexed, so that nothing but indexed files can be read."""
    info, record, text = service.file(request.repository, request.file_path)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    first = request.start_line
    last = min(request.end_line if request.end_line is not None else first + _LINES - 1, len(lines))
    if first > len(lines) or (request.end_line is not None and request.end_line < first):
        raise InvalidInputError(
            "These lines do not exist.",
            details=f"{request.file_path[:300]} has {len(lines)} lines.",
            suggestion="Request lines within this range, with start_line not after end_line.",
        )
    chosen = lines[first - 1 : last]
    while len(chosen) > 1 and sum(len(line) + 1 for line in chosen) > _MOST_CHARACTERS:
        chosen = chosen[: max(len(chosen) // 2, 1)]
    last = first + len(chosen) - 1
    commit, uncommitted = commit_of(info, record)
    path = record.id.partition(":")[2]
    return shapes.ReadLinesResponse.of(
        repository=info.name,
        file_path=path,
        start_line=first,
        end_line=last,
        total_lines=len(lines),
        content="\n".join(chosen)[:_MOST_CHARACTERS],
        line_cut=len(chosen[0]) > _MOST_CHARACTERS,
        language=record.label("language"),
        commit=commit,
        permalink=link(service, info, commit, path, (first, last)),
        uncommitted=uncommitted,
        more=last < len(lines),
    )


def refresh_repository(
    service: RepositoryService, request: shapes.RefreshRequest, call: Call | None = None
) -> shapes.RefreshResponse:
    """Answer `refresh_repository`."""
    info = service.repository(request.repository)
    if request.check_only:
        fresh = service.freshness(info, ask=True)
        return shapes.RefreshResponse.of(
            fresh,
            repository=info.name,
            status="unknown" if fresh.stale is None else "stale" if fresh.stale else "unchanged",
            keep=["indexed_commit", "stale"],
        )
    call = call or Call()
    done = service.refresh(info.name, Call(_strictly_rising(call), call.cancelled))
    return shapes.RefreshResponse.of(
        done,
        status="unchanged" if done.method == "unchanged" else done.status,
        indexed_commit=done.commit,
        head_commit=done.commit,
        stale=False,
        errors=done.errors or None,
        warnings=done.warnings[:_MOST_WARNINGS] or None,
        keep=shapes.RefreshResponse.model_fields,
    )


def _strictly_rising(call: Call) -> Progress:
    """Tell progress that is greater each time, as MCP asks, also while files are fetched and none is done yet."""
    last = [-1.0]

    def progress(done: float, total: float | None, message: str) -> None:
        last[0] = done if done > last[0] else last[0] + 1e-6
        call.progress(last[0], total, message)

    return progress


def _freshness(info: RepositoryInfo, fresh: Freshness) -> shapes.RepositoryFreshness:
    return shapes.RepositoryFreshness.of(fresh, repository=info.name, status=info.status, keep=["stale"])


def _why_nothing(request: shapes.CodeSearchRequest, answer: CodeAnswer, threshold: float) -> tuple[str, list[str]]:
    if not answer.searched:
        return "No repository is indexed yet.", ["Index one with `pk-mcp index URL`."]
    if not any(info.file_count for info in answer.searched):
        names = ", ".join(info.name for info in answer.searched)
        return f"No file of {names} is indexed.", ["`pk-mcp index` lists the files that were skipped, and why."]
    if answer.notes:
        return " ".join(answer.notes), ["Remove the filter, or correct it."]
    if answer.below_threshold:
        count = answer.below_threshold
        return (
            f"No result reached the threshold {threshold:g}; {count} were below it.",
            ["Lower the threshold.", "Describe what the code does, or name a symbol in it."],
        )
    if request.filters():
        listed = ", ".join(f"{name}={value}" for name, value in request.filters().items())
        return f"No code matched with these filters ({listed[:300]}).", ["Remove a filter."]
    return "No code matched the query.", ["Try other words.", "Use list_indexed_repositories to see what is indexed."]


TOOLS = (
    Tool(
        "semantic_search",
        "Search code",
        "Search indexed code repositories using natural language queries. Returns relevant code snippets ranked by "
        "semantic similarity.",
        semantic_search,
        items="results",
    ),
    Tool(
        "list_indexed_repositories",
        "List repositories",
        "List all repositories currently indexed in the knowledge base. Shows repository names, file counts, and "
        "indexing status.",
        list_indexed_repositories,
        items="repositories",
    ),
    Tool(
        "read_file_lines",
        "Read lines of a file",
        "Read lines of an indexed file in its indexed state, e.g. around a result of semantic_search. Only indexed "
        "files can be read.",
        read_file_lines,
    ),
    Tool(
        "refresh_repository",
        "Refresh a repository",
        "Update the index of a repository to its current commit (or, for a folder, its current files); only "
        "changes are read and embedded. Use it when `stale` is true. With check_only, only report whether the "
        "index is stale.",
        refresh_repository,
        writes=True,
    ),
)
"""All tools of the surface, in the order in which they are listed."""

SURFACE = Surface(
    name="repositories",
    instructions=(
        "Search over the code of indexed repositories. Use semantic_search to find code by what it does, by a "
        "symbol's name or by an error message; read_file_lines for more of a file around a result; "
        "list_indexed_repositories for what is indexed and whether it is up to date; refresh_repository if `stale` "
        "is true. Cite file_path with start_line and end_line, or the permalink. An empty answer says why in "
        "`message`."
    ),
    tools=TOOLS,
)
"""The surface `repositories` (specification C)."""
