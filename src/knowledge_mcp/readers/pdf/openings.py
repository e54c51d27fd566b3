"""How a line begins that opens something: a list item, a note, an example, a caption, a footnote."""

from __future__ import annotations

import re
from dataclasses import dataclass

from knowledge_mcp.model.document import BlockKind

__all__ = ["Opening", "opening_of"]

# Symbol fonts put their bullets into the private use area.
_BULLET = re.compile("(?P<marker>[•‣◦▪■□●○◆◇➢➤✓–—*\u00b7\uf000-\uf0ff]|[-o](?=\\s))\\s*(?P<rest>.*)", re.DOTALL)
_ORDERED = re.compile(
    r"(?P<marker>\([a-z]{1,2}\)|\([ivx]{1,5}\)|\(\d{1,2}\)|[a-z]{1,2}\)|[ivx]{1,5}\)|[A-Z]\)|\d{1,2}[.)]|[a-z]\.)\s+"
    r"(?P<rest>\S.*)",
    re.DOTALL,
)
_NOTE = re.compile(
    r"(?P<marker>(?P<word>NOTES?|Notes?|EXAMPLES?|Examples?)(?:\s+\d{1,3})?(?:\s+to entry)?)"
    r"(?P<stop>\s*[:.—–]\s*|\s+[-–—]\s+|\s+|$)"
)
_CAPTION = re.compile(
    r"(?P<marker>(?:Table|Figure|Fig\.|TABLE|FIGURE|Listing|Exhibit)\s*[A-Z]?[.-]?\d+(?:[.-]\d+)*[a-z]?)"
    r"(?P<stop>\s*[:.—–|]\s*|\s+[-–—]\s+|\s+|$)(?P<rest>.*)",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Opening:
    """Tell what a line opens, with its marker; `sure` is False where running text could begin so as well."""

    kind: BlockKind
    marker: str
    sure: bool = True


def opening_of(text: str) -> Opening | None:
    """Read how a line begins; None where it opens nothing special."""
    if match := _BULLET.match(text):
        marker = match["marker"]
        dash = marker in "–—-*o·"
        if dash and text[len(marker) : len(marker) + 1] not in {" ", ""}:
            return None
        return Opening(BlockKind.LIST_ITEM, marker, sure=not dash)
    if match := _ORDERED.match(text):
        return Opening(BlockKind.LIST_ITEM, match["marker"], sure=match["marker"][0] == "(")
    return (_note(text) if text[:1] in "NE" else None) or (_caption(text) if text[:1] in "TFLE" else None)


def _note(text: str) -> Opening | None:
    match = _NOTE.match(text)
    if match is None:
        return None
    word, marker, stop = match["word"], match["marker"], match["stop"].strip()
    if not (stop or word.isupper() or "to entry" in marker or (marker == text.strip() and word != marker)):
        return None
    kind = BlockKind.NOTE if word.lower().startswith("note") else BlockKind.EXAMPLE
    return Opening(kind, marker)


def _caption(text: str) -> Opening | None:
    """Tell "Table 3 - Limits" and "Figure 2 Overview" from "Table 3 shows"."""
    match = _CAPTION.match(text)
    if match is None:
        return None
    rest = match["rest"]
    if not match["stop"].strip() and rest and not (rest[0].isupper() or rest[0].isdigit() or rest[0] in "(["):
        return None
    return Opening(BlockKind.CAPTION, match["marker"], sure=bool(match["stop"].strip()) or not rest)
