"""What the REST service answers, with an example each."""

from __future__ import annotations

from typing import Any, Literal

from fastapi import FastAPI, Security
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict

from knowledge_mcp.surfaces.contract import DATA_NOT_INSTRUCTIONS


class _Answer(BaseModel):
    model_config = ConfigDict(frozen=True)


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(frozen=True, json_schema_extra={"examples": [fields]})


class FailureAnswer(_Answer):
    """A failure: its code, why, the status again, what to do, and the request's id, which finds it in the log.

    A document that cannot be read has a `reason` (`corrupted`, `encrypted`, `empty` …) and its `source`, too.
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


class IngestAnswer(_Answer):
    """What became of an ingestion."""

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


class AcceptedAnswer(_Answer):
    """An ingestion that goes on by itself, and the job to ask after."""

    model_config = _example(status="accepted", job_id="0123456789abcdef")
    status: Literal["accepted"] = "accepted"
    job_id: str


class Progress(_Answer):
    """How far a job is, of 100, and what it is at."""

    done: float
    message: str


class JobFailure(_Answer):
    """Why a job failed, as the request would have been answered."""

    error: str
    detail: str
    status_code: int
    suggestion: str


class JobAnswer(_Answer):
    """A job; `result` once an ingestion is done, `error` where it failed.

    `kind` and `documents` are left out for ingestions; what a trace, a check or a search for conflicts came to is asked
    for as such. Of conflicts, no `documents` are all of the collection.
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
    documents: list[str] = []


class PassageMetadata(_Answer):
    """Where a passage stands, and what it is.

    `page` is the first of its pages, null where the format has none; `span` counts characters of the document's text;
    `context` is what was put before the passage when it was embedded: its headings, and `cut_from`, what it was cut
    off from and is read with (a table's header and notes, a caption, a lead-in), which is absent where it is complete.
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
    """Where a result stands, and how to cite it."""

    citation: str


class Leg(_Answer):
    """Rank from 1 and raw score in one leg of the search."""

    rank: int
    score: float


class SearchResult(_Answer):
    """One passage found; `score` is 0 to 1, `also_in` has citations of passages that say the same."""

    text: str
    score: float
    metadata: ResultMetadata
    dense: Leg | None = None
    lexical: Leg | None = None
    also_in: list[str] | None = None


class SearchAnswerBody(_Answer):
    """Results, best first; `total` counts them, `below_min_score` those left out, `degraded` says what failed.

    `answerability`, where there is one, estimates that one of the ten best results answers the query. `also_asked`
    lists what was asked for beside the query's own words, which the documents do not use. `note` says that no passage
    has the quoted words together, a word, or an identifier of the query.
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


class CollectionAnswer(_Answer):
    """One collection and what it holds; `read_only` where another part of the product fills it."""

    name: str
    doc_count: int
    chunk_count: int
    token_count: int
    embedding_model: str
    created_at: str
    read_only: bool | None = None


class CollectionsAnswer(_Answer):
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


class CollectionDeleted(_Answer):
    """A collection that is gone, and how many documents went with it."""

    model_config = _example(status="deleted", collection="project-alpha", documents=7)
    status: Literal["deleted"] = "deleted"
    collection: str
    documents: int


class _KnownDocument(_Answer):
    """What is known of a document."""

    doc_id: str
    title: str
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
    """One document of a list; `status` is `partial` where text is known to be lost."""

    chunks: int


class DocumentsAnswer(_Answer):
    """Documents of a collection by title; `total` counts all that fit."""

    documents: list[DocumentListed]
    total: int


class Passage(_Answer):
    """One passage of a document."""

    text: str
    metadata: PassageMetadata


class DocumentAnswer(_KnownDocument):
    """A document: its passages in order, what is known of it, and its text where it was asked for."""

    chunks: list[Passage]
    chunk_count: int
    text: str | None = None


class DocumentDeleted(_Answer):
    """A document that is gone, and how many passages went with it."""

    model_config = _example(status="deleted", doc_id="5a1f0c9be2d34876", chunks=12)
    status: Literal["deleted"] = "deleted"
    doc_id: str
    chunks: int


class HealthAnswer(_Answer):
    """The process lives."""

    model_config = _example(status="healthy", version="1.0.0")
    status: Literal["healthy"] = "healthy"
    version: str


class DependencyAnswer(_Answer):
    """Whether one dependency answers."""

    up: bool
    message: str
    latency_ms: int


class ReadyAnswer(_Answer):
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


DESCRIPTION = f"""\
Take documents in, search them, and get passages with where they stand.

Every address but `/health` and `/ready` needs `Authorization: Bearer <key>`. Every failure has one form:
`{{"error", "detail", "status_code", "suggestion"?, "request_id"}}`; `X-Request-ID` finds each in the log.

{DATA_NOT_INSTRUCTIONS}
"""

BEARER = Security(HTTPBearer(auto_error=False, description="A key of the service."))
"""Says that an operation needs a key; whether one was shown is looked at long before."""

GATED = (401, 403, 405, 421)
"""How every operation can fail before it is looked at."""

_NAME = FailureAnswer.__name__
_CONTENT = {"application/json": {"schema": {"$ref": f"#/components/schemas/{_NAME}"}}}
_WORDS = {
    400: "The body is no JSON, or cannot be read.",
    401: "No key was sent.",
    403: "The key is not valid, or lacks the right for the collection.",
    404: "What is named does not exist.",
    405: "The method is not allowed here; `Allow` names those that are.",
    408: "The body did not come in time.",
    409: "The collection belongs to another embedding space.",
    413: "The body, or the document, is too large.",
    415: "The body, or the document, is of a type that cannot be read.",
    421: "The Host is not one of this server's.",
    422: "A value is missing, unknown or outside what is allowed; `detail` names it.",
    429: "A service behind asks to slow down; `Retry-After` says how long.",
    500: "The server failed; `request_id` finds the cause in its log.",
    502: "A service behind, or the address to fetch, failed or refused.",
    503: "A service behind cannot be reached now; `Retry-After` says when to try again.",
    504: "It took too long.",
}


def failures(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Document these failures of an operation, and those that every one can have."""
    return {status: {"description": _WORDS[status], "content": _CONTENT} for status in sorted({*statuses, *GATED})}


def build_openapi(app: FastAPI) -> dict[str, Any]:
    """Build the OpenAPI document; the form of failures stands in it once, put there by hand.

    As a model of each response it would be built again for every one: most of the time that the service takes to start.
    """
    document = app.openapi()
    document["components"]["schemas"].setdefault(_NAME, FailureAnswer.model_json_schema())
    return document
