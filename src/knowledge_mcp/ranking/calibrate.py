"""From the cosine of a question and a passage of code to a similarity of 0..1 that means the same for each model.

C's similarity is `1 - distance/2`, which is `(1 + cosine)/2`, and its default threshold is 0.7, a cosine of 0.4. How
high the cosines of relevant passages are differs from model to model; so each model that was measured has two points:
the cosine that is to be 0.7, so that the default threshold costs little recall, and the cosine that is to be 0.9.
Between and beyond the points the mapping is linear, 0 at cosine -1 and 1 at cosine 1, and so keeps every order.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

from knowledge_mcp.model.collection import EmbeddingSpace

__all__ = ["ANCHORS", "code_similarity"]

ANCHORS: Mapping[str, tuple[float, float]] = {
    "all-MiniLM-L6-v2": (0.15, 0.6),
}
"""Cosines that become 0.7 and 0.9, by model; a model that is not here keeps C's own mapping.

| model | set | recall@10 by meaning | above 0.7 | above a cosine of 0.4 |
|---|---|---|---|---|
| all-MiniLM-L6-v2, int8 | commits-flask-py | .926 | .911 | .592 |
| | commits-gin-go | .867 | .842 | .490 |
| | cosqa-dev | .822 | .822 | .822 |

`benchmarks/code_search.py` measures them: short questions about short functions lie at 0.54 and above, messages of
commits about whole files at 0.17 and above, in 95 of 100 cases.
"""

_LOW, _HIGH = 0.7, 0.9


def code_similarity(space: EmbeddingSpace, cosine: float) -> float:
    """Map a cosine in a space to a similarity; values outside -1..1 are cut."""
    cosine = min(max(cosine, -1.0), 1.0)
    anchors = ANCHORS.get(space.model)
    if anchors is None:
        return (1.0 + cosine) / 2.0
    points = ((-1.0, 0.0), (anchors[0], _LOW), (anchors[1], _HIGH), (1.0, 1.0))
    for (left, below), (right, above) in pairwise(points):
        if cosine <= right:
            return below + (above - below) * (cosine - left) / (right - left)
    return 1.0
