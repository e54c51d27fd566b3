"""From the engine's values to the fields of an answer: snippets, places, links, freshness."""

from __future__ import annotations

from typing import Any

from knowledge_mcp.engine.repositories import RepositoryDesk
from knowledge_mcp.engine.repository_manifest import path_of
from knowledge_mcp.engine.repository_values import CodeHit, Freshness, RepositoryInfo
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.surfaces.repositories.responses import FileMetadata, RepositoryEntry, SearchResult

__all__ = ["commit_of", "entry", "link", "result", "snippet"]


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
    """
    labels = dict(record.metadata) if record is not None else {}
    if info.status == "ready":
        uncommitted = record is not None and path_of(record.id) in info.uncommitted
        return ("" if uncommitted else info.freshness.indexed_commit), uncommitted
    uncommitted = labels.get("uncommitted") == "true"
    return ("" if uncommitted else labels.get("commit", "")), uncommitted


def link(
    desk: RepositoryDesk, info: RepositoryInfo, commit: str, path: str, lines: tuple[int, int] | None
) -> dict[str, str]:
    """Build the permalink's field; empty where there is none: no commit, a host not known, a part of a repository."""
    if not commit or not info.url or info.partial_tree:
        return {}
    found = desk.parts.permalink(info.url, commit, path, lines)
    return {"permalink": found} if found else {}


def result(desk: RepositoryDesk, hit: CodeHit) -> SearchResult:
    """Turn a hit into a result."""
    chunk, record, info = hit.chunk, hit.record, hit.repository
    labels = dict(record.metadata) if record is not None else {}
    path = path_of(chunk.document_id)
    shown = snippet(chunk.content, desk.limits.snippet)
    first, last = chunk.lines or (1, 1)
    commit, uncommitted = commit_of(info, record)
    more: dict[str, Any] = dict(link(desk, info, commit, path, chunk.lines))
    if commit:
        more["commit"] = commit
    if uncommitted:
        more["uncommitted"] = True
    if hit.exact_symbol:
        more["exact_symbol"] = True
    above = [each for each in chunk.section_hierarchy if each != chunk.section_title]
    if chunk.section_title or above:
        more["symbol"] = " > ".join([*above, *([chunk.section_title] if chunk.section_title else [])])
    about: dict[str, Any] = {}
    if labels.get("language"):
        about["language"] = labels["language"]
    if labels.get("modified_at"):
        about["file_modified_at"] = labels["modified_at"]
    return SearchResult(
        file_path=path,
        repository=info.name,
        content_snippet=shown,
        similarity_score=round(min(max(hit.similarity, 0.0), 1.0), 4),
        chunk_index=chunk.index,
        metadata=FileMetadata(
            file_extension=labels.get("extension", ""),
            file_size_bytes=record.size if record is not None else 0,
            indexed_at=_utc(record.updated_at) if record is not None else info.last_indexed,
            total_chunks=record.chunk_count if record is not None else 0,
            content_hash=chunk.content_hash,
            **about,
        ),
        id=f"{info.name}:{path}:{chunk.index}",
        start_line=first,
        end_line=last,
        snippet_end_line=min(first + shown.count("\n"), last),
        **more,
    )


def entry(info: RepositoryInfo, freshness: Freshness) -> RepositoryEntry:
    """Describe a repository; what is not known is left out."""
    more: dict[str, Any] = {}
    if info.index_duration_ms:
        more["index_duration_ms"] = info.index_duration_ms
    if info.error_message:
        more["error_message"] = info.error_message
    told = (
        ("branch", info.branch),
        ("local_path", info.local_path if info.local else ""),
        ("indexed_commit", freshness.indexed_commit),
        ("head_commit", freshness.head_commit),
        ("head_checked_at", freshness.checked_at),
        ("dirty_files", freshness.dirty_files),
        ("problems", list(info.problems)),
    )
    more |= {name: value for name, value in told if value}
    if freshness.stale is not None:
        more["stale"] = freshness.stale
    if info.progress is not None:
        more["files_done"], more["files_total"] = info.progress
    return RepositoryEntry(
        name=info.name,
        url=info.url or info.local_path,
        file_count=info.file_count,
        chunk_count=info.chunk_count,
        last_indexed=info.last_indexed,
        status=info.status,
        **more,
    )


def _utc(moment: str) -> str:
    return moment.replace("+00:00", "Z")
