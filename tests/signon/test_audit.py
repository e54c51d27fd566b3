"""Who read what is written down before the answer leaves; without it nothing is answered."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.shared.audit import AuditLog, documents_in
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.rest.world import keys_file, make_world
from tests.signon.serving import restricted_world

pytestmark = pytest.mark.anyio


def lines(path: Path) -> list[dict[str, Any]]:
    """Read what was written down, without the times."""
    found = [json.loads(each) for each in path.read_text(encoding="utf-8").splitlines()]
    return [{name: value for name, value in each.items() if name != "time"} for each in found]


async def test_tools_and_resources_are_written_down_with_ids_and_without_any_text(tmp_path: Path) -> None:
    world, path = restricted_world(tmp_path / "docs"), tmp_path / "log" / "audit.jsonl"
    server = build_server(lambda _: world.knowledge, ["standards"], version="1", audit=AuditLog(path))
    await server.call_tool("knowledge_search", {"query": "turned once a year"})
    await server.call_tool("knowledge_read", {"document_id": "nothing"})
    await server.read_resource("knowledge://documents/pumps")
    await server.read_resource("knowledge://outlines/valves")
    told = lines(path)
    assert [(each["tool"], each["outcome"], sorted(each["documents"])) for each in told] == [
        ("knowledge_search", "answered", ["pumps", "valves"]),
        ("knowledge_read", "not_found", []),
        ("knowledge://documents/pumps", "answered", ["pumps"]),
        ("knowledge://outlines/valves", "answered", ["valves"]),
    ]
    assert {each["subject"] for each in told} == {"anonymous"}
    assert "turned" not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_requests_of_the_rest_service_are_written_down_by_the_key_that_asked(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    ring = KeyRing(path=keys_file(tmp_path, '{"keys": [{"name": "alice", "key": "k"}]}'))
    async with make_world(keys=ring, key="k", audit=AuditLog(path)) as world:
        ident = (await world.bring("Each valve shall be turned.", filename="valves.md"))["doc_id"]
        await world.client.post("/search", json={"query": "valve"})
        await world.client.get(f"/documents/{ident}")
        await world.client.get("/documents/0000000000000000")
        await world.client.get("/health")
        await world.client.get("/collections", headers={"Authorization": "Bearer wrong"})
    assert lines(path) == [
        {"subject": "alice", "tool": "POST /ingest", "outcome": "answered", "documents": [ident]},
        {"subject": "alice", "tool": "POST /search", "outcome": "answered", "documents": [ident]},
        {"subject": "alice", "tool": f"GET /documents/{ident}", "outcome": "answered", "documents": [ident]},
        {"subject": "alice", "tool": "GET /documents/0000000000000000", "outcome": "404", "documents": []},
    ]


async def test_what_cannot_be_written_down_is_not_answered(tmp_path: Path) -> None:
    world = restricted_world(tmp_path / "docs")
    (tmp_path / "file").write_text("")
    log = AuditLog(tmp_path / "file" / "audit.jsonl")
    server = build_server(lambda _: world.knowledge, ["standards"], version="1", audit=log)
    answer: Any = await server.call_tool("knowledge_search", {"query": "turned once a year"})
    assert answer.is_error
    assert "turned" not in str(answer)
    ring = KeyRing("k")
    async with make_world(keys=ring, key="k", audit=log) as rest:
        await rest.client.get("/health")
        failed = await rest.client.get("/collections")
        assert failed.status_code == 500
        assert "audit" not in failed.text.lower() or "collections" not in failed.json()


def test_lines_of_many_writers_stay_whole(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    log = AuditLog(path)
    writers = [
        threading.Thread(target=lambda: [log.write("a\nb", "tool", "answered", [str(each)] * 50) for each in range(50)])
        for _ in range(8)
    ]
    for each in writers:
        each.start()
    for each in writers:
        each.join()
    assert len(lines(path)) == 400
    assert {each["subject"] for each in lines(path)} == {"a\\nb"}


def test_an_answer_may_be_as_deep_as_somebody_made_it() -> None:
    deep: Any = {"document_id": "bottom"}
    for _ in range(100_000):
        deep = [deep]
    assert documents_in({"first": {"doc_id": "top"}, "more": deep, "repository": "r", "file_path": "a.py"}) == [
        "r:a.py", "top", "bottom",
    ]  # fmt: skip


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InternalError):
        AuditLog(Path("/dev/full")).write("a", "tool", "answered")
