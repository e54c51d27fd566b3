"""A document's headings, and what was got from each of its pages, in parts of a bounded size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

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
    warnings = [warning[:_LONGEST] for warning in record.warnings[:_WARNINGS]]
    room = ROOM_FOR_RESULTS - size_of(warnings)
    message = ""
    if request.coverage:
        pages = _pages(structure, scope)
        total, shown = len(pages), _that_fit([_page(page) for page in _asked(pages, request)], room)
        if not pages:
            message = _no_pages(record)
    else:
        entries = _to_depth(scope, request.depth)
        labels = {page.number: page.label for page in structure.pages}
        sections = [_section(entry, below, labels) for entry, below in _asked(entries, request)]
        total, shown = len(entries), _that_fit(sections, room)
        if not entries:
            message = "No headings were found in this document: read it by pages, or whole."
    end = (request.cursor or 0) + len(shown)
    answer = OutlineResponse(
        document_id=record.id,
        document_title=record.title,
        document_type=record.document_type,
        status=record.status.value,
        pages=record.pages,
        hidden=dict(structure.hidden) if request.coverage else {},
        total=total,
        next_cursor=end if end < total else 0,
        message=message,
        warnings=warnings,
    ).without_defaults()
    return answer.model_copy(update={"coverage" if request.coverage else "sections": shown})


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


def _that_fit(shown: Sequence[_R], room: int) -> Sequence[_R]:
    """Keep as many as one answer holds, and at least one."""
    return shown[: max(1, fitting_count([each.sent() for each in shown], room))]


def _section(entry: OutlineEntry, below: int, labels: Mapping[int, str]) -> OutlineSection:
    label = labels.get(entry.page, "") if entry.page else ""
    return OutlineSection(
        number=entry.number or "",
        title=" ".join(entry.title.split())[:_LONGEST],
        level=entry.level,
        page=entry.page or 0,
        page_label=label[:_LONGEST] if label != str(entry.page) else "",
        start=entry.span.start,
        informative=entry.informative,
        below=below,
    ).without_defaults()


def _page(page: PageCoverage) -> PageResult:
    return PageResult(
        page=page.number,
        label=page.label[:_LONGEST] if page.label != str(page.number) else "",
        method=page.method,
        characters=page.characters,
        tables=page.tables,
        figures=page.figures,
        note=page.note[:_LONGEST],
    ).without_defaults()


def _no_pages(record: DocumentRecord) -> str:
    if not record.pages:
        return "This document's format has no pages."
    return "What was got from each page is not known: the document was ingested before that was kept. Ingest it again."
