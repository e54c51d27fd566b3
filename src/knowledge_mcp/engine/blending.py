"""Both legs of a search in one ranking by their scores: how near the meaning is, and how much of the words is there.

```text
s = cosine + lambda * words / ((n + 1) * ln(2 + N))
```

`words` is a passage's BM25 sum, n the number of the question's terms, N the number of chunks: the divisor is about the
sum that a passage would have that says every term. So a long question of which every passage holds a small part is
answered by meaning, and one whose words stand together in one passage by these, without anything being told about the
collection. Where a model's cosines lie closer together than those that lambda was chosen with, the words weigh less in
proportion (`nearness`). `benchmarks/ablation.py` compares the sum with fusion by ranks and by the distribution of the
scores.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Container, Mapping, Sequence

from knowledge_mcp.engine.base import PASSING, Base, Passages
from knowledge_mcp.engine.prepare import embedding_key
from knowledge_mcp.model.chunk import Chunk, Vector, numbers_of
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Filter, LegHit, LegScore

__all__ = ["EXAMPLES", "WORDS", "Ranked", "blend", "feedback", "places", "words_in_full"]

WORDS = 4.2
"""Lambda for documents: from 2.8 to 4.2 the mean of the labelled sets moves by less than .001, at 2 and 6 by .005."""

_UNSEEN = 0.8
"""Share of the farthest cosine found that a passage gets which only the words found."""

_HALF = 0.6
"""Sum at which a score is one half."""

EXAMPLES = 2
"""Best passages whose meaning is added to the question's."""

_ADDED = 0.6
"""Weight of their mean beside the question's own vector."""

Ranked = tuple[str, float, LegScore | None, LegScore | None]


def words_in_full(terms: int, chunks: int) -> float:
    """Estimate the BM25 sum of a passage that says every term of a question; always above 0."""
    return (terms + 1) * math.log(2.0 + chunks)


def blend(
    dense: Sequence[LegHit], lexical: Sequence[LegHit], in_full: float, limit: int, *, cut: bool = True
) -> list[Ranked]:
    """Rank what either leg found by cosine and share of the words; at most `limit`, scores in 0..1.

    Args:
        dense: by cosine, best first.
        lexical: by BM25, best first.
        in_full: what `words_in_full` says.
        limit: most hits.
        cut: the lexical leg ended at its limit, so that what it does not name may hold as many words as its last hit.
    """
    near = {hit.chunk_id: hit.score for hit in dense}
    said = {hit.chunk_id: hit.score for hit in lexical}
    farthest = _UNSEEN * max(0.0, dense[-1].score) if dense else 0.0
    fewest = lexical[-1].score if lexical and cut else 0.0
    totals = [
        (min(0.0, -near.get(chunk_id, farthest) - WORDS * said.get(chunk_id, fewest) / in_full), chunk_id)
        for chunk_id in near | said
    ]
    totals.sort()
    best = sorted((total / (_HALF - total), chunk_id) for total, chunk_id in totals[:limit])  # now equal scores by id
    named = {chunk_id for _, chunk_id in best}
    in_dense, in_lexical = places(dense, named), places(lexical, named)
    return [(chunk_id, abs(score), in_dense.get(chunk_id), in_lexical.get(chunk_id)) for score, chunk_id in best]


def places(leg: Sequence[LegHit], wanted: Container[str]) -> dict[str, LegScore]:
    """Say where some chunks stand in a leg."""
    return {hit.chunk_id: LegScore(rank, hit.score) for rank, hit in enumerate(leg, start=1) if hit.chunk_id in wanted}


def feedback(
    base: Base, passages: Passages, vector: Vector, best: Sequence[str], filter: Filter | None, limit: int
) -> tuple[Vector, tuple[LegHit, ...]] | None:
    """Search by meaning once more, with the question's vector moved towards the best passages found so far.

    Returns:
        The moved vector and the new dense leg; None where there is nothing to move by.

    Raises:
        SpaceMismatchError: as the store's search.
    """
    moved = _moved_towards(base, vector, passages.get(best[:EXAMPLES]))
    if moved is None:
        return None
    try:
        dense = base.search(vector=moved, text=None, filter=filter, limit=limit).dense
    except PASSING:
        return None  # the first ranking stands
    return None if dense is None else (moved, dense)


def _moved_towards(base: Base, vector: Vector, examples: Sequence[Chunk]) -> Vector | None:
    """Move a question's vector towards some passages, as stored; None where no vector of theirs is known."""
    try:
        known = base.store.vectors(base.collection, [embedding_key(each) for each in examples])
    except KnowledgeError:
        return None
    return _moved(vector, known)


def _moved(vector: Vector, examples: Mapping[str, Vector]) -> Vector | None:
    """Add the mean of some vectors to the question's, and give it length 1 again."""
    others = [numbers_of(each) for each in examples.values() if len(each) == len(vector)]
    if not others:
        return None
    share = _ADDED / len(others)
    summed = map(sum, zip(*others, strict=True))
    numbers = [own + share * added for own, added in zip(numbers_of(vector), summed, strict=True)]
    length = math.hypot(*numbers)
    return struct.pack(f"<{len(numbers)}f", *[number / length for number in numbers]) if length > 0.0 else None
