"""Tasks: who knows them is answered before a long call has ended, and asks for the result; everybody else waits."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, tzinfo
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, MCPError, types
from mcp.client.extension import ClaimContext, ClientExtension, ResultClaim
from pydantic import ConfigDict

from knowledge_mcp.model.call import Call
from knowledge_mcp.model.errors import InvalidInputError
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.transports.mcp import tasks
from knowledge_mcp.transports.mcp.server import KnowledgeServer
from knowledge_mcp.transports.shared.keys import ANONYMOUS, Key
from tests.transports.test_long_tools import Done, Nothing, server_with

pytestmark = pytest.mark.anyio

Work = Callable[[Knowledge, Nothing, Call], Done]


class Handle(types.Result):
    """A task that was begun."""

    result_type: Literal["task"] = "task"
    task_id: str
    status: str


class AnyResult(types.Result):
    """Whatever came back."""

    model_config = ConfigDict(extra="allow")


class Asked(types.Request[dict[str, Any], str]):
    """One of the extension's requests."""

    method: str
    params: dict[str, Any]


class Knowing(ClientExtension):
    """Say that the client knows tasks, and hold the handles that come."""

    identifier = tasks.TASKS

    def __init__(self) -> None:
        self.handles: list[Handle] = []

    def claims(self) -> list[ResultClaim[Handle]]:
        """Take handles."""

        async def hold(handle: Handle, _: ClaimContext) -> types.CallToolResult:
            self.handles.append(handle)
            return types.CallToolResult(content=[], is_error=True)  # the test asks for the rest itself

        return [ResultClaim(result_type="task", model=Handle, resolve=hold)]


@asynccontextmanager
async def begun(work: Work, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[tuple[Client, str]]:
    """Begin a call that becomes a task at once."""
    monkeypatch.setattr(tasks, "_PATIENCE", 0.0)
    knowing = Knowing()
    with anyio.fail_after(30):
        async with Client(server_with(work), extensions=[knowing]) as client:
            await client.call_tool("work", {})
            (handle,) = knowing.handles
            assert handle.status == "working"
            yield client, handle.task_id


def soon(_: Knowledge, __: Nothing, ___: Call) -> Done:
    """End at once."""
    return Done(steps=1)


def another(_: KnowledgeServer, __: object) -> Key:
    """Ask under another name."""
    return dataclasses.replace(ANONYMOUS, name="another")


async def asked(client: Client, method: str, task: str, **more: Any) -> dict[str, Any]:
    """Ask the extension something."""
    request = Asked(method=method, params={"taskId": task, **more})
    answer = await client.session.send_request(request, AnyResult)
    return answer.model_dump(by_alias=True)


async def settled(client: Client, task: str) -> dict[str, Any]:
    """Ask until the task has ended."""
    while True:
        result = await asked(client, "tasks/get", task)
        if result["status"] != "working":
            return result


async def test_a_long_call_is_answered_by_a_task_that_says_how_far_it_is_and_what_came_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    result, may_end = threading.Event(), threading.Event()

    def work(_: Knowledge, __: Nothing, call: Call) -> Done:
        call.progress(1, 3, "one of three")
        result.set()
        assert may_end.wait(20)
        return Done(steps=3)

    async with begun(work, monkeypatch) as (client, task):
        await anyio.to_thread.run_sync(result.wait, 20)
        under_way = await asked(client, "tasks/get", task)
        assert (under_way["status"], under_way["statusMessage"]) == ("working", "one of three")
        assert under_way["ttlMs"] is None
        may_end.set()
        ended = await settled(client, task)
        assert ended["status"] == "completed"
        assert ended["result"]["structuredContent"] == {"steps": 3}
        assert ended["resultType"] == ended["result"]["resultType"] == "complete"
        assert ended["ttlMs"] >= 3_600_000


async def test_a_failure_of_ours_is_a_result_and_no_failed_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(_: Knowledge, __: Nothing, call: Call) -> Done:
        raise InvalidInputError("There is no such folder.")

    async with begun(work, monkeypatch) as (client, task):
        ended = await settled(client, task)
        assert ended["status"] == "completed"
        assert ended["result"]["isError"] is True
        assert "no such folder" in ended["result"]["content"][0]["text"]


async def test_a_task_that_is_cancelled_stops_its_work(monkeypatch: pytest.MonkeyPatch) -> None:
    began, stopped = threading.Event(), threading.Event()

    def work(_: Knowledge, __: Nothing, call: Call) -> Done:
        pause = threading.Event()
        began.set()
        while not call.cancelled():
            pause.wait(0.01)
        stopped.set()
        return Done(steps=0)

    async with begun(work, monkeypatch) as (client, task):
        assert await anyio.to_thread.run_sync(began.wait, 20)
        assert (await asked(client, "tasks/cancel", task))["resultType"] == "complete"
        assert await anyio.to_thread.run_sync(stopped.wait, 20)
        assert (await settled(client, task))["status"] == "cancelled"


async def test_a_call_that_ends_soon_is_answered_at_once() -> None:
    knowing = Knowing()
    async with Client(server_with(soon), extensions=[knowing]) as client:
        answer = await client.call_tool("work", {})
    assert answer.structured_content == {"steps": 1}
    assert knowing.handles == []


async def test_who_does_not_know_tasks_waits_and_may_not_ask_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_PATIENCE", 0.0)
    for mode in ("auto", "legacy"):
        async with Client(server_with(soon), mode=mode) as client:
            assert (await client.call_tool("work", {})).structured_content == {"steps": 1}
            with pytest.raises(MCPError) as caught:
                await asked(client, "tasks/get", "any")
            expected = types.MISSING_REQUIRED_CLIENT_CAPABILITY if mode == "auto" else types.METHOD_NOT_FOUND
            assert caught.value.error.code == expected


async def test_an_unknown_task_is_the_callers_mistake_and_an_update_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    async with begun(soon, monkeypatch) as (client, task):
        assert (await asked(client, "tasks/update", task, inputResponses={}))["resultType"] == "complete"
        for method in ("tasks/get", "tasks/cancel"):
            with pytest.raises(MCPError) as caught:
                await asked(client, method, "another")
            assert caught.value.error.code == types.INVALID_PARAMS


async def test_a_task_is_there_for_whoever_began_it_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    async with begun(soon, monkeypatch) as (client, task):
        await settled(client, task)
        monkeypatch.setattr(KnowledgeServer, "_key_of_request", another)
        with pytest.raises(MCPError) as caught:
            await asked(client, "tasks/get", task)
        assert caught.value.error.code == types.INVALID_PARAMS


class Tomorrow(datetime):
    """The clock of the day, after somebody has set it."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> Tomorrow:
        """Return the time a day from now."""
        return cls.fromtimestamp(datetime.now(tz).timestamp() + 86_400, tz)


async def test_a_result_is_kept_for_an_hour_however_the_clock_of_the_day_is_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [1_000.0]
    defaults = tasks.TasksExtension.__init__.__kwdefaults__
    assert defaults is not None
    monkeypatch.setitem(defaults, "clock", lambda: now[0])
    async with begun(soon, monkeypatch) as (client, task):
        await settled(client, task)
        monkeypatch.setattr(tasks, "datetime", Tomorrow)
        assert (await asked(client, "tasks/get", task))["ttlMs"] == 3_600_000
        now[0] += 3_601
        with pytest.raises(MCPError, match="it ended over an hour ago"):
            await asked(client, "tasks/get", task)
