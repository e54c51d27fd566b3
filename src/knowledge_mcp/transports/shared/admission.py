"""Authentication: by a key, or by an access token of the OAuth issuer, each with its permissions."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

import anyio
import anyio.to_thread
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from knowledge_mcp.support.events import in_one_line, log_event
from knowledge_mcp.transports.shared.guards import Refuse, send_body, serve_while_valid
from knowledge_mcp.transports.shared.keys import ANONYMOUS, KEY, Key, KeyRing
from knowledge_mcp.transports.shared.threads import ASKER
from knowledge_mcp.transports.shared.tokens import IssuerDownError, TokenRefusedError, TokenVerifier

logger = logging.getLogger(__name__)

ROUTE = "knowledge_route"
"""Key of the route's template in a scope, for apps without a framework that sets it."""

METADATA_PATH = "/.well-known/oauth-protected-resource"
"""Path at which a protected resource describes itself (RFC 9728)."""

MAX_CHECKS = 8
"""Maximum tokens checked at a time: a check may wait for the issuer, ten seconds at most."""

RECHECK_SECONDS = 15.0
"""How often the token of an open session or stream is checked again. Together with the caching of the issuer's
answer (30), its timeout (10) and the second between two checks, a revoked token ends within 60 seconds.
"""

UNCHECKED_SECONDS = 60.0
"""How long an open session or stream continues while its token cannot be checked."""


@dataclass(frozen=True, slots=True)
class ProtectedResource:
    """Describe this server to clients that sign on.

    Attributes:
        url: as clients reach it.
        tokens: verifies their tokens.
    """

    url: str
    tokens: TokenVerifier

    @property
    def metadata_url(self) -> str:
        """Return the address of the metadata: the well-known path is between the host and the resource's own path."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}{METADATA_PATH}{parts.path.rstrip('/')}"

    def metadata(self) -> dict[str, Any]:
        """Build the metadata (RFC 9728)."""
        fields: dict[str, Any] = {
            "resource": self.url,
            "authorization_servers": [self.tokens.issuer],
            "bearer_methods_supported": ["header"],
            "resource_name": "Knowledge",
        }
        return {**fields, "scopes_supported": list(self.tokens.scopes)} if self.tokens.scopes else fields


@dataclass(frozen=True, slots=True)
class Admitted:
    """An authenticated caller.

    Attributes:
        key: name and permissions.
        valid: returns whether it is still valid; fast, because it is called every second.
    """

    key: Key
    valid: Callable[[], bool]


@dataclass(frozen=True, slots=True)
class Rejection:
    """A refused caller.

    Attributes:
        reason: `missing`, `wrong`, `scope`, or `unknown` if the issuer cannot be reached.
        message: for the caller.
        challenge: for the header `WWW-Authenticate`, without scheme and realm; empty if tokens are not accepted.
    """

    reason: str
    message: str
    challenge: str = ""


class Admission:
    """Authenticate callers; used on the event loop.

    Args:
        keys: our own keys, and the roles of groups.
        resource: this server as an OAuth resource; None if tokens are not accepted.
        clock: seconds, monotonic.
    """

    def __init__(
        self, keys: KeyRing, resource: ProtectedResource | None = None, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.keys = keys
        self.resource = resource
        self._clock = clock
        self._places = anyio.CapacityLimiter(MAX_CHECKS)

    @property
    def required(self) -> bool:
        """Return whether a key or a token is required."""
        return self.keys.required or self.resource is not None

    async def admit(self, headers: Sequence[str]) -> Admitted | Rejection:
        """Check the `Authorization` headers of a request."""
        scheme, _, rest = headers[0].partition(" ") if len(headers) == 1 else ("", "", "")
        token = rest.strip(" ")
        key = self.keys.recognise(token.encode("latin-1"))  # the bytes as received
        if scheme.lower() != "bearer" or not token:
            reason = "wrong" if any(_shows_one(each) for each in headers) else "missing"
            return Rejection(reason, "A valid bearer token is required.", self._challenge())
        if key is not None:
            return Admitted(key, self.keys.validity(token.encode("latin-1"), key))
        if self.resource is None:
            return Rejection("wrong", "A valid bearer token is required.")
        return await self._by_token(token, self.resource.tokens)

    async def _by_token(self, token: str, tokens: TokenVerifier) -> Admitted | Rejection:
        def check() -> Admitted:
            holder = tokens.verify(token)
            key = self.keys.holder(holder.name, holder.groups)
            return Admitted(key, _Watch(tokens, token, self.keys, key, self._clock))

        try:
            return await anyio.to_thread.run_sync(check, limiter=self._places)
        except TokenRefusedError as exc:
            log_event(logger, logging.WARNING, "token_refused", reason=in_one_line(str(exc), 200))
            reason = "scope" if exc.error == "insufficient_scope" else "wrong"
            return Rejection(reason, f"The token is not valid here: {exc}.", self._challenge(exc.error))
        except IssuerDownError as exc:
            log_event(logger, logging.ERROR, "issuer_down", issuer=tokens.issuer, reason=in_one_line(str(exc), 300))
            return Rejection("unknown", "The token cannot be checked now: its issuer does not respond.")

    def _challenge(self, error: str = "") -> str:
        if self.resource is None:
            return ""
        parts = [f'error="{error}"'] if error else []
        if self.resource.tokens.scopes:
            parts.append(f'scope="{" ".join(self.resource.tokens.scopes)}"')
        return ", ".join([*parts, f'resource_metadata="{self.resource.metadata_url}"'])

    def describes(self, method: str, path: str) -> bool:
        """Return whether a request asks for the metadata, which needs no token."""
        if self.resource is None or method not in {"GET", "HEAD"}:
            return False
        return path in {METADATA_PATH, urlsplit(self.resource.metadata_url).path}

    async def describe(self, send: Send) -> None:
        """Respond with the metadata; pages of any origin may read it."""
        assert self.resource is not None
        open_to_all = [(b"access-control-allow-origin", b"*"), (b"cache-control", b"public, max-age=300")]
        await send_body(send, 200, self.resource.metadata(), open_to_all)


class KeyGate:
    """Require `Authorization: Bearer <key>`, and store the key in the scope.

    A revoked key is refused from then on, and its open streams end. If no key is required, callers that no earlier
    layer has authenticated are `anonymous` and may do everything.

    Args:
        app: the wrapped app.
        admission: authenticates keys and tokens.
        is_open: returns by method and path what needs no key; the metadata for signing on never does.
        refuse: sends the refusal.
    """

    def __init__(
        self, app: ASGIApp, admission: Admission, *, is_open: Callable[[str, str], bool], refuse: Refuse[Rejection]
    ) -> None:
        self._app = app
        self._admission = admission
        self._is_open = is_open
        self._refuse: Refuse[Rejection] = refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in {"http", "websocket"}:
            await self._app(scope, receive, send)
            return
        method, path = str(scope.get("method", "")), str(scope["path"])
        if self._is_open(method, path):
            await self._app(scope, receive, send)
        elif self._admission.describes(method, path):
            scope[ROUTE] = METADATA_PATH
            await self._admission.describe(send)
        elif not self._admission.required:
            scope.setdefault(KEY, ANONYMOUS)
            await self._app(scope, receive, send)
        else:
            judged = await self._admission.admit(Headers(scope=scope).getlist("authorization"))
            if isinstance(judged, Rejection):
                await self._refuse(scope, send, judged)
                return
            scope[KEY] = judged.key
            ASKER.set(judged.key.name)
            await serve_while_valid(self._app, scope, receive, send, judged.valid)


def _shows_one(header: str) -> bool:
    """Return whether a header contains a bearer token at all, valid or not."""
    scheme, _, value = header.partition(" ")
    return scheme.lower() == "bearer" and bool(value.strip())


class _Watch:
    """Check that a token is still valid, with the same holder and permissions; asks the issuer on a thread."""

    def __init__(self, tokens: TokenVerifier, token: str, keys: KeyRing, key: Key, clock: Callable[[], float]) -> None:
        self._tokens = tokens
        self._token = token
        self._keys = keys
        self._key = key
        self._clock = clock
        self._checked = self._valid_at = clock()
        self._asking = threading.Lock()
        self._holds = True

    def __call__(self) -> bool:
        if self._holds and self._clock() - self._checked >= RECHECK_SECONDS and self._asking.acquire(blocking=False):
            threading.Thread(target=self._check, name="token check", daemon=True).start()
        return self._holds

    def _check(self) -> None:
        try:
            holder = self._tokens.verify(self._token)
            self._holds = self._keys.holder(holder.name, holder.groups) == self._key
            self._valid_at = self._clock()
        except TokenRefusedError:
            self._holds = False
        except IssuerDownError:
            self._holds = self._clock() - self._valid_at < UNCHECKED_SECONDS
        finally:
            self._checked = self._clock()
            self._asking.release()
