"""Weighted reciprocal rank fusion: two rankings made one, by places and not by scores."""

from __future__ import annotations

from collections.abc import Sequence

from knowledge_mcp.model.query import LegHit, LegScore

__all__ = ["HALF_SCORE", "RANK_CONSTANT", "fuse"]

RANK_CONSTANT = 60
"""k of the formula (A names it): how little the first places differ from each other."""

HALF_SCORE = 10.0
"""BM25 sum at which a keyword hit's score is one half: about what a passage with two rare words of the query gets."""

Fused = tuple[str, float, LegScore | None, LegScore | None]


def fuse(dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, weight: float, limit: int) -> list[Fused]:
    """Merge the legs into at most `limit` hits: chunk id, score 0..1, place in the dense leg, in the lexical one.

    With both legs the score is `w/(60 + dense rank) + (1 - w)/(60 + lexical rank)` over its greatest value 1/61; a leg
    that does not name a chunk adds nothing. Weight 1 is the dense leg's order, weight 0 the lexical one's, and then the
    other leg's chunks are left out. With one leg its own order stands, and the score is the cosine cut at 0, or
    `s/(s + 10)` for a BM25 sum s. Equal scores are ordered by chunk id.

    Raises:
        ValueError: the weight is outside 0..1.
    """
    if not 0.0 <= weight <= 1.0:
        raise ValueError(f"the weight must lie in 0..1, not at {weight}")
    dense_places = _places(dense)
    lexical_places = _places(lexical)
    if lexical is None:
        return [
            (chunk_id, min(1.0, max(0.0, place.score)), place, None)
            for chunk_id, place in list(dense_places.items())[:limit]
        ]
    if dense is None:
        return [
            (chunk_id, place.score / (place.score + HALF_SCORE) if place.score > 0.0 else 0.0, None, place)
            for chunk_id, place in list(lexical_places.items())[:limit]
        ]
    fused: list[Fused] = []
    for chunk_id in dense_places | lexical_places:
        in_dense, in_lexical = dense_places.get(chunk_id), lexical_places.get(chunk_id)
        score = _share(in_dense, weight) + _share(in_lexical, 1.0 - weight)
        if score > 0.0:
            fused.append((chunk_id, min(1.0, score), in_dense, in_lexical))
    fused.sort(key=lambda hit: (-hit[1], hit[0]))
    return fused[:limit]


def _places(leg: Sequence[LegHit] | None) -> dict[str, LegScore]:
    return {hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(leg or (), start=1)}


def _share(place: LegScore | None, weight: float) -> float:
    return weight * (RANK_CONSTANT + 1) / (RANK_CONSTANT + place.rank) if place is not None else 0.0
