"""Write docs/tools.md from the surfaces themselves, and the lists that the MCP server sends before it loads them.

`python -m tools.generate_tool_docs` writes both; a test holds them to what this makes of the surfaces.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from knowledge_mcp import registry
from knowledge_mcp.surfaces.arguments import input_schema, output_schema
from knowledge_mcp.surfaces.contract import Surface, Tool, load_surfaces
from knowledge_mcp.transports.mcp.listing import LISTING, build_listing

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "tools.md"
LISTS = ROOT / "src" / "knowledge_mcp" / "transports" / "mcp" / LISTING

HEAD = """\
<!-- Written by tools/generate_tool_docs.py; edit the surfaces, not this page. -->

# Tools, resources and prompts

The tools, resources and prompts of each surface. Choose surfaces with `knowledge-mcp --surface NAME[,NAME]`. Tools that
change stored data are marked; all others only read. Types are strict: text for a number, 1 for a boolean, JSON text for
a list, and unknown arguments are errors, and the message suggests the closest name. `null` counts as omitted if the
argument has no default.

An answer is JSON, as text for the assistant and as structured content for programs, and matches the tool's published
output schema. A field marked *optional* is present only if it has a value. Answers have at most about 25,000 tokens
(estimated, for any script): results are omitted at the end, and `truncated` says how many. `convert_to_text` and
`get_document_text` are exceptions: they return the full text unless `max_chars` is passed. The first results are also
linked as resources.

A failure is a result with `isError` and `{"error": {"code", "message", "details", "recoverable", "suggestion"}}`, in
both text and structured content; on the surface `planning` it is `{"status": "error", "error_type", "message"}` with
further fields. Codes: `config_error`, `connection_error`, `timeout_error`, `auth_error`, `not_found`, `invalid_input`,
`rate_limited`, `internal_error`. An unknown tool, prompt or resource, and invalid arguments of a prompt, are protocol
errors (-32602) with the same object in `data`.
"""

BOUNDS = (
    ("minLength", "maxLength", " characters"),
    ("minItems", "maxItems", " items"),
    ("minimum", "maximum", ""),
)
PARTS = """\
A text of more than 200,000 characters is read in parts: the metadata's `next_uri` is the address of the next part,
which ends in `?start=N`.
"""


def tools_page() -> str:
    """Write the page."""
    lines = [HEAD]
    for surface in load_surfaces(list(registry.SURFACES)):
        lines.append(f"## Surface `{surface.name}`\n")
        for tool in surface.tools:
            lines.extend(_tool(tool, surface))
        lines.extend(_resources(surface))
        lines.extend(_prompts(surface))
    return "\n".join(lines).rstrip() + "\n"


def _tool(tool: Tool, surface: Surface) -> Iterator[str]:
    yield f"### `{tool.name}`\n"
    yield f"{tool.description}\n"
    if tool.writes:
        yield f"*{'Deletes stored data' if tool.destroys else 'Changes stored data'}.*\n"
    asked = input_schema(tool.request, whole=True)
    if asked["properties"]:
        yield "| Argument | Type | Allowed | Default | |"
        yield "|---|---|---|---|---|"
        for name, field in asked["properties"].items():
            default = "required" if name in asked.get("required", []) else f"`{json.dumps(field.get('default'))}`"
            yield f"| `{name}` | {_type(field)} | {_allowed(field)} | {default} | {field['description']} |"
    else:
        yield "No arguments."
    yield "\nAnswer:\n"
    yield from _fields(output_schema(tool.response, surface.error_model, whole=True)["anyOf"][0], "")
    yield ""


def _fields(schema: dict[str, Any], indent: str) -> Iterator[str]:
    for name, field in schema.get("properties", {}).items():
        optional = "" if name in schema.get("required", []) else ", *optional*"
        words = f": {field['description']}" if "description" in field else ""
        yield f"{indent}- `{name}` ({_type(field)}{optional}){words}"
        yield from _fields(field.get("items", field) if field.get("type") == "array" else field, indent + "  ")


def _type(field: dict[str, Any]) -> str:
    if "anyOf" in field:
        return " or ".join(_type(variant) for variant in field["anyOf"])
    if "enum" in field:
        return "one of " + ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("type", "any"))


def _allowed(field: dict[str, Any]) -> str:
    for least, most, unit in BOUNDS:
        if least in field:
            return f"{field[least]:g} to {field[most]:g}{unit}"
    return ""


def _resources(surface: Surface) -> Iterator[str]:
    if surface.resources:
        yield "### Resources\n"
        for resource in surface.resources:
            yield f"- `{resource.uri}` ({resource.media_type}): {resource.description}"
        yield f"\n{PARTS}"


def _prompts(surface: Surface) -> Iterator[str]:
    if surface.prompts:
        yield "### Prompts\n"
        for prompt in surface.prompts:
            arguments = ", ".join(f"`{each.name}`{'' if each.required else ' (optional)'}" for each in prompt.arguments)
            yield f"- `{prompt.name}`: {prompt.description} Arguments: {arguments}."
        yield ""


def tool_lists() -> str:
    """Write the lists of all surfaces as JSON."""
    lists = {surface.name: build_listing(surface).contents for surface in load_surfaces(list(registry.SURFACES))}
    return json.dumps(lists, ensure_ascii=False, indent=1) + "\n"


def main() -> int:
    """Write the page and the lists."""
    PAGE.write_text(tools_page(), encoding="utf-8")
    LISTS.write_text(tool_lists(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
