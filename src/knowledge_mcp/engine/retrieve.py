"""A question's way: embed, search both legs, fuse, fetch, cite."""

from __future__ import annotations

import logging

from knowledge_mcp.engine.base import PASSING, Base, Records
from knowledge_mcp.engine.cite import cite
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import Hit, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.support.events import log_event

__all__ = ["search"]

_logger = logging.getLogger(__name__)


def search(base: Base, query: SearchQuery) -> SearchAnswer:
    """Find the best chunks for a question.

    Hybrid falls back to the one leg that works and says so in `degraded`; a search that asked for one leg only fails
    with that leg.

    Raises:
        InvalidInputError: blank text.
        SpaceMismatchError: the collection is in another embedding space.
        KnowledgeError: whatever the embedder or the store says.
    """
    if not query.text.strip():
        raise InvalidInputError("The query is empty.", suggestion="Ask with at least one word.")
    if not base.exists():
        return SearchAnswer(hits=(), mode=query.mode, searched_documents=0)
    degraded: list[str] = []
    mode = _possible_mode(base, query, degraded)
    vector: Vector | None = None
    if mode is not SearchMode.KEYWORD:
        try:
            vector = base.query_vector(query.text)
        except PASSING as exc:
            if mode is SearchMode.SEMANTIC:
                raise
            degraded.append(f"The semantic leg failed ({exc.message}); results are keyword matches only.")
            mode = SearchMode.KEYWORD
    legs = base.search(
        vector=vector,
        text=query.text if mode is not SearchMode.SEMANTIC else None,
        filter=query.filter,
        limit=max(base.depth, query.limit) if mode is SearchMode.HYBRID else query.limit,
    )
    if legs.dense_error:
        degraded.append(f"The semantic leg failed ({legs.dense_error}); results are keyword matches only.")
        mode = SearchMode.KEYWORD
    if legs.lexical_error:
        degraded.append(f"The keyword leg failed ({legs.lexical_error}); results are semantic matches only.")
        mode = SearchMode.SEMANTIC
    for reason in degraded:
        log_event(_logger, logging.WARNING, "search_degraded", reason=reason)
    dense = legs.dense if mode is not SearchMode.KEYWORD else None
    lexical = legs.lexical if mode is not SearchMode.SEMANTIC else None
    weight = query.weight if mode is SearchMode.HYBRID else (1.0 if mode is SearchMode.SEMANTIC else 0.0)
    ranked = base.fuse(dense, lexical, weight, query.limit)
    found = {chunk.id: chunk for chunk in base.store.chunks(base.collection, [chunk_id for chunk_id, *_ in ranked])}
    records = Records(base)
    hits = tuple(
        Hit(
            chunk=found[chunk_id],
            score=score,
            citation=cite(found[chunk_id], records.get(found[chunk_id].document_id)),
            dense=dense_place,
            lexical=lexical_place,
        )
        for chunk_id, score, dense_place, lexical_place in ranked
        if chunk_id in found
    )
    searched = base.store.statistics(base.collection).documents
    return SearchAnswer(hits=hits, mode=mode, searched_documents=searched, degraded=tuple(degraded))


def _possible_mode(base: Base, query: SearchQuery, degraded: list[str]) -> SearchMode:
    if query.mode is SearchMode.HYBRID and not base.hybrid:
        degraded.append("Hybrid search is switched off by QDRANT_HYBRID_SEARCH; results are semantic matches only.")
        return SearchMode.SEMANTIC
    return query.mode
