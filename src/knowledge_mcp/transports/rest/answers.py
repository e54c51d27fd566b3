"""What the REST service answers, with an example each."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, TypeVar

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer
from pydantic import ConfigDict, Field
from starlette.responses import Response as HttpResponse

from knowledge_mcp.engine.core.editions import edition_of_record
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, file_name_of
from knowledge_mcp.model.library import CollectionSummary, Deposited, IngestJob, LibraryDocument
from knowledge_mcp.model.query import Hit
from knowledge_mcp.surfaces.contract import DATA_NOT_INSTRUCTIONS, Response
from knowledge_mcp.transports.rest.errors import failure_of
from knowledge_mcp.transports.shared.keys import Key

JSON = "application/json"


class RestAnswer(Response):
    """Base of every answer; only fields that were set are sent."""

    model_config = ConfigDict(extra="ignore")


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


def encode(answer: Response) -> bytes:
    """Write an answer as JSON; call it on the thread that created the answer."""
    return answer.model_dump_json(exclude_unset=True).encode()


def json_response(content: bytes | Response, status: int = 200) -> HttpResponse:
    """Return a JSON response; the content may already be encoded."""
    return HttpResponse(content if isinstance(content, bytes) else encode(content), status, media_type=JSON)


class FailureAnswer(RestAnswer):
    """A failure: code, reason, status, next step, and the id that finds the request in the log.

    If a document cannot be read, there is also a `reason` (`corrupted`, `encrypted`, `empty` …) and its `source`.
    """

    model_config = _example(
        error="not_found", detail="There is no document '0123456789abcdef'.", status_code=404,
        suggestion="List what exists and use one of those identifiers.", request_id="5f0c6f1b7a7e4d0c",
    )  # fmt: skip
    error: str
    detail: str
    status_code: int
    suggestion: str = ""
    request_id: str
    reason: str = ""
    source: str = ""


class IngestAnswer(RestAnswer):
    """The result of an ingestion."""

    model_config = _example(
        status="ingested", doc_id="5a1f0c9be2d34876", chunks=12, collection="project-alpha", title="Deploying",
        source="deploy.md", pages=3, unchanged=False, replaced=False, embedded=12, reused=0, warnings=[],
    )  # fmt: skip
    status: Literal["ingested"] = "ingested"
    doc_id: str
    chunks: int
    collection: str
    title: str
    source: str
    pages: int
    unchanged: bool
    replaced: bool
    embedded: int
    reused: int
    warnings: list[str]


class AcceptedAnswer(RestAnswer):
    """An ingestion that runs in the background, and its job to poll."""

    model_config = _example(status="accepted", job_id="0123456789abcdef")
    status: Literal["accepted"] = "accepted"
    job_id: str


class Progress(RestAnswer):
    """Progress of a job, of 100, and its current step."""

    done: float
    message: str


class JobFailure(RestAnswer):
    """Why a job failed: what the request would have returned."""

    error: str
    detail: str
    status_code: int
    suggestion: str
    reason: str = ""
    source: str = ""


class JobAnswer(RestAnswer):
    """A job; `result` once an ingestion is done, `error` if it failed.

    Ingestions have no `kind` and `documents`. To get the result of a trace, a check or a search for conflicts, repeat
    its request. Conflicts without `documents` cover the whole collection.
    """

    model_config = _example(
        job_id="0123456789abcdef", state="running", progress={"done": 40.0, "message": "embedding"},
        collection="default", source="guide.pdf", created_at="2026-01-15T10:00:00+00:00",
        updated_at="2026-01-15T10:00:02+00:00",
    )  # fmt: skip
    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: Progress
    collection: str
    source: str
    created_at: str
    updated_at: str
    result: IngestAnswer | None = None
    error: JobFailure | None = None
    kind: Literal["ingest", "trace", "check", "conflicts"] = "ingest"
    documents: list[str] = Field(default=[])


class PassageMetadata(RestAnswer):
    """Location and kind of a passage.

    `page` is the first of its pages, null if the format has no pages; `span` counts characters of the document's text;
    `context` is the text added before the passage for embedding: its headings. `cut_from` is the context that the
    passage was split from (a table's header and notes, a caption, a lead-in); it is absent if the passage is complete.
    """

    source: str
    filename: str
    page: int | None
    pages: list[int]
    collection: str
    doc_id: str
    chunk_id: str
    chunk_index: int
    title: str
    section: str
    section_hierarchy: list[str]
    document_type: str
    chunk_type: str
    normative: bool
    context: str
    span: list[int]
    token_count: int
    page_labels: list[str]
    references: list[str]
    parent_chunk_id: str | None
    cut_from: str | None = None
    clause_number: str | None = None
    lines: list[int] | None = None
    document_metadata: dict[str, str]


class ResultMetadata(PassageMetadata):
    """Location of a result, and how to cite it."""

    citation: str


class Leg(RestAnswer):
    """Rank from 1 and raw score in one leg of the search."""

    rank: int
    score: float


class SearchResult(RestAnswer):
    """One passage found; `score` is 0 to 1, `also_in` has citations of passages that say the same."""

    text: str
    score: float
    metadata: ResultMetadata
    dense: Leg | None = None
    lexical: Leg | None = None
    also_in: list[str] | None = None


class SearchAnswerBody(RestAnswer):
    """Results, best first; `total` counts them, `below_min_score` the omitted ones, `degraded` says what failed.

    `answerability`, if present, estimates whether one of the ten best results answers the query. `also_asked` lists
    phrases that were also searched for, because the documents do not use the query's own words. `note` says that no
    passage has the quoted phrase, a word, or an identifier of the query.
    """

    model_config = _example(
        results=[
            {
                "text": "Roll out one replica at a time.", "score": 0.91,
                "metadata": {
                    "source": "deploy.md", "filename": "deploy.md", "page": None, "pages": [],
                    "collection": "project-alpha", "doc_id": "5a1f0c9be2d34876",
                    "chunk_id": "3f0b1c3e-3c43-5d3e-9f0e-0d3c2b1a4f5e", "chunk_index": 0, "title": "Deploying",
                    "section": "Deploying", "section_hierarchy": ["Deploying"], "document_type": "custom",
                    "chunk_type": "guidance", "normative": False, "context": "Deploying", "span": [13, 43],
                    "token_count": 7, "page_labels": [], "references": [], "parent_chunk_id": None,
                    "document_metadata": {"filename": "deploy.md"}, "citation": "Deploying",
                },
            }
        ],
        query="roll out", collection="project-alpha", mode="hybrid", total=1, searched_documents=1,
    )  # fmt: skip
    results: list[SearchResult]
    query: str
    collection: str
    mode: str
    total: int
    searched_documents: int
    below_min_score: int | None = None
    answerability: float | None = None
    also_asked: list[str] | None = None
    note: str | None = None
    degraded: list[str] | None = None


class CollectionAnswer(RestAnswer):
    """One collection and its contents; `read_only` if documents are added to it by another command."""

    name: str
    doc_count: int
    chunk_count: int
    token_count: int
    embedding_model: str
    created_at: str
    read_only: bool | None = None


class CollectionsAnswer(RestAnswer):
    """The collections that the key may read; `total` counts all of them."""

    model_config = _example(
        collections=[
            {
                "name": "default", "doc_count": 2, "chunk_count": 40, "token_count": 9000,
                "embedding_model": "local/all-MiniLM-L6-v2 (int8, 384)", "created_at": "2026-01-15T10:00:00+00:00",
            }
        ],
        total=1,
    )  # fmt: skip
    collections: list[CollectionAnswer]
    total: int


class CollectionDeleted(RestAnswer):
    """A deleted collection, and the number of documents deleted with it."""

    model_config = _example(status="deleted", collection="project-alpha", documents=7)
    status: Literal["deleted"] = "deleted"
    collection: str
    documents: int


class _KnownDocument(RestAnswer):
    """Properties of a document."""

    doc_id: str
    title: str
    edition: str
    source: str
    filename: str
    collection: str
    pages: int
    size: int
    sha256: str
    token_count: int
    embedding_model: str
    pipeline: str
    media_type: str
    document_type: str
    status: str
    warnings: list[str]
    created_at: str
    updated_at: str
    metadata: dict[str, str]


class DocumentListed(_KnownDocument):
    """One document of a list; `status` is `partial` if text is known to be missing."""

    chunks: int


class DocumentsAnswer(RestAnswer):
    """Documents of a collection by title; `total` counts all that match."""

    documents: list[DocumentListed]
    total: int


class Passage(RestAnswer):
    """One passage of a document."""

    text: str
    metadata: PassageMetadata


class DocumentAnswer(_KnownDocument):
    """A document: its passages in order, its properties, and its text if requested."""

    chunks: list[Passage]
    chunk_count: int
    text: str | None = None


class DocumentDeleted(RestAnswer):
    """A deleted document, and the number of passages deleted with it."""

    model_config = _example(status="deleted", doc_id="5a1f0c9be2d34876", chunks=12)
    status: Literal["deleted"] = "deleted"
    doc_id: str
    chunks: int


class HealthAnswer(RestAnswer):
    """The process is running."""

    model_config = _example(status="healthy", version="1.0.0")
    status: Literal["healthy"] = "healthy"
    version: str


class DependencyAnswer(RestAnswer):
    """Whether one dependency responds."""

    up: bool
    message: str
    latency_ms: int


class ReadyAnswer(RestAnswer):
    """Whether requests can be served now."""

    model_config = _example(
        status="ready",
        checks={
            "vector_store": {"up": True, "message": "answers"},
            "embedding_service": {"up": True, "message": "answers"},
        },
    )
    status: Literal["ready", "not_ready"]
    health: Literal["healthy", "degraded", "unhealthy"]
    checks: dict[str, DependencyAnswer]


# ---- conversion of the engine's values


def ingest_answer(done: Deposited, key: Key) -> IngestAnswer:
    """Return the result of a deposit; without the right to read the collection, earlier versions are not shown."""
    if not key.sees_all_of(done.collection):
        done = replace(done, unchanged=False, replaced=False, embedded=done.chunks, reused=0)
    return IngestAnswer.of(done, status="ingested", doc_id=done.document_id, keep=["status"])


def accepted_answer(job: IngestJob) -> AcceptedAnswer:
    """Return the acceptance of a deposit."""
    return AcceptedAnswer(status="accepted", job_id=job.id)


def job_answer(job: IngestJob, key: Key) -> JobAnswer:
    """Return the progress of a job to a key."""
    failure = None
    if job.failure is not None:
        cause = failure_of(job.failure)
        failure = JobFailure.of(cause, error=cause.code, status_code=cause.status, **cause.more, keep=["suggestion"])
    return JobAnswer.of(
        job,
        job_id=job.id,
        progress=Progress.of(job),
        result=None if job.result is None else ingest_answer(job.result, key),
        error=failure,
        documents=job.documents if job.kind != "ingest" else None,
        keep=["documents"],
    )


def collection_listed(summary: CollectionSummary) -> CollectionAnswer:
    """Describe a collection."""
    return CollectionAnswer.of(
        summary,
        doc_count=summary.documents,
        chunk_count=summary.chunks,
        token_count=summary.tokens,
        read_only=summary.read_only or None,
    )


def passage(chunk: Chunk, collection: str, record: DocumentRecord | None) -> Passage:
    """Show a passage of a document."""
    return Passage(text=chunk.content, metadata=_place(PassageMetadata, chunk, collection, record))


def result(hit: Hit, collection: str, record: DocumentRecord | None) -> SearchResult:
    """Show a passage that was found."""
    dense, lexical = (None if leg is None else Leg.of(leg) for leg in (hit.dense, hit.lexical))
    return SearchResult.of(
        hit,
        text=hit.chunk.content,
        metadata=_place(ResultMetadata, hit.chunk, collection, record, citation=hit.citation),
        dense=dense,
        lexical=lexical,
        also_in=hit.also_in or None,
    )


_P = TypeVar("_P", bound=PassageMetadata)


def _place(kind: type[_P], chunk: Chunk, collection: str, record: DocumentRecord | None, **more: Any) -> _P:
    return kind.of(
        chunk,
        source=chunk.source_path,
        filename=record.file_name if record is not None else file_name_of(chunk.source_path),
        page=chunk.page_numbers[0] if chunk.page_numbers else None,
        pages=chunk.page_numbers,
        collection=collection,
        doc_id=chunk.document_id,
        chunk_id=chunk.id,
        chunk_index=chunk.index,
        title=chunk.document_title,
        section=chunk.section_title,
        span=[chunk.span.start, chunk.span.end],
        cut_from=chunk.cut_from or None,
        document_metadata=dict(record.metadata) if record is not None else {},
        **more,
    )


_D = TypeVar("_D", bound=_KnownDocument)


def _document(kind: type[_D], record: DocumentRecord, collection: str, **more: Any) -> _D:
    return kind.of(
        record,
        doc_id=record.id,
        edition=edition_of_record(record),
        source=record.source_path,
        filename=record.file_name,
        collection=collection,
        metadata=dict(record.metadata),
        **more,
    )


def document_listed(record: DocumentRecord, collection: str) -> DocumentListed:
    """Show a document in a list."""
    return _document(DocumentListed, record, collection, chunks=record.chunk_count)


def document(found: LibraryDocument, *, limit: int | None, offset: int, text: bool) -> DocumentAnswer:
    """Show a document, or a part of its passages."""
    name, record = found.collection, found.record
    part = found.chunks[offset : None if limit is None else offset + limit]
    passages = [passage(chunk, name, record) for chunk in part]
    count = len(found.chunks)
    return _document(
        DocumentAnswer, record, name, chunks=passages, chunk_count=count, text=found.text if text else None
    )


# ---- the description

DESCRIPTION = f"""\
Ingest documents, search them, and get passages with their locations.

Every address except `/health` and `/ready` needs `Authorization: Bearer <key>`. All failures have the same form:
`{{"error", "detail", "status_code", "suggestion"?, "request_id"}}`; `X-Request-ID` finds each in the log.

{DATA_NOT_INSTRUCTIONS}
"""

BEARER = Security(HTTPBearer(auto_error=False, description="A key of the service."))
"""Says that an operation needs a key; the key itself is checked much earlier."""

GATED = (401, 403, 405, 421)
"""Failures that every operation can have before it starts."""

_NAME = FailureAnswer.__name__
_CONTENT = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_NAME}"}}}
_WORDS = {
    400: "The body is not JSON, or cannot be read.",
    401: "No key was sent.",
    403: "The key is not valid, or lacks the right for the collection.",
    404: "The requested item does not exist.",
    405: "The method is not allowed here; `Allow` lists the allowed ones.",
    408: "The body did not arrive in time.",
    409: "The collection uses another embedding space.",
    413: "The body, or the document, is too large.",
    415: "The body, or the document, is of a type that cannot be read.",
    421: "The Host header does not name this server.",
    422: "A value is missing, unknown or out of range; `detail` names it.",
    429: "A backend service limits the rate; `Retry-After` says how long to wait.",
    500: "The server failed; find the cause in its log by `request_id`.",
    502: "A backend service, or the address to fetch, failed or refused.",
    503: "A backend service cannot be reached now; `Retry-After` says when to try again.",
    504: "The request took too long.",
}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document these failures of an operation, and those that every one can have."""
    return {status: {"description": _WORDS[status], "content": _CONTENT} for status in sorted({*statuses, *GATED})}


def build_openapi(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI document; the schema of failures is added once, by hand.

    As a model of each response it would be built again for every one, which would dominate the service's start time.
    """
    document = app.openapi()
    document["components"]["schemas"].setdefault(_NAME, FailureAnswer.model_json_schema())
    return document
