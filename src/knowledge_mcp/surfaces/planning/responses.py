"""Answers of the planning tools: the specified fields by their names, and what is added."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from knowledge_mcp.surfaces.contract import Response
from knowledge_mcp.surfaces.planning.errors import ErrorAnswer
from knowledge_mcp.surfaces.shortening import Truncation

__all__ = [
    "DeleteResponse",
    "DocumentSummary",
    "DocumentTextResponse",
    "IngestResponse",
    "JobProgress",
    "JobResponse",
    "ListResponse",
    "PageRun",
    "SearchResponse",
    "SearchResult",
    "SearchResultMetadata",
]

_CUT = Truncation(omitted=0, note="")
Method = Literal["text_layer", "ocr", "mixed"]


class PageRun(Response):
    """What became of neighbouring pages that fared alike."""

    first: int
    last: int
    method: str = Field(
        description="text_layer, ocr, blank, none where a page could not be read, skipped where the document was."
    )
    image_ratio: float = Field(default=0.0, description="Share of the page that pictures cover.")
    confidence: float = Field(default=0.0, description="Mean confidence of the text recognition, 0 to 100.")
    drawing: bool = False
    reason: str = ""


class IngestResponse(Response):
    """Answer of `ingest_document`."""

    status: Literal["success", "already_ingested", "skipped", "accepted"]
    document_id: str = ""
    chunks_created: int = 0
    extraction_method: Method = "text_layer"
    contains_drawings: bool = False
    total_chars: int = 0
    total_words: int = 0
    reason: str = Field(default="", description="image_based: why it was skipped.")
    image_ratio: float = Field(default=0.0, description="Average share of the pages that pictures cover.")
    total_pages: int = 0
    message: str = ""
    job_id: str = Field(default="", description="With wait=false: ask ingest_status for it.")
    document_type: str = ""
    document_type_confidence: float = 0.0
    document_type_reason: str = ""
    pages: list[PageRun] = Field(default=[], description="What became of each page.")
    warnings: list[str] = Field(default=[], description="What was lost or is doubtful.")
    replaced: list[str] = Field(default=[], description="Earlier versions that it took the place of.")


class SearchResultMetadata(Response):
    """Where a passage comes from (B-FR-002)."""

    application_ref: str
    document_id: str
    source_file: str
    document_type: str
    page_numbers: str = Field(description="Pages, separated by commas.")
    chunk_index: int
    total_chunks: int
    extraction_method: Method
    char_count: int
    word_count: int


class SearchResult(Response):
    """One passage."""

    chunk_id: str
    text: str
    relevance_score: float = Field(ge=0.0, le=1.0, description="Cosine of question and passage.")
    metadata: SearchResultMetadata


class SearchResponse(Response):
    """Answer of `search_application_docs`."""

    status: Literal["success"]
    query: str
    results_count: int
    results: list[SearchResult]
    message: str = Field(default="", description="Why there is no result.")
    truncated: Truncation = _CUT


class DocumentTextResponse(Response):
    """Answer of `get_document_text`."""

    status: Literal["success"]
    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    text: str = Field(description="Each passage once, in order.")
    total_chars: int = 0
    next_offset: int = Field(default=0, description="Where to go on, where the text was cut.")


class DocumentSummary(Response):
    """One document of an application (B-FR-004)."""

    document_id: str
    file_path: str
    document_type: str
    chunk_count: int
    ingested_at: str = Field(description="ISO 8601.")
    extraction_method: Method
    contains_drawings: bool
    pages: int = 0
    status: str = Field(default="ready", description="partial where text is known to be lost.")
    warnings: list[str] = Field(default=[])


class ListResponse(Response):
    """Answer of `list_ingested_documents`."""

    status: Literal["success"]
    application_ref: str
    document_count: int = Field(description="Documents that fit, on this page of the list and on others.")
    documents: list[DocumentSummary]
    next_offset: int = Field(default=0, description="Where to go on, where the list was cut.")
    truncated: Truncation = _CUT


class DeleteResponse(Response):
    """Answer of `delete_document`."""

    status: Literal["success"]
    document_id: str
    chunks_deleted: int


class JobProgress(Response):
    """How far a job is."""

    done: float
    total: float = 100.0
    message: str


class JobResponse(Response):
    """Answer of `ingest_status` and `cancel_ingest`."""

    status: Literal["success"]
    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgress
    file_path: str
    application_ref: str
    created_at: str
    updated_at: str
    result: IngestResponse | ErrorAnswer | None = Field(
        default=None, description="What ingest_document would have answered, once it is done or failed."
    )
