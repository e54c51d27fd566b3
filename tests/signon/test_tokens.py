"""Tokens that hold and tokens that do not: every row is one way to get in that must not work."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from knowledge_mcp.transports.shared import tokens
from knowledge_mcp.transports.shared.tokens import (
    FRESH_SECONDS,
    PAUSE_SECONDS,
    STALE_SECONDS,
    Issuer,
    IssuerDownError,
    TokenRefusedError,
    TokenVerifier,
    fetch_json,
)
from tests.servers.running import served
from tests.signon.issuer import AUDIENCE, TestIssuer, public_jwk, rsa_key


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def verifier(issuer: TestIssuer, clock: Clock | None = None, **more: Any) -> TokenVerifier:
    client = more.pop("client", None)
    asked = Issuer(issuer.url, client=client, clock=clock or Clock())
    return TokenVerifier(asked, audiences=[AUDIENCE], **more)


def unsigned(claims: dict[str, Any], header: dict[str, Any], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(each).rstrip(b"=").decode() for each in parts)


def test_a_token_that_holds_names_its_subject_and_groups(issuer: TestIssuer) -> None:
    found = verifier(issuer, scopes=["knowledge.read"]).verify(issuer.token(groups=["b", "a", 7]))
    assert (found.name, found.groups) == ("alice", ("a", "b"))


@pytest.mark.parametrize(
    ("claim", "changed"),
    [
        ("realm_access.roles", {"realm_access": {"roles": ["a"]}}),
        ("https://example.com/groups", {"https://example.com/groups": ["a"]}),
        ("team", {"team": "a"}),
    ],
)
def test_groups_are_found_in_the_claim_that_is_named(issuer: TestIssuer, claim: str, changed: dict[str, Any]) -> None:
    assert verifier(issuer, groups_claim=claim).verify(issuer.token(**changed)).groups == ("a",)


def test_a_service_without_a_subject_is_called_by_its_client(issuer: TestIssuer) -> None:
    assert verifier(issuer).verify(issuer.token(sub=None, client_id="robot")).name == "robot"


@pytest.mark.parametrize(
    ("key", "alg"),
    [
        (rsa_key(), "RS512"), (rsa_key(), "PS256"), (ec.generate_private_key(ec.SECP256R1()), "ES256"),
        (ed25519.Ed25519PrivateKey.generate(), "EdDSA"),
    ],
)  # fmt: skip
def test_signatures_by_public_keys_of_each_kind_hold(issuer: TestIssuer, key: Any, alg: str) -> None:
    issuer.show(public_jwk(key, "k"))
    assert verifier(issuer).verify(issuer.token(key, alg=alg, kid="k")).name == "alice"


CLAIMS: dict[str, dict[str, Any]] = {
    "another audience": {"aud": "https://other.example.com"},
    "an audience that only begins like ours": {"aud": f"{AUDIENCE}/more"},
    "no audience": {"aud": None},
    "another issuer": {"iss": "https://evil.example.com"},
    "an issuer with a slash more": {"iss": "/"},
    "no issuer": {"iss": None},
    "no end": {"exp": None},
    "an end that is no number": {"exp": "tomorrow"},
    "nobody's name": {"sub": None},
    "a blank name": {"sub": "  "},
    "a name with a line break": {"sub": "alice\nadmin"},
    "a name of a thousand letters": {"sub": "a" * 1000},
    "a name that is no text": {"sub": 7},
    "a key that its holder must show": {"cnf": {"jkt": "x"}},
    "more groups than anybody has": {"groups": [str(each) for each in range(1001)]},
}


@pytest.mark.parametrize("case", CLAIMS)
def test_a_token_with_wrong_claims_is_refused(issuer: TestIssuer, case: str) -> None:
    changed = {name: f"{issuer.url}/" if value == "/" else value for name, value in CLAIMS[case].items()}
    with pytest.raises(TokenRefusedError):
        verifier(issuer).verify(issuer.token(**changed))


def test_clocks_may_differ_by_half_a_minute_and_no_more(issuer: TestIssuer) -> None:
    now = int(time.time())
    check = verifier(issuer)
    holding: list[dict[str, Any]] = [{"exp": now - 20}, {"nbf": now + 20}, {"iat": now + 20}]
    refused: list[dict[str, Any]] = [{"exp": now - 40}, {"nbf": now + 90}, {"iat": now + 90}]
    for good in holding:
        assert check.verify(issuer.token(**good)).name == "alice"
    for bad in refused:
        with pytest.raises(TokenRefusedError):
            check.verify(issuer.token(**bad))


def test_no_signature_a_shared_secret_and_a_key_in_the_token_do_not_sign(issuer: TestIssuer) -> None:
    check = verifier(issuer)
    public = (
        rsa_key().public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    )
    claims = issuer.claims()
    body = unsigned(claims, {"alg": "HS256", "kid": "one"}).rstrip(".")
    mac = base64.urlsafe_b64encode(hmac.new(public, body.encode(), hashlib.sha256).digest()).rstrip(b"=").decode()
    own = rsa_key(1)
    hostile = [
        unsigned(claims, {"alg": "none"}), unsigned(claims, {"alg": "None", "kid": "one"}), unsigned(claims, {}),
        unsigned(claims, {"alg": ["RS256"], "kid": "one"}), unsigned(claims, {"alg": "RS256", "kid": ["one"]}, b"x"),
        f"{body}.{mac}",
        jwt.encode(claims, own, "RS256", headers={"kid": "one", "jwk": public_jwk(own, "one")}),
        jwt.encode(claims, own, "RS256", headers={"kid": "one", "jku": "https://evil.example.com/jwks"}),
        jwt.encode(claims, own, "RS256", headers={"kid": "one", "crit": ["b64"], "b64": True}),
        issuer.token(rsa_key(1)), issuer.token(kid="../../etc/passwd"), issuer.token(typ="logout+jwt"),
        issuer.token(alg="RS512"), issuer.token()[:-4] + "AAAA", "a.b.c", "....", "a.b.c.d.e", "", "opaque", "ä.ö.ü",
        f"{issuer.token()}." + "a" * 20_000,
    ]  # fmt: skip
    for token in hostile:
        with pytest.raises(TokenRefusedError):
            check.verify(token)


def test_a_key_of_another_kind_use_or_length_signs_nothing(issuer: TestIssuer) -> None:
    short = rsa_key(2, 1024)
    issuer.show(
        public_jwk(rsa_key(), "enc", use="enc"), public_jwk(short, "short"), public_jwk(rsa_key(), "ps", alg="PS256")
    )
    check = verifier(issuer)
    for token in (
        issuer.token(kid="enc"), issuer.token(short, kid="short"), issuer.token(kid="ps"),
        issuer.token(ec.generate_private_key(ec.SECP256R1()), alg="ES256", kid="ps"),
    ):  # fmt: skip
        with pytest.raises(TokenRefusedError):
            check.verify(token)


def test_a_token_that_names_no_key_is_checked_by_the_only_one(issuer: TestIssuer) -> None:
    assert verifier(issuer).verify(issuer.token(kid=None)).name == "alice"
    issuer.show(public_jwk(rsa_key(), "one"), public_jwk(rsa_key(1), "two"))
    with pytest.raises(TokenRefusedError):
        verifier(issuer).verify(issuer.token(kid=None))


def test_a_token_that_lacks_a_scope_is_distinguished(issuer: TestIssuer) -> None:
    check = verifier(issuer, scopes=["knowledge.read", "extra"])
    with pytest.raises(TokenRefusedError) as raised:
        check.verify(issuer.token())
    assert raised.value.error == "insufficient_scope"
    assert check.verify(issuer.token(scope=None, scp=["extra", "knowledge.read"])).name == "alice"


def test_changed_keys_are_fetched_once_and_unknown_ones_cost_the_issuer_nothing(issuer: TestIssuer) -> None:
    clock = Clock()
    check = verifier(issuer, clock)
    check.verify(issuer.token())
    issuer.show(public_jwk(rsa_key(1), "two"))
    clock.now += PAUSE_SECONDS
    assert check.verify(issuer.token(rsa_key(1), kid="two")).name == "alice"
    for number in range(50):
        with pytest.raises(TokenRefusedError):
            check.verify(issuer.token(kid=f"guess-{number}"))
    assert issuer.asked.count("/jwks") == 2
    with pytest.raises(TokenRefusedError):
        check.verify(issuer.token())  # the key that was taken back


def test_keys_that_were_known_outlive_a_short_outage_and_no_long_one(issuer: TestIssuer) -> None:
    clock = Clock()
    check = verifier(issuer, clock)
    check.verify(issuer.token())
    issuer.answers["/jwks"] = None
    clock.now += FRESH_SECONDS + 1
    assert check.verify(issuer.token()).name == "alice"
    clock.now += STALE_SECONDS
    with pytest.raises(IssuerDownError):
        check.verify(issuer.token())


@pytest.mark.parametrize(
    "broken",
    [
        {"/jwks": None}, {"/jwks": b"<html>"}, {"/jwks": {"keys": "none"}}, {"/jwks": []},
        {"/jwks": b'{"keys": [' + b" " * (2 << 20) + b"]}"}, {"/jwks": b"[" * 100_000},
        {"/.well-known/oauth-authorization-server": None},
        {"/.well-known/oauth-authorization-server": {"issuer": "https://evil.example.com", "jwks_uri": "/"}},
    ],
)  # fmt: skip
def test_an_issuer_that_cannot_be_understood_is_an_outage_and_no_refusal(
    issuer: TestIssuer, broken: dict[str, Any]
) -> None:
    issuer.answers.update(broken)
    with pytest.raises(IssuerDownError):
        verifier(issuer).verify(issuer.token())


def test_an_answer_that_comes_byte_by_byte_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "FETCH_SECONDS", 0.1)
    given_up = threading.Event()

    class Dripping(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(b"HTTP/1.0 200 OK\r\nX-Slow: ")
            for _ in range(100):
                if given_up.wait(0.02):
                    return
                self.wfile.write(b"x")
            self.wfile.write(b"\r\n\r\n{}")

    with served(ThreadingHTTPServer(("127.0.0.1", 0), Dripping)) as server:
        with pytest.raises(IssuerDownError, match="TimeoutError"):
            fetch_json(f"http://127.0.0.1:{server.server_address[1]}/jwks")
        given_up.set()


@pytest.mark.parametrize("age", [PAUSE_SECONDS, FRESH_SECONDS])
def test_known_keys_serve_while_others_are_being_fetched(issuer: TestIssuer, age: float) -> None:
    clock, let_go, asked = Clock(), threading.Event(), threading.Event()
    let_go.set()

    def fetch(url: str, form: Mapping[str, str] | None = None, client: tuple[str, str] | None = None) -> Any:
        if url.endswith("/jwks") and not let_go.is_set():
            asked.set()
            assert let_go.wait(20)
        return fetch_json(url, form, client)

    check = TokenVerifier(Issuer(issuer.url, fetch=fetch, clock=clock), audiences=[AUDIENCE])
    check.verify(issuer.token())
    clock.now += age
    let_go.clear()
    with ThreadPoolExecutor(2) as pool:
        unknown = pool.submit(check.verify, issuer.token(kid="guess"))
        assert asked.wait(20)
        try:
            assert pool.submit(check.verify, issuer.token()).result(20).name == "alice"
        finally:
            let_go.set()
        assert isinstance(unknown.exception(20), TokenRefusedError)


@pytest.mark.parametrize(
    "address", ["http://kb.example.com/jwks", "file:///etc/passwd", "ftp://127.0.0.1/", "https://"]
)
def test_keys_come_from_safe_addresses_only(issuer: TestIssuer, address: str) -> None:
    issuer.answers["/.well-known/oauth-authorization-server"] = {**issuer.metadata, "jwks_uri": address}
    with pytest.raises(IssuerDownError):
        verifier(issuer).verify(issuer.token())


def test_redirects_are_not_followed(issuer: TestIssuer) -> None:
    with TestIssuer() as other:
        issuer.redirects["/jwks"] = f"{other.url}/jwks"
        with pytest.raises(IssuerDownError):
            verifier(issuer).verify(issuer.token())
        assert other.asked == []


def test_openid_discovery_serves_too(issuer: TestIssuer) -> None:
    issuer.answers["/.well-known/openid-configuration"] = issuer.answers.pop("/.well-known/oauth-authorization-server")
    assert verifier(issuer).verify(issuer.token()).name == "alice"


def test_an_opaque_token_is_introspected_and_one_taken_back_ends_within_half_a_minute(issuer: TestIssuer) -> None:
    clock = Clock()
    check = verifier(issuer, clock, client=("kb", "s:cret"))
    issuer.active["opaque"] = {"active": True, **issuer.claims(groups=["a"])}
    assert check.verify("opaque").groups == ("a",)
    assert base64.b64decode(issuer.basic[0].split()[1]) == b"kb:s%3Acret"
    issuer.active.clear()
    clock.now += 29
    assert check.verify("opaque").name == "alice"
    clock.now += 2
    with pytest.raises(TokenRefusedError):
        check.verify("opaque")


def test_an_introspected_token_must_be_meant_for_this_server_and_a_jwt_must_be_signed_too(issuer: TestIssuer) -> None:
    check = verifier(issuer, client=("kb", "secret"))
    for number, changed in enumerate(({"aud": "other"}, {"aud": None}, {"iss": "other"}, {"exp": None}, {"exp": 1})):
        issuer.active[f"t{number}"] = {"active": True, **issuer.claims(**changed)}
        with pytest.raises(TokenRefusedError):
            check.verify(f"t{number}")
    forged = issuer.token(rsa_key(1))
    issuer.active[forged] = {"active": True, **issuer.claims()}
    with pytest.raises(TokenRefusedError):
        check.verify(forged)
    signed = issuer.token()
    with pytest.raises(TokenRefusedError):
        check.verify(signed)
    issuer.answers["/introspect"] = None
    with pytest.raises(IssuerDownError):
        check.verify(issuer.token(sub="bob"))


def test_importing_the_verifier_imports_no_cryptography() -> None:
    code = "import sys, knowledge_mcp.transports.shared.tokens as _; sys.exit('jwt' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
