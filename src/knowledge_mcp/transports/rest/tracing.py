"""Spans of the REST service for OpenTelemetry, where an address for them is set and the `otel` extra is installed."""

from __future__ import annotations

import logging
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Protocol

from starlette.datastructures import Headers
from starlette.types import Scope

from knowledge_mcp.support.distribution import install_command

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

__all__ = ["NoTracing", "RequestSpan", "Tracing", "TracingOptions", "start_tracing"]

logger = logging.getLogger(__name__)

SERVICE = "rag-api"
_KNOWN = frozenset({"GET", "HEAD", "POST", "DELETE", "OPTIONS", "PUT", "PATCH"})


class TracingOptions(Protocol):
    """Where spans go: a collector's base address, or the exact one for traces, which wins; None for nowhere."""

    @property
    def otel_endpoint(self) -> str | None: ...
    @property
    def otel_traces_endpoint(self) -> str | None: ...


class RequestSpan(Protocol):
    """One request's span."""

    def end(self, route: str, status: int) -> None:
        """Tell how the request went."""
        ...


class Tracing(Protocol):
    """Make spans, or do nothing."""

    def request(self, scope: Scope, method: str) -> AbstractContextManager[RequestSpan]:
        """Open the span of a request, below the one that its `traceparent` header names."""
        ...

    def work(self, name: str) -> AbstractContextManager[object]:
        """Open a span for a piece of work, below the one that is open."""
        ...

    def close(self) -> None:
        """Send what is left; blocking."""
        ...


class NoTracing:
    """Make no spans."""

    @contextmanager
    def request(self, scope: Scope, method: str) -> Generator[RequestSpan]:
        """Do nothing."""
        del scope, method
        yield self

    @contextmanager
    def work(self, name: str) -> Generator[None]:
        """Do nothing."""
        del name
        yield

    def end(self, route: str, status: int) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


class _Ended:
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


class _OpenTelemetry:
    """Make spans by the SDK and send them by OTLP over HTTP, in the background."""

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
        known = method if method in _KNOWN else "_OTHER"
        with self._tracer.start_as_current_span(
            known,
            context=TraceContextTextMapPropagator().extract(carrier),
            kind=SpanKind.SERVER,
            attributes={"http.request.method": known, "url.scheme": str(scope.get("scheme", "http"))},
        ) as span:
            yield _Ended(span, known)

    def work(self, name: str) -> AbstractContextManager[object]:
        return self._tracer.start_as_current_span(name)

    def close(self) -> None:
        self._provider.shutdown()


def start_tracing(options: TracingOptions, version: str) -> Tracing:
    """Start sending spans where the options say so; an ERROR is logged where the extra for it is missing."""
    address = options.otel_traces_endpoint
    if not address and options.otel_endpoint:
        address = f"{options.otel_endpoint.rstrip('/')}/v1/traces"
    if not address:
        return NoTracing()
    try:
        tracing = _OpenTelemetry(address, version)
    except ImportError:
        logger.error(  # noqa: TRY400 - there is nothing else to tell
            "OTEL_EXPORTER_OTLP_ENDPOINT is set, but OpenTelemetry is not installed: NO TRACES ARE SENT. "
            "Run: %s, or unset the variable.",
            install_command("otel"),
        )
        return NoTracing()
    logger.info("traces are sent by OTLP over HTTP")
    return tracing
