"""Against a certified provider (`oidc-provider`), with the SDK's own OAuth client, from the first 401 to the answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

from knowledge_mcp.transports.shared.admission import ProtectedResource
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.tokens import Issuer, TokenRefusedError, TokenVerifier
from tests.rest.world import keys_file
from tests.signon.provider import Kept, Person, provider
from tests.signon.serving import client_of, restricted_world, served_world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

ROLES = {"roles": [{"group": "legal", "read": ["kb"]}, {"group": "eng", "read": ["kb"]}]}


async def documents(client: Any) -> list[str]:
    answer = (await client.call_tool("knowledge_search", {"query": "turned once a year"})).structured_content
    return sorted({each["source"]["document_id"] for each in answer["results"]})


def verifier(issuer: str, url: str, *, introspects: bool) -> TokenVerifier:
    asked = Issuer(issuer, client=("kb", "kb-secret") if introspects else None)
    return TokenVerifier(asked, audiences=[url], scopes=["knowledge.read"])


@pytest.mark.parametrize("kind", ["jwt", "opaque"])
async def test_people_and_machines_sign_on_and_are_answered_by_their_groups(tmp_path: Path, kind: str) -> None:
    world = restricted_world(tmp_path / "docs")
    ring = KeyRing(path=keys_file(tmp_path, json.dumps(ROLES)))
    running: list[Any] = []

    def resource_of(url: str) -> ProtectedResource:
        started = provider(url, kind)
        running.extend((started, started.__enter__()))
        return ProtectedResource(url, verifier(running[1], url, introspects=kind == "opaque"))

    try:
        with served_world(world, ring, resource_of) as url:
            for name, seen in (("lawyer", ["pumps", "valves"]), ("engineer", ["pumps"]), ("nobody", [])):
                kept = Kept()
                async with client_of(url, auth=Person(name).provider(url, kept)) as client:
                    assert await documents(client) == seen, name
                assert kept.tokens is not None
                assert (kept.tokens.access_token.count(".") == 2) == (kind == "jwt")
                async with client_of(url, kept.tokens.access_token) as again:
                    assert await documents(again) == seen, name
            machine = ClientCredentialsOAuthProvider(url, Kept(), "robot", "robot-secret", issuer=running[1])
            async with client_of(url, auth=machine) as client:
                assert await documents(client) == ["pumps"]
    finally:
        running[0].__exit__(None, None, None)


async def test_a_token_that_the_provider_takes_back_or_gives_for_another_server_does_not_hold() -> None:
    here = "http://127.0.0.1:1/mcp"
    with provider(here, "jwt") as issuer:
        check = verifier(issuer, here, introspects=False)

        async def token(resource: str) -> str:
            form = {"grant_type": "client_credentials", "scope": "knowledge.read", "resource": resource}
            async with httpx2.AsyncClient(timeout=30) as client:
                answer = await client.post(f"{issuer}/token", data=form, auth=("robot", "robot-secret"))
            return str(answer.json()["access_token"])

        assert check.verify(await token(here)).groups == ("eng",)
        with pytest.raises(TokenRefusedError, match="another server"):
            check.verify(await token("http://127.0.0.1:2/mcp"))
    with provider(here, "opaque") as issuer:
        check = verifier(issuer, here, introspects=True)
        opaque = await token(here)
        async with httpx2.AsyncClient(timeout=30) as client:
            assert check.verify(opaque).name == "robot"
            form = {"token": opaque}
            gone = await client.post(f"{issuer}/token/revocation", data=form, auth=("robot", "robot-secret"))
        assert gone.status_code == 200
        with pytest.raises(TokenRefusedError):
            verifier(issuer, here, introspects=True).verify(opaque)
