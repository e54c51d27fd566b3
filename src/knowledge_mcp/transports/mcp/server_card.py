"""The server card (SEP-2127) and the AI Catalog that links to it: name and address of the server, before a connection.

Both reveal no more than `/health` and the address, so they need no key. They list no tools: a client asks for those
after it has connected.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any
from urllib.parse import urlsplit

from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS, MODERN_PROTOCOL_VERSIONS
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

CARD_PATH = "/mcp/server-card"
"""The path reserved by the extension: the address of the endpoint, followed by this."""
CATALOGUE_PATH = "/.well-known/ai-catalog.json"

_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_NAME = "io.github.clausewise/clausewise"
_CARD, _CATALOGUE = "application/mcp-server-card+json", "application/ai-catalog+json"
_OPEN = [
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"Content-Type, If-None-Match"),
    (b"access-control-expose-headers", b"ETag"),
    (b"cache-control", b"public, max-age=3600"),
    (b"vary", b"Host"),
]


class ServerCard:
    """Return the card or the catalogue; pass other requests on.

    Args:
        app: the wrapped app.
        version: the product's version.
        closed: whether a key or token is required.
        url: of this server, as clients reach it; used if its path is `/mcp`, otherwise taken from each request.
    """

    def __init__(self, app: ASGIApp, *, version: str, closed: bool, url: str = "") -> None:
        self._app = app
        self._version = version
        self._closed = closed
        self._url = url if urlsplit(url).path == "/mcp" else ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        asks = scope["type"] == "http" and scope["method"] in {"GET", "HEAD"}
        if not asks or scope["path"] not in {CARD_PATH, CATALOGUE_PATH}:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        url = self._url or f"{scope['scheme']}://{headers.get('host', '')}/mcp"
        is_card = scope["path"] == CARD_PATH
        body = json.dumps(self._card(url) if is_card else _catalogue(url)).encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
        same = tag in headers.get("if-none-match", "")
        lines = [*_OPEN, (b"etag", tag.encode())]
        if not same:
            media_type = _CARD if is_card else _CATALOGUE
            lines += [(b"content-type", media_type.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": 304 if same else 200, "headers": lines})
        await send({"type": "http.response.body", "body": b"" if same or scope["method"] == "HEAD" else body})

    def _card(self, url: str) -> dict[str, Any]:
        remote: dict[str, Any] = {
            "type": "streamable-http",
            "url": url,
            "supportedProtocolVersions": [*HANDSHAKE_PROTOCOL_VERSIONS, *MODERN_PROTOCOL_VERSIONS],
        }
        if self._closed:
            remote["headers"] = [
                {
                    "name": "Authorization",
                    "description": "Bearer followed by a key or an access token.",
                    "isRequired": True,
                    "isSecret": True,
                }
            ]
        return {
            "$schema": _SCHEMA,
            "name": _NAME,
            "title": "Knowledge",
            "description": "Standards, documents and code for AI assistants: the clause, the page, the exact words.",
            "version": self._version,
            "remotes": [remote],
        }


def _catalogue(url: str) -> dict[str, Any]:
    entry = {
        "identifier": f"urn:air:{urlsplit(url).hostname}:mcp:knowledge",
        "type": _CARD,
        "displayName": "Knowledge",
        "url": f"{url}/server-card",
    }
    return {"specVersion": "1.0", "entries": [entry]}
