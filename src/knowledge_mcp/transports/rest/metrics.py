"""Figures of the REST service for Prometheus, in a registry of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from knowledge_mcp.model.errors import KnowledgeError

__all__ = ["CONTENT_TYPE", "RestMetrics"]

logger = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_LATEST

_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class _JobsNow(Collector):
    """Ask for the jobs when the figures are read; none is told where they cannot be counted then."""

    def __init__(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._counts = counts

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Name the figure without asking."""
        return [_family()]

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Count now."""
        family = _family()
        try:
            for state, number in self._counts().items():
                family.add_metric([state], number)
        except KnowledgeError as exc:
            logger.warning("the jobs could not be counted: %s", exc.message)
        except Exception:
            logger.exception("counting the jobs crashed")
        return [family]


def _family() -> GaugeMetricFamily:
    return GaugeMetricFamily("rag_api_jobs", "Ingest jobs by state.", labels=["state"])


class RestMetrics:
    """Count what happens; thread-safe.

    Args:
        version: of the product.
        jobs: counts the jobs by state; a failure of it is logged, and the other figures are told.
    """

    def __init__(self, version: str, jobs: Callable[[], Mapping[str, int]]) -> None:
        self._registry = registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(_JobsNow(jobs))
        labels = ["method", "route", "status"]
        self._requests = Counter("rag_api_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "rag_api_request_duration_seconds", "Time to answer.", labels[:2], buckets=_SECONDS, registry=registry
        )
        self._in_flight = Gauge("rag_api_requests_in_flight", "Requests being served.", registry=registry)
        self._ingests = Counter("rag_api_ingests", "Ingestions by outcome.", ["outcome"], registry=registry)
        self._chunks = Counter("rag_api_chunks_ingested", "Passages made searchable.", registry=registry)
        self._searches = Counter("rag_api_searches", "Searches by outcome.", ["outcome"], registry=registry)
        self._results = Counter("rag_api_search_results", "Results returned.", registry=registry)
        self._degraded = Counter("rag_api_degraded_answers", "Answers to which a part failed.", registry=registry)
        self._refused = Counter(
            "rag_api_authentication_failures", "Requests without a valid key.", ["reason"], registry=registry
        )
        built = Gauge("rag_api_build_info", "Always 1; its label says what runs.", ["version"], registry=registry)
        built.labels(version).set(1)
        for outcome in ("ingested", "unchanged", "accepted", "failed", "cancelled"):
            self._ingests.labels(outcome)
        for outcome in ("answered", "failed"):
            self._searches.labels(outcome)
        for reason in ("missing", "wrong"):
            self._refused.labels(reason)

    @contextmanager
    def in_flight(self) -> Generator[None]:
        """Count a request while it is served."""
        self._in_flight.inc()
        try:
            yield
        finally:
            self._in_flight.dec()

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request that was answered; a method of the client's own invention counts as `other`."""
        method = method if method in _METHODS else "other"
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def ingest(self, outcome: str, chunks: int = 0) -> None:
        """Count an ingestion: `ingested`, `unchanged`, `accepted`, `failed` or `cancelled`."""
        self._ingests.labels(outcome).inc()
        self._chunks.inc(chunks)

    def search(self, outcome: str, *, results: int = 0, degraded: bool = False) -> None:
        """Count a search: `answered` or `failed`."""
        self._searches.labels(outcome).inc()
        self._results.inc(results)
        if degraded:
            self._degraded.inc()

    def refused(self, *, missing: bool) -> None:
        """Count a request that showed no key, or a wrong one."""
        self._refused.labels("missing" if missing else "wrong").inc()

    def text(self) -> bytes:
        """Write all figures in Prometheus' text form; blocking, for the jobs are counted now."""
        return generate_latest(self._registry)
