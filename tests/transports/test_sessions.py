"""Sessions over real HTTP: how many are open, whose give way, and what is left of a key that is taken away."""

from __future__ import annotations

from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from knowledge_mcp.transports.mcp.http import MAX_SESSIONS, MAX_SESSIONS_OF_KEY, SessionLimit, build_app
from knowledge_mcp.transports.mcp.server import KnowledgeServer, build_server
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.rest.served import held_until_cancelled, served
from tests.transports.asgi import Echo, ask
from tests.transports.in_thread import serving
from tests.transports.trouble import TroubledKnowledge
from tests.waiting import wait_until

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip
ACCEPT = {"Accept": "application/json, text/event-stream"}


@contextmanager
def running(keys: KeyRing) -> Generator[tuple[KnowledgeServer, httpx.Client]]:
    """Serve MCP on a thread."""
    server = build_server(lambda _: TroubledKnowledge(), ["standards"], version="9.9.9")
    with serving(build_app(server, keys=keys)) as url, httpx.Client(base_url=url, headers=ACCEPT, timeout=30) as client:
        yield server, client


def held(server: KnowledgeServer) -> set[str]:
    """Name the sessions that the SDK holds."""
    return set(server.session_manager._server_instances)  # pyright: ignore[reportPrivateUsage]  # no public count


def opened(client: httpx.Client, key: str) -> str:
    """Open a session; returns its id."""
    answer = client.post("/mcp", json=HELLO, headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200, answer.text
    return answer.headers["mcp-session-id"]


@pytest.mark.slow
def test_one_key_never_holds_more_sessions_than_its_share_and_another_still_opens_one() -> None:
    with running(KeyRing.of({"alice": "first", "bob": "second"})) as (server, client):
        all_of_them = [opened(client, "first") for _ in range(MAX_SESSIONS_OF_KEY + 50)]
        assert held(server) == set(all_of_them[50:]), "those that rest longest have given way"
        other = opened(client, "second")
        assert other in held(server)
        assert len(held(server)) == MAX_SESSIONS_OF_KEY + 1
    assert MAX_SESSIONS_OF_KEY < MAX_SESSIONS


@pytest.mark.anyio
async def test_a_session_with_a_call_under_way_is_never_closed_for_another() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        refusals.append((await ask(limit, method="POST")).status if not refusals else 0)
        await send({"type": "http.response.start", "status": 200, "headers": [(b"mcp-session-id", b"a")]})
        await send({"type": "http.response.body", "body": b""})

    refusals: list[int] = []
    limit = SessionLimit(app, most=10, of_key=1)
    assert (await ask(limit, method="POST")).status == 200
    assert refusals == [503], "while the first was being opened there was no room"
    assert limit.count == 1


@pytest.mark.anyio
async def test_a_refused_session_is_told_when_to_come_again() -> None:
    limit = SessionLimit(Echo(), most=0)
    answer = await ask(limit, method="POST")
    assert answer.status == 503
    assert answer.headers["retry-after"] == "30"
    assert answer.error_code == "too_many_sessions"


def test_a_key_that_is_taken_out_of_its_file_loses_its_streams_and_its_sessions(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("alice: first\nbob: second\n")
    path.chmod(0o600)
    with running(KeyRing(path=path)) as (server, client):
        gone, stays = opened(client, "first"), opened(client, "second")
        alice = {"Authorization": "Bearer first", "Mcp-Session-Id": gone}
        with (
            client.stream("GET", "/mcp", headers=alice) as stream,
            client.stream("GET", "/sse", headers={"Authorization": "Bearer first"}) as older,
        ):
            assert stream.status_code == older.status_code == 200
            path.write_text("bob: second\n")
            assert not stream.read().startswith(b"data"), "the stream ended, or reading would not"
            older.read()
        wait_until(lambda: held(server) == {stays})
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        assert client.post("/mcp", json=ping, headers=alice).status_code == 401
        bob = {"Authorization": "Bearer second", "Mcp-Session-Id": stays}
        assert client.post("/mcp", json=ping, headers=bob).status_code == 200


def test_a_key_that_is_taken_away_ends_its_ingest_as_a_client_that_leaves_does(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text("alice: first\nbob: second\n")
    path.chmod(0o600)
    bob = {"Authorization": "Bearer second"}
    with served(keys=KeyRing(path=path)) as world, ThreadPoolExecutor(1) as pool:
        begun = held_until_cancelled(world.library)
        alice = {"Authorization": "Bearer first"}
        ingest = pool.submit(world.client.post, "/ingest", json={"text": "Never to be seen."}, headers=alice)
        assert begun.wait(30)
        path.write_text("bob: second\n")
        assert ingest.result(30).status_code == 499, "as where the client left"
        wait_until(lambda: 'outcome="cancelled"} 1.0' in world.client.get("/metrics", headers=bob).text)
        assert world.client.get("/documents", headers=bob).json()["total"] == 0
