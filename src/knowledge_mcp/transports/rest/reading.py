"""Routes of the REST service over what it holds: search, collections, documents."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel
from starlette.responses import Response

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import SearchAnswer
from knowledge_mcp.ports import Library, SharedLibrary
from knowledge_mcp.support.events import log_event
from knowledge_mcp.transports.keys import Key
from knowledge_mcp.transports.rest.answers import (
    CollectionDeleted,
    CollectionsAnswer,
    DocumentAnswer,
    DocumentDeleted,
    DocumentsAnswer,
    SearchAnswerBody,
)
from knowledge_mcp.transports.rest.bodies import JsonRoute
from knowledge_mcp.transports.rest.desk import RestDesk
from knowledge_mcp.transports.rest.documentation import failures
from knowledge_mcp.transports.rest.errors import REQUEST_ID, Refusal, failure_of
from knowledge_mcp.transports.rest.gates import key_of, need_write, reachable, readable
from knowledge_mcp.transports.rest.models import (
    CollectionName,
    DocumentQuery,
    DocumentsQuery,
    PageQuery,
    SearchRequest,
)
from knowledge_mcp.transports.rest.views import collection_listed, document, document_listed, filename_of, result

__all__ = ["reading_routes"]

logger = logging.getLogger(__name__)

_DOCUMENT_ID = re.compile(r"[0-9A-Za-z._:-]{1,128}")
_BEHIND = (500, 502, 503, 504)

_KeyOf = Annotated[Key, Depends(key_of)]


class _Reading:
    def __init__(self, desk: RestDesk, clock: Callable[[], float]) -> None:
        self._desk = desk
        self._clock = clock

    async def search(self, request: Request, body: SearchRequest, key: _KeyOf) -> Response:
        """Find the best passages of one collection, with where they stand; nothing found is an empty list."""
        started = self._clock()
        told: dict[str, Any] = {
            "request_id": request.scope[REQUEST_ID], "query": body.query, "collection": body.collection,
            "mode": body.mode, "key": key.name,
        }  # fmt: skip

        def ask(shared: SharedLibrary) -> tuple[SearchAnswer, int, bytes]:
            library = readable(shared, key)
            answer = library.search_in(body.collection, body.search())
            return answer, *_found(library, body, answer)

        try:
            answer, count, content = await self._desk.read("library.search", ask)
        except KnowledgeError as exc:
            self._desk.metrics.search("failed")
            level = logging.ERROR if failure_of(exc).status >= 500 else logging.WARNING
            fields = {**told, "error_code": str(exc.code), "error_message": exc.message}
            log_event(logger, level, "search_failed", **fields, latency_ms=self._milliseconds(started))
            raise
        self._desk.metrics.search("answered", results=count, degraded=bool(answer.degraded))
        log_event(
            logger, logging.INFO, "search", **told, results=count, degraded=list(answer.degraded),
            latency_ms=self._milliseconds(started),
        )  # fmt: skip
        return Response(content, media_type="application/json")

    async def collections(self, page: Annotated[PageQuery, Query()], key: _KeyOf) -> Response:
        """List the collections that the key may read, by name; `default` is always there."""

        def look(library: SharedLibrary) -> bytes:
            listed = readable(library, key).collections()
            wanted = listed[page.offset : page.offset + page.limit]
            return _bytes(CollectionsAnswer(collections=[*map(collection_listed, wanted)], total=len(listed)))

        return _json(await self._desk.read("library.collections", look))

    async def drop(self, name: CollectionName, key: _KeyOf) -> Response:
        """Remove a collection with all its documents."""

        def act(library: SharedLibrary) -> int:
            if key.may_read(name):
                need_write(key, name)
            return reachable(library, key).drop_collection(name)

        gone = await self._desk.read("library.drop_collection", act)
        log_event(logger, logging.INFO, "removed", collection=name, documents=gone, key=key.name)
        return _json(_bytes(CollectionDeleted(status="deleted", collection=name, documents=gone)))

    async def documents(self, page: Annotated[DocumentsQuery, Query()], key: _KeyOf) -> Response:
        """List the documents of a collection, by title."""

        def look(library: SharedLibrary) -> bytes:
            part = page.name_contains.casefold()
            fitting = [each for each in readable(library, key).records(page.collection) if part in _names(each)]
            fitting.sort(key=lambda each: (each.title.casefold(), each.id))
            wanted = fitting[page.offset : page.offset + page.limit]
            listed = [document_listed(each, page.collection) for each in wanted]
            return _bytes(DocumentsAnswer(documents=listed, total=len(fitting)))

        return _json(await self._desk.read("library.records", look))

    async def document(self, doc_id: str, part: Annotated[DocumentQuery, Query()], key: _KeyOf) -> Response:
        """Return a document: its passages in order, what is known of it, with `text=true` its whole text."""

        def look(library: SharedLibrary) -> bytes:
            held = readable(library, key).find(_document_id(doc_id))
            return _bytes(document(held, limit=part.limit, offset=part.offset, text=part.text))

        return _json(await self._desk.read("library.find", look))

    async def remove(self, doc_id: str, key: _KeyOf) -> Response:
        """Remove a document with its passages."""

        def act(library: SharedLibrary) -> int:
            seen = reachable(library, key)
            need_write(key, seen.where(_document_id(doc_id)))
            return seen.remove_document(doc_id)

        gone = await self._desk.read("library.remove_document", act)
        log_event(logger, logging.INFO, "removed", doc_id=doc_id, chunks=gone, key=key.name)
        return _json(_bytes(DocumentDeleted(status="deleted", doc_id=doc_id, chunks=gone)))

    def _milliseconds(self, started: float) -> float:
        return round((self._clock() - started) * 1000, 1)


def reading_routes(desk: RestDesk, *, clock: Callable[[], float] = time.perf_counter) -> APIRouter:
    """Build the routes."""
    own = _Reading(desk, clock)
    router = APIRouter(route_class=JsonRoute)
    lost = failures(404, 422, *_BEHIND)
    table: tuple[tuple[str, str, Any, str, type[BaseModel], dict[int | str, dict[str, Any]], str], ...] = (
        ("POST", "/search", own.search, "search", SearchAnswerBody,
         failures(400, 404, 408, 409, 413, 415, 422, 429, *_BEHIND), "search"),
        ("GET", "/collections", own.collections, "list_collections", CollectionsAnswer,
         failures(422, *_BEHIND), "collections"),
        ("DELETE", "/collections/{name}", own.drop, "delete_collection", CollectionDeleted, lost, "collections"),
        ("GET", "/documents", own.documents, "list_documents", DocumentsAnswer, lost, "documents"),
        ("GET", "/documents/{doc_id}", own.document, "get_document", DocumentAnswer, lost, "documents"),
        ("DELETE", "/documents/{doc_id}", own.remove, "delete_document", DocumentDeleted, lost, "documents"),
    )  # fmt: skip
    for method, path, handler, name, model, responses, tag in table:
        router.add_api_route(
            path, handler, methods=[method], operation_id=name, response_model=model, responses=responses, tags=[tag]
        )
    return router


def _found(library: Library, body: SearchRequest, answer: SearchAnswer) -> tuple[int, bytes]:
    """Count the results, and write them down; those below the score asked for are counted, too."""
    kept = [hit for hit in answer.hits if hit.score >= body.min_score]
    wanted = sorted({hit.chunk.document_id for hit in kept})
    records = {each.id: each for each in library.records(body.collection, wanted)} if wanted else {}
    more: dict[str, Any] = {}
    if body.min_score > 0:
        more["below_min_score"] = len(answer.hits) - len(kept)
    if answer.answerability is not None:
        more["answerability"] = round(answer.answerability, 2)
    if answer.also_asked:
        more["also_asked"] = list(answer.also_asked)
    if answer.degraded:
        more["degraded"] = list(answer.degraded)
    content = SearchAnswerBody(
        results=[result(hit, body.collection, records.get(hit.chunk.document_id)) for hit in kept],
        query=body.query, collection=body.collection, mode=str(answer.mode), total=len(kept),
        searched_documents=answer.searched_documents, **more,
    )  # fmt: skip
    return len(kept), _bytes(content)


def _names(record: DocumentRecord) -> str:
    return f"{record.title}\n{filename_of(record)}\n{record.source_path}".casefold()


def _document_id(text: str) -> str:
    """Keep ids to what ids can be; another is no document."""
    if not _DOCUMENT_ID.fullmatch(text):
        raise Refusal(404, "There is no such document.", "List the documents and use one of their ids.")
    return text


def _bytes(answer: BaseModel) -> bytes:
    return answer.model_dump_json(exclude_unset=True).encode()


def _json(content: bytes) -> Response:
    return Response(content, media_type="application/json")
