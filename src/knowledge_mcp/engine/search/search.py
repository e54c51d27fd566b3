"""Answer a question: embed, search both legs, fuse, read, cite."""

from __future__ import annotations

import dataclasses
import logging
import math
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from knowledge_mcp.engine.core.base import PASSING, USUAL_WEIGHT, Base, Passages, Records, counts_of
from knowledge_mcp.engine.core.choosing import Choice, filter_of, notes_on
from knowledge_mcp.engine.core.citing import cited
from knowledge_mcp.engine.search.answerability import estimate
from knowledge_mcp.engine.search.blending import Ranked, blend, both_legs, feedback, in_turns, places, words_in_full
from knowledge_mcp.engine.search.by_name import (
    NAMED_FROM,
    NamesAsked,
    defined_first,
    defining,
    identifiers_not_found,
    names_asked,
    pinned,
)
from knowledge_mcp.engine.search.cosine_unit import cosine_unit
from knowledge_mcp.engine.search.folding import TOGETHER, folded, indexes_last, per_document
from knowledge_mcp.engine.search.respelling import respell, respelled
from knowledge_mcp.engine.search.verbatim import BEST_BY_WORDS, first_verbatim, keep_quoted
from knowledge_mcp.language.names import names_in_question
from knowledge_mcp.language.phrases import has_quoted_words, phrases_in
from knowledge_mcp.model.chunk import Vector
from knowledge_mcp.model.errors import InvalidInputError, KnowledgeError
from knowledge_mcp.model.query import Filter, Hit, In, LegHit, LegResults, NotIn, SearchAnswer, SearchMode, SearchQuery
from knowledge_mcp.ports import Synonyms
from knowledge_mcp.support.events import log_event

_logger = logging.getLogger(__name__)


def rounded_up(count: int, size: int) -> int:
    """Round a number of hits up to a multiple of `size`."""
    return -(-count // size) * size


def candidates(base: Base, limit: int) -> int:
    """Return how many hits a search must find so that the reranker can choose the best `limit`."""
    return max(limit, base.rerank_top) if base.reranker is not None else limit


def reranked(base: Base, text: str, hits: Sequence[Hit], degraded: list[str]) -> tuple[Hit, ...]:
    """Put the best hits in the reranker's order; the others keep theirs and score no more than the last of these.

    Args:
        base: has the reranker, the number of hits for it, and its time limit.
        text: the question.
        hits: best first.
        degraded: receives the reason if the order is unchanged because the reranker failed or was late.
    """
    if base.reranker is None or len(hits) < 2:
        return tuple(hits)
    best, rest = hits[: base.rerank_top], hits[base.rerank_top :]
    try:
        done = base.reranker.rerank(text, best, deadline=time.monotonic() + base.rerank_seconds)
    except KnowledgeError as exc:
        log_event(_logger, logging.WARNING, "rerank_skipped", reason=exc.message, hits=len(best))
        degraded.append(f"The reranker was skipped ({exc.message}); results are in the order of the search.")
        return tuple(hits)
    lowest = done[-1].score
    return (*done, *(dataclasses.replace(hit, score=min(hit.score, lowest)) for hit in rest))


_PHRASES_LOOKED_AT = 30
"""Number of passages with a phrase's words that are checked."""

_SELDOM = 0.002
"""Maximum share of passages that contain a phrase for it to count as unused by the documents, none under a filter;
.001 to .01 give the same results.
"""

_MOST_CONTAINING = 15
"""Maximum of the checked passages that may contain it, however many passages there are."""

_MOST_PHRASES, _MOST_ADDED = 8, 16
"""Maximum phrases of one question that are checked, because each costs a search; and maximum phrases added."""


def added_synonyms(base: Base, query: SearchQuery) -> tuple[str, ...]:
    """List the synonyms to search in addition to the question's own words; empty for most questions.

    A search by words uses only the given words (A §3.1.4). If the store cannot say what the documents use, nothing is
    added; the search itself will report the reason.
    """
    synonyms = base.synonyms
    if synonyms is None or query.mode is SearchMode.KEYWORD or query.weight == 0.0:
        return ()
    wordings = synonyms.wordings(query.text)[:_MOST_PHRASES]
    if not wordings:
        return ()
    added: dict[str, None] = {}
    try:
        most = (
            0.0
            if query.filter is not None and not isinstance(query.filter, NotIn)
            else _SELDOM * counts_of(base.opened).chunks
        )
        for wording in wordings:
            if _count_containing(base, synonyms, wording.phrase, query.filter) <= min(most, _MOST_CONTAINING):
                added.update(dict.fromkeys(wording.synonyms))
    except KnowledgeError:
        return ()
    return tuple(added)[:_MOST_ADDED]


def with_synonyms(text: str, added: tuple[str, ...]) -> str:
    """Return the question with the added synonyms, as passed to both legs."""
    return "\n".join((text, *added))


def _count_containing(base: Base, synonyms: Synonyms, phrase: str, filter: Filter | None) -> float:
    """Count the passages that contain a phrase, among the best by its words; infinite if the store cannot tell."""
    hits = base.search(vector=None, text=phrase, filter=filter, limit=_PHRASES_LOOKED_AT).lexical
    if hits is None:
        return math.inf
    chunks = base.opened.chunks("id", [hit.chunk_id for hit in hits])
    return sum(synonyms.contains_phrase(f"{each.section_title}\n{each.content}", phrase) for each in chunks)


_BY_MEANING = "the results are the closest in meaning."
_UNSAID = f"No passage contains a word of the question; {_BY_MEANING}"
_WORDLESS = "The question has no word to search for"

_RESPELT = 'No passage contains "{}"; "{}" was searched instead.'
_RESPELT_FROM = 20
"""Number of the best passages whose words may replace words of the question; they are read anyway."""

_SPARE = 10
"""Additional hits, beyond twice the wanted ones, if some will be folded or left out."""

_DEEPEST = 1000
"""Maximum hits searched if too many are folded or left out."""


@dataclass(frozen=True, slots=True)
class EmbeddedQuery:
    """What a question needs before the store is read: its vector and the unit of its cosines.

    Attributes:
        text: the question with added synonyms.
        also_asked: the added synonyms.
        mode: the possible mode.
        vector: of `text`, None for a search by words.
        unit: the embedder's `cosine_unit`.
        degraded: what failed.
    """

    text: str
    also_asked: tuple[str, ...]
    mode: SearchMode
    vector: Vector | None
    unit: float
    degraded: tuple[str, ...]


def search(base: Base, query: SearchQuery, *, by_edition: bool = False) -> SearchAnswer:
    """Find the best chunks for a question; with `by_edition`, among the editions that may answer.

    Hybrid falls back to the leg that works and says so in `degraded`; a search by one leg fails with that leg.

    Raises:
        InvalidInputError: the text is blank.
        SpaceMismatchError: the collection is in another embedding space.
        KnowledgeError: as raised by the embedder or the store.
    """
    if not query.text.strip():
        raise InvalidInputError("The query is empty.", suggestion="Use at least one word.")
    if not base.exists():
        return SearchAnswer(hits=(), mode=query.mode, searched_documents=0, degraded=_why_another_store(base))
    return search_asked(base, query, embed_question(base, query), by_edition=by_edition)


def embed_question(base: Base, query: SearchQuery) -> EmbeddedQuery:
    """Embed a question; no snapshot may be open, because a remote service may take long.

    Raises:
        KnowledgeError: as for `search`.
    """
    degraded = [*_why_another_store(base)]
    also_asked = added_synonyms(base, query)
    text = with_synonyms(query.text, also_asked)
    mode = _possible_mode(base, query, degraded)
    vector: Vector | None = None
    if mode is not SearchMode.KEYWORD:
        try:
            vector = base.query_vector(text)
        except PASSING as exc:
            if mode is SearchMode.SEMANTIC:
                raise
            failed = f"The semantic leg failed ({exc.message}); results are keyword matches only."
            degraded.append(f"{failed} {exc.suggestion}".strip())
            mode = SearchMode.KEYWORD
    unit = cosine_unit(base.embedder) if mode is SearchMode.HYBRID and base.blends and query.weight is None else 1.0
    return EmbeddedQuery(text, also_asked, mode, vector, unit, tuple(degraded))


def _why_another_store(base: Base) -> tuple[str, ...]:
    """Report if this is not the configured store: its contents may be missing."""
    return (base.degraded,) if base.degraded else ()


def search_asked(base: Base, query: SearchQuery, question: EmbeddedQuery, *, by_edition: bool = False) -> SearchAnswer:
    """Find the best chunks for an embedded question; errors as for `search`.

    The best hits do not depend on how many are requested, so that pages are consistent.
    """
    needed = _needed_depth(base, query)
    answer, depth = _search_to(base, query, question, needed, by_edition=by_edition)
    if not answer.more and depth == needed < _DEEPEST:
        answer, _ = _search_to(base, query, question, _DEEPEST, by_edition=by_edition)
    return answer


def _search_to(
    base: Base, query: SearchQuery, question: EmbeddedQuery, depth: int, *, by_edition: bool
) -> tuple[SearchAnswer, int]:
    """Answer from the best `depth` hits; return how many there were."""
    degraded = list(question.degraded)
    mode, text, also_asked = question.mode, question.text, question.also_asked
    with base.turn(), base.snapshot():  # a snapshot holds a connection and its memory
        editions = base.editions() if by_edition else None
        may_answer, choice = (query.filter, Choice()) if editions is None else filter_of(base, editions, query)
        query = dataclasses.replace(query, filter=may_answer)
        words = text if mode is not SearchMode.SEMANTIC else None
        limit = rounded_up(depth, base.depth) if mode is SearchMode.HYBRID or phrases_in(query.text) else depth
        legs = both_legs(base, question.vector, words, query.filter, limit)
        mode = _mode_left(legs, mode, degraded)
        statistics = counts_of(base.opened)
        wider = dataclasses.replace(query, limit=depth)
        passages = Passages(base)
        asked = names_asked(base, query.text)
        best = _best(_SearchContext(base, passages, wider, question, mode, asked, statistics.chunks), legs)
        ranked, only, notes = best.ranked, best.only, best.notes
        by_name = mode is SearchMode.KEYWORD or (mode is SearchMode.HYBRID and query.weight is None)
        if mode is not SearchMode.SEMANTIC:
            notes = (*notes, *identifiers_not_found(base, passages, asked, query.filter, ranked))
        definers = defining(base, query.text, query.filter) if by_name else []
        definers = [each for each in definers if only is None or each in only]
        hits = _hits(base, passages, defined_first(ranked, definers, depth))
        if by_name and mode is SearchMode.HYBRID:
            hits = indexes_last(hits)
        # a term's entry, quoted words, or what the question names, whatever the legs give
        is_named = bool(ranked) and ranked[0][1] > NAMED_FROM
        by_its_words = bool(definers) or bool(only) or asked.only_by_name or is_named
    for reason in degraded:
        log_event(_logger, logging.WARNING, "search_degraded", reason=reason)
    if mode is not SearchMode.KEYWORD and not definers and not names_in_question(query.text).alone:
        hits = reranked(base, query.text, hits, degraded)
    end = query.offset + query.limit
    shown = folded(hits, end if query.per_document is None else None) if query.fold else hits
    shown = per_document(shown, query.per_document) if query.per_document is not None else shown
    page = tuple(map(cited, shown[query.offset : end]))
    found_in = (hit.chunk.document_id for hit in page)
    missed = bool(notes) or not hits
    answer = SearchAnswer(
        hits=page,
        mode=mode,
        searched_documents=statistics.documents,
        degraded=(*degraded, *choice.notes),
        more=len(shown) > end,
        answerability=None
        if also_asked or by_its_words
        else estimate(base, dataclasses.replace(query, text=best.text), mode, best.legs, statistics.chunks),
        also_asked=also_asked,
        notes=notes,
        editions=() if editions is None else notes_on(editions, found_in, query.edition, choice if missed else None),
    )
    return answer, len(ranked)


@dataclass(frozen=True, slots=True)
class _SearchContext:
    """One question over one snapshot.

    Attributes:
        base: the parts.
        passages: those that were read.
        query: with the filter of the documents that may answer, and the number of hits to rank.
        question: as embedded.
        mode: the possible mode.
        asked: what the question names.
        chunks: number of chunks in the collection.
    """

    base: Base
    passages: Passages
    query: SearchQuery
    question: EmbeddedQuery
    mode: SearchMode
    asked: NamesAsked
    chunks: int


class _RankedHits(NamedTuple):
    """The ranked hits of a question.

    Attributes:
        ranked: best first.
        only: the chunks that may be found, None for all.
        notes: what the answer must say.
        text: the question as it was searched.
        legs: its legs.
    """

    ranked: list[Ranked]
    only: Collection[str] | None
    notes: tuple[str, ...]
    text: str
    legs: LegResults


def _best(state: _SearchContext, legs: LegResults) -> _RankedHits:
    """Rank the legs' hits; if no passage contains a word of the question, a similar one is searched instead."""
    base, passages, query, mode = state.base, state.passages, state.query, state.mode
    kept, only, note, text = legs, None, "", state.question.text
    if mode is not SearchMode.SEMANTIC:
        kept, only, note = keep_quoted(base, passages, query.text, query.filter, legs, mode)
    if mode is SearchMode.KEYWORD and not legs.lexical and not base.analyser.query_words(text):
        note = note or f"{_WORDLESS}."
    ranked = _ranked(state, kept, only)
    is_named = bool(ranked) and ranked[0][1] > NAMED_FROM
    if mode is SearchMode.HYBRID and legs.dense and not legs.lexical and not is_named:
        note = note or (_UNSAID if base.analyser.query_words(text) else f"{_WORDLESS}; {_BY_MEANING}")
    notes = (note,) if note else ()
    as_written = query.weight is not None or has_quoted_words(query.text)
    if mode is SearchMode.HYBRID and legs.lexical is not None and not as_written:
        near = [*(hit.chunk_id for hit in legs.lexical[:BEST_BY_WORDS]), *(hit[0] for hit in ranked[:_RESPELT_FROM])]
        instead = respelled(base, query.text, query.filter, passages.get(list(dict.fromkeys(near))))
        if instead:
            text = respell(text, instead)
            limit = rounded_up(query.limit, base.depth)
            legs = dataclasses.replace(
                legs, lexical=base.search(vector=None, text=text, filter=query.filter, limit=limit).lexical
            )
            state = dataclasses.replace(state, question=dataclasses.replace(state.question, text=text))
            ranked = _ranked(state, legs, only)
            notes = tuple(_RESPELT.format(word, other) for word, other in instead.items())
    return _RankedHits(ranked, only, notes, text, legs)


def _needed_depth(base: Base, query: SearchQuery) -> int:
    """Return how many hits to find, so that enough are left and it is known whether more follow."""
    end = query.offset + query.limit
    spare = end + _SPARE if query.fold or query.per_document is not None else 1
    return rounded_up(candidates(base, end + spare), TOGETHER)


def _hits(base: Base, passages: Passages, ranked: Sequence[Ranked]) -> tuple[Hit, ...]:
    """Read the chunks; those deleted meanwhile are left out."""
    found = {chunk.id: chunk for chunk in passages.get([chunk_id for chunk_id, *_ in ranked])}
    records = Records(base, (chunk.document_id for chunk in found.values()))
    return tuple(
        Hit(
            chunk=found[chunk_id],
            score=score,
            dense=dense_place,
            lexical=lexical_place,
            record=records.get(found[chunk_id].document_id),
        )
        for chunk_id, score, dense_place, lexical_place in ranked
        if chunk_id in found and found[chunk_id].document_id not in records.damaged
    )


def _ranked(state: _SearchContext, legs: LegResults, only: Collection[str] | None) -> list[Ranked]:
    """Rank the legs' hits: by scores if configured and no weight is given, otherwise by weighted ranks.

    Args:
        state: the question.
        legs: its hits.
        only: the chunks that may be found, None for all.
    """
    base, query, mode = state.base, state.query, state.mode
    dense = legs.dense if mode is not SearchMode.KEYWORD else None
    lexical = legs.lexical if mode is not SearchMode.SEMANTIC else None
    by_scores = base.blends and query.weight is None and mode is SearchMode.HYBRID
    if by_scores and state.question.vector is not None and dense is not None and lexical is not None:
        ranked = _blended(state, state.question.vector, dense, lexical, only)
    else:
        named = USUAL_WEIGHT if query.weight is None else query.weight
        weight = {SearchMode.SEMANTIC: 1.0, SearchMode.KEYWORD: 0.0}.get(mode, named)
        ranked = in_turns(
            dense,
            lexical,
            base.depth,
            query.limit,
            lambda near, word_hits, most, _: base.fuse(near, word_hits, weight, most),
        )
    if lexical is not None and (query.weight is None or query.mode is SearchMode.KEYWORD):
        ranked = first_verbatim(state.passages, query.text, lexical, ranked, query.limit)
        ranked = pinned(base, state.passages, state.asked, query.filter, ranked, query.limit)
    return ranked


def _blended(
    state: _SearchContext,
    vector: Vector,
    dense: Sequence[LegHit],
    lexical: Sequence[LegHit],
    only: Collection[str] | None,
) -> list[Ranked]:
    """Blend the legs by their scores, move the question's vector towards the best hits, and blend again.

    The ranks in each hit are those in the legs as requested. `only` lists the chunks that may be found.
    """
    base, query, question = state.base, state.query, state.question
    in_full = words_in_full(len(base.analyser.query_words(question.text)), state.chunks) / question.unit

    def rank(near: Sequence[LegHit] | None, word_hits: Sequence[LegHit] | None, most: int, size: int) -> list[Ranked]:
        nearest = [hit for hit in near or () if only is None or hit.chunk_id in only]
        return blend(nearest, word_hits or (), in_full, most, cut=len(word_hits or ()) >= size)

    first = in_turns(dense, lexical, base.depth, query.limit, rank)
    found = tuple(dict.fromkeys(hit.chunk_id for leg in (dense, lexical) for hit in leg))
    again = feedback(base, state.passages, vector, [hit[0] for hit in first], In("chunk_id", found), len(found))
    if again is None:
        return first

    def rank_again(
        near: Sequence[LegHit] | None, word_hits: Sequence[LegHit] | None, most: int, size: int
    ) -> list[Ranked]:
        listed = {hit.chunk_id for leg in (near, word_hits) for hit in leg or ()}
        return rank([hit for hit in again[1] if hit.chunk_id in listed][:size], word_hits, most, size)

    moved = in_turns(dense, lexical, base.depth, query.limit, rank_again)
    best_by_words = (hit.chunk_id for hit in lexical[:BEST_BY_WORDS])
    state.passages.get([*(hit[0] for hit in moved), *best_by_words])  # all in one read
    near = places(dense, {hit[0] for hit in moved})
    return [(chunk_id, score, near.get(chunk_id), word_rank) for chunk_id, score, _, word_rank in moved]


def _mode_left(legs: LegResults, mode: SearchMode, degraded: list[str]) -> SearchMode:
    """Return the mode that is possible if a leg failed."""
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
