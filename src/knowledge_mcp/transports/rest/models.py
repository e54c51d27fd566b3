"""What clients send to the REST service: strict, no unknown field, with an example each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.collection import DocumentRecord, file_name_of
from knowledge_mcp.model.errors import ErrorCode
from knowledge_mcp.model.library import (
    COLLECTION_NAME,
    DEFAULT_COLLECTION,
    CollectionSummary,
    Deposit,
    Deposited,
    IngestJob,
    LibraryDocument,
)
from knowledge_mcp.model.query import And, Equals, Filter, Hit, In, Prefix, SearchMode, SearchQuery
from knowledge_mcp.surfaces.arguments import WHOLE, as_text
from knowledge_mcp.transports.rest.answers import (
    AcceptedAnswer,
    CollectionAnswer,
    DocumentAnswer,
    DocumentListed,
    IngestAnswer,
    JobAnswer,
    JobFailure,
    Leg,
    Passage,
    PassageMetadata,
    Progress,
    ResultMetadata,
    SearchResult,
)
from knowledge_mcp.transports.rest.errors import CODES
from knowledge_mcp.transports.shared.keys import Key

MAX_PAIRS = 64
MAX_NAME = 100
MAX_VALUE = 10_000
MAX_OFFSET = 2**31 - 1
MAX_LIMIT = 1000

CollectionName = Annotated[
    str,
    Field(pattern=f"^{COLLECTION_NAME}$", description="1 to 63 letters, digits, `.`, `_` and `-`."),
]
_Text = Annotated[str, Field(max_length=MAX_VALUE)]
_Real = Annotated[float, Field(allow_inf_nan=False)]
_Value = _Text | bool | int | _Real
_Ident = Annotated[str, Field(min_length=1, max_length=200)]
_Kind = Literal[
    "definition", "requirement", "recommendation", "guidance", "example", "figure", "table", "overview", "reference",
    "annex",
]  # fmt: skip
_Filename = Annotated[
    str,
    Field(max_length=255, pattern=r"^[^/\\\x00-\x1f]*$", description="What the document is called, with extension."),
]
_PAIRS: dict[str, Any] = {"maxProperties": MAX_PAIRS, "propertyNames": {"minLength": 1, "maxLength": MAX_NAME}}


def _parse_switch(value: object) -> object:
    """Read a switch in a query or a form; anything but `true` and `false` is left to be refused."""
    return {"true": True, "false": False}.get(value, value) if isinstance(value, str) else value


_Switch = Annotated[Literal[True, False], BeforeValidator(_parse_switch), Field(json_schema_extra={"type": "boolean"})]


class _Strict(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, hide_input_in_errors=True)


class Metadata(BaseModel):
    """Flat pairs to keep on the document's record: texts, numbers, true or false.

    `source` says where the document came from, `title` what it is called.
    """

    model_config = ConfigDict(
        strict=True, extra="allow", frozen=True, hide_input_in_errors=True,
        json_schema_extra={**_PAIRS, "examples": [{"source": "https://wiki.example.com/x", "author": "Ada"}]},
    )  # fmt: skip
    __pydantic_extra__: dict[Annotated[str, Field(min_length=1, max_length=MAX_NAME)], _Value] = Field(init=False)  # pyright: ignore[reportIncompatibleVariableOverride] - pydantic's own way of typing extra fields

    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Return the pairs as text; true and false in lower case.

        Raises:
            ValueError: there are too many.
        """
        if len(self.__pydantic_extra__) > MAX_PAIRS:
            raise ValueError(f"at most {MAX_PAIRS} pairs can be kept")
        return tuple((name, as_text(value)) for name, value in self.__pydantic_extra__.items())


class UrlMetadata(Metadata):
    """What is known of an address: the file name it shall have, and any flat pairs."""

    model_config = ConfigDict(json_schema_extra={**_PAIRS, "examples": [{"filename": "guide.pdf", "team": "ops"}]})
    filename: _Filename | None = None


class IngestMetadata(Metadata):
    """What is known of a text: its file name, the collection it goes to, and any flat pairs."""

    model_config = ConfigDict(
        json_schema_extra={
            **_PAIRS,
            "examples": [{"filename": "deploy.md", "collection": "project-alpha", "author": "Ada", "reviewed": True}],
        }
    )
    filename: _Filename | None = None
    collection: CollectionName = DEFAULT_COLLECTION


class IngestRequest(_Strict):
    """A text or Markdown to take in; a line `<!-- page 3 -->` says that what follows stands on page 3."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "text": "# Deploying\n\nRoll out one replica at a time.",
                    "metadata": {"filename": "deploy.md", "collection": "project-alpha"},
                }
            ]
        }
    )
    text: Annotated[str, Field(min_length=1, pattern=r"\S")]
    metadata: IngestMetadata = IngestMetadata()
    wait: Annotated[bool, Field(description="Answer when it is searchable; else at once, with a job.")] = True
    force: Annotated[bool, Field(description="Read and embed again even where nothing changed.")] = False

    def deposit(self) -> Deposit:
        """Build what the library takes."""
        about = self.metadata
        return Deposit(about.collection, about.filename or "", text=self.text, metadata=about.pairs(), force=self.force)


class IngestUrlRequest(_Strict):
    """An https address to fetch and take in."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"url": "https://docs.example.com/guide.pdf", "collection": "default"}]}
    )
    url: Annotated[str, Field(max_length=2000, pattern=r"^https://[^\s\x00-\x20]+$")]
    collection: CollectionName = DEFAULT_COLLECTION
    metadata: UrlMetadata = UrlMetadata()
    wait: Annotated[bool, Field(description="Answer when it is searchable; else at once, with a job.")] = True
    force: Annotated[bool, Field(description="Read and embed again even where nothing changed.")] = False

    def deposit(self) -> Deposit:
        """Build what the library takes."""
        about = self.metadata
        return Deposit(self.collection, about.filename or "", url=self.url, metadata=about.pairs(), force=self.force)


class UploadFields(_Strict):
    """The fields beside the file of an upload."""

    collection: CollectionName = DEFAULT_COLLECTION
    metadata: Annotated[str, Field(max_length=1_000_000, description="A JSON object of flat pairs.")] = ""
    wait: _Switch = True
    force: _Switch = False


class SearchFilters(_Strict):
    """Which passages may be found; all that are named must hold."""

    document_id: (
        Annotated[_Ident | list[_Ident], Field(description="One id, or several of which any may hold.")] | None
    ) = None
    document_type: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    chunk_type: _Kind | None = None
    normative: bool | None = None
    clause_number: (
        Annotated[str, Field(min_length=1, max_length=100, description="`5.3` finds 5.3, 5.3.1 …")] | None
    ) = None

    def filter(self) -> Filter | None:
        """Build the engine's filter; None where nothing is named."""
        parts: list[Filter] = []
        if isinstance(self.document_id, list):
            parts.append(In("document_id", tuple(self.document_id)))
        elif self.document_id is not None:
            parts.append(Equals("document_id", self.document_id))
        if self.document_type is not None:
            parts.append(Equals("document_type", self.document_type))
        if self.chunk_type is not None:
            parts.append(Equals("chunk_type", ChunkType(self.chunk_type)))
        if self.normative is not None:
            parts.append(Equals("normative", self.normative))
        if self.clause_number is not None:
            parts.append(Prefix("clause_number", self.clause_number))
        return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else None


class SearchRequest(_Strict):
    """A question to one collection, or to all."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"query": "authentication approach", "collection": "default", "top_k": 5},
                {"query": "roll out", "mode": "keyword", "min_score": 0.2, "filters": {"normative": True}},
            ]
        }
    )
    query: Annotated[str, Field(min_length=1, max_length=2000, pattern=r"\S")]
    collection: CollectionName = DEFAULT_COLLECTION
    top_k: Annotated[int, Field(ge=1, le=50), WHOLE] = 5
    mode: Annotated[
        Literal["hybrid", "semantic", "keyword"], Field(description="By meaning and words, by meaning, by words.")
    ] = "hybrid"
    weight: (
        Annotated[float, Field(ge=0, le=1, description="Share of meaning in rank fusion; without it, HYBRID_FUSION.")]
        | None
    ) = None
    min_score: Annotated[float, Field(ge=0, le=1, description="Results below it are left out, and counted.")] = 0.0
    filters: SearchFilters | None = None
    everywhere: Annotated[
        bool, Field(description="Search all collections that the key may read; `collection` counts for nothing.")
    ] = False
    fold: Annotated[bool, Field(description="Fold what repeats a better result into it, as `also_in`.")] = True

    def search(self) -> SearchQuery:
        """Build the engine's question."""
        condition = self.filters.filter() if self.filters is not None else None
        return SearchQuery(self.query, self.top_k, SearchMode(self.mode), self.weight, condition, fold=self.fold)


class PageQuery(BaseModel):
    """Which part of a list is wanted."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT)] = 100
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0


class DocumentsQuery(PageQuery):
    """Which documents of which collection are wanted."""

    collection: CollectionName = DEFAULT_COLLECTION
    name_contains: Annotated[
        str, Field(max_length=200, description="Part of the title, file name or source, in any case.")
    ] = ""


class DocumentQuery(BaseModel):
    """How much of a document is wanted: all passages unless a part is named; its text where it is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)
    limit: Annotated[int, Field(ge=1, le=MAX_OFFSET)] | None = None
    offset: Annotated[int, Field(ge=0, le=MAX_OFFSET)] = 0
    text: _Switch = False


def ingest_answer(done: Deposited, key: Key) -> IngestAnswer:
    """Say what became of a deposit; who may not read the collection does not see what was there before."""
    if not key.sees_all_of(done.collection):
        done = replace(done, unchanged=False, replaced=False, embedded=done.chunks, reused=0)
    return IngestAnswer(
        status="ingested", doc_id=done.document_id, chunks=done.chunks, collection=done.collection, title=done.title,
        source=done.source, pages=done.pages, unchanged=done.unchanged, replaced=done.replaced, embedded=done.embedded,
        reused=done.reused, warnings=list(done.warnings),
    )  # fmt: skip


_STATUS: Mapping[str, int] = {
    ErrorCode.CONFIG_ERROR: 500,
    ErrorCode.CONNECTION_ERROR: 503,
    ErrorCode.TIMEOUT_ERROR: 504,
    ErrorCode.AUTH_ERROR: 502,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.INVALID_INPUT: 422,
    ErrorCode.RATE_LIMITED: 429,
    ErrorCode.INTERNAL_ERROR: 500,
}
"""The status that a request would have been answered with, by what is kept of a failed job."""


def accepted_answer(job: IngestJob) -> AcceptedAnswer:
    """Tell that a deposit was accepted."""
    return AcceptedAnswer(status="accepted", job_id=job.id)


def job_answer(job: IngestJob, key: Key) -> JobAnswer:
    """Tell a key how far a job is."""
    more: dict[str, Any] = {}
    if job.result is not None:
        more["result"] = ingest_answer(job.result, key)
    if job.state == "failed":
        status = _STATUS.get(job.error, 500)
        more["error"] = JobFailure(
            error=CODES[status], detail=job.message, status_code=status, suggestion=job.suggestion
        )
    if job.kind != "ingest":
        more |= {"kind": job.kind, "documents": list(job.documents)}
    return JobAnswer.model_validate(
        {
            "job_id": job.id,
            "state": job.state,
            "progress": Progress(done=job.done, message=job.message),
            "collection": job.collection,
            "source": job.source,
            "created_at": job.created_at,
            "updated_at": job.updated_at,
            **more,
        }
    )


def collection_listed(summary: CollectionSummary) -> CollectionAnswer:
    """Describe a collection."""
    return CollectionAnswer(
        name=summary.name, doc_count=summary.documents, chunk_count=summary.chunks, token_count=summary.tokens,
        embedding_model=summary.embedding_model, created_at=summary.created_at,
        **({"read_only": True} if summary.read_only else {}),
    )  # fmt: skip


def passage(chunk: Chunk, collection: str, record: DocumentRecord | None) -> Passage:
    """Show a passage of a document."""
    return Passage(text=chunk.content, metadata=PassageMetadata(**_place(chunk, collection, record)))


def result(hit: Hit, collection: str, record: DocumentRecord | None) -> SearchResult:
    """Show a passage that was found."""
    more: dict[str, Any] = {
        name: Leg(rank=leg.rank, score=leg.score)
        for name, leg in (("dense", hit.dense), ("lexical", hit.lexical))
        if leg is not None
    }
    about = ResultMetadata(**_place(hit.chunk, collection, record), citation=hit.citation)
    if hit.also_in:
        more["also_in"] = list(hit.also_in)
    return SearchResult(text=hit.chunk.content, score=hit.score, metadata=about, **more)


def _place(chunk: Chunk, collection: str, record: DocumentRecord | None) -> dict[str, Any]:
    place: dict[str, Any] = {
        "source": chunk.source_path,
        "filename": record.file_name if record is not None else file_name_of(chunk.source_path),
        "page": chunk.page_numbers[0] if chunk.page_numbers else None,
        "pages": list(chunk.page_numbers),
        "collection": collection,
        "doc_id": chunk.document_id,
        "chunk_id": chunk.id,
        "chunk_index": chunk.index,
        "title": chunk.document_title,
        "section": chunk.section_title,
        "section_hierarchy": list(chunk.section_hierarchy),
        "document_type": chunk.document_type,
        "chunk_type": str(chunk.chunk_type),
        "normative": chunk.normative,
        "context": chunk.context,
        "span": [chunk.span.start, chunk.span.end],
        "token_count": chunk.token_count,
        "page_labels": list(chunk.page_labels),
        "references": list(chunk.references),
        "parent_chunk_id": chunk.parent_chunk_id,
        "document_metadata": dict(record.metadata) if record is not None else {},
    }
    if chunk.cut_from:
        place["cut_from"] = chunk.cut_from
    if chunk.clause_number is not None:
        place["clause_number"] = chunk.clause_number
    if chunk.lines is not None:
        place["lines"] = list(chunk.lines)
    return place


def _document_fields(record: DocumentRecord, collection: str) -> dict[str, Any]:
    return {
        "doc_id": record.id, "title": record.title, "source": record.source_path, "filename": record.file_name,
        "collection": collection, "pages": record.pages, "size": record.size, "sha256": record.sha256,
        "token_count": record.token_count,
        "embedding_model": record.embedding_model, "pipeline": record.pipeline, "media_type": record.media_type,
        "document_type": record.document_type, "status": str(record.status), "warnings": list(record.warnings),
        "created_at": record.created_at, "updated_at": record.updated_at, "metadata": dict(record.metadata),
    }  # fmt: skip


def document_listed(record: DocumentRecord, collection: str) -> DocumentListed:
    """Show a document in a list."""
    return DocumentListed(**_document_fields(record, collection), chunks=record.chunk_count)


def document(found: LibraryDocument, *, limit: int | None, offset: int, text: bool) -> DocumentAnswer:
    """Show a document, or a part of its passages."""
    chunks = found.chunks[offset : None if limit is None else offset + limit]
    more: dict[str, Any] = {"text": found.text} if text else {}
    return DocumentAnswer(
        **_document_fields(found.record, found.collection),
        chunks=[passage(chunk, found.collection, found.record) for chunk in chunks],
        chunk_count=len(found.chunks),
        **more,
    )
