"""Tools of a surface, run whole at the engine: for surfaces whose desks are more than a knowledge base."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from knowledge_mcp.model.errors import KnowledgeError, NotFoundError
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.catalogue import load_surfaces
from knowledge_mcp.surfaces.contract import Call, Surface, Tool
from knowledge_mcp.transports.rest.streaming import Streaming, Tell
from knowledge_mcp.transports.threads import Threads

__all__ = ["answering", "tool_of"]


def tool_of(surface: str, name: str) -> Tool:
    """Find a tool of a surface.

    Raises:
        NotFoundError: it has none of that name.
    """
    return _found(load_surfaces([surface])[0], name)


def _found(surface: Surface, name: str) -> Tool:
    for tool in surface.tools:
        if tool.name == name:
            return tool
    raise NotFoundError(f"The surface '{surface.name}' has no tool '{name[:60]}'.")


def answering(
    get_desk: Callable[[], Any],
    surface: str,
    name: str,
    arguments: Mapping[str, Any],
    threads: Threads,
    *,
    heartbeat: float,
) -> Streaming:
    """Run a tool while the client listens.

    Its lines are `{"progress": [done, of, in words]}`, then `{"result": …}`, or `{"refused": …}` in the form that the
    surface gives its errors.
    """

    def work(tell: Tell, gave_up: threading.Event) -> None:
        shown = load_surfaces([surface])[0]
        tool = _found(shown, name)

        def progress(done: float, total: float | None, message: str) -> None:
            tell({"progress": [done, total, message]})

        try:
            request = parse(tool.request, arguments)
            line = Call(progress, gave_up.is_set)
            desk = get_desk()
            response = tool.run(desk, request) if tool.run_long is None else tool.run_long(desk, request, line)
        except KnowledgeError as exc:
            tell({"refused": shown.render_error(exc), "code": exc.code.value, "message": exc.message})
        else:
            tell({"result": response.model_dump(mode="json", exclude_unset=True)})

    return Streaming(work, threads, what=f"engine {surface} {name}", heartbeat=heartbeat)
