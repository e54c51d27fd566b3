"""How the REST service reads requests: limited in size and time, and strict about JSON."""

from __future__ import annotations

import contextlib
import json
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from email.message import Message as HeaderReader
from typing import Any, cast, get_origin

import anyio
import anyio.to_thread
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.transports.rest.errors import RefusedRequest, from_http, send_failure
from knowledge_mcp.transports.shared.guards import (
    CROWDED,
    MAX_JSON_BYTES,
    NO_ROOM,
    UnansweredBodies,
    is_crowded,
    throw_away,
)

MAX_DEPTH = 16
"""Maximum levels of nesting; no valid request has more than three."""

SILENCE_SECONDS = 30.0
"""Maximum pause of a body."""

BODY_SECONDS = 600.0
"""Maximum duration of receiving a body."""

MAX_FIELD_BYTES = 1024 * 1024
"""Maximum bytes of a form field that is not a file."""

DRAIN_SECONDS = 10.0
_IN_A_THREAD = 256 * 1024


class BodyGate:
    """Refuse a request body that is larger than its route allows with 413, and one that does not arrive with 408.

    A declared length that is too large is refused before anything is read; without one, bytes are counted as they
    arrive. Part of the rest is discarded first: most clients send everything before they read, and would otherwise see
    a broken connection instead of the answer.

    A body is also refused, with 503, if the bodies of its key's unanswered requests would hold too much.

    Args:
        app: the wrapped app.
        limit: returns the maximum bytes of a body by path; `largest` is that of all paths.
        silence: maximum seconds that a body may pause.
    """

    def __init__(
        self, app: ASGIApp, limit: Callable[[str], int], *, largest: int = 0, silence: float = SILENCE_SECONDS
    ) -> None:
        self._app = app
        self._limit = limit
        self._silence = silence
        self._bodies = UnansweredBodies(largest)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        limit = self._limit(str(scope["path"]))
        declared = headers.get("content-length", "")
        if declared.isdecimal() and (len(declared) > 15 or int(declared) > limit):
            if headers.get("expect", "").lower() != "100-continue":
                await throw_away(receive, limit, min(DRAIN_SECONDS, self._silence))
            await send_failure(scope, send, from_http(_too_large(limit)))
            return
        with self._bodies.body() as add:
            await self._app(scope, self._limited(receive, limit, add), send)

    def _limited(self, receive: Receive, limit: int, add: Callable[[int], bool]) -> Receive:
        size = 0
        whole = False
        deadline = anyio.current_time() + BODY_SECONDS

        async def receive_limited() -> Message:
            nonlocal size, whole
            if whole:
                return await receive()
            message: Message | None = None
            with anyio.move_on_after(min(self._silence, max(deadline - anyio.current_time(), 0.0))):
                message = await receive()
            if message is None:
                whole = True
                raise RefusedRequest(
                    408, "The request body did not arrive in time.", "Send it again.", {"Connection": "close"}
                )
            size += len(message.get("body", b""))
            whole = message["type"] != "http.request" or not message.get("more_body", False)
            if size > limit:
                if not whole:
                    whole = True
                    await throw_away(receive, limit, min(DRAIN_SECONDS, self._silence))
                raise _too_large(limit)
            if not add(len(message.get("body", b""))):
                whole = True
                raise RefusedRequest(503, NO_ROOM, "Send fewer at a time.", {"Retry-After": "5", "Connection": "close"})
            return message

        return receive_limited


def _too_large(limit: int) -> RefusedRequest:
    return RefusedRequest(
        413, f"The request body has more than {limit} bytes.", "Send a smaller body.", {"Connection": "close"}
    )


def media_type_of_body(request: Request) -> str:
    """Return the media type of a body, lower case, without parameters; empty if none is declared.

    Raises:
        RefusedRequest: the body is compressed, or in another character set than UTF-8.
    """
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise RefusedRequest(415, "The request body is compressed.", "Send it without Content-Encoding.")
    header = request.headers.get("content-type", "")
    reader = HeaderReader()
    reader["content-type"] = header.replace("\n", " ").replace("\r", " ")
    charset = reader.get_content_charset("utf-8")
    if charset not in {"utf-8", "utf8", "us-ascii"}:
        raise RefusedRequest(415, "The request body is not in UTF-8.", "Send UTF-8.")
    return reader.get_content_type() if header.strip() else ""


class _FormReader(MultiPartParser):
    """Record whether a form is complete: the parser silently drops a truncated part."""

    is_whole = False

    def on_end(self) -> None:
        self.is_whole = True


@contextlib.asynccontextmanager
async def read_form(request: Request, *, max_files: int, max_fields: int) -> AsyncGenerator[FormData]:
    """Read a form; its files are removed when the block ends.

    Raises:
        RefusedRequest: 400; it is not a form, has too many parts, is truncated, or the client disconnected.
    """
    try:
        async with contextlib.aclosing(request.stream()) as stream:
            reader = _FormReader(
                request.headers, stream, max_files=max_files, max_fields=max_fields, max_part_size=MAX_FIELD_BYTES
            )
            form = await reader.parse()
    except ClientDisconnect:
        raise RefusedRequest(400, "The client disconnected before its request was complete.") from None
    except MultiPartException as exc:
        detail = f"The form cannot be read: {exc.message.rstrip('.')}."
        raise RefusedRequest(400, detail, "Send one file and its fields.") from None
    except UnicodeDecodeError:
        raise RefusedRequest(400, "The form cannot be read: a name in it is not UTF-8.", "Send UTF-8.") from None
    try:
        if not reader.is_whole:
            raise RefusedRequest(
                400, "The form is incomplete: its last boundary is missing.", "Send the whole form again."
            )
        yield form
    finally:
        await form.close()


class JsonRoute(APIRoute):
    """A route whose body, if any, must be valid JSON: 415 for other types, 400 for what cannot be read.

    Refused as unreadable: duplicate names, `NaN` and `Infinity`, bytes that are not UTF-8, lone surrogates, NUL
    characters, numbers with thousands of digits, deep nesting. A query that names a field twice is refused with 422,
    except for fields that are lists.
    """

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Read the query and the body before FastAPI processes them."""
        inner = super().get_route_handler()
        lists = frozenset(_list_fields(self))
        has_body = self.body_field is not None

        async def handler(request: Request) -> Response:
            given = Counter(name for name, _ in request.query_params.multi_items() if name not in lists)
            for name, count in given.items():
                if count > 1:
                    raise RefusedRequest(422, f"{name[:100]}: the field occurs {count} times", "Send each field once.")
            return await inner(_ParsedRequest(request, await _read(request)) if has_body else request)

        return handler


def _list_fields(route: APIRoute) -> Iterator[str]:
    """Yield the names of the fields in a route's query that may occur more than once."""
    for each in route.dependant.query_params:
        model = each.field_info.annotation
        if isinstance(model, type) and issubclass(model, BaseModel):
            for name, declared in model.model_fields.items():
                if get_origin(declared.annotation) is list:
                    yield declared.alias or name


class _ParsedRequest(Request):
    """A request whose JSON has already been parsed, for FastAPI."""

    def __init__(self, request: Request, value: object) -> None:
        super().__init__(request.scope, request.receive)
        self._value = value

    async def body(self) -> bytes:
        return b"{}"  # not empty; its content is not used

    async def json(self) -> Any:
        return self._value


async def _read(request: Request) -> object:
    media_type = media_type_of_body(request)
    if media_type != "application/json":
        label = f"'{media_type[:100]}'" if media_type else "of unknown type"
        raise RefusedRequest(415, f"The request body is {label}.", "Send JSON with `Content-Type: application/json`.")
    try:
        body = await request.body()
    except ClientDisconnect:
        raise RefusedRequest(400, "The client disconnected before its request was complete.") from None
    if len(body) > _IN_A_THREAD:
        return await anyio.to_thread.run_sync(parse_json, body)
    return parse_json(body)


def parse_json(body: bytes | str) -> object:
    """Parse JSON strictly.

    Raises:
        RefusedRequest: 400 if it is invalid, or contains an invalid text or number; 413 if it is crowded.
    """
    if isinstance(body, bytes) and len(body) > MAX_JSON_BYTES and is_crowded(body):
        raise RefusedRequest(413, CROWDED, "Send a smaller body.")
    try:
        text = body if isinstance(body, str) else body.decode("utf-8")
        value: object = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except UnicodeDecodeError:
        raise _refuse_json("it is not UTF-8") from None
    except RecursionError:
        raise _refuse_json("it is nested too deeply") from None
    except json.JSONDecodeError as exc:
        raise _refuse_json(f"{exc.msg} at line {exc.lineno}, column {exc.colno}") from None
    except ValueError as exc:  # ours, and Python's own for numbers with thousands of digits
        raise _refuse_json(str(exc) if type(exc) is _UnfitError else "a number has too many digits") from None
    try:
        _look(value, 0, escaped="\\u" in text)
    except _UnfitError as exc:
        raise _refuse_json(str(exc)) from None
    return value


class _UnfitError(ValueError):
    """What is wrong with a value that is syntactically valid JSON."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _UnfitError("an object has the same name twice")
    return found


def _no_number(_: str) -> object:
    raise _UnfitError("NaN and Infinity are not numbers")


def _look(value: object, depth: int, *, escaped: bool) -> None:
    """Refuse deep nesting, and texts with NUL or lone surrogates, which only escapes can contain."""
    if depth > MAX_DEPTH:
        raise _UnfitError("it is nested too deeply")
    if isinstance(value, str):
        if escaped:
            _look_at_text(value)
    elif isinstance(value, dict):
        for name, each in cast("Mapping[str, object]", value).items():
            _look(name, depth + 1, escaped=escaped)
            _look(each, depth + 1, escaped=escaped)
    elif isinstance(value, list):
        for each in cast("list[object]", value):
            _look(each, depth + 1, escaped=escaped)


def _look_at_text(text: str) -> None:
    if "\x00" in text:
        raise _UnfitError("a string contains a NUL character")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _UnfitError("a string contains an unpaired surrogate") from None


def _refuse_json(reason: str) -> RefusedRequest:
    return RefusedRequest(400, f"The request body is not valid JSON: {reason}.", "Send one JSON object in UTF-8.")
