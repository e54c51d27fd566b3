"""Bearer tokens, several and named, in front of everything but `GET /health`. Pure ASGI, so that streams stream."""

from __future__ import annotations

import logging

from mcp.server.auth.middleware.auth_context import AuthContextMiddleware
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from knowledge_mcp.transports.guards import send_error
from knowledge_mcp.transports.keys import Key, KeyRing
from knowledge_mcp.transports.revoking import serve_while_valid

__all__ = ["BearerAuth"]

logger = logging.getLogger(__name__)

_CHALLENGE = (b"www-authenticate", b'Bearer realm="knowledge-mcp"')


class BearerAuth:
    """Ask every request for `Authorization: Bearer <token>`; exactly `GET /health` needs none.

    Who was recognised becomes the request's user, to whom the SDK binds the sessions it opens: another name's valid
    token does not reach them. A failure is answered with 401 and logged with the client's address, method and path.

    Args:
        app: what stands behind.
        keys: the tokens by name; one that is limited to some collections is refused, for limits are not looked at here.
            A token that is taken out of its file is refused from the next request on, and its open streams end.
    """

    def __init__(self, app: ASGIApp, keys: KeyRing) -> None:
        if not keys.required:
            raise ValueError("at least one token is needed")
        self._app = AuthContextMiddleware(app)
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        if scope["type"] == "http" and scope["method"] == "GET" and scope["path"] == "/health":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).getlist("authorization")
        key = self._recognise(given[0]) if len(given) == 1 else None
        if key is None:
            await self._refuse(scope, send, missing=not given)
            return
        scope["user"] = AuthenticatedUser(AccessToken(token="", client_id=key.name, scopes=[]))
        valid = self._keys.validity(_token(given[0]), key)
        await serve_while_valid(self._app, scope, receive, send, valid)

    def _recognise(self, header: str) -> Key | None:
        found = self._keys.recognise(_token(header))
        if found is None or not found.may_do_everything:
            return None
        return found if header.partition(" ")[0].lower() == "bearer" else None

    @staticmethod
    async def _refuse(scope: Scope, send: Send, *, missing: bool) -> None:
        client = scope.get("client")
        logger.warning(
            "authentication failed: %s token from %s, %s %s",
            "no" if missing else "wrong",
            client[0] if client else "unknown",
            scope.get("method", "WEBSOCKET"),
            scope["path"],
        )
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
            return
        await send_error(send, 401, "unauthorized", "A valid bearer token is required.", [_CHALLENGE])


def _token(header: str) -> bytes:
    return header.partition(" ")[2].strip(" ").encode("latin-1")  # the bytes as they came
