"""Keep an answer within what an assistant can read: fewer results and a note, never a flood.

Hosts cut or refuse tool results beyond roughly 25,000 tokens, some of them silently; so we cut first, and say so.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, cast

from pydantic import BaseModel, Field

__all__ = ["MAX_ANSWER_CHARACTERS", "ROOM_FOR_RESULTS", "Truncation", "compact", "fitting_count", "shorten"]

MAX_ANSWER_CHARACTERS = 96_000
"""Most characters of an answer's JSON, about 24,000 tokens at four characters each; links come on top."""

ROOM_FOR_RESULTS = MAX_ANSWER_CHARACTERS - 4_000
"""Characters of JSON that results may have together where an answer says itself how to go on."""

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
    kept = results[: fitting_count(results, room)]
    if not kept and results:
        kept = [_cut_longest_text(results[0], room - 1)]
    shortened = {**payload, items: kept}
    if "total" in payload:
        shortened["total"] = len(kept)
    shortened["truncated"] = Truncation(omitted=len(results) - len(kept), note=_NOTE).model_dump()
    return shortened


def fitting_count(results: Sequence[Any], room: int) -> int:
    """Count the results from the first on whose JSON has at most `room` characters together."""
    for place, result in enumerate(results):
        room -= len(compact(result)) + 1
        if room < 0:
            return place
    return len(results)


def _cut_longest_text(result: dict[str, Any], room: int) -> dict[str, Any]:
    texts = {key: value for key, value in result.items() if isinstance(value, str)}
    longest = max(texts, key=lambda key: len(texts[key]))
    over = len(compact(result)) - max(room, 0)
    # Each character of text takes at least one of JSON, so that cutting `over` of them is always enough.
    return {**result, longest: texts[longest][: max(len(texts[longest]) - over - 1, 0)] + "…"}
