"""Run one tool call: check the arguments, run it on a worker thread, limit the answer's length, log the result."""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import json
import logging
import math
import re
import threading
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote

import anyio
from mcp.server.lowlevel.helper_types import ReadResourceContents
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ContentBlock, ImageContent, ResourceLink, TextContent

from knowledge_mcp.model.call import Call, Progress, ignore_progress
from knowledge_mcp.model.errors import AuthError, ErrorCode, InvalidInputError, KnowledgeError
from knowledge_mcp.model.rights import EVERYBODY
from knowledge_mcp.support.events import log_event
from knowledge_mcp.surfaces.answers import compact, json_with_escapes, with_escapes, written
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.contract import Resource, Surface, Tool, ToolProxy
from knowledge_mcp.transports.shared.audit import AuditLog, documents_in
from knowledge_mcp.transports.shared.keys import ANONYMOUS, Key
from knowledge_mcp.transports.shared.provider import KnowledgeProviders, crash, restrict_service
from knowledge_mcp.transports.shared.threads import Outbox, Threads

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_LINKS = 5
"""Maximum resource links after an answer; every result contains its own address anyway."""

CALLERS_MISTAKES = frozenset({ErrorCode.INVALID_INPUT, ErrorCode.NOT_FOUND})
"""Codes of failures caused by the call; they are not errors of the server."""

FIRST_VERSION_WITH_LINKS = "2025-06-18"
"""The protocol revision that introduced resource links; older clients reject content of unknown kinds."""

MAX_THREADS = 16
"""Maximum engine calls at a time. A separate limit, so that waiting calls never block the transport's own threads."""

MAX_LONG = 8
"""Maximum calls of slow tools; they queue separately, and never delay a search."""

_LAST = 1.0
"""Seconds at the end for sending remaining progress before the answer is sent without it."""


class ToolRunner:
    """Run the tools of all surfaces, each over its own Knowledge."""

    def __init__(self, providers: KnowledgeProviders, audit: AuditLog | None = None) -> None:
        self._providers = providers
        self._audit = audit
        self._short = Threads(MAX_THREADS)
        self._long = Threads(MAX_LONG, limit=math.inf)

    async def call(
        self,
        surface: Surface,
        tool: Tool,
        arguments: Mapping[str, Any],
        protocol_version: str | None,
        context: Context[Any, Any] | None = None,
        *,
        key: Key = ANONYMOUS,
        progress: Progress | None = None,
    ) -> CallToolResult:
        """Answer one call; every failure except cancellation becomes an error result.

        Progress goes to `progress`, otherwise to the client of the context.

        A cancelled call gets no answer: it ends at its next checkpoint, and its slot is free once it has ended.
        """
        gave_up = threading.Event()
        started = time.perf_counter()
        received = {"tool": tool.name}
        try:
            request = await self._parse(tool, arguments, key)
            log_event(
                logger,
                logging.INFO,
                "query_received",
                **received,
                query_hash=_hash(request.subject()),
                filters=request.filters(),
            )

            async def answer(progress: Progress) -> _Answer:
                call = Call(progress=progress, cancelled=gave_up.is_set)
                ask = functools.partial(self._answer, surface, tool, request, call, key)
                return await (self._long if tool.is_long else self._short).run(ask, gave_up=gave_up)

            if progress is None and tool.is_long:
                answered = await run_with_progress(context, answer)
            else:
                answered = await answer(progress or ignore_progress)
        except KnowledgeError as exc:
            error = exc
        except anyio.get_cancelled_exc_class():
            log_event(logger, logging.INFO, "query_cancelled", **received, latency_ms=_milliseconds(started))
            raise
        except Exception as exc:  # noqa: BLE001 - logged by crash(); the client must get an answer
            error = crash(f"tool {tool.name}", exc)
        else:
            count = len(answered.payload.get(tool.items, ()))
            took = _milliseconds(started)
            log_event(logger, logging.INFO, "query_complete", **received, result_count=count, latency_ms=took)
            with_links = protocol_version is None or protocol_version >= FIRST_VERSION_WITH_LINKS
            return _result(answered, tool, with_links=with_links)
        _log_failure(error, started, received)
        rendered: dict[str, Any] | None = getattr(error, "rendered", None)  # rendered by the surface of another machine
        return _error_result(surface.render_error(error) if rendered is None else rendered)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Run a blocking function on a worker thread, separate from the quick tools."""
        return await self._short.run(function)

    def _answer(self, surface: Surface, tool: Tool, request: Any, call: Call, key: Key) -> _Answer:
        with self.audit(key, tool.name) as documents:
            _need_right(surface, tool, request, key)
            service, unnamed = find_service(self._providers, surface.name, key), list[str]()
            content, picture = _run_tool(service, tool, request, call, unnamed)
            payload, text = written(content, tool.items)
            documents.extend((*documents_in(payload), *unnamed))
        payload, text = _visible(payload, text)
        return _Answer(payload, text, picture)

    async def _parse(self, tool: Tool, arguments: Mapping[str, Any], key: Key) -> Any:
        try:
            return parse(tool.request, arguments)
        except KnowledgeError as exc:
            if self._audit is not None:
                await self.in_thread(functools.partial(self._audit.write, key.name, tool.name, str(exc.code)))
            raise

    @contextlib.contextmanager
    def audit(self, key: Key, tool: str) -> Generator[list[str]]:
        """Log a call to the audit log when the block ends, with the documents added to the list, or with its error.

        Errors as for `AuditLog.write`, if there is an audit log.
        """
        documents: list[str] = []
        if self._audit is None:
            yield documents
            return
        try:
            yield documents
        except BaseException as exc:
            outcome = exc.code if isinstance(exc, KnowledgeError) else ErrorCode.INTERNAL_ERROR
            self._audit.write(key.name, tool, str(outcome))
            raise
        self._audit.write(key.name, tool, "answered", dict.fromkeys(documents))


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer of allowed length, its JSON, and its picture (PNG)."""

    payload: dict[str, Any]
    text: str
    picture: bytes | None


def _run_tool(
    knowledge: Any, tool: Tool, request: Any, call: Call, unnamed: list[str]
) -> tuple[dict[str, Any], bytes | None]:
    """Return the answer and its picture (PNG); documents used for it but not named in it are added to `unnamed`."""
    if isinstance(knowledge, ToolProxy):
        arguments = request.model_dump(mode="json", exclude_unset=True)
        content = knowledge.call_tool(
            tool.name, arguments, on_progress=call.progress, cancelled=call.cancelled, repeatable=not tool.writes
        )
        return content, None
    response = tool.answer(knowledge, request, call)
    picture = tool.draw(knowledge, request, response) if tool.draw is not None else None
    unnamed.extend(response.unnamed_documents)
    return response.sent(), picture


def find_service(providers: KnowledgeProviders, surface: str, key: Key) -> Any:
    """Return the service behind a surface's tools, restricted to what a key may see.

    Raises:
        AuthError: the key is limited, and the service cannot apply limits.
        KnowledgeError: as for the providers.
    """
    return restrict_service(providers.get(surface), key.reach)


def _need_right(surface: Surface, tool: Tool, request: Any, key: Key) -> None:
    """Refuse a writing tool to callers without write permission, without looking at the contents.

    Its answer reveals what existed before, so it is only for keys that see the documents of all groups.
    """
    if not tool.writes or key.may_do_everything:
        return
    from knowledge_mcp.wiring import COLLECTIONS  # imports the settings, which are not needed at the start

    target = getattr(request, "collection", None) or COLLECTIONS["planning"] * (surface.name == "planning")
    allowed = key.may_write(target) if isinstance(target, str) and target else EVERYBODY in key.write
    if not allowed or EVERYBODY not in key.groups:
        raise AuthError(
            f"The key '{key.name}' may not use '{tool.name}' here.",
            suggestion="Use another key, or request this right.",
        )


def _error_result(payload: dict[str, Any]) -> CallToolResult:
    """Build an error result: the object as JSON text, and as structured content.

    A model reads the text, and some hosts prefer it; the structured content matches the published output schema.
    """
    payload, text = _visible(payload, compact(payload))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=payload, is_error=True)


def _visible(payload: dict[str, Any], text: str) -> tuple[dict[str, Any], str]:
    """Return an answer and its JSON without characters that nobody sees; see `with_escapes`."""
    shown = json_with_escapes(text)
    return (payload, text) if shown == text else (json.loads(shown), shown)


def _log_failure(error: KnowledgeError, started: float, received: Mapping[str, str]) -> None:
    log_event(
        logger,
        logging.WARNING if error.code in CALLERS_MISTAKES else logging.ERROR,
        "query_failed",
        **received,
        error_code=error.code.value,
        error_message=error.message,
        latency_ms=_milliseconds(started),
    )


def _result(answer: _Answer, tool: Tool, *, with_links: bool) -> CallToolResult:
    content: list[ContentBlock] = [TextContent(type="text", text=answer.text)]
    if answer.picture is not None:
        picture = base64.b64encode(answer.picture).decode()
        content.append(ImageContent(type="image", data=picture, mime_type="image/png"))
    if with_links and tool.items:
        content.extend(_links(answer.payload.get(tool.items, [])))
    return CallToolResult(content=content, structured_content=answer.payload)


def _links(results: list[dict[str, Any]]) -> list[ContentBlock]:
    """Link the first results' resources, each address once."""
    links: dict[str, ContentBlock] = {}
    for result in results:
        uri = result.get("uri")
        if uri and uri not in links and len(links) < MAX_LINKS:
            links[uri] = ResourceLink(
                type="resource_link", uri=uri, name=result["source"]["citation"][:200], mime_type="text/plain"
            )
    return list(links.values())


def _hash(subject: str) -> str:
    return hashlib.sha256(subject.encode()).hexdigest()[:12] if subject else ""


def _milliseconds(started: float) -> int:
    return round((time.perf_counter() - started) * 1000)


META_PREFIX = "io.github.knowledge-mcp/"
"""Prefix of the names in a resource's `_meta`, as the protocol requires for additions."""

PART_CHARACTERS = 200_000
"""Maximum characters of one part, about 50,000 tokens."""

_START = re.compile(r"\?start=([0-9]{1,12})")


@dataclass(frozen=True, slots=True)
class _Address:
    uri: str
    resource: Resource
    parameter: str
    start: int


class ResourceReader:
    """Read the resources of all surfaces, each over its own Knowledge."""

    def __init__(self, providers: KnowledgeProviders, surfaces: Sequence[Surface]) -> None:
        self._providers = providers
        self.resources = {resource.uri: resource for surface in surfaces for resource in surface.resources}
        self._owners = {resource.uri: surface.name for surface in surfaces for resource in surface.resources}

    def knows(self, uri: str) -> bool:
        """Return whether the address, apart from its parameter's value, is one of ours."""
        return self._match(uri) is not None

    def read(self, uri: str, key: Key = ANONYMOUS) -> ReadResourceContents:
        """Read a known address, restricted to what a key may see; blocking.

        Args:
            uri: the address.
            key: the caller's key.

        Raises:
            KnowledgeError: it does not exist, or cannot be read.
        """
        address = self._match(uri)
        assert address is not None
        service = find_service(self._providers, self._owners[address.resource.uri], key)
        content = address.resource.read(service, address.parameter or str(address.start or ""))
        meta: dict[str, Any] = dict(content.meta)
        text = content.text
        if content.media_type.startswith("text/") and (address.start or len(text) > PART_CHARACTERS):
            text = _part(address, text, meta)
        is_json = content.media_type == "application/json"
        text = json_with_escapes(text) if is_json else with_escapes(text)
        meta, _ = _visible(meta, compact(meta))
        fields = {META_PREFIX + name: value for name, value in meta.items()}
        return ReadResourceContents(content=text, mime_type=content.media_type, meta=fields or None)

    def documents_of(self, uri: str, content: ReadResourceContents) -> list[str]:
        """List the documents used to answer an address."""
        address = self._match(uri)
        items = [*(content.meta or {}).items()]
        fields = {name.removeprefix(META_PREFIX): value for name, value in items}
        found = documents_in(fields)
        if address is not None and address.resource.parameter == "document_id":
            found.append(address.parameter)
        if not found and isinstance(content.content, str) and content.mime_type == "application/json":
            found = documents_in(json.loads(content.content))
        return list(dict.fromkeys(found))

    def _match(self, uri: str) -> _Address | None:
        start = 0
        bare = uri
        if found := _START.search(uri):
            if found.end() != len(uri):
                return None
            bare, start = uri[: found.start()], int(found[1])
        for resource in self.resources.values():
            rest = bare.removeprefix(resource.prefix)
            if resource.parameter:
                if rest and rest != bare and not set(rest) & set("/?#"):
                    return _Address(bare, resource, unquote(rest), start)
            elif bare == resource.uri:
                return _Address(bare, resource, "", start)
        return None


def _part(address: _Address, text: str, meta: dict[str, Any]) -> str:
    if address.start >= len(text):
        raise InvalidInputError(f"The text ends at character {len(text)}; there is no text at {address.start}.")
    end = min(address.start + PART_CHARACTERS, len(text))
    meta.update({"start": address.start, "end": end, "total_characters": len(text)})
    if end < len(text):
        meta["next_uri"] = f"{address.uri}?start={end}"
    return text[address.start : end]


async def run_with_progress(context: Context[Any, Any] | None, work: Callable[[Progress], Awaitable[T]]) -> T:
    """Run a call with a function that reports progress to the client; failing reports are ignored.

    The function is for worker threads, and returns at once.
    """
    if context is None:
        return await work(ignore_progress)
    outbox = Outbox[tuple[float, float | None, str]]()
    sent = anyio.Event()

    async def send() -> None:
        while (progress := await outbox.get()) is not None:
            try:
                await context.report_progress(*progress)
            except Exception as exc:  # noqa: BLE001 - the work goes on whoever listens
                logger.debug("progress was not reported: %s", exc)
        sent.set()

    failed: Exception | None = None
    found: list[T] = []
    async with anyio.create_task_group() as group:
        group.start_soon(send)
        try:
            found.append(await work(lambda done, total, message: outbox.put((done, total, message))))
        except Exception as exc:  # noqa: BLE001 - raised below: a group would wrap it
            failed = exc
        outbox.close()
        with anyio.move_on_after(_LAST):
            await sent.wait()
        group.cancel_scope.cancel()
    if failed is not None:
        raise failed
    return found[0]
