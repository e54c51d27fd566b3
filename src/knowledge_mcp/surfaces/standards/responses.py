"""Answers of the six tools (A §3.1): every field of the specification by its name, and ours beside them.

A field with a default is sent only where it was set: "not found" and "nothing matched" so have the specified forms.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.query import SearchMode
from knowledge_mcp.surfaces.contract import Response
from knowledge_mcp.surfaces.shortening import Truncation
from knowledge_mcp.surfaces.standards.evidence_responses import Locator
from knowledge_mcp.surfaces.worth import ABOUT, ALSO_ASKED, Answerability

__all__ = [
    "BriefSource",
    "CheckResult",
    "DefinitionResult",
    "DocumentSummary",
    "Embedding",
    "FilterValues",
    "HealthChecks",
    "HealthResponse",
    "KnowledgeBase",
    "Leg",
    "LookupResponse",
    "Metadata",
    "RequirementResult",
    "RequirementsResponse",
    "SearchResponse",
    "SearchResult",
    "Source",
    "StatsResponse",
    "VectorStore",
]

_CUT = Truncation(omitted=0, note="")


class FilterValues(Response):
    """Filters that were applied, as they were given."""

    document_type: str = ""
    chunk_type: str = ""
    normative_only: bool = False
    document_id: list[str] = Field(default=[])
    clause_number: str = ""
    clause_exact: bool = False


class Leg(Response):
    """A result's place in one of the two rankings that were fused."""

    rank: int = Field(description="From 1.")
    score: float = Field(description="Raw: cosine, or BM25.")


class BriefSource(Response):
    """Where a statement stands."""

    document_id: str
    document_title: str
    citation: str = Field(description="Ready to paste: title, edition, clause, page.")
    page_numbers: list[int] = Field(default=[])
    clause_number: str = ""


class Source(Response):
    """Where a passage stands."""

    document_id: str
    document_title: str
    document_type: str
    source_path: str
    page_numbers: list[int]
    section: str
    citation: str = Field(description="Ready to paste: title, edition, clause, page.")
    clause_number: str = ""
    page_labels: list[str] = Field(default=[], description="Printed page labels, where they differ from page_numbers.")
    lines: list[int] = Field(default=[], description="First and last line of the source file.")


class Metadata(Response):
    """What a passage is."""

    chunk_type: ChunkType
    normative: bool
    section_hierarchy: list[str]
    references: list[str]


class SearchResult(Response):
    """One passage found."""

    id: str
    content: str = Field(description="The passage word for word, or a part of it where snippet is true.")
    score: float = Field(ge=0.0, le=1.0)
    source: Source
    metadata: Metadata
    locator: Locator = Field(description="Where it stands, for programs.")
    uri: str = Field(description="Resource that holds the passage.")
    dense: Leg = Field(default=Leg(rank=0, score=0.0), description="Place by meaning, where it was found so.")
    lexical: Leg = Field(default=Leg(rank=0, score=0.0), description="Place by words, where it was found so.")
    snippet: bool = Field(default=False, description="True where the passage was cut to fit max_tokens.")
    also_in: list[str] = Field(default=[], description="Citations of passages that say the same.")
    also_in_more: int = Field(default=0, description="Further ones that are not listed.")


class SearchResponse(Response):
    """Answer of `knowledge_search` and `knowledge_keyword_search`."""

    results: list[SearchResult]
    total: int = Field(description="Number of results returned.")
    query: str
    search_type: SearchMode
    answerability: Answerability = Field(default="uncertain", description=ABOUT)
    also_asked: list[str] = Field(default=[], description=ALSO_ASKED)
    message: str = ""
    suggestions: list[str] = Field(default=[])
    filters_applied: FilterValues = FilterValues()
    degraded: list[str] = Field(default=[], description="What failed on the way, and why; results may be incomplete.")
    next_cursor: int = Field(default=0, description="cursor for the results that follow; left out at the end.")
    truncated: Truncation = _CUT


class DefinitionResult(Response):
    """One definition."""

    definition: str
    source: BriefSource
    term: str = Field(description="The term as printed.")
    aliases: list[str] = Field(default=[])
    domain: str = ""
    notes: list[str] = Field(default=[], description="Notes and examples of the entry.")
    origin: str = Field(default="", description="The source that the entry itself names.")
    uri: str = Field(description="Resource that holds the passage.")


class LookupResponse(Response):
    """Answer of `knowledge_lookup`."""

    term: str
    found: bool
    definitions: list[DefinitionResult] = Field(default=[])
    message: str = ""
    similar_terms: list[str] = Field(default=[])
    suggestions: list[str] = Field(default=[])
    degraded: list[str] = Field(default=[])
    truncated: Truncation = _CUT


class RequirementResult(Response):
    """One mandatory statement."""

    requirement_text: str
    requirement_id: str = Field(description="Clause number; the statement's own identifier where it has no clause.")
    source: BriefSource
    normative: bool
    score: float = Field(ge=0.0, le=1.0)
    identifier: str = Field(default="", description="The statement's own identifier, e.g. REQ-12.")
    negated: bool = Field(default=False, description="It forbids: shall not, must not.")
    uri: str = Field(description="Resource that holds the passage.")


class RequirementsResponse(Response):
    """Answer of `knowledge_requirements`."""

    results: list[RequirementResult]
    topic: str
    standard_filter: str | None
    total: int = Field(description="Number of results returned.")
    also_asked: list[str] = Field(default=[], description=ALSO_ASKED)
    message: str = ""
    suggestions: list[str] = Field(default=[])
    documents: list[str] = Field(default=[], description="Ids of the documents that the standard was matched with.")
    degraded: list[str] = Field(default=[])
    truncated: Truncation = _CUT


class KnowledgeBase(Response):
    """Totals."""

    total_chunks: int
    total_documents: int
    total_tokens: int
    storage_bytes: int


class DocumentSummary(Response):
    """One document."""

    document_id: str
    document_title: str
    document_type: str
    chunk_count: int
    ingested_at: str = Field(description="ISO 8601, last ingest.")
    pages: int = 0
    status: str = Field(default="ready", description="partial where text is known to be lost.")


class VectorStore(Response):
    """What holds the passages."""

    backend: str
    status: Literal["healthy", "degraded", "unavailable"]
    hybrid_enabled: bool


class Embedding(Response):
    """What turns text into vectors."""

    model: str
    dimensions: int
    provider: str = ""
    variant: str = ""


class StatsResponse(Response):
    """Answer of `knowledge_stats`."""

    knowledge_base: KnowledgeBase
    documents: list[DocumentSummary]
    vector_store: VectorStore
    embedding: Embedding
    notes: list[str] = Field(default=[])
    truncated: Truncation = _CUT


class CheckResult(Response):
    """One dependency."""

    status: Literal["up", "down"]
    latency_ms: int
    message: str


class HealthChecks(Response):
    """Every dependency."""

    vector_store: CheckResult
    embedding_service: CheckResult


class HealthResponse(Response):
    """Answer of `knowledge_health`."""

    status: Literal["healthy", "degraded", "unhealthy"]
    checks: HealthChecks
    timestamp: str = Field(description="ISO 8601.")
