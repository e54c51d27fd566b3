"""A key that may read some repositories is answered as by a store that holds no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from knowledge_mcp.model.errors import KnowledgeError
from knowledge_mcp.model.rights import Rights
from knowledge_mcp.surfaces.answers import render_error
from knowledge_mcp.surfaces.arguments import parse
from knowledge_mcp.surfaces.repositories import SURFACE
from tests.repositories.world import World

SEEN = Rights(read=("repo_my_api",), groups=())
TOOLS = {tool.name: tool for tool in SURFACE.tools}


def answer(world: World, name: str, arguments: dict[str, Any]) -> str:
    """Call a tool as somebody with these rights; returns what would be sent, an error too."""
    request = parse(TOOLS[name].request, arguments)
    try:
        told = TOOLS[name].run(world.desk.seen_by(SEEN), request).sent()
    except KnowledgeError as exc:
        told = render_error(exc)
    return str({key: value for key, value in told.items() if key != "query_time_ms"})


def test_no_tool_tells_of_repositories_that_may_not_be_read(tmp_path: Path) -> None:
    whole, without = (World(tmp_path / name) for name in ("whole", "without"))
    for world in (whole, without):
        world.index(world.repository("team/my-api").folder)
    whole.index(whole.repository("team/secret").folder)
    asks: list[tuple[str, dict[str, Any]]] = [
        ("list_indexed_repositories", {}),
        ("semantic_search", {"query": "validate a token"}),
        ("semantic_search", {"query": "validate a token", "repository": "secret"}),
        ("read_file_lines", {"repository": "secret", "file_path": "auth.py"}),
    ]
    assert {name for name, _ in asks} == {name for name, tool in TOOLS.items() if not tool.writes}
    for name, arguments in asks:
        found = answer(whole, name, arguments).replace(str(whole.folder), "")
        assert found == answer(without, name, arguments).replace(str(without.folder), ""), (name, arguments)
        assert "my-api" in found or "secret" in str(arguments)
