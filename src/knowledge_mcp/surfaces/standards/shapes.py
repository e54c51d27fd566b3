"""Arguments of the six tools (A §3.1), each with its constraint and its default."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.model.query import MOST_OFFSET, Filter, SearchMode
from knowledge_mcp.surfaces.answers import ABOUT, ALSO_ASKED, CUT_FROM, NOT_CUT, Answerability, Truncation
from knowledge_mcp.surfaces.arguments import UNSAID, WHOLE, Question, Text, as_text, combine_filters, one_or_list
from knowledge_mcp.surfaces.contract import Response
from knowledge_mcp.surfaces.standards.evidence_shapes import EvidenceLocator, StandardsRequest

DocumentIds = Annotated[
    list[Annotated[Text, Field(min_length=1, max_length=500), UNSAID]],
    one_or_list("ids"),
    Field(min_length=1, max_length=50),
    UNSAID,
    Field(description="Only these documents, by id, file name or title."),
]


EditionArgument = Annotated[Text | None, Field(description='"2018", "all" or "as of 2020-05"; default: current.')]
"""Bounded by the engine, which knows the editions that there are: each schema is paid for by every assistant."""
OTHER_EDITIONS = "Documents in the results that have other editions; pass edition to search those."


def _as_texts(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    pairs = cast("dict[Any, Any]", value)
    return {name: as_text(one) if isinstance(one, int | float) else one for name, one in pairs.items()}


Metadata = Annotated[
    dict[str, Text],
    Field(max_length=20),
    UNSAID,
    Field(description='E.g. {"author": "x", "date": "2020..2023"}.'),
    BeforeValidator(_as_texts),
]


class ScopedRequest(StandardsRequest):
    """What may narrow a search (A-REQ-SEARCH-003)."""

    FILTERS = frozenset(
        {
            "document_type",
            "chunk_type",
            "normative_only",
            "document_id",
            "clause_number",
            "clause_exact",
            "edition",
            "metadata",
            "tags",
        }
    )

    document_type: Annotated[DocumentType | None, Field(strict=False)] = Field(
        default=None, description="Only documents of this kind."
    )
    chunk_type: Annotated[ChunkType | None, Field(strict=False)] = Field(
        default=None, description="Only passages of this kind."
    )
    normative_only: bool = Field(default=False, description="Only mandatory statements.")
    document_id: DocumentIds | None = None
    clause_number: Annotated[Text, Field(min_length=1, max_length=100), UNSAID] | None = Field(
        default=None, description="This clause and those below."
    )
    clause_exact: bool = Field(default=False, description="Only that clause itself.")
    edition: EditionArgument = None
    metadata: Metadata | None = None
    tags: Annotated[list[Text], one_or_list("tags"), Field(max_length=20), UNSAID] | None = Field(
        default=None, description="All of these tags."
    )

    def where(self) -> tuple[tuple[str, str], ...]:
        """List what the documents' metadata must say."""
        return (*(self.metadata or {}).items(), *(("tags", tag) for tag in self.tags or ()))

    def filters(self) -> dict[str, Any]:
        """List the filters that were given; an exact clause only with a clause."""
        filters = super().filters()
        if self.clause_number is None:
            filters.pop("clause_exact", None)
        return filters

    def filter(self) -> Filter | None:
        """Build the engine's filter; None where nothing narrows the search."""
        return combine_filters(
            document_ids=self.document_id,
            document_type=self.document_type,
            chunk_type=self.chunk_type,
            normative=self.normative_only or None,
            clause_number=self.clause_number,
            clause_exact=self.clause_exact,
        )


Detail = Literal["text", "brief", "full"]
"""How much is said of each result."""


SearchCursor = Annotated[
    int, Field(ge=0, le=MOST_OFFSET, description="next_cursor of the previous answer."), UNSAID, WHOLE
]


class PagedRequest(ScopedRequest):
    """What bounds the answer of a search, beyond the specification."""

    max_tokens: Annotated[int, Field(ge=50, le=20_000), UNSAID, WHOLE] | None = Field(
        default=None, description="Limit of the answer."
    )
    max_per_document: Annotated[int, Field(ge=1, le=100), UNSAID, WHOLE] | None = Field(
        default=None, description="Maximum per document."
    )
    cursor: SearchCursor = 0
    collections: Annotated[list[Text], one_or_list("names"), Field(min_length=1, max_length=50), UNSAID] | None = Field(
        default=None, description='Search these; ["*"]: all.'
    )
    detail: Detail = Field(default="brief", description="text: content, citation; full: ranks.")


class StandardsSearchRequest(PagedRequest):
    """Arguments of `knowledge_search` (A-REQ-TOOL-001)."""

    SUBJECT = "query"

    query: Question
    n_results: Annotated[int, Field(ge=1, le=100), WHOLE] = Field(default=10, description="Maximum number of results.")
    use_hybrid: bool = Field(default=True, description="false: by meaning alone.")
    hybrid_weight: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.7, description="Weight of meaning in ranks; unset: blended."
    )


class KeywordSearchRequest(PagedRequest):
    """Arguments of `knowledge_keyword_search` (A-REQ-TOOL-004)."""

    SUBJECT = "query"
    ELSEWHERE = frozenset(PagedRequest.model_fields)

    query: Annotated[Text, Field(min_length=1, max_length=500)] = Field(description="E.g. REQ-12.")
    n_results: Annotated[int, Field(ge=1, le=100), WHOLE] = Field(default=10, description="Maximum number of results.")


class LookupRequest(StandardsRequest):
    """Arguments of `knowledge_lookup` (A-REQ-TOOL-002)."""

    SUBJECT = "term"
    ELSEWHERE = frozenset({"edition"})

    term: Annotated[Text, Field(min_length=1, max_length=200)] = Field(description="The term.")
    edition: EditionArgument = None


class RequirementsRequest(StandardsRequest):
    """Arguments of `knowledge_requirements` (A-REQ-TOOL-003)."""

    SUBJECT = "topic"
    ELSEWHERE = frozenset({"edition", "cursor"})
    FILTERS = frozenset({"standard", "edition"})

    topic: Annotated[Text, Field(min_length=1, max_length=1000)] = Field(description="Subject or identifier.")
    standard: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Part of id or title, e.g. 29148."
    )
    n_results: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(default=10, description="Maximum number of results.")
    edition: EditionArgument = None
    cursor: SearchCursor = 0


class NoArguments(StandardsRequest):
    """Arguments of `knowledge_stats` and `knowledge_health`: none (A-REQ-TOOL-005, A-REQ-TOOL-006)."""


class FilterValues(Response):
    """Filters that were applied, as they were given."""

    document_type: str = ""
    chunk_type: str = ""
    normative_only: bool = False
    document_id: list[str] = Field(default=[])
    clause_number: str = ""
    clause_exact: bool = False
    edition: str = ""
    metadata: dict[str, str] = Field(default={})
    tags: list[str] = Field(default=[])


class LegRank(Response):
    """A result's place in one of the two rankings that were fused."""

    rank: int = Field(description="From 1.")
    score: float = Field(description="Raw: cosine, or BM25.")


class BriefSource(Response):
    """Location of a statement."""

    document_id: str
    document_title: str
    citation: str = Field(description="Ready to paste: title, edition, clause, page.")
    page_numbers: list[int] = Field(default=[])
    clause_number: str = ""


class PassageSource(Response):
    """Location of a passage."""

    document_id: str
    document_title: str
    document_type: str
    source_path: str
    page_numbers: list[int]
    section: str
    citation: str = Field(description="Ready to paste: title, edition, clause, page.")
    clause_number: str = ""
    page_labels: list[str] = Field(
        default=[], description="Printed page labels, if they differ from page_numbers; '' if a page has none."
    )
    lines: list[int] = Field(default=[], description="First and last line of the source file.")


class StandardsMetadata(Response):
    """What a passage is."""

    chunk_type: ChunkType
    normative: bool
    section_hierarchy: list[str]
    references: list[str]


_NOWHERE = EvidenceLocator(document_id="", span=[], content_hash="")
"""One for all results: a default that holds a list would be copied for each."""


class StandardsSearchResult(Response):
    """One passage found."""

    id: str
    content: str = Field(description="The passage word for word, or a part of it if snippet is true.")
    score: float = Field(ge=0.0, le=1.0)
    source: PassageSource = Field(description="With detail=text only the citation.")
    metadata: StandardsMetadata = Field(description="Absent with detail=text.")
    locator: EvidenceLocator = Field(
        default_factory=lambda: _NOWHERE, description="Exact location, for programs; with detail=full."
    )
    uri: str = Field(default="", description="Resource with the passage; with detail=full.")
    dense: LegRank = Field(
        default=LegRank(rank=0, score=0.0), description="Rank by meaning, if found by meaning; with detail=full."
    )
    lexical: LegRank = Field(
        default=LegRank(rank=0, score=0.0), description="Rank by words, if found by words; with detail=full."
    )
    snippet: bool = Field(default=False, description="True if the passage was cut to fit max_tokens.")
    cut_from: str = Field(default="", description=CUT_FROM)
    also_in: list[str] = Field(default=[], description="Citations of passages that say the same.")
    also_in_more: int = Field(default=0, description="Number of others that are not listed.")
    collection: str = Field(default="", description="Present if several were searched.")


class StandardsSearchResponse(Response):
    """Answer of `knowledge_search` and `knowledge_keyword_search`."""

    results: list[StandardsSearchResult]
    total: int = Field(description="Number of results returned.")
    query: str
    search_type: SearchMode
    answerability: Answerability = Field(default="uncertain", description=ABOUT)
    also_asked: list[str] = Field(default=[], description=ALSO_ASKED)
    editions: list[str] = Field(default=[], description=OTHER_EDITIONS)
    message: str = ""
    suggestions: list[str] = Field(default=[])
    filters_applied: FilterValues = FilterValues()
    degraded: list[str] = Field(default=[], description="What failed, and why; results may be incomplete.")
    next_cursor: int = Field(default=0, description="Cursor for the next results; absent at the end.")
    truncated: Truncation = NOT_CUT


class DefinitionResult(Response):
    """One definition."""

    definition: str
    source: BriefSource
    term: str = Field(description="The term as printed.")
    aliases: list[str] = Field(default=[])
    domain: str = ""
    notes: list[str] = Field(default=[], description="Notes and examples of the entry.")
    origin: str = Field(default="", description="Source named in the entry itself.")
    uri: str = Field(description="Resource with the passage.")


class LookupResponse(Response):
    """Answer of `knowledge_lookup`."""

    term: str
    found: bool
    definitions: list[DefinitionResult] = Field(default=[])
    message: str = ""
    similar_terms: list[str] = Field(default=[])
    editions: list[str] = Field(default=[], description=OTHER_EDITIONS)
    suggestions: list[str] = Field(default=[])
    degraded: list[str] = Field(default=[])
    truncated: Truncation = NOT_CUT


class RequirementResult(Response):
    """One mandatory statement."""

    requirement_text: str
    requirement_id: str = Field(description="Clause number, or the statement's own identifier if it has no clause.")
    source: BriefSource
    normative: bool
    score: float = Field(ge=0.0, le=1.0)
    identifier: str = Field(default="", description="The statement's own identifier, e.g. REQ-12.")
    negated: bool = Field(default=False, description="A prohibition: shall not, must not.")
    weak: bool = Field(default=False, description="No word such as shall; an item below a requirements heading.")
    uri: str = Field(description="Resource with the passage.")
    also_in: list[str] = Field(default=[], description="Citations of statements that say the same.")
    also_in_more: int = Field(default=0, description="Number of others that are not listed.")


class RequirementsResponse(Response):
    """Answer of `knowledge_requirements`."""

    results: list[RequirementResult]
    topic: str
    standard_filter: str | None
    total: int = Field(description="Number of results returned.")
    next_cursor: int = 0
    answerability: Answerability = Field(default="uncertain", description=ABOUT)
    also_asked: list[str] = Field(default=[], description=ALSO_ASKED)
    message: str = ""
    suggestions: list[str] = Field(default=[])
    documents: list[str] = Field(default=[], description="Ids of the documents that `standard` matched.")
    editions: list[str] = Field(default=[], description=OTHER_EDITIONS)
    degraded: list[str] = Field(default=[])
    truncated: Truncation = NOT_CUT


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
    status: str = Field(default="ready", description="partial if text is known to be missing.")
    edition: str = Field(default="", description="Edition, if known.")
    superseded: bool = Field(default=False, description="Another edition is searched instead.")


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


class SyncedPlace(Response):
    """One registered source of documents."""

    name: str
    kind: str
    documents: int
    skipped: int = Field(default=0, description="Number of files that could not be ingested.")
    last_synced: str = Field(default="", description="ISO 8601.")
    stale: bool = Field(description="The documents may differ from the source.")
    last_error: str = ""


class StatsResponse(Response):
    """Answer of `knowledge_stats`."""

    knowledge_base: KnowledgeBase
    documents: list[DocumentSummary]
    vector_store: VectorStore
    embedding: Embedding
    sources: list[SyncedPlace] = Field(default=[])
    collections: list[str] = Field(default=[], description="Present if there are several to search.")
    notes: list[str] = Field(default=[])
    truncated: Truncation = NOT_CUT


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
