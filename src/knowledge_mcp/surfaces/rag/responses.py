"""Answers of the library's tools: the specified fields by their names, and what is added."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from knowledge_mcp.surfaces.contract import Response
from knowledge_mcp.surfaces.shortening import Truncation
from knowledge_mcp.surfaces.worth import ABOUT, ALSO_ASKED, Answerability

__all__ = [
    "CollectionSummary",
    "CollectionsResponse",
    "DocumentChunk",
    "DocumentResponse",
    "IngestResponse",
    "JobError",
    "JobProgress",
    "JobResponse",
    "PassageMetadata",
    "SearchResponse",
    "SearchResult",
]

_CUT = Truncation(omitted=0, note="")


class PassageMetadata(Response):
    """Where a passage comes from."""

    source: str = Field(description="Address, path or name of the document.")
    page: int | None = Field(description="First page that it stands on, null where the format has none.")
    filename: str = ""
    collection: str
    doc_id: str
    chunk_id: str
    chunk_index: int
    title: str
    section: str = ""
    pages: list[int] = Field(default=[], description="All pages, where there is more than one.")
    clause_number: str = ""
    lines: list[int] = Field(default=[], description="First and last line in the source.")
    chunk_type: str = ""
    normative: bool = False
    citation: str = Field(default="", description="To be pasted: title, section, page.")


class SearchResult(Response):
    """One passage."""

    text: str
    score: float = Field(ge=0.0, le=1.0)
    metadata: PassageMetadata


class SearchResponse(Response):
    """Answer of `search`."""

    results: list[SearchResult]
    query: str
    collection: str
    mode: Literal["hybrid", "semantic", "keyword"] = Field(description="How it was really searched.")
    total: int = Field(description="Number of results returned.")
    below_min_score: int = Field(default=0, description="Results that min_score left out.")
    answerability: Answerability = Field(default="uncertain", description=ABOUT)
    also_asked: list[str] = Field(default=[], description=ALSO_ASKED)
    message: str = Field(default="", description="Why there is no result.")
    suggestions: list[str] = Field(default=[])
    degraded: list[str] = Field(default=[], description="What failed on the way.")
    truncated: Truncation = _CUT


class IngestResponse(Response):
    """Answer of `ingest_url`."""

    status: Literal["ingested", "accepted"]
    doc_id: str = ""
    chunks: int = Field(default=0, description="Passages that can be found.")
    collection: str = ""
    title: str = ""
    source: str = ""
    pages: int = 0
    unchanged: bool = Field(default=False, description="The very same document was there already.")
    replaced: bool = Field(default=False, description="An earlier version was there, and is gone.")
    warnings: list[str] = Field(default=[], description="What was lost or is doubtful.")
    job_id: str = Field(default="", description="With wait=false: ask ingest_url_status for it.")
    message: str = ""


class JobProgress(Response):
    """How far a job is."""

    done: float
    total: float = 100.0
    message: str


class JobError(Response):
    """Why a job failed."""

    code: str
    message: str
    suggestion: str = ""


class JobResponse(Response):
    """Answer of `ingest_url_status` and `cancel_ingest_url`."""

    job_id: str
    state: Literal["queued", "running", "done", "failed", "cancelled"]
    progress: JobProgress
    collection: str = ""
    source: str = ""
    created_at: str
    updated_at: str
    result: IngestResponse | None = Field(default=None, description="What ingest_url would have answered.")
    failure: JobError | None = Field(default=None, description="Why it failed.")


class CollectionSummary(Response):
    """One collection."""

    name: str
    doc_count: int
    chunk_count: int = 0
    token_count: int = 0
    embedding_model: str = ""
    created_at: str = ""


class CollectionsResponse(Response):
    """Answer of `list_collections`."""

    collections: list[CollectionSummary]
    truncated: Truncation = _CUT


class DocumentChunk(Response):
    """One passage of a document."""

    text: str
    metadata: PassageMetadata


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
    status: str = Field(default="ready", description="partial where text is known to be lost.")
    warnings: list[str] = Field(default=[])
    created_at: str = ""
    updated_at: str = ""
    chunks: list[DocumentChunk]
    next_offset: int = Field(default=0, description="Where to go on, where the answer could not hold all chunks.")
    text: str = Field(default="", description="The running text, where it was asked for.")
    truncated: Truncation = _CUT
