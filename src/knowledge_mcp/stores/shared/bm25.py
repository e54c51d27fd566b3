"""BM25 as every store computes it, so that the same query ranks alike on each.

```text
score = sum over query terms of  idf · tf / (tf + k1 · (1 - b + b · length / mean length))
idf   = ln(1 + (N - df + 0.5) / (df + 0.5))
```

N, df and the mean length count the visible chunks of the whole collection, whatever the filter; `tf` stops at 255.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable

K1 = 1.2
B = 0.4
LARGEST_COUNT = 255
"""A term said oftener than this in one chunk counts as said so often; keeps a count in one byte."""


def term_counts(terms: Iterable[str]) -> dict[str, int]:
    """Count each term of a chunk; a chunk's length is the sum of these counts."""
    return {term: min(count, LARGEST_COUNT) for term, count in Counter(terms).items()}


def inverse_frequency(chunks: int, holding: int) -> float:
    """Weigh a term by how few of the chunks hold it; always above 0."""
    return math.log(1.0 + (chunks - holding + 0.5) / (holding + 0.5))
