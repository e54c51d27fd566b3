"""Arguments of the six tools (A §3.1), each with its constraint and its default."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.document import DocumentType
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix
from knowledge_mcp.surfaces.arguments import WHOLE, Text, one_or_list
from knowledge_mcp.surfaces.contract import Request

__all__ = [
    "KeywordSearchRequest",
    "LookupRequest",
    "NoArguments",
    "PagedRequest",
    "RequirementsRequest",
    "ScopedRequest",
    "SearchRequest",
]


DocumentIds = Annotated[
    list[Annotated[Text, Field(min_length=1, max_length=500)]],
    one_or_list("ids"),
    Field(min_length=1, max_length=50, description="Only the documents of these ids; one id may stand alone."),
]


class ScopedRequest(Request):
    """What may narrow a search (A-REQ-SEARCH-003)."""

    document_type: Annotated[DocumentType | None, Field(strict=False)] = Field(
        default=None, description="Only documents of this kind."
    )
    chunk_type: Annotated[ChunkType | None, Field(strict=False)] = Field(
        default=None, description="Only passages of this kind, e.g. requirement or definition."
    )
    normative_only: bool = Field(default=False, description="Only passages that hold mandatory statements.")
    document_id: DocumentIds | None = None
    clause_number: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only this clause and what lies below it: 5.3 finds 5.3 and 5.3.1, not 5.30."
    )
    clause_exact: bool = Field(default=False, description="With clause_number: that clause only, nothing below it.")

    def filters(self) -> dict[str, Any]:
        """List the filters that were given, as they were given."""
        given: dict[str, Any] = {}
        if self.document_type is not None:
            given["document_type"] = self.document_type.value
        if self.chunk_type is not None:
            given["chunk_type"] = self.chunk_type.value
        if self.normative_only:
            given["normative_only"] = True
        if self.document_id is not None:
            given["document_id"] = list(self.document_id)
        if self.clause_number is not None:
            given["clause_number"] = self.clause_number
            if self.clause_exact:
                given["clause_exact"] = True
        return given

    def filter(self) -> Filter | None:
        """Build the engine's filter; None where nothing narrows the search."""
        parts: list[Filter] = []
        if self.document_type is not None:
            parts.append(Equals("document_type", self.document_type.value))
        if self.chunk_type is not None:
            parts.append(Equals("chunk_type", self.chunk_type.value))
        if self.normative_only:
            parts.append(Equals("normative", True))
        if self.document_id is not None:
            ids = self.document_id
            parts.append(Equals("document_id", ids[0]) if len(ids) == 1 else In("document_id", tuple(ids)))
        if self.clause_number is not None:
            number = self.clause_number.strip().rstrip(".")
            parts.append(Equals("clause_number", number) if self.clause_exact else Prefix("clause_number", number))
        if len(parts) > 1:
            return And(tuple(parts))
        return parts[0] if parts else None


class PagedRequest(ScopedRequest):
    """What bounds the answer of a search, beyond the specification."""

    max_tokens: Annotated[int, Field(ge=50, le=20_000), WHOLE] | None = Field(
        default=None, description="Most tokens of passages, about; those that do not fit come as snippets."
    )
    max_per_document: Annotated[int, Field(ge=1, le=100), WHOLE] | None = Field(
        default=None, description="Most results of one document."
    )
    cursor: Annotated[int, Field(ge=0, le=1_000), WHOLE] = Field(
        default=0, description="next_cursor of the answer before."
    )


class SearchRequest(PagedRequest):
    """Arguments of `knowledge_search` (A-REQ-TOOL-001)."""

    query: Annotated[Text, Field(min_length=1, max_length=2000)] = Field(
        description="What to find, as a question or in a few words."
    )
    n_results: Annotated[int, Field(ge=1, le=100), WHOLE] = Field(default=10, description="Most results to return.")
    use_hybrid: bool = Field(
        default=True, description="Rank by meaning and by words together; false ranks by meaning alone."
    )
    hybrid_weight: Annotated[float, Field(ge=0.0, le=1.0)] = Field(
        default=0.7, description="Share of meaning in hybrid ranking: 1 is meaning alone, 0 words alone."
    )

    def subject(self) -> str:
        """Return the query."""
        return self.query


class KeywordSearchRequest(PagedRequest):
    """Arguments of `knowledge_keyword_search` (A-REQ-TOOL-004)."""

    query: Annotated[Text, Field(min_length=1, max_length=500)] = Field(
        description="Exact words, names or identifiers, e.g. REQ-12 or 5.3.1."
    )
    n_results: Annotated[int, Field(ge=1, le=100), WHOLE] = Field(default=10, description="Most results to return.")

    def subject(self) -> str:
        """Return the query."""
        return self.query


class LookupRequest(Request):
    """Arguments of `knowledge_lookup` (A-REQ-TOOL-002)."""

    term: Annotated[Text, Field(min_length=1, max_length=200)] = Field(
        description="The term, abbreviation or concept to define."
    )

    def subject(self) -> str:
        """Return the term."""
        return self.term


class RequirementsRequest(Request):
    """Arguments of `knowledge_requirements` (A-REQ-TOOL-003)."""

    topic: Annotated[Text, Field(min_length=1, max_length=1000)] = Field(description="What the requirements are about.")
    standard: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only documents whose id or title contains this, e.g. 29148."
    )
    n_results: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(default=10, description="Most results to return.")

    def filters(self) -> dict[str, Any]:
        """List the standard, where one was given."""
        return {} if self.standard is None else {"standard": self.standard}

    def subject(self) -> str:
        """Return the topic."""
        return self.topic


class NoArguments(Request):
    """Arguments of `knowledge_stats` and `knowledge_health`: none (A-REQ-TOOL-005, A-REQ-TOOL-006)."""
