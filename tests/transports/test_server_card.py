"""The server card and its catalogue: found by the host alone, true, open to all, and checked again for little."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from starlette.types import ASGIApp

from knowledge_mcp.transports.mcp.http import build_app
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.mcp.server_card import CARD_PATH, CATALOGUE_PATH, ServerCard
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.fakes.knowledge import FakeKnowledge
from tests.rest.world import make_world
from tests.transports.asgi import Answer, Echo, ask

pytestmark = pytest.mark.anyio
HOST = ("host", "localhost:3002")


def built(**tokens: str) -> ASGIApp:
    """Serve the standards over HTTP."""
    return build_app(build_server(lambda _: FakeKnowledge(), ["standards"], version="1.2"), keys=KeyRing.of(tokens))


async def got(app: ASGIApp, path: str, headers: Sequence[tuple[str, str]] = (HOST,)) -> tuple[Answer, dict[str, Any]]:
    """Return an answer, and what it says."""
    answer = await ask(app, path, headers=headers)
    assert answer.status == 200
    return answer, json.loads(answer.body)


async def test_the_catalogue_leads_to_the_card_and_the_card_to_the_server() -> None:
    app = built()
    answer, catalogue = await got(app, CATALOGUE_PATH)
    assert answer.headers["content-type"] == "application/ai-catalog+json"
    (entry,) = catalogue["entries"]
    assert catalogue["specVersion"] == "1.0"
    assert entry["identifier"] == "urn:air:localhost:mcp:knowledge"
    assert entry["url"] == f"http://localhost:3002{CARD_PATH}"
    answer, card = await got(app, CARD_PATH)
    assert entry["type"] == answer.headers["content-type"] == "application/mcp-server-card+json"
    (remote,) = card["remotes"]
    assert (remote["type"], remote["url"]) == ("streamable-http", "http://localhost:3002/mcp")
    assert remote["supportedProtocolVersions"][-1] == "2026-07-28"
    assert "headers" not in remote


async def test_the_card_has_what_the_schema_asks_for_and_says_what_the_registry_says() -> None:
    _, card = await got(built(), CARD_PATH)
    registry = json.loads((Path(__file__).parents[2] / "server.json").read_text(encoding="utf-8"))
    assert card["$schema"] == "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", card["name"])
    assert (card["name"], card["description"]) == (registry["name"], registry["description"])
    assert len(card["description"]) <= 100
    assert card["version"] == "1.2"


async def test_the_card_needs_no_key_says_that_one_is_needed_and_every_page_may_read_it() -> None:
    app = built(alice="secret-one")
    answer, card = await got(app, CARD_PATH)
    (header,) = card["remotes"][0]["headers"]
    assert (header["name"], header["isRequired"], header["isSecret"]) == ("Authorization", True, True)
    assert "secret-one" not in answer.body.decode()
    assert answer.headers["access-control-allow-origin"] == "*"
    assert (await ask(app, CARD_PATH, method="POST", headers=[HOST])).status == 401
    assert (await ask(app, CARD_PATH, headers=[("host", "evil.example")])).status == 421


async def test_a_card_that_did_not_change_is_not_sent_again() -> None:
    app = built()
    answer, _ = await got(app, CARD_PATH)
    again = await ask(app, CARD_PATH, headers=[HOST, ("if-none-match", answer.headers["etag"])])
    assert (again.status, again.body) == (304, b"")
    other = await ask(app, CARD_PATH, headers=[HOST, ("if-none-match", '"another"')])
    assert other.status == 200


async def test_the_address_that_is_configured_comes_before_that_of_the_request() -> None:
    app = ServerCard(Echo(), version="1", closed=True, url="https://kb.example.com/mcp")
    _, card = await got(app, CARD_PATH)
    assert card["remotes"][0]["url"] == "https://kb.example.com/mcp"
    _, card = await got(ServerCard(Echo(), version="1", closed=True, url="https://kb.example.com/api"), CARD_PATH)
    assert card["remotes"][0]["url"] == "http://localhost:3002/mcp"


async def test_the_rest_service_has_a_card_where_it_serves_mcp() -> None:
    ring = KeyRing.of({"alice": "secret-one"})
    async with make_world(keys=ring, key=None, mcp_app=Echo()) as world:
        answer = await world.client.get(CARD_PATH)
        assert answer.status_code == 200
        assert answer.json()["remotes"][0]["headers"][0]["isSecret"] is True
    async with make_world(keys=ring, key=None) as world:
        assert (await world.client.get(CARD_PATH)).status_code in {401, 404}
