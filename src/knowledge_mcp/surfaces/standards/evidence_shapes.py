"""Arguments of the evidence tools, beyond the specification: read, outline, references, verify a quote."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.evidence import QuoteQuery, QuoteVerdict, ReadQuery, ReferenceQuery
from knowledge_mcp.surfaces.answers import NOT_CUT, Truncation
from knowledge_mcp.surfaces.arguments import UNSAID, WHOLE, Text
from knowledge_mcp.surfaces.contract import Request, Response

Name = Annotated[Text, Field(min_length=1, max_length=500), UNSAID]
Clause = Annotated[Text, Field(min_length=1, max_length=200), UNSAID]
Page = Annotated[int, Field(ge=1, le=1_000_000), UNSAID, WHOLE]
Cursor = Annotated[int, Field(ge=0, le=1_000_000_000), UNSAID, WHOLE]


class StandardsRequest(Request):
    """Base of the arguments of these tools."""

    PLAIN = frozenset(
        {
            "chunk_type", "clause_exact", "cursor", "depth", "document_id", "document_type", "kind", "last_page",
            "limit", "max_per_document", "n_results", "normative_only", "tags", "term", "verdict",
        }
    )  # fmt: skip


class PlaceRequest(StandardsRequest):
    """A place in a document: a clause, or a passage that a search found."""

    FILTERS = frozenset({"document_id"})

    document_id: Name | None = Field(default=None, description="Document; not with chunk_id.")
    clause: Clause | None = Field(default=None, description="Number or title: 5.3, Annex B.")
    chunk_id: Name | None = Field(default=None, description="A search result's id, alone.")

    def subject(self) -> str:
        """Return the requested part of it."""
        return self.clause or self.chunk_id or self.document_id or ""


class ReadRequest(PlaceRequest):
    """Arguments of `knowledge_read`."""

    PLAIN = StandardsRequest.PLAIN | {"after", "max_tokens"}

    first_page: Page | None = Field(default=None, description="Counted from 1.")
    last_page: Page | None = Field(default=None, description="To here.")
    before: Annotated[int, Field(ge=0, le=20), WHOLE] = Field(default=0, description="Passages before chunk_id.")
    after: Annotated[int, Field(ge=0, le=20), WHOLE] = Field(default=0, description="Passages after chunk_id.")
    parents: bool = Field(default=False, description="Add section introductions.")
    picture: bool = Field(default=False, description="Add the marked page image.")
    max_tokens: Annotated[int, Field(ge=50, le=20_000), WHOLE] = Field(default=2_000, description="Limit of the text.")
    cursor: Cursor | None = Field(default=None, description="next_cursor of the previous answer.")

    def query(self, max_tokens: int) -> ReadQuery:
        """Build the engine's query.

        Raises:
            InvalidInputError: a last page without a first one.
        """
        if self.last_page is not None and self.first_page is None:
            raise InvalidInputError("last_page needs first_page.", suggestion="Pass both, or first_page alone.")
        pages = None if self.first_page is None else (self.first_page, self.last_page or self.first_page)
        place = (self.document_id, self.clause, pages, self.chunk_id)
        return ReadQuery(*place, self.before, self.after, self.parents, max_tokens, self.cursor)


class OutlineRequest(StandardsRequest):
    """Arguments of `knowledge_outline`."""

    FILTERS = frozenset({"document_id"})

    document_id: Name = Field(description="The document.")
    clause: Clause | None = Field(default=None, description="This clause and those below.")
    depth: Annotated[int, Field(ge=1, le=20), WHOLE] = Field(default=3, description="Levels of headings.")
    coverage: bool = Field(default=False, description="Pages instead.")
    limit: Annotated[int, Field(ge=1, le=200), WHOLE] = Field(default=100, description="Most entries.")
    cursor: Cursor | None = Field(default=None, description="next_cursor of the previous answer.")

    def subject(self) -> str:
        """Return the clause, else the document."""
        return self.clause or self.document_id


class ReferencesRequest(PlaceRequest):
    """Arguments of `knowledge_references`."""

    ELSEWHERE = frozenset(PlaceRequest.model_fields)

    limit: Annotated[int, Field(ge=1, le=50), WHOLE] = Field(default=20, description="Maximum per direction.")

    def query(self) -> ReferenceQuery:
        """Build the engine's query."""
        return ReferenceQuery(self.document_id, self.clause, self.chunk_id, self.limit)


class VerifyQuoteRequest(StandardsRequest):
    """Arguments of `knowledge_verify_quote`."""

    SUBJECT = "quote"
    FILTERS = frozenset({"document_id"})

    quote: Annotated[Text, Field(min_length=1, max_length=10_000)] = Field(
        description="As quoted; ... or [...] for omissions."
    )
    document_id: Name | None = Field(default=None, description="Document quoted.")

    def query(self) -> QuoteQuery:
        """Build the engine's query."""
        return QuoteQuery(self.quote, self.document_id)


_CITATION = "Ready to paste: title, edition, clause, page."


class EvidenceLocator(Response):
    """Location of words, so that a program can find them again."""

    document_id: str
    span: list[int] = Field(description="Start and end, in characters of the document's text.")
    content_hash: str = Field(description="SHA-256 of the text at the span.")
    page_numbers: list[int] = Field(default=[], description="Physical pages, from 1.")
    page_labels: list[str] = Field(
        default=[], description="Printed page labels, where they differ; '' if a page has none."
    )
    boxes: list[list[int]] = Field(
        default=[], description="[page, left, top, right, bottom] in points from the page's upper left corner."
    )
    lines: list[int] = Field(default=[], description="First and last line of the source file.")


class ReadPassage(Response):
    """Some of the text, word for word."""

    text: str
    citation: str = Field(description=_CITATION)
    locator: EvidenceLocator


class ReadResponse(Response):
    """Answer of `knowledge_read`."""

    document_id: str
    document_title: str
    passages: list[ReadPassage] = Field(description="In reading order; parents first if requested.")
    tokens: int = Field(description="Tokens of all texts together.")
    span: list[int] = Field(description="Start and end of the requested part, in characters of the document's text.")
    next_cursor: int = Field(default=0, description="There is more: call again with this cursor.")
    truncated: Truncation = NOT_CUT


class OutlineSection(Response):
    """One heading."""

    number: str = ""
    title: str
    words: str = Field(default="", description="First words of a clause that has no title.")
    level: int = Field(description="Depth from 1.")
    page: int = Field(default=0, description="Physical page of the heading, from 1.")
    page_label: str = Field(default="", description="Its printed label, where it differs.")
    line: int = Field(default=0, description="Line of the heading in the file, from 1.")
    start: int = Field(
        description="Character at which it begins; pass it as cursor to knowledge_read to read from there."
    )
    informative: bool = Field(default=False, description="Marked as informative, not normative.")
    below: int = Field(default=0, description="Number of headings below it that are not listed; request its clause.")


class PageResult(Response):
    """What was got from one page."""

    page: int = Field(description="Physical page, from 1.")
    label: str = Field(default="", description="Printed label, where it differs.")
    method: str = Field(description="text_layer, ocr, blank, or none if nothing could be read.")
    characters: int = Field(description="Characters of its text, not counting spaces.")
    tables: int = 0
    figures: int = 0
    note: str = Field(default="", description="Why it is empty or partial.")


class OutlineResponse(Response):
    """Answer of `knowledge_outline`."""

    document_id: str
    document_title: str
    document_type: str
    status: str = Field(description="partial if text is known to be missing.")
    pages: int = Field(default=0, description="Physical pages, if the format has pages.")
    sections: list[OutlineSection] = Field(default=[])
    coverage: list[PageResult] = Field(default=[])
    hidden: dict[str, int] = Field(
        default={},
        description="With coverage: characters omitted because they are invisible to readers, by reason.",
    )
    total: int = Field(description="Number of matching entries in all answers together.")
    next_cursor: int = Field(default=0, description="There is more: call again with this cursor.")
    message: str = ""
    warnings: list[str] = Field(default=[], description="What was lost when the document was read.")
    truncated: Truncation = NOT_CUT


class ReferencePlace(Response):
    """Location or target of a reference."""

    document_id: str
    citation: str = Field(description=_CITATION)
    text: str = Field(description="The sentence, or the opening words, as printed.")
    span: list[int] = Field(description="Start and end, in characters of the document's text.")
    page_numbers: list[int] = Field(default=[])


class ReferenceResult(Response):
    """One cross-reference."""

    text: str = Field(description="As printed.")
    kind: ReferenceKind
    target: str
    source: ReferencePlace
    destination: ReferencePlace = Field(
        default=ReferencePlace(document_id="", citation="", text="", span=[]),
        description="Target of the reference, if it is in the knowledge base.",
    )
    reason: str = Field(default="", description="Why there is no target.")


class ReferencesResponse(Response):
    """Answer of `knowledge_references`."""

    outgoing: list[ReferenceResult] = Field(description="What the place refers to.")
    incoming: list[ReferenceResult] = Field(description="What refers to the place.")
    more: int = Field(default=0, description="Number of references omitted; raise limit, or request a smaller part.")
    message: str = ""
    degraded: list[str] = Field(default=[], description="What was not searched, and why.")
    truncated: Truncation = NOT_CUT


class DifferenceResult(Response):
    """One place where the quote departs from the print; either may be empty."""

    quoted: str
    printed: str


class QuotePlaceResult(Response):
    """Location of the quote, or of a part of it."""

    quoted: str = Field(default="", description="Part of the quote, if not the whole quote.")
    text: str = Field(description="The printed words.")
    citation: str = Field(description=_CITATION)
    locator: EvidenceLocator
    similarity: float = Field(default=1.0, ge=0.0, le=1.0)
    differences: list[DifferenceResult] = Field(default=[])


class UncertainPageResult(Response):
    """A page to look at before the quote is called wrong."""

    document_id: str
    page: int = Field(description="Physical page, from 1.")
    label: str = Field(default="", description="Printed label, where it differs.")
    reason: str


class VerifyQuoteResponse(Response):
    """Answer of `knowledge_verify_quote`."""

    verdict: QuoteVerdict
    message: str
    places: list[QuotePlaceResult]
    searched_documents: int
    uncertain: list[UncertainPageResult] = Field(
        default=[], description="Pages that contain its words but were not read reliably: check them first."
    )
    degraded: list[str] = Field(default=[], description="What failed, and why.")
    truncated: Truncation = NOT_CUT
