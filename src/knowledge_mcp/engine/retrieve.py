"""A question's way: embed, search both legs, fuse, fetch, cite."""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.answerability import estimate
from knowledge_mcp.engine.base import PASSING, USUAL_WEIGHT, Base, Passages, Records
from knowledge_mcp.engine.blending import Ranked, blend, feedback, places, words_in_full
from knowledge_mcp.engine.cite import cite
from knowledge_mcp.engine.folding import folded, per_document
from knowledge_mcp.engine.names import asked_for
from knowledge_mcp.engine.nearness import nearness
from knowledge_mcp.engine.pins import pinned
from knowledge_mcp.engine.reranking import candidates, reranked
from knowledge_mcp.engine.rewording import other_words, with_other_words
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import Hit, LegHit, LegResults, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.support.events import log_event

__all__ = ["Asked", "ask", "search", "search_asked"]

_SPARE = 10
"""Hits found beyond twice the wanted ones where some will be folded or left out."""

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Asked:
    """Hold what a question needs before the store is read: its vector and the unit of its cosines.

    Attributes:
        text: the question, with what is asked for beside its own words.
        also_asked: these words.
        mode: the one that is possible.
        vector: of `text`, None for a search by words.
        unit: `nearness` of the embedder.
        degraded: what failed.
    """

    text: str
    also_asked: tuple[str, ...]
    mode: SearchMode
    vector: Vector | None
    unit: float
    degraded: tuple[str, ...]


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
    return search_asked(base, query, ask(base, query))


def ask(base: Base, query: SearchQuery) -> Asked:
    """Embed a question; no snapshot may be open, for this may take as long as a remote service takes.

    Raises:
        KnowledgeError: as `search`.
    """
    degraded: list[str] = []
    also_asked = other_words(base, query)
    asked = with_other_words(query.text, also_asked)
    mode = _possible_mode(base, query, degraded)
    vector: Vector | None = None
    if mode is not SearchMode.KEYWORD:
        try:
            vector = base.query_vector(asked)
        except PASSING as exc:
            if mode is SearchMode.SEMANTIC:
                raise
            degraded.append(f"The semantic leg failed ({exc.message}); results are keyword matches only.")
            mode = SearchMode.KEYWORD
    unit = nearness(base.embedder) if mode is SearchMode.HYBRID and base.blends and query.weight is None else 1.0
    return Asked(asked, also_asked, mode, vector, unit, tuple(degraded))


def search_asked(base: Base, query: SearchQuery, question: Asked) -> SearchAnswer:
    """Find the best chunks for a question that was embedded; errors as `search`."""
    degraded, wanted = list(question.degraded), _wanted(base, query)
    mode, asked, also_asked = question.mode, question.text, question.also_asked
    with base.snapshot():
        legs = base.search(
            vector=question.vector,
            text=asked if mode is not SearchMode.SEMANTIC else None,
            filter=query.filter,
            limit=max(base.depth, wanted) if mode is SearchMode.HYBRID else wanted,
        )
        mode = _mode_left(legs, mode, degraded)
        statistics = base.store.statistics(base.collection)
        wider = dataclasses.replace(query, limit=wanted)
        passages = Passages(base)
        ranked = _ranked(base, passages, wider, question, mode, legs, statistics.chunks)
        hits = _hits(base, passages, ranked)
    for reason in degraded:
        log_event(_logger, logging.WARNING, "search_degraded", reason=reason)
    if mode is not SearchMode.KEYWORD and not asked_for(query.text).alone:
        hits = reranked(base, query.text, hits, degraded)
    kept = folded(hits) if query.fold else hits
    kept = per_document(kept, query.per_document) if query.per_document is not None else kept
    end = query.offset + query.limit
    return SearchAnswer(
        hits=tuple(kept[query.offset : end]),
        mode=mode,
        searched_documents=statistics.documents,
        degraded=tuple(degraded),
        more=len(kept) > end,
        answerability=None if also_asked else estimate(base, query, mode, legs, statistics.chunks),
        also_asked=also_asked,
    )


def _wanted(base: Base, query: SearchQuery) -> int:
    """Say how many hits to find, so that enough are left and it is known whether more follow."""
    end = query.offset + query.limit
    spare = end + _SPARE if query.fold or query.per_document is not None else 1
    return candidates(base, end + spare)


def _hits(base: Base, passages: Passages, ranked: Sequence[Ranked]) -> tuple[Hit, ...]:
    """Fetch and cite the chunks; one that has gone meanwhile is left out."""
    found = {chunk.id: chunk for chunk in passages.get([chunk_id for chunk_id, *_ in ranked])}
    records = Records(base, (chunk.document_id for chunk in found.values()))
    return tuple(
        Hit(
            chunk=found[chunk_id],
            score=score,
            citation=cite(found[chunk_id], records.get(found[chunk_id].document_id)),
            dense=dense_place,
            lexical=lexical_place,
        )
        for chunk_id, score, dense_place, lexical_place in ranked
        if chunk_id in found and found[chunk_id].document_id not in records.damaged
    )


def _ranked(
    base: Base,
    passages: Passages,
    query: SearchQuery,
    question: Asked,
    mode: SearchMode,
    legs: LegResults,
    chunks: int,
) -> list[Ranked]:
    """Rank what the legs found: by scores where that is chosen and no weight is named, else by weighted ranks."""
    dense = legs.dense if mode is not SearchMode.KEYWORD else None
    lexical = legs.lexical if mode is not SearchMode.SEMANTIC else None
    by_scores = base.blends and query.weight is None and mode is SearchMode.HYBRID
    vector = question.vector
    if by_scores and vector is not None and dense is not None and lexical is not None:
        in_full = words_in_full(len(base.analyser.query_terms(question.text)), chunks) / question.unit
        ranked = _blended(base, passages, query, vector, dense, lexical, in_full)
    else:
        named = USUAL_WEIGHT if query.weight is None else query.weight
        weight = {SearchMode.SEMANTIC: 1.0, SearchMode.KEYWORD: 0.0}.get(mode, named)
        ranked = base.fuse(dense, lexical, weight, query.limit)
    if lexical is not None and (query.weight is None or query.mode is SearchMode.KEYWORD):
        ranked = pinned(base, passages, query.text, query.filter, ranked, query.limit)
    return ranked


def _blended(
    base: Base,
    passages: Passages,
    query: SearchQuery,
    vector: Vector,
    dense: Sequence[LegHit],
    lexical: Sequence[LegHit],
    in_full: float,
) -> list[Ranked]:
    """Blend the legs by their scores, move the question's vector towards the best of it, and blend again.

    The places told of each hit are those in the legs as they were asked for.
    """
    depth = max(base.depth, query.limit)
    cut = len(lexical) >= depth
    first = blend(dense, lexical, in_full, query.limit, cut=cut)
    best = [hit[0] for hit in first]
    passages.get(best)  # most of them stay, so they are fetched together
    again = feedback(base, passages, vector, best, query.filter, depth)
    if again is None:
        return first
    _, nearer = again
    moved = blend(nearer, lexical, in_full, query.limit, cut=cut)
    near = places(dense, {hit[0] for hit in moved})
    return [(chunk_id, score, near.get(chunk_id), said) for chunk_id, score, _, said in moved]


def _mode_left(legs: LegResults, mode: SearchMode, degraded: list[str]) -> SearchMode:
    """Return the mode that is possible where a leg failed."""
    if legs.dense_error:
        degraded.append(f"The semantic leg failed ({legs.dense_error}); results are keyword matches only.")
        return SearchMode.KEYWORD
    if legs.lexical_error:
        degraded.append(f"The keyword leg failed ({legs.lexical_error}); results are semantic matches only.")
        return SearchMode.SEMANTIC
    return mode


def _possible_mode(base: Base, query: SearchQuery, degraded: list[str]) -> SearchMode:
    if query.mode is SearchMode.HYBRID and not base.hybrid:
        degraded.append("Hybrid search is switched off by QDRANT_HYBRID_SEARCH; results are semantic matches only.")
        return SearchMode.SEMANTIC
    return query.mode
