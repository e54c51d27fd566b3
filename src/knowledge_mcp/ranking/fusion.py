"""Fusion of two rankings by weighted reciprocal rank fusion, and similarities that are comparable between models.

In specification C, similarity is `1 - distance/2`, which is `(1 + cosine)/2`, and the default threshold is 0.7, a
cosine of 0.4. The cosines of relevant passages differ from model to model. Therefore each measured model has two anchor
points: the cosine that maps to 0.7, so that the default threshold costs little recall, and the cosine that maps to 0.9.
Between and beyond the points the mapping is linear, with 0 at cosine -1 and 1 at cosine 1, so it never changes the
order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from knowledge_mcp.model.collection import EmbeddingSpace
from knowledge_mcp.model.query import LegHit, LegScore

RANK_CONSTANT = 60
"""k of the formula (specification A names it): the larger, the less the first ranks differ from each other."""

HALF_SCORE = 10.0
"""BM25 sum that maps to a score of one half: about that of a passage with two rare words of the query."""

Fused = tuple[str, float, LegScore | None, LegScore | None]


def fuse(dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, weight: float, limit: int) -> list[Fused]:
    """Merge the legs into at most `limit` hits: chunk id, score 0..1, rank and score in the dense and the lexical leg.

    With both legs the score is `w/(60 + dense rank) + (1 - w)/(60 + lexical rank)`, divided by its maximum 1/61; a leg
    that does not contain a chunk contributes 0. Weight 1 gives the dense leg's order and weight 0 the lexical leg's,
    without the chunks of the other leg. With one leg, its order is kept, and the score is the cosine, at least 0, or
    `s/(s + 10)` for a BM25 sum s. Ties are broken by chunk id.

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


ANCHORS: Mapping[str, tuple[float, float]] = {"all-MiniLM-L6-v2": (0.15, 0.6)}
"""Cosines that map to 0.7 and 0.9, by model; other models use specification C's own mapping.

| model | set | recall@10, dense | above 0.7 | above a cosine of 0.4 |
|---|---|---|---|---|
| all-MiniLM-L6-v2, int8 | commits-flask-py | .926 | .911 | .592 |
| | commits-gin-go | .867 | .842 | .490 |
| | cosqa-dev | .822 | .822 | .822 |

Measured by `benchmarks/code_search.py`: in 95 of 100 cases, short questions about short functions have cosines of 0.54
and above, and commit messages about whole files have cosines of 0.17 and above.
"""

_LOW, _HIGH = 0.7, 0.9


def code_similarity(space: EmbeddingSpace, cosine: float) -> float:
    """Map a cosine in an embedding space to a similarity 0..1; cosines outside -1..1 are clipped."""
    cosine = min(max(cosine, -1.0), 1.0)
    anchors = ANCHORS.get(space.model)
    if anchors is None:
        return (1.0 + cosine) / 2.0
    points = ((-1.0, 0.0), (anchors[0], _LOW), (anchors[1], _HIGH), (1.0, 1.0))
    for (left, below), (right, above) in pairwise(points):
        if cosine <= right:
            return below + (above - below) * (cosine - left) / (right - left)
    return 1.0
