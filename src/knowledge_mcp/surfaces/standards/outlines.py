"""A document's headings, and what was got from each of its pages, in parts of a bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, OutlineEntry, PageCoverage
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.evidence import ReadQuery
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.answers import ROOM_FOR_RESULTS, fitting_count, size_of
from knowledge_mcp.surfaces.contract import Response
from knowledge_mcp.surfaces.standards.evidence_shapes import OutlineRequest, OutlineResponse, OutlineSection, PageResult

__all__ = ["outline"]

_T = TypeVar("_T")
_R = TypeVar("_R", bound=Response)

_LONGEST = 200
"""Characters of a title or a note that are shown."""
_WARNINGS = 20


def outline(knowledge: Knowledge, request: OutlineRequest) -> OutlineResponse:
    """Answer `knowledge_outline`."""
    record = knowledge.document(request.document_id)
    structure = knowledge.document_structure(record.id)
    scope = _scope(knowledge, structure, request)
    more: dict[str, Any] = {}
    if record.pages:
        more["pages"] = record.pages
    if record.warnings:
        more["warnings"] = [warning[:_LONGEST] for warning in record.warnings[:_WARNINGS]]
    if request.coverage:
        pages = _pages(structure, scope)
        total = len(pages)
        if structure.hidden:
            more["hidden"] = dict(structure.hidden)
        more["coverage"] = _part([_page(page) for page in _asked(pages, request)], total, request, more)
        if not pages:
            more["message"] = _no_pages(record)
    else:
        entries = _to_depth(scope, request.depth)
        total = len(entries)
        labels = {page.number: page.label for page in structure.pages}
        shown = [_section(entry, below, labels) for entry, below in _asked(entries, request)]
        more["sections"] = _part(shown, total, request, more)
        if not entries:
            more["message"] = "No headings were found in this document: read it by pages, or whole."
    return OutlineResponse(
        document_id=record.id,
        document_title=record.title,
        document_type=record.document_type,
        status=record.status.value,
        total=total,
        **more,
    )


def _scope(knowledge: Knowledge, structure: DocumentStructure, request: OutlineRequest) -> Sequence[OutlineEntry]:
    """Take all sections, or those of one clause."""
    if request.clause is None:
        return structure.sections
    # The engine knows what a clause's name means, and what to say where there is none.
    whole = knowledge.read(ReadQuery(request.document_id, request.clause, max_tokens=50)).whole
    return [entry for entry in structure.sections if whole.contains(entry.span)]


def _to_depth(entries: Sequence[OutlineEntry], depth: int) -> list[tuple[OutlineEntry, int]]:
    """Keep so many levels from the top; each entry with the number of those below it that are left out."""
    top = min((entry.level for entry in entries), default=1)
    kept: list[tuple[OutlineEntry, int]] = []
    for entry in entries:
        if entry.level < top + depth:
            kept.append((entry, 0))
        elif kept:
            kept[-1] = (kept[-1][0], kept[-1][1] + 1)
    return kept


def _pages(structure: DocumentStructure, scope: Sequence[OutlineEntry]) -> list[PageCoverage]:
    if not scope or scope is structure.sections:
        return list(structure.pages)
    span = scope[0].span
    inside = [page.number for page in structure.pages if page.span.overlaps(span)]
    if not inside:
        return []
    return [page for page in structure.pages if inside[0] <= page.number <= inside[-1]]


def _asked(found: Sequence[_T], request: OutlineRequest) -> Sequence[_T]:
    """Take as many from the cursor on as were asked for."""
    start = request.cursor or 0
    if start and start >= len(found):
        raise InvalidInputError(
            f"The cursor {start} is behind the last of {len(found)} entries.",
            suggestion="Use the `next_cursor` of the answer before, with the same question.",
        )
    return found[start : start + request.limit]


def _part(shown: list[_R], total: int, request: OutlineRequest, more: dict[str, Any]) -> list[_R]:
    """Keep as many as one answer holds; `more` is told where to go on."""
    room = ROOM_FOR_RESULTS - size_of(more.get("warnings", []))
    kept = shown[: max(1, fitting_count([each.model_dump(mode="json", exclude_unset=True) for each in shown], room))]
    end = (request.cursor or 0) + len(kept)
    if end < total:
        more["next_cursor"] = end
    return kept


def _section(entry: OutlineEntry, below: int, labels: Mapping[int, str]) -> OutlineSection:
    more: dict[str, Any] = {}
    if entry.number:
        more["number"] = entry.number
    if entry.page:
        more["page"] = entry.page
        label = labels.get(entry.page, "")
        if label and label != str(entry.page):
            more["page_label"] = label[:_LONGEST]
    if entry.informative:
        more["informative"] = True
    if below:
        more["below"] = below
    title = " ".join(entry.title.split())[:_LONGEST]
    return OutlineSection(title=title, level=entry.level, start=entry.span.start, **more)


def _page(page: PageCoverage) -> PageResult:
    more: dict[str, Any] = {}
    if page.label and page.label != str(page.number):
        more["label"] = page.label[:_LONGEST]
    more |= {name: count for name, count in (("tables", page.tables), ("figures", page.figures)) if count}
    if page.note:
        more["note"] = page.note[:_LONGEST]
    return PageResult(page=page.number, method=page.method, characters=page.characters, **more)


def _no_pages(record: DocumentRecord) -> str:
    if not record.pages:
        return "This document's format has no pages."
    return "What was got from each page is not known: the document was ingested before that was kept. Ingest it again."
