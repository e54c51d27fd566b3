"""What a client gets of the surfaces before its first call: instructions, tools, prompts and resources.

Building schemas from models, and importing what the tools need, take longer than the rest of a start. Therefore the
lists are in `listing.json`: `python -m tools.generate_tool_docs` writes it, and a test compares it with the surfaces.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Any

from mcp import types
from pydantic import BaseModel

from knowledge_mcp.surfaces.contract import Prompt, Resource, Surface, Tool, known_surfaces

LISTING = "listing.json"
VIEW = "ui://knowledge/view"
"""Address of our page for clients that show pages in the chat (MCP Apps)."""


class Listing:
    """The lists of one surface, as they are sent.

    Args:
        name: name of the surface.
        contents: its `instructions`, and the lists `tools`, `prompts`, `resources` and `templates`.
    """

    def __init__(self, name: str, contents: Mapping[str, Any]) -> None:
        self.name = name
        self.contents = contents

    @property
    def instructions(self) -> str:
        """Return the text that says when to use which tool."""
        return self.contents["instructions"]

    def tools(self) -> list[types.Tool]:
        """List the tools."""
        return [types.Tool.model_validate(each) for each in self.contents["tools"]]

    def prompts(self) -> list[types.Prompt]:
        """List the prompts."""
        return [types.Prompt.model_validate(each) for each in self.contents["prompts"]]

    def resources(self) -> list[types.Resource]:
        """List the addresses without a parameter."""
        return [types.Resource.model_validate(each) for each in self.contents["resources"]]

    def templates(self) -> list[types.ResourceTemplate]:
        """List the address templates with a parameter."""
        return [types.ResourceTemplate.model_validate(each) for each in self.contents["templates"]]


def read_listings(names: Sequence[str]) -> list[Listing]:
    """Read the lists of some surfaces; cached.

    Raises:
        ConfigError: as for `load_surfaces`.
    """
    found = json.loads(files(__package__ or "").joinpath(LISTING).read_bytes())
    return [Listing(name, found[name]) for name in known_surfaces(names)]


def build_listing(surface: Surface) -> Listing:
    """Build the lists of a surface from its models."""
    contents = {
        "instructions": surface.instructions,
        "tools": _sent(_tool(surface, tool) for tool in surface.tools),
        "prompts": _sent(map(_prompt, surface.prompts)),
        "resources": _sent(
            types.Resource(uri=each.uri, **_description(each)) for each in surface.resources if not each.parameter
        ),
        "templates": _sent(
            types.ResourceTemplate(uri_template=each.uri, **_description(each))
            for each in surface.resources
            if each.parameter
        ),
    }
    return Listing(surface.name, contents)


def _sent(models: Iterable[BaseModel]) -> list[dict[str, Any]]:
    return [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in models]


def _tool(surface: Surface, tool: Tool) -> types.Tool:
    from knowledge_mcp.surfaces.arguments import input_schema, output_schema

    # defaults of the protocol for read-only tools are left out: each assistant pays for the list
    hints: dict[str, Any] = {"destructive_hint": tool.destroys, "idempotent_hint": True} if tool.writes else {}
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.request),
        output_schema=output_schema(tool.response, surface.error_model),
        annotations=types.ToolAnnotations(read_only_hint=not tool.writes, open_world_hint=False, **hints),
        _meta={"ui": {"resourceUri": VIEW}} if tool.view else None,
    )


def _prompt(prompt: Prompt) -> types.Prompt:
    arguments = [
        types.PromptArgument(name=argument.name, description=argument.description, required=argument.required)
        for argument in prompt.arguments
    ]
    return types.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=arguments)


def _description(resource: Resource) -> dict[str, Any]:
    return {
        "name": resource.name,
        "title": resource.title,
        "description": resource.description,
        "mime_type": resource.media_type,
    }
