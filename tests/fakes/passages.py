"""What FakeKnowledge holds: documents described in a few words, written as text and cut into chunks."""

from __future__ import annotations

import hashlib
import re
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.core.documents import StoredDocument
from knowledge_mcp.engine.evidence.outline import excerpt_at
from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Modality, Statement
from knowledge_mcp.model.collection import DocumentStructure, OutlineEntry, PageCoverage
from knowledge_mcp.model.document import Reference, ReferenceKind, Span
from knowledge_mcp.model.evidence import QuoteAnswer, QuotePlace, QuoteQuery, QuoteVerdict
from knowledge_mcp.model.query import And, Equals, Filter, Hit, In, LegScore, NotIn, Prefix, SearchMode, SearchQuery


@dataclass(frozen=True, slots=True)
class FakePassage:
    """Describe one chunk of a fake document.

    A `term` makes it a definition, mandatory text makes it normative, "see 5.3" and "ISO 9001" are references.
    """

    clause: str
    heading: str
    text: str
    kind: ChunkType = ChunkType.GUIDANCE
    term: str = ""
    page: int = 1


@dataclass(frozen=True, slots=True)
class FakeDocument:
    """Describe one fake document."""

    id: str
    title: str
    passages: tuple[FakePassage, ...]
    document_type: str = "standard"
    source_path: str = ""


SAMPLE = (
    FakeDocument(
        "example-standard",
        "Example Standard for Widget Engineering",
        (
            FakePassage(
                "3.1",
                "widget",
                "widget: smallest part of a system that can be replaced.",
                ChunkType.DEFINITION,
                "widget",
            ),
            FakePassage(
                "5.3.1",
                "Verification planning",
                "The supplier shall keep a verification plan for every widget.",
                ChunkType.REQUIREMENT,
                page=7,
            ),
            FakePassage(
                "5.3.2", "Records", "Verification records shall not be discarded.", ChunkType.REQUIREMENT, page=8
            ),
            FakePassage(
                "5.30", "Advice", "A plan should name the people who carry it out.", ChunkType.RECOMMENDATION, page=9
            ),
        ),
    ),
    FakeDocument(
        "example-handbook",
        "Example Handbook of Reviews",
        (
            FakePassage("2", "Reviews", "A review of the verification plan finds faults early.", ChunkType.OVERVIEW),
            FakePassage("4.1", "Conduct", "The review board must record its decisions.", ChunkType.REQUIREMENT, page=3),
        ),
        document_type="handbook",
    ),
)
"""Two small documents."""


def build(document: FakeDocument) -> tuple[str, list[Chunk]]:
    """Lay the passages one after another, and describe each as a chunk."""
    text = ""
    chunks: list[Chunk] = []
    for index, passage in enumerate(document.passages):
        text += f"{passage.clause} {passage.heading}\n".lstrip()
        span = Span(len(text), len(text) + len(passage.text))
        text += passage.text + "\n\n"
        chunks.append(_chunk(document, passage, index, span))
    return text, chunks


def _chunk(document: FakeDocument, passage: FakePassage, index: int, span: Span) -> Chunk:
    mandatory = re.search(r"\b(shall|must)\b", passage.text) is not None
    clause = passage.clause or None
    statement = Statement(
        span, Modality.REQUIREMENT, re.search(r"\b(shall|must) not\b", passage.text) is not None, clause, passage.text
    )
    links = tuple(_links(passage.text, span.start))
    definition = Definition(passage.term, passage.text.partition(": ")[2] or passage.text, span, (), clause)
    return Chunk(
        id=str(uuid.uuid5(uuid.NAMESPACE_URL, f"{document.id}/{index}/{passage.text}")),
        document_id=document.id,
        document_title=document.title,
        document_type=document.document_type,
        index=index,
        content=passage.text,
        content_hash=sha256(passage.text),
        context=f"{document.title} > {passage.heading}",
        token_count=len(passage.text.split()),
        span=span,
        section_hierarchy=(f"{passage.clause} {passage.heading}".strip(),),
        section_title=passage.heading,
        clause_number=clause,
        parent_chunk_id=None,
        chunk_type=passage.kind,
        normative=mandatory,
        source_path=document.source_path,
        page_numbers=(passage.page,),
        page_labels=(str(passage.page),),
        references=tuple(dict.fromkeys(link.target for link in links)),
        links=links,
        statements=(statement,) if mandatory else (),
        definitions=(definition,) if passage.term else (),
    )


def _links(text: str, start: int) -> Iterator[Reference]:
    for match in re.finditer(r"\bsee (?P<clause>\d+(?:\.\d+)*)|\b(?P<document>(?:ISO|IEEE|RFC) \d+(?::\d{4})?)", text):
        kind = ReferenceKind.CLAUSE if match.group("clause") else ReferenceKind.DOCUMENT
        target = match.group("clause") or match.group("document")
        yield Reference(match.group(), kind, target, Span(start + match.start(), start + match.end()))


def from_text(name: str, uri: str, text: str) -> FakeDocument:
    """Make a document of plain text, one passage a paragraph."""
    stem = name.rpartition(".")[0] or name
    slug = re.sub(r"[^a-z0-9]+", "-", stem.casefold()).strip("-")
    paragraphs = [part.strip() for part in text.split("\n\n") if part.strip()]
    return FakeDocument(slug, stem, tuple(FakePassage("", stem, part) for part in paragraphs), "custom", uri)


def sha256(text: str) -> str:
    """Hash text."""
    return hashlib.sha256(text.encode()).hexdigest()


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


def compare_quote(documents: Sequence[StoredDocument], query: QuoteQuery) -> QuoteAnswer:
    """Look for a quote word for word, then whatever its case and blanks; it knows nothing of altered quotes."""
    named = [each for each in documents if query.document_id in {None, each.record.id}]
    pattern = re.compile(r"\s+".join(re.escape(word) for word in query.quote.split()), re.IGNORECASE)
    for held, elsewhere in ((named, False), (documents, True)):
        for document in held:
            found = pattern.search(document.text)
            if found is None:
                continue
            place = QuotePlace(query.quote, excerpt_at(document, Span(found.start(), found.end())))
            verdict = QuoteVerdict.EXACT if found.group() == query.quote else QuoteVerdict.NORMALISED
            return QuoteAnswer(QuoteVerdict.ELSEWHERE if elsewhere else verdict, (place,), len(documents))
    return QuoteAnswer(QuoteVerdict.NOT_FOUND, (), len(documents))


def keeps(expected: Filter, chunk: Chunk) -> bool:
    """Tell whether a chunk fits a filter."""
    match expected:
        case Equals(field, value):
            return getattr(chunk, field) == value
        case In(field, values):
            return getattr(chunk, field) in values
        case NotIn(field, values):
            return getattr(chunk, field) not in values
        case Prefix(_, value):
            number = chunk.clause_number or ""
            return number == value.rstrip(".") or number.startswith(value.rstrip(".") + ".")
        case And(parts):
            return all(keeps(part, chunk) for part in parts)


def words_of(text: str) -> set[str]:
    """Return the words of a text, in lower case; numbers of clauses stay whole."""
    return set(re.findall(r"\w[\w.-]*\w|\w", text.casefold()))


def ranked_hits(
    query: SearchQuery,
    chunks: Iterable[Chunk],
    *,
    text_of: Callable[[Chunk], str],
    cite: Callable[[Chunk], str],
) -> tuple[Hit, ...]:
    """Rank chunks by the share of the query's words that they hold; both legs rank alike."""
    hits: list[Hit] = []
    ranked = by_shared_words(query.text, chunks, query.filter, text_of=text_of)
    for rank, (score, chunk) in enumerate(ranked[: query.limit], 1):
        leg = LegScore(rank, score)
        dense = None if query.mode is SearchMode.KEYWORD else leg
        lexical = None if query.mode is SearchMode.SEMANTIC else leg
        hits.append(Hit(chunk, score, cite(chunk), dense, lexical))
    return tuple(hits)


def by_shared_words(
    text: str, chunks: Iterable[Chunk], kept: Filter | None, *, text_of: Callable[[Chunk], str]
) -> list[tuple[float, Chunk]]:
    """Order the chunks that fit a filter by the share of a text's words that they hold; those without any go."""
    words = words_of(text)
    scored = (
        (len(words & words_of(text_of(chunk))) / max(len(words), 1), chunk)
        for chunk in chunks
        if kept is None or keeps(kept, chunk)
    )
    return sorted((pair for pair in scored if pair[0] > 0), key=lambda pair: (-pair[0], pair[1].id))
