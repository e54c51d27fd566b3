"""A key that may read some repositories is answered as before there were any others."""

from __future__ import annotations

import re
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
        result = TOOLS[name].run(world.service.seen_by(SEEN), request).sent()
    except KnowledgeError as exc:
        result = render_error(exc)
    return re.sub(r"'(head_checked_at|query_time_ms)': ('[^']*'|[\d.]+)", "", str(result))


def test_no_tool_tells_of_repositories_that_may_not_be_read(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.index(world.repository("team/my-api").folder)
    asks: list[tuple[str, dict[str, Any]]] = [
        ("list_indexed_repositories", {}),
        ("semantic_search", {"query": "validate a token"}),
        ("semantic_search", {"query": "validate a token", "repository": "secret"}),
        ("read_file_lines", {"repository": "secret", "file_path": "auth.py"}),
    ]
    assert {name for name, _ in asks} == {name for name, tool in TOOLS.items() if not tool.writes}
    before = [answer(world, name, arguments) for name, arguments in asks]
    assert "my-api" in before[0]
    world.index(world.repository("team/secret").folder)
    assert set(world.listed()) == {"my-api", "secret"}
    assert [answer(world, name, arguments) for name, arguments in asks] == before
