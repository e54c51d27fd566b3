"""Verify access tokens of an OAuth issuer, and identify their holders (RFC 6750, 7662, 8725, 9068).

A JWT is verified with the issuer's keys. With an introspection client, every token is also sent to the issuer, so that
a revoked one ends within a minute; opaque tokens require it.

The issuer is called over https, or on this machine; redirects are not followed, and a response is limited to one
megabyte and ten seconds. If it cannot be reached, this is a separate error (`IssuerDownError`): that a token could not
be checked does not mean that it is invalid.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import io
import json
import logging
import socket
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from knowledge_mcp.support.events import log_event
from knowledge_mcp.support.hosts import is_loopback

logger = logging.getLogger(__name__)

FETCH_SECONDS = 10.0
"""Maximum duration of one whole response of the issuer."""

MOST_BYTES = 1024 * 1024
"""Maximum bytes of one response; a key set has some thousands."""

FRESH_SECONDS = 300.0
"""How long metadata and keys are cached, as in the cache headers of most issuers."""

STALE_SECONDS = 3600.0
"""How long keys are used if the issuer does not respond: an outage does not stop the service, a revoked key expires."""

PAUSE_SECONDS = 10.0
"""Minimum time between two requests for keys: unknown key ids cause no more requests."""

RECHECK_SECONDS = 30.0
"""How long an introspection result is cached; with the second between two checks, a revoked token ends within 60."""

MOST_TOKENS = 10_000
"""Maximum cached introspection results, at about a kilobyte each."""

_LOCK_SECONDS = 1.0
"""How long a token with an unknown key waits for keys that another one is fetching; usually they come sooner."""

_FAMILIES = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class IssuerDownError(Exception):
    """The issuer could not be reached, with the reason."""


class JsonClient(Protocol):
    """Request a JSON object from an address, by POST if there is a form."""

    def __call__(
        self, url: str, form: Mapping[str, str] | None = None, client: tuple[str, str] | None = None
    ) -> Mapping[str, Any]:
        """Return the object; `client` is a client's id and secret, for HTTP Basic.

        Raises:
            IssuerDownError: there is no such response.
        """
        ...


def is_safe(url: str, *, loopback: bool = True) -> bool:
    """Return whether an address is https, or, with `loopback`, on this machine."""
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    if parts.username is not None or parts.fragment or not host:
        return False
    return parts.scheme == "https" or (loopback and parts.scheme == "http" and is_loopback(host))


class _TimedSocket(io.RawIOBase):
    """Read from a socket until a deadline, however slowly bytes arrive; in the place of the socket of a response."""

    def __init__(self, plain: socket.socket, deadline: float) -> None:
        self._plain = plain
        self._deadline = deadline
        self._stream = plain.makefile("rb", buffering=0)

    def makefile(self, _: str) -> io.BufferedReader:
        return io.BufferedReader(self)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("the answer takes too long")
        self._plain.settimeout(left)
        return self._stream.readinto(buffer)

    def close(self) -> None:
        self._stream.close()
        super().close()


class _TimedHandler(urllib.request.HTTPHandler, urllib.request.HTTPSHandler):
    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_timed(http.client.HTTPConnection, self._deadline), req)

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(_timed(http.client.HTTPSConnection, self._deadline), req)


def _timed(kind: type[http.client.HTTPConnection], deadline: float) -> Any:
    """Return a class of connections whose responses, with their headers, are complete by a deadline."""

    def respond(plain: socket.socket, **options: Any) -> http.client.HTTPResponse:
        return http.client.HTTPResponse(cast("socket.socket", _TimedSocket(plain, deadline)), **options)

    return type(kind.__name__, (kind,), {"response_class": staticmethod(respond)})


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any) -> None:
        return None


def fetch_json(
    url: str, form: Mapping[str, str] | None = None, client: tuple[str, str] | None = None
) -> Mapping[str, Any]:
    """Request an address like `JsonClient`."""
    if not is_safe(url):
        raise IssuerDownError(f"{_without_query(url)} is neither an https address nor on this machine")
    headers = {"Accept": "application/json", "User-Agent": "knowledge-mcp"}
    if client is not None:
        pair = ":".join(urllib.parse.quote_plus(each) for each in client)  # RFC 6749, 2.3.1
        headers["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
    body = None if form is None else urllib.parse.urlencode(form).encode()
    deadline = time.monotonic() + FETCH_SECONDS
    handlers: list[urllib.request.BaseHandler] = [_NoRedirect(), _TimedHandler(deadline)]
    if is_loopback(urllib.parse.urlsplit(url).hostname or ""):
        handlers.append(urllib.request.ProxyHandler({}))
    opener = urllib.request.build_opener(*handlers)
    try:
        with opener.open(urllib.request.Request(url, body, headers), timeout=FETCH_SECONDS / 2) as response:
            found = json.loads(_read_bounded(response))
    except urllib.error.HTTPError as exc:
        exc.close()
        raise IssuerDownError(f"{_without_query(url)} answered with {exc.code}") from exc
    except (OSError, http.client.HTTPException, ValueError, RecursionError) as exc:
        raise IssuerDownError(f"{_without_query(url)}: {type(exc).__name__}") from exc
    if not isinstance(found, dict):
        raise IssuerDownError(f"{_without_query(url)} answered with no JSON object")
    return cast("Mapping[str, Any]", found)


def _read_bounded(response: http.client.HTTPResponse) -> bytes:
    found = response.read(MOST_BYTES + 1)
    if len(found) > MOST_BYTES:
        raise ValueError("the answer is too large")
    return found


def _without_query(url: str) -> str:
    return url.partition("?")[0][:200]


class Issuer:
    """Query one issuer, with caching; thread-safe, blocking.

    Args:
        url: as in its tokens and metadata.
        client: id and secret for the introspection of tokens; None for no introspection.
        fetch: requests an address.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        url: str,
        *,
        client: tuple[str, str] | None = None,
        fetch: JsonClient = fetch_json,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.url = url
        self._client = client
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._fetching = threading.Lock()
        self._metadata: tuple[float, Mapping[str, Any]] | None = None
        self._keys: tuple[float, list[Mapping[str, Any]]] | None = None
        self._tried = float("-inf")
        self._introspections: OrderedDict[str, tuple[float, Mapping[str, Any]]] = OrderedDict()

    @property
    def introspects(self) -> bool:
        """Return whether tokens are introspected."""
        return self._client is not None

    def signing_key(self, kid: str | None, algorithm: str) -> Mapping[str, Any] | None:
        """Return the public key (a JWK) that a token names, None if the issuer has no such key.

        An unknown key is requested once more, because the issuer may have changed its keys; at most every ten seconds,
        however many tokens are sent.

        Raises:
            IssuerDownError: the issuer's keys are not cached, and cannot be fetched.
        """
        found = _choose_key(self._known_keys(FRESH_SECONDS, patience=0.0), kid, algorithm)
        if found is None:
            found = _choose_key(self._known_keys(PAUSE_SECONDS, patience=_LOCK_SECONDS), kid, algorithm)
        return found

    def introspect(self, token: str) -> Mapping[str, Any]:
        """Return the issuer's introspection of a token (RFC 7662), requested at most every half a minute.

        Raises:
            IssuerDownError: the issuer cannot be reached.
        """
        digest = hashlib.sha256(token.encode()).hexdigest()
        now = self._clock()
        with self._lock:
            known = self._introspections.get(digest)
        if known is not None and now - known[0] < RECHECK_SECONDS:
            return known[1]
        address = self._address("introspection_endpoint")
        answer = self._fetch(address, {"token": token, "token_type_hint": "access_token"}, self._client)
        with self._lock:
            self._introspections[digest] = (now, answer)
            self._introspections.move_to_end(digest)
            while len(self._introspections) > MOST_TOKENS:
                self._introspections.popitem(last=False)
        return answer

    def _known_keys(self, age: float, *, patience: float) -> list[Mapping[str, Any]]:
        """Return the keys if cached within a number of seconds, or longer if the issuer is down.

        While another thread fetches them, those that are cached are used after `patience` seconds.
        """
        now, known = self._clock(), self._keys
        if known is not None and now - known[0] < age:
            return known[1]
        usable = known is not None and now - known[0] <= STALE_SECONDS
        if not self._fetching.acquire(timeout=patience if usable else -1):
            assert known is not None
            return known[1]
        try:
            return self._fetch_keys(age)
        finally:
            self._fetching.release()

    def _fetch_keys(self, age: float) -> list[Mapping[str, Any]]:
        now, known = self._clock(), self._keys
        if known is not None and (now - known[0] < age or now - self._tried < PAUSE_SECONDS):
            return known[1]
        if known is None and now - self._tried < 1.0:  # it has just failed: waiting callers get the same error
            raise IssuerDownError("its keys could not be fetched a moment ago")
        self._tried = now
        try:
            keys = self._fetch(self._address("jwks_uri")).get("keys")
            if not isinstance(keys, list):
                raise IssuerDownError("its key set contains no list of keys")
        except IssuerDownError as exc:
            log_event(logger, logging.ERROR, "issuer_down", issuer=self.url, reason=str(exc))
            if known is None or now - known[0] > STALE_SECONDS:
                raise
            return known[1]
        found = [cast("Mapping[str, Any]", each) for each in cast("list[object]", keys) if isinstance(each, dict)]
        self._keys = (now, found)
        return found

    def _address(self, name: str) -> str:
        """Return an address from the issuer's metadata (RFC 8414, or OpenID Connect discovery)."""
        now = self._clock()
        known = self._metadata
        if known is None or now - known[0] >= FRESH_SECONDS:
            try:
                known = self._metadata = (now, self._discover())
            except IssuerDownError:
                if known is None or now - known[0] > STALE_SECONDS:
                    raise
        address = known[1].get(name)
        if not isinstance(address, str) or not is_safe(address, loopback=self.url.startswith("http:")):
            raise IssuerDownError(f"the metadata of {_without_query(self.url)} has no safe {name}")
        return address

    def _discover(self) -> Mapping[str, Any]:
        parts = urllib.parse.urlsplit(self.url)
        origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
        addresses = (
            f"{origin}/.well-known/oauth-authorization-server{path}",
            f"{origin}/.well-known/openid-configuration{path}",
            f"{origin}{path}/.well-known/openid-configuration",
        )
        problem = ""
        for address in dict.fromkeys(addresses):
            try:
                found = self._fetch(address)
            except IssuerDownError as exc:
                problem = str(exc)
                continue
            if found.get("issuer") == self.url:  # metadata of another issuer would contain that issuer's keys
                return found
            problem = f"{_without_query(address)} belongs to another issuer than {_without_query(self.url)}"
        raise IssuerDownError(problem)


def _choose_key(keys: list[Mapping[str, Any]], kid: str | None, algorithm: str) -> Mapping[str, Any] | None:
    """Choose the key for a token: of the right kind, for signing, with the named id; without an id, the only one."""
    kind = _FAMILIES.get(algorithm[:2], "")
    matches = [
        key
        for key in keys
        if key.get("kty") == kind
        and key.get("use", "sig") == "sig"
        and key.get("alg", algorithm) == algorithm
        and (kid is None or key.get("kid") == kid)
    ]
    return matches[0] if len(matches) == 1 else None


ALGORITHMS = frozenset("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split())
"""Signatures by public keys; no shared secrets, and not `none`."""

MOST_CHARACTERS = 16_384
"""Maximum characters of a token; with hundreds of groups it has some thousands."""

LEEWAY_SECONDS = 30
"""Maximum difference between the clocks of issuer and server."""

FEWEST_RSA_BITS = 2048
"""RFC 7518, 3.3."""

LONGEST_NAME = 255
"""Maximum characters of a subject (OpenID Connect Core, 2)."""

_TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_MOST_GROUPS = 1_000
"""Maximum groups of one token: identity providers send at most some hundreds before they send a link instead."""


class TokenRefusedError(Exception):
    """A token is refused.

    Attributes:
        error: `invalid_token` or `insufficient_scope` (RFC 6750).
    """

    def __init__(self, reason: str, error: str = "invalid_token") -> None:
        super().__init__(reason)
        self.error = error


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a token.

    Attributes:
        name: the subject, otherwise the client.
        groups: from the groups claim, sorted.
    """

    name: str
    groups: tuple[str, ...]


class TokenVerifier:
    """Verify tokens of one issuer for this server; thread-safe, blocking.

    Args:
        issuer: provides keys and introspection.
        audiences: a token must be for one of these.
        scopes: a token must have all of these.
        groups_claim: name of the groups claim; nested claims are joined by dots.
        now: seconds since 1970.
    """

    def __init__(
        self,
        issuer: Issuer,
        *,
        audiences: Sequence[str],
        scopes: Sequence[str] = (),
        groups_claim: str = "groups",
        now: Callable[[], float] = time.time,
    ) -> None:
        self._issuer = issuer
        self._audiences = frozenset(audiences)
        self.scopes = tuple(scopes)
        self._groups_claim = groups_claim
        self._now = now

    @property
    def issuer(self) -> str:
        """Return the issuer's address."""
        return self._issuer.url

    def verify(self, token: str) -> Holder:
        """Return the holder of a token.

        Raises:
            TokenRefusedError: it is not valid here.
            IssuerDownError: that could not be determined.
        """
        if not token or len(token) > MOST_CHARACTERS or not token.isascii() or not token.isprintable():
            raise TokenRefusedError("it is not a token")
        parts = token.count(".")
        if parts == 4:
            raise TokenRefusedError("it is encrypted")
        claims = self._check_signature(token) if parts == 2 else None
        if claims is None and not self._issuer.introspects:
            raise TokenRefusedError("it is not a JWT, and introspection is not configured")
        if self._issuer.introspects:
            answer = self._introspect(token)
            claims = {**(claims or {}), **answer}
        assert claims is not None
        return self._holder(claims)

    def _check_signature(self, token: str) -> Mapping[str, Any]:
        """Verify a JWT's signature, issuer, audience and times; return its claims."""
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            algorithm, kid = header.get("alg"), header.get("kid")
            if algorithm not in ALGORITHMS:
                raise TokenRefusedError("its algorithm is not allowed")
            if "crit" in header or str(header.get("typ", "")).lower() not in _TYPES:
                raise TokenRefusedError("it is not an access token")
            key = self._issuer.signing_key(kid, algorithm)
            if key is None:
                raise TokenRefusedError("the issuer has no such key")
            public = _public_key(key, algorithm)
            return jwt.decode(
                token,
                public,
                algorithms=[algorithm],
                audience=self._audiences,
                issuer=self._issuer.url,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "iss", "aud"]},
            )
        except jwt.InvalidTokenError as exc:
            raise TokenRefusedError(_REASONS.get(type(exc).__name__, "it is not valid")) from exc
        except (ValueError, TypeError, RecursionError) as exc:
            raise TokenRefusedError("it is not valid") from exc

    def _introspect(self, token: str) -> Mapping[str, Any]:
        answer = self._issuer.introspect(token)
        if answer.get("active") is not True:
            raise TokenRefusedError("the issuer reports that it is not active")
        if answer.get("iss", self._issuer.url) != self._issuer.url:
            raise TokenRefusedError(_REASONS["InvalidIssuerError"])
        return answer

    def _holder(self, claims: Mapping[str, Any]) -> Holder:
        if not self._audiences & set(_texts(claims.get("aud"))):
            raise TokenRefusedError(_REASONS["InvalidAudienceError"])
        if "cnf" in claims:
            raise TokenRefusedError("it is bound to a key that was not presented")
        now, expires, begins = self._now(), claims.get("exp"), claims.get("nbf", 0)
        if not isinstance(expires, int | float) or not isinstance(begins, int | float):
            raise TokenRefusedError("it has no expiry time")
        if expires + LEEWAY_SECONDS <= now:
            raise TokenRefusedError(_REASONS["ExpiredSignatureError"])
        if begins - LEEWAY_SECONDS > now:
            raise TokenRefusedError(_REASONS["ImmatureSignatureError"])
        scopes = {word for each in ("scope", "scp") for text in _texts(claims.get(each)) for word in text.split()}
        if missing := [each for each in self.scopes if each not in scopes]:
            raise TokenRefusedError(f"it lacks the scope {missing[0]}", "insufficient_scope")
        names = [claims.get(each) for each in ("sub", "client_id", "azp")]
        name = next((each for each in names if isinstance(each, str) and each.strip()), "")
        if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
            raise TokenRefusedError("it has no subject")
        return Holder(name, self._groups(claims))

    def _groups(self, claims: Mapping[str, Any]) -> tuple[str, ...]:
        found: object = claims.get(self._groups_claim)
        if found is None:
            found = claims
            for name in self._groups_claim.split("."):
                found = cast("Mapping[str, object]", found).get(name) if isinstance(found, dict) else None
        groups = sorted(set(_texts(found)))
        if len(groups) > _MOST_GROUPS:
            raise TokenRefusedError("it has too many groups")
        return tuple(groups)


_REASONS = {
    "ExpiredSignatureError": "it has expired",
    "ImmatureSignatureError": "it is not valid yet",
    "InvalidAudienceError": "it was issued for another server",
    "InvalidIssuerError": "it was issued by another issuer",
    "InvalidSignatureError": "its signature is not valid",
    "MissingRequiredClaimError": "a required claim is missing",
}


def _public_key(key: Mapping[str, Any], algorithm: str) -> Any:
    """Build the public key of a JWK; one with a private part, or a short one, is refused."""
    from jwt.algorithms import get_default_algorithms

    public = get_default_algorithms()[algorithm].from_jwk({name: key[name] for name in key if name != "d"})
    size = getattr(public, "key_size", None)
    if key["kty"] == "RSA" and (size is None or size < FEWEST_RSA_BITS):
        raise TokenRefusedError("the issuer's key is too short")
    return public


def _texts(value: object) -> list[str]:
    """Return the texts of a claim that is a text, or a list of texts."""
    if isinstance(value, str):
        return [value]
    return [each for each in cast("list[object]", value) if isinstance(each, str)] if isinstance(value, list) else []
