"""Results that say the same are shown once, and no document crowds out the others where that is asked for."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence

from knowledge_mcp.model.query import Hit

__all__ = ["ALIKE", "folded", "per_document"]

ALIKE = 0.9
"""Share of word runs that two passages must have in common to count as one."""

_RUN = 4
_WORD = re.compile(r"\w+")
_DECISIVE = re.compile(
    r"\d+(?:[.,]\d+)*|\b(?:shall|should|must|may|might|can|will|not|no|never|none|cannot|without|unless|except|only)\b"
    r"|n't\b|[<>≤≥±]",
    re.IGNORECASE,
)
"""Numbers, modal verbs, negations and comparisons: in these, nearly the same is another thing."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Shape:
    """What of a passage is compared: its runs of words, and the words and signs that may not differ."""

    runs: frozenset[tuple[str, ...]]
    decisive: Counter[str]


def folded(hits: Sequence[Hit]) -> list[Hit]:
    """Leave out hits that repeat a better one; that one names where else it stands (`Hit.also_in`).

    Two passages repeat each other when nine tenths of their runs of four words are the same, and all numbers, modal
    verbs and negations: an edition that changes one limit or one "shall" is never folded away. Words are compared
    without case and punctuation.

    Args:
        hits: best first.
    """
    kept: list[tuple[Hit, _Shape]] = []
    for hit in hits:
        shape = _shape(hit.chunk.content)
        for place, (better, known) in enumerate(kept):
            if _alike(shape, known):
                kept[place] = (dataclasses.replace(better, also_in=(*better.also_in, hit.citation)), known)
                break
        else:
            kept.append((hit, shape))
    return [hit for hit, _ in kept]


def per_document(hits: Sequence[Hit], most: int) -> list[Hit]:
    """Keep the first `most` hits of each document, in their order."""
    seen: Counter[str] = Counter()
    kept: list[Hit] = []
    for hit in hits:
        seen[hit.chunk.document_id] += 1
        if seen[hit.chunk.document_id] <= most:
            kept.append(hit)
    return kept


def _shape(text: str) -> _Shape:
    words = [word.casefold() for word in _WORD.findall(text)]
    runs = {tuple(words[at : at + _RUN]) for at in range(max(1, len(words) - _RUN + 1))}
    return _Shape(frozenset(runs), Counter(each.casefold() for each in _DECISIVE.findall(text)))


def _alike(one: _Shape, other: _Shape) -> bool:
    if one.decisive != other.decisive:
        return False
    common = len(one.runs & other.runs)
    return common >= ALIKE * (len(one.runs) + len(other.runs) - common)
