"""Checks of every HTTP request before it reaches a route: Host, Origin, size, and a key that is still valid.

All of it is pure ASGI, so that streams are not buffered. A web page can make a browser send requests to a server on
the user's own machine, under any Host name that it controls (DNS rebinding). Therefore only requests for our own names
and from allowed origins are served. Requests whose key is revoked while they run end as if their client had
disconnected.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import re
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from typing import Any, Literal, TypeVar

import anyio
from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from knowledge_mcp.support.hosts import LOOPBACK_HOSTS
from knowledge_mcp.transports.shared.threads import ASKER

logger = logging.getLogger(__name__)

T = TypeVar("T")

LOOPBACK_ORIGINS = tuple(f"{scheme}://{host}:*" for scheme in ("http", "https") for host in LOOPBACK_HOSTS)
BODY_SECONDS = 60.0
"""Maximum duration of receiving a request body."""

QUIET_SECONDS = 1.0
"""Maximum pause of a body whose response is already known: a client that declares a body but sends nothing, for
example because it waits for an unrequested "100 Continue", would otherwise wait for nothing.
"""

MAX_HELD_BYTES = 256 * 1024 * 1024
"""Maximum bytes of the bodies of one key whose requests are not answered yet: several of the longest documents."""

MAX_JSON_BYTES = 1024 * 1024
"""Maximum bytes of JSON besides its strings. What is parsed from them takes up to 30 times the memory, and the process
does nothing else meanwhile: 30 megabytes of empty lists stopped it for seven seconds.
"""

_DEFAULT_PORTS = ("80", "443")
_STRING = re.compile(rb'([^"]*+)(?:"(?:[^"\\]++|\\.)*+"?)?', re.DOTALL)


async def send_error(
    send: Send, status: int, code: str, message: str, headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Respond with `{"error": {"code", "message"}}` as JSON."""
    await send_body(send, status, {"error": {"code": code, "message": message}}, headers)


async def send_body(
    send: Send, status: int, content: Mapping[str, Any], headers: Iterable[tuple[bytes, bytes]] = ()
) -> None:
    """Respond with a JSON object."""
    body = json.dumps(content).encode()
    lines = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": lines})
    await send({"type": "http.response.body", "body": body})


class AllowedNames:
    """Check Hosts and Origins.

    Args:
        hosts: in addition to loopback names: `name` (any port, or none), `name:port` (if the port is 80 or 443, also a
            Host without port), or `*` for all.
        origins: in addition to loopback origins: `scheme://host`, `scheme://host:port`, `scheme://host:*`, or `*`.
    """

    def __init__(self, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        self._hosts = [host.lower() for host in (*LOOPBACK_HOSTS, *hosts)]
        self._origins = [origin.lower().rstrip("/") for origin in (*LOOPBACK_ORIGINS, *origins)]

    def admits_host(self, host: str) -> bool:
        """Return whether a Host header is allowed."""
        name, port = _split(host.lower())
        for allowed in self._hosts:
            if allowed == "*":
                return True
            allowed_name, allowed_port = _split(allowed)
            if name != allowed_name or (port is not None and not port.isdecimal()):
                continue
            if allowed_port in {None, "*"} or port == allowed_port or (port is None and allowed_port in _DEFAULT_PORTS):
                return True
        return False

    def admits_origin(self, origin: str) -> bool:
        """Return whether an Origin header is allowed; `null` never is."""
        origin = origin.lower()
        for allowed in self._origins:
            if allowed == "*" and origin != "null":
                return True
            if origin == allowed:
                return True
            base = allowed.removesuffix(":*")
            if base != allowed and (origin == base or origin.removeprefix(f"{base}:").isdecimal()):
                return True
        return False


Refuse = Callable[[Scope, Send, T], Awaitable[None]]
"""Respond to a refused request and log it, given the reason."""


Refused = Literal["Host", "Origin", "Length"]
"""What is wrong with a request; Length if it has both a Content-Length and chunked encoding."""
TWO_LENGTHS = "The request has both Content-Length and Transfer-Encoding."


async def refuse_name(scope: Scope, send: Send, what: Refused) -> None:
    """Refuse a foreign Host with 421, a foreign Origin with 403, two lengths with 400."""
    names = Headers(scope=scope).getlist(what.lower())
    logger.warning("refused %s: %s %r is not allowed", scope["path"], what, names)
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    elif what == "Length":
        await send_error(send, 400, "two_lengths", TWO_LENGTHS, [(b"connection", b"close")])
    elif what == "Host":
        text = (
            "This server does not accept requests for that Host. If the name is correct, add it to MCP_ALLOWED_HOSTS."
        )
        await send_error(send, 421, "host_not_allowed", text)
    else:
        text = "Requests from that Origin are not allowed. If the origin is correct, add it to MCP_ALLOWED_ORIGINS."
        await send_error(send, 403, "origin_not_allowed", text)


class HostGuard:
    """Refuse a foreign Host, a foreign Origin, and a request with two lengths, on every route.

    A proxy may use the other length, and take the rest for the next request of another client (RFC 9112, 6.3).

    Args:
        app: the wrapped app.
        names: checks both.
        refuse: sends the refusal.
        own_pages: also allow the server's own pages. A proxy may have ended TLS, so only the name is compared with the
            Host, which was allowed before: a name that an attacker made to point here does not pass.
    """

    def __init__(
        self,
        app: ASGIApp,
        names: AllowedNames,
        *,
        refuse: Refuse[Refused] = refuse_name,
        own_pages: bool = False,
    ) -> None:
        self._app = app
        self._names = names
        self._refuse: Refuse[Refused] = refuse
        self._own_pages = own_pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if "content-length" in headers and "transfer-encoding" in headers:
            await self._refuse(scope, send, "Length")
        elif len(hosts) != 1 or not self._names.admits_host(hosts[0]):
            await self._refuse(scope, send, "Host")
        elif len(origins) > 1 or (origins and not self._admits(origins[0], hosts[0])):
            await self._refuse(scope, send, "Origin")
        else:
            await self._app(scope, receive, send)

    def _admits(self, origin: str, host: str) -> bool:
        scheme, _, name = origin.lower().partition("://")
        is_own = self._own_pages and scheme in {"http", "https"} and name == host.lower()
        return is_own or self._names.admits_origin(origin)


def with_cors(app: ASGIApp, origins: Iterable[str]) -> ASGIApp:
    """Send CORS headers for pages of these origins, in the form of `AllowedNames`.

    This runs before authentication, because preflight requests carry no token.
    """
    named = [origin.lower().rstrip("/") for origin in origins]
    any_port = [re.escape(origin.removesuffix(":*")) for origin in named if origin.endswith(":*")]
    return CORSMiddleware(
        app,
        allow_origins=[origin for origin in named if not origin.endswith(":*")],
        allow_origin_regex="|".join(rf"{base}(:\d+)?" for base in any_port) or None,
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["*"],
        expose_headers=["X-Request-ID", "Retry-After", "WWW-Authenticate", "Mcp-Session-Id"],
    )


class UnansweredBodies:
    """Count what the bodies of each key hold until their requests are answered.

    Args:
        largest: maximum bytes of one body; twice as much is always allowed.
    """

    def __init__(self, largest: int) -> None:
        self._most = max(MAX_HELD_BYTES, 2 * largest)
        self._held = Counter[str]()

    @contextlib.contextmanager
    def body(self) -> Generator[Callable[[int], bool]]:
        """Count the body of a request; gives what adds bytes to it, and returns whether there is room for them."""
        asker, size = ASKER.get(), 0

        def add(count: int) -> bool:
            nonlocal size
            size += count
            self._held[asker] += count
            return self._held[asker] <= self._most

        try:
            yield add
        finally:
            self._held[asker] -= size
            self._held += Counter()  # without those that hold nothing


NO_ROOM = "Other requests of this key hold too much: their bodies are not complete, or not answered yet."


def is_crowded(body: bytes) -> bool:
    """Return whether JSON has more than `MAX_JSON_BYTES` besides its strings; each string counts as one."""
    count = 0
    for match in _STRING.finditer(body):
        count += match.end(1) - match.start(1) + 1
        if count > MAX_JSON_BYTES:
            return True
    return False


CROWDED = f"The JSON has more than {MAX_JSON_BYTES} bytes besides its strings."


class BodyLimit:
    """Refuse a request body of more than `limit` bytes with 413, before anything reads it.

    A declared length that is too large is refused; without one, bytes are counted as they arrive. Up to four times the
    limit is read and discarded first: most clients send everything before they read, and would otherwise see a broken
    connection instead of the response. A body that is incomplete after `patience` seconds is refused with 408; if the
    client disconnects during it, nothing is sent. A crowded one is refused with 400, and one for which there is no room
    beside others of its key with 503.
    """

    def __init__(self, app: ASGIApp, limit: int, *, patience: float = BODY_SECONDS) -> None:
        self._app = app
        self._limit = limit
        self._patience = patience
        self._bodies = UnansweredBodies(limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] in {"GET", "HEAD", "OPTIONS"}:
            await self._app(scope, receive, send)
            return
        with self._bodies.body() as add:
            await self._serve(scope, receive, send, add)

    async def _serve(self, scope: Scope, receive: Receive, send: Send, add: Callable[[int], bool]) -> None:
        body: deque[Message] | None = None
        with anyio.move_on_after(self._patience) as waiting:
            body = await self._whole_body(Headers(scope=scope).get("content-length", ""), receive, send, add)
        if waiting.cancelled_caught:
            logger.warning("gave up a request to %s: its body did not arrive in time", scope["path"])
            text = f"The request body was not complete after {self._patience:g} seconds."
            await send_error(send, 408, "body_too_slow", text, [(b"connection", b"close")])
            return
        if body is None:
            return
        messages = body

        async def replay() -> Message:
            return messages.popleft() if messages else await receive()

        await self._app(scope, replay, send)

    async def _whole_body(
        self, declared: str, receive: Receive, send: Send, add: Callable[[int], bool]
    ) -> deque[Message] | None:
        """Read the body; None if it is refused, which is answered here, or if the client has disconnected."""
        if declared.isdecimal() and int(declared) > self._limit:
            await self._too_large(receive, send, more=True)
            return None
        messages: deque[Message] = deque()
        size = 0
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return None
            messages.append(message)
            size += len(message.get("body", b""))
            if size > self._limit:
                await self._too_large(receive, send, more=message.get("more_body", False))
                return None
            if not add(len(message.get("body", b""))):
                await send_error(
                    send, 503, "too_many_bodies", NO_ROOM, [(b"connection", b"close"), (b"retry-after", b"5")]
                )
                return None
            if not message.get("more_body", False):
                break
        if size > MAX_JSON_BYTES and is_crowded(b"".join(each.get("body", b"") for each in messages)):
            await send_error(send, 400, "crowded", CROWDED)
            return None
        return messages

    async def _too_large(self, receive: Receive, send: Send, *, more: bool) -> None:
        if more:
            await throw_away(receive, 4 * self._limit, self._patience / 4)
        text = f"The request body has more than {self._limit} bytes."
        await send_error(send, 413, "body_too_large", text, [(b"connection", b"close")])


async def throw_away(receive: Receive, most: int, seconds: float) -> None:
    """Discard the rest of a body whose response is known: up to its end, `most` bytes, `seconds`, or a pause."""
    received = 0
    with anyio.move_on_after(seconds):
        while received <= most:
            message: Message | None = None
            with anyio.move_on_after(QUIET_SECONDS):
                message = await receive()
            if message is None or message["type"] != "http.request" or not message.get("more_body", False):
                return
            received += len(message.get("body", b""))


def _split(host: str) -> tuple[str, str | None]:
    """Split a Host into name and port; an IPv6 address keeps its brackets."""
    name, colon, port = host.rpartition(":")
    if not colon or host.endswith("]"):
        return host, None
    return name, port


LOOK_SECONDS = 1.0
"""How often the key of a running request is checked; the key file is read at most as often."""

VALID = "knowledge_valid"
"""Key in a scope of the check whether the request's key is still valid."""


async def serve_while_valid(
    app: ASGIApp, scope: Scope, receive: Receive, send: Send, valid: Callable[[], bool]
) -> None:
    """Serve a request; once its key is no longer valid, report a disconnect to the app, and end the response.

    If the app then ends without a response, 401 is sent.
    """
    watched = _Watched(receive, send, valid)
    scope[VALID] = valid
    watched.look()
    try:
        await app(scope, watched.receive, watched.send)
    finally:
        watched.stop()
    if watched.revoked:
        await watched.end()


class _Watched:
    """A request's channels; a timer and no task looks at the key, because tasks cost more than most requests need."""

    def __init__(self, receive: Receive, send: Send, valid: Callable[[], bool]) -> None:
        self._receive = receive
        self._send = send
        self._valid = valid
        self._begun = self._ended = self.revoked = False
        self._waiting = set[anyio.CancelScope]()
        self._next: asyncio.TimerHandle | None = None

    def look(self) -> None:
        if self._valid():
            self._next = asyncio.get_running_loop().call_later(LOOK_SECONDS, self.look)
            return
        self.revoked = True
        for each in self._waiting:
            each.cancel()

    def stop(self) -> None:
        if self._next is not None:
            self._next.cancel()

    async def receive(self) -> Message:
        if not self.revoked:
            with anyio.CancelScope() as waiting:
                self._waiting.add(waiting)
                try:
                    return await self._receive()
                finally:
                    self._waiting.discard(waiting)
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        start = message["type"] == "http.response.start"
        if self.revoked and (self._ended or (start and self._begun)):
            return  # an app whose client has disconnected may send anything, as to a closed connection
        self._begun = True
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self._ended = True
        await self._send(message)

    async def end(self) -> None:
        last: dict[str, Any] = {"type": "http.response.body", "body": b"", "more_body": False}
        if not self._begun:
            await send_error(self._send, 401, "unauthorized", "The key was revoked.", [(b"connection", b"close")])
        elif not self._ended:
            await self._send(last)
