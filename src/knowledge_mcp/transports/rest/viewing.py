"""Routes of the REST service for whoever looks: a page's picture, an outline, changes, traces, jobs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from knowledge_mcp.engine.tracing.links import Proposer
from knowledge_mcp.model.library import LibraryDocument
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.surfaces.viewing import changed, outlined, traced
from knowledge_mcp.transports.rest.answers import JobAnswer, failures
from knowledge_mcp.transports.rest.bodies import JsonRoute
from knowledge_mcp.transports.rest.desk import RestDesk
from knowledge_mcp.transports.rest.errors import RefusedRequest
from knowledge_mcp.transports.rest.gates import key_of, reachable, readable
from knowledge_mcp.transports.rest.models import MAX_OFFSET
from knowledge_mcp.transports.rest.routes import checked_document_id
from knowledge_mcp.transports.rest.views import job_answer
from knowledge_mcp.transports.shared.keys import Key

__all__ = [
    "ChangedClause",
    "ChangesAnswer",
    "ChangesQuery",
    "ClauseSide",
    "JobsAnswer",
    "ListedSection",
    "NamedDocument",
    "OutlineAnswer",
    "PictureQuery",
    "TraceAnswer",
    "TraceQuery",
    "TracedDocument",
    "TracedItem",
    "TracedLink",
    "viewing_routes",
]


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


class _Query(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


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
    """A link, how sure it is, and the words that both sides share."""

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)
    verdict: str
    probability: float
    source: Annotated[TracedItem, Field(alias="from")]
    target: Annotated[TracedItem, Field(alias="to")]
    words: list[str]


class TraceAnswer(_Answer):
    """What of one document belongs to what of another; `gaps` lists what has no declared or likely link.

    `warning` says where the two have next to nothing to do with each other.
    """

    model_config = ConfigDict(frozen=True, populate_by_name=True, serialize_by_alias=True)
    source: Annotated[TracedDocument, Field(alias="from")]
    target: Annotated[TracedDocument, Field(alias="to")]
    threshold: float
    warning: str
    summary: dict[str, int]
    links: list[TracedLink]
    gaps: dict[str, list[TracedItem]]


class TraceQuery(_Query):
    """Which document is traced to which."""

    source: Annotated[_DocumentId, Field(alias="from")]
    target: Annotated[_DocumentId, Field(alias="to")]


class JobsAnswer(_Answer):
    """The jobs of collections that the key may read or write, the newest first."""

    jobs: list[JobAnswer]


_KeyOf = Annotated[Key, Depends(key_of)]
_LOST = (404, 422, 500, 502, 503, 504)


class _Viewing:
    def __init__(self, desk: RestDesk, linker: Callable[[], Proposer] | None) -> None:
        self._desk = desk
        self._linker = linker

    async def outline(self, doc_id: str, key: _KeyOf) -> Response:
        """List the sections of a document, each with the passage that it begins in."""

        def look(library: SharedLibrary) -> bytes:
            held = readable(library, key).find(checked_document_id(doc_id))
            return _bytes(OutlineAnswer, {"doc_id": held.record.id, "sections": outlined(held)})

        return _json(await self._desk.read("library.outline", look))

    async def page(
        self, request: Request, doc_id: str, page: int, wanted: Annotated[PictureQuery, Query()], key: _KeyOf
    ) -> Response:
        """Draw a page of a document's PDF, where it is wanted with a passage marked; 404 where the file is gone."""

        def draw(library: SharedLibrary) -> bytes:
            seen = readable(library, key)
            return seen.page_image(checked_document_id(doc_id), page, wanted.passage, dpi=wanted.dpi)

        picture = await self._desk.view(request, "library.page_image", draw)
        return Response(picture, media_type="image/png", headers={"Cache-Control": "private, no-store"})

    async def changes(self, request: Request, wanted: Annotated[ChangesQuery, Query()], key: _KeyOf) -> Response:
        """Tell what changed from one document to another, clause by clause."""

        def compare(library: SharedLibrary) -> bytes:
            old, new = _both(readable(library, key), wanted.old, wanted.new)
            return _bytes(ChangesAnswer, changed(old, new, limit=wanted.limit, offset=wanted.offset))

        return _json(await self._desk.view(request, "library.changes", compare))

    async def trace(self, request: Request, wanted: Annotated[TraceQuery, Query()], key: _KeyOf) -> Response:
        """Tell which requirements of one document belong to which of another, and which have no counterpart."""
        linker = self._linker
        if linker is None:
            raise RefusedRequest(404, "This service traces nothing.", "Use `knowledge trace`.")

        def link(library: SharedLibrary) -> bytes:
            source, target = _both(readable(library, key), wanted.source, wanted.target)
            return _bytes(TraceAnswer, traced(source, target, linker()))

        return _json(await self._desk.view(request, "library.trace", link))

    async def jobs(self, key: _KeyOf) -> Response:
        """List the ingestions that nobody waits for, and how far they are."""

        def look(library: SharedLibrary) -> bytes:
            listed = [job_answer(each, key) for each in reachable(library, key).jobs()]
            return JobsAnswer(jobs=listed).model_dump_json(exclude_unset=True).encode()

        return _json(await self._desk.read("library.jobs", look))


def viewing_routes(desk: RestDesk, linker: Callable[[], Proposer] | None = None) -> APIRouter:
    """Build the routes.

    Args:
        desk: where the work is done.
        linker: makes what proposes links, on a worker thread; None where nothing is traced.
    """
    own = _Viewing(desk, linker)
    router = APIRouter(route_class=JsonRoute)
    table: tuple[tuple[str, Any, str, type[BaseModel], str], ...] = (
        ("/documents/{doc_id}/outline", own.outline, "get_outline", OutlineAnswer, "documents"),
        ("/changes", own.changes, "get_changes", ChangesAnswer, "documents"),
        ("/trace", own.trace, "get_trace", TraceAnswer, "documents"),
        ("/jobs", own.jobs, "list_jobs", JobsAnswer, "ingest"),
    )
    for path, handler, name, model, tag in table:
        router.add_api_route(
            path, handler, methods=["GET"], operation_id=name, response_model=model, responses=failures(*_LOST),
            tags=[tag],
        )  # fmt: skip
    router.add_api_route(
        "/documents/{doc_id}/pages/{page}", own.page, methods=["GET"], operation_id="get_page_image",
        response_class=Response, tags=["documents"],
        responses={**failures(413, 415, *_LOST), 200: {"content": {"image/png": {}}}},
    )  # fmt: skip
    return router


def _both(library: SharedLibrary, one: str, other: str) -> tuple[LibraryDocument, LibraryDocument]:
    return library.find(checked_document_id(one)), library.find(checked_document_id(other))


def _bytes(model: type[BaseModel], values: dict[str, Any]) -> bytes:
    return model.model_validate(values).model_dump_json(exclude_unset=True).encode()


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")
