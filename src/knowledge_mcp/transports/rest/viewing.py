"""Routes of the REST service for whoever looks: a page's picture, an outline, changes, traces, conflicts, jobs."""

from __future__ import annotations

from collections.abc import Callable, Sized
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from knowledge_mcp.engine.tracing.checking import RowMark
from knowledge_mcp.engine.tracing.conflicts import ConflictKind
from knowledge_mcp.engine.tracing.decisions import as_mark_kind
from knowledge_mcp.model.library import DEFAULT_COLLECTION
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.surfaces.viewing import compare_clauses, list_sections
from knowledge_mcp.transports.rest.answers import BEARER, AcceptedAnswer, JobAnswer, failures
from knowledge_mcp.transports.rest.bodies import JsonRoute
from knowledge_mcp.transports.rest.executor import RequestExecutor
from knowledge_mcp.transports.rest.gates import key_of, need_write, reachable, readable
from knowledge_mcp.transports.rest.models import MAX_OFFSET, CollectionName, accepted_answer, job_answer
from knowledge_mcp.transports.rest.routes import check_document_id
from knowledge_mcp.transports.shared.keys import Key


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


_BODY = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)
_ItemId = Annotated[str, Field(min_length=1, max_length=2_000)]
_DocumentId = Annotated[str, Field(min_length=1, max_length=128, description="Id of a document.")]


class ListedSection(_Answer):
    """One section; `passage` is the index of the one that it begins in, `page` null where the format has none."""

    level: int
    number: str
    title: str
    page: int | None
    passage: int | None


class OutlineAnswer(_Answer):
    """The sections of a document in order."""

    doc_id: str
    sections: list[ListedSection]


class PictureQuery(_Query):
    """What is marked on a page, and how many dots per inch the picture has."""

    passage: Annotated[int, Field(ge=0, le=MAX_OFFSET, description="Index of the passage to mark.")] | None = None
    dpi: Annotated[int, Field(ge=36, le=300)] = 110


class NamedDocument(_Answer):
    """A document by its names."""

    doc_id: str
    title: str
    edition: str
    collection: str


class ClauseSide(_Answer):
    """A clause in one document; `passage` is the index of the one that it begins in."""

    label: str
    citation: str
    passage: int | None


class ChangedClause(_Answer):
    """What became of a clause; `rows` has its sentences side by side, in pieces with whether they changed."""

    became: str
    level: int
    old: ClauseSide | None
    new: ClauseSide | None
    kinds: list[str]
    obligations: list[str]
    rows: list[list[list[tuple[str, bool]]]]


class ChangesAnswer(_Answer):
    """What changed between two documents; `total` counts the clauses that changed, `summary` all, by kind."""

    old: NamedDocument
    new: NamedDocument
    summary: dict[str, int]
    total: int
    clauses: list[ChangedClause]


class ChangesQuery(_Query):
    """Which two documents are compared, and which of the changed clauses are wanted."""

    old: _DocumentId
    new: _DocumentId
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0


class TracedDocument(NamedDocument):
    """One side of a trace, and how many items it has."""

    items: int


class TracedItem(_Answer):
    """A requirement or clause; `text` is the sentence that speaks for the link, left out of gaps."""

    id: str
    title: str
    citation: str
    passage: int | None
    text: str = ""


class TracedLink(_Answer):
    """A link, how sure it is, the words that both sides share, and whether a person accepted it."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)
    verdict: str
    probability: float
    source: Annotated[TracedItem, Field(alias="from")]
    target: Annotated[TracedItem, Field(alias="to")]
    words: list[str]
    accepted: bool = False


class RejectedLink(_Answer):
    """A link that a person rejected."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)
    source: Annotated[TracedItem, Field(alias="from")]
    target: Annotated[TracedItem, Field(alias="to")]


class TraceAnswer(_Answer):
    """What of one document belongs to what of another; `gaps` lists what has no declared or likely link.

    `warning` says where the two have next to nothing to do with each other; `rejected` what a person did not want.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)
    source: Annotated[TracedDocument, Field(alias="from")]
    target: Annotated[TracedDocument, Field(alias="to")]
    threshold: float
    warning: str
    summary: dict[str, int]
    links: list[TracedLink]
    gaps: dict[str, list[TracedItem]]
    rejected: list[RejectedLink] = []


_Patience = Annotated[
    float, Field(ge=0, le=600, description="Seconds to wait for it; then the answer is 202, with the job to ask after.")
]


class TraceQuery(_Query):
    """Which document is traced to which."""

    source: Annotated[_DocumentId, Field(alias="from")]
    target: Annotated[_DocumentId, Field(alias="to")]
    wait: _Patience = 45.0


class LinkDecision(BaseModel):
    """What a person says of a link between two items; `accepted_answer` null takes back what was said."""

    model_config = _BODY
    source: Annotated[_DocumentId, Field(alias="from")]
    target: Annotated[_DocumentId, Field(alias="to")]
    source_item: _ItemId
    target_item: _ItemId
    accepted: bool | None


class CheckQuery(_Query):
    """Which document is held against which."""

    document: _DocumentId
    standard: _DocumentId
    wait: _Patience = 45.0


class QuotedEvidence(_Answer):
    """Words of the document, as they stand there."""

    quote: str
    citation: str
    passage: int | None


class CheckedRow(_Answer):
    """One obligation: what it counts as, what was found, and what a person said of it."""

    row: str
    requirement: str
    citation: str
    passage: int | None
    kind: str
    verdict: str
    quotes: list[QuotedEvidence]
    checks: list[str]
    mark: str
    note: str


class CheckAnswer(_Answer):
    """What a document says of each obligation of another; whether that is enough, a person decides."""

    document: NamedDocument
    standard: NamedDocument
    warning: str
    summary: dict[str, int]
    rows: list[CheckedRow]
    editions: list[str]


class RowDecision(BaseModel):
    """What a person says of a row; without mark and note, nothing."""

    model_config = _BODY
    document: _DocumentId
    standard: _DocumentId
    row: _ItemId
    requirement: Annotated[str, Field(min_length=1, max_length=100_000)]
    mark: Literal["", "applicable", "not-applicable", "conditional", "informative"]
    note: Annotated[str, Field(max_length=2_000)] = ""


class ConflictsQuery(_Query):
    """In which documents conflicts are looked for, and which of them are wanted."""

    collection: Annotated[CollectionName, Field(description="All of its documents, where none is named.")] = (
        DEFAULT_COLLECTION
    )
    document: Annotated[
        list[_DocumentId], Field(max_length=200, description="These documents, of whatever collections; repeatable.")
    ] = []
    kind: Annotated[list[ConflictKind], Field(max_length=10, description="Only these kinds; repeatable.")] = []
    limit: Annotated[int, Field(ge=1, le=500)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0
    wait: _Patience = 45.0


class ConflictSide(NamedDocument):
    """A sentence as printed, or what a term is said to mean; `id` is the requirement's, or the term."""

    id: str
    text: str
    citation: str
    passage: int | None


class ListedConflict(_Answer):
    """Two that do not go together, or say the same, and what differs; `also_in` has more places that say either."""

    kind: str
    why: str
    one: ConflictSide
    other: ConflictSide
    also_in: list[ConflictSide]


class ConflictsAnswer(_Answer):
    """Pairs that may contradict or double each other; it is advice: other words for the same are not recognised.

    `documents` and `compared` count what was looked at, documents and sentences with force; `summary` counts all that
    was found, by kind; `total` those of the kinds that are wanted.
    """

    documents: int
    compared: int
    summary: dict[str, int]
    total: int
    conflicts: list[ListedConflict]


class DecidedAnswer(_Answer):
    """How much is decided of two documents."""

    decided: int


class JobsAnswer(_Answer):
    """The jobs of collections that the key may read or write, the newest first."""

    jobs: list[JobAnswer]


_KeyOf = Annotated[Key, Depends(key_of)]
_JOBS = (TraceAnswer, CheckAnswer, ConflictsAnswer)
_LOST = (404, 422, 500, 502, 503, 504)


class _Viewing:
    def __init__(self, executor: RequestExecutor) -> None:
        self._executor = executor

    async def outline(self, doc_id: str, key: _KeyOf) -> Response:
        """List the sections of a document, each with the passage that it begins in."""

        def look(library: SharedLibrary) -> bytes:
            found = readable(library, key).find(check_document_id(doc_id))
            return _bytes(OutlineAnswer, {"doc_id": found.record.id, "sections": list_sections(found)})

        return _json(await self._executor.read("library.outline", look))

    async def page(
        self, request: Request, doc_id: str, page: int, picture_query: Annotated[PictureQuery, Query()], key: _KeyOf
    ) -> Response:
        """Draw a page of a document's PDF, where it is wanted with a passage marked; 404 where the file is gone."""

        def draw(library: SharedLibrary) -> bytes:
            visible = readable(library, key)
            return visible.page_image(check_document_id(doc_id), page, picture_query.passage, dpi=picture_query.dpi)

        picture = await self._executor.view(request, "library.page_image", draw)
        return Response(picture, media_type="image/png", headers={"Cache-Control": "private, no-store"})

    async def changes(self, request: Request, query: Annotated[ChangesQuery, Query()], key: _KeyOf) -> Response:
        """Tell what changed from one document to another, clause by clause."""

        def compare(library: SharedLibrary) -> bytes:
            old, new = map(readable(library, key).find, _check_ids(query.old, query.new))
            return _bytes(ChangesAnswer, compare_clauses(old, new, limit=query.limit, offset=query.offset))

        return _json(await self._executor.view(request, "library.changes", compare))

    async def trace(self, request: Request, query: Annotated[TraceQuery, Query()], key: _KeyOf) -> Response:
        """Tell which requirements of one document belong to which of another, and which have no counterpart.

        It is a job: asked for again, it is the same one, or its result, until one of the documents changes.
        """
        both = _check_ids(query.source, query.target)
        return await self._review(request, key, "trace", both, partial(_bytes, TraceAnswer), wait=query.wait)

    async def check(self, request: Request, query: Annotated[CheckQuery, Query()], key: _KeyOf) -> Response:
        """Tell what a document says of each obligation of another; a job, as a trace is."""
        both = _check_ids(query.document, query.standard)
        return await self._review(request, key, "check", both, partial(_bytes, CheckAnswer), wait=query.wait)

    async def conflicts(self, request: Request, query: Annotated[ConflictsQuery, Query()], key: _KeyOf) -> Response:
        """Tell which requirements may contradict or double each other, which terms are defined in two ways, and why.

        It is a job, as a trace is: pages and kinds of the same documents are those of one result.
        """

        def encode(found: dict[str, Any]) -> bytes:
            conflicts = [each for each in found["conflicts"] if not query.kind or each["kind"] in query.kind]
            page = conflicts[query.offset : query.offset + query.limit]
            return _bytes(ConflictsAnswer, {**found, "total": len(conflicts), "conflicts": page})

        ids, name = _check_ids(*dict.fromkeys(query.document)), query.collection
        return await self._review(request, key, "conflicts", ids, encode, collection=name, wait=query.wait)

    async def _review(
        self,
        request: Request,
        key: Key,
        what: str,
        ids: list[str],
        show: Callable[[dict[str, Any]], bytes],
        *,
        collection: str = "",
        wait: float,
    ) -> Response:
        def look(library: SharedLibrary) -> tuple[int, bytes]:
            visible = readable(library, key)
            job = visible.review(what, ids, collection=collection, wait=wait)
            if job.state != "done":
                return 202, accepted_answer(job).model_dump_json().encode()
            return 200, show(visible.reviewed(job.id))

        status, content = await self._executor.view(request, f"library.{what}", look)
        return Response(content, status, media_type="application/json")

    async def decide(self, body: LinkDecision, key: _KeyOf) -> Response:
        """Accept a link, reject it, or take that back; later traces respect it."""
        decided = {(body.source_item, body.target_item): body.accepted}
        return await self._decide(key, ("trace", body.source, body.target), lambda known: known.decide(decided))

    async def mark(self, body: RowDecision, key: _KeyOf) -> Response:
        """Mark a row of a check, or note something of it; later checks respect it."""
        mark = RowMark(body.row, body.requirement, as_mark_kind(body.mark), body.note.strip())
        return await self._decide(key, ("check", body.document, body.standard), lambda known: known.mark([mark]))

    async def _decide(self, key: Key, what: tuple[str, str, str], change: Callable[[Any], Sized]) -> Response:
        kind, (one, other) = what[0], _check_ids(*what[1:])

        def write(library: SharedLibrary) -> bytes:
            visible = readable(library, key)
            for each in (one, other):
                visible.record(each)
            need_write(key, visible.where(one))
            return _bytes(DecidedAnswer, {"decided": len(change(visible.decisions(kind, one, other)))})

        return _json(await self._executor.read("library.decide", write))

    async def jobs(self, key: _KeyOf) -> Response:
        """List the jobs that nobody waits for, and how far they are: ingestions, traces, checks, conflicts."""

        def look(library: SharedLibrary) -> bytes:
            listed = [job_answer(each, key) for each in reachable(library, key).jobs()]
            return JobsAnswer(jobs=listed).model_dump_json(exclude_unset=True).encode()

        return _json(await self._executor.read("library.jobs", look))


def viewing_routes(executor: RequestExecutor) -> APIRouter:
    """Build the routes over where the work is done."""
    own = _Viewing(executor)
    router = APIRouter(route_class=JsonRoute, dependencies=[BEARER])
    table: tuple[tuple[str, Any, str, type[BaseModel], str], ...] = (
        ("/documents/{doc_id}/outline", own.outline, "get_outline", OutlineAnswer, "documents"),
        ("/changes", own.changes, "get_changes", ChangesAnswer, "documents"),
        ("/trace", own.trace, "get_trace", TraceAnswer, "documents"),
        ("/check", own.check, "get_check", CheckAnswer, "documents"),
        ("/conflicts", own.conflicts, "get_conflicts", ConflictsAnswer, "documents"),
        ("/jobs", own.jobs, "list_jobs", JobsAnswer, "ingest"),
    )
    for path, handler, name, model, tag in table:
        later = {202: {"model": AcceptedAnswer, "description": "It goes on."}} if model in _JOBS else {}
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


def _bytes(model: type[BaseModel], values: dict[str, Any]) -> bytes:
    return model.model_validate(values).model_dump_json(exclude_unset=True).encode()


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")
