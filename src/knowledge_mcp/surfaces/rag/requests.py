"""Arguments of the library's tools: the specified ones by their names, and what is added."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from knowledge_mcp.model.chunk import ChunkType
from knowledge_mcp.model.library import COLLECTION_NAME, DEFAULT_COLLECTION, Deposit
from knowledge_mcp.model.query import And, Equals, Filter, In, Prefix, SearchMode, SearchQuery
from knowledge_mcp.surfaces.arguments import WHOLE, Text, as_text, one_or_list
from knowledge_mcp.surfaces.contract import Request

__all__ = ["DocumentRequest", "IngestUrlRequest", "JobRequest", "NoArguments", "SearchRequest"]


Collection = Annotated[
    str,
    Field(
        pattern=f"^{COLLECTION_NAME}$",
        description="Name of the collection; list_collections tells which there are.",
    ),
]
DocumentId = Annotated[Text, Field(min_length=1, max_length=200)]
DocumentIds = Annotated[
    list[DocumentId],
    one_or_list("ids"),
    Field(min_length=1, max_length=50, description="Only the documents of these ids; one id may stand alone."),
]
Value = Annotated[str, Field(max_length=2000)] | bool | int | float


class SearchRequest(Request):
    """Arguments of `search`."""

    query: Annotated[Text, Field(min_length=1, max_length=2000)] = Field(
        description="What to find, as a question or in a few words."
    )
    collection: Collection = DEFAULT_COLLECTION
    top_k: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(default=5, description="Most results to return.")
    mode: Literal["hybrid", "semantic", "keyword"] = Field(
        default="hybrid", description="By meaning and words, by meaning only, or by words only."
    )
    min_score: Annotated[float, Field(ge=0.0, le=1.0, strict=False)] = Field(
        default=0.0, description="Leave out results below this score."
    )
    doc_id: DocumentIds | None = None
    document_type: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only documents of this type."
    )
    chunk_type: Annotated[ChunkType | None, Field(strict=False)] = Field(
        default=None, description="Only passages of this kind, e.g. table or definition."
    )
    normative_only: bool = Field(default=False, description="Only passages that hold mandatory statements.")
    clause_number: Annotated[Text, Field(min_length=1, max_length=100)] | None = Field(
        default=None, description="Only this numbered section and what lies below it: 5.3 finds 5.3.1, not 5.30."
    )

    def filters(self) -> dict[str, Any]:
        """List the filters that were given, as they were given."""
        given: dict[str, Any] = {}
        if self.doc_id is not None:
            given["doc_id"] = list(self.doc_id)
        if self.document_type is not None:
            given["document_type"] = self.document_type
        if self.chunk_type is not None:
            given["chunk_type"] = self.chunk_type.value
        if self.normative_only:
            given["normative_only"] = True
        if self.clause_number is not None:
            given["clause_number"] = self.clause_number
        return given

    def subject(self) -> str:
        """Return the query."""
        return self.query

    def search(self) -> SearchQuery:
        """Build the engine's question."""
        return SearchQuery(self.query, self.top_k, SearchMode(self.mode), filter=self._filter())

    def _filter(self) -> Filter | None:
        parts: list[Filter] = []
        if self.doc_id is not None:
            ids = tuple(self.doc_id)
            parts.append(Equals("document_id", ids[0]) if len(ids) == 1 else In("document_id", ids))
        if self.document_type is not None:
            parts.append(Equals("document_type", self.document_type))
        if self.chunk_type is not None:
            parts.append(Equals("chunk_type", self.chunk_type.value))
        if self.normative_only:
            parts.append(Equals("normative", value=True))
        if self.clause_number is not None:
            parts.append(Prefix("clause_number", self.clause_number))
        return parts[0] if len(parts) == 1 else And(tuple(parts)) if parts else None


class IngestUrlRequest(Request):
    """Arguments of `ingest_url`."""

    uri: Annotated[Text, Field(min_length=1, max_length=4096)] = Field(
        description="https address of a page or a file, e.g. https://example.com/doc.pdf."
    )
    collection: Collection = DEFAULT_COLLECTION
    metadata: Annotated[dict[Annotated[Text, Field(max_length=100)], Value], Field(max_length=50)] | None = Field(
        default=None, description="Facts to keep with the document: names and plain values; title names it."
    )
    force: bool = Field(default=False, description="Read and embed again even where nothing changed.")
    wait: bool = Field(
        default=True, description="false answers at once with a job_id; ask ingest_url_status what became of it."
    )

    def subject(self) -> str:
        """Return the address."""
        return self.uri

    def deposit(self) -> Deposit:
        """Return what is asked of the library."""
        metadata = tuple((name, as_text(value)) for name, value in (self.metadata or {}).items())
        return Deposit(self.collection, url=self.uri.strip(), metadata=metadata, force=self.force)


class JobRequest(Request):
    """Arguments of `ingest_url_status` and `cancel_ingest_url`."""

    job_id: Annotated[Text, Field(min_length=1, max_length=64)] = Field(
        description="As ingest_url gave it with wait=false."
    )

    def subject(self) -> str:
        """Return the id."""
        return self.job_id


class NoArguments(Request):
    """Arguments of `list_collections`: none."""


class DocumentRequest(Request):
    """Arguments of `get_document`."""

    doc_id: DocumentId = Field(description="Document id, as search and ingest_url give it.")
    offset: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = Field(
        default=0, description="Leave out so many chunks; next_offset tells where to go on."
    )
    limit: Annotated[int, Field(ge=1, le=1000), WHOLE] | None = Field(
        default=None, description="Most chunks to return; without it, as many as an answer can hold."
    )
    include_text: bool = Field(
        default=False, description="Also return the running text of these chunks, every passage once and in order."
    )

    def subject(self) -> str:
        """Return the id."""
        return self.doc_id
