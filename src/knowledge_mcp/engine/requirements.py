"""A topic's way to the mandatory sentences about it."""

from __future__ import annotations

import re

from knowledge_mcp.engine.base import Base, Records
from knowledge_mcp.engine.cite import cite_statement
from knowledge_mcp.engine.retrieve import search
from knowledge_mcp.model.chunk import Modality, Statement
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.query import (
    And,
    Equals,
    Filter,
    Hit,
    In,
    RequirementAnswer,
    RequirementHit,
    RequirementQuery,
    SearchQuery,
)

__all__ = ["documents_named", "requirements"]

_PLACES = 40
"""Chunks looked through for sentences, at least."""


def requirements(base: Base, query: RequirementQuery) -> RequirementAnswer:
    """Find mandatory sentences on a topic, best first.

    A sentence's score is its chunk's, lowered by up to half where the sentence itself holds fewer of the topic's words.
    """
    filters: list[Filter] = [Equals("normative", True)]
    documents: tuple[str, ...] | None = None
    if not base.exists():
        return RequirementAnswer(hits=(), documents=None)
    if query.standard is not None:
        documents = documents_named(base.store.documents(base.collection), query.standard)
        if not documents:
            return RequirementAnswer(hits=(), documents=())
        filters.append(In("document_id", documents))
    answer = search(base, SearchQuery(text=query.topic, limit=max(_PLACES, query.limit), filter=And(tuple(filters))))
    wanted = set(base.analyser.query_terms(query.topic))
    records = Records(base)
    found: dict[tuple[str, int, int], RequirementHit] = {}
    for hit in answer.hits:
        record = records.get(hit.chunk.document_id)
        for statement in hit.chunk.statements:
            if statement.modality is Modality.REQUIREMENT:
                place = (hit.chunk.document_id, statement.span.start, statement.span.end)
                candidate = _scored(base, statement, hit, wanted, record)
                if place not in found or found[place].score < candidate.score:
                    found[place] = candidate
    ordered = sorted(found.values(), key=lambda each: (-each.score, each.chunk.document_id, each.statement.span.start))
    return RequirementAnswer(hits=tuple(ordered[: query.limit]), documents=documents, degraded=answer.degraded)


def documents_named(records: list[DocumentRecord], standard: str) -> tuple[str, ...]:
    """List ids of the documents whose id or title holds every word of the name given, letters and digits only."""
    wanted = _words(standard)
    return tuple(
        record.id
        for record in records
        if wanted and (wanted <= _words(f"{record.id} {record.title}") or _solid(standard) in _solid(record.id))
    )


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def _solid(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text.casefold()))


def _scored(
    base: Base, statement: Statement, hit: Hit, wanted: set[str], record: DocumentRecord | None
) -> RequirementHit:
    held = set(base.analyser.document_terms(statement.text))
    share = len(wanted & held) / len(wanted) if wanted else 1.0
    return RequirementHit(
        statement=statement,
        chunk=hit.chunk,
        score=hit.score * (0.5 + 0.5 * share),
        citation=cite_statement(statement, hit.chunk, record),
    )
