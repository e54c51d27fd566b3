"""The running HTTP server: tokens over the wire, health during a search, large bodies, a port that is taken."""

from __future__ import annotations

import http.client
import json
import socket
from collections.abc import Generator
from contextlib import closing
from typing import Any

import anyio
import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from starlette.types import Receive, Scope, Send

from knowledge_mcp.model.errors import InternalError, InvalidInputError
from knowledge_mcp.transports.mcp.http import serve
from knowledge_mcp.transports.shared.serving import listen
from tests.transports.spawned import WebServer, connected, web_server
from tests.waiting import wait_until


def fetch(server: WebServer, path: str, body: bytes | None = None, **headers: str) -> tuple[int, bytes]:
    """Send one request, POST where there is a body."""
    with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)) as connection:
        connection.request("POST" if body is not None else "GET", path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()


@pytest.fixture(scope="module")
def guarded() -> Generator[WebServer]:
    """Return a running server that asks for a token."""
    with web_server("alice=first-token", "bob=second-token") as server:
        yield server


def refusals(server: WebServer, since: int) -> list[str]:
    """Wait until a refused token is logged, and return all such lines after the first `since` of the log."""

    def found() -> list[str]:
        return [line for line in server.log[since:] if "authentication failed" in line]

    wait_until(lambda: bool(found()))
    return found()


@pytest.mark.anyio
@pytest.mark.slow
async def test_health_answers_while_searches_run(web: WebServer) -> None:
    with anyio.fail_after(30):
        async with connected("http", web, "auto") as client, anyio.create_task_group() as tasks:
            for _ in range(4):
                tasks.start_soon(client.call_tool, "knowledge_search", {"query": "slow"})
            for _ in range(20):
                status, body = await anyio.to_thread.run_sync(fetch, web, "/health")
                assert status == 200
                assert json.loads(body)["status"] == "ok"
            tasks.cancel_scope.cancel()


def test_a_body_over_the_limit_is_answered_with_413_and_json(web: WebServer) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping", "pad": "x" * 5_000_000}).encode()
    status, answer = fetch(web, "/mcp", body, **{"Content-Type": "application/json"})
    assert status == 413
    assert json.loads(answer)["error"]["code"] == "body_too_large"


@pytest.mark.slow
def test_what_is_no_protocol_message_is_refused_not_crashed_on(guarded: WebServer) -> None:
    since = len(guarded.log)
    headers = {"Content-Type": "application/json", "Accept": "application/json", "Authorization": "Bearer first-token"}
    for body in (b"", b"{", b"[]", b"\xff\xfe", b'{"jsonrpc":"2.0"}'):
        status, _ = fetch(guarded, "/mcp", body, **headers)
        assert 400 <= status < 500
        assert status != 401
    assert fetch(guarded, "/health")[0] == 200
    assert fetch(guarded, "/mcp")[0] == 401
    refusals(guarded, since)  # what was logged before this line is there too
    assert not any("Traceback" in line for line in guarded.log)


def test_a_probe_of_a_stream_by_head_is_refused_and_opens_none(guarded: WebServer) -> None:
    since = len(guarded.log)
    with closing(http.client.HTTPConnection("127.0.0.1", guarded.port, timeout=10)) as connection:
        connection.request("HEAD", "/sse", headers={"Authorization": "Bearer first-token"})
        answer = connection.getresponse()
        assert (answer.status, answer.headers["Allow"]) == (405, "GET")
    assert fetch(guarded, "/mcp")[0] == 401
    refusals(guarded, since)  # what was logged before this line is there too
    assert not any("Traceback" in line for line in guarded.log)


def test_an_address_that_a_client_claims_is_not_believed(guarded: WebServer) -> None:
    since = len(guarded.log)
    claimed = {"X-Forwarded-For": "203.0.113.9", "Authorization": "Bearer wrong"}
    assert fetch(guarded, "/mcp", b"{}", **claimed)[0] == 401
    assert not any("203.0.113.9" in line for line in refusals(guarded, since))


@pytest.mark.anyio
async def test_a_session_belongs_to_the_token_that_opened_it(guarded: WebServer) -> None:
    server, since = guarded, len(guarded.log)
    with anyio.fail_after(30):
        assert fetch(server, "/health")[0] == 200
        assert fetch(server, "/mcp")[0] == 401

        async def listed(token: str) -> int:
            async with (
                httpx2.AsyncClient(headers={"Authorization": f"Bearer {token}"}) as web_client,
                Client(streamable_http_client(f"{server.url}/mcp", http_client=web_client)) as client,
            ):
                return len((await client.list_tools()).tools)

        assert await listed("first-token") == 15
        with pytest.RaisesGroup(MCPError, flatten_subgroups=True, allow_unwrapped=True):
            await listed("third-token")
        hello: dict[str, Any] = {
            "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
        }  # fmt: skip
        base = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
        async with httpx2.AsyncClient(base_url=server.url, headers=base) as raw:
            opened = await raw.post("/mcp", json=hello, headers={"Authorization": "Bearer first-token"})
            session = {"Mcp-Session-Id": opened.headers["mcp-session-id"]}
            ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
            own = await raw.post("/mcp", json=ping, headers={"Authorization": "Bearer first-token", **session})
            foreign = await raw.post("/mcp", json=ping, headers={"Authorization": "Bearer second-token", **session})
        assert own.status_code == 200
        assert foreign.status_code == 404
        assert any("127.0.0.1" in line for line in refusals(server, since))


def test_a_port_that_is_taken_is_a_clear_error() -> None:
    with closing(listen("127.0.0.1", 0)) as first:
        port = first.getsockname()[1]
        with pytest.raises(InvalidInputError) as caught:
            listen("127.0.0.1", port)
    assert str(port) in caught.value.message
    assert "--port" in caught.value.suggestion


def test_a_host_that_is_not_ours_cannot_be_listened_on() -> None:
    with pytest.raises(InvalidInputError):
        listen("192.0.2.1", 0)
    with pytest.raises(InvalidInputError):
        listen("host.invalid", 0)


def test_listening_works_on_ip_version_six_where_there_is_one() -> None:
    if not socket.has_ipv6:
        pytest.skip("this machine has no IPv6")
    try:
        listener = listen("::1", 0)
    except InvalidInputError:
        pytest.skip("this machine has no IPv6 loopback")
    with closing(listener):
        assert listener.family is socket.AF_INET6


def test_an_app_that_cannot_start_ends_the_server_with_an_error() -> None:
    async def app(_: Scope, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.failed", "message": "nothing to serve"})

    listener = listen("127.0.0.1", 0)
    with pytest.raises(InternalError, match="did not start"):
        serve(app, listener, "CRITICAL")
    assert listener.fileno() == -1
