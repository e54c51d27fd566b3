"""Who read what is written down before the answer leaves; without it nothing is answered."""

from __future__ import annotations

import json
import os
import random
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.types import ResourceTemplateReference

from knowledge_mcp.model.errors import InternalError
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.rest.engine import engine_router
from knowledge_mcp.transports.shared.audit import AuditGate, AuditLog, documents_in
from knowledge_mcp.transports.shared.keys import KEY, Key, KeyRing
from tests.engine.world import World
from tests.rest.world import keys_file, make_world
from tests.signon.asks import ARGUMENTS, CALLS, Drawn
from tests.signon.serving import restricted_world

pytestmark = pytest.mark.anyio

WORDS = ("pumps", "boilers", "turbines", "valves")
"""Ids of documents, whose words are in no other."""


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
    result = lines(path)
    assert [(each["tool"], each["outcome"], sorted(each["documents"])) for each in result] == [
        ("knowledge_search", "answered", ["pumps", "valves"]),
        ("knowledge_read", "not_found", []),
        ("knowledge://documents/pumps", "answered", ["pumps"]),
        ("knowledge://outlines/valves", "answered", ["valves"]),
    ]
    assert {each["subject"] for each in result} == {"anonymous"}
    assert "turned" not in path.read_text(encoding="utf-8")
    assert path.stat().st_mode & 0o777 == 0o600


async def test_every_tool_and_resource_is_written_down_with_each_document_whose_words_are_in_the_answer(
    tmp_path: Path,
) -> None:
    world, path = World(tmp_path), tmp_path / "audit.jsonl"
    for place, word in enumerate(WORDS):
        text = f"# {word} rules\n\n## 1 {word}\n\nThe {word} valve shall be turned within {place + 2} days, see 1.\n"
        world.write(f"{word}.md", text)
    world.ingest()
    server = build_server(lambda _: world.knowledge, ["standards"], version="1", audit=AuditLog(path))
    draw = random.Random(1)
    chunks = world.base.opened.chunks("document", [each.id for each in world.base.records()])
    for name in [each for each in sorted(CALLS) if each.startswith("knowledge")] * 6:
        ident, other = draw.sample(WORDS, 2)
        drawn = Drawn(draw, ident, other, draw.choice(chunks), "The valve shall be turned")
        path.unlink(missing_ok=True)
        uri = ""
        if "://" in name:
            uri = name.format(document_id=drawn.ident, chunk_id=drawn.chunk.id)
            answer: Any = await server.read_resource(uri)
        else:
            answer = await server.call_tool(name, ARGUMENTS[name](drawn))
        (line,) = lines(path)
        if line["outcome"] == "answered":
            result = str(answer).lower()
            assert {word for word in WORDS if f"the {word}" in result} <= set(line["documents"]), name
        assert line["tool"] == (uri if "://" in name else name)


async def test_what_is_refused_or_not_understood_and_completions_are_written_down_too(tmp_path: Path) -> None:
    world, path = restricted_world(tmp_path / "docs"), tmp_path / "audit.jsonl"
    server = build_server(lambda _: world.knowledge, ["standards", "rag"], version="1", audit=AuditLog(path))
    await server.call_tool("knowledge_search", {"query": ""})
    await server.call_tool("get_document", {"doc_id": "x"})
    async with Client(server) as client:
        reference = ResourceTemplateReference(type="ref/resource", uri="knowledge://documents/{document_id}")
        await client.complete(reference, {"name": "document_id", "value": "valv"})
    assert [(each["tool"], each["outcome"], each["documents"]) for each in lines(path)] == [
        ("knowledge_search", "invalid_input", []),
        ("get_document", "internal_error", []),  # a knowledge base is not the library that it needs
        ("completion/complete document_id", "answered", ["valves"]),
    ]


def picture(document_id: str, page: int, passage: int | None = None, *, dpi: int = 110) -> bytes:
    """Draw what the library in memory cannot."""
    return f"\x89PNG {document_id} {page} {passage} {dpi}".encode("latin-1")


def is_other(path: str) -> bool:
    """Tell that nothing writes itself down."""
    return not path


async def nobody() -> Any:
    """Never send anything."""
    raise AssertionError("nobody asks")


async def test_answers_of_engines_and_pictures_are_written_down_by_what_was_asked_for(tmp_path: Path) -> None:
    world, path = restricted_world(tmp_path / "docs"), tmp_path / "audit.jsonl"
    router = engine_router(lambda _: world.knowledge, ["standards"])
    ring = KeyRing(path=keys_file(tmp_path, '{"keys": [{"name": "alice", "key": "k"}]}'))
    async with make_world(keys=ring, key="k", audit=AuditLog(path), engine_router=router) as rest:

        async def ask(method: str, **arguments: Any) -> None:
            answer = await rest.client.post(f"/engine/standards/{method}", json=arguments)
            assert answer.status_code == 200, answer.text

        await ask("document_text", document_id="valves")
        await ask("document", document_id="valves")
        await ask("documents")
        await ask("tools/knowledge_trace", **{"from": "pumps", "to": "valves"})
        ident = (await rest.bring(filename="pumps.md"))["doc_id"]
        rest.library.page_image = picture
        assert (await rest.client.get(f"/documents/{ident}/pages/1")).status_code == 200
    assert [each["documents"] for each in lines(path)] == [
        ["valves"], ["valves"], ["pumps", "valves"], ["pumps", "valves"], [ident], [ident],
    ]  # fmt: skip


async def test_a_stream_is_written_down_before_its_line_leaves_and_when_its_client_leaves(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    sent: list[tuple[str, int]] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        del scope, receive
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for part in (b'{"progress":1}\n', b'{"result":{"doc_id":"a"}}\n'):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        raise OSError("the client left")

    async def send(message: Any) -> None:
        sent.append((message["type"], len(lines(path)) if path.exists() else 0))

    gate = AuditGate(app, AuditLog(path), is_other=is_other)
    scope = {"type": "http", "method": "POST", "path": "/x", KEY: Key("alice")}
    with pytest.raises(OSError, match="left"):
        await gate(scope, nobody, send)
    assert sent == [("http.response.start", 0), ("http.response.body", 0), ("http.response.body", 1)]
    assert lines(path) == [{"subject": "alice", "tool": "POST /x", "outcome": "answered", "documents": ["a"]}]


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


@pytest.mark.skipif(sys.platform == "win32", reason="there are no such files on Windows")
def test_a_pipe_that_nobody_reads_is_an_error_and_no_wait(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InternalError, match="audit log cannot be written"):
        AuditLog(tmp_path / "pipe").check()
