"""What every reranker does alike: scores of the best hits turned into their new order."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Sequence

from knowledge_mcp.model.errors import InternalError, TimedOutError
from knowledge_mcp.model.query import Hit

__all__ = ["Clock", "late", "reordered", "text_of"]


class Clock:
    """Hold the moment until which an answer is of use."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline

    @property
    def left(self) -> float:
        """Seconds that are left, never negative."""
        return max(0.0, self._deadline - time.monotonic())


def late() -> TimedOutError:
    """Say that the order comes too late to be used."""
    return TimedOutError(
        "The reranker was not done in time.",
        suggestion="Raise RERANKER_BUDGET_MS, lower RERANKER_TOP, or take a smaller model.",
    )


def text_of(hit: Hit) -> str:
    """Give what is compared with the question: heading path and passage, as they are embedded."""
    return hit.chunk.embedding_text


def reordered(hits: Sequence[Hit], scores: Sequence[float]) -> list[Hit]:
    """Order hits by new scores, each 0..1; equal ones keep their order.

    Raises:
        InternalError: a score is missing, or no number within 0..1.
    """
    if len(scores) != len(hits) or not all(math.isfinite(each) and 0.0 <= each <= 1.0 for each in scores):
        raise InternalError("The reranker gave no usable scores.", details=f"{len(scores)} for {len(hits)} passages")
    places = sorted(range(len(hits)), key=lambda place: -scores[place])
    return [dataclasses.replace(hits[place], score=scores[place]) for place in places]
