"""Calls that their callers left keep their places until their threads have ended, and end soon."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable

import anyio
import anyio.to_thread
import pytest

from knowledge_mcp.engine.core.base import Passages
from knowledge_mcp.model.errors import CancelledError, RateLimitedError, TimedOutError, may_pass
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.transports.mcp.tools import MAX_THREADS
from knowledge_mcp.transports.rest.executor import MAX_READS
from knowledge_mcp.transports.shared.threads import ASKER, Threads, run_until

pytestmark = pytest.mark.anyio


class Blocked:
    """Work that waits until it is let go, and counts how much of it runs at once."""

    def __init__(self) -> None:
        self.go = threading.Event()
        self.begun = threading.Semaphore(0)
        self._lock = threading.Lock()
        self.running = self.most = 0

    def __call__(self) -> str:
        with self._lock:
            self.running += 1
            self.most = max(self.most, self.running)
        self.begun.release()
        self.go.wait(30)
        with self._lock:
            self.running -= 1
        return "done"


async def _leave_once_it_runs(threads: Threads, work: Blocked) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, work)
        assert await anyio.to_thread.run_sync(work.begun.acquire, True, 20)
        tasks.cancel_scope.cancel()


async def _leave_while_it_waits(threads: Threads, work: Callable[[], object]) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, work)
        await anyio.wait_all_tasks_blocked()
        tasks.cancel_scope.cancel()


@pytest.mark.parametrize("most", [MAX_THREADS, MAX_READS])
async def test_sixty_cancelled_calls_never_run_on_more_threads_than_there_may_be(most: int) -> None:
    threads, work = Threads(most), Blocked()
    try:
        for _ in range(most):
            await _leave_once_it_runs(threads, work)
        for _ in range(60 - most):
            await _leave_while_it_waits(threads, work)
        assert work.most == work.running == most
        assert threads.under_way == most
    finally:
        work.go.set()
    assert await threads.run(lambda: "free again") == "free again"
    assert work.most == most


async def test_a_cancelled_call_gives_its_place_back_when_its_thread_has_ended() -> None:
    threads, work = Threads(1), Blocked()
    await _leave_once_it_runs(threads, work)
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await threads.run(lambda: "next"))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        assert answers == []
        work.go.set()
    assert answers == ["next"]


async def test_a_call_that_finds_no_place_is_refused_in_words_that_say_try_again() -> None:
    work = Blocked()
    impatient, crowded = Threads(1, patience=0.0), Threads(1, waiting=0)
    try:
        for threads in (impatient, crowded):
            await _leave_once_it_runs(threads, work)
            with pytest.raises(RateLimitedError) as caught:
                await threads.run(lambda: None)
            assert may_pass(caught.value)
            assert caught.value.retry_after
    finally:
        work.go.set()


async def test_a_call_that_its_caller_left_ends_the_next_time_it_reads_on() -> None:
    threads, begun, go = Threads(1), threading.Event(), threading.Event()
    ended: list[type[BaseException]] = []

    def read() -> None:
        begun.set()
        go.wait(20)
        try:
            checkpoint()
        except CancelledError as exc:
            ended.append(type(exc))
            raise

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(threads.run, read)
        assert await anyio.to_thread.run_sync(begun.wait, 20)
        tasks.cancel_scope.cancel()
    go.set()
    await threads.run(lambda: None)
    assert ended == [CancelledError]


async def test_a_failure_reaches_the_caller_and_frees_the_place() -> None:
    threads = Threads(1)

    def fail() -> None:
        raise RateLimitedError("later")

    for _ in range(3):
        with pytest.raises(RateLimitedError, match="later"):
            await threads.run(fail)
    assert threads.under_way == 0


def test_reading_passages_looks_whether_the_answer_is_still_wanted() -> None:
    passages = Passages(None)  # pyright: ignore[reportArgumentType] - none is read

    with pytest.raises(CancelledError):
        run_until(lambda: True, math.inf, lambda: passages.get([]))
    with pytest.raises(TimedOutError):
        run_until(lambda: False, -1.0, lambda: passages.get([]))
    assert run_until(lambda: False, math.inf, lambda: passages.get([])) == []
    assert passages.get([]) == []


async def test_one_asker_never_holds_the_last_place_and_nobody_waits_behind_its_others() -> None:
    threads, work = Threads(3, waiting=2, patience=20), Blocked()

    async def ask(asker: str, function: Callable[[], str]) -> str:
        ASKER.set(asker)
        return await threads.run(function)

    async with anyio.create_task_group() as tasks:
        for _ in range(4):
            tasks.start_soon(ask, "greedy", work)
        await anyio.wait_all_tasks_blocked()
        assert threads.under_way == 2
        with pytest.raises(RateLimitedError):
            await ask("greedy", lambda: "a fifth")
        with anyio.fail_after(20):
            assert await ask("modest", lambda: "at once") == "at once"
        work.go.set()
    assert (threads.under_way, work.most) == (0, 2)
