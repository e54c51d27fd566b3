"""Host, Origin, size and token: each table says who gets in."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

import anyio
import pytest
from starlette.types import Message, Receive, Scope, Send

from knowledge_mcp.transports.mcp.http import build_app, key_gate
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.shared import guards
from knowledge_mcp.transports.shared.admission import Admission
from knowledge_mcp.transports.shared.guards import AllowedNames, BodyLimit, HostGuard, serve_while_valid
from knowledge_mcp.transports.shared.keys import KeyRing
from knowledge_mcp.transports.shared.threads import ASKER
from tests.fakes.knowledge import FakeKnowledge
from tests.transports.asgi import Echo, ask

pytestmark = pytest.mark.anyio

HOSTS = {
    "localhost": 200, "LOCALHOST:3002": 200, "127.0.0.1": 200, "127.0.0.1:3002": 200, "[::1]": 200, "[::1]:80": 200,
    "any.example": 200, "any.example:8080": 200,
    "web.example": 200, "web.example:443": 200, "web.example:8443": 421,
    "port.example:8080": 200, "port.example": 421,
    "evil.example": 421, "localhost.evil.example": 421, "localhost:80.evil.example": 421, "127.0.0.1.nip.example": 421,
    "": 421, "localhost:": 421, "[::1": 421, "localhost:80@evil.example": 421,
}  # fmt: skip
ORIGINS = {
    "http://localhost": 200, "http://localhost:6274": 200, "https://127.0.0.1:1": 200, "http://[::1]:80": 200,
    "https://app.example": 200, "https://APP.example": 200, "https://many.example:99": 200, "https://many.example": 200,
    "https://app.example:8443": 403, "http://app.example": 403, "https://evil.example": 403, "null": 403,
    "http://localhost.evil.example": 403, "http://localhost:80.evil.example": 403, "": 403, "http://localhost:": 403,
}  # fmt: skip
GOOD_HOST = ("host", "localhost:3002")


@pytest.mark.parametrize(("host", "status"), HOSTS.items())
async def test_a_host_that_is_not_ours_is_refused(host: str, status: int) -> None:
    app = HostGuard(Echo(), AllowedNames(["any.example", "Web.example:443", "port.example:8080"], []))
    answer = await ask(app, headers=[("host", host)])
    assert answer.status == status
    if status != 200:
        assert answer.error_code == "host_not_allowed"


@pytest.mark.parametrize(("origin", "status"), ORIGINS.items())
async def test_an_origin_that_is_not_allowed_is_refused(origin: str, status: int) -> None:
    app = HostGuard(Echo(), AllowedNames([], ["https://app.example/", "https://many.example:*"]))
    answer = await ask(app, headers=[GOOD_HOST, ("origin", origin)])
    assert answer.status == status
    if status != 200:
        assert answer.error_code == "origin_not_allowed"


async def test_two_hosts_or_none_are_refused_and_a_star_admits_all_but_null() -> None:
    app = HostGuard(Echo(), AllowedNames(["*"], ["*"]))
    assert (await ask(app, headers=[GOOD_HOST, GOOD_HOST])).status == 421
    assert (await ask(app, headers=[])).status == 421
    assert (await ask(app, headers=[("host", "evil.example"), ("origin", "https://evil.example")])).status == 200
    assert (await ask(app, headers=[GOOD_HOST, ("origin", "null")])).status == 403
    assert (
        await ask(HostGuard(Echo(), AllowedNames()), headers=[("host", "evil.example")], kind="websocket")
    ).status == 1008


@pytest.mark.parametrize(
    ("body", "declared", "status"),
    [
        ([b"x" * 10], "10", 200),
        ([b"x" * 5, b"x" * 5], None, 200),
        ([b"x" * 11], "11", 413),
        ([b"x"], "11", 413),
        ([b"x" * 11], "3", 413),
        ([b"x" * 6, b"x" * 6], None, 413),
        ([b"x" * 6, b"x" * 6], "many", 413),
    ],
)
async def test_a_body_over_the_limit_is_refused(body: list[bytes], declared: str | None, status: int) -> None:
    echo = Echo()
    headers = [GOOD_HOST, *([("content-length", declared)] if declared else [])]
    answer = await ask(BodyLimit(echo, 10), method="POST", headers=headers, body=body)
    assert answer.status == status
    if status == 200:
        assert answer.body == b"10"
    else:
        assert answer.error_code == "body_too_large"
        assert echo.asked == []


@pytest.mark.parametrize(
    ("declared", "status", "patience", "pause"),
    [("5", 408, 0.02, 1.0), ("11", 413, 0.02, 1.0), ("11", 413, 3600, 0.01)],
)
async def test_a_body_that_does_not_come_is_given_up_in_time_or_after_a_pause(
    monkeypatch: pytest.MonkeyPatch, declared: str, status: int, patience: float, pause: float
) -> None:
    monkeypatch.setattr(guards, "QUIET_SECONDS", pause)
    echo = Echo()
    never = anyio.Event()
    sent: list[Message] = []

    async def receive() -> Message:
        await never.wait()
        return {"type": "http.disconnect"}

    async def send(message: Message) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-length", declared.encode())]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    with anyio.fail_after(60):
        await BodyLimit(echo, 10, patience=patience)(scope, receive, send)
    assert sent[0]["status"] == status
    assert echo.asked == []


async def test_a_client_that_leaves_in_the_middle_of_its_body_is_forgotten() -> None:
    echo = Echo()
    messages: list[Message] = [
        {"type": "http.request", "body": b"half", "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return messages.pop(0)

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": [(b"host", b"localhost")]}
    await BodyLimit(echo, 10)(scope, receive, send)
    assert sent == []
    assert echo.asked == []


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" + b"[]," * 400_000 + b"1]", 400),
        (b'[""' + b',""' * 600_000 + b"]", 400),
        (b'"' * 4_000_000, 400),
        (b'{"text": "' + b'a, [b], \\"c\\\\ ' * 100_000 + b'"}', 200),
        (b"[" + b"[]," * 300_000 + b"1]", 200),
    ],
)
async def test_a_body_of_nothing_but_brackets_is_refused_before_it_is_parsed(body: bytes, status: int) -> None:
    answer = await ask(BodyLimit(Echo(), 1 << 22), method="POST", headers=[GOOD_HOST], body=[body])
    assert answer.status == status


async def test_bodies_of_a_key_hold_up_to_a_limit_until_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "MAX_HELD_BYTES", 20)
    answered = anyio.Event()
    asked: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        asked.append(ASKER.get())
        await answered.wait()
        await Echo()(scope, receive, send)

    limit = BodyLimit(app, 10)

    async def send_one(name: str, status: int) -> None:
        ASKER.set(name)
        answer = await ask(limit, method="POST", headers=[GOOD_HOST], body=[b"x" * 5, b"x" * 4])
        assert answer.status == status

    async with anyio.create_task_group() as group:
        for name in ("alice", "alice", "bob"):
            group.start_soon(send_one, name, 200)
        await anyio.wait_all_tasks_blocked()
        await send_one("alice", 503)
        answered.set()
    assert asked == ["alice", "alice", "bob"]
    await send_one("alice", 200)


TOKENS = {"alice": "first-token", "bob": "zweiter-schlüssel"}
CREDENTIALS = {
    "Bearer first-token": "alice", "bearer first-token": "alice", "Bearer  first-token": "alice",
    "Bearer zweiter-schl\xc3\xbcssel": "bob",
    "Bearer wrong": None, "Bearer": None, "Bearer ": None, "Basic first-token": None, "first-token": None,
    "Bearer first-token2": None, "Bearer FIRST-TOKEN": None, "": None,
}  # fmt: skip


@pytest.mark.parametrize(("header", "name"), CREDENTIALS.items())
async def test_a_token_is_recognised_by_its_name_or_refused(header: str, name: str | None) -> None:
    echo = Echo()
    answer = await ask(key_gate(echo, Admission(KeyRing.of(TOKENS))), headers=[GOOD_HOST, ("authorization", header)])
    if name is not None:
        assert answer.status == 200
        assert echo.asked[0]["user"].access_token.client_id == name
    else:
        assert answer.status == 401
        assert answer.error_code == "unauthorized"
        assert answer.headers["www-authenticate"].startswith("Bearer ")
        assert echo.asked == []


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/health", 200), ("HEAD", "/health", 401), ("POST", "/health", 401), ("GET", "/health/", 401),
        ("GET", "/Health", 401), ("GET", "//health", 401), ("GET", "/mcp", 401), ("POST", "/messages/", 401),
        ("OPTIONS", "/mcp", 401),
    ],
)  # fmt: skip
async def test_exactly_the_health_check_needs_no_token(method: str, path: str, status: int) -> None:
    answer = await ask(key_gate(Echo(), Admission(KeyRing.of(TOKENS))), path, method=method, headers=[GOOD_HOST])
    assert answer.status == status


async def test_a_failed_login_is_logged_with_address_method_and_path_but_not_the_token(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = key_gate(Echo(), Admission(KeyRing.of(TOKENS)))
    await ask(app, "/sse", headers=[GOOD_HOST, ("authorization", "Bearer guessed")])
    await ask(app, "/sse", headers=[GOOD_HOST], kind="websocket")
    assert [record.levelno for record in caplog.records] == [logging.WARNING, logging.WARNING]
    assert "192.0.2.7" in caplog.text
    assert "GET /sse" in caplog.text
    assert "guessed" not in caplog.text


def test_authentication_with_an_empty_token_cannot_be_built() -> None:
    with pytest.raises(ValueError, match="token"):
        KeyRing.of({"alice": ""})


@pytest.mark.requirement("document-store-api:FR-010")
async def test_a_token_is_revoked_and_another_granted_by_a_change_of_their_file(tmp_path: Path) -> None:
    path, now = tmp_path / "tokens", [0.0]
    path.write_text("alice: one\nbob: two\n")
    app = key_gate(Echo(), Admission(KeyRing(None, path, clock=lambda: now[0])))

    async def status(token: str) -> int:
        now[0] += 2.0
        return (await ask(app, "/mcp", headers=[GOOD_HOST, ("authorization", f"Bearer {token}")])).status

    assert [await status(token) for token in ("one", "two", "three")] == [200, 200, 401]
    path.write_text("bob: two\ncarol: three\n")
    assert [await status(token) for token in ("one", "two", "three")] == [401, 200, 200]
    path.write_text("{")  # a mistake locks nobody out
    assert [await status(token) for token in ("one", "two", "three")] == [401, 200, 200]
    path.write_text('{"keys": [{"name": "dora", "key": "four", "read": ["some-*"]}]}')
    assert [await status(token) for token in ("two", "four")] == [401, 200]  # what it may read, its tools look at


async def test_all_that_wait_for_a_request_learn_that_its_key_is_revoked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "LOOK_SECONDS", 0.0)
    looks = iter([True, True, False])
    received: list[Message] = []
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        async def wait() -> None:
            received.append(await receive())

        async with anyio.create_task_group() as group:
            group.start_soon(wait)
            group.start_soon(wait)

    await serve_while_valid(app, {}, never, send, lambda: next(looks))
    assert [each["type"] for each in received] == ["http.disconnect"] * 2
    assert sent[0]["status"] == 401


async def test_looking_at_the_key_of_a_request_takes_no_task() -> None:
    tasks = asyncio.all_tasks()

    async def receive() -> Message:
        assert asyncio.all_tasks() == tasks
        return {"type": "http.request"}

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        assert await receive() == {"type": "http.request"}

    async def send(message: Message) -> None:
        raise AssertionError(message)

    await serve_while_valid(app, {}, receive, send, lambda: True)


async def test_the_app_guards_every_route_and_browsers_get_their_preflight() -> None:
    server = build_server(lambda _: FakeKnowledge(), ["standards"], version="1")
    app = build_app(server, keys=KeyRing.of(TOKENS), allowed_origins=["https://app.example", "https://many.example:*"])
    for path in ("/mcp", "/sse", "/messages/", "/health", "/nowhere"):
        assert (await ask(app, path, headers=[("host", "evil.example")])).status == 421
        assert (await ask(app, path, headers=[GOOD_HOST, ("origin", "https://evil.example")])).status == 403
        assert (await ask(app, path, headers=[GOOD_HOST])).status == (200 if path == "/health" else 401)
    for origin in ("https://app.example", "https://many.example:99"):
        preflight = [GOOD_HOST, ("origin", origin), ("access-control-request-method", "POST")]
        answer = await ask(app, "/mcp", method="OPTIONS", headers=preflight)
        assert answer.status == 200
        assert answer.headers["access-control-allow-origin"] == origin
    health = await ask(app, "/health", headers=[GOOD_HOST])
    assert health.body == b'{"status":"ok","version":"1"}'
