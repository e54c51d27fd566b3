"""Over MCP everybody is answered by their own rights, in every era and by tools, resources and completions alike."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, MCPError
from mcp.types import ResourceTemplateReference

from knowledge_mcp.transports.shared.keys import KeyRing
from tests.rest.world import keys_file
from tests.signon.serving import client_of, restricted_world, served_world

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

KEYS = {
    "keys": [
        {"name": "admin", "key": "admin-key"},
        {"name": "lawyer", "key": "lawyer-key", "read": ["kb"], "write": [], "groups": ["legal"]},
        {"name": "engineer", "key": "engineer-key", "read": ["kb"], "write": [], "groups": ["eng"]},
        {"name": "stranger", "key": "stranger-key", "read": ["other"], "write": []},
    ]
}
SEEN = {"admin": ["pumps", "valves"], "lawyer": ["pumps", "valves"], "engineer": ["pumps"], "stranger": []}


async def told(client: Client, tool: str, **arguments: Any) -> Any:
    """Call a tool; gives its structured answer."""
    return (await client.call_tool(tool, arguments)).structured_content


async def resource(client: Client, uri: str) -> str:
    """Read a resource, or tell the error."""
    try:
        return str(await client.read_resource(uri))
    except MCPError as exc:
        return f"error {exc.error.code}"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_key_is_answered_by_what_it_may_read(tmp_path: Path, mode: str) -> None:
    world = restricted_world(tmp_path / "docs")
    ring = KeyRing(path=keys_file(tmp_path, json.dumps(KEYS)))
    with served_world(world, keys=ring) as url:
        for name, documents in SEEN.items():
            async with client_of(url, f"{name}-key", mode=mode) as client:
                answer = await told(client, "knowledge_search", query="turned once a year")
                assert sorted({each["source"]["document_id"] for each in answer["results"]}) == documents, name
                listed = await resource(client, "knowledge://documents")
                reference = ResourceTemplateReference(type="ref/resource", uri="knowledge://documents/{document_id}")
                completed = await client.complete(reference, {"name": "document_id", "value": ""})
                assert sorted(completed.completion.values) == documents, name
                for document in ("pumps", "valves"):
                    may = document in documents
                    assert (f"documents/{document}" in listed) == may, (name, document)
                    assert (await resource(client, f"knowledge://documents/{document}")).startswith("error") != may
                    read = await told(client, "knowledge_read", document_id=document)
                    absent = await told(client, "knowledge_read", document_id="nothing")
                    if not may:
                        assert json.dumps(read).replace(document, "nothing") == json.dumps(absent), name
