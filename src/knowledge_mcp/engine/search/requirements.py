"""Find mandatory sentences about a topic: by identifier if it names one, otherwise by meaning."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from knowledge_mcp.engine.core.base import Base, Records
from knowledge_mcp.engine.core.choosing import Choice, choose_editions, notes_on
from knowledge_mcp.engine.core.citing import cite_statement
from knowledge_mcp.engine.search.folding import Shape
from knowledge_mcp.engine.search.search import EmbeddedQuery, embed_question, search_asked, with_synonyms
from knowledge_mcp.language.force import RANK
from knowledge_mcp.language.identifiers import (
    ASIDES,
    clause_in_topic,
    identifier_key,
    identifiers_in_topic,
    is_below,
    spellings,
)
from knowledge_mcp.language.sentences import BAR, BLANK_LINE
from knowledge_mcp.model.chunk import Chunk, Modality, Statement
from knowledge_mcp.model.collection import NO_STRUCTURE, DocumentRecord, DocumentStructure
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.query import (
    And,
    Equals,
    Filter,
    Hit,
    In,
    Prefix,
    RequirementAnswer,
    RequirementHit,
    RequirementQuery,
    SearchAnswer,
    SearchMode,
    SearchQuery,
)
from knowledge_mcp.support.checkpoints import check_each

_PLACES = 40
"""Number of chunks searched for sentences at once; sentences of the next batch rank below all of these."""
_NAMED = 300
"""Number of chunks with an identifier's words that are searched for the requirement with that identifier."""
_OPAQUE = re.compile(r"(?=\D{0,199}\d)[\w.:/-]{2,200}")
"""A topic that may be a tool's item id: `_gFhrZ2ojEeu`, `o1`."""
_PATH = re.compile(r"/[\w.:/-]{1,200}")
"""A topic that may be the path of a requirement: `/req/core/stop`."""
_EXACT, _BELOW, _OTHERS = 1.0, 0.95, 0.9
"""Scores of the named requirement and of those below it, and maximum score of others about it."""


def requirements(base: Base, query: RequirementQuery) -> RequirementAnswer:
    """Find requirements: by identifier, by its beginning, by clause, and by topic; best first.

    A topic that names an identifier ("SRS-4.2.1", "[REQ-12]", "AC-2(3)", "FR01" for "FR 1") gives that requirement
    first, with score 1 and any force, then those whose identifiers begin with it, then others about it. A clause number
    gives the mandatory sentences of that clause and below. For other topics, and after these, mandatory sentences
    follow: a sentence's score is its chunk's, reduced by up to half if the sentence itself has fewer of the topic's
    words.
    """
    if not base.exists():
        return RequirementAnswer(hits=(), documents=None)
    if query.standard is not None and not documents_named(base.records(), query.standard):
        return RequirementAnswer(hits=(), documents=())
    topic = embed_question(base, SearchQuery(text=query.topic, filter=Equals("normative", True)))
    with base.snapshot():
        known = base.editions()
        choice = choose_editions(base, known, query.edition, f"{query.standard or ''}\n{query.topic}")
        answer = _found_in(base, query, topic, choice)
        notes = notes_on(known, (hit.chunk.document_id for hit in answer.hits), query.edition)
    return replace(answer, degraded=(*answer.degraded, *choice.notes), editions=notes)


def _found_in(base: Base, query: RequirementQuery, topic: EmbeddedQuery, choice: Choice) -> RequirementAnswer:
    """Find requirements in one state of the store."""
    filters: list[Filter] = []
    documents: tuple[str, ...] | None = None
    if query.standard is not None:
        documents = documents_named(base.records(), query.standard)
        kept = tuple(each for each in documents if choice.allows(each))
        documents = kept if kept or query.edition.strip() else documents  # a query for an old edition alone means it
        if not documents:
            return RequirementAnswer(hits=(), documents=())
        filters.append(In("document_id", documents))
    elif choice.filter is not None:
        filters.append(choice.filter)
    records = Records(base)
    found = _FoundStatements()
    clause, topic_alone = clause_in_topic(query.topic), query.topic.strip()
    identifiers = identifiers_in_topic(query.topic)
    if not identifiers and clause is None and (_OPAQUE.fullmatch(topic_alone) or _PATH.fullmatch(topic_alone)):
        identifiers = [topic_alone]
    for identifier in identifiers:
        _by_identifier(base, identifier, filters, records, found)
    filters.append(Equals("normative", True))
    if clause is not None:
        _by_clause(base, clause, filters, records, found)
    named = bool(found.hits)
    about = SearchAnswer(hits=(), mode=SearchMode.HYBRID, searched_documents=0, more=True)
    end, places, most = query.offset + query.limit, _PLACES, _OTHERS if named else 1.0
    while len(every := _folded(found.ordered())) <= end and about.more:
        wider = SearchQuery(text=query.topic, limit=places, filter=And(tuple(filters)))
        about = search_asked(base, wider, topic)
        _by_topic(base, query, about, most, records, found)
        places *= 2
    hits = tuple(every[query.offset : end])
    answerability = None if named or not hits else about.answerability
    has_topic = named or not hits or _contains_topic(base, query.topic, about, hits)
    notes = () if named or not hits else about.notes
    return RequirementAnswer(
        hits,
        documents,
        about.degraded,
        about.also_asked,
        answerability,
        has_topic,
        notes=notes,
        more=len(every) > end,
    )


def _folded(hits: Sequence[RequirementHit]) -> list[RequirementHit]:
    """Fold repetitions into better hits, but never two requirements with identifiers of their own."""
    kept: list[tuple[RequirementHit, Shape]] = []
    for hit in hits:
        shape = Shape(hit.statement.text)
        for place, (better, known) in enumerate(kept):
            own, other = hit.statement.identifier, better.statement.identifier
            if (own is None or other is None or own == other) and shape.repeats(known):
                kept[place] = (dataclasses.replace(better, also_in=(*better.also_in, hit.citation)), known)
                break
        else:
            kept.append((hit, shape))
    return [hit for hit, _ in kept]


def _contains_topic(base: Base, topic: str, about: SearchAnswer, hits: Sequence[RequirementHit]) -> bool:
    """Return whether a hit or its passage contains a word of a topic, or of its synonyms."""
    terms = set(base.analyser.query_terms(with_synonyms(topic, about.also_asked)))
    texts = dict.fromkeys(text for hit in hits for text in (hit.statement.text, hit.chunk.embedding_text))
    return not terms or any(not terms.isdisjoint(base.analyser.document_terms(text)) for text in texts)


@dataclass(slots=True)
class _FoundStatements:
    """Collect hits, each sentence once with its best score, by the batch in which its chunk was searched."""

    hits: dict[tuple[str, int, int], tuple[int, RequirementHit]] = field(
        default_factory=dict[tuple[str, int, int], tuple[int, RequirementHit]]
    )

    def add(
        self, statement: Statement, chunk: Chunk, score: float, record: DocumentRecord | None, turn: int = 0
    ) -> None:
        """Keep a hit, unless its sentence was found in an earlier batch or with at least the same score."""
        place = (chunk.document_id, statement.span.start, statement.span.end)
        known = self.hits.get(place)
        if known is None or (-known[0], known[1].score) < (-turn, score):
            self.hits[place] = (
                turn,
                RequirementHit(statement, chunk, score, cite_statement(statement, chunk, record)),
            )

    def ordered(self) -> list[RequirementHit]:
        """List the hits batch by batch, best first; none scores more than the one before it."""
        lowest, listed = 1.0, list[RequirementHit]()
        by_score = sorted(
            self.hits.values(),
            key=lambda each: (each[0], -each[1].score, each[1].chunk.document_id, each[1].statement.span.start),
        )
        for _, hit in by_score:
            lowest = min(lowest, hit.score)
            listed.append(hit if hit.score == lowest else replace(hit, score=lowest))
        return listed


def _by_identifier(
    base: Base, identifier: str, filters: Sequence[Filter], records: Records, found: _FoundStatements
) -> None:
    key = identifier_key(identifier)
    for chunk in check_each(_holding(base, spellings(identifier), filters, records)):
        for statement in chunk.statements:
            own = identifier_key(statement.identifier or "")
            if own == key or is_below(own, key):
                score = _EXACT if own == key else _BELOW
                found.add(statement, chunk, score, records.get(chunk.document_id))


def _by_clause(base: Base, clause: str, filters: Sequence[Filter], records: Records, found: _FoundStatements) -> None:
    for chunk in check_each(_holding(base, clause, [*filters, Prefix("clause_number", clause)], records)):
        for statement in chunk.statements:
            number = statement.clause_number or chunk.clause_number
            if statement.modality is Modality.REQUIREMENT:
                score = _EXACT if number == clause else _BELOW
                found.add(statement, chunk, score, records.get(chunk.document_id))


def _holding(base: Base, text: str, filters: Sequence[Filter], records: Records) -> list[Chunk]:
    """List the chunks with words of a text that may contain statements, by words alone."""
    legs = base.search(vector=None, text=text, filter=And(tuple(filters)), limit=_NAMED)
    chunks = base.opened.chunks("id", [hit.chunk_id for hit in legs.lexical or ()])
    stating = [each for each in chunks if each.statements]
    records.expect(each.document_id for each in stating)
    return [each for each in stating if each.document_id not in records.damaged]


def _by_topic(
    base: Base, query: RequirementQuery, about: SearchAnswer, most: float, records: Records, found: _FoundStatements
) -> None:
    """Add the results of a search for the topic; `most` is the maximum score of such a hit."""
    words = base.analyser.query_words(query.topic)
    records.expect(hit.chunk.document_id for hit in about.hits if hit.chunk.statements)
    for place, hit in enumerate(check_each(about.hits)):
        for statement in hit.chunk.statements:
            if statement.modality is Modality.REQUIREMENT:
                score = most * _score(base, statement, hit, words)
                found.add(statement, hit.chunk, score, records.get(hit.chunk.document_id), place // _PLACES)


def documents_named(records: Sequence[DocumentRecord], standard: str) -> tuple[str, ...]:
    """List ids of the documents that a name means: the one with this id or title, otherwise those that contain it.

    A document contains a name if its id or title has every word of it, letters and digits only.
    """
    name = standard.casefold()
    exact = tuple(record.id for record in check_each(records) if name in {record.id, record.title.casefold()})
    if exact:
        return exact
    words = _words(standard)
    return tuple(
        record.id
        for record in check_each(records)
        if words and (words <= _words(f"{record.id} {record.title}") or _solid(standard) in _solid(record.id))
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _solid(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.casefold()))


def _score(base: Base, statement: Statement, hit: Hit, words: Sequence[Sequence[str]]) -> float:
    terms = set(base.analyser.document_terms(statement.text))
    share = sum(not terms.isdisjoint(word) for word in words) / len(words) if words else 1.0
    return hit.score * (0.5 + 0.5 * share)


_LINE = re.compile(r"\n")
_ITEM_LINE = re.compile(r"\n[ \t]*(?:[-*•–·▪]|\(?(?:\d{1,3}|[a-z]|[ivx]{1,5})[.)])[ \t]")
_ASIDE = re.compile(rf"\s[*_]*(?:{ASIDES}|(?:NOTE|Note)(?:\s+\d+)?|EXAMPLE|Example)[*_]*\s*:")


@dataclass(frozen=True, slots=True)
class RequirementRecord:
    """One requirement of one document.

    Attributes:
        identifier: its own ("SRS-4.2.1"), otherwise the number of its clause; empty if it has neither.
        explicit: whether the identifier is its own.
        text: all its sentences with their lead-in, whitespace normalised.
        modality: its strongest force; negated: whether the sentence with that force is negated.
        clause: number of its clause, empty if there is none.
        path: numbers and titles of its sections, outermost first.
        page: printed label of its first page, empty if the format has none; page_index: that page from 0.
        document_id, document_title: those of its document.
        citation: as you would paste it.
        span: from its first sentence to its last, in the document's canonical text.
        weak: no word expresses force in any of its sentences; only its position does (`Statement.weak`).
    """

    identifier: str
    explicit: bool
    text: str
    modality: Modality
    negated: bool
    clause: str
    path: tuple[str, ...]
    page: str
    page_index: int | None
    document_id: str
    document_title: str
    citation: str
    span: Span
    weak: bool = False


def requirement_records(
    document: DocumentRecord,
    chunks: Sequence[Chunk],
    text: str,
    structure: DocumentStructure = NO_STRUCTURE,
    *,
    modalities: frozenset[Modality] | None = None,
) -> list[RequirementRecord]:
    """List the requirements of one document by position.

    Args:
        document: its record.
        chunks: all its passages.
        text: its canonical text.
        structure: its sections and pages, which locate a sentence more exactly than a passage does.
        modalities: what to include in addition to requirements with an identifier of their own, which are listed
            with any force; mandatory statements if None.
    """
    requested = modalities or frozenset({Modality.REQUIREMENT})
    holders: dict[Span, Chunk] = {}
    statements: dict[Span, Statement] = {}
    for chunk in check_each(chunks):
        for statement in chunk.statements:
            holders.setdefault(statement.span, chunk)
            statements.setdefault(statement.span, statement)
    ordered = [statements[span] for span in sorted(statements)]
    return [
        _record(document, group, holders[group[0].span], text, structure)
        for group in check_each(group_statements(ordered))
        if (group[0].identifier and modalities is None) or any(each.modality in requested for each in group)
    ]


def group_statements(statements: Sequence[Statement]) -> Iterator[list[Statement]]:
    """Group statements, sorted by position, into requirements: neighbours with the same identifier are one."""
    group: list[Statement] = []
    for statement in statements:
        if group and (statement.identifier is None or statement.identifier != group[0].identifier):
            yield group
            group = []
        group.append(statement)
        if statement.identifier is None:
            yield group
            group = []
    if group:
        yield group


def words_of(group: Sequence[Statement], text: str) -> str:
    """Join the text of one requirement: its sentences, each lead-in once, and the rest of a labelled paragraph.

    Args:
        group: its statements, sorted by position.
        text: the document's canonical text.
    """
    first = group[0]
    if first.identifier is None:
        return first.text
    parts = [first.text]
    end = first.span.end
    if first.lead_in is None:
        end = _own_end(text, first.span.start, first.span.end)
        parts = [" ".join(text[first.span.start : end].split())]
    for statement in group[1:]:
        if statement.span.start < end:
            continue
        stop = _own_end(text, statement.span.start, statement.span.end) if statement.lead_in is None else 0
        end = max(statement.span.end, stop)
        parts.append(" ".join(text[statement.span.start : end].split()))
    return " ".join(parts)


def _own_end(text: str, start: int, end: int) -> int:
    """Return where the paragraph, item or cell of a sentence ends, or its rationale, note or example begins."""
    stops = [len(text)]
    line = text.rfind("\n", 0, start) + 1
    row = text.startswith("|", line)
    patterns = (_ASIDE, BAR, _LINE) if row else (_ASIDE, BLANK_LINE, _ITEM_LINE)
    for pattern in patterns:
        match = pattern.search(text, end)
        if match is not None:
            stops.append(match.start())
    return max(end, min(stops))


def _path(start: int, chunk: Chunk, structure: DocumentStructure) -> tuple[str, ...]:
    around = [section for section in structure.sections if section.span.start <= start < section.span.end]
    if not around:
        return chunk.section_hierarchy
    return tuple(f"{each.number} {each.title}".strip() if each.number else each.title for each in around)


def _page(start: int, chunk: Chunk, structure: DocumentStructure) -> tuple[str, int | None]:
    """Return printed label and index from 0 of the page on which a sentence begins."""
    for page in structure.pages:
        if page.holds(Span(start, start + 1)):
            return page.label, page.number - 1
    label = chunk.page_labels[0] if chunk.page_labels else ""
    return label, chunk.page_numbers[0] - 1 if chunk.page_numbers else None


def _record(
    document: DocumentRecord, group: Sequence[Statement], chunk: Chunk, text: str, structure: DocumentStructure
) -> RequirementRecord:
    first = group[0]
    strongest = max(group, key=lambda each: RANK[each.modality])
    clause = first.clause_number or chunk.clause_number or ""
    page, page_index = _page(first.span.start, chunk, structure)
    return RequirementRecord(
        identifier=first.identifier or clause,
        explicit=first.identifier is not None,
        text=words_of(group, text),
        modality=strongest.modality,
        negated=strongest.negated,
        clause=clause,
        path=_path(first.span.start, chunk, structure),
        page=page,
        page_index=page_index,
        document_id=document.id,
        document_title=document.title,
        citation=cite_statement(first, chunk, document),
        span=Span(first.span.start, max(each.span.end for each in group)),
        weak=all(each.weak for each in group),
    )
