"""The best hits of a search looked at once more, within a budget of time; without success the order stays."""

from __future__ import annotations

import dataclasses
import logging
import time
from collections.abc import Sequence

from knowledge_mcp.engine.base import Base
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Hit
from knowledge_mcp.support.events import log_event

__all__ = ["candidates", "reranked"]

logger = logging.getLogger(__name__)


def candidates(base: Base, limit: int) -> int:
    """Say how many hits a search must find so that `limit` of them can be the reranker's best."""
    return max(limit, base.rerank_top) if base.reranker is not None else limit


def reranked(base: Base, text: str, hits: Sequence[Hit], degraded: list[str]) -> tuple[Hit, ...]:
    """Put the best hits in the reranker's order; those behind them keep theirs and score no more than the last one.

    Args:
        base: holds the reranker, how many hits it looks at, and how long it may take.
        text: the question.
        hits: best first.
        degraded: is told where the order stays because the reranker failed or was late.
    """
    if base.reranker is None or len(hits) < 2:
        return tuple(hits)
    best, rest = hits[: base.rerank_top], hits[base.rerank_top :]
    try:
        done = base.reranker.rerank(text, best, deadline=time.monotonic() + base.rerank_seconds)
    except KnowledgeError as exc:
        log_event(logger, logging.WARNING, "rerank_skipped", reason=exc.message, hits=len(best))
        degraded.append(f"The reranker was skipped ({exc.message}); results are in the order of the search.")
        return tuple(hits)
    lowest = done[-1].score
    return (*done, *(dataclasses.replace(hit, score=min(hit.score, lowest)) for hit in rest))
