"""A topic's way to the mandatory sentences about it: by identifier where it names one, else by what it is about."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from knowledge_mcp.engine.base import Base, Records
from knowledge_mcp.engine.cite import cite_statement
from knowledge_mcp.engine.identifiers import clause_asked, identifier_key, identifiers_asked, is_below, spellings
from knowledge_mcp.engine.retrieve import Asked, ask, search_asked
from knowledge_mcp.engine.wanted import while_wanted
from knowledge_mcp.model.chunk import Chunk, Modality, Statement
from knowledge_mcp.model.collection import DocumentRecord
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
    SearchQuery,
)

__all__ = ["documents_named", "requirements"]

_PLACES = 40
"""Chunks looked through for sentences, at least."""
_NAMED = 300
"""Chunks that hold an identifier's words and are looked through for the requirement that bears it."""
_EXACT, _BELOW, _OTHERS = 1.0, 0.95, 0.9
"""Scores of the requirement that was named and of those below it; what is only about it scores less."""


def requirements(base: Base, query: RequirementQuery) -> RequirementAnswer:
    """Find requirements: by identifier, by the beginning of one, by clause, and by topic; best first.

    A topic that names an identifier ("SRS-4.2.1", "[REQ-12]", "AC-2(3)", "FR01" for "FR 1") gives that requirement
    first, with score 1 and whatever its force, then those whose identifiers begin with it, then what is about it. A
    clause number gives the mandatory sentences of that clause and below. Of other topics, and after these, come
    mandatory sentences: a sentence's score is its chunk's, lowered by up to half where the sentence itself holds fewer
    of the topic's words.
    """
    if not base.exists():
        return RequirementAnswer(hits=(), documents=None)
    if query.standard is not None and not documents_named(base.records(), query.standard):
        return RequirementAnswer(hits=(), documents=())
    topic = ask(base, SearchQuery(text=query.topic, filter=Equals("normative", True)))
    with base.snapshot():
        return _found_in(base, query, topic)


def _found_in(base: Base, query: RequirementQuery, topic: Asked) -> RequirementAnswer:
    """Find requirements in one state of the store."""
    filters: list[Filter] = []
    documents: tuple[str, ...] | None = None
    if query.standard is not None:
        documents = documents_named(base.records(), query.standard)
        if not documents:
            return RequirementAnswer(hits=(), documents=())
        filters.append(In("document_id", documents))
    records = Records(base)
    found = _Found()
    for identifier in identifiers_asked(query.topic):
        _by_identifier(base, identifier, filters, records, found)
    filters.append(Equals("normative", True))
    clause = clause_asked(query.topic)
    if clause is not None:
        _by_clause(base, clause, filters, records, found)
    degraded: tuple[str, ...] = ()
    also_asked: tuple[str, ...] = ()
    if len(found.hits) < query.limit:
        degraded, also_asked = _by_topic(base, query, topic, filters, records, found)
    ordered = sorted(
        found.hits.values(), key=lambda each: (-each.score, each.chunk.document_id, each.statement.span.start)
    )
    return RequirementAnswer(tuple(ordered[: query.limit]), documents, degraded, also_asked)


@dataclass(slots=True)
class _Found:
    """Gather hits, each sentence once with its best score."""

    hits: dict[tuple[str, int, int], RequirementHit] = field(default_factory=dict[tuple[str, int, int], RequirementHit])

    @property
    def most(self) -> float:
        """Tell how much a hit that was not named may score."""
        return _OTHERS if self.hits else 1.0

    def add(self, statement: Statement, chunk: Chunk, score: float, record: DocumentRecord | None) -> None:
        """Keep a hit, unless its sentence is there with a score as good."""
        place = (chunk.document_id, statement.span.start, statement.span.end)
        if place not in self.hits or self.hits[place].score < score:
            self.hits[place] = RequirementHit(statement, chunk, score, cite_statement(statement, chunk, record))


def _by_identifier(base: Base, identifier: str, filters: Sequence[Filter], records: Records, found: _Found) -> None:
    key = identifier_key(identifier)
    for chunk in while_wanted(_holding(base, spellings(identifier), filters, records)):
        for statement in chunk.statements:
            own = identifier_key(statement.identifier or "")
            if own == key or is_below(own, key):
                score = _EXACT if own == key else _BELOW
                found.add(statement, chunk, score, records.get(chunk.document_id))


def _by_clause(base: Base, clause: str, filters: Sequence[Filter], records: Records, found: _Found) -> None:
    for chunk in while_wanted(_holding(base, clause, [*filters, Prefix("clause_number", clause)], records)):
        for statement in chunk.statements:
            number = statement.clause_number or chunk.clause_number
            if statement.modality is Modality.REQUIREMENT:
                score = _EXACT if number == clause else _BELOW
                found.add(statement, chunk, score, records.get(chunk.document_id))


def _holding(base: Base, text: str, filters: Sequence[Filter], records: Records) -> list[Chunk]:
    """List the chunks that hold words of a text and may state something, by words alone."""
    legs = base.search(vector=None, text=text, filter=And(tuple(filters)), limit=_NAMED)
    chunks = base.store.chunks(base.collection, [hit.chunk_id for hit in legs.lexical or ()])
    stating = [each for each in chunks if each.statements]
    records.expect(each.document_id for each in stating)
    return [each for each in stating if each.document_id not in records.damaged]


def _by_topic(
    base: Base, query: RequirementQuery, topic: Asked, filters: Sequence[Filter], records: Records, found: _Found
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Search for the topic; returns what failed on the way, and what was asked for beside the topic's own words."""
    most = found.most
    wider = SearchQuery(text=query.topic, limit=max(_PLACES, query.limit), filter=And(tuple(filters)))
    answer = search_asked(base, wider, topic)
    wanted = set(base.analyser.query_terms(query.topic))
    records.expect(hit.chunk.document_id for hit in answer.hits if hit.chunk.statements)
    for hit in while_wanted(answer.hits):
        for statement in hit.chunk.statements:
            if statement.modality is Modality.REQUIREMENT:
                score = most * _score(base, statement, hit, wanted)
                found.add(statement, hit.chunk, score, records.get(hit.chunk.document_id))
    return answer.degraded, answer.also_asked


def documents_named(records: Sequence[DocumentRecord], standard: str) -> tuple[str, ...]:
    """List ids of the documents whose id or title holds every word of the name given, letters and digits only."""
    wanted = _words(standard)
    return tuple(
        record.id
        for record in while_wanted(records)
        if wanted and (wanted <= _words(f"{record.id} {record.title}") or _solid(standard) in _solid(record.id))
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _solid(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.casefold()))


def _score(base: Base, statement: Statement, hit: Hit, wanted: set[str]) -> float:
    held = set(base.analyser.document_terms(statement.text))
    share = len(wanted & held) / len(wanted) if wanted else 1.0
    return hit.score * (0.5 + 0.5 * share)
