"""`oidc-provider`, a certified OpenID provider, as the issuer of the tests, and a person who signs on at it."""

from __future__ import annotations

import contextlib
import re
import subprocess
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urljoin, urlsplit

import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from tests.machine import in_ci, node22, run_script

REDIRECT = "http://127.0.0.1:9/callback"


def provider_folder() -> tuple[str, Path]:
    """Install what the tests need of Node.js; skips where that is not possible, and fails there in CI."""
    node = node22()
    finished = run_script("node_clients.sh", seconds=300)
    if finished.returncode == 0:
        return node, Path(finished.stdout.strip())
    reason = f"oidc-provider could not be installed: {finished.stderr.strip()}"
    if in_ci():
        pytest.fail(f"in CI nothing may be left out: {reason}")
    pytest.skip(reason)


@contextlib.contextmanager
def provider(resource: str, kind: str) -> Generator[str]:
    """Run a provider for a resource, whose tokens are `jwt` or `opaque`; gives its address."""
    node, folder = provider_folder()
    command = [node, "provider.mjs", resource, kind]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@dataclass
class Kept:
    """Keep what the SDK's client learns (`TokenStorage`)."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Person:
    """Sign on in a browser without a screen."""

    name: str
    came: list[AuthorizationCodeResult] = field(default_factory=list[AuthorizationCodeResult])

    def provider(self, url: str, kept: Kept) -> OAuthClientProvider:
        """Make the SDK's client authentication, which asks this person to sign on."""
        metadata = OAuthClientMetadata(
            client_name="tests", redirect_uris=[AnyUrl(REDIRECT)], token_endpoint_auth_method="none",
            grant_types=["authorization_code", "refresh_token"], response_types=["code"], application_type="native",
        )  # fmt: skip
        return OAuthClientProvider(url, metadata, kept, self.visit, self.callback)

    async def visit(self, url: str) -> None:
        """Follow the provider's pages until they lead back."""
        async with httpx2.AsyncClient(follow_redirects=False, timeout=30) as browser:
            page = await browser.get(url)
            for _ in range(20):
                if page.status_code in {302, 303}:
                    target = urljoin(str(page.url), page.headers["location"])
                    if target.startswith(REDIRECT):
                        came = parse_qs(urlsplit(target).query)
                        result = {name: came[name][0] for name in ("code", "state", "iss") if name in came}
                        assert "code" in result, target
                        self.came.append(AuthorizationCodeResult(**result))
                        return
                    page = await browser.get(target)
                    continue
                form = re.search(r'action="([^"]+)"', page.text)
                prompt = re.search(r'name="prompt" value="(\w+)"', page.text)
                assert form is not None, page.text
                assert prompt is not None, page.text
                fields = {"prompt": prompt[1], "login": self.name, "password": "any"}
                page = await browser.post(urljoin(str(page.url), form[1]), data=fields)
        raise AssertionError("the provider led nowhere")

    async def callback(self) -> AuthorizationCodeResult:
        """Return what the provider led back with."""
        return self.came.pop()
