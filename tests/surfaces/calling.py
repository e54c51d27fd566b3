"""Call a tool as a transport does."""

from __future__ import annotations

from typing import Any

import jsonschema

from knowledge_mcp.model.call import Call
from knowledge_mcp.surfaces.arguments import output_schema, parse
from knowledge_mcp.surfaces.contract import Surface


def answer_of(
    surface: Surface, name: str, service: Any, call: Call | None = None, /, **arguments: Any
) -> dict[str, Any]:
    """Call a tool, and return exactly what would be sent, checked against the tool's schema."""
    tool = next(each for each in surface.tools if each.name == name)
    answer = tool.answer(service, parse(tool.request, arguments), call or Call()).sent()
    jsonschema.validate(answer, output_schema(tool.response, surface.error_model, whole=True))
    return answer
