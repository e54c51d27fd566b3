"""Keep an answer within what an assistant can read: fewer results and a note, never a flood.

Hosts cut or refuse tool results beyond roughly 25,000 tokens, some of them silently; so we cut first, and say so.
"""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic import BaseModel, Field

__all__ = ["MAX_ANSWER_CHARACTERS", "Truncation", "compact", "shorten"]

MAX_ANSWER_CHARACTERS = 96_000
"""Most characters of an answer's JSON, about 24,000 tokens at four characters each; links come on top."""

_NOTE = "The answer was cut to fit; ask for fewer results, or read a result's uri, to see the rest."
_RESERVE = 400


class Truncation(BaseModel):
    """Tell that an answer was cut, and by how much."""

    omitted: int = Field(description="Results left out at the end of the list.")
    note: str


def compact(payload: Any) -> str:
    """Write JSON without a blank more than it needs, in UTF-8 characters rather than escapes."""
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def shorten(payload: dict[str, Any], items: str, limit: int = MAX_ANSWER_CHARACTERS) -> dict[str, Any]:
    """Drop results from the end until the answer's JSON has at most `limit` characters.

    At least one result is kept, its longest text cut where it alone is too long. `total`, where there is one, counts
    what is left; `truncated` says what went. `items` names the list; without one the answer is returned as it is.
    """
    if not items or len(compact(payload)) <= limit:
        return payload
    results = cast("list[dict[str, Any]]", payload.get(items, []))
    room = limit - _RESERVE - len(compact({**payload, items: []}))
    kept: list[dict[str, Any]] = []
    for result in results:
        room -= len(compact(result)) + 1
        if room < 0:
            break
        kept.append(result)
    if not kept and results:
        kept = [_cut_longest_text(results[0], len(compact(results[0])) + room)]
    shortened = {**payload, items: kept}
    if "total" in payload:
        shortened["total"] = len(kept)
    shortened["truncated"] = Truncation(omitted=len(results) - len(kept), note=_NOTE).model_dump()
    return shortened


def _cut_longest_text(result: dict[str, Any], room: int) -> dict[str, Any]:
    texts = {key: value for key, value in result.items() if isinstance(value, str)}
    longest = max(texts, key=lambda key: len(texts[key]))
    over = len(compact(result)) - max(room, 0)
    # Each character of text takes at least one of JSON, so that cutting `over` of them is always enough.
    return {**result, longest: texts[longest][: max(len(texts[longest]) - over - 1, 0)] + "…"}
