"""Routes of the REST service about itself: health, readiness, metrics, its description, and the console's files."""

from __future__ import annotations

import hashlib
import importlib.resources
import json
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

import anyio.to_thread
from fastapi import APIRouter, Request
from starlette.responses import Response

from knowledge_mcp.model.query import HealthReport
from knowledge_mcp.transports.rest.answers import (
    BEARER,
    DependencyAnswer,
    HealthAnswer,
    ReadyAnswer,
    failures,
    json_response,
)
from knowledge_mcp.transports.rest.errors import RefusedRequest
from knowledge_mcp.transports.rest.executor import RequestExecutor
from knowledge_mcp.transports.rest.gates import KeyOf
from knowledge_mcp.transports.rest.observing import CONTENT_TYPE
from knowledge_mcp.transports.shared.admission import ROUTE

CONSOLE = "console"
CONSOLE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

_FILE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]*\.[a-z0-9]+")
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}


def is_open(method: str, path: str) -> bool:
    """Serve what needs no key: health, readiness, and the console's files, which contain no user data."""
    return method == "GET" and (path in {"/health", "/ready", "/", "/console"} or path.startswith("/console/"))


class _Operating:
    def __init__(
        self,
        executor: RequestExecutor,
        version: str,
        stopping: Callable[[], bool],
        description: Callable[[], dict[str, Any]],
    ) -> None:
        self._executor = executor
        self._version = version
        self._stopping = stopping
        self._description = description
        self._described = b""

    async def health(self) -> Response:
        """Return that the process is running; needs no key, and checks no dependency."""
        return json_response(HealthAnswer(status="healthy", version=self._version))

    async def ready(self) -> Response:
        """Return whether requests can be served now; needs no key."""
        if self._stopping():
            stopping = DependencyAnswer(up=False, message="the server is stopping", latency_ms=0)
            answer = ReadyAnswer(status="not_ready", health="unhealthy", checks={"server": stopping})
        else:
            answer = _readiness(await self._executor.health())
        return json_response(answer, 200 if answer.status == "ready" else 503)

    async def metrics(self, key: KeyOf) -> Response:
        """Return the figures of all collections in Prometheus format, to administrators and keys for metrics only."""
        if not key.may_read_totals:
            text = f"The key '{key.name}' does not have all rights, and these figures cover all collections."
            raise RefusedRequest(403, text, "Use a key with all rights, or one with no rights at all.")
        text = await anyio.to_thread.run_sync(self._executor.metrics.text)
        return Response(text, media_type=CONTENT_TYPE)

    async def description(self) -> Response:
        """Return the OpenAPI document of this service."""
        if not self._described:
            self._described = json.dumps(self._description(), ensure_ascii=False).encode()
        return json_response(self._described)

    async def console(self, request: Request) -> Response:
        """Return a file of the console."""
        name = str(request.path_params.get("name", "")) or "index.html"
        request.scope[ROUTE] = "/console/{name}" if "name" in request.path_params else "/"
        kind = _TYPES.get(PurePosixPath(name).suffix)
        content = None
        if kind is not None and _FILE.fullmatch(name):
            content = await anyio.to_thread.run_sync(_console_file, name)
        if content is None:
            raise RefusedRequest(404, "The console has no such file.")
        tag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
        headers = {
            "Content-Security-Policy": CONSOLE_POLICY,
            "Cache-Control": "no-cache",
            "ETag": tag,
        }
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, media_type=kind, headers=headers)


def operating_routes(
    executor: RequestExecutor, version: str, stopping: Callable[[], bool], description: Callable[[], dict[str, Any]]
) -> APIRouter:
    """Build the routes.

    Args:
        executor: checks the dependencies and has the metrics.
        version: of the product.
        stopping: returns whether the server is stopping, and so not ready for new requests.
        description: builds the OpenAPI document.
    """
    own = _Operating(executor, version, stopping, description)
    router = APIRouter(tags=["operation"])
    gated = failures()
    refused: dict[int | str, dict[str, Any]] = {status: gated[status] for status in (403, 405, 421)}
    not_ready: dict[int | str, dict[str, Any]] = {503: {"model": ReadyAnswer, "description": "Not now."}}
    figures: dict[int | str, dict[str, Any]] = {200: {"content": {"text/plain": {"schema": {"type": "string"}}}}}
    router.add_api_route(
        "/health", own.health, methods=["GET"], operation_id="health", response_model=HealthAnswer, responses=refused
    )
    router.add_api_route(
        "/ready", own.ready, methods=["GET"], operation_id="ready", response_model=ReadyAnswer,
        responses={**refused, **not_ready},
    )  # fmt: skip
    router.add_api_route(
        "/metrics", own.metrics, methods=["GET"], dependencies=[BEARER], operation_id="metrics",
        response_class=Response, responses={**failures(500), **figures},
    )  # fmt: skip
    for path, handler in (
        ("/openapi.json", own.description),
        ("/", own.console),
        ("/console", own.console),
        ("/console/{name:path}", own.console),
    ):
        router.add_api_route(path, handler, methods=["GET"], include_in_schema=False, response_class=Response)
    return router


def _readiness(report: HealthReport) -> ReadyAnswer:
    """Return to callers without a key only whether a dependency is up; its message is in the log."""
    checks = {
        name: DependencyAnswer(
            up=check.up, message="answers" if check.up else "does not answer", latency_ms=check.latency_ms
        )
        for name, check in (("vector_store", report.vector_store), ("embedding_service", report.embedding_service))
    }
    ready = all(check.up for check in checks.values())
    return ReadyAnswer(status="ready" if ready else "not_ready", health=report.status, checks=checks)


def _console_file(name: str) -> bytes | None:
    try:
        place = importlib.resources.files("knowledge_mcp").joinpath(CONSOLE, name)
        return place.read_bytes() if place.is_file() else None
    except OSError:
        return None
