"""Access tokens of an OAuth issuer: what must hold of one, and whom it names (RFC 6750, 7662, 8725, 9068).

A JWT is checked by the issuer's keys. With an introspection client every token is shown to the issuer too, so that one
taken back ends within a minute; tokens that are no JWT need it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from knowledge_mcp.transports.shared.issuer import Issuer

ALGORITHMS = frozenset("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA".split())
"""Signatures by public keys; none by shared secrets, and not none."""

MOST_CHARACTERS = 16_384
"""A token with hundreds of groups has some thousands."""

LEEWAY_SECONDS = 30
"""How far the clocks of issuer and server may differ."""

FEWEST_RSA_BITS = 2048
"""RFC 7518, 3.3."""

LONGEST_NAME = 255
"""OpenID Connect Core, 2: most characters of a subject."""

_TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_MOST_GROUPS = 1_000


class TokenRefusedError(Exception):
    """Say why a token is refused.

    Attributes:
        error: `invalid_token` or `insufficient_scope` (RFC 6750).
    """

    def __init__(self, why: str, error: str = "invalid_token") -> None:
        super().__init__(why)
        self.error = error


@dataclass(frozen=True, slots=True)
class Holder:
    """Name whom a token was issued to.

    Attributes:
        name: the subject, else the client.
        groups: as the claim of groups tells them, sorted.
        expires: seconds since 1970.
    """

    name: str
    groups: tuple[str, ...]
    expires: float


class TokenVerifier:
    """Check tokens of one issuer for this server; thread-safe, blocking.

    Args:
        issuer: asked for keys and for what it says of a token.
        audiences: a token must be meant for one of these.
        scopes: a token must have all of these.
        groups_claim: where the groups stand; names of claims within claims are joined by dots.
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
        """Return whom a token names.

        Raises:
            TokenRefusedError: it does not hold here.
            IssuerDownError: that could not be found out.
        """
        if not token or len(token) > MOST_CHARACTERS or not token.isascii() or not token.isprintable():
            raise TokenRefusedError("it is no token")
        parts = token.count(".")
        if parts == 4:
            raise TokenRefusedError("it is encrypted")
        claims = self._signed(token) if parts == 2 else None
        if claims is None and not self._issuer.introspects:
            raise TokenRefusedError("it is no JWT, and no introspection is configured")
        if self._issuer.introspects:
            told = self._introspected(token)
            claims = {**(claims or {}), **told}
        assert claims is not None
        return self._holder(claims)

    def _signed(self, token: str) -> Mapping[str, Any]:
        """Check a JWT's signature, issuer, audience and times; return its claims."""
        import jwt

        try:
            header = jwt.get_unverified_header(token)
            algorithm, kid = header.get("alg"), header.get("kid")
            if algorithm not in ALGORITHMS:
                raise TokenRefusedError("its algorithm is not allowed")
            if "crit" in header or str(header.get("typ", "")).lower() not in _TYPES:
                raise TokenRefusedError("it is no access token")
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
            raise TokenRefusedError(_WHY.get(type(exc).__name__, "it is not valid")) from exc
        except (ValueError, TypeError, RecursionError) as exc:
            raise TokenRefusedError("it is not valid") from exc

    def _introspected(self, token: str) -> Mapping[str, Any]:
        told = self._issuer.introspected(token)
        if told.get("active") is not True:
            raise TokenRefusedError("the issuer says that it does not hold")
        if told.get("iss", self._issuer.url) != self._issuer.url:
            raise TokenRefusedError(_WHY["InvalidIssuerError"])
        return told

    def _holder(self, claims: Mapping[str, Any]) -> Holder:
        if not self._audiences & set(_texts(claims.get("aud"))):
            raise TokenRefusedError(_WHY["InvalidAudienceError"])
        if "cnf" in claims:
            raise TokenRefusedError("it is bound to a key that was not shown")
        now, expires, begins = self._now(), claims.get("exp"), claims.get("nbf", 0)
        if not isinstance(expires, int | float) or not isinstance(begins, int | float):
            raise TokenRefusedError("it does not say how long it holds")
        if expires + LEEWAY_SECONDS <= now:
            raise TokenRefusedError(_WHY["ExpiredSignatureError"])
        if begins - LEEWAY_SECONDS > now:
            raise TokenRefusedError(_WHY["ImmatureSignatureError"])
        scopes = {word for each in ("scope", "scp") for text in _texts(claims.get(each)) for word in text.split()}
        if missing := [each for each in self.scopes if each not in scopes]:
            raise TokenRefusedError(f"it lacks the scope {missing[0]}", "insufficient_scope")
        named = [claims.get(each) for each in ("sub", "client_id", "azp")]
        name = next((each for each in named if isinstance(each, str) and each.strip()), "")
        if not name.isprintable() or not 1 <= len(name) <= LONGEST_NAME:
            raise TokenRefusedError("it names nobody")
        return Holder(name, self._groups(claims), float(expires) + LEEWAY_SECONDS)

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


_WHY = {
    "ExpiredSignatureError": "it has expired",
    "ImmatureSignatureError": "it does not hold yet",
    "InvalidAudienceError": "it is meant for another server",
    "InvalidIssuerError": "it is of another issuer",
    "InvalidSignatureError": "its signature is wrong",
    "MissingRequiredClaimError": "it lacks a claim",
}


def _public_key(key: Mapping[str, Any], algorithm: str) -> Any:
    """Make the public key of a JWK; one with a private part, or a short one, is refused."""
    from jwt.algorithms import get_default_algorithms

    public = get_default_algorithms()[algorithm].from_jwk({name: key[name] for name in key if name != "d"})
    size = getattr(public, "key_size", None)
    if key["kty"] == "RSA" and (size is None or size < FEWEST_RSA_BITS):
        raise TokenRefusedError("the issuer's key is too short")
    return public


def _texts(value: object) -> list[str]:
    """List the texts of a claim that is one, or a list of some."""
    if isinstance(value, str):
        return [value]
    return [each for each in cast("list[object]", value) if isinstance(each, str)] if isinstance(value, list) else []
