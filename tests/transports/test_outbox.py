"""A client that does not read: work goes on, and what waits for it does not grow."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, MutableMapping
from typing import Any

import anyio
import pytest
from mcp import Client

from knowledge_mcp.model.call import Call, Progress
from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.ports import Knowledge
from knowledge_mcp.transports.mcp import tools
from knowledge_mcp.transports.rest.engine import SendLine, Streaming
from knowledge_mcp.transports.shared.threads import MOST_WAITING, Outbox, Threads
from tests.transports.test_long_tools import Done, Nothing, server_with

pytestmark = pytest.mark.anyio

MANY = 20 * MOST_WAITING


class Slow:
    """A client that reads nothing until it is told to."""

    def __init__(self) -> None:
        self.reads = anyio.Event()
        self.body = b""

    async def send(self, message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.body":
            await self.reads.wait()
            self.body += message["body"]

    async def receive(self) -> dict[str, Any]:
        await anyio.sleep_forever()
        return {}

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.body.splitlines() if line]


async def answered(work: Callable[[SendLine, threading.Event], None], client: Slow, at_end: Callable[[], None]) -> None:
    stream = Streaming(work, Threads(1), what="test", heartbeat=60.0, at_end=at_end)
    await stream({"type": "http"}, client.receive, client.send)


async def test_a_stream_that_nobody_reads_keeps_the_latest_lines_and_lets_the_work_end() -> None:
    client, ended = Slow(), anyio.Event()

    def work(tell: SendLine, _: threading.Event) -> None:
        for number in range(MANY):
            tell({"number": number})
        tell({"report": "done"})

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(answered, work, client, ended.set)
            await ended.wait()  # while nothing was read
            client.reads.set()
    assert len(client.lines) <= MOST_WAITING + 1  # and the one that was on its way
    assert client.lines[-2:] == [{"number": MANY - 1}, {"report": "done"}]


async def test_a_stream_that_is_read_loses_nothing_and_forgets_its_files_once() -> None:
    client, ended = Slow(), list[bool]()
    client.reads.set()

    def work(tell: SendLine, _: threading.Event) -> None:
        for number in range(MOST_WAITING):
            tell({"number": number})
        raise InternalError("It broke.")

    with anyio.fail_after(60):
        await answered(work, client, lambda: ended.append(True))
    assert [each.get("number") for each in client.lines[:-1]] == list(range(MOST_WAITING))
    assert client.lines[-1]["error"]["detail"] == "It broke."
    assert ended == [True]


class Deaf:
    """The context of a call whose client takes no notification."""

    def __init__(self) -> None:
        self.asked = 0

    async def report_progress(self, *_: object) -> None:
        self.asked += 1
        await anyio.sleep_forever()


async def test_a_client_that_takes_no_progress_holds_up_neither_the_work_nor_its_answer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tools, "_LAST", 0.0)
    deaf: Any = Deaf()

    async def work(tell: Progress) -> str:
        def tell_all() -> str:
            for number in range(MANY):
                tell(number, MANY, "")
            return "done"

        return await anyio.to_thread.run_sync(tell_all)

    with anyio.fail_after(60):
        assert await tools.run_with_progress(deaf, work) == "done"
    assert deaf.asked == 1


async def test_progress_of_a_call_that_fails_is_reported_before_the_error_which_stays_what_it_is() -> None:
    def work(_: Knowledge, __: Nothing, call: Call) -> Done:
        call.progress(1, 2, "half")
        raise InternalError("It broke.")

    reported: list[float] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        reported.append(progress)

    with anyio.fail_after(20):
        async with Client(server_with(work)) as client:
            result = await client.call_tool("work", {}, progress_callback=note)
    assert result.is_error
    assert result.structured_content == {"error": "It broke."}
    assert reported == [1]


async def test_an_outbox_is_read_in_order_to_its_end() -> None:
    outbox = Outbox[int]()
    await anyio.to_thread.run_sync(lambda: [outbox.put(each) for each in range(3)])
    outbox.close()
    assert [await outbox.get() for _ in range(4)] == [0, 1, 2, None]
