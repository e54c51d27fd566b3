"""Queries for evidence and their answers: what a place says, whether a quote is true, what refers to what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.model.document import Box, ReferenceKind, Span


@dataclass(frozen=True, slots=True)
class Locator:
    """The location of evidence, for programs.

    Attributes:
        document_id: the document.
        span: its location in the canonical text.
        content_hash: SHA-256 hex of the text at the span.
        page_numbers: physical pages from 1; page_labels: the printed ones, same length, empty for a page
            without one.
        boxes: where it is on the pages, for PDF; a box may cover more than the span, never less.
        lines: first and last source line from 1, None if the format has none.
    """

    document_id: str
    span: Span
    content_hash: str
    page_numbers: tuple[int, ...] = ()
    page_labels: tuple[str, ...] = ()
    boxes: tuple[Box, ...] = ()
    lines: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A verbatim text of one document: `text` is exactly the locator's span."""

    text: str
    locator: Locator
    citation: str


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """Ask for the text of a place: a clause, a range of pages, a chunk, or the whole document.

    Give exactly one of `clause`, `pages` and `chunk_id`, or none for the whole document. `document_id` is optional only
    with `chunk_id`.

    Attributes:
        document_id: the document.
        clause: number ("5.3", "Annex B") or title of a section; its subsections are included.
        pages: first and last physical page from 1.
        chunk_id: a passage found by a search.
        before, after: neighbouring chunks to read with `chunk_id`, 0 to 20 each.
        parents: also read the first passages of the enclosing sections.
        max_tokens: maximum tokens of text in one answer, 50 to 20,000.
        cursor: `ReadAnswer.next_cursor` of the previous answer, None to begin.
    """

    document_id: str | None = None
    clause: str | None = None
    pages: tuple[int, int] | None = None
    chunk_id: str | None = None
    before: int = 0
    after: int = 0
    parents: bool = False
    max_tokens: int = 2_000
    cursor: int | None = None


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """The text of a place, or as much of it as the token budget allows.

    Attributes:
        document_id, document_title: whose text it is.
        passages: in reading order; the parents first, if they were asked for.
        tokens: total of all texts, counted by the collection's tokenizer.
        whole: the span that was asked for.
        next_cursor: where to continue, None if everything was given.
    """

    document_id: str
    document_title: str
    passages: tuple[Excerpt, ...]
    tokens: int
    whole: Span
    next_cursor: int | None = None


class QuoteVerdict(StrEnum):
    """The result of comparing a quote with the documents, best first.

    `exact`: word for word. `normalised`: the same except for whitespace, hyphenation at line ends, quotation marks,
    dashes, ligatures and case. `stitched`: each part exists, but not in one place or not in this order. `altered`: a
    passage is nearly the same; the differences are listed. `elsewhere`: not in the named document, but exact or
    normalised in another. `not_found`: nothing like it.
    """

    EXACT = "exact"
    NORMALISED = "normalised"
    STITCHED = "stitched"
    ALTERED = "altered"
    ELSEWHERE = "elsewhere"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where a quote differs from the text: the quoted and the printed words; either may be empty."""

    quoted: str
    printed: str


@dataclass(frozen=True, slots=True)
class QuoteQuery:
    """Ask whether a quote is true.

    Attributes:
        quote: 1 to 10,000 characters; "..." or "[...]" inside marks an omission.
        document_id: the document that should contain it, None for any.
    """

    quote: str
    document_id: str | None = None


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """Where a quote, or one part of it, was found.

    Attributes:
        quoted: the part of the quote.
        passage: the printed words.
        similarity: 0 to 1; 1 if nothing differs except what `normalised` allows.
        differences: in order; empty for exact and normalised.
    """

    quoted: str
    passage: Excerpt
    similarity: float = 1.0
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class UncertainPage:
    """A page to look at: it may contain a quote, and its layout or letters were not read with confidence.

    Attributes:
        document_id: its document.
        page: physical page from 1; label: the printed one.
        reason: why it is uncertain, as its coverage says.
    """

    document_id: str
    page: int
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class QuoteAnswer:
    """The answer to a quote check.

    Attributes:
        verdict: what was found.
        places: one for exact, normalised, altered and elsewhere (followed by further equal ones), one per part for
            stitched, the nearest for not_found if there is one.
        searched_documents: number of documents that were compared.
        degraded: what failed and why; if it is not empty, the verdict is never `not_found`.
        uncertain: pages to look at before calling a quote wrong that was not found or is altered; mostly empty.
    """

    verdict: QuoteVerdict
    places: tuple[QuotePlace, ...]
    searched_documents: int
    degraded: tuple[str, ...] = ()
    uncertain: tuple[UncertainPage, ...] = ()


@dataclass(frozen=True, slots=True)
class ReferenceQuery:
    """Ask what a place refers to and what refers to it: a chunk, a clause of a document, or a whole document."""

    document_id: str | None = None
    clause: str | None = None
    chunk_id: str | None = None
    limit: int = 50


@dataclass(frozen=True, slots=True)
class ReferenceLink:
    """One cross-reference.

    Attributes:
        text: as printed.
        kind, target: its target, in normal form.
        source: the passage that contains it.
        destination: the passage at the start of the target, None if it is not in the knowledge base.
        reason: why there is no destination, otherwise empty.
    """

    text: str
    kind: ReferenceKind
    target: str
    source: Excerpt
    destination: Excerpt | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """References from a place and to it, in reading order; `more` counts those left out by the limit."""

    outgoing: tuple[ReferenceLink, ...]
    incoming: tuple[ReferenceLink, ...]
    more: int = 0
    degraded: tuple[str, ...] = ()
