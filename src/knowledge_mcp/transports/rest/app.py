"""The REST service: its routes and middleware assembled into one ASGI app, and how it stops.

A request passes, from the outside: its id, log line, metrics and security headers (`access`); Host and Origin, CORS,
the key (`gates`); the size limit of its body (`bodies`); then its route, which works on a thread (`executor`).
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.ports import SharedLibrary
from knowledge_mcp.transports.rest.answers import DESCRIPTION, build_openapi
from knowledge_mcp.transports.rest.bodies import BodyGate
from knowledge_mcp.transports.rest.errors import FAILURE, REQUEST_ID, Failure, failure_of, from_http, from_validation
from knowledge_mcp.transports.rest.executor import RequestExecutor
from knowledge_mcp.transports.rest.gates import AccessLayer, refuse_key, refuse_name
from knowledge_mcp.transports.rest.observing import RestMetrics, Tracing, start_tracing
from knowledge_mcp.transports.rest.operating import is_open, operating_routes
from knowledge_mcp.transports.rest.routes import ingesting_routes, reading_routes
from knowledge_mcp.transports.rest.viewing import viewing_routes
from knowledge_mcp.transports.shared.admission import Admission, KeyGate, ProtectedResource
from knowledge_mcp.transports.shared.audit import AuditGate, AuditLog
from knowledge_mcp.transports.shared.guards import LOOPBACK_ORIGINS, AllowedNames, HostGuard, with_cors
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.provider import KnowledgeProvider

if TYPE_CHECKING:
    from knowledge_mcp.settings import Settings


@contextlib.asynccontextmanager
async def run_app(app: ASGIApp) -> AsyncGenerator[None]:
    """Start an app, and stop it at the end of the block.

    Raises:
        RuntimeError: the app could not start.
    """
    incoming, outgoing = anyio.create_memory_object_stream[Message](2)
    started, ended = anyio.Event(), anyio.Event()
    failed: list[str] = []

    async def send(message: Message) -> None:
        kind = str(message["type"])
        if kind.endswith("failed"):
            failed.append(str(message.get("message", "")))
        (started if "startup" in kind else ended).set()

    async def run() -> None:
        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, outgoing.receive, send)
        started.set()
        ended.set()

    async with incoming, outgoing, anyio.create_task_group() as tasks:
        tasks.start_soon(run)
        await incoming.send({"type": "lifespan.startup"})
        await started.wait()
        if failed:
            raise RuntimeError(f"the app did not start: {failed[0]}")
        try:
            yield
        finally:
            with anyio.CancelScope(shield=True):
                await incoming.send({"type": "lifespan.shutdown"})
                await ended.wait()


CLOSING_SECONDS = 30.0
"""How long to wait at the end for a model that is still loading: it must not be closed while its thread uses it."""

MAX_TEXT_BYTES = 32 * 1024 * 1024
"""Maximum bytes of a JSON body with a text, if uploads may be larger."""

MAX_QUESTION_BYTES = 1024 * 1024
"""Maximum bytes of any other JSON body."""

FORM_BYTES = 2 * 1024 * 1024
"""Maximum bytes that the other fields and the multipart framing add to an upload."""


class RestService:
    """The service as an ASGI app that can announce that it is about to stop."""

    def __init__(self) -> None:
        self.stopping = False
        self.app: ASGIApp | None = None

    def stop(self) -> None:
        """Set readiness to 503 at once, while requests are still served."""
        self.stopping = True

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        assert self.app is not None
        await self.app(scope, receive, send)


def build_rest_app(
    library: KnowledgeProvider[SharedLibrary],
    keys: KeyRing,
    *,
    options: Settings,
    version: str,
    resource: ProtectedResource | None = None,
    audit: AuditLog | None = None,
    mcp_app: ASGIApp | None = None,
    engine_router: APIRouter | None = None,
) -> RestService:
    """Build the app; call it once for each server.

    Args:
        library: provides the Library; it is warmed up when the app starts and closed when it stops.
        keys: the keys; without any, everyone may do everything, which is the caller's decision.
        resource: the service as a resource of an OAuth issuer, None if its tokens are not accepted.
        options: limits, Hosts and Origins, target of traces.
        version: the product's version.
        audit: the audit log, None for none.
        mcp_app: an app for `/mcp`, `/sse` and `/messages/`, without authentication of its own; it finds the key in the
            scope. Its lifespan runs within the service's.
        engine_router: routes below `/engine`, which check permissions themselves.
    """
    service = RestService()
    metrics = RestMetrics(version, lambda: library.get().job_counts())
    tracing = start_tracing(options, version)
    executor = RequestExecutor(library, metrics, tracing)
    app = FastAPI(
        title="knowledge-mcp RAG API", version=version, description=DESCRIPTION, openapi_url=None, docs_url=None,
        redoc_url=None, redirect_slashes=False, lifespan=_lifespan(library, tracing, mcp_app),
    )  # fmt: skip
    routers = [ingesting_routes(executor), reading_routes(executor), viewing_routes(executor)]
    if engine_router is not None:
        routers.append(engine_router)
    routers.append(operating_routes(executor, version, lambda: service.stopping, lambda: build_openapi(app)))
    routes = [each for router in routers for each in router.routes if isinstance(each, APIRoute)]
    app.router.routes.extend(routes)  # including a router would build each of its routes again, in the first request
    _answer_failures(app, routes)
    inner: ASGIApp = BodyGate(
        app, _limits(options.rag_max_upload_bytes), largest=options.rag_max_upload_bytes + FORM_BYTES
    )
    if mcp_app is not None:
        inner = _McpRouter(mcp_app, inner)
    if audit is not None:
        inner = AuditGate(inner, audit, is_other=_is_mcp)
    names = AllowedNames(options.allowed_hosts, options.allowed_origins)
    admission = Admission(keys, resource)
    inner = KeyGate(inner, admission, is_open=is_open, refuse=functools.partial(refuse_key, metrics))
    if mcp_app is not None:
        from knowledge_mcp.transports.mcp.server_card import ServerCard

        inner = ServerCard(inner, version=version, closed=admission.required)
    if options.allowed_origins:
        inner = with_cors(inner, (*LOOPBACK_ORIGINS, *options.allowed_origins))
    inner = HostGuard(inner, names, refuse=refuse_name, own_pages=True)
    service.app = AccessLayer(inner, metrics, tracing, template=_templates(routes))
    return service


def _templates(routes: Iterable[APIRoute]) -> Callable[[str], str]:
    table = [(each.path_regex, each.path_format) for each in routes]

    def template(path: str) -> str:
        if _is_mcp(path):
            return "/messages/" if path.startswith("/messages/") else path
        return next((template_path for pattern, template_path in table if pattern.match(path)), "")

    return template


def _limits(upload: int) -> Callable[[str], int]:
    def limit(path: str) -> int:
        if path == "/ingest_file" or path.startswith("/engine/"):
            return upload + FORM_BYTES
        return min(upload, MAX_TEXT_BYTES) if path == "/ingest" else min(upload, MAX_QUESTION_BYTES)

    return limit


def _is_mcp(path: str) -> bool:
    return path in {"/mcp", "/sse"} or path.startswith("/messages/")


class _McpRouter:
    """Send requests for MCP paths to their own app, whose sessions belong to the key that opened them."""

    def __init__(self, mcp_app: ASGIApp, other: ASGIApp) -> None:
        from knowledge_mcp.transports.mcp.http import SessionOwner

        self._mcp = SessionOwner(mcp_app)
        self._other = other

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_mcp = scope["type"] == "http" and _is_mcp(str(scope["path"]))
        await (self._mcp if is_mcp else self._other)(scope, receive, send)


def _lifespan(
    library: KnowledgeProvider[SharedLibrary], tracing: Tracing, mcp_app: ASGIApp | None
) -> Callable[[FastAPI], contextlib.AbstractAsyncContextManager[None]]:
    @contextlib.asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        library.start_warm_up()
        try:
            async with contextlib.AsyncExitStack() as stack:
                if mcp_app is not None:
                    await stack.enter_async_context(run_app(mcp_app))
                yield
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(functools.partial(library.close, patience=CLOSING_SECONDS))
                await anyio.to_thread.run_sync(tracing.close)

    return lifespan


def _answer_failures(app: FastAPI, routes: Iterable[APIRoute]) -> None:
    """Convert every failure of the frameworks and of the engine to our own form."""
    table = [(each.path_regex, frozenset(each.methods or ())) for each in routes]

    def answer(request: Request, failure: Failure) -> Response:
        request.scope[FAILURE] = failure
        body = failure.body(str(request.scope[REQUEST_ID]))
        return Response(body, failure.status, dict(failure.headers), "application/json")

    async def by_framework(request: Request, error: HTTPException) -> Response:
        if error.status_code != 405:
            return answer(request, from_http(error))
        allowed = ", ".join(sorted(_allowed_methods(table, str(request.scope["path"]))))
        if request.method == "OPTIONS":
            return Response(status_code=204, headers={"Allow": allowed})
        failure = Failure(405, f"{request.method[:20]} is not allowed here.", f"Use {allowed}.", {"Allow": allowed})
        return answer(request, failure)

    async def by_validation(request: Request, error: RequestValidationError) -> Response:
        return answer(request, from_validation(error.errors()))

    async def by_engine(request: Request, error: KnowledgeError) -> Response:
        return answer(request, failure_of(error))

    async def by_defect(request: Request, _: Exception) -> Response:
        # The access layer, which receives the exception next, logs it.
        return answer(request, Failure(500, "The server failed to answer.", _REPORT))

    handlers: dict[type[Exception], Any] = {
        HTTPException: by_framework,
        RequestValidationError: by_validation,
        KnowledgeError: by_engine,
        Exception: by_defect,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, cast("Callable[[Request, Exception], Awaitable[Response]]", handler))


_REPORT = "Report the request_id; the server's log has the cause."


def _allowed_methods(table: Iterable[tuple[re.Pattern[str], frozenset[str]]], path: str) -> set[str]:
    found = set[str]()
    for pattern, methods in table:
        if pattern.match(path):
            found |= methods
    return found | (set[str](["HEAD"]) if "GET" in found else set[str]()) | {"OPTIONS"}
