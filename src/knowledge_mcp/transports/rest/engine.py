"""The server side of `remote.knowledge`: any surface's engine at `POST /engine/{surface}/{method}`.

A call's body is a JSON object of the method's arguments; the response is `{"result": …}`, or the error object with
everything needed to raise it again. `ingest` takes files and returns a stream of lines, each a JSON object (`event`s,
then `report` or `error`); an empty line is a keep-alive. `/engine/{surface}/tools/{name}` runs a whole tool of the
surface, and streams its progress and its answer. `remote.values` lists the permission for each method.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import shutil
import tempfile
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import anyio
import anyio.to_thread
from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from starlette.datastructures import FormData, UploadFile
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from knowledge_mcp.engine.repositories.manifest import PREFIX
from knowledge_mcp.model.call import Call
from knowledge_mcp.model.collection import DocumentRecord
from knowledge_mcp.model.errors import (
    AuthError,
    InvalidInputError,
    KnowledgeError,
    NotFoundError,
    RateLimitedError,
    may_pass,
)
from knowledge_mcp.model.ingest import IngestEvent, IngestOptions, IngestReport, SkippedFile
from knowledge_mcp.model.query import MOST_OFFSET, RequirementQuery, SearchQuery
from knowledge_mcp.model.rights import EVERYBODY, Rights
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.remote.failures import error_object
from knowledge_mcp.remote.values import RIGHTS, Right, build_item, codec_of, method_of
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.contract import Surface, Tool, load_surfaces
from knowledge_mcp.transports.rest.gates import key_of
from knowledge_mcp.transports.shared.audit import READ_DOCUMENTS, documents_in
from knowledge_mcp.transports.shared.keys import Key
from knowledge_mcp.transports.shared.provider import crash, restrict_service
from knowledge_mcp.transports.shared.threads import Outbox, Threads

SendLine = Callable[[Mapping[str, Any]], None]
"""Send one JSON object as a line; thread-safe, never waits for the client, never raises if it has disconnected."""


class Streaming(Response):
    """Respond with lines of JSON; an empty line is a keep-alive.

    Args:
        work: sends its lines on a worker thread, and checks from time to time whether the client has disconnected; an
            error becomes the last line, `{"error": …}`.
        threads: run such work, with a limit; without a free slot the client is asked to try again later.
        what: description of the work, for the log.
        heartbeat: seconds of silence after which a keep-alive is sent.
        at_end: always called, once all work has ended.
    """

    def __init__(
        self,
        work: Callable[[SendLine, threading.Event], None],
        threads: Threads,
        *,
        what: str,
        heartbeat: float,
        at_end: Callable[[], None] | None = None,
    ) -> None:
        super().__init__(media_type="application/x-ndjson")
        self._do = work
        self._threads = threads
        self._what = what
        self._heartbeat = heartbeat
        self._at_end = at_end
        self._gave_up = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(name, value) for name, value in self.raw_headers if name != b"content-length"]
        lines = Outbox[bytes]()
        try:
            await send({"type": "http.response.start", "status": 200, "headers": headers})
            async with anyio.create_task_group() as group:
                group.start_soon(self._listen, receive, group.cancel_scope)
                group.start_soon(self._work, lines)
                await self._send_lines(lines, send)
                group.cancel_scope.cancel()
        finally:
            self._gave_up.set()
            self._end()

    async def _send_lines(self, lines: Outbox[bytes], send: Send) -> None:
        while True:
            line: bytes | None = b""
            with anyio.move_on_after(self._heartbeat):
                line = await lines.get()
            if line is None:
                break
            await send({"type": "http.response.body", "body": line + b"\n", "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _end(self) -> None:
        at_end, self._at_end = self._at_end, None
        if at_end is not None:
            at_end()

    async def _listen(self, receive: Receive, streaming: anyio.CancelScope) -> None:
        try:
            while (await receive())["type"] != "http.disconnect":
                pass
            streaming.cancel()  # waiting work is dropped at once; running work is awaited
        finally:
            self._gave_up.set()

    async def _work(self, lines: Outbox[bytes]) -> None:
        def send(payload: Mapping[str, Any]) -> None:
            lines.put(json.dumps(payload, allow_nan=False, separators=(",", ":")).encode())

        def work() -> None:
            try:
                self._do(send, self._gave_up)
            except KnowledgeError as exc:
                send({"error": error_object(exc)})
            except Exception as exc:  # noqa: BLE001 - logged by crash(); the client must get an answer
                send({"error": error_object(crash(self._what, exc))})

        try:
            await self._threads.run(work, gave_up=self._gave_up, stay=True)
        except RateLimitedError as exc:
            send({"error": error_object(exc)})
        finally:
            self._end()  # a slow reader keeps no files open
            lines.close()


def tool_of(surface: Surface, name: str) -> Tool:
    """Find a tool of a surface.

    Raises:
        NotFoundError: there is no tool of that name.
    """
    for tool in surface.tools:
        if tool.name == name:
            return tool
    raise NotFoundError(f"The surface '{surface.name}' has no tool '{name[:60]}'.")


def stream_tool(
    get_service: Callable[[], Any],
    surface: Surface,
    tool: Tool,
    arguments: Mapping[str, Any],
    threads: Threads,
    *,
    heartbeat: float,
) -> Streaming:
    """Run a tool while the client is connected.

    Its lines are `{"progress": [done, total, message]}`, then `{"result": …}`, or `{"refused": …}` in the error form
    of the surface.
    """

    def work(send: SendLine, gave_up: threading.Event) -> None:
        def progress(done: float, total: float | None, message: str) -> None:
            send({"progress": [done, total, message]})

        try:
            request = parse(tool.request, arguments)
            call = Call(progress, gave_up.is_set)
            service = get_service()
            response = tool.answer(service, request, call)
        except KnowledgeError as exc:
            send({"refused": surface.render_error(exc), "code": exc.code.value, "message": exc.message})
        else:
            unnamed = response.unnamed_documents
            send({"result": response.sent(), **({"document_ids": list(unnamed)} if unnamed else {})})

    return Streaming(work, threads, what=f"engine {surface.name} {tool.name}", heartbeat=heartbeat)


HEARTBEAT = 1.0
"""Seconds after which a silent ingest sends a keep-alive."""

_PAUSE = 5.0
"""Seconds after which a client may try again, if the cause does not state a time."""
_CALLS, _INGESTS = 16, 4
"""Threads for short calls, and for runs that may take hours; more of these would only wait for each other."""
_MOST_PARTS = 1000
"""Maximum files of one request; a client with more sends several requests."""
_MOST_TEXTS = 256
"""Maximum texts embedded by one call, so that none occupies a thread for minutes."""


class _EngineRoute(APIRoute):
    """A route whose errors are all returned in the form that `remote.knowledge` raises again."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Handle errors around FastAPI's own handler."""
        inner = super().get_route_handler()

        async def handler(request: Request) -> Response:
            try:
                return await inner(request)
            except HTTPException:  # the app's own, which it handles itself
                raise
            except Exception as exc:  # noqa: BLE001 - the remote client raises it again, whatever it is
                return _error_response(exc, " ".join(("engine", *request.path_params.values())))

        return handler


def engine_router(get_knowledge: Callable[[str], Knowledge], surfaces: Sequence[str]) -> APIRouter:
    """Build the routes, which are not part of the published schema.

    The app that includes them authenticates callers and limits bodies.

    Args:
        get_knowledge: returns the engine of a surface, on a worker thread; blocking.
        surfaces: the surfaces whose engines are available.
    """
    router = APIRouter(prefix="/engine", include_in_schema=False, route_class=_EngineRoute)
    calls, ingests = Threads(_CALLS), Threads(_INGESTS, limit=math.inf)

    def admit(request: Request, surface: str, method: str) -> None:
        _need_right(key_of(request), RIGHTS.get(method, "write"), f"engine:{surface}")
        if surface not in surfaces:
            raise NotFoundError(
                f"This server has no engine '{surface[:60]}'.", suggestion=f"Use {', '.join(surfaces)}."
            )

    def seen_by(request: Request, surface: str) -> Callable[[], Any]:
        return lambda: restrict_engine(key_of(request), get_knowledge(surface))

    @router.post("/{surface}/tools/{name}")
    async def tool(surface: str, name: str, request: Request) -> Response:
        admit(request, surface, "search")
        definition = load_surfaces([surface])[0]
        found = tool_of(definition, name)
        if found.writes:  # requires write permission, like `remove`
            admit(request, surface, "remove")
        arguments = _json_object(await request.body() or b"{}")
        threads = ingests if found.is_long else calls
        return stream_tool(seen_by(request, surface), definition, found, arguments, threads, heartbeat=HEARTBEAT)

    @router.post("/{surface}/ingest")
    async def ingest(surface: str, request: Request) -> Response:
        admit(request, surface, "ingest")
        async with request.form(max_files=_MOST_PARTS, max_fields=0) as form:
            folder = Path(await anyio.to_thread.run_sync(tempfile.mkdtemp, None, "engine-"))
            try:
                run = await anyio.to_thread.run_sync(_unpack, form, folder)
            except Exception:
                _forget(folder)
                raise
        return _stream_ingest(lambda: get_knowledge(surface), run, ingests)

    @router.post("/{surface}/{method}")
    async def call(surface: str, method: str, request: Request) -> Response:
        admit(request, surface, method)
        answer = functools.partial(_call_method, seen_by(request, surface), surface, method, await request.body())
        content, request.scope[READ_DOCUMENTS] = await calls.run(answer)
        return Response(content, media_type="application/json")

    return router


# ---- one call


def _call_method(get_knowledge: Callable[[], Any], surface: str, name: str, body: bytes) -> tuple[bytes, list[str]]:
    """Return the answer as JSON, and the ids of its documents that it does not name."""
    try:
        method = method_of(name)
    except KeyError as exc:
        raise NotFoundError(f"The engine has no method '{name[:60]}'.") from exc
    fields = _json_object(body or b"{}")
    arguments = method.arguments(fields)
    for value in arguments.values():
        _within_limits(value)
    if name == "embed" and len(arguments["texts"]) > _MOST_TEXTS:
        raise InvalidInputError(f"At most {_MOST_TEXTS} texts can be embedded at once.")
    engine = get_knowledge()
    if not hasattr(engine, name):
        raise NotFoundError(f"The engine of '{surface}' has no method '{name}'.", suggestion="Use the surface's tools.")
    result = getattr(engine, name)(**arguments)
    records = cast("list[object]", result) if isinstance(result, list) else [result]
    read = [*documents_in(fields), *(each.id for each in records if isinstance(each, DocumentRecord))]
    return json.dumps({"result": method.result.encode(result)}, allow_nan=False, separators=(",", ":")).encode(), read


def _within_limits(value: object) -> None:
    """Refuse arguments that no surface would pass; a bare client does not have a surface's checks."""
    match value:
        case SearchQuery():
            fits = 1 <= len(value.text) <= 2000 and 1 <= value.limit <= 100 and 0 <= value.offset <= MOST_OFFSET
            fits = fits and 0.0 <= (value.weight or 0.0) <= 1.0
        case RequirementQuery():
            fits = 1 <= len(value.topic) <= 1000 and 1 <= value.limit <= 50 and 0 <= value.offset <= MOST_OFFSET
            fits = fits and len(value.standard or "") <= 100
        case str():
            fits = len(value) <= 2000
        case _:
            fits = True
    if not fits:
        raise InvalidInputError("The request is too long or too complex.", details=type(value).__name__)


def _json_object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as exc:
        raise InvalidInputError("The body is not JSON.", details=type(exc).__name__) from exc
    if not isinstance(found, dict):
        raise InvalidInputError("The body is not a JSON object.")
    return cast("dict[str, Any]", found)


class _ForbiddenError(AuthError):
    """The key lacks a permission; distinct from an AuthError raised by an engine."""


def _need_right(key: Key, right: Right, what: str) -> None:
    """Refuse a key without permission for something other than a collection, e.g. `engine:standards`.

    Writing there reveals what existed before, so it is only for keys that see the documents of all groups.
    """
    allowed = key.may_read(what) if right == "read" else key.may_write(what) and EVERYBODY in key.groups
    if not allowed:
        raise _ForbiddenError(
            f"The key '{key.name}' may not {right} '{what}'.", suggestion="Use another key, or request this right."
        )


def restrict_engine(key: Key, service: Any) -> Any:
    """Return an engine restricted to what a key may read: its own collection, for which it was admitted, and the key's.

    Raises:
        AuthError: the engine is on another machine, which would receive this server's key instead.
    """
    collections = [name for name in (getattr(service, "collection", ""),) if name]
    code = [f"{PREFIX}*"] if key.may_read("engine:repositories") else []
    return restrict_service(service, Rights(read=(*key.read, *collections, *code), groups=key.groups, beside=key.read))


def _error_response(exc: Exception, what: str) -> Response:
    error = exc if isinstance(exc, KnowledgeError) else crash(what, exc)
    payload = error_object(error)
    if isinstance(error, _ForbiddenError):
        payload |= {"error": "forbidden", "status_code": 403}
    status = int(payload["status_code"])
    pause = getattr(error, "retry_after", None) or _PAUSE
    return JSONResponse(payload, status, {"Retry-After": f"{pause:.0f}"} if may_pass(error) and status >= 429 else None)


# ---- files to be ingested


@dataclass(frozen=True, slots=True)
class _Run:
    """Files to ingest (`Source`), and options; the folder with the files is deleted with it."""

    folder: Path
    options: IngestOptions
    found: tuple[SourceItem | SkippedFile, ...]
    proceed: bool
    check: bool
    exhausted: threading.Event

    def items(self) -> Iterator[SourceItem | SkippedFile]:
        """Yield the items in order."""
        yield from self.found
        self.exhausted.set()


def _unpack(form: FormData, folder: Path) -> _Run:
    """Store the files where readers can open them, also from other processes.

    Raises:
        InvalidInputError: the form is not as our client sends it, or a file is truncated.
    """
    part = form.get("request")
    if not isinstance(part, UploadFile):
        raise InvalidInputError("The part 'request' is missing.")
    fields = _json_object(part.file.read())
    try:
        options: IngestOptions = codec_of(IngestOptions).decode(fields["options"])
        described = cast("list[Mapping[str, Any]]", fields["items"])
        found = tuple(_item(form, folder, place, each) for place, each in enumerate(described))
        proceed, check = fields.get("proceed") is True, fields.get("check") is True
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise InvalidInputError("The part 'request' is invalid.", details=f"{type(exc).__name__}: {exc}") from exc
    if check:  # stops when all are checked: nothing is read, embedded or written
        options = replace(options, dry_run=True)
    return _Run(folder, options, found, proceed, check, threading.Event())


def _item(form: FormData, folder: Path, place: int, fields: Mapping[str, Any]) -> SourceItem | SkippedFile:
    if "skipped" in fields:
        skipped: SkippedFile = codec_of(SkippedFile).decode(fields["skipped"])
        return skipped
    part = form.get(str(fields["part"]))
    if not isinstance(part, UploadFile):
        raise InvalidInputError(f"The part '{fields['part']}' is missing.")
    # only the suffix: some readers depend on it
    path = folder / f"{place}{Path(str(fields['item'].get('name', ''))).suffix[:20]}"
    with path.open("wb") as target:
        shutil.copyfileobj(part.file, target)
    with path.open("rb") as stream:
        if hashlib.file_digest(stream, "sha256").hexdigest() != fields["digest"]:
            raise InvalidInputError("A file was received only in part.", suggestion="Send it again.")
    return build_item(fields["item"], {"open": functools.partial(path.open, "rb"), "path": path})


def _stream_ingest(get_knowledge: Callable[[], Knowledge], run: _Run, threads: Threads) -> Streaming:
    """Ingest while the client is connected; stop if it disconnects."""

    def work(send: SendLine, gave_up: threading.Event) -> None:
        unreadable = threading.Event()

        def on_unreadable(_: Sequence[SkippedFile]) -> bool:
            unreadable.set()
            return run.proceed

        report = get_knowledge().ingest(
            run,
            run.options,
            on_event=lambda event: send({"event": codec_of(IngestEvent).encode(event)}),
            on_unreadable=None if run.proceed else on_unreadable,
            cancelled=lambda: gave_up.is_set() or (run.check and run.exhausted.is_set()),
        )
        send({"report": codec_of(IngestReport).encode(report), "asked": unreadable.is_set()})

    return Streaming(work, threads, what="engine ingest", heartbeat=HEARTBEAT, at_end=lambda: _forget(run.folder))


def _forget(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
