"""The evidence tools, beyond the specification: read on, see the outline, follow references, verify a quote."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest

from knowledge_mcp.engine.core.citing import printed_labels
from knowledge_mcp.engine.evidence.outline import opening_words
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import DocumentRecord, DocumentStructure, OutlineEntry, PageCoverage
from knowledge_mcp.model.document import Box
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.evidence import (
    Excerpt,
    Locator,
    QuotePlace,
    QuoteVerdict,
    ReadAnswer,
    ReadQuery,
    ReferenceLink,
    UncertainPage,
)
from knowledge_mcp.ports import Knowledge, MarkedPages
from knowledge_mcp.surfaces.answers import MAX_ANSWER_CHARACTERS, size_of
from knowledge_mcp.surfaces.contract import Tool, page_of
from knowledge_mcp.surfaces.standards import evidence_shapes as shapes

_LONGEST = 200
"""Characters of a title or a note that are shown."""
_WARNINGS = 20


def outline(knowledge: Knowledge, request: shapes.OutlineRequest) -> shapes.OutlineResponse:
    """Answer `knowledge_outline`."""
    record = knowledge.document(request.document_id)
    structure = knowledge.document_structure(record.id)
    scope = _scope(knowledge, structure, request)
    warnings = [warning[:_LONGEST] for warning in record.warnings[:_WARNINGS]]
    taken = size_of(warnings)
    if request.coverage:
        name, pages = "coverage", _pages(structure, scope)
        total, message = len(pages), "" if pages else _no_pages(record)
        parts, next_cursor = page_of(pages, _page, cursor=request.cursor or 0, limit=request.limit, taken=taken)
    else:
        name, entries = "sections", _to_depth(scope, request.depth)
        labels = {page.number: page.label for page in structure.pages}
        text = knowledge.document_text(record.id) if any(not each.title for each, _ in entries) else ""
        total = len(entries)
        message = "" if entries else "No headings were found in this document: read it by pages, or as a whole."
        parts, next_cursor = page_of(
            entries,
            lambda each: _section(*each, labels, text),
            cursor=request.cursor or 0,
            limit=request.limit,
            taken=taken,
        )
    return shapes.OutlineResponse.of(
        record,
        document_id=record.id,
        document_title=record.title,
        hidden=dict(structure.hidden) if request.coverage else None,
        total=total,
        next_cursor=next_cursor,
        message=message,
        warnings=warnings,
        **{name: parts},
        keep=[name],
    )


def _scope(
    knowledge: Knowledge, structure: DocumentStructure, request: shapes.OutlineRequest
) -> Sequence[OutlineEntry]:
    """Take all sections, or those of one clause."""
    if request.clause is None:
        return structure.sections
    # The engine knows what a clause's name means, and what to say where there is none.
    whole = knowledge.read(ReadQuery(request.document_id, request.clause, max_tokens=50)).whole
    return [entry for entry in structure.sections if whole.contains(entry.span)]


def _to_depth(entries: Sequence[OutlineEntry], depth: int) -> list[tuple[OutlineEntry, int]]:
    """Keep so many levels from the top; each entry with the number of those below it that are left out."""
    top = min((entry.level for entry in entries), default=1)
    selected: list[tuple[OutlineEntry, int]] = []
    for entry in entries:
        if entry.level < top + depth:
            selected.append((entry, 0))
        elif selected:
            selected[-1] = (selected[-1][0], selected[-1][1] + 1)
    return selected


def _pages(structure: DocumentStructure, scope: Sequence[OutlineEntry]) -> list[PageCoverage]:
    if not scope or scope is structure.sections:
        return list(structure.pages)
    span = scope[0].span
    inside = [page.number for page in structure.pages if page.holds(span)]
    if not inside:
        return []
    return [page for page in structure.pages if inside[0] <= page.number <= inside[-1]]


def _section(entry: OutlineEntry, below: int, labels: Mapping[int, str], text: str) -> shapes.OutlineSection:
    return shapes.OutlineSection.of(
        entry,
        title=" ".join(entry.title.split())[:_LONGEST],
        words=opening_words(entry, text),
        page_label=_printed(labels.get(entry.page, "") if entry.page else "", entry.page),
        start=entry.span.start,
        below=below,
    )


def _page(page: PageCoverage) -> shapes.PageResult:
    return shapes.PageResult.of(
        page, page=page.number, label=_printed(page.label, page.number), note=page.note[:_LONGEST]
    )


def _printed(label: str, number: int | None) -> str:
    """Return a page's printed label where it differs from its number."""
    return label[:_LONGEST] if label != str(number) else ""


def _no_pages(record: DocumentRecord) -> str:
    if not record.pages:
        return "This document's format has no pages."
    return "The coverage of each page is unknown: the document was ingested before it was recorded. Ingest it again."


def locator(place: Locator | Chunk) -> shapes.EvidenceLocator:
    """Return the location of words; empty fields are omitted."""
    span = [place.span.start, place.span.end]
    return shapes.EvidenceLocator.of(
        place, span=span, page_labels=printed_labels(place), boxes=merged_boxes(place.boxes)
    )


def merged_boxes(boxes: Iterable[Box]) -> list[list[int]]:
    """Join boxes of one column of a page, and round outwards: `[page, left, top, right, bottom]`, in reading order.

    Boxes share a column where the narrower one lies beside the other by more than half of its width.
    """
    columns: list[Box] = []
    for box in boxes:
        last = columns[-1] if columns else None
        if last is not None and last.page == box.page and _one_column(last, box):
            columns[-1] = last.joined(box)
        else:
            columns.append(box)
    rounded = ([each.page, *_outwards(each)] for each in columns)
    return [list(each) for each in dict.fromkeys(tuple(each) for each in rounded)]


def _one_column(first: Box, second: Box) -> bool:
    shared = min(first.right, second.right) - max(first.left, second.left)
    return shared > 0.5 * min(first.right - first.left, second.right - second.left)


def _outwards(box: Box) -> tuple[int, int, int, int]:
    return math.floor(box.left), math.floor(box.top), math.ceil(box.right), math.ceil(box.bottom)


_ROOM = MAX_ANSWER_CHARACTERS - 1_000
_LEAST_TOKENS = 50
"""Tokens below which an answer is not cut further: a sentence or two is always read."""

_VERDICTS = {
    QuoteVerdict.EXACT: "The quote matches word for word.",
    QuoteVerdict.NORMALISED: "The words are correct; only spaces, hyphenation, quotation marks, dashes or case differ.",
    QuoteVerdict.STITCHED: "Each part is printed, but not in one place or not in this order: quote the parts "
    "separately.",
    QuoteVerdict.ALTERED: "This is not what is printed: quote the printed text instead.",
    QuoteVerdict.ELSEWHERE: "The named document does not contain this, but another one does: correct the citation.",
    QuoteVerdict.NOT_FOUND: "The documents contain nothing like it: do not present it as a quote.",
}


def read(knowledge: Knowledge, request: shapes.ReadRequest) -> shapes.ReadResponse:
    """Answer `knowledge_read`; where the text would make too long an answer, less of it is read."""
    tokens = request.max_tokens
    while True:
        response = _read_response(knowledge.read(request.query(tokens)))
        size = size_of(response.sent())
        if size <= _ROOM or tokens <= _LEAST_TOKENS:
            return response
        tokens = max(_LEAST_TOKENS, tokens * _ROOM * 9 // (size * 10))


def drawn(knowledge: object, request: shapes.ReadRequest, answer: shapes.ReadResponse) -> bytes | None:
    """Draw the first page of the text that was read, with its part on that page marked, if requested."""
    if not request.picture or not answer.passages:
        return None
    if not isinstance(knowledge, MarkedPages):
        raise InvalidInputError(
            "Pages cannot be drawn here: the documents are stored elsewhere.", suggestion="Call again without picture."
        )
    places = [each.locator for each in answer.passages]
    boxes = [Box(*map(int, box)) for place in places for box in place.boxes]
    pages = [box.page for box in boxes] or [page for place in places for page in place.page_numbers]
    if not pages:
        raise InvalidInputError("This document has no pages.", suggestion="Call again without picture.")
    return knowledge.marked_page(answer.document_id, pages[0], boxes, "\n".join(each.text for each in answer.passages))


def references(knowledge: Knowledge, request: shapes.ReferencesRequest) -> shapes.ReferencesResponse:
    """Answer `knowledge_references`; where there are too many for one answer, the last of both lists go."""
    answer = knowledge.references(request.query())
    outgoing = [_reference(link) for link in answer.outgoing]
    incoming = [_reference(link) for link in answer.incoming]
    sent_outgoing, sent_incoming = _share_room(outgoing, incoming)
    left_out = len(outgoing) + len(incoming) - len(sent_outgoing) - len(sent_incoming)
    found = bool(outgoing or incoming)
    return shapes.ReferencesResponse.of(
        answer,
        outgoing=sent_outgoing,
        incoming=sent_incoming,
        more=answer.more + left_out,
        message="" if found else "No cross-references were found from this place or to it.",
    )


def verify_quote(knowledge: Knowledge, request: shapes.VerifyQuoteRequest) -> shapes.VerifyQuoteResponse:
    """Answer `knowledge_verify_quote`."""
    answer = knowledge.verify_quote(request.query())
    message = _VERDICTS[answer.verdict]
    if answer.verdict is QuoteVerdict.NOT_FOUND and answer.places:
        message = f"{message} The closest passage is shown."
    if answer.uncertain:
        message = _in_doubt(answer.verdict, answer.uncertain[0])
    return shapes.VerifyQuoteResponse.of(
        answer,
        message=message,
        places=[_quote_place(place, request.quote) for place in answer.places],
        uncertain=[
            shapes.UncertainPageResult.of(each, label=_printed(each.label, each.page), reason=each.reason[:_LONGEST])
            for each in answer.uncertain
        ],
    )


def _in_doubt(verdict: QuoteVerdict, page: UncertainPage) -> str:
    """Say that a quote is not found, altered or elsewhere, as the page was read, and which page to look at."""
    finding = {
        QuoteVerdict.NOT_FOUND: "Not found in the text that was read",
        QuoteVerdict.ELSEWHERE: "In the text that was read, another document contains this and the named one does not",
    }.get(verdict, "Not printed like this in the text that was read")
    return (
        f"{finding}; page {page.label} of {page.document_id} contains its words, but {page.reason}. Check that page "
        "before you call the quote wrong."
    )


def _read_response(answer: ReadAnswer) -> shapes.ReadResponse:
    passages = [shapes.ReadPassage.of(each, locator=locator(each.locator)) for each in answer.passages]
    return shapes.ReadResponse.of(answer, passages=passages, span=[answer.whole.start, answer.whole.end])


def _share_room(
    outgoing: Sequence[shapes.ReferenceResult], incoming: Sequence[shapes.ReferenceResult]
) -> tuple[list[shapes.ReferenceResult], list[shapes.ReferenceResult]]:
    """Keep as many from the beginning of both lists as one answer holds, turn by turn."""
    selected: tuple[list[shapes.ReferenceResult], list[shapes.ReferenceResult]] = ([], [])
    room = _ROOM
    for pair in zip_longest(outgoing, incoming):
        for side, each in enumerate(pair):
            if each is not None and room >= 0:
                room -= size_of(each.sent()) + 1
                if room >= 0:
                    selected[side].append(each)
    return selected


def _reference(link: ReferenceLink) -> shapes.ReferenceResult:
    destination = None if link.destination is None else _reference_place(link.destination)
    return shapes.ReferenceResult.of(link, source=_reference_place(link.source), destination=destination)


def _reference_place(passage: Excerpt) -> shapes.ReferencePlace:
    place = passage.locator
    span = [place.span.start, place.span.end]
    return shapes.ReferencePlace.of(place, citation=passage.citation, text=passage.text, span=span)


def _quote_place(place: QuotePlace, quote: str) -> shapes.QuotePlaceResult:
    return shapes.QuotePlaceResult.of(
        place.passage,
        quoted=place.quoted if place.quoted.strip() != quote.strip() else "",
        locator=locator(place.passage.locator),
        similarity=round(place.similarity, 4),
        differences=[shapes.DifferenceResult.of(each) for each in place.differences],
    )


EVIDENCE_TOOLS = (
    Tool(
        "knowledge_read",
        "Read a place",
        "Read word for word: a clause with its subclauses, pages, or a search result with its context.",
        read,
        items="passages",
        draw=drawn,
        view=True,
    ),
    Tool(
        "knowledge_outline",
        "Show a document's outline",
        "List headings with clause numbers and pages; or, with coverage, what was read from each page.",
        outline,
        items="sections",
    ),
    Tool(
        "knowledge_references",
        "Follow cross-references",
        "List what a clause, passage or document refers to, with targets, and what refers to it.",
        references,
        items="outgoing",
    ),
    Tool(
        "knowledge_verify_quote",
        "Verify a quote",
        "Check a quote before you use it: exact, normalised (except spaces, marks, case), altered, stitched (from "
        "several places), elsewhere (another document), not_found.",
        verify_quote,
        items="places",
    ),
)
"""The evidence tools, in the order in which they are listed."""
