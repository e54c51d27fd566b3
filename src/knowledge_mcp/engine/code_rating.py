"""One similarity of 0..1 for a passage of code: what its cosine is calibrated to, raised by the words that it holds.

Passages are read as late as can be: of hundreds of candidates ten are shown, and reading one can only lower it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass

from knowledge_mcp.engine.base import Passages
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import EmbeddingSpace

__all__ = ["HALF_ALONE", "Candidate", "by_words", "read_best", "similar"]

HALF_ALONE = 0.5
"""BM25 sum at which a keyword hit's similarity is one half; the default threshold then costs keyword search 2 %."""

_KNEE, _BEND = 0.6, 0.4
"""Sum of cosine and words from which a similarity is no longer its calibration, and how slowly it then nears 1."""

_REMARK = 0.8
"""What a lone comment's meaning counts: few words are near to much, and say little."""

_FEW_TOKENS = 24
_COMMENT = re.compile(r"\s*(?:#|//|--|/?\*|;|%|$)")
_SPARE = 4
"""Candidates read beyond those wanted, so that a comment or two among them do not cost another look-up."""


@dataclass(slots=True)
class Candidate:
    """One passage that may be shown.

    Attributes:
        similarity: 0..1; of one that was not read yet, the most that it can be.
        exact: whether it is what was asked for by name, and comes first.
        firm: whether reading it cannot lower the similarity.
        chunk: the passage, None before it was read.
    """

    chunk_id: str
    similarity: float
    exact: bool = False
    firm: bool = False
    chunk: Chunk | None = None


def by_words(bm25: float) -> float:
    """Map a BM25 sum by itself to 0..1."""
    return bm25 / (bm25 + HALF_ALONE)


def similar(
    calibrated: Callable[[EmbeddingSpace, float], float], space: EmbeddingSpace, cosine: float, words: float | None
) -> float:
    """Map a cosine with what words add to 0..1: as cosines are calibrated up to the knee, then ever nearer to 1.

    Args:
        calibrated: maps a cosine in a space to 0..1.
        space: which that is.
        cosine: -1..1.
        words: from 0, None where only meaning counts.
    """
    total = cosine if words is None else min(cosine + words, _KNEE)
    known = min(max(calibrated(space, total), 0.0), 1.0)
    beyond = 0.0 if words is None else cosine + words - total
    return 1.0 - (1.0 - known) * math.exp(-beyond / _BEND)


def read_best(passages: Passages, rated: list[Candidate], wanted: int) -> list[Candidate]:
    """Order candidates, best first, and read as many as are needed to be sure of the best; returns these.

    One that has just gone leaves the list. Of those that were not read, the similarity stays the most it can be.
    """
    while True:
        rated.sort(key=_order)
        if all(each.chunk is not None for each in rated[:wanted]):
            return rated[:wanted]
        unread = [each for each in rated[: wanted + _SPARE] if each.chunk is None]
        read = {each.id: each for each in passages.get([each.chunk_id for each in unread])}
        for each in unread:
            each.chunk = read.get(each.chunk_id)
            if each.chunk is None:
                rated.remove(each)
            elif not each.firm and _is_remark(each.chunk):
                each.similarity *= _REMARK


def _order(candidate: Candidate) -> tuple[bool, float, str]:
    return not candidate.exact, -candidate.similarity, candidate.chunk_id


def _is_remark(chunk: Chunk) -> bool:
    """Tell whether a chunk is nothing but a short comment."""
    if chunk.definitions or chunk.token_count > _FEW_TOKENS:
        return False
    return all(_COMMENT.match(line) for line in chunk.content.split("\n"))
