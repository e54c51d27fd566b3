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

from knowledge_mcp.surfaces.contract import load_surfaces
from knowledge_mcp.transports.mcp.extensions import SKILLS, skill_text
from knowledge_mcp.transports.mcp.server import KnowledgeServer, build_server
from tests.deploy.manifests import ROOT
from tests.fakes.knowledge import FakeKnowledge

pytestmark = pytest.mark.anyio

SURFACES = ["standards", "repositories"]
FORCE = ("shall", "should", "may", "can")


def served(surfaces: list[str]) -> KnowledgeServer:
    """Build a server over nothing."""
    return build_server(lambda _: cast("Any", FakeKnowledge()), surfaces, version="1")


class Asked(types.Request[dict[str, Any], str]):
    """Ask for a method that the SDK does not know."""


class SkillsAnswer(types.Result):
    """Hold what either method answers."""

    skills: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    skill: dict[str, Any] = Field(default_factory=dict[str, Any])


async def ask(client: Client, method: str, **params: Any) -> SkillsAnswer:
    """Call a method of the extension."""
    return await client.session.send_request(Asked(method=method, params=params), SkillsAnswer)


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


def _names_in(schema: Any) -> set[str]:
    """Collect the names of fields and the values that they may have, however deep."""
    if isinstance(schema, list):
        return {name for each in cast("list[Any]", schema) for name in _names_in(each)}
    if not isinstance(schema, dict):
        return set()
    result = cast("dict[str, Any]", schema)
    own = {*result.get("properties", {}), *map(str, result.get("enum", ())), str(result.get("const", ""))}
    return own.union(*map(_names_in, result.values()))


def _unknown(text: str, surface: str) -> list[str]:
    """List what a skill names and its surface's tools, their arguments and answers, and the commands do not have."""
    (found,) = load_surfaces([surface])
    tools = {tool.name: tool for tool in found.tools}
    spans = re.findall(r"`([^`]+)`", text)
    models = [model for name in spans if name in tools for model in (tools[name].request, tools[name].response)]
    known = {*tools, *FORCE, surface}.union(*(_names_in(each.model_json_schema()) for each in models))
    commands = re.split(r"^#+ `(.+)`$", (ROOT / "docs" / "cli.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    sections, section = dict(zip(commands[1::2], commands[2::2], strict=True)), ""
    unknown: list[str] = []
    for span in spans:
        words = re.findall(r"^[a-z-]+(?: [a-z]+)*(?=$| [A-Z-])", span) if not span.startswith("--") else []
        if words and words[0] in sections:
            section = sections[words[0]]
        elif not span.startswith("--") and not known.issuperset(span.split(".")):
            unknown.append(span)
        unknown += [option for option in re.findall(r"--[a-z-]+", span) if f"`{option}" not in section]
    return unknown


@pytest.mark.parametrize("surface", SURFACES)
def test_a_skill_names_nothing_that_is_not_there(surface: str) -> None:
    assert {name: _unknown(skill_text(name), surface) for name in SKILLS[surface]} == {
        name: [] for name in SKILLS[surface]
    }


def test_what_is_not_there_is_found_in_a_skill() -> None:
    text = "`knowledge_serach` `knowledge_trace` `gaps` `gasp` `knowledge trace FROM TO --json` `--htlm x`"
    assert _unknown(f"{text} `knowledge tarce`", "standards") == [
        "knowledge_serach",
        "gasp",
        "--htlm",
        "knowledge tarce",
    ]


def test_the_plugin_has_the_same_skills() -> None:
    there = {path.parent.name: path.read_text() for path in (ROOT / "plugin" / "skills").glob("*/SKILL.md")}
    assert there == {name: skill_text(name) for names in SKILLS.values() for name in names}
