"""Arguments of the library's tools: the specified ones by their names, and what is added."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.library import COLLECTION_NAME, DEFAULT_COLLECTION, Deposit
from knowledge_mcp.model.query import SearchMode, SearchQuery
from knowledge_mcp.surfaces.answers import ABOUT, ALSO_ASKED, CUT_FROM, NOT_CUT, Answerability, Truncation
from knowledge_mcp.surfaces.arguments import WHOLE, WITHOUT_LOGIN, Question, Text, as_text, combine_filters, one_or_list
from knowledge_mcp.surfaces.contract import JobProgress, Request, Response

Collection = Annotated[
    str,
    Field(
        pattern=f"^{COLLECTION_NAME}$",
        description="Name of the collection; list_collections lists all.",
    ),
]
DocumentId = Annotated[Text, Field(min_length=1, max_length=200)]
DocumentIds = Annotated[
    list[DocumentId],
    one_or_list("ids"),
    Field(min_length=1, max_length=50, description="Only documents with these ids; a single id is accepted too."),
]
Value = Annotated[str, Field(max_length=2000)] | bool | int | float


class RagSearchRequest(Request):
    """Arguments of `search`."""

    SUBJECT = "query"
    FILTERS = frozenset({"doc_id", "document_type", "chunk_type", "normative_only", "clause_number"})

    query: Question
    collection: Collection = DEFAULT_COLLECTION
    top_k: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(
        default=5, description="Maximum number of results to return."
    )
    mode: Literal["hybrid", "semantic", "keyword"] = Field(
        default="hybrid", description="hybrid: by meaning and words; semantic: by meaning only; keyword: by words only."
    )
    min_score: Annotated[float, Field(ge=0.0, le=1.0, strict=False)] = Field(
        default=0.0, description="Omit results below this score."
    )
    doc_id: DocumentIds | None = None
    document_type: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only documents of this type."
    )
    chunk_type: Annotated[ChunkType | None, Field(strict=False)] = Field(
        default=None, description="Only passages of this kind, e.g. table or definition."
    )
    normative_only: bool = Field(default=False, description="Only passages that contain mandatory statements.")
    clause_number: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only this numbered section and its subsections: 5.3 includes 5.3.1, not 5.30."
    )

    def search(self) -> SearchQuery:
        """Build the engine's question."""
        condition = combine_filters(
            document_ids=self.doc_id,
            document_type=self.document_type,
            chunk_type=self.chunk_type,
            normative=self.normative_only or None,
            clause_number=self.clause_number,
        )
        return SearchQuery(self.query, self.top_k, SearchMode(self.mode), filter=condition, fold=True)


class IngestUrlArguments(Request):
    """Arguments of `ingest_url`."""

    SUBJECT = "uri"

    uri: Annotated[Text, Field(min_length=1, max_length=4096), WITHOUT_LOGIN] = Field(
        description="https address of a page or a file, e.g. https://example.com/doc.pdf."
    )
    collection: Collection = DEFAULT_COLLECTION
    metadata: Annotated[dict[Annotated[Text, Field(max_length=100)], Value], Field(max_length=50)] | None = Field(
        default=None, description="Metadata to store with the document: names and plain values; `title` sets its title."
    )
    force: bool = Field(default=False, description="Read and embed again even if nothing changed.")
    wait: bool = Field(
        default=True, description="false returns a job_id at once; call ingest_url_status for the result."
    )

    def deposit(self) -> Deposit:
        """Return what is asked of the library."""
        metadata = tuple((name, as_text(value)) for name, value in (self.metadata or {}).items())
        return Deposit(self.collection, url=self.uri.strip(), metadata=metadata, force=self.force)


class UrlJobRequest(Request):
    """Arguments of `ingest_url_status` and `cancel_ingest_url`."""

    SUBJECT = "job_id"

    job_id: Annotated[Text, Field(min_length=1, max_length=64)] = Field(description="From ingest_url with wait=false.")


class ListCollectionsRequest(Request):
    """Arguments of `list_collections`: none."""


class DocumentRequest(Request):
    """Arguments of `get_document`."""

    SUBJECT = "doc_id"

    doc_id: DocumentId = Field(description="Document id, from search or ingest_url.")
    offset: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = Field(
        default=0, description="Skip this many chunks; continue at next_offset."
    )
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = Field(
        default=None, description="Maximum number of chunks to return. Default: as many as fit into an answer."
    )
    include_text: bool = Field(
        default=False, description="Also return the continuous text of these chunks, each passage once and in order."
    )


class RagPassageMetadata(Response):
    """Where a passage comes from."""

    source: str = Field(description="Address, path or name of the document.")
    page: int | None = Field(description="First page of the passage; null if the format has no pages.")
    filename: str = ""
    collection: str
    doc_id: str
    chunk_id: str
    chunk_index: int
    title: str
    section: str = ""
    pages: list[int] = Field(default=[], description="All pages, if there is more than one.")
    clause_number: str = ""
    lines: list[int] = Field(default=[], description="First and last line in the source.")
    chunk_type: str = ""
    normative: bool = False
    citation: str = Field(default="", description="Ready to paste: title, section, page.")


class RagSearchResult(Response):
    """One passage."""

    text: str
    score: float = Field(ge=0.0, le=1.0)
    metadata: RagPassageMetadata
    cut_from: str = Field(default="", description=CUT_FROM)
    also_in: list[str] = Field(default=[], description="Citations of passages that say the same.")


class RagSearchResponse(Response):
    """Answer of `search`."""

    results: list[RagSearchResult]
    query: str
    collection: str
    mode: Literal["hybrid", "semantic", "keyword"] = Field(description="The search mode that was actually used.")
    total: int = Field(description="Number of results returned.")
    below_min_score: int = Field(default=0, description="Number of results omitted because of min_score.")
    answerability: Answerability = Field(default="uncertain", description=ABOUT)
    also_asked: list[str] = Field(default=[], description=ALSO_ASKED)
    message: str = Field(default="", description="Why there are no results.")
    suggestions: list[str] = Field(default=[])
    degraded: list[str] = Field(default=[], description="What failed.")
    truncated: Truncation = NOT_CUT


class IngestUrlResponse(Response):
    """Answer of `ingest_url`."""

    status: Literal["ingested", "accepted"]
    doc_id: str = ""
    chunks: int = Field(default=0, description="Number of passages that can be found.")
    collection: str = ""
    title: str = ""
    source: str = ""
    pages: int = 0
    unchanged: bool = Field(default=False, description="The same document had already been ingested.")
    replaced: bool = Field(default=False, description="An earlier version was replaced.")
    warnings: list[str] = Field(default=[], description="What is missing or doubtful.")
    job_id: str = Field(default="", description="With wait=false: pass it to ingest_url_status.")
    message: str = ""


class JobError(Response):
    """Why a job failed."""

    code: str
    message: str
    suggestion: str = ""


class UrlJobResponse(Response):
    """Answer of `ingest_url_status` and `cancel_ingest_url`."""

    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgress
    collection: str = ""
    source: str = ""
    created_at: str
    updated_at: str
    result: IngestUrlResponse | None = Field(default=None, description="The answer of ingest_url.")
    failure: JobError | None = Field(default=None, description="Why it failed.")


class CollectionEntry(Response):
    """One collection."""

    name: str
    doc_count: int
    chunk_count: int = 0
    token_count: int = 0
    embedding_model: str = ""
    created_at: str = ""


class CollectionsResponse(Response):
    """Answer of `list_collections`."""

    collections: list[CollectionEntry]
    truncated: Truncation = NOT_CUT


class DocumentChunk(Response):
    """One passage of a document."""

    text: str
    metadata: RagPassageMetadata


class DocumentResponse(Response):
    """Answer of `get_document`."""

    doc_id: str
    title: str
    source: str
    filename: str = ""
    collection: str
    metadata: dict[str, str]
    chunk_count: int = Field(description="Chunks of the whole document.")
    pages: int = 0
    status: str = Field(default="ready", description="partial if text is known to be missing.")
    warnings: list[str] = Field(default=[])
    created_at: str = ""
    updated_at: str = ""
    chunks: list[DocumentChunk]
    next_offset: int = Field(default=0, description="Offset of the next part, if not all chunks fit into the answer.")
    text: str = Field(default="", description="The continuous text, if it was requested.")
    truncated: Truncation = NOT_CUT
