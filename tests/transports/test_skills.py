"""Skills over MCP: listed with digests, read as resources, the same as the plugin's, and naming tools that exist."""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any, cast

import pytest
import yaml
from mcp import Client, MCPError, types
from pydantic import Field

from knowledge_mcp.transports.mcp.extensions import SKILLS, skill_text
from knowledge_mcp.transports.mcp.server import KnowledgeServer, build_server
from tests.deploy.manifests import ROOT
from tests.fakes.knowledge import FakeKnowledge

pytestmark = pytest.mark.anyio

SURFACES = ["standards", "repositories"]


def served(surfaces: list[str]) -> KnowledgeServer:
    """Build a server over nothing."""
    return build_server(lambda _: cast("Any", FakeKnowledge()), surfaces, version="1")


class Asked(types.Request[dict[str, Any], str]):
    """Ask for a method that the SDK does not know."""


class Told(types.Result):
    """Hold what either method answers."""

    skills: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    skill: dict[str, Any] = Field(default_factory=dict[str, Any])


async def ask(client: Client, method: str, **params: Any) -> Told:
    """Call a method of the extension."""
    return await client.session.send_request(Asked(method=method, params=params), Told)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_each_skill_is_listed_with_its_digest_and_read_as_a_resource(mode: Any) -> None:
    async with Client(served(SURFACES), mode=mode) as client:
        listed = (await ask(client, "skills/list")).skills
        assert [each["frontmatter"]["name"] for each in listed] == [*SKILLS["standards"], *SKILLS["repositories"]]
        for each in listed:
            (content,) = (await client.read_resource(each["uri"])).contents
            assert isinstance(content, types.TextResourceContents)
            raw = content.text.encode()
            (file,) = each["resources"]
            assert file == {
                "uri": each["uri"], "digest": f"sha256:{hashlib.sha256(raw).hexdigest()}", "size": len(raw)
            }  # fmt: skip
            assert each["frontmatter"] == yaml.safe_load(content.text.split("---")[1])
            assert (await ask(client, "skills/get", uri=each["uri"])).skill == each
        with pytest.raises(MCPError, match="There is no skill"):
            await ask(client, "skills/get", uri="skill://nothing/SKILL.md")


async def test_a_surface_serves_its_own_skills_only() -> None:
    async with Client(served(["repositories"])) as client:
        listed = (await ask(client, "skills/list")).skills
        assert [each["uri"] for each in listed] == ["skill://code-by-behaviour/SKILL.md"]
        assert "io.modelcontextprotocol/skills" in json.dumps(client.server_capabilities.model_dump(by_alias=True))


@pytest.mark.parametrize("surface", SURFACES)
async def test_a_skill_names_tools_that_its_surface_has(surface: str) -> None:
    async with Client(served(SURFACES)) as client:
        there = {tool.name for tool in (await client.list_tools()).tools}
    pattern = re.compile(r"`(knowledge_[a-z_]+|[a-z]+_(?:search|repositor[a-z]+|lines))`")
    named = {tool for name in SKILLS[surface] for tool in pattern.findall(skill_text(name))}
    assert named
    assert named <= there


def test_the_plugin_has_the_same_skills() -> None:
    there = {path.parent.name: path.read_text() for path in (ROOT / "plugin" / "skills").glob("*/SKILL.md")}
    assert there == {name: skill_text(name) for names in SKILLS.values() for name in names}
