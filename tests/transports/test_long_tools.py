"""Tools that take long: their caller is told how far they are, and stops them by giving up."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import anyio
import pytest
from mcp import Client

from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.surfaces.contract import Request, Response, Surface, Tool
from knowledge_mcp.transports.mcp.listing import build_listing
from knowledge_mcp.transports.mcp.server import KnowledgeServer
from knowledge_mcp.transports.shared.provider import KnowledgeProviders
from tests.fakes.knowledge import FakeKnowledge

pytestmark = pytest.mark.anyio


class Nothing(Request):
    """No arguments."""


class Done(Response):
    """How far it came."""

    steps: int


def server_with(work: Callable[[Knowledge, Nothing, Call], Done], name: str = "slow") -> KnowledgeServer:
    """Serve one tool that takes long."""

    def render(error: KnowledgeError) -> dict[str, Any]:
        return {"error": error.message}

    tool = Tool("work", "Work", "Works.", work, writes=True, destroys=True)
    surface = Surface(name, "Use it.", (tool,), Done, render)
    providers = KnowledgeProviders(lambda _: FakeKnowledge(), [name])
    return KnowledgeServer(providers, [build_listing(surface)], lambda: [surface], version="1")


async def test_the_caller_is_told_how_far_a_long_tool_is() -> None:
    reported: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append((progress, total, message))

    def work(_: Knowledge, __: Nothing, call: Call) -> Done:
        for step in range(3):
            call.progress(step + 1, 3, f"step {step + 1}")
        return Done(steps=3)

    with anyio.fail_after(20):
        async with Client(server_with(work)) as client:
            result = await client.call_tool("work", {}, progress_callback=note)
    assert result.structured_content == {"steps": 3}
    assert reported == [(1, 3, "step 1"), (2, 3, "step 2"), (3, 3, "step 3")]


async def test_a_long_tool_hears_that_its_caller_has_given_up() -> None:
    begun, heard = threading.Event(), threading.Event()

    def work(_: Knowledge, __: Nothing, call: Call) -> Done:
        begun.set()
        while not call.cancelled():
            threading.Event().wait(0.01)
        call.progress(1, None, "nobody listens")
        heard.set()
        return Done(steps=0)

    with anyio.fail_after(20):
        async with Client(server_with(work)) as client:
            async with anyio.create_task_group() as group:
                group.start_soon(client.call_tool, "work")
                await anyio.to_thread.run_sync(begun.wait, 10)
                group.cancel_scope.cancel()
            assert await anyio.to_thread.run_sync(heard.wait, 10)


async def test_a_tool_that_writes_is_published_as_one() -> None:
    def work(_: Knowledge, __: Nothing, ___: Call) -> Done:
        return Done(steps=0)

    async with Client(server_with(work)) as client:
        (tool,) = (await client.list_tools()).tools
    assert tool.annotations is not None
    assert (tool.annotations.read_only_hint, tool.annotations.destructive_hint) == (False, True)


async def test_each_surface_has_a_knowledge_of_its_own() -> None:
    made: list[str] = []

    def factory(surface: str) -> Knowledge:
        made.append(surface)
        return FakeKnowledge(())

    providers = KnowledgeProviders(factory, ["one", "two"])
    first = await anyio.to_thread.run_sync(providers.get, "one")
    assert first is providers.get("one")
    assert first is not providers.get("two")
    assert made == ["one", "two"]
    providers.close()
