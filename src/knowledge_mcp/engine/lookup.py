"""A term's way: its definitions, or the terms that it may have meant (clarification 3)."""

from __future__ import annotations

from collections.abc import Iterable

from knowledge_mcp.engine.base import PASSING, Base, Records
from knowledge_mcp.engine.cite import cite
from knowledge_mcp.model.chunk import Chunk, ChunkType
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.model.query import DefinitionHit, Equals, LookupAnswer
from knowledge_mcp.support.edit_distance import edit_distance_within

__all__ = ["definitions_in", "lookup"]

_SIMILAR = 3
_LEAST_SIMILARITY = 0.5
_MOST_EDITS = 2


def lookup(base: Base, term: str) -> LookupAnswer:
    """Find every definition of a term, by its printed form or an alias; case, accents, hyphens, plural do not matter.

    Raises:
        InvalidInputError: blank term.
    """
    key = base.analyser.term_key(term)
    if not key:
        raise InvalidInputError("The term is empty.", suggestion="Give the term to look up.")
    if not base.exists():
        return LookupAnswer(term=term, definitions=())
    hits = tuple(
        hit
        for hit in definitions_in(base, base.store.definitions(base.collection, key))
        if key in _keys(base, (hit.definition.term, *hit.definition.aliases))
    )
    if hits:
        return LookupAnswer(term=term, definitions=hits)
    similar, degraded = _similar_terms(base, term, key)
    return LookupAnswer(term=term, definitions=(), similar_terms=similar, degraded=degraded)


def definitions_in(base: Base, chunks: Iterable[Chunk]) -> list[DefinitionHit]:
    """List the definitions that stand in chunks, each once, with citations."""
    records = Records(base)
    seen: set[tuple[str, int, str]] = set()
    hits: list[DefinitionHit] = []
    for chunk in chunks:
        for definition in chunk.definitions:
            place = (chunk.document_id, definition.span.start, definition.term)
            if place not in seen:
                seen.add(place)
                hits.append(DefinitionHit(definition, chunk, cite(chunk, records.get(chunk.document_id))))
    return hits


def _keys(base: Base, names: Iterable[str]) -> set[str]:
    return {base.analyser.term_key(name) for name in names}


def _similar_terms(base: Base, term: str, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    degraded: tuple[str, ...] = ()
    try:
        semantic = _semantic_terms(base, term)
    except PASSING as exc:
        semantic = []
        degraded = (f"Similar terms are by spelling only: {exc.message}",)
    fuzzy = _fuzzy_terms(base, key) if len(semantic) < _SIMILAR else []
    names: dict[str, str] = {}
    for name in (*fuzzy, *semantic):
        names.setdefault(base.analyser.term_key(name), name)
    # Typing errors first by distance, also such as were found by meaning; then by meaning.
    return tuple(sorted(names.values(), key=lambda name: _edits(base, key, name))), degraded


def _edits(base: Base, key: str, name: str) -> int:
    distance = edit_distance_within(key, base.analyser.term_key(name), _MOST_EDITS)
    return _MOST_EDITS + 1 if distance is None else distance


def _semantic_terms(base: Base, term: str) -> list[str]:
    """List up to three terms whose definition chunks are nearer than .5, nearest first."""
    legs = base.search(
        vector=base.query_vector(term),
        text=None,
        filter=Equals("chunk_type", ChunkType.DEFINITION.value),
        limit=4 * _SIMILAR,
    )
    near = [hit.chunk_id for hit in legs.dense or () if hit.score > _LEAST_SIMILARITY]
    names: dict[str, str] = {}
    for chunk in base.store.chunks(base.collection, near):
        for definition in chunk.definitions[:1]:
            names.setdefault(base.analyser.term_key(definition.term), definition.term)
    return list(names.values())[:_SIMILAR]


def _fuzzy_terms(base: Base, key: str) -> list[str]:
    """List up to three defined terms at most two edits away, nearest first; of a short term, something must be left."""
    bound = min(_MOST_EDITS, len(key) - 1)
    near = [
        (distance, printed)
        for other, printed in base.store.defined_terms(base.collection).items()
        if (distance := edit_distance_within(key, other, bound)) is not None
    ]
    return [printed for _, printed in sorted(near)[:_SIMILAR]]
