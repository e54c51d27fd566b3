"""What the result of a tool call says, as a client reads it."""

from __future__ import annotations

import json
from typing import Any

from mcp.types import TextContent


def text_of(result: Any) -> str:
    """Return the first content block's text."""
    first = result.content[0]
    assert isinstance(first, TextContent)
    return first.text


def payload(result: Any) -> dict[str, Any]:
    """Return a result's JSON text, which its structured twin must equal."""
    answer: dict[str, Any] = json.loads(text_of(result))
    assert result.structured_content == answer
    return answer
