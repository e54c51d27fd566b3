"""Passages that are asked for by their own names come first: clauses by number, requirements by id, symbols by name."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.engine.base import Base, Passages
from knowledge_mcp.engine.blending import Ranked
from knowledge_mcp.engine.names import Asked, Exactness, Name, asked_for, best_exactness
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.query import And, Equals, Filter

__all__ = ["pinned"]

_LOOKED_AT = 50
"""Passages with an identifier's words that are looked at."""

_MOST_BESIDE_WORDS = 3
"""Passages that may be put first where the question asks for more than an identifier."""

_SCORES = {Exactness.OWN: 1.0, Exactness.TITLE: 0.98, Exactness.OPENING: 0.96, Exactness.MENTIONED: 0.94}
_REST = 0.92
"""Greatest score of what was not asked for by name, where something was."""


def pinned(
    base: Base, passages: Passages, question: str, filter: Filter | None, ranked: Sequence[Ranked], limit: int
) -> list[Ranked]:
    """Put the passages that bear an identifier of the question before all others; at most `limit` in all.

    Where nothing but the identifier is asked, all that bear it come first: those whose own it is, then those titled,
    opened by it or mentioning it. Among other words only those come first whose own it is. Passages named so have
    scores above .93, all others below.
    """
    asked = asked_for(question)
    if not asked.names:
        return list(ranked)
    order = _candidates(base, asked, filter)
    places = {hit[0]: place for place, hit in enumerate(ranked)}
    chunks = passages.get(list(dict.fromkeys([*places, *order])))
    least = _least(asked)
    borne = {chunk.id: (best_exactness(chunk, asked.names, least), chunk) for chunk in chunks}
    named = [(exact, chunk) for exact, chunk in borne.values() if exact >= least]
    if asked.alone:
        documents = {chunk.document_id: place for place, chunk in reversed(list(enumerate(_in(order, borne))))}
        last = len(documents)
        named.sort(key=lambda each: (-each[0], documents.get(each[1].document_id, last), each[1].index))
    else:
        last = len(places)
        named.sort(key=lambda each: (-each[0], places.get(each[1].id, last), each[1].index))
        named = named[:_MOST_BESIDE_WORDS]
    if not named:
        return list(ranked)
    known = {hit[0]: hit for hit in ranked}
    first: list[Ranked] = []
    for exact, chunk in named:
        _, _, dense, lexical = known.pop(chunk.id, (chunk.id, 0.0, None, None))
        first.append((chunk.id, _SCORES[exact], dense, lexical))
    rest = [(hit[0], hit[1] * _REST, hit[2], hit[3]) for hit in known.values()]
    return [*first, *rest][:limit]


def _candidates(base: Base, asked: Asked, filter: Filter | None) -> list[str]:
    """Name passages that may bear an identifier, the likeliest first."""
    found: dict[str, None] = {}
    for each in asked.names:
        if each.is_clause:
            found.update(_looked_up(base, each, _both(filter, Equals("clause_number", each.text))))
        found.update(_looked_up(base, each, filter))
    return list(found)


def _looked_up(base: Base, name: Name, filter: Filter | None) -> dict[str, None]:
    hits = base.search(vector=None, text=name.text, filter=filter, limit=_LOOKED_AT).lexical or ()
    return dict.fromkeys(hit.chunk_id for hit in hits)


def _both(filter: Filter | None, other: Filter) -> Filter:
    return other if filter is None else And((filter, other))


def _in(order: Sequence[str], borne: dict[str, tuple[Exactness, Chunk]]) -> list[Chunk]:
    return [borne[key][1] for key in order if key in borne]


def _least(asked: Asked) -> Exactness:
    if not asked.alone:
        return Exactness.OWN
    numbers = all(each.key.isdigit() for each in asked.names)
    return Exactness.TITLE if numbers else Exactness.MENTIONED
