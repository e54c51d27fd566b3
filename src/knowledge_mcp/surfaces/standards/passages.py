"""From the engine's values to the fields of an answer: sources, addresses, scores."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Hit, LegScore
from knowledge_mcp.surfaces.standards.locating import locator_of_chunk
from knowledge_mcp.surfaces.standards.responses import BriefSource, Leg, Metadata, SearchResult, Source

__all__ = ["brief_source", "chunk_uri", "document_uri", "rounded", "search_result", "section_label"]

_MOST_ALSO_IN = 10
"""Citations of passages that say the same: a notice that stands in every document would crowd out the results."""


def chunk_uri(chunk_id: str) -> str:
    """Build the address of a chunk's resource."""
    return f"knowledge://chunks/{quote(chunk_id, safe='')}"


def document_uri(document_id: str) -> str:
    """Build the address of a document's resource."""
    return f"knowledge://documents/{quote(document_id, safe='')}"


def rounded(score: float) -> float:
    """Keep a score within 0..1 and to four decimals, which is more than a ranking means."""
    return round(min(max(score, 0.0), 1.0), 4)


def section_label(chunk: Chunk) -> str:
    """Name the section as a reader would: number and title, each once."""
    number, title = chunk.clause_number, chunk.section_title
    return title if not number or title == number or title.startswith(f"{number} ") else f"{number} {title}".strip()


def brief_source(chunk: Chunk, citation: str, clause_number: str | None = None) -> BriefSource:
    """Tell where a statement stands, in the three specified fields; page and clause where there are any."""
    more: dict[str, Any] = {}
    if chunk.page_numbers:
        more["page_numbers"] = list(chunk.page_numbers)
    if clause := clause_number or chunk.clause_number:
        more["clause_number"] = clause
    return BriefSource(document_id=chunk.document_id, document_title=chunk.document_title, citation=citation, **more)


def search_result(hit: Hit) -> SearchResult:
    """Turn a hit into a result."""
    chunk = hit.chunk
    legs = {"dense": hit.dense, "lexical": hit.lexical}
    more: dict[str, Any] = {name: _leg(leg) for name, leg in legs.items() if leg is not None}
    if hit.also_in:
        more["also_in"] = list(hit.also_in[:_MOST_ALSO_IN])
    if len(hit.also_in) > _MOST_ALSO_IN:
        more["also_in_more"] = len(hit.also_in) - _MOST_ALSO_IN
    return SearchResult(
        id=chunk.id,
        content=chunk.content,
        score=rounded(hit.score),
        source=_source(chunk, hit.citation),
        metadata=Metadata(
            chunk_type=chunk.chunk_type,
            normative=chunk.normative,
            section_hierarchy=list(chunk.section_hierarchy),
            references=list(chunk.references),
        ),
        locator=locator_of_chunk(chunk),
        uri=chunk_uri(chunk.id),
        **more,
    )


def _leg(leg: LegScore) -> Leg:
    return Leg(rank=leg.rank, score=round(leg.score, 4))


def _source(chunk: Chunk, citation: str) -> Source:
    more: dict[str, Any] = {}
    if chunk.clause_number:
        more["clause_number"] = chunk.clause_number
    if list(chunk.page_labels) != [str(number) for number in chunk.page_numbers]:
        more["page_labels"] = list(chunk.page_labels)
    if chunk.lines is not None:
        more["lines"] = list(chunk.lines)
    return Source(
        document_id=chunk.document_id,
        document_title=chunk.document_title,
        document_type=chunk.document_type,
        source_path=chunk.source_path,
        page_numbers=list(chunk.page_numbers),
        section=section_label(chunk),
        citation=citation,
        **more,
    )
