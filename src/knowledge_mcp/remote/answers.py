"""Parses the answers of the REST service into the engine's values.

What an older service leaves out becomes empty here and is never guessed: an empty span, a count of 0. A chunk's
statements, definitions and links are not transferred; use the engine's own endpoints for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, Literal, Self, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from knowledge_mcp.model.chunk import Chunk, ChunkType, text_key
from knowledge_mcp.model.collection import DocumentRecord, DocumentStatus
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import ErrorCode, InternalError, KnowledgeError, class_of
from knowledge_mcp.model.library import CollectionSummary, Deposited, IngestJob, LibraryDocument
from knowledge_mcp.model.query import Check, HealthReport, Hit, LegScore, SearchAnswer, SearchMode
from knowledge_mcp.remote.failures import error_from_payload


class _ServiceAnswer(BaseModel):
    """Base of all answers: null counts as missing, and unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        return {key: each for key, each in cast("dict[str, Any]", value).items() if each is not None}

    @classmethod
    def read(cls, payload: Mapping[str, Any]) -> Self:
        """Parse an answer.

        Raises:
            InternalError: it does not have the expected form; names the fields.
        """
        try:
            return cls.model_validate(payload)
        except ValidationError as exc:
            places = {".".join(map(str, each["loc"])) for each in exc.errors(include_url=False, include_input=False)}
            raise InternalError(
                "The RAG API's answer has an unknown format.",
                details=f"unexpected or missing: {', '.join(sorted(places)[:10])}",
                suggestion="Check that RAG_API_URL points to a RAG API, and that it is no older than this program.",
            ) from exc

    def values_of(self, kind: type[_ServiceAnswer]) -> dict[str, Any]:
        """Return the values of the fields that a base class declares."""
        return {name: getattr(self, name) for name in kind.model_fields}


class Ingested(_ServiceAnswer):
    """The result of an ingest."""

    document_id: str = Field(validation_alias="doc_id")
    chunks: int
    collection: str = ""
    title: str = ""
    source: str = ""
    pages: int = 0
    unchanged: bool = False
    replaced: bool = False
    embedded: int = 0
    reused: int = 0
    warnings: tuple[str, ...] = ()

    def value(self, collection: str = "") -> Deposited:
        """Return the value; `collection` is the requested one, for services that do not name it."""
        values: dict[str, Any] = {**dict(self), "collection": self.collection or collection}
        return Deposited(**values)


class Accepted(_ServiceAnswer):
    """An ingest that was accepted as a job."""

    job_id: str


class _Progress(_ServiceAnswer):
    done: float = 0.0
    message: str = ""


class RemoteJob(_ServiceAnswer):
    """The state of an ingest job."""

    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: _Progress = _Progress()
    collection: str = ""
    source: str = ""
    created_at: str = ""
    updated_at: str = ""
    result: Ingested | None = None
    error: dict[str, Any] | str = ""
    suggestion: str = ""

    def value(self) -> IngestJob:
        """Return the value."""
        error, result = self.failure(), self.result
        return IngestJob(
            id=self.job_id,
            state=self.state,
            done=self.progress.done,
            message=self.progress.message if error is None else error.message,
            created_at=self.created_at,
            updated_at=self.updated_at,
            collection=self.collection,
            source=self.source,
            result=result.value(self.collection) if result is not None else None,
            failure=error,
        )

    def failure(self) -> KnowledgeError | None:
        """Return the error of a failed job, or None if it did not fail."""
        if self.state != "failed":
            return None
        if isinstance(self.error, dict):
            return error_from_payload(self.error)
        words = self.progress.message or self.error or "The ingestion failed."
        code = self.error if self.error in ErrorCode.__members__.values() else ErrorCode.INVALID_INPUT.value
        return class_of(code)(words, suggestion=self.suggestion or None)


class _ChunkFields(_ServiceAnswer):
    """The fields of a chunk that need no conversion."""

    id: str = Field(default="", validation_alias="chunk_id")
    document_id: str = Field(default="", validation_alias="doc_id")
    document_title: str = Field(default="", validation_alias="title")
    document_type: str = ""
    index: int = Field(default=0, validation_alias="chunk_index")
    context: str = ""
    token_count: int = 0
    section_title: str = Field(default="", validation_alias="section")
    clause_number: str | None = None
    parent_chunk_id: str | None = None
    normative: bool = False
    source_path: str = Field(default="", validation_alias="source")
    lines: tuple[int, int] | None = None
    references: tuple[str, ...] = ()


class _Metadata(_ChunkFields):
    pages: tuple[int, ...] = ()
    page: int | None = None
    page_labels: tuple[str, ...] = ()
    chunk_type: str = ""
    sections: tuple[str, ...] = ()
    section_hierarchy: tuple[str, ...] = ()
    span: tuple[int, int] = (0, 0)
    citation: str = ""


class _Passage(_ServiceAnswer):
    text: str
    metadata: _Metadata = _Metadata()

    def chunk(self) -> Chunk:
        about = self.metadata
        pages = about.pages or ((about.page,) if about.page is not None else ())
        is_known = about.chunk_type in ChunkType.__members__.values()
        return Chunk(
            **about.values_of(_ChunkFields),
            content=self.text,
            content_hash=text_key(self.text),
            span=Span(*about.span),
            section_hierarchy=about.section_hierarchy or about.sections,
            chunk_type=ChunkType(about.chunk_type) if is_known else ChunkType.GUIDANCE,
            page_numbers=pages,
            page_labels=about.page_labels if len(about.page_labels) == len(pages) else tuple(map(str, pages)),
        )


class _Leg(_ServiceAnswer):
    rank: int
    score: float


class _Result(_Passage):
    score: float
    dense: _Leg | None = None
    lexical: _Leg | None = None
    also_in: tuple[str, ...] = ()

    def hit(self) -> Hit:
        dense, lexical = (
            LegScore(leg.rank, leg.score) if leg is not None else None for leg in (self.dense, self.lexical)
        )
        chunk = self.chunk()
        return Hit(chunk, self.score, self.metadata.citation or chunk.document_title, dense, lexical, self.also_in)


class FoundPassages(_ServiceAnswer):
    """Results of a search."""

    results: tuple[_Result, ...]
    mode: str = ""
    searched_documents: int | None = None
    degraded: tuple[str, ...] = ()
    answerability: float | None = Field(default=None, ge=0.0, le=1.0)
    also_asked: tuple[str, ...] = ()
    note: str = ""

    def value(self, requested: SearchMode) -> SearchAnswer:
        """Return the value; `requested` is the requested mode, for services that do not name it."""
        mode = SearchMode(self.mode) if self.mode in SearchMode.__members__.values() else requested
        hits = tuple(result.hit() for result in self.results)
        searched = self.searched_documents
        documents = len({hit.chunk.document_id for hit in hits}) if searched is None else searched
        return SearchAnswer(
            hits,
            mode,
            documents,
            self.degraded,
            answerability=self.answerability,
            also_asked=self.also_asked,
            notes=(self.note,) if self.note else (),
        )


class _Collection(_ServiceAnswer):
    name: str
    documents: int = Field(validation_alias="doc_count")
    chunks: int = Field(default=0, validation_alias="chunk_count")
    tokens: int = Field(default=0, validation_alias="token_count")
    embedding_model: str = ""
    created_at: str = ""


class CollectionPage(_ServiceAnswer):
    """A page of collections."""

    collections: tuple[_Collection, ...]
    total: int | None = None

    def values(self) -> list[CollectionSummary]:
        """Return the values."""
        return [CollectionSummary(**dict(each)) for each in self.collections]


class _RecordFields(_ServiceAnswer):
    """The fields of a document's record that need no conversion."""

    id: str = Field(validation_alias="doc_id")
    title: str = ""
    document_type: str = ""
    source_path: str = Field(default="", validation_alias="source")
    sha256: str = ""
    pipeline: str = ""
    size: int = 0
    pages: int = 0
    token_count: int = 0
    embedding_model: str = ""
    created_at: str = ""
    updated_at: str = ""
    media_type: str = ""
    warnings: tuple[str, ...] = ()


class _Document(_RecordFields):
    collection: str = ""
    status: str = ""
    metadata: dict[str, Any] = {}

    def record(self, chunk_count: int) -> DocumentRecord:
        is_known = self.status in DocumentStatus.__members__.values()
        return DocumentRecord(
            **self.values_of(_RecordFields),
            chunk_count=chunk_count,
            status=DocumentStatus(self.status) if is_known else DocumentStatus.READY,
            metadata=tuple((name, str(value)) for name, value in self.metadata.items()),
        )


class _Listed(_Document):
    chunks: int = 0


class DocumentPage(_ServiceAnswer):
    """A page of a collection's documents."""

    documents: tuple[_Listed, ...]
    total: int | None = None

    def values(self) -> list[DocumentRecord]:
        """Return the values."""
        return [each.record(each.chunks) for each in self.documents]


class FullDocument(_Document):
    """A document with its passages."""

    chunks: tuple[_Passage, ...]
    chunk_count: int | None = None
    text: str | None = None

    def value(self) -> LibraryDocument:
        """Return the value; if the answer has no text, it is joined from the passages."""
        chunks = tuple(each.chunk() for each in self.chunks)
        count = len(chunks) if self.chunk_count is None else self.chunk_count
        text = "\n\n".join(chunk.content for chunk in chunks) if self.text is None else self.text
        return LibraryDocument(self.collection, self.record(count), text, chunks)


class Counted(_ServiceAnswer):
    """The numbers of deleted documents and chunks."""

    documents: int = 0
    chunks: int = 0


class _Check(_ServiceAnswer):
    up: bool
    message: str = ""
    latency_ms: int = 0

    def value(self) -> Check:
        return Check(self.up, self.latency_ms, self.message)


class _Checks(_ServiceAnswer):
    vector_store: _Check
    embedding_service: _Check


class Ready(_ServiceAnswer):
    """Whether the service is ready, and the state of its dependencies."""

    status: str
    health: Literal["healthy", "degraded", "unhealthy"] | None = None
    checks: _Checks

    def value(self) -> HealthReport:
        """Return the value, as of now."""
        up = self.status == "ready" and self.checks.vector_store.up and self.checks.embedding_service.up
        status = self.health or ("healthy" if up else "unhealthy")
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return HealthReport(status, self.checks.vector_store.value(), self.checks.embedding_service.value(), now)
