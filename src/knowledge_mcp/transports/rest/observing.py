"""Prometheus metrics of the REST service, in a registry of their own."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

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
from starlette.datastructures import Headers
from starlette.types import Scope

from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.support.distribution import install_command

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

    from knowledge_mcp.settings import Settings

logger = logging.getLogger(__name__)

CONTENT_TYPE = CONTENT_TYPE_LATEST

_METHODS = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"})
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class _JobsNow(Collector):
    """Count jobs when the metrics are read; nothing is reported if that fails."""

    def __init__(self, counts: Callable[[], Mapping[str, int]]) -> None:
        self._counts = counts

    def describe(self) -> Iterable[GaugeMetricFamily]:
        """Return the metric's name without counting."""
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
    """Count events; thread-safe.

    Args:
        version: the product's version.
        jobs: counts the jobs by state; a failure is logged, and the other metrics are still reported.
    """

    def __init__(self, version: str, jobs: Callable[[], Mapping[str, int]]) -> None:
        self._registry = registry = CollectorRegistry(auto_describe=True)
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        registry.register(_JobsNow(jobs))
        labels = ["method", "route", "status"]
        self._requests = Counter("rag_api_requests", "Requests answered.", labels, registry=registry)
        self._seconds = Histogram(
            "rag_api_request_duration_seconds", "Response time.", labels[:2], buckets=_SECONDS, registry=registry
        )
        self._in_flight = Gauge("rag_api_requests_in_flight", "Requests being served.", registry=registry)
        outcomes = "Ingestions that a client waited for, by outcome; `accepted` ones became jobs."
        self._ingests = Counter("rag_api_ingests", outcomes, ["outcome"], registry=registry)
        self._chunks = Counter(
            "rag_api_chunks_ingested", "Passages made searchable while a client waited.", registry=registry
        )
        self._searches = Counter("rag_api_searches", "Searches by outcome.", ["outcome"], registry=registry)
        self._results = Counter("rag_api_search_results", "Results returned.", registry=registry)
        self._degraded = Counter("rag_api_degraded_answers", "Answers in which a part failed.", registry=registry)
        self._refused = Counter(
            "rag_api_authentication_failures", "Requests without a valid key.", ["reason"], registry=registry
        )
        built = Gauge(
            "rag_api_build_info", "Always 1; the label has the running version.", ["version"], registry=registry
        )
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
        """Count an answered request; a non-standard method counts as `other`."""
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
        """Count a request without a key, or with a wrong one."""
        self._refused.labels("missing" if missing else "wrong").inc()

    def text(self) -> bytes:
        """Write all metrics in Prometheus' text format; blocks while jobs are counted."""
        return generate_latest(self._registry)


SERVICE = "rag-api"


class RequestSpan:
    """A request's span; this one does nothing."""

    def end(self, route: str, status: int) -> None:
        """Record the result of the request."""


class Tracing:
    """Create spans; this one creates none."""

    @contextmanager
    def request(self, scope: Scope, method: str) -> Generator[RequestSpan]:
        """Open the span of a request, as a child of the one in its `traceparent` header."""
        del scope, method
        yield RequestSpan()

    def work(self, name: str) -> AbstractContextManager[object]:
        """Open a span for a piece of work, as a child of the current one."""
        del name
        return nullcontext()

    def close(self) -> None:
        """Send remaining spans; blocking."""


class _RequestSpan(RequestSpan):
    def __init__(self, span: Span, method: str) -> None:
        self._span = span
        self._method = method

    def end(self, route: str, status: int) -> None:
        from opentelemetry.trace import StatusCode

        self._span.update_name(f"{self._method} {route}")
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= 500:
            self._span.set_status(StatusCode.ERROR)


class _OpenTelemetry(Tracing):
    """Create spans with the SDK and send them by OTLP over HTTP, in the background."""

    def __init__(self, address: str, version: str) -> None:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create({"service.name": SERVICE, "service.version": version})
        self._provider = TracerProvider(resource=resource, shutdown_on_exit=False)
        self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=address)))
        self._tracer: Tracer = self._provider.get_tracer("knowledge_mcp", version)

    @contextmanager
    def request(self, scope: Scope, method: str) -> Generator[RequestSpan]:
        from opentelemetry.trace import SpanKind
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

        headers = Headers(scope=scope)
        carrier = {name: headers[name] for name in ("traceparent", "tracestate") if name in headers}
        known = method if method in _METHODS else "_OTHER"
        with self._tracer.start_as_current_span(
            known,
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": known, "url.scheme": str(scope.get("scheme", "http"))},
        ) as span:
            yield _RequestSpan(span, known)

    def work(self, name: str) -> AbstractContextManager[object]:
        return self._tracer.start_as_current_span(name)

    def close(self) -> None:
        self._provider.shutdown()


def start_tracing(options: Settings, version: str) -> Tracing:
    """Start sending spans if configured; an ERROR is logged if the optional dependency is missing."""
    address = options.otel_traces_endpoint
    if not address and options.otel_endpoint:
        address = f"{options.otel_endpoint.rstrip('/')}/v1/traces"
    if not address:
        return Tracing()
    try:
        tracing = _OpenTelemetry(address, version)
    except ImportError:
        logger.error(  # noqa: TRY400 - there is nothing else to log
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: NO TRACES ARE SENT. Run: %s, "
            "or unset the variable.",
            install_command("otel"),
        )
        return Tracing()
    logger.info("traces are sent by OTLP over HTTP")
    return tracing
