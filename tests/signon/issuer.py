"""A small OAuth issuer on loopback whose every answer a test can change; it signs what it is told to."""

from __future__ import annotations

import functools
import json
import time
import warnings
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

from tests.servers.running import ThreadedServer

AUDIENCE = "https://kb.example.com/mcp"


@functools.cache
def rsa_key(number: int = 0, bits: int = 2048) -> rsa.RSAPrivateKey:
    """Make a key, each number once in a run."""
    del number
    return rsa.generate_private_key(65537, bits)


def public_jwk(key: Any, kid: str | None = None, **more: Any) -> dict[str, Any]:
    """Write the public part of a key as a JWK."""
    if isinstance(key, rsa.RSAPrivateKey):
        found = json.loads(RSAAlgorithm.to_jwk(key.public_key()))
    elif isinstance(key, ec.EllipticCurvePrivateKey):
        found = json.loads(ECAlgorithm.to_jwk(key.public_key()))
    else:
        assert isinstance(key, ed25519.Ed25519PrivateKey)
        found = json.loads(OKPAlgorithm.to_jwk(key.public_key()))
    found.pop("key_ops", None)
    return {**found, **({} if kid is None else {"kid": kid}), **more}


class TestIssuer(ThreadedServer[ThreadingHTTPServer]):
    """Serve metadata, keys and introspection; `answers` holds what each path answers with, None for 503."""

    __test__ = False

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answers: dict[str, Any] = {}
        self.redirects: dict[str, str] = {}
        self.active: dict[str, dict[str, Any]] = {}
        self.basic: list[str] = []
        own = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                own.asked.append(self.path)
                if self.path in own.redirects:
                    self.send_response(302)
                    self.send_header("Location", own.redirects[self.path])
                    self.end_headers()
                    return
                self._answer(own.answers.get(self.path))

            def do_POST(self) -> None:
                own.asked.append(self.path)
                own.basic.append(self.headers.get("Authorization", ""))
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                there = own.answers.get(self.path) is not None
                self._answer(own.active.get(form["token"][0], {"active": False}) if there else None)

            def _answer(self, content: Any) -> None:
                body = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(200 if content is not None else 503)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Say nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        self.metadata = {
            "issuer": self.url,
            "jwks_uri": f"{self.url}/jwks",
            "introspection_endpoint": f"{self.url}/introspect",
        }
        self.answers["/.well-known/oauth-authorization-server"] = self.metadata
        self.answers["/introspect"] = {}
        self.show(public_jwk(rsa_key(), "one", alg="RS256", use="sig"))

    def show(self, *keys: dict[str, Any]) -> None:
        """Put these keys in place of those that are served."""
        self.answers["/jwks"] = {"keys": list(keys)}

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Give claims that hold; a value of None leaves a claim out."""
        now = int(time.time())
        whole: dict[str, Any] = {
            "iss": self.url, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 600, "scope": "knowledge.read",
            "groups": ["engineering"],
        }  # fmt: skip
        return {name: value for name, value in {**whole, **changed}.items() if value is not None}

    def token(
        self, key: Any = None, *, alg: str = "RS256", kid: str | None = "one", typ: str = "at+jwt", **changed: Any
    ) -> str:
        """Sign claims."""
        headers = {"typ": typ, **({} if kid is None else {"kid": kid})}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jwt.InsecureKeyLengthWarning)
            return jwt.encode(self.claims(**changed), key or rsa_key(), algorithm=alg, headers=headers)
