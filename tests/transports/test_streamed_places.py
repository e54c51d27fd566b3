"""Streamed calls take places like any other: so many wait, not for ever, and who leaves the queue is gone."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, MutableMapping
from typing import Any

import anyio
import anyio.to_thread
import pytest

from knowledge_mcp.model.errors import RateLimitedError, may_pass
from knowledge_mcp.remote.failures import error_from_payload
from knowledge_mcp.transports.rest.engine import SendLine, Streaming
from knowledge_mcp.transports.shared.threads import Threads

pytestmark = pytest.mark.anyio


class Listener:
    """A client that reads everything, until it leaves."""

    def __init__(self) -> None:
        self.leaves = anyio.Event()
        self.lines: list[dict[str, Any]] = []

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self.lines += [json.loads(line) for line in message.get("body", b"").splitlines() if line]

    async def receive(self) -> dict[str, Any]:
        await self.leaves.wait()
        return {"type": "http.disconnect"}


class Held:
    """Work that holds its place until it is let go; notes what happens."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.notes: list[str] = []

    def work(self, tell: SendLine, gave_up: threading.Event) -> None:
        self.begun.set()
        self.go.wait(30)
        self.notes.append("stopped" if gave_up.is_set() else "ended")
        tell({"report": "done"})

    def forget(self) -> None:
        self.notes.append("forgotten")


async def stream(
    threads: Threads, client: Listener, work: Callable[[SendLine, threading.Event], None], at_end: Callable[[], None]
) -> None:
    answer = Streaming(work, threads, what="test", heartbeat=60.0, at_end=at_end)
    await answer({"type": "http"}, client.receive, client.send)


def nothing(_: SendLine, __: threading.Event) -> None:
    raise AssertionError("it has no place to run in")


@pytest.mark.parametrize("limits", [{"waiting": 0}, {"patience": 0.0}])
async def test_a_stream_that_finds_no_place_is_told_to_come_again_and_forgets_its_files(
    limits: dict[str, Any],
) -> None:
    threads, held, late, forgotten = Threads(1, **limits), Held(), Listener(), list[bool]()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(stream, threads, Listener(), held.work, held.forget)
            assert await anyio.to_thread.run_sync(held.begun.wait, 20)
            await stream(threads, late, nothing, lambda: forgotten.append(True))
            held.go.set()
    error = error_from_payload(late.lines[-1]["error"], "")
    assert isinstance(error, RateLimitedError)
    assert may_pass(error)
    assert error.retry_after
    assert forgotten == [True]
    assert held.notes == ["ended", "forgotten"]


async def test_a_client_that_leaves_while_its_stream_waits_leaves_the_queue_at_once() -> None:
    threads, held, waiting, forgotten = Threads(1), Held(), Listener(), list[bool]()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(stream, threads, Listener(), held.work, held.forget)
            assert await anyio.to_thread.run_sync(held.begun.wait, 20)
            async with anyio.create_task_group() as second:
                second.start_soon(stream, threads, waiting, nothing, lambda: forgotten.append(True))
                await anyio.wait_all_tasks_blocked()
                assert threads.waiting == 1
                waiting.leaves.set()
            assert threads.waiting == 0
            assert forgotten == [True]
            held.go.set()


async def test_what_a_stream_that_runs_uses_stays_until_its_thread_has_ended() -> None:
    threads, held, client = Threads(1), Held(), Listener()
    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            group.start_soon(stream, threads, client, held.work, held.forget)
            assert await anyio.to_thread.run_sync(held.begun.wait, 20)
            client.leaves.set()
            await anyio.wait_all_tasks_blocked()
            assert held.notes == []
            assert threads.under_way == 1
            held.go.set()
    assert held.notes == ["stopped", "forgotten"]
    assert threads.under_way == 0


async def test_sixty_streams_that_are_left_never_run_on_more_threads_than_there_may_be() -> None:
    threads, running, most, lock = Threads(4), 0, 0, threading.Lock()

    def work(_: SendLine, gave_up: threading.Event) -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        gave_up.wait(30)
        with lock:
            running -= 1

    with anyio.fail_after(60):
        async with anyio.create_task_group() as group:
            clients = [Listener() for _ in range(60)]
            for client in clients:
                group.start_soon(stream, threads, client, work, lambda: None)
            await anyio.wait_all_tasks_blocked()
            for client in clients:
                client.leaves.set()
    assert most <= 4
    assert running == 0
    assert threads.under_way == 0
