"""Ask an ASGI app one thing, without a network."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def error_code(self) -> str:
        """Return the code of the error object that the body must be."""
        return str(json.loads(self.body)["error"]["code"])


class Echo:
    """An app that answers 200 with the length of the body, and remembers who asked."""

    def __init__(self) -> None:
        self.asked: list[Scope] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer."""
        self.asked.append(scope)
        size = 0
        while True:
            message = await receive()
            size += len(message.get("body", b""))
            if not message.get("more_body", False):
                break
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": str(size).encode()})


async def ask(
    app: ASGIApp,
    path: str = "/mcp",
    *,
    method: str = "GET",
    headers: Sequence[tuple[str, str]] = (("host", "localhost"),),
    body: Sequence[bytes] = (b"",),
    kind: str = "http",
) -> Answer:
    """Send one request whose body comes in these pieces."""
    scope: dict[str, Any] = {
        "type": kind, "method": method, "path": path, "raw_path": path.encode(), "query_string": b"",
        "root_path": "", "scheme": "http", "http_version": "1.1", "client": ("192.0.2.7", 5555),
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers],
    }  # fmt: skip
    pieces = [
        {"type": "http.request", "body": piece, "more_body": index < len(body) - 1} for index, piece in enumerate(body)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return pieces.pop(0) if pieces else {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    if kind == "websocket":
        return Answer(int(sent[0]["code"]), {}, b"")
    lines = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return Answer(int(sent[0]["status"]), lines, b"".join(message.get("body", b"") for message in sent[1:]))
