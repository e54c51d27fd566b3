"""How the knowledge base is: what it holds, and whether what it depends on answers (clarification 7)."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

from knowledge_mcp.engine.base import Base
from knowledge_mcp.model.collection import StoreStatistics
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.query import Check, HealthReport, Stats

__all__ = ["health", "stats"]

_EMPTY = StoreStatistics(documents=0, chunks=0, tokens=0, storage_bytes=0)


def health(base: Base, *, threshold_ms: int, clock: Callable[[], float] = time.perf_counter) -> HealthReport:
    """Ask the store and the embedding service for one cheap answer each, and time it.

    The embedding model is loaded before its time is taken: loading it once is not its latency.
    """
    store = _check(base.store.ping, threshold_ms, clock)
    service = _check(lambda: _embed_once(base), threshold_ms, clock, prepare=base.embedder.warm_up)
    checks = (store, service)
    status: Literal["healthy", "degraded", "unhealthy"] = "healthy"
    if not all(check.up for check in checks):
        status = "unhealthy"
    elif any(check.latency_ms >= threshold_ms for check in checks):
        status = "degraded"
    return HealthReport(status, store, service, datetime.now(UTC).isoformat())


def stats(base: Base) -> Stats:
    """Count what there is; a store that does not answer is `unavailable`, its numbers 0, the reason in the notes."""
    space = base.embedder.space
    try:
        exists = base.exists()
        return Stats(
            statistics=base.store.statistics(base.collection) if exists else _EMPTY,
            documents=tuple(base.store.documents(base.collection)) if exists else (),
            backend=base.store.backend,
            status="healthy",
            hybrid_enabled=base.hybrid,
            space=space,
        )
    except KnowledgeError as exc:
        return Stats(_EMPTY, (), base.store.backend, "unavailable", base.hybrid, space, notes=(exc.message,))


def _embed_once(base: Base) -> None:
    base.check_space()
    base.embedder.embed_query("health")


def _check(
    call: Callable[[], object],
    threshold_ms: int,
    clock: Callable[[], float],
    prepare: Callable[[], object] | None = None,
) -> Check:
    started = clock()
    try:
        if prepare is not None:
            prepare()
            started = clock()
        call()
    except KnowledgeError as exc:
        return Check(up=False, latency_ms=_since(started, clock), message=exc.message)
    latency = _since(started, clock)
    return Check(up=True, latency_ms=latency, message="Latency above threshold" if latency >= threshold_ms else "OK")


def _since(started: float, clock: Callable[[], float]) -> int:
    return round((clock() - started) * 1000)
