"""Routes of the REST service for viewers: a page's picture, an outline, changes, traces, conflicts, jobs."""

from __future__ import annotations

from collections.abc import Callable, Sized
from typing import Annotated, Any, Literal

import anyio
from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from knowledge_mcp.engine.tracing.decisions import RowMark, as_mark_kind
from knowledge_mcp.engine.tracing.kinds import ConflictKind
from knowledge_mcp.model.library import DEFAULT_COLLECTION, IngestJob
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.surfaces.answers import compact
from knowledge_mcp.surfaces.redline import KINDS
from knowledge_mcp.surfaces.viewed import (
    ChangesAnswer,
    CheckAnswer,
    ConflictsAnswer,
    ImpactAnswer,
    OutlineAnswer,
    TraceAnswer,
)
from knowledge_mcp.transports.rest.answers import (
    BEARER,
    AcceptedAnswer,
    JobAnswer,
    RestAnswer,
    accepted_answer,
    encode,
    failures,
    job_answer,
    json_response,
)
from knowledge_mcp.transports.rest.bodies import JsonRoute
from knowledge_mcp.transports.rest.executor import RequestExecutor
from knowledge_mcp.transports.rest.gates import KeyOf, need_write, reachable, readable
from knowledge_mcp.transports.rest.models import MAX_OFFSET, CollectionName, PageQuery
from knowledge_mcp.transports.rest.routes import check_document_id
from knowledge_mcp.transports.shared.keys import Key


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


_BODY = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)
_ItemId = Annotated[str, Field(min_length=1, max_length=2_000)]
_DocumentId = Annotated[str, Field(min_length=1, max_length=128, description="Id of a document.")]


class PictureQuery(_Query):
    """What to mark on a page, and the resolution of the image in dots per inch."""

    passage: Annotated[int, Field(ge=0, le=MAX_OFFSET, description="Index of the passage to mark.")] | None = None
    dpi: Annotated[int, Field(ge=36, le=300)] = 110


class _PairQuery(_Query):
    """Which two documents to compare, and which part of the result to return."""

    old: _DocumentId
    new: _DocumentId
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0


class ImpactQuery(_PairQuery):
    """Which two editions to compare, and which of the references to changes to return."""


class ChangesQuery(_PairQuery):
    """Which two documents to compare, and which of the changed clauses to return."""

    kinds: Annotated[
        list[Annotated[str, Field(json_schema_extra={"enum": list(KINDS)})]],
        Field(max_length=len(KINDS), description="Only clauses with changes of these kinds; may be repeated."),
    ] = []


_Patience = Annotated[
    float,
    Field(
        ge=0, le=600, description="Seconds to wait for the result; after that the answer is 202 with the job to poll."
    ),
]


class TraceQuery(_Query):
    """Which document to trace to which."""

    source: Annotated[_DocumentId, Field(alias="from")]
    target: Annotated[_DocumentId, Field(alias="to")]
    wait: _Patience = 45.0


class LinkDecision(BaseModel):
    """A person's decision on a link between two items; `accepted` null undoes it."""

    model_config = _BODY
    source: Annotated[_DocumentId, Field(alias="from")]
    target: Annotated[_DocumentId, Field(alias="to")]
    source_item: _ItemId
    target_item: _ItemId
    accepted: bool | None


class CheckQuery(_Query):
    """Which document to check against which."""

    document: _DocumentId
    standard: _DocumentId
    wait: _Patience = 45.0


class RowDecision(BaseModel):
    """A person's mark and note on a row; both empty remove them."""

    model_config = _BODY
    document: _DocumentId
    standard: _DocumentId
    row: _ItemId
    requirement: Annotated[str, Field(min_length=1, max_length=100_000)]
    mark: Literal["", "applicable", "not-applicable", "conditional", "informative"]
    note: Annotated[str, Field(max_length=2_000)] = ""


class ConflictsQuery(_Query):
    """In which documents to search for conflicts, and which of them to return."""

    collection: Annotated[
        CollectionName, Field(description="Collection whose documents are used if `document` is empty.")
    ] = DEFAULT_COLLECTION
    document: Annotated[
        list[_DocumentId],
        Field(max_length=200, description="Only these documents, from any collection; may be repeated."),
    ] = []
    kind: Annotated[list[ConflictKind], Field(max_length=10, description="Only these kinds; may be repeated.")] = []
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0
    wait: _Patience = 45.0


class DecidedAnswer(RestAnswer):
    """Number of decisions on two documents."""

    decided: int


class JobsAnswer(RestAnswer):
    """The jobs of collections that the key may read or write, newest first; `total` counts all of them."""

    jobs: list[JobAnswer]
    total: int


_FIRST_LOOK, _LAST_LOOKS = 0.05, 1.0
"""Seconds between two checks whether a job has ended: frequent at first, rare for long jobs."""
_JOBS = (TraceAnswer, CheckAnswer, ConflictsAnswer)
_LOST = (404, 422, 500, 502, 503, 504)


class _Viewing:
    def __init__(self, executor: RequestExecutor) -> None:
        self._executor = executor

    async def outline(self, doc_id: str, key: KeyOf) -> Response:
        """List the sections of a document, each with the passage that it begins in."""

        def sections(library: SharedLibrary) -> OutlineAnswer:
            from knowledge_mcp.surfaces.viewing import outline_of

            return outline_of(readable(library, key).find(check_document_id(doc_id)))

        return await self._executor.answer("library.outline", sections)

    async def page(
        self, request: Request, doc_id: str, page: int, picture_query: Annotated[PictureQuery, Query()], key: KeyOf
    ) -> Response:
        """Draw a page of a document's PDF, with a passage marked if requested; 404 if the file is gone."""

        def draw(library: SharedLibrary) -> bytes:
            visible = readable(library, key)
            return visible.page_image(check_document_id(doc_id), page, picture_query.passage, dpi=picture_query.dpi)

        picture = await self._executor.view(request, "library.page_image", draw)
        return Response(picture, media_type="image/png", headers={"Cache-Control": "private, no-store"})

    async def changes(self, request: Request, query: Annotated[ChangesQuery, Query()], key: KeyOf) -> Response:
        """List what changed from one document to another, clause by clause, optionally only some kinds of changes."""

        def compare(library: SharedLibrary) -> bytes:
            from knowledge_mcp.surfaces.viewing import compare_clauses

            old, new = map(readable(library, key).find, _check_ids(query.old, query.new))
            return encode(compare_clauses(old, new, kinds=query.kinds, limit=query.limit, offset=query.offset))

        return json_response(await self._executor.view(request, "library.changes", compare))

    async def impact(self, request: Request, query: Annotated[ImpactQuery, Query()], key: KeyOf) -> Response:
        """List the passages of other documents that refer to what changed from one edition to another."""

        def look(library: SharedLibrary) -> bytes:
            from knowledge_mcp.surfaces.viewing import touched_by

            visible = readable(library, key)
            old, new = map(visible.find, _check_ids(query.old, query.new))
            return encode(touched_by(visible, old, new, limit=query.limit, offset=query.offset))

        return json_response(await self._executor.view(request, "library.impact", look))

    async def trace(self, request: Request, query: Annotated[TraceQuery, Query()], key: KeyOf) -> Response:
        """Link the requirements of one document to those of another, and list those without a link.

        This runs as a job: repeating the request returns the same job, or its result, until a document changes.
        """
        both = _check_ids(query.source, query.target)
        return await self._review(request, key, "trace", both, wait=query.wait)

    async def check(self, request: Request, query: Annotated[CheckQuery, Query()], key: KeyOf) -> Response:
        """Check a document against each obligation of another; runs as a job, like a trace."""
        both = _check_ids(query.document, query.standard)
        return await self._review(request, key, "check", both, wait=query.wait)

    async def conflicts(self, request: Request, query: Annotated[ConflictsQuery, Query()], key: KeyOf) -> Response:
        """List requirements that may contradict or duplicate each other and terms defined in two ways, with reasons.

        This runs as a job, like a trace: pages and kinds of the same documents come from one result.
        """

        def page(found: dict[str, Any]) -> dict[str, Any]:
            conflicts = [each for each in found["conflicts"] if not query.kind or each["kind"] in query.kind]
            part = conflicts[query.offset : query.offset + query.limit]
            return {**found, "total": len(conflicts), "conflicts": part}

        ids, name = _check_ids(*dict.fromkeys(query.document)), query.collection
        return await self._review(request, key, "conflicts", ids, page, collection=name, wait=query.wait)

    async def _review(
        self,
        request: Request,
        key: Key,
        what: str,
        ids: list[str],
        show: Callable[[dict[str, Any]], dict[str, Any]] = lambda found: found,
        *,
        collection: str = "",
        wait: float,
    ) -> Response:
        def begin(library: SharedLibrary) -> IngestJob:
            return readable(library, key).review(what, ids, collection=collection)

        def follow(library: SharedLibrary) -> IngestJob:
            return readable(library, key).job(job.id)

        def result(library: SharedLibrary) -> bytes:
            return compact(show(readable(library, key).reviewed(job.id))).encode()

        name, due, pause = f"library.{what}", anyio.current_time() + wait, _FIRST_LOOK
        job = await self._executor.view(request, name, begin)
        # waiting occupies no slot: pictures and comparisons of all users share four
        while job.state in {"queued", "running"} and anyio.current_time() < due and not await request.is_disconnected():
            await anyio.sleep(min(pause, due - anyio.current_time()))
            job, pause = await self._executor.read(name, follow), min(2 * pause, _LAST_LOOKS)
        if job.state in {"queued", "running"}:
            return json_response(accepted_answer(job), 202)
        return json_response(await self._executor.view(request, name, result))

    async def decide(self, body: LinkDecision, key: KeyOf) -> Response:
        """Accept or reject a link, or undo the decision; later traces respect it."""
        decided = {(body.source_item, body.target_item): body.accepted}
        return await self._decide(key, ("trace", body.source, body.target), lambda known: known.decide(decided))

    async def mark(self, body: RowDecision, key: KeyOf) -> Response:
        """Mark a row of a check, or add a note to it; later checks respect it."""
        mark = RowMark(body.row, body.requirement, as_mark_kind(body.mark), body.note.strip())
        return await self._decide(key, ("check", body.document, body.standard), lambda known: known.mark([mark]))

    async def _decide(self, key: Key, what: tuple[str, str, str], change: Callable[[Any], Sized]) -> Response:
        kind, (one, other) = what[0], _check_ids(*what[1:])

        def write(library: SharedLibrary) -> DecidedAnswer:
            visible = readable(library, key)
            for each in (one, other):
                visible.record(each)
            need_write(key, visible.where(one))
            return DecidedAnswer(decided=len(change(visible.decisions(kind, one, other))))

        return await self._executor.answer("library.decide", write)

    async def jobs(self, page: Annotated[PageQuery, Query()], key: KeyOf) -> Response:
        """List background jobs with their progress: ingestions, traces, checks, conflicts."""

        def look(library: SharedLibrary) -> JobsAnswer:
            listed = reachable(library, key).jobs()
            selected = listed[page.offset : page.offset + page.limit]
            return JobsAnswer(jobs=[job_answer(each, key) for each in selected], total=len(listed))

        return await self._executor.answer("library.jobs", look)


def viewing_routes(executor: RequestExecutor) -> APIRouter:
    """Build the routes."""
    own = _Viewing(executor)
    router = APIRouter(route_class=JsonRoute, dependencies=[BEARER])
    table: tuple[tuple[str, Any, str, type[BaseModel], str], ...] = (
        ("/documents/{doc_id}/outline", own.outline, "get_outline", OutlineAnswer, "documents"),
        ("/changes", own.changes, "get_changes", ChangesAnswer, "documents"),
        ("/impact", own.impact, "get_impact", ImpactAnswer, "documents"),
        ("/trace", own.trace, "get_trace", TraceAnswer, "documents"),
        ("/check", own.check, "get_check", CheckAnswer, "documents"),
        ("/conflicts", own.conflicts, "get_conflicts", ConflictsAnswer, "documents"),
        ("/jobs", own.jobs, "list_jobs", JobsAnswer, "ingest"),
    )
    for path, handler, name, model, tag in table:
        later = {202: {"model": AcceptedAnswer, "description": "It is still running."}} if model in _JOBS else {}
        router.add_api_route(
            path, handler, methods=["GET"], operation_id=name, response_model=model,
            responses={**failures(*_LOST), **later}, tags=[tag],
        )  # fmt: skip
    for path, handler, name in (
        ("/trace/decisions", own.decide, "decide_link"),
        ("/check/marks", own.mark, "mark_row"),
    ):
        router.add_api_route(
            path, handler, methods=["POST"], operation_id=name, response_model=DecidedAnswer,
            responses=failures(400, 403, 408, 413, 415, *_LOST), tags=["documents"],
        )  # fmt: skip
    router.add_api_route(
        "/documents/{doc_id}/pages/{page}", own.page, methods=["GET"], operation_id="get_page_image",
        response_class=Response, tags=["documents"],
        responses={**failures(413, 415, *_LOST), 200: {"content": {"image/png": {}}}},
    )  # fmt: skip
    return router


def _check_ids(*ids: str) -> list[str]:
    return [check_document_id(each) for each in ids]
