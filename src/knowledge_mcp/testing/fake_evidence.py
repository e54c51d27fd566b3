"""Evidence from what FakeKnowledge holds: the engine's own reading and references, and a plain comparison of quotes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.engine.held import HeldDocument
from knowledge_mcp.engine.placing import placed
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import QuoteAnswer, QuotePlace, QuoteQuery, QuoteVerdict
from knowledge_mcp.model.structure import DocumentStructure, OutlineEntry, PageCoverage

__all__ = ["WordMeasure", "compare_quote", "structure_of_fake"]

_WORD = re.compile(r"\S+")


class WordMeasure:
    """Count words as tokens (`ports.TokenMeasure`)."""

    @property
    def max_tokens(self) -> int:
        """Read texts of any length."""
        return 1_000_000

    def count_tokens(self, text: str) -> int:
        """Count words."""
        return len(text.split())

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List where words stand."""
        return [match.span() for match in _WORD.finditer(text)]


def structure_of_fake(text: str, chunks: Sequence[Chunk]) -> DocumentStructure:
    """Describe each chunk as a section whose heading is the line before it, and the pages that chunks stand on."""
    starts = [_heading(text, chunk) for chunk in chunks]
    ends = [_end(index, chunks, starts, text) for index in range(len(chunks))]
    sections = tuple(
        OutlineEntry(
            level=(chunk.clause_number or "").count(".") + 1,
            number=chunk.clause_number,
            title=chunk.section_title,
            span=Span(start, end),
            page=chunk.page_numbers[0],
        )
        for chunk, start, end in zip(chunks, starts, ends, strict=True)
    )
    last = max((chunk.page_numbers[0] for chunk in chunks), default=0)
    pages = tuple(_page(number, text, sections) for number in range(1, last + 1))
    return DocumentStructure(sections, pages)


def _end(index: int, chunks: Sequence[Chunk], starts: Sequence[int], text: str) -> int:
    """Tell where the first section begins that does not lie below this one."""
    below = f"{chunks[index].clause_number}."
    behind = range(index + 1, len(chunks))
    return next(
        (starts[each] for each in behind if not (chunks[each].clause_number or "").startswith(below)), len(text)
    )


def _heading(text: str, chunk: Chunk) -> int:
    before = text.rfind("\n\n", 0, chunk.span.start)
    return before + 2 if before >= 0 else 0


def _page(number: int, text: str, sections: Sequence[OutlineEntry]) -> PageCoverage:
    spans = [section.span for section in sections if section.page == number]
    if not spans:
        return PageCoverage(number, str(number), Span(0, 0), "blank", 0, note="The page is blank.")
    span = Span(spans[0].start, spans[-1].end)
    return PageCoverage(number, str(number), span, "text_layer", len("".join(span.of(text).split())))


def compare_quote(documents: Sequence[HeldDocument], query: QuoteQuery) -> QuoteAnswer:
    """Look for a quote word for word, then whatever its case and blanks; it knows nothing of altered quotes."""
    named = [each for each in documents if query.document_id in {None, each.record.id}]
    pattern = re.compile(r"\s+".join(re.escape(word) for word in query.quote.split()), re.IGNORECASE)
    for held, elsewhere in ((named, False), (documents, True)):
        for document in held:
            found = pattern.search(document.text)
            if found is None:
                continue
            place = QuotePlace(query.quote, placed(document, Span(found.start(), found.end())))
            verdict = QuoteVerdict.EXACT if found.group() == query.quote else QuoteVerdict.NORMALISED
            return QuoteAnswer(QuoteVerdict.ELSEWHERE if elsewhere else verdict, (place,), len(documents))
    return QuoteAnswer(QuoteVerdict.NOT_FOUND, (), len(documents))
