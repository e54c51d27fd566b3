"""Words that must stand together, and passages that say a question word for word: both told by the passages' text."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Sequence

from knowledge_mcp.engine.core.base import Base, Passages
from knowledge_mcp.engine.search.blending import Ranked
from knowledge_mcp.language.phrases import Phrase, Saying, phrases_in
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import Filter, LegHit, LegResults, LegScore, SearchMode

_LOOKED_AT = 300
"""Passages with a phrase's words that are looked at; one that says it is among the best for its words alone."""

_BEST_BY_WORDS = 10
"""Passages that may say a question word for word: one that does is among the best by words."""

_MOSTLY = 0.5
"""Share of a question's runs of words from which a passage says it nearly word for word: most of them."""


def phrased(
    base: Base, passages: Passages, question: str, filter: Filter | None, legs: LegResults, mode: SearchMode
) -> tuple[LegResults, Collection[str] | None, str]:
    """Keep of both legs what says the quoted words of a question together, and add what else does.

    Returns:
        The legs; the only passages that may be found, None for all; what to tell. Where no passage says the words
        together, a search by words finds nothing, and the legs of a hybrid one stay as they are.
    """
    phrases = phrases_in(question)
    if not phrases or legs.lexical is None:
        return legs, None, ""
    known = dict.fromkeys(hit.chunk_id for leg in (legs.lexical, legs.dense) for hit in leg or ())
    for phrase in phrases:
        found = base.search(vector=None, text=phrase.text, filter=filter, limit=_LOOKED_AT).lexical or ()
        known.update(dict.fromkeys(hit.chunk_id for hit in found))
    holding = dict.fromkeys(each.id for each in passages.get(list(known)) if _holds(each, phrases))
    if holding:
        lexical = _kept(legs.lexical, holding)
        least = lexical[-1].score if lexical else 0.0
        beyond = [LegHit(each, least) for each in holding.keys() - {hit.chunk_id for hit in lexical}]
        lexical = (*lexical, *sorted(beyond, key=lambda hit: hit.chunk_id))
        dense = _kept(legs.dense, holding) if legs.dense is not None else None
        return dataclasses.replace(legs, lexical=lexical, dense=dense), holding, ""
    quoted = ", ".join(f'"{each.text}"' for each in phrases)
    if mode is SearchMode.KEYWORD:
        return dataclasses.replace(legs, lexical=()), (), f"No passage says {quoted} word for word."
    return legs, None, f"No passage says {quoted} word for word; the results are for the words apart."


def _holds(chunk: Chunk, phrases: Sequence[Phrase]) -> bool:
    said = _saying(chunk)
    return all(said.holds(each) for each in phrases)


def _saying(chunk: Chunk) -> Saying:
    return Saying(chunk.content, chunk.section_title)


def _kept(leg: Sequence[LegHit], wanted: dict[str, None]) -> tuple[LegHit, ...]:
    return tuple(hit for hit in leg if hit.chunk_id in wanted)


def first_verbatim(
    passages: Passages, question: str, lexical: Sequence[LegHit], ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put first what says most of a question in its own order, the most of it before the rest; at most `limit`."""
    best = [hit.chunk_id for hit in lexical[:_BEST_BY_WORDS]]
    shares = {each.id: _saying(each).share(question) for each in passages.get(best)}
    said = {chunk_id: share for chunk_id, share in shares.items() if share > _MOSTLY}
    if not said:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    places = {hit[0]: place for place, hit in enumerate(ranked)}
    words = {hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(lexical[:_BEST_BY_WORDS], start=1)}
    most = ranked[0][1] if ranked else 1.0
    order = sorted(said, key=lambda each: (-said[each], places.get(each, limit), each))
    first = [known.pop(each, (each, 0.0, None, words[each])) for each in order]
    return [*((each[0], most, *each[2:]) for each in first), *known.values()][:limit]
