"""From a KnowledgeError or a crash to what an MCP client gets: a tool result or a protocol error, never a traceback."""

from __future__ import annotations

import logging
import secrets
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp.types import INTERNAL_ERROR, INVALID_PARAMS, CallToolResult, TextContent

from knowledge_mcp.model.errors import ErrorCode, InternalError, InvalidInputError, KnowledgeError, NotFoundError
from knowledge_mcp.surfaces.arguments import nearest
from knowledge_mcp.surfaces.errors import render_error
from knowledge_mcp.surfaces.shortening import compact

__all__ = ["CALLERS_MISTAKES", "crash", "error_result", "missing_argument", "protocol_error", "unknown_name"]

logger = logging.getLogger(__name__)

CALLERS_MISTAKES = frozenset({ErrorCode.INVALID_INPUT, ErrorCode.NOT_FOUND})
"""Codes of failures that another call would not have; they are no error of the server."""


def error_result(payload: dict[str, Any]) -> CallToolResult:
    """Build a tool result that says it is an error: the object as JSON text, and as structured content.

    The text is what a model reads and what some hosts prefer; the structured twin matches the published output schema.
    """
    return CallToolResult(
        content=[TextContent(type="text", text=compact(payload))], structured_content=payload, is_error=True
    )


def protocol_error(error: KnowledgeError, **data: Any) -> MCPError:
    """Build a JSON-RPC error with our object in `data`: -32602 where the request is at fault, else -32603."""
    code = INVALID_PARAMS if error.code in CALLERS_MISTAKES else INTERNAL_ERROR
    return MCPError(code=code, message=error.message, data={**data, **render_error(error)})


def unknown_name(kind: str, name: str, known: list[str]) -> MCPError:
    """Build the protocol error for a tool or prompt that does not exist; names the one most like it."""
    near = nearest(name, known)
    error = NotFoundError(
        f"Unknown {kind}: {name[:100]}",
        details=f"Known {kind}s: {', '.join(known)}.",
        suggestion=f"Did you mean '{near}'?" if near else f"List the {kind}s and use one of them.",
    )
    return protocol_error(error)


def crash(what: str, exc: BaseException) -> InternalError:
    """Log an unforeseen exception under an incident number; build an error that tells the number and nothing else."""
    incident = secrets.token_hex(4)
    logger.error("%s crashed (incident %s)", what, incident, exc_info=exc)
    return InternalError(
        "The server failed to answer.",
        details=f"incident {incident}",
        suggestion="Report the incident number; the cause is in the server's log.",
    )


def missing_argument(prompt: str, problems: dict[str, str]) -> MCPError:
    """Build the protocol error for a prompt's arguments that do not fit."""
    error = InvalidInputError(
        f"Invalid arguments for prompt {prompt}: {', '.join(problems)}.",
        details="; ".join(f"{name}: {problem}" for name, problem in problems.items()),
    )
    return protocol_error(error)
