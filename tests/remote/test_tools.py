"""Tools of the planning surface, run whole at the engine of another machine: answers, errors, progress, rights."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import TextContent

from knowledge_mcp.model.errors import AuthError, ConnectionFailedError, NotFoundError
from knowledge_mcp.remote.knowledge import RefusedError, RemoteTools
from knowledge_mcp.surfaces.planning import SURFACE
from knowledge_mcp.transports.mcp.server import build_server
from tests.planning.world import REF, World
from tests.remote.serving import AT_ONCE, KEY, rest_service

pytestmark = pytest.mark.anyio


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


@pytest.fixture
def url(world: World) -> Iterator[str]:
    with rest_service(engines={"planning": world.service}) as address:
        yield address


def call_at(url: str, name: str, /, *, key: str = KEY, surface: str = "planning", **arguments: Any) -> dict[str, Any]:
    """Call a tool by a client of its own."""
    service = RemoteTools(url, key, surface, policy=AT_ONCE)
    try:
        return call(service, name, **arguments)
    finally:
        service.close()


def call(service: RemoteTools, name: str, expected: list[str] | None = None, **arguments: Any) -> dict[str, Any]:
    heard: list[str] = [] if expected is None else expected
    return service.call_tool(
        name, arguments, on_progress=lambda _, __, words: heard.append(words), cancelled=bool, repeatable=False
    )


def test_a_document_is_filed_searched_and_listed_over_there_as_it_is_here(url: str, world: World) -> None:
    path, result = world.paper("plans.pdf", "A zebra crosses the road near the school."), list[str]()
    service = RemoteTools(url, KEY, "planning", policy=AT_ONCE)
    filed = call(service, "ingest_document", result, file_path=path, application_ref=REF)
    assert filed["status"] == "success"
    assert result[-1] == "done"
    found = call(service, "search_application_docs", query="zebra", application_ref=REF)
    assert found == world.call("search_application_docs", query="zebra", application_ref=REF)
    assert found["results"][0]["metadata"]["document_id"] == filed["document_id"]
    assert call(service, "list_ingested_documents", application_ref=REF)["document_count"] == 1
    service.close()


async def test_an_assistant_gets_the_surface_s_own_errors_and_answers(url: str, world: World) -> None:
    server = build_server(lambda _: RemoteTools(url, KEY, "planning"), ["planning"], version="1")
    async with contextlib.AsyncExitStack() as stack:
        stack.callback(server.close)
        client = await stack.enter_async_context(Client(server))
        refused = await client.call_tool("get_document_text", {"document_id": "nothing"})
        assert refused.is_error
        (shown,) = refused.content
        assert isinstance(shown, TextContent)
        assert json.loads(shown.text)["error_type"] == "document_not_found"
        listed = await client.call_tool("list_ingested_documents", {"application_ref": REF})
        assert listed.structured_content is not None
        assert listed.structured_content["document_count"] == 0


def test_a_tool_that_refuses_says_so_in_the_form_of_its_surface(url: str) -> None:
    with pytest.raises(RefusedError) as raised:
        call_at(url, "get_document_text", document_id="nothing")
    assert raised.value.rendered["error_type"] == "document_not_found"
    with pytest.raises(RefusedError, match="file_path"):
        call_at(url, "ingest_document", application_ref=REF)


def test_a_tool_or_a_surface_that_is_not_there_is_not_found(url: str) -> None:
    with pytest.raises(NotFoundError, match="no tool 'nonsense'"):
        call_at(url, "nonsense")
    with pytest.raises(NotFoundError, match="no engine"):
        call_at(url, "knowledge_stats", surface="standards")


def test_a_wrong_key_and_a_service_that_is_gone_are_reported(url: str) -> None:
    with pytest.raises(AuthError):
        call_at(url, "list_ingested_documents", key="wrong", application_ref=REF)
    with pytest.raises(ConnectionFailedError):
        call_at("http://127.0.0.1:1", "list_ingested_documents", application_ref=REF)


def test_every_tool_of_the_surface_is_known_over_there() -> None:
    from knowledge_mcp.transports.rest.engine import tool_of

    assert [tool_of(SURFACE, tool.name) for tool in SURFACE.tools] == list(SURFACE.tools)
