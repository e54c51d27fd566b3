"""Questions for evidence and their answers: what a place says, whether a quote is true, what refers to what."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.model.document import Box, ReferenceKind, Span


@dataclass(frozen=True, slots=True)
class Locator:
    """Name a place so that a program finds it again.

    Attributes:
        document_id: the document.
        span: in its canonical text.
        content_hash: SHA-256 hex of the text at the span.
        page_numbers: physical pages from 1; page_labels: the printed ones, same length.
        boxes: where on the pages, for PDF; a box may hold more than the span, never less.
        lines: first and last source line from 1, None where the format has none.
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
    """Hold some text of one document, word for word: `text` is exactly the locator's span."""

    text: str
    locator: Locator
    citation: str


@dataclass(frozen=True, slots=True)
class ReadQuery:
    """Ask for the text of a place: a clause, a range of pages, a chunk, or the whole document.

    Exactly one of `clause`, `pages` and `chunk_id` is given, or none for the whole document; `document_id` may be left
    out with `chunk_id` only.

    Attributes:
        document_id: the document.
        clause: number ("5.3", "Annex B") or title of a section; all below it is read too.
        pages: first and last physical page from 1.
        chunk_id: a passage found by a search.
        before, after: neighbouring chunks read with `chunk_id`, 0..20 each.
        parents: read the opening passages of the sections around the place too.
        max_tokens: most tokens of text in one answer, 50..20,000.
        cursor: `ReadAnswer.next_cursor` of the answer before, None to begin.
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
    """Give the text of a place, or as much of it as the budget holds.

    Attributes:
        document_id, document_title: whose text it is.
        passages: in reading order; the parents' first where they were asked for.
        tokens: of all texts together, as counted by the collection's tokenizer.
        whole: the span that was asked for.
        next_cursor: where to go on, None when all was given.
    """

    document_id: str
    document_title: str
    passages: tuple[Excerpt, ...]
    tokens: int
    whole: Span
    next_cursor: int | None = None


class QuoteVerdict(StrEnum):
    """What a comparison of a quote with the documents found, best first.

    `exact`: word for word. `normalised`: the same but for blanks, hyphenation at line ends, quotation marks, dashes,
    ligatures and case. `stitched`: each part is there, but not in one place or not in this order. `altered`: a passage
    is nearly the same; the differences are listed. `elsewhere`: not in the document named, but exact or normalised in
    another. `not_found`: nothing like it.
    """

    EXACT = "exact"
    NORMALISED = "normalised"
    STITCHED = "stitched"
    ALTERED = "altered"
    ELSEWHERE = "elsewhere"
    NOT_FOUND = "not_found"


@dataclass(frozen=True, slots=True)
class Difference:
    """Tell one place where a quote departs from the text: what was quoted, and what is printed; either may be empty."""

    quoted: str
    printed: str


@dataclass(frozen=True, slots=True)
class QuoteQuery:
    """Ask whether a quote is true.

    Attributes:
        quote: 1..10,000 characters; "..." or "[...]" inside marks what was left out.
        document_id: where it is said to stand, None for anywhere.
    """

    quote: str
    document_id: str | None = None


@dataclass(frozen=True, slots=True)
class QuotePlace:
    """Tell where a quote, or one part of it, stands.

    Attributes:
        quoted: the part of the quote.
        passage: the printed words.
        similarity: 0..1; 1 where nothing but what `normalised` allows differs.
        differences: in order; empty for exact and normalised.
    """

    quoted: str
    passage: Excerpt
    similarity: float = 1.0
    differences: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True)
class UncertainPage:
    """Name a page to look at: it may hold a quote, and its layout or its letters were not read with confidence.

    Attributes:
        document_id: of its document.
        page: physical page from 1; label: the printed one.
        reason: why it is uncertain, as its coverage says.
    """

    document_id: str
    page: int
    label: str
    reason: str


@dataclass(frozen=True, slots=True)
class QuoteAnswer:
    """Answer a quote.

    Attributes:
        verdict: what was found.
        places: one for exact, normalised, altered and elsewhere (further equal ones after it), one per part for
            stitched, the nearest for not_found where there is one.
        searched_documents: documents that were compared.
        degraded: what failed on the way and why; a verdict of `not_found` is never given where it is not empty.
        uncertain: pages to look at before a quote that is not found, or altered, is called wrong; mostly empty.
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
    """Describe one cross-reference.

    Attributes:
        text: as printed.
        kind, target: what it points to, in normal form.
        source: the passage that holds it.
        destination: the passage that opens the target, None where it is not in the knowledge base.
        reason: why there is no destination, else empty.
    """

    text: str
    kind: ReferenceKind
    target: str
    source: Excerpt
    destination: Excerpt | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ReferenceAnswer:
    """List references from a place and to it, in reading order; `more` counts those left out by the limit."""

    outgoing: tuple[ReferenceLink, ...]
    incoming: tuple[ReferenceLink, ...]
    more: int = 0
    degraded: tuple[str, ...] = ()
