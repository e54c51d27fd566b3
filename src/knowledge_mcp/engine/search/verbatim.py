"""Find what a question quotes, or what repeats it word for word."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from knowledge_mcp.engine.core.base import Base, Passages
from knowledge_mcp.engine.search.blending import Ranked
from knowledge_mcp.engine.search.folding import TOGETHER
from knowledge_mcp.language.phrases import Phrase, VerbatimMatcher, phrases_in, runs_of_question
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Filter, LegHit, LegResults, LegScore, SearchMode

_LOOKED_AT = 300
"""Number of passages with a phrase's words that are checked; one that contains it is among the best by words."""

BEST_BY_WORDS = 10
"""Number of passages that are checked for a verbatim question: one that contains it is among the best by words."""

_MOSTLY = 0.5
"""Minimum share of a question's word runs in a passage that contains it almost verbatim."""


def keep_quoted(
    base: Base, passages: Passages, question: str, filter: Filter | None, legs: LegResults, mode: SearchMode
) -> tuple[LegResults, Collection[str] | None, str]:
    """Keep hits of both legs that contain the quoted words of a question together, and add others that do.

    Returns:
        The legs; the only passages that may be found, None for all; a note. If no passage contains the words together,
        a search by words finds nothing, and the legs of a hybrid search are unchanged.
    """
    phrases = phrases_in(question)
    if not phrases or legs.lexical is None:
        return legs, None, ""
    by_words, by_meaning = legs.lexical[: base.depth], None if legs.dense is None else legs.dense[: base.depth]
    known = dict.fromkeys(hit.chunk_id for leg in (by_words, by_meaning) for hit in leg or ())
    for phrase in phrases:
        found = base.search(vector=None, text=phrase.text, filter=filter, limit=_LOOKED_AT).lexical or ()
        known.update(dict.fromkeys(hit.chunk_id for hit in found))
    holding = dict.fromkeys(each.id for each in passages.get(list(known)) if contains_together(each, phrases))
    if holding:
        lexical = _kept(by_words, holding)
        least = lexical[-1].score if lexical else 0.0
        beyond = [LegHit(each, least) for each in holding.keys() - {hit.chunk_id for hit in lexical}]
        lexical = (*lexical, *sorted(beyond, key=lambda hit: hit.chunk_id))
        dense = None if by_meaning is None else _kept(by_meaning, holding)
        return dataclasses.replace(legs, lexical=lexical, dense=dense), holding, ""
    quoted = ", ".join(f'"{each.text}"' for each in phrases)
    if mode is SearchMode.KEYWORD:
        return dataclasses.replace(legs, lexical=()), (), f"No passage contains {quoted} word for word."
    return legs, None, f"No passage contains {quoted} word for word; the results match the separate words."


def contains_together(chunk: Chunk, phrases: Sequence[Phrase]) -> bool:
    """Return whether a passage contains the words of every phrase together."""
    words = _words_in(chunk)
    return all(words.holds(each) for each in phrases)


def _words_in(chunk: Chunk) -> VerbatimMatcher:
    return VerbatimMatcher(chunk.content, chunk.section_title)


def _kept(leg: Sequence[LegHit], chunk_ids: dict[str, None]) -> tuple[LegHit, ...]:
    return tuple(hit for hit in leg if hit.chunk_id in chunk_ids)


def first_verbatim(
    passages: Passages, question: str, lexical: Sequence[LegHit], ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put hits first that contain most of a question in its word order, longest matches first; at most `limit`."""
    best = [hit.chunk_id for hit in lexical[:BEST_BY_WORDS]]
    runs = runs_of_question(question)
    shares = {each.id: _words_in(each).share(runs, _MOSTLY) for each in passages.get(best)}
    verbatim = {chunk_id: share for chunk_id, share in shares.items() if share > _MOSTLY}
    if not verbatim:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    places = {hit[0]: place for place, hit in enumerate(ranked[:TOGETHER])}
    words = {hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(lexical[:BEST_BY_WORDS], start=1)}
    most = ranked[0][1] if ranked else 1.0
    order = sorted(verbatim, key=lambda each: (-verbatim[each], places.get(each, TOGETHER), each))
    first = [known.pop(each, (each, 0.0, None, words[each])) for each in order]
    return [*((each[0], most, *each[2:]) for each in first), *known.values()][:limit]
