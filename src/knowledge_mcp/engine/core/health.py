"""How the knowledge base is: what it holds, and whether what it depends on answers (clarification 7)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from knowledge_mcp.engine.core.base import Base
from knowledge_mcp.engine.core.snapshots import counts_of
from knowledge_mcp.engine.core.soundness import notes_of, remember, still_damaged
from knowledge_mcp.model.collection import StoreStatistics
from knowledge_mcp.model.errors import KnowledgeError, noticing
from knowledge_mcp.model.query import Check, HealthReport, Stats
from knowledge_mcp.support.retry import without_retries

PAID_PROBE_SECONDS = 60.0
"""A service that takes money is asked no more often than this; in between its last answer is told."""

_TOLD = 5
"""Damaged parts that a health report names."""
_EMPTY = StoreStatistics(documents=0, chunks=0, tokens=0, storage_bytes=0)


class EmbeddingProbe:
    """Ask the embedding service whether it works; thread-safe.

    The embedding model is loaded before its time is taken: loading it once is not its latency. A service that takes
    money is asked once a minute at the most.

    Args:
        base: whose embedder is asked.
        clock: seconds.
    """

    def __init__(self, base: Base, clock: Callable[[], float] = time.perf_counter) -> None:
        self._base = base
        self._clock = clock
        self._lock = threading.Lock()
        self._asked = 0.0
        self._last: Check | None = None

    def check(self, threshold_ms: int) -> Check:
        """Embed one short text and time it, or tell the last answer of a paid service."""
        if self._base.embedder.price == 0.0:
            return self._ask(threshold_ms, "health")
        with self._lock:
            age = self._clock() - self._asked
            if self._last is not None and age < PAID_PROBE_SECONDS:
                return replace(self._last, message=f"{self._last.message} (asked {age:.0f} s ago)")
            # a text that no cache has seen, or the answer would come from there
            self._last = self._ask(threshold_ms, f"health {datetime.now(UTC).isoformat()}")
            self._asked = self._clock()
            return self._last

    def _ask(self, threshold_ms: int, text: str) -> Check:
        def embed() -> None:
            self._base.check_space()
            self._base.embedder.embed_query(text)

        return _check(embed, threshold_ms, self._clock, prepare=self._base.embedder.warm_up)


def health(
    base: Base, probe: EmbeddingProbe, *, threshold_ms: int, clock: Callable[[], float] = time.perf_counter
) -> HealthReport:
    """Ask the store and the embedding service for one cheap answer each, and time it."""
    store = _check(lambda: _ask_store(base), threshold_ms, clock)
    damaged = still_damaged(base) if store.up else ()
    told = " ".join(each for each in (_why_degraded(base) if store.up else "", *damaged[:_TOLD]) if each)
    if told:
        store = replace(store, message=told)
    service = probe.check(threshold_ms)
    checks = (store, service)
    status: Literal["healthy", "degraded", "unhealthy"] = "healthy"
    if not all(check.up for check in checks):
        status = "unhealthy"
    elif told or any(check.latency_ms >= threshold_ms for check in checks):
        status = "degraded"
    return HealthReport(status, store, service, datetime.now(UTC).isoformat())


def _ask_store(base: Base) -> None:
    """Make one cheap round trip to the store."""
    with without_retries():
        base.opened.info()


def stats(base: Base) -> Stats:
    """Count what there is; a store that does not answer is `unavailable`, its numbers 0, the reason in the notes."""
    space = base.embedder.space
    try:
        exists = base.exists()
        with noticing() as damage:
            documents = base.records()
        remember(base, damage)
        notes = tuple(each for each in (base.why_degraded(), *notes_of(damage)) if each)
        return Stats(
            statistics=counts_of(base.opened) if exists else _EMPTY,
            documents=documents,
            backend=base.store.identity.backend,
            status="degraded" if notes else "healthy",
            hybrid_enabled=base.hybrid,
            space=space,
            notes=notes,
        )
    except KnowledgeError as exc:
        return Stats(_EMPTY, (), base.store.identity.backend, "unavailable", base.hybrid, space, notes=(exc.message,))


def _why_degraded(base: Base) -> str:
    try:
        return base.why_degraded()
    except KnowledgeError as exc:
        return exc.message


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
