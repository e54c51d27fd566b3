"""The service over real HTTP: clients that leave or dawdle, searches beside ingests, and the way it stops."""

from __future__ import annotations

import json
import logging
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import anyio
import httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from knowledge_mcp.transports.rest.bodies import BodyGate
from knowledge_mcp.transports.rest.errors import REQUEST_ID, RefusedRequest, from_http, send_failure
from knowledge_mcp.transports.rest.executor import MAX_INGESTS
from knowledge_mcp.transports.shared import guards
from tests.rest.served import held_until_cancelled, served
from tests.rest.world import KEY, events
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]
WAIT = 30.0


def request_bytes(path: str, body: bytes, *, declared: int | None = None) -> bytes:
    """Write a request as it goes over the wire."""
    length = len(body) if declared is None else declared
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {KEY}\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n".encode() + body


def test_a_client_that_leaves_cancels_its_ingest(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    with served() as world:
        begun = held_until_cancelled(world.library)
        with socket.create_connection(("127.0.0.1", world.port), timeout=WAIT) as connection:
            connection.sendall(request_bytes("/ingest", b'{"text": "Never to be seen."}'))
            assert begun.wait(WAIT)
        wait_until(
            lambda: 'rag_api_ingests_total{outcome="cancelled"} 1.0' in world.client.get("/metrics").text,
        )
        assert world.client.get("/documents").json()["total"] == 0
    assert events(caplog, "ingest_cancelled")
    assert [each["status"] for each in events(caplog, "request") if each["route"] == "/ingest"] == [499]


def test_searches_never_wait_behind_ingests() -> None:
    go = threading.Event()
    running = threading.Semaphore(0)

    def before(method: str) -> None:
        if method == "deposit":
            running.release()
            assert go.wait(WAIT)

    with served(before) as world, ThreadPoolExecutor(12) as pool:
        ingests = [pool.submit(world.client.post, "/ingest", json={"text": f"Text {n}."}) for n in range(12)]
        for _ in range(MAX_INGESTS - 1):  # the last place is for another key
            assert running.acquire(timeout=WAIT)
        assert not running.acquire(blocking=False), "more ingests run at a time than should"
        for _ in range(10):
            assert world.client.post("/search", json={"query": "text"}).status_code == 200
        go.set()
        assert [each.result(WAIT).status_code for each in ingests] == [200] * 12


def test_a_connection_serves_many_requests_also_after_refused_ones() -> None:
    with served() as world, socket.create_connection(("127.0.0.1", world.port), timeout=WAIT) as connection:
        stream = connection.makefile("rb")
        for body, status in ((b'{"query": "x"}', 200), (b"{", 400), (b"{}", 422), (b'{"query": "x"}', 200)):
            connection.sendall(request_bytes("/search", body))
            assert int(stream.readline().split()[1]) == status
            length = 0
            while (line := stream.readline()) != b"\r\n":
                name, _, value = line.partition(b":")
                length = int(value) if name.lower() == b"content-length" else length
            json.loads(stream.read(length))


def test_a_body_that_is_too_large_is_answered_on_the_wire() -> None:
    with served() as world:
        answer = world.client.post("/search", json={"query": "x" * 2_000_000})
        assert (answer.status_code, answer.json()["error"]) == (413, "payload_too_large")
        with socket.create_connection(("127.0.0.1", world.port), timeout=WAIT) as connection:
            head = request_bytes("/search", b"", declared=10**12).replace(
                b"\r\n\r\n", b"\r\nExpect: 100-continue\r\n\r\n"
            )
            connection.sendall(head)
            assert b" 413 " in connection.makefile("rb").readline()


@pytest.mark.anyio
@pytest.mark.parametrize("declared", [[], [(b"content-length", b"4")]])
async def test_a_body_that_does_not_come_is_given_up(declared: list[tuple[bytes, bytes]]) -> None:
    never = anyio.Event()
    sent: list[Message] = []
    pieces: list[Message] = [{"type": "http.request", "body": b"ab", "more_body": True}]

    async def receive() -> Message:
        if not pieces:
            await never.wait()
        return pieces.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            while (await receive()).get("more_body"):
                pass
        except RefusedRequest as exc:
            await send_failure(scope, send, from_http(exc))

    scope = {"type": "http", "method": "POST", "path": "/search", "headers": declared, REQUEST_ID: "1"}
    with anyio.fail_after(10):
        await BodyGate(app, lambda _: 10, silence=0.02)(scope, receive, send)
    assert sent[0]["status"] == 408


@pytest.mark.anyio
async def test_bodies_of_a_key_hold_up_to_a_limit_until_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MAX_HELD_BYTES", 20)
    answered = anyio.Event()
    refused: list[RefusedRequest] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await receive()
        except RefusedRequest as exc:
            refused.append(exc)
        else:
            await answered.wait()

    async def receive() -> Message:
        return {"type": "http.request", "body": b"x" * 9}

    async def send(_: Message) -> None:
        raise AssertionError("the app answers nothing")

    gate = BodyGate(app, lambda _: 10, largest=10)
    scope: Scope = {"type": "http", "method": "POST", "path": "/ingest", "headers": []}
    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(gate, scope, receive, send)
        await anyio.wait_all_tasks_blocked()
        answered.set()
    await gate(scope, receive, send)
    assert [each.status_code for each in refused] == [503]


@contextmanager
def spawned(*arguments: str) -> Generator[tuple[subprocess.Popen[str], int]]:
    """Spawn a service whose ingests last until the file `go` is there; yields it and its port."""
    command = [sys.executable, "-m", "tests.rest.slow_service", *arguments]
    with subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, stdin=subprocess.PIPE, text=True) as process:
        try:
            assert process.stderr is not None
            for line in process.stderr:
                if found := re.search(r"listening on http://127\.0\.0\.1:(\d+)", line):
                    yield process, int(found[1])
                    break
            else:
                pytest.fail("the service did not start")
        finally:
            process.kill()


@pytest.mark.slow
def test_a_service_told_to_stop_is_not_ready_first_and_finishes_what_runs() -> None:
    with spawned("5", "20") as (process, port), ThreadPoolExecutor(1) as pool:
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=WAIT) as client:
            assert client.get("/ready").status_code == 200
            ingest = pool.submit(client.post, "/ingest", json={"text": "To be finished."})
            assert process.stderr is not None
            assert any("deposit begun" in line for line in process.stderr)
            process.send_signal(signal.SIGTERM)
            wait_until(lambda: client.get("/ready").status_code == 503)
            assert client.post("/search", json={"query": "x"}).status_code == 200, "it still serves for a moment"
            process.send_signal(signal.SIGINT)  # the moment is over
            wait_until(lambda: not _accepts(port))
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            assert ingest.result(WAIT).json()["status"] == "ingested"
        assert process.wait(WAIT) == 0


@pytest.mark.slow
def test_what_runs_longer_than_the_time_it_gets_is_cancelled() -> None:
    with spawned("0", "1") as (process, port), ThreadPoolExecutor(1) as pool:
        headers = {"Authorization": f"Bearer {KEY}"}
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", headers=headers, timeout=WAIT) as client:
            ingest = pool.submit(client.post, "/ingest", json={"text": "Endless."})
            assert process.stderr is not None
            assert any("deposit begun" in line for line in process.stderr)
            process.send_signal(signal.SIGTERM)
            assert any("deposit cancelled" in line for line in process.stderr)
            assert process.wait(WAIT) == 0
            answer = ingest.result(WAIT)
            assert (answer.status_code, answer.json()["error"]) == (503, "unavailable")
            assert answer.headers["Retry-After"]


def _accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=WAIT):
            return True
    except OSError:
        return False
