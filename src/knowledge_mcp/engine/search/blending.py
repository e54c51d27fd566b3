"""Blend both legs of a search into one ranking by scores: similarity of meaning, and share of the words.

```text
s = cosine + lambda * words / ((n + 1) * ln(2 + N))
```

`words` is a passage's BM25 sum, n the number of the question's terms, N the number of chunks. The divisor is
approximately the sum of a passage that contains every term. So a long question, of which every passage contains a small
part, is answered by meaning; one whose words occur together in one passage is answered by words; no parameter of the
collection is needed. If a model's cosines lie closer together than those for which lambda was chosen, the words weigh
proportionally less (`cosine_unit.py`). `benchmarks/ablation.py` compares the sum with fusion by ranks and by the
distribution of the scores.
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace

from knowledge_mcp.engine.core.base import PASSING, Base, Passages
from knowledge_mcp.model.chunk import Chunk, Vector, embedding_key, numbers_of
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit, LegResults, LegScore

WORDS = 4.2
"""Lambda for documents, chosen on the eleven sets that `evals.choices` names for the blend, like the constants
below: from 2.8 to 4.2 their mean changes by less than .001, at 2 and 6 by .005.
"""

_UNSEEN = 0.8
"""A passage found only by words gets this share of the lowest cosine found."""

_HALF = 0.6
"""Sum at which the score is one half."""

EXAMPLES = 2
"""Number of best passages whose vectors are added to the question's."""

_ADDED = 0.6
"""Weight of their mean, relative to the question's own vector."""

Ranked = tuple[str, float, LegScore | None, LegScore | None]

Rank = Callable[[Sequence[LegHit] | None, Sequence[LegHit] | None, int, int], list[Ranked]]
"""Merges the beginnings of two legs: the hits of each, the number of hits wanted, and where the legs were cut."""


def words_in_full(terms: int, chunks: int) -> float:
    """Estimate the BM25 sum of a passage that contains every term of a question; always above 0."""
    return (terms + 1) * math.log(2.0 + chunks)


def blend(
    dense: Sequence[LegHit], lexical: Sequence[LegHit], in_full: float, limit: int, *, cut: bool = True
) -> list[Ranked]:
    """Rank what either leg found by cosine and share of the words; at most `limit` hits, scores in 0..1.

    Args:
        dense: by cosine, best first.
        lexical: by BM25, best first.
        in_full: the result of `words_in_full`.
        limit: maximum number of hits.
        cut: the lexical leg was cut at its limit, so that missing chunks may have as many words as its last hit.
    """
    near = {hit.chunk_id: hit.score for hit in dense}
    word_scores = {hit.chunk_id: hit.score for hit in lexical}
    farthest = _UNSEEN * max(0.0, dense[-1].score) if dense else 0.0
    fewest = lexical[-1].score if lexical and cut else 0.0
    sums = (
        (near.get(chunk_id, farthest) + WORDS * word_scores.get(chunk_id, fewest) / in_full, chunk_id)
        for chunk_id in near | word_scores
    )
    totals = [(-total if total > 0.0 else 0.0, chunk_id) for total, chunk_id in sums]
    totals.sort()
    best = sorted((total / (_HALF - total), chunk_id) for total, chunk_id in totals[:limit])  # equal scores by id
    named = {chunk_id for _, chunk_id in best}
    in_dense, in_lexical = places(dense, named), places(lexical, named)
    return [(chunk_id, abs(score), in_dense.get(chunk_id), in_lexical.get(chunk_id)) for score, chunk_id in best]


def both_legs(base: Base, vector: Vector | None, text: str | None, filter: Filter | None, limit: int) -> LegResults:
    """Search both legs for at least `limit` hits; the first hits by meaning are the same for any limit.

    A store that selects candidates by approximation finds other nearest passages if more are requested. Therefore the
    dense leg begins with the hits of smaller searches, the smallest first.
    """
    depths = [base.depth]
    while depths[-1] < limit:
        depths.append(2 * depths[-1])
    legs = base.search(vector=vector, text=text, filter=filter, limit=limit if len(depths) == 1 else depths[-1])
    if legs.dense is None or len(depths) == 1:
        return legs
    found: dict[str, LegHit] = {}
    for depth in depths[:-1]:
        nearest = base.search(vector=vector, text=None, filter=filter, limit=depth).dense
        found |= {hit.chunk_id: hit for hit in nearest or ()}
    found |= {hit.chunk_id: hit for hit in legs.dense}
    return replace(legs, dense=tuple(found.values()))


def in_turns(
    dense: Sequence[LegHit] | None, lexical: Sequence[LegHit] | None, size: int, limit: int, rank: Rank
) -> list[Ranked]:
    """Rank the best `size` of each leg, then what the next `size` add, and so on; at most `limit` in all.

    Therefore the first hits are the same for any depth of the legs. No hit scores more than the one before it.
    """
    found: dict[str, Ranked] = {}
    deepest, end, lowest = max(len(dense or ()), len(lexical or ())), size, 1.0
    while True:
        near, best_words = (None if leg is None else leg[:end] for leg in (dense, lexical))
        for chunk_id, score, by_meaning, by_words in rank(near, best_words, limit + len(found), end):
            if chunk_id not in found:
                lowest = min(lowest, score)
                found[chunk_id] = (chunk_id, lowest, by_meaning, by_words)
        if len(found) >= limit or end >= deepest:
            return list(found.values())[:limit]
        end += size


def score_of(cosine: float, words: float, in_full: float) -> float:
    """Return the score of a passage found by both legs, 0..1."""
    total = max(0.0, cosine + WORDS * words / in_full)
    return total / (total + _HALF)


def places(leg: Sequence[LegHit], chunk_ids: Container[str]) -> dict[str, LegScore]:
    """Return the ranks of chunks in a leg."""
    return {
        hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(leg, start=1) if hit.chunk_id in chunk_ids
    }


def feedback(
    base: Base, passages: Passages, vector: Vector, best: Sequence[str], filter: Filter | None, limit: int
) -> tuple[Vector, tuple[LegHit, ...]] | None:
    """Search by meaning once more, with the question's vector moved towards the best passages found so far.

    With a filter for the passages that the legs found, this compares vectors that are known, and finds nothing new.

    Returns:
        The moved vector and the new dense leg; None if no vector of the passages is known, or the search failed.

    Raises:
        SpaceMismatchError: as for the store's search.
    """
    moved = _moved_towards(base, vector, passages.get(best[:EXAMPLES]))
    if moved is None:
        return None
    try:
        dense = base.search(vector=moved, text=None, filter=filter, limit=limit).dense
    except PASSING:
        return None  # keep the first ranking
    return None if dense is None else (moved, dense)


def _moved_towards(base: Base, vector: Vector, examples: Sequence[Chunk]) -> Vector | None:
    """Move a question's vector towards the stored vectors of passages; None if none of them is known."""
    try:
        known = base.opened.vectors([embedding_key(each) for each in examples])
    except KnowledgeError:
        return None
    return _moved(vector, known)


def _moved(vector: Vector, examples: Mapping[str, Vector]) -> Vector | None:
    """Add the mean of some vectors to the question's, and normalise the result."""
    others = [numbers_of(each) for each in examples.values() if len(each) == len(vector)]
    if not others:
        return None
    share = _ADDED / len(others)
    summed = functools.reduce(lambda one, other: tuple(map(operator.add, one, other)), others)
    numbers = [own + share * added for own, added in zip(numbers_of(vector), summed, strict=True)]
    length = math.hypot(*numbers)
    return struct.pack(f"<{len(numbers)}f", *[number / length for number in numbers]) if length > 0.0 else None
