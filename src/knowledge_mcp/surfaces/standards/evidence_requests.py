"""Arguments of the evidence tools, beyond the specification: read, outline, references, verify a quote."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.evidence import QuoteQuery, ReadQuery, ReferenceQuery
from knowledge_mcp.surfaces.arguments import WHOLE, Text
from knowledge_mcp.surfaces.contract import Request

__all__ = ["OutlineRequest", "PlaceRequest", "ReadRequest", "ReferencesRequest", "VerifyQuoteRequest"]

Name = Annotated[Text, Field(min_length=1, max_length=500)]
Clause = Annotated[Text, Field(min_length=1, max_length=200)]
Page = Annotated[int, Field(ge=1, le=1_000_000), WHOLE]
Cursor = Annotated[int, Field(ge=0, le=1_000_000_000), WHOLE]


class PlaceRequest(Request):
    """A place in a document: a clause, or a passage that a search found."""

    document_id: Name | None = Field(default=None, description="The document; not needed with chunk_id.")
    clause: Clause | None = Field(
        default=None, description="A clause with all below it, by number or title, e.g. 5.3, Annex B or Wind load."
    )
    chunk_id: Name | None = Field(default=None, description="A passage: the id of a search result.")

    def filters(self) -> dict[str, Any]:
        """Name the document, where one was given."""
        return {} if self.document_id is None else {"document_id": self.document_id}

    def subject(self) -> str:
        """Return what in it is asked for."""
        return self.clause or self.chunk_id or self.document_id or ""


class ReadRequest(PlaceRequest):
    """Arguments of `knowledge_read`."""

    first_page: Page | None = Field(default=None, description="A page, counted from 1, instead of clause or chunk_id.")
    last_page: Page | None = Field(default=None, description="Read on to this page.")
    before: Annotated[int, Field(ge=0, le=20), WHOLE] = Field(default=0, description="Passages before chunk_id.")
    after: Annotated[int, Field(ge=0, le=20), WHOLE] = Field(default=0, description="Passages after chunk_id.")
    parents: bool = Field(default=False, description="First read what opens the sections around the place.")
    max_tokens: Annotated[int, Field(ge=50, le=20_000), WHOLE] = Field(
        default=2_000, description="Most tokens of text in one answer."
    )
    cursor: Cursor | None = Field(default=None, description="next_cursor of the answer before; repeat the rest.")

    def query(self, max_tokens: int) -> ReadQuery:
        """Build the engine's query.

        Raises:
            InvalidInputError: a last page without a first one.
        """
        if self.last_page is not None and self.first_page is None:
            raise InvalidInputError("last_page needs first_page.", suggestion="Give both, or first_page alone.")
        pages = None if self.first_page is None else (self.first_page, self.last_page or self.first_page)
        return ReadQuery(
            self.document_id,
            self.clause,
            pages,
            self.chunk_id,
            self.before,
            self.after,
            self.parents,
            max_tokens,
            self.cursor,
        )


class OutlineRequest(Request):
    """Arguments of `knowledge_outline`."""

    document_id: Name = Field(description="The document.")
    clause: Clause | None = Field(default=None, description="Only this clause and what lies below it.")
    depth: Annotated[int, Field(ge=1, le=20), WHOLE] = Field(default=3, description="Levels of headings to list.")
    coverage: bool = Field(
        default=False, description="List the pages instead: how each was read, what is on it, what is missing."
    )
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = Field(default=100, description="Most entries in one answer.")
    cursor: Cursor | None = Field(default=None, description="next_cursor of the answer before; repeat the rest.")

    def filters(self) -> dict[str, Any]:
        """Name the document."""
        return {"document_id": self.document_id}

    def subject(self) -> str:
        """Return the clause, else the document."""
        return self.clause or self.document_id


class ReferencesRequest(PlaceRequest):
    """Arguments of `knowledge_references`."""

    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(default=20, description="Most references each way.")

    def query(self) -> ReferenceQuery:
        """Build the engine's query."""
        return ReferenceQuery(self.document_id, self.clause, self.chunk_id, self.limit)


class VerifyQuoteRequest(Request):
    """Arguments of `knowledge_verify_quote`."""

    quote: Annotated[Text, Field(min_length=1, max_length=10_000)] = Field(
        description="The words as quoted; ... or [...] marks what was left out."
    )
    document_id: Name | None = Field(default=None, description="Where it is said to stand; left out, all are searched.")

    def filters(self) -> dict[str, Any]:
        """Name the document, where one was given."""
        return {} if self.document_id is None else {"document_id": self.document_id}

    def subject(self) -> str:
        """Return the quote."""
        return self.quote

    def query(self) -> QuoteQuery:
        """Build the engine's query."""
        return QuoteQuery(self.quote, self.document_id)
