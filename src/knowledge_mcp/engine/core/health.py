"""The state of the knowledge base: damage found by answers, its contents, and whether its dependencies respond.

Damaged data is left out of an answer and named in it, and is remembered for the health report (clarification 7).
"""

from __future__ import annotations

import logging
import struct
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal, TypeVar

from knowledge_mcp.engine.core.base import Base, counts_of
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.collection import StoreStatistics
from knowledge_mcp.model.errors import ConnectionFailedError, DamagedError, KnowledgeError, SpaceMismatchError, noticing
from knowledge_mcp.model.evidence import QuoteAnswer, ReferenceAnswer
from knowledge_mcp.model.ingest import Finding
from knowledge_mcp.model.query import Check, Equals, HealthReport, LookupAnswer, RequirementAnswer, SearchAnswer, Stats
from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.retry import without_retries
from knowledge_mcp.support.wording import how_many

_MOST_LISTED = 5
"""Maximum damaged parts named in one answer."""
_REMEMBERED = 100
"""Maximum damaged parts remembered for the health report: more is a broken store, to be checked by `verify`."""
_logger = logging.getLogger(__name__)

Answer = TypeVar("Answer", SearchAnswer, LookupAnswer, RequirementAnswer, QuoteAnswer, ReferenceAnswer)


def sound_answer(base: Base, ask: Callable[[], Answer], is_found: Callable[[Answer], object]) -> Answer:
    """Answer without damaged data, which is named in the answer's `degraded`, as is a store that replaces another.

    Args:
        base: the parts; remembers the damage.
        ask: returns the answer.
        is_found: returns whether the answer contains anything.

    Raises:
        DamagedError: without the damaged data nothing was found.
        ConnectionFailedError: nothing was found, and this is not the configured store.
    """
    try:
        with noticing() as damage:
            answer = ask()
    except DamagedError as exc:
        remember(base, [exc])
        raise
    remember(base, damage)
    if not is_found(answer):
        if damage:
            raise damage[0]
        check_absence(base)
    notes = (*answer.degraded, *((base.degraded,) if base.degraded else ()), *notes_of(damage))
    return replace(answer, degraded=tuple(dict.fromkeys(notes)))


def check_absence(base: Base) -> None:
    """Check that what was not found here cannot be in the configured store instead (clarification 5).

    Raises:
        ConnectionFailedError: the configured store did not answer at the start, and another one is used.
    """
    if base.degraded:
        raise ConnectionFailedError(
            f"Nothing was found, but {base.degraded}",
            suggestion="Make the configured store reachable, and start again: it is chosen at the start.",
        )


def notes_of(damage: Sequence[DamagedError]) -> tuple[str, ...]:
    """Describe what was left out, one sentence each."""
    notes = [f"Omitted: {each.message} {each.suggestion}" for each in damage[:_MOST_LISTED]]
    more = len(damage) - len(notes)
    return (*notes, f"{more} more damaged parts were omitted.") if more else tuple(notes)


def remember(base: Base, damage: Sequence[DamagedError]) -> None:
    """Remember damage for the health report, up to a hundred parts."""
    for each in damage:
        if each.message not in base.damaged and len(base.damaged) < _REMEMBERED:
            base.damaged[each.message] = each
            log_event(_logger, logging.ERROR, "damaged", reason=each.message, details=each.details)


def still_damaged(base: Base) -> tuple[str, ...]:
    """List remembered damage that still exists; each part is read again, and dropped if it is intact or deleted."""
    for name, damage in list(base.damaged.items()):
        if _is_sound(base, damage):
            base.damaged.pop(name, None)
    return tuple(base.damaged)


def _is_sound(base: Base, damage: DamagedError) -> bool:
    opened = base.opened
    try:
        if damage.what == "passage" and damage.document_id:
            opened.chunks("document", [damage.document_id])
        elif damage.what == "passage":
            opened.chunks("id", [damage.chunk_id])
        elif damage.what == "vector":
            dimensions = base.embedder.space.dimensions
            vector = struct.pack(f"<{dimensions}f", *[dimensions**-0.5] * dimensions)
            opened.search(vector=vector, text=None, filter=Equals("chunk_id", damage.chunk_id), limit=1)
        elif damage.what == "record":
            opened.documents([damage.document_id])
        elif (parts := opened.parts(damage.document_id)) is not None:
            _ = parts.structure if damage.what == "structure" else parts.text
    except KnowledgeError:
        return False
    return True


def verify(base: Base, *, repair: bool = False) -> list[Finding]:
    """Check the store's consistency, then each document as an answer reads it; each finding once."""
    if not base.exists():
        return []
    return list(dict.fromkeys((*base.opened.verify(repair=repair), *_documents(base))))


def _documents(base: Base) -> Iterator[Finding]:
    """Read every document as an answer would, and compare each passage with its position in the canonical text."""
    with noticing() as damage:
        records = base.opened.documents()
    for record in records:
        with noticing() as more:
            text, chunks = None, list[Chunk]()
            try:
                parts = base.opened.parts(record.id)
                text, _ = (None, None) if parts is None else (parts.text, parts.structure)
                chunks = base.opened.chunks("document", [record.id])
            except KnowledgeError as exc:
                yield Finding(exc.message, record.id, suggestion=exc.suggestion)
        damage += more
        wrong = sum(text is not None and each.span.of(text) != each.content for each in chunks)
        if wrong:
            message = (
                f"{how_many(wrong, 'passage differs', 'passages differ')} from the canonical text at that location."
            )
            yield Finding(message, record.id, suggestion=DamagedError.default_suggestion)
    for each in damage:
        yield Finding(f"{each.message} {each.details}".strip(), each.document_id or None, suggestion=each.suggestion)


PAID_PROBE_SECONDS = 60.0
"""Seconds between two probes of a paid service; in between, its last result is reported."""

_MOST_REPORTED = 5
"""Maximum damaged parts named in a health report."""
_EMPTY = StoreStatistics(documents=0, chunks=0, tokens=0, storage_bytes=0)


class EmbeddingProbe:
    """Check whether the embedding service works; thread-safe.

    The embedding model is loaded before timing: loading is not latency. A paid service is called at most once a minute.

    Args:
        base: its embedder is checked.
        clock: seconds.
    """

    def __init__(self, base: Base, clock: Callable[[], float] = time.perf_counter) -> None:
        self._base = base
        self._clock = clock
        self._lock = threading.Lock()
        self._probed_at = 0.0
        self._last: Check | None = None

    def check(self, threshold_ms: int) -> Check:
        """Embed one short text and time it, or report the last result of a paid service.

        If the store does not respond, the service has not failed; `health` reports the store.
        """
        try:
            with without_retries():
                self._base.check_space()
        except SpaceMismatchError as exc:
            return Check(up=False, latency_ms=0, message=exc.message)
        except KnowledgeError as exc:
            _logger.debug("the collection's space could not be read: %s", exc.message)
        if self._base.embedder.price == 0.0:
            return self._ask(threshold_ms, "health")
        with self._lock:
            age = self._clock() - self._probed_at
            if self._last is not None and age < PAID_PROBE_SECONDS:
                return replace(self._last, message=f"{self._last.message} (asked {age:.0f} s ago)")
            # a text in no cache, or the answer would come from there
            self._last = self._ask(threshold_ms, f"health {datetime.now(UTC).isoformat()}")
            self._probed_at = self._clock()
            return self._last

    def _ask(self, threshold_ms: int, text: str) -> Check:
        embedder = self._base.embedder
        return _check(lambda: embedder.embed_query(text), threshold_ms, self._clock, prepare=embedder.warm_up)


def health(
    base: Base, probe: EmbeddingProbe, *, threshold_ms: int, clock: Callable[[], float] = time.perf_counter
) -> HealthReport:
    """Make one cheap request to the store and to the embedding service, and time them."""
    store = _check(lambda: _ask_store(base), threshold_ms, clock)
    damaged = still_damaged(base) if store.up else ()
    message = " ".join(each for each in (_why_degraded(base) if store.up else "", *damaged[:_MOST_REPORTED]) if each)
    if message:
        store = replace(store, message=message)
    service = probe.check(threshold_ms)
    checks = (store, service)
    status: Literal["healthy", "degraded", "unhealthy"] = "healthy"
    if not all(check.up for check in checks):
        status = "unhealthy"
    elif message or any(check.latency_ms >= threshold_ms for check in checks):
        status = "degraded"
    return HealthReport(status, store, service, datetime.now(UTC).isoformat())


def _ask_store(base: Base) -> None:
    """Make one cheap request to the store."""
    with without_retries():
        base.opened.info()


def stats(base: Base) -> Stats:
    """Count the contents; if the store does not respond it is `unavailable`, with zeros and the reason in the notes."""
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
