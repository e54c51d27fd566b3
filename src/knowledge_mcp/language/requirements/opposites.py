"""Pairs of opposite words; a demand with one excludes the other, unless the word says which things are meant."""

from __future__ import annotations

import re

from knowledge_mcp.language.multilingual.recognition import is_function_word

OPPOSITES = {
    frozenset(pair.split())
    for pair in (
        "enable disable/enabled disabled/open closed/open close/opened closed/on off/start stop/increase decrease"
        "/allow deny/allow prevent/allowed forbidden/accept reject/permit deny/permit prohibit/before after"
        "/minimum maximum/above below/internal external/manual automatic/manually automatically/encrypted unencrypted"
        "/locked unlocked/lock unlock/include exclude/always never/with without/synchronous asynchronous"
        "/ascending descending/visible hidden/show hide/mandatory optional/online offline/active inactive"
        "/public private/horizontal vertical/parallel perpendicular/inward outward/inwards outwards"
        "/upwards downwards/clockwise anticlockwise/clockwise counterclockwise/ac dc"
    ).split("/")
}
_KINDS = frozenset("internal external public private".split())
"""Adjectives that tell things apart wherever they stand before a noun."""
_ADJECTIVES = _KINDS | frozenset(
    "manual automatic encrypted unencrypted locked unlocked synchronous asynchronous ascending descending visible"
    " hidden mandatory optional online offline active inactive horizontal vertical parallel perpendicular inward"
    " outward minimum maximum enabled disabled opened closed ac dc".split()
)


def tells_apart(word: str, text: str, begun: int) -> bool:
    """Return whether one of two opposite words only says which thing is meant: "internal scans are run each month".

    It does before the first word of force; if there is none, as an adjective before a noun or as a label, "Public:".

    Args:
        word: in lower case.
        text: of the sentence.
        begun: where its first word of force ends; 0 if it has none.
    """
    for found in re.finditer(rf"\b{word}\b(?:\s{{1,3}}(?P<next>[^\W\d_]{{1,40}})|(?P<label>:))?", text, re.IGNORECASE):
        is_before_noun = found["next"] is not None and not is_function_word(found["next"])
        is_kind = (is_before_noun or found["label"]) and word in (_KINDS if begun else _ADJECTIVES)
        if found.start() >= begun and not is_kind:
            return False
    return True
