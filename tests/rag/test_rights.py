"""Tools over a service whose key is limited: what it may not read is answered like what is not there."""

from __future__ import annotations

import json
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import anyio
import pytest
from mcp import Client

from knowledge_mcp.model.library import Deposit
from knowledge_mcp.ports import Library
from knowledge_mcp.remote.client import RemoteLibrary
from knowledge_mcp.remote.knowledge import RemoteTools
from knowledge_mcp.surfaces.contract import Tool, load_surfaces
from knowledge_mcp.surfaces.rag import SURFACE
from knowledge_mcp.transports.mcp.server import build_server
from knowledge_mcp.transports.shared.keys import KeyRing
from tests.engine.shelf import PUMPS, VALVES, Shelf
from tests.fakes.library import FakeLibrary
from tests.remote.serving import AT_ONCE, rest_service

pytestmark = pytest.mark.anyio

KEYS: dict[str, Any] = {
    "keys": [
        {"name": "reader", "key": "reader-key", "read": ["docs"], "write": []},
        {"name": "owner", "key": "owner-key", "read": ["docs", "own-*"], "write": ["docs", "own-*"]},
        {"name": "writer", "key": "writer-key", "read": [], "write": ["inbox"]},
        {"name": "none", "key": "none-key", "read": [], "write": []},
    ]
}
NAMES = {"collection": "collection", "doc_id": "document", "job_id": "job"}
"""Fields of a tool's arguments that name something which may be another's."""
OTHERWISE: dict[str, Any] = {"query": "valve", "uri": "https://docs.example.com/guide.html"}
ABSENT = {"collection": "secreu", "document": "0123456789abcdee", "job": "fedcba9876543210"}


def ring(folder: Path) -> KeyRing:
    path = folder / "keys.json"
    path.write_text(json.dumps(KEYS))
    path.chmod(0o600)
    return KeyRing(None, path)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[str, dict[str, str]]]:
    """Serve a readable collection and a secret one; gives the address, and what the secret one holds."""
    shelf = Shelf(tmp_path_factory.mktemp("shelf"))
    service = shelf.open()
    service.deposit(Deposit("docs", "pumps.md", PUMPS))
    document = service.deposit(Deposit("secret", "valves.md", VALVES)).document_id
    job = service.submit(Deposit("secret", "more.md", PUMPS)).id
    held = cast("FakeLibrary", service)
    with rest_service(held, keys=ring(tmp_path_factory.mktemp("keys"))) as url:
        yield url, {"collection": "secret", "document": document, "job": job}


def asked(tool: Tool, names: dict[str, str]) -> list[dict[str, Any]]:
    """Make the arguments of a tool in which each of its fields that name something names the given."""
    fields = tool.request.model_fields
    needed = {name: OTHERWISE[name] for name, field in fields.items() if field.is_required() and name in OTHERWISE}
    made: list[dict[str, Any]] = []
    for field, kind in NAMES.items():
        if field in fields:
            in_readable = {"collection": "docs"} if field != "collection" and "collection" in fields else {}
            whole = {**needed, **in_readable, field: names[kind]}
            made.append(whole)
            if "wait" in fields:
                made.append({**whole, "wait": False})
    return made or [needed]


def plain(result: Any, names: dict[str, str]) -> str:
    text = json.dumps([result.is_error, result.structured_content, [each.text for each in result.content]])
    for kind, name in names.items():
        text = text.replace(name, f"<{kind}>")
    return text


def near(name: str) -> str:
    """Make the id of nothing that looks like one."""
    return name[:-1] + ("0" if name[-1] != "0" else "1")


@pytest.mark.parametrize("key", ["reader-key", "owner-key", "writer-key", "none-key"])
@pytest.mark.parametrize("tool", SURFACE.tools, ids=lambda tool: tool.name)
async def test_every_tool_answers_for_what_the_key_may_not_read_as_for_what_is_not_there(
    world: tuple[str, dict[str, str]], tool: Tool, key: str
) -> None:
    url, foreign = world
    alike = {**ABSENT, "document": near(foreign["document"]), "job": near(foreign["job"])}
    with anyio.fail_after(30), closing(RemoteLibrary(url, key, policy=AT_ONCE)) as remote:
        library: Library = remote
        async with Client(build_server(lambda _: library, ["rag"], version="9.9.9")) as client:
            for absent in (ABSENT, alike):
                for there, missing in zip(asked(tool, foreign), asked(tool, absent), strict=True):
                    found = plain(await client.call_tool(tool.name, there), foreign)
                    assert found == plain(await client.call_tool(tool.name, missing), absent), there
                    for name in foreign.values():
                        assert name not in found


def silently(done: float, total: float | None, words: str) -> None:
    """Tell nobody how far it is."""


@pytest.mark.parametrize("surface", ["standards", "planning", "repositories"])
async def test_every_tool_of_an_engine_that_a_key_may_not_use_answers_as_where_there_is_no_such_engine(
    tmp_path: Path, surface: str
) -> None:
    class Engine:
        """Fail whoever asks it at all."""

    (shown,) = load_surfaces([surface])
    answers: list[list[str]] = []
    for engines in ({surface: cast("Any", Engine())}, {}):
        messages: list[str] = []
        with rest_service(keys=ring(tmp_path), engines=engines) as url:
            for tool in shown.tools:
                with closing(RemoteTools(url, "owner-key", surface, policy=AT_ONCE)) as service:
                    try:
                        service.call_tool(tool.name, {}, on_progress=silently, cancelled=bool, repeatable=False)
                    except Exception as exc:  # noqa: BLE001 - compared, whatever it is
                        messages.append(repr((type(exc), vars(exc), str(exc))))
        assert len(messages) == len(shown.tools)
        answers.append(messages)
    assert answers[0] == answers[1]
