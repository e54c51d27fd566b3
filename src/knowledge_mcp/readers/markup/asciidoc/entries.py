"""Entries of terms clauses as Metanorma writes them: further terms as macros, and the source as a marked paragraph."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NAME = re.compile(r"(?P<kind>alt|admitted|preferred|deprecated|domain):\[(?P<words>[^\[\]]{1,300})\]\s*")
_PRINTED = {"deprecated": "DEPRECATED: {}", "domain": "<{}>"}
_CROSS = re.compile(r"<<(?P<name>[^<>,]{1,200}),(?P<place>[^<>]{1,200})>>")


def printed_entry(lines: Sequence[str], role: str) -> list[tuple[str, str]]:
    """Return the paragraphs that are printed for the lines of one, each with its first line; empty for other text.

    Lines that each name a term are a paragraph each. The source of an entry has the role `source`.
    """
    if role == "source":
        words = _CROSS.sub(r"<<\g<name>>>, \g<place>", " ".join(line.strip() for line in lines))
        return [(lines[0], f"[SOURCE: {words}]")]
    found = [(line, _NAME.fullmatch(line.strip())) for line in lines]
    if any(name is None for _, name in found):
        return []
    return [(line, _PRINTED.get(name["kind"], "{}").format(name["words"])) for line, name in found if name is not None]
