"""Routes of the REST service that ingest documents: text, addresses, files, and background jobs."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Mapping
from typing import Annotated, Any, cast

from fastapi import APIRouter, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile
from starlette.responses import Response

from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.library import Deposit, IngestJob
from knowledge_mcp.model.query import SearchAnswer
from knowledge_mcp.model.source import UNKNOWN, media_type_of
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.support.events import log_event
from knowledge_mcp.transports.rest.answers import (
    BEARER,
    AcceptedAnswer,
    CollectionDeleted,
    CollectionsAnswer,
    DocumentAnswer,
    DocumentDeleted,
    DocumentsAnswer,
    IngestAnswer,
    JobAnswer,
    SearchAnswerBody,
    accepted_answer,
    collection_listed,
    document,
    document_listed,
    encode,
    failures,
    ingest_answer,
    job_answer,
    json_response,
    result,
)
from knowledge_mcp.transports.rest.bodies import JsonRoute, media_type_of_body, parse_json, read_form
from knowledge_mcp.transports.rest.errors import REQUEST_ID, RefusedRequest, failure_of
from knowledge_mcp.transports.rest.executor import RequestExecutor
from knowledge_mcp.transports.rest.gates import KeyOf, key_of, need_write, reachable, readable
from knowledge_mcp.transports.rest.models import (
    CollectionName,
    DocumentQuery,
    DocumentsQuery,
    IngestRequest,
    IngestUrlRequest,
    Metadata,
    PageQuery,
    SearchRequest,
    UploadFields,
)

logger = logging.getLogger(__name__)

JOB_ROUTE = "/jobs/{job_id}"
MAX_FIELDS = 8

_ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {"model": AcceptedAnswer, "description": "Accepted: `wait` was false, and the job runs in the background."}
}
_TAKEN_IN = failures(400, 408, 409, 413, 415, 422, 429, 500, 502, 503, 504)
_UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "string",
                            "format": "binary",
                            "description": "The document, with its file name.",
                        },
                        **UploadFields.model_json_schema()["properties"],
                    },
                    "additionalProperties": False,
                }
            }
        },
    }
}


class _Ingesting:
    def __init__(self, executor: RequestExecutor) -> None:
        self._executor = executor

    async def ingest(self, request: Request, body: IngestRequest, key: KeyOf) -> Response:
        """Ingest a text or Markdown; when this returns, all of it is searchable.

        Ingesting the same text again changes nothing; another text with the same file name replaces the earlier one.
        """
        need_write(key, body.metadata.collection)
        return await self._take(request, _check_deposit(body), size=len(body.text.encode()), wait=body.wait)

    async def ingest_url(self, request: Request, body: IngestUrlRequest, key: KeyOf) -> Response:
        """Fetch an https address, convert its content, and ingest it."""
        need_write(key, body.collection)
        return await self._take(request, _check_deposit(body), size=None, wait=body.wait)

    async def ingest_file(self, request: Request, key: KeyOf) -> Response:
        """Ingest a file in any supported format, detected by its name, otherwise by its declared type."""
        if media_type_of_body(request) != "multipart/form-data":
            raise RefusedRequest(415, "The request body is not a form.", "Send the file as `multipart/form-data`.")
        async with read_form(request, max_files=1, max_fields=MAX_FIELDS) as form:
            file, fields, metadata = _parts(form)
            need_write(key, fields.collection)

            def deposit() -> Deposit:
                return Deposit(
                    fields.collection, _basename(file.filename), content=file.file.read(),
                    media_type=_declared_type(file), metadata=metadata.pairs(), force=fields.force,
                )  # fmt: skip

            return await self._take(request, deposit, size=file.size or 0, wait=fields.wait)

    async def job(self, job_id: str, key: KeyOf) -> Response:
        """Return the progress of a background ingestion."""
        return await self._executor.answer(
            "library.job", lambda library: job_answer(reachable(library, key).job(_job_id(job_id)), key)
        )

    async def cancel(self, job_id: str, key: KeyOf) -> Response:
        """Stop an ingestion; nothing of it is kept."""

        def stop(library: SharedLibrary) -> IngestJob:
            visible = reachable(library, key)
            need_write(key, visible.job(_job_id(job_id)).collection)
            return visible.cancel_job(job_id)

        job = await self._executor.read("library.cancel_job", stop)
        if job.state not in {"done", "failed"}:
            log_event(logger, logging.INFO, "job_cancelled", job_id=job.id, key=key.name, collection=job.collection)
        return json_response(job_answer(job, key))

    async def _take(self, request: Request, deposit: Any, *, size: int | None, wait: bool) -> Response:
        if wait:
            done = await self._executor.ingest(request, deposit, size=size)
            return json_response(ingest_answer(done, key_of(request)))
        job = await self._executor.read("library.submit", lambda library: library.submit(deposit()))
        self._executor.metrics.ingest("accepted")
        log_event(
            logger, logging.INFO, "ingest_accepted", request_id=request.scope[REQUEST_ID], job_id=job.id,
            collection=job.collection, source=job.source, size=size,
        )  # fmt: skip
        return json_response(accepted_answer(job), 202)


def ingesting_routes(executor: RequestExecutor) -> APIRouter:
    """Build the routes."""
    own = _Ingesting(executor)
    router = APIRouter(route_class=JsonRoute, tags=["ingest"], dependencies=[BEARER])
    for path, handler, name, more in (
        ("/ingest", own.ingest, "ingest", None),
        ("/ingest_url", own.ingest_url, "ingest_url", None),
        ("/ingest_file", own.ingest_file, "ingest_file", _UPLOAD),
    ):
        responses = {**_ACCEPTED, **_TAKEN_IN, **(failures(404) if name == "ingest_url" else {})}
        router.add_api_route(
            path, handler, methods=["POST"], operation_id=name, response_model=IngestAnswer, responses=responses,
            openapi_extra=more,
        )  # fmt: skip
    for method, handler, name in (("GET", own.job, "get_job"), ("DELETE", own.cancel, "cancel_job")):
        router.add_api_route(
            JOB_ROUTE, handler, methods=[method], operation_id=name, response_model=JobAnswer,
            responses=failures(404, 422, 500, 502, 503, 504),
        )  # fmt: skip
    return router


def _check_deposit(body: IngestRequest | IngestUrlRequest) -> Any:
    """Return a function that creates the deposit; it is called once here, so that problems are reported first."""
    deposit = _validate(body.deposit)
    return lambda: deposit


def _validate(make: Any) -> Any:
    try:
        return make()
    except ValueError as exc:
        raise RequestValidationError([{"loc": ("body", "metadata"), "msg": str(exc), "type": "value_error"}]) from None


def _parts(form: FormData) -> tuple[UploadFile, UploadFields, Metadata]:
    """Split a form into its one file, its fields, and the metadata among them."""
    names = [name for name, _ in form.multi_items()]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise RequestValidationError([{"loc": ("body", twice[0]), "msg": "the field occurs twice", "type": "twice"}])
    values: dict[str, Any] = dict(form)
    file = values.pop("file", None)
    if not isinstance(file, UploadFile):
        raise RequestValidationError([{"loc": ("body", "file"), "msg": "a file is required", "type": "missing"}])
    for name, value in values.items():
        if not isinstance(value, str):
            raise RequestValidationError([{"loc": ("body", name), "msg": "the field is not text", "type": "text"}])
    fields = _model(UploadFields, values, "body")
    metadata = Metadata()
    if fields.metadata.strip():
        try:
            parsed = parse_json(fields.metadata)
        except RefusedRequest as exc:
            raise RequestValidationError(
                [{"loc": ("body", "metadata"), "msg": str(exc.detail), "type": "json_invalid"}]
            ) from None
        metadata = _model(Metadata, parsed, "metadata")
        _validate(metadata.pairs)
    return file, fields, metadata


def _model(model: type[Any], value: object, place: str) -> Any:
    try:
        return cast("type[BaseModel]", model).model_validate(value)
    except ValidationError as exc:
        found = cast("list[Mapping[str, Any]]", exc.errors(include_url=False, include_input=False))
        raise RequestValidationError([{**each, "loc": (place, *each["loc"])} for each in found]) from None


def _basename(name: str | None) -> str:
    """Keep a file name's last part, without characters that are not allowed in names."""
    last = (name or "").replace("\\", "/").rpartition("/")[2]
    return "".join(letter for letter in last if letter.isprintable()).strip()[:255]


def _declared_type(file: UploadFile) -> str | None:
    """Return the client's declared media type if the name does not show it; None to use the name.

    What browsers declare depends on the programs installed on the same machine.
    """
    if media_type_of(_basename(file.filename)) != UNKNOWN:
        return None
    declared = (file.content_type or "").partition(";")[0].strip().lower()
    return None if declared in {"", UNKNOWN} else declared


def _job_id(text: str) -> str:
    """Accept only valid ids; another is an unknown job."""
    if not text.isascii() or not text.isalnum():
        raise RefusedRequest(404, "There is no such job.", "Use the job_id from the answer to the ingestion.")
    return text


_DOCUMENT_ID = re.compile(r"[0-9A-Za-z._:-]{1,128}")
_BEHIND = (500, 502, 503, 504)


class _Reading:
    def __init__(self, executor: RequestExecutor) -> None:
        self._executor = executor

    async def search(self, request: Request, body: SearchRequest, key: KeyOf) -> Response:
        """Find the best passages of one collection, or of all that the key may read, with their locations.

        The list is empty if nothing was found.
        """
        started = time.perf_counter()
        context: dict[str, Any] = {
            "request_id": request.scope[REQUEST_ID], "query": body.query,
            "collection": "*" if body.everywhere else body.collection, "mode": body.mode, "key": key.name,
        }  # fmt: skip

        def ask(shared: SharedLibrary) -> tuple[SearchAnswer, int, bytes]:
            library = readable(shared, key)
            if body.everywhere:
                answer = library.search_all(body.search())
            else:
                answer = library.search_in(body.collection, body.search())
            return answer, *_count_and_encode(body, answer)

        try:
            answer, count, content = await self._executor.read("library.search", ask)
        except KnowledgeError as exc:
            self._executor.metrics.search("failed")
            level = logging.ERROR if failure_of(exc).status >= 500 else logging.WARNING
            fields = {**context, "error_code": str(exc.code), "error_message": exc.message}
            log_event(logger, level, "search_failed", **fields, latency_ms=self._milliseconds(started))
            raise
        self._executor.metrics.search("answered", results=count, degraded=bool(answer.degraded))
        log_event(
            logger, logging.INFO, "search", **context, results=count, degraded=list(answer.degraded),
            latency_ms=self._milliseconds(started),
        )  # fmt: skip
        return json_response(content)

    async def collections(self, page: Annotated[PageQuery, Query()], key: KeyOf) -> Response:
        """List the collections that the key may read, by name; `default` is always included."""

        def look(library: SharedLibrary) -> CollectionsAnswer:
            listed = readable(library, key).collections()
            selected = listed[page.offset : page.offset + page.limit]
            return CollectionsAnswer(collections=[*map(collection_listed, selected)], total=len(listed))

        return await self._executor.answer("library.collections", look)

    async def drop(self, name: CollectionName, key: KeyOf) -> Response:
        """Remove a collection with all its documents."""

        def act(library: SharedLibrary) -> int:
            if key.may_read(name):
                need_write(key, name)
            return reachable(library, key).drop_collection(name)

        removed = await self._executor.read("library.drop_collection", act)
        log_event(logger, logging.INFO, "removed", collection=name, documents=removed, key=key.name)
        return json_response(CollectionDeleted(status="deleted", collection=name, documents=removed))

    async def documents(self, page: Annotated[DocumentsQuery, Query()], key: KeyOf) -> Response:
        """List the documents of a collection, by title."""

        def look(library: SharedLibrary) -> DocumentsAnswer:
            part = page.name_contains.casefold()
            matches = [each for each in readable(library, key).records(page.collection) if part in _names(each)]
            matches.sort(key=lambda each: (each.title.casefold(), each.id))
            selected = matches[page.offset : page.offset + page.limit]
            listed = [document_listed(each, page.collection) for each in selected]
            return DocumentsAnswer(documents=listed, total=len(matches))

        return await self._executor.answer("library.records", look)

    async def document(self, doc_id: str, part: Annotated[DocumentQuery, Query()], key: KeyOf) -> Response:
        """Return a document: its passages in order, its properties, and with `text=true` its full text."""

        def look(library: SharedLibrary) -> DocumentAnswer:
            found = readable(library, key).find(check_document_id(doc_id))
            return document(found, limit=part.limit, offset=part.offset, text=part.text)

        return await self._executor.answer("library.find", look)

    async def remove(self, doc_id: str, key: KeyOf) -> Response:
        """Remove a document with its passages."""

        def act(library: SharedLibrary) -> int:
            visible = reachable(library, key)
            need_write(key, visible.where(check_document_id(doc_id)))
            return visible.remove_document(doc_id)

        removed = await self._executor.read("library.remove_document", act)
        log_event(logger, logging.INFO, "removed", doc_id=doc_id, chunks=removed, key=key.name)
        return json_response(DocumentDeleted(status="deleted", doc_id=doc_id, chunks=removed))

    def _milliseconds(self, started: float) -> float:
        return round((time.perf_counter() - started) * 1000, 1)


def reading_routes(executor: RequestExecutor) -> APIRouter:
    """Build the routes."""
    own = _Reading(executor)
    router = APIRouter(route_class=JsonRoute, dependencies=[BEARER])
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


def _count_and_encode(body: SearchRequest, answer: SearchAnswer) -> tuple[int, bytes]:
    """Count and encode the results; those below the requested score are counted, too."""
    hits = [(hit, hit.collection or body.collection) for hit in answer.hits if hit.score >= body.min_score]
    note = answer.note
    if not note and not answer.searched_documents and not answer.degraded:  # a failed part may contain some
        note = f"{'What you may read' if body.everywhere else body.collection} contains no documents."
    content = SearchAnswerBody.of(
        answer,
        results=[result(hit, name, hit.record) for hit, name in hits],
        query=body.query,
        collection="*" if body.everywhere else body.collection,
        total=len(hits),
        below_min_score=len(answer.hits) - len(hits) if body.min_score > 0 else None,
        answerability=None if answer.answerability is None else round(answer.answerability, 2),
        also_asked=answer.also_asked or None,
        note=note or None,
        degraded=answer.degraded or None,
    )
    return len(hits), encode(content)


def _names(record: DocumentRecord) -> str:
    return f"{record.title}\n{record.file_name}\n{record.source_path}".casefold()


def check_document_id(text: str) -> str:
    """Accept only valid ids; another is an unknown document."""
    if not _DOCUMENT_ID.fullmatch(text):
        raise RefusedRequest(404, "There is no such document.", "List the documents, then use one of their ids.")
    return text
