"""Reads from a hit on: a clause, pages, a passage with its neighbours, or a document, word for word and in parts."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.documents import StoredDocument, document_of, read_document
from knowledge_mcp.engine.evidence.outline import excerpt_at, find_section
from knowledge_mcp.language.sentences import cut_within
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.errors import InvalidInputError, NotFoundError
from knowledge_mcp.model.evidence import Excerpt, ReadAnswer, ReadQuery
from knowledge_mcp.ports import TokenMeasure

_LEAST, _MOST = 50, 20_000
"""Range of `ReadQuery.max_tokens`."""
_NEIGHBOURS = 20
_PASSAGE = 1_000
"""Minimum characters before a passage is split at the next section, so that each citation is near its text."""


@dataclass(frozen=True, slots=True)
class _RequestedText:
    """What was asked for.

    Attributes:
        parts: its spans in order; several if text of other pages is between the requested pages.
        chunks: the passages that overlap it; the parents of the first are the requested parents.
    """

    parts: tuple[Span, ...]
    chunks: tuple[Chunk, ...]

    @property
    def span(self) -> Span:
        """The whole range, from the first part to the last."""
        return Span(self.parts[0].start, self.parts[-1].end)


def read(base: Base, query: ReadQuery) -> ReadAnswer:
    """Read the text of a place, as much as the budget allows; `next_cursor` continues where it ended.

    Raises:
        NotFoundError: no such document, clause, page or passage; names similar ones.
        InvalidInputError: the query contradicts itself, or a clause's name is ambiguous.
    """
    _check(query)
    document_id = document_of(base, query.document_id, query.chunk_id)
    return read_place(read_document(base, document_id), query, base.embedder)


def read_place(document: StoredDocument, query: ReadQuery, measure: TokenMeasure) -> ReadAnswer:
    """Read a place of a given document; errors as `read`."""
    _check(query)
    place = _place(document, query)
    whole = place.span
    start = whole.start if query.cursor is None else query.cursor
    if not whole.start <= start <= whole.end or (start == whole.end and len(whole)):
        raise InvalidInputError(
            f"The cursor {start} is outside of the requested text, {whole.start} to {whole.end}.",
            suggestion="Use the `next_cursor` of the previous answer, with the same arguments.",
        )
    parents: list[Excerpt] = []
    left = query.max_tokens
    if query.parents and query.cursor is None:
        parents = _parents(document, place, left // 2, measure)
        left -= sum(measure.count_tokens(each.text) for each in parents)
    passages: list[Excerpt] = []
    further: Span | None = None
    for part in place.parts:
        rest = Span(max(start, part.start), max(start, part.end)).trimmed(document.text)
        if not rest:
            continue
        if left < 1 and passages:
            further = rest
            break
        end = cut_within(document.text, rest, left, measure)
        passages += [excerpt_at(document, span) for span in _split(document, Span(rest.start, end))]
        if further := Span(end, part.end).trimmed(document.text) or None:
            break
        left -= measure.count_tokens(rest.of(document.text))
    return ReadAnswer(
        document_id=document.record.id,
        document_title=document.record.title,
        passages=(*parents, *passages),
        tokens=sum(measure.count_tokens(each.text) for each in (*parents, *passages)),
        whole=whole,
        next_cursor=further.start if further is not None else None,
    )


def no_place() -> InvalidInputError:
    """Build the error for a question that names neither a document nor a passage."""
    return InvalidInputError(
        "Give a document's id, or a passage's id.",
        suggestion="knowledge_stats lists the ids of documents; a search shows those of passages.",
    )


def _check(query: ReadQuery) -> None:
    wrong: list[str] = []
    if sum(each is not None for each in (query.clause, query.pages, query.chunk_id)) > 1:
        wrong.append("Ask for a clause, for pages or for a passage, not for several at once.")
    if query.document_id is None and query.chunk_id is None:
        raise no_place()
    if not _LEAST <= query.max_tokens <= _MOST:
        wrong.append(f"max_tokens must be from {_LEAST} to {_MOST:,}.")
    if not (0 <= query.before <= _NEIGHBOURS and 0 <= query.after <= _NEIGHBOURS):
        wrong.append(f"Up to {_NEIGHBOURS} neighbours can be read on each side.")
    if (query.before or query.after) and query.chunk_id is None:
        wrong.append("Neighbours can only be read with a passage's id.")
    if query.pages is not None and not 1 <= query.pages[0] <= query.pages[1]:
        wrong.append("Page numbers start at 1, and the first page must not be after the last one.")
    if query.clause is not None and not query.clause.strip(" .:\n\t"):
        wrong.append("The clause is empty.")
    if wrong:
        raise InvalidInputError(wrong[0], details=" ".join(wrong), suggestion="Correct the arguments, then try again.")


# ---- the place


def _place(document: StoredDocument, query: ReadQuery) -> _RequestedText:
    if query.chunk_id is not None:
        return _around(document, query.chunk_id, query.before, query.after)
    if query.clause is not None:
        parts = (find_section(document, query.clause).span,)
    elif query.pages is not None:
        parts = _of_pages(document, *query.pages)
    else:
        parts = (Span(0, len(document.text)),)
    return _RequestedText(parts, tuple(chunk for chunk in document.chunks if any(map(chunk.span.overlaps, parts))))


def _around(document: StoredDocument, chunk_id: str, before: int, after: int) -> _RequestedText:
    index = next((index for index, chunk in enumerate(document.chunks) if chunk.id == chunk_id), None)
    if index is None:
        raise NotFoundError(
            f"No passage of '{document.record.id}' has the id '{chunk_id}'.",
            suggestion="Search again: ids change when a passage's text changes.",
        )
    chunks = document.chunks[max(index - before, 0) : index + after + 1]
    span = Span(min(chunk.span.start for chunk in chunks), max(chunk.span.end for chunk in chunks))
    return _RequestedText((span,), chunks)


def _of_pages(document: StoredDocument, first: int, last: int) -> tuple[Span, ...]:
    """List the spans of the text of some pages, in order; spans separated only by blanks are joined.

    Raises:
        NotFoundError: the document has no such page, or no text was read from them; says why.
        InvalidInputError: it has no pages at all.
    """
    name, known = document.record.id, document.structure.pages
    count = max((page.number for page in known), default=document.record.pages)
    if count == 0:
        raise InvalidInputError(f"'{name}' has no pages.", suggestion="Read it by clause, by passage, or as a whole.")
    if last > count:
        raise NotFoundError(f"'{name}' has no page {last}.", suggestion=f"Its pages are 1 to {count}.")
    requested = [page for page in known if first <= page.number <= last]
    spans = [run for page in requested for run in page.own_runs if len(run)]
    if not known:
        spans = [chunk.span for chunk in document.chunks if any(first <= page <= last for page in chunk.page_numbers)]
    if not spans:
        pages = f"page {first}" if first == last else f"pages {first} to {last}"
        why = " ".join(dict.fromkeys(page.note for page in requested if page.note))
        raise NotFoundError(f"Nothing was read from {pages} of '{name}'. {why}".strip(), suggestion="Read other pages.")
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and not document.text[joined[-1].end : span.start].strip():
            joined[-1] = Span(joined[-1].start, max(joined[-1].end, span.end))
        else:
            joined.append(span)
    return tuple(joined)


# ---- the passages


def _parents(document: StoredDocument, place: _RequestedText, limit: int, measure: TokenMeasure) -> list[Excerpt]:
    """Read the passages that open the sections around a place, outermost first; nearest ones only if space is short."""
    by_id = {chunk.id: chunk for chunk in document.chunks}
    excerpts: list[Excerpt] = []
    chunk = place.chunks[0] if place.chunks else None
    seen: set[str] = set()
    while chunk is not None and chunk.parent_chunk_id is not None and chunk.parent_chunk_id not in seen:
        seen.add(chunk.parent_chunk_id)
        chunk = by_id.get(chunk.parent_chunk_id)
        if chunk is None or chunk.span.overlaps(place.span):
            continue
        span = chunk.span.trimmed(document.text)
        if limit < 1 or not span:
            break
        span = Span(span.start, cut_within(document.text, span, limit, measure)).trimmed(document.text)
        excerpts.append(excerpt_at(document, span))
        limit -= measure.count_tokens(span.of(document.text))
    return excerpts[::-1]


def _split(document: StoredDocument, span: Span) -> Iterable[Span]:
    """Split where sections start, if the passage is long enough; blanks at the boundaries are left out."""
    starts = sorted({entry.span.start for entry in document.structure.sections})
    inside: Sequence[int] = starts[bisect_left(starts, span.start + 1) : bisect_left(starts, span.end)]
    begin = span.start
    for start in inside:
        if start - begin >= _PASSAGE:
            yield Span(begin, start).trimmed(document.text)
            begin = start
    rest = Span(begin, span.end).trimmed(document.text)
    if rest:
        yield rest
