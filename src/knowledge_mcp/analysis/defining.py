"""What tells a definition from other text under a heading or behind a colon: its first sentence."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.model.chunk import Definition

__all__ = ["is_defining", "is_meaning", "without_pointers"]

_FIRST = re.compile(r".{1,400}?(?:[.;](?=\s|\Z)|:(?=\s)|\Z)", re.DOTALL)
_COPULA = (
    r"(?:(?:is|are|was)(?!\s+(?:used|spread|listed|given|available|required|not)\b)|means?|refers?|denotes?|describes?|designates?|represents?|specif(?:y|ies)|formally|indicates?"
    r"|consists?|comprises?|includes?|stands?|provides?|allows?|enables?|can\s+be\s+(?:defined|described)|shall\s+mean)"
)
_FINITE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|does|do|can|cannot|could|may|might|must|should|shall|will|would|SHOULD|MUST|SHALL|MAY"
    r"|interprets?|deems?|requires?|contains?|uses?|applies|apply|allows?|describes?|defines?)\b"
)
_RELATIVE = re.compile(r"\b(?:that|which|who|whom|whose|where|when|whereby|in\s+order\s+to)\b|[,(]")
_OPENING = re.compile(
    r"\W*(?:in\s+[^,.]{3,60},\s*|when\s+[^,.]{3,40},\s*|for\s+the\s+purposes?\s+of[^,.]{3,60},\s*)?(?:(?:the|an?|each|any)\s+)?"
    r"(?:(?:words?|terms?|phrase|concept\s+of)\s+)?\W*",
    re.IGNORECASE,
)
_CALLED = r"(?:called|termed|known\s+as|named|referred\s+to\s+as|said\s+to\s+be)\s+(?:an?\s+|the\s+)?\W*"
_POINTER = re.compile(
    r"\W*(?:see|see\s+also|same\s+as|synonym\s+(?:for|of))\s+(?P<term>[^.;]{2,80}?)\W*\Z", re.IGNORECASE
)
_LONGEST_POINTER = 300
_LINK = re.compile(r"(?:#\S*|<?https?://\S+|\S+\.(?:md|html?|xml|json)\S*)\Z")
_WORDS = re.compile(r"[^\W_]{2}")


def is_meaning(words: str) -> bool:
    """Tell whether what stands behind a term can be a meaning at all: words, not a sign, a number or a link."""
    return _WORDS.search(words) is not None and _LINK.match(words.strip()) is None


def is_defining(term: str, words: str) -> bool:
    """Tell whether the first sentence defines the term.

    It says what the term is or means ("A pump is ...", "... are called pumps"), or it is no full sentence but what one
    could put in the term's place ("machine that moves water").
    """
    match = _FIRST.match(words.strip())
    first = match.group() if match else ""
    if first[:1].islower():
        return True
    name = r"[\s-]+".join(
        re.escape(part.rstrip("s")) + r"\w{0,2}" for part in re.split(r"[\s-]+", term.strip()) if part
    )
    opening = _OPENING.match(first)
    begin = opening.end() if opening else 0
    if re.compile(rf"{name}\W*(?:\([^)]*\)\W*)?{_COPULA}\b", re.IGNORECASE).match(first, begin):
        return True
    if re.search(rf"{_CALLED}{name}|[\"“‘]{name}[\"”’]", first, re.IGNORECASE):
        return True
    finite = _FINITE.search(first)
    relative = _RELATIVE.search(first)
    return finite is None or (relative is not None and relative.start() < finite.start() and first[0] != "I")


def without_pointers(definitions: Sequence[Definition]) -> list[Definition]:
    """Turn entries that only point at another ("See database.") into other names of that one, where it is defined."""
    by_name = {each.term.casefold(): each for each in definitions}
    pointers: dict[int, str] = {}
    targets = [_pointed_at(each.text) for each in definitions]
    pointing = {id(each) for each, target in zip(definitions, targets, strict=True) if target is not None}
    for place, (each, target) in enumerate(zip(definitions, targets, strict=True)):
        if target in by_name and id(by_name[target]) not in pointing and target != each.term.casefold():
            pointers[place] = target
    more: dict[str, list[str]] = {}
    for place, target in pointers.items():
        more.setdefault(target, []).append(definitions[place].term)
    return [
        replace(each, aliases=tuple(dict.fromkeys((*each.aliases, *more.get(each.term.casefold(), ())))))
        if by_name[each.term.casefold()] is each
        else each
        for place, each in enumerate(definitions)
        if place not in pointers
    ]


def _pointed_at(words: str) -> str | None:
    """Return the term that a meaning only points at, folded for comparison; None where it says more."""
    match = _POINTER.match(words) if len(words) <= _LONGEST_POINTER else None
    return match.group("term").strip("\"“”'‘’ ").casefold() if match else None
