"""Answers of the evidence tools: words with a citation for people and a locator for programs."""

from __future__ import annotations

from pydantic import Field

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.model.evidence import QuoteVerdict
from knowledge_mcp.surfaces.contract import Response
from knowledge_mcp.surfaces.shortening import Truncation

__all__ = [
    "DifferenceResult",
    "Locator",
    "OutlineResponse",
    "OutlineSection",
    "PageResult",
    "QuotePlaceResult",
    "ReadPassage",
    "ReadResponse",
    "ReferencePlace",
    "ReferenceResult",
    "ReferencesResponse",
    "VerifyQuoteResponse",
]

_CUT = Truncation(omitted=0, note="")
_CITATION = "Ready to paste: title, edition, clause, page."


class Locator(Response):
    """Where words stand, so that a program finds them again."""

    document_id: str
    span: list[int] = Field(description="Start and end, in characters of the document's text.")
    content_hash: str = Field(description="SHA-256 of the text at the span.")
    page_numbers: list[int] = Field(default=[], description="Physical pages, from 1.")
    page_labels: list[str] = Field(default=[], description="Printed page labels, where they differ.")
    boxes: list[list[int]] = Field(
        default=[], description="[page, left, top, right, bottom] in points from the page's upper left corner."
    )
    lines: list[int] = Field(default=[], description="First and last line of the source file.")


class ReadPassage(Response):
    """Some of the text, word for word."""

    text: str
    citation: str = Field(description=_CITATION)
    locator: Locator


class ReadResponse(Response):
    """Answer of `knowledge_read`."""

    document_id: str
    document_title: str
    passages: list[ReadPassage] = Field(description="In reading order; parents first where they were asked for.")
    tokens: int = Field(description="Tokens of all texts together.")
    span: list[int] = Field(description="Start and end of what was asked for, in characters of the document's text.")
    next_cursor: int = Field(default=0, description="There is more: ask again with this cursor.")
    truncated: Truncation = _CUT


class OutlineSection(Response):
    """One heading."""

    number: str = ""
    title: str
    level: int = Field(description="Depth from 1.")
    page: int = Field(default=0, description="Physical page of the heading, from 1.")
    page_label: str = Field(default="", description="Its printed label, where it differs.")
    start: int = Field(description="Character at which it begins; as cursor of knowledge_read it reads on from there.")
    informative: bool = Field(default=False, description="Marked as informative, not normative.")
    below: int = Field(default=0, description="Headings below it that are not listed; ask for its clause.")


class PageResult(Response):
    """What was got from one page."""

    page: int = Field(description="Physical page, from 1.")
    label: str = Field(default="", description="Printed label, where it differs.")
    method: str = Field(description="text_layer, ocr, blank, or none where nothing could be read.")
    characters: int = Field(description="Characters of its text, blanks not counted.")
    tables: int = 0
    figures: int = 0
    note: str = Field(default="", description="Why it is empty or partial.")


class OutlineResponse(Response):
    """Answer of `knowledge_outline`."""

    document_id: str
    document_title: str
    document_type: str
    status: str = Field(description="partial where text is known to be lost.")
    pages: int = Field(default=0, description="Physical pages, where the format has any.")
    sections: list[OutlineSection] = Field(default=[])
    coverage: list[PageResult] = Field(default=[])
    hidden: dict[str, int] = Field(
        default={},
        description="With coverage: characters left out since no reader sees them, by reason.",
    )
    total: int = Field(description="Entries that fit the question, in all answers together.")
    next_cursor: int = Field(default=0, description="There is more: ask again with this cursor.")
    message: str = ""
    warnings: list[str] = Field(default=[], description="What was lost when the document was read.")
    truncated: Truncation = _CUT


class ReferencePlace(Response):
    """Where a reference stands, or leads to."""

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
        description="Where it leads, if that is in the knowledge base.",
    )
    reason: str = Field(default="", description="Why there is no destination.")


class ReferencesResponse(Response):
    """Answer of `knowledge_references`."""

    outgoing: list[ReferenceResult] = Field(description="What the place refers to.")
    incoming: list[ReferenceResult] = Field(description="What refers to the place.")
    more: int = Field(default=0, description="References left out; raise limit, or ask for a smaller place.")
    message: str = ""
    degraded: list[str] = Field(default=[], description="What was not looked through, and why.")
    truncated: Truncation = _CUT


class DifferenceResult(Response):
    """One place where the quote departs from the print; either may be empty."""

    quoted: str
    printed: str


class QuotePlaceResult(Response):
    """Where the quote, or a part of it, stands."""

    quoted: str = Field(default="", description="The part of the quote, where it is not all of it.")
    text: str = Field(description="The printed words.")
    citation: str = Field(description=_CITATION)
    locator: Locator
    similarity: float = Field(default=1.0, ge=0.0, le=1.0)
    differences: list[DifferenceResult] = Field(default=[])


class VerifyQuoteResponse(Response):
    """Answer of `knowledge_verify_quote`."""

    verdict: QuoteVerdict
    message: str
    places: list[QuotePlaceResult]
    searched_documents: int
    degraded: list[str] = Field(default=[], description="What failed on the way, and why.")
    truncated: Truncation = _CUT
