"""Names of places in AsciiDoc: anchors, identifiers in running text, and those that are made from titles."""

from __future__ import annotations

import re

ANCHOR = re.compile(r"\[\[(?P<id>[^\[\],]{1,200})(?:,[^\[\]]{0,500})?\]\]")
"""A name in double brackets, alone on a line or in text."""
_INLINE_ID = re.compile(rf"{ANCHOR.pattern}|\[#(?P<marked>[\w:-]{{1,200}})[^\[\]]{{0,100}}\](?=[#*_`])")


def auto_name(title: str) -> str:
    """Return the name that AsciiDoc generates for a section from its title."""
    return "_" + re.sub(r"[ .-]+", "_", re.sub(r"[^\w .-]", "", title.lower())).strip("_")


def ids_in(text: str) -> list[str]:
    """List the names of places within a text."""
    return [(found["id"] or found["marked"]).strip() for found in _INLINE_ID.finditer(text)]
