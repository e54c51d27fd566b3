"""Run one tool call: check the arguments, ask on a worker thread, keep the answer short, log how it went."""

from __future__ import annotations

import functools
import hashlib
import logging
import math
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import anyio
from mcp.server.mcpserver import Context
from mcp.types import CallToolResult, ContentBlock, ResourceLink, TextContent

from knowledge_mcp.engine.jobs import Progress
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.support.events import log_event
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.contract import Call, Surface, Tool, ToolDesk
from knowledge_mcp.surfaces.shortening import compact, shorten
from knowledge_mcp.transports.errors import CALLERS_MISTAKES, crash, error_result
from knowledge_mcp.transports.progress import telling
from knowledge_mcp.transports.provider import KnowledgeProviders
from knowledge_mcp.transports.threads import Threads

__all__ = ["FIRST_VERSION_WITH_LINKS", "MAX_LINKS", "ToolRunner"]

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_LINKS = 5
"""Most resource links after an answer; every result carries its own address anyway."""

FIRST_VERSION_WITH_LINKS = "2025-06-18"
"""Protocol revision that brought resource links; older clients refuse content of a kind they do not know."""

MAX_THREADS = 16
"""Most engine calls at a time. A limit of our own, so that waiting calls never hold up the transport's own threads."""

MAX_LONG = 8
"""Most calls of tools that take long; they wait among themselves, and never hold up a search."""


class ToolRunner:
    """Run the tools of all surfaces, each over its own Knowledge."""

    def __init__(self, providers: KnowledgeProviders) -> None:
        self._providers = providers
        self._short = Threads(MAX_THREADS)
        self._long = Threads(MAX_LONG, limit=math.inf)

    async def call(
        self,
        surface: Surface,
        tool: Tool,
        arguments: Mapping[str, Any],
        protocol_version: str | None,
        context: Context[Any, Any] | None = None,
    ) -> CallToolResult:
        """Answer one call; every failure but cancellation becomes a result that says so.

        A cancelled call is answered to nobody: nobody waits for it, and it ends when it next looks whether somebody
        does; its place is free when it has ended.
        """
        gave_up = threading.Event()
        started = time.perf_counter()
        received = {"tool": tool.name}
        try:
            request = parse(tool.request, arguments)
            log_event(
                logger,
                logging.INFO,
                "query_received",
                **received,
                query_hash=_hash(request.subject()),
                filters=request.filters(),
            )

            async def answer(progress: Progress) -> dict[str, Any]:
                line = Call(progress=progress, cancelled=gave_up.is_set)
                ask = functools.partial(self._answer, surface, tool, request, line)
                return await (self._long if tool.run_long else self._short).run(ask, gave_up=gave_up)

            payload = await telling(context, answer)
        except KnowledgeError as exc:
            error = exc
        except anyio.get_cancelled_exc_class():
            log_event(logger, logging.INFO, "query_cancelled", **received, latency_ms=_milliseconds(started))
            raise
        except Exception as exc:  # noqa: BLE001 - logged by crash(); the client must get an answer
            error = crash(f"tool {tool.name}", exc)
        else:
            count = len(payload[tool.items]) if tool.items in payload else 0
            took = _milliseconds(started)
            log_event(logger, logging.INFO, "query_complete", **received, result_count=count, latency_ms=took)
            with_links = protocol_version is None or protocol_version >= FIRST_VERSION_WITH_LINKS
            return _result(payload, tool, with_links=with_links)
        _tell_failure(error, started, received)
        rendered: dict[str, Any] | None = getattr(error, "rendered", None)  # by the surface of another machine
        return error_result(surface.render_error(error) if rendered is None else rendered)

    async def in_thread(self, function: Callable[[], T]) -> T:
        """Run a blocking function on a worker thread, beside the tools that answer soon."""
        return await self._short.run(function)

    def _answer(self, surface: Surface, tool: Tool, request: Any, line: Call) -> dict[str, Any]:
        knowledge = self._providers.get(surface.name)
        if isinstance(knowledge, ToolDesk):
            asked = request.model_dump(mode="json", exclude_unset=True)
            payload = knowledge.call_tool(
                tool.name, asked, on_progress=line.progress, cancelled=line.cancelled, repeatable=not tool.writes
            )
            return shorten(payload, tool.items)
        response = tool.run(knowledge, request) if tool.run_long is None else tool.run_long(knowledge, request, line)
        return shorten(response.model_dump(mode="json", exclude_unset=True), tool.items)


def _tell_failure(error: KnowledgeError, started: float, received: Mapping[str, str]) -> None:
    log_event(
        logger,
        logging.WARNING if error.code in CALLERS_MISTAKES else logging.ERROR,
        "query_failed",
        **received,
        error_code=error.code.value,
        error_message=error.message,
        latency_ms=_milliseconds(started),
    )


def _result(payload: dict[str, Any], tool: Tool, *, with_links: bool) -> CallToolResult:
    content: list[ContentBlock] = [TextContent(type="text", text=compact(payload))]
    if with_links and tool.items:
        content.extend(_links(payload.get(tool.items, [])))
    return CallToolResult(content=content, structured_content=payload)


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
