"""Answer a line of standard input that is no message: the SDK would drop it, and its sender would wait for ever.

A client cuts a text in the middle of an emoji, and its JSON holds half of a surrogate pair: the line cannot be read,
but its `id` can, and whoever waits for that id is told.
"""

from __future__ import annotations

import json
import logging
from types import TracebackType
from typing import Any, Protocol, Self, cast

import anyio
from mcp.shared.message import SessionMessage
from mcp.types import ErrorData, JSONRPCError
from pydantic import ValidationError

from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.surfaces.answers import render_error

__all__ = ["INVALID_REQUEST", "PARSE_ERROR", "AnsweringReader", "answer_to"]

PARSE_ERROR, INVALID_REQUEST = -32700, -32600
"""JSON-RPC's codes for what is no JSON, and for what is JSON and no request."""

logger = logging.getLogger(__name__)


class _Source(Protocol):
    async def receive(self) -> SessionMessage | Exception: ...
    async def aclose(self) -> None: ...


class _Answers(Protocol):
    async def send(self, item: SessionMessage, /) -> None: ...


class AnsweringReader:
    """Pass messages on as they come; answer what is none through the other stream.

    Args:
        source: messages, and the errors of lines that were none.
        answers: where the answers go.
    """

    def __init__(self, source: _Source, answers: _Answers) -> None:
        self._source = source
        self._answers = answers

    @property
    def last_context(self) -> Any:
        """Return the sender's context of the last message, as the SDK's own stream does."""
        return getattr(self._source, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        """Return the next message."""
        while True:
            item = await self._source.receive()
            if not isinstance(item, Exception):
                return item
            answer = answer_to(item)
            if answer is not None:
                logger.warning("refused a message: %s", answer.error.message)
                await self._answers.send(SessionMessage(answer))

    async def aclose(self) -> None:
        """Close the source."""
        await self._source.aclose()

    def __aiter__(self) -> AnsweringReader:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, exc_type: type[BaseException] | None, exc_val: BaseException | None, exc_tb: TracebackType | None
    ) -> None:
        await self.aclose()


def answer_to(error: Exception) -> JSONRPCError | None:
    """Build the answer to a line that was refused; None where nobody waits for one: blanks, notifications, answers."""
    if not isinstance(error, ValidationError):
        return None
    found = error.errors(include_url=False)
    if found and found[0]["type"] == "json_invalid":
        return _to_text(str(found[0]["input"]))
    # each form of a message that lacks a member of its own shows the whole of what came
    wholes = [each["input"] for each in found if each["type"] == "missing" and len(each["loc"]) == 2]
    return _to_value(wholes[0] if wholes else None, "A message must be a JSON-RPC request.", INVALID_REQUEST)


def _to_text(line: str) -> JSONRPCError | None:
    if not line.strip():
        return None
    try:
        value = json.loads(line)  # reads half pairs too, where the SDK's parser does not
    except (ValueError, RecursionError):
        return _answer(None, "The message is not valid JSON.", PARSE_ERROR)
    return _to_value(value, "The message is not valid Unicode: it holds half of a surrogate pair.", PARSE_ERROR)


def _to_value(value: object, message: str, code: int) -> JSONRPCError | None:
    if not isinstance(value, dict):
        return _answer(None, message, code)
    members = cast("dict[str, object]", value)
    if "id" not in members or ("method" not in members and ("result" in members or "error" in members)):
        return None
    given = members["id"]
    if isinstance(given, str) and given.isprintable():
        return _answer(given, message, code)
    return _answer(given if isinstance(given, int) and not isinstance(given, bool) else None, message, code)


def _answer(ident: str | int | None, message: str, code: int) -> JSONRPCError:
    error = InvalidInputError(message, suggestion="Send one JSON-RPC 2.0 request in a line, as valid UTF-8.")
    return JSONRPCError(jsonrpc="2.0", id=ident, error=ErrorData(code=code, message=message, data=render_error(error)))
