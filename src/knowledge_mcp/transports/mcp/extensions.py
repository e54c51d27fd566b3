"""MCP extensions: skills (SEP-2640), and the page that clients with MCP Apps (SEP-1865) show.

A skill explains how to work with these tools, as a resource that a client lists, checks and reads. The plugin uses the
same texts; `tools/publishing.py` copies them there.

The page shows the text that was read with its page and the passage marked, and changes between editions as deleted and
inserted text. Other clients miss nothing: the answers are the same, and `picture` of `knowledge_read` returns the page
as an image.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from mcp import MCPError, types
from mcp.server.apps import Apps
from mcp.server.extension import Extension, MethodBinding, ResourceBinding
from mcp.server.mcpserver.resources import TextResource

from knowledge_mcp.transports.mcp.listing import VIEW

SKILLS = {
    "standards": ("answer-with-evidence", "edition-review", "find-requirements", "gap-analysis"),
    "repositories": ("code-by-behaviour",),
}
"""The skills of each surface, which name its tools."""

_CACHE_MS = 3_600_000
"""A client may cache the list for an hour: it changes only with the version, and is checked by its digests."""


class _Get(types.RequestParams):
    """The parameters of a request for one skill."""

    uri: str


@cache
def skill_text(name: str) -> str:
    """Read a skill: two lines of front matter between rules, then Markdown."""
    return files("knowledge_mcp.transports.mcp").joinpath("skills", f"{name}.md").read_text(encoding="utf-8")


class SkillsExtension(Extension):
    """Serve the skills of some surfaces.

    Args:
        surfaces: their names.
    """

    identifier = "io.modelcontextprotocol/skills"

    def __init__(self, surfaces: Sequence[str]) -> None:
        names = [name for surface in surfaces for name in SKILLS.get(surface, ())]
        self._skills = {f"skill://{name}/SKILL.md": skill_text(name) for name in names}

    def resources(self) -> Sequence[ResourceBinding]:
        """Return the texts as resources."""
        found: list[ResourceBinding] = []
        for uri, text in self._skills.items():
            header = _frontmatter(text)
            fields = {"name": header["name"], "description": header["description"]}
            resource = TextResource.model_validate({"uri": uri, "mime_type": "text/markdown", "text": text, **fields})
            found.append(ResourceBinding(resource))
        return found

    def methods(self) -> Sequence[MethodBinding]:
        """Return the protocol methods that the extension adds."""
        return [
            MethodBinding("skills/list", types.PaginatedRequestParams, self._list),
            MethodBinding("skills/get", _Get, self._get),
        ]

    async def _list(self, _context: Any, _params: types.PaginatedRequestParams) -> dict[str, Any]:
        return _complete(skills=[_entry(uri, text) for uri, text in self._skills.items()])

    async def _get(self, _context: Any, params: _Get) -> dict[str, Any]:
        if params.uri not in self._skills:
            raise MCPError(types.INVALID_PARAMS, f"There is no skill {params.uri[:200]}.")
        return _complete(skill=_entry(params.uri, self._skills[params.uri]))


def _frontmatter(text: str) -> dict[str, str]:
    lines = text.split("---\n", 2)[1].splitlines()
    return {key: value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _entry(uri: str, text: str) -> dict[str, Any]:
    content = text.encode()
    file = {"uri": uri, "digest": f"sha256:{hashlib.sha256(content).hexdigest()}", "size": len(content)}
    return {"uri": uri, "frontmatter": _frontmatter(text), "resources": [file]}


def _complete(**fields: Any) -> dict[str, Any]:
    return {"resultType": "complete", **fields, "ttlMs": _CACHE_MS, "cacheScope": "public"}


def view_page() -> str:
    """Read the page: self-contained HTML that gets its data from the client that shows it."""
    return files("knowledge_mcp.transports.mcp").joinpath("view.html").read_text(encoding="utf-8")


def view_extension() -> Apps:
    """Serve the page; it connects to no address and requests no permissions."""
    apps = Apps()
    apps.add_html_resource(
        VIEW,
        view_page(),
        name="view",
        title="Knowledge",
        description="Shows answers of knowledge_read and knowledge_changes in the chat.",
        prefers_border=True,
    )
    return apps
