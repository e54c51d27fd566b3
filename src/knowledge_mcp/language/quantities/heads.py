"""Units in the headers of table columns, and numbers alone in cells."""

from __future__ import annotations

import re

from knowledge_mcp.language.quantities.units import is_physical, unit_behind

EACH = (
    r"(?:\s(?:per|je|pro|par|por)\s(?!(?:hour|day|week|month|year|minute|second|Stunde|Tag|Jahr|heure|jour|an|hora|día|año)\b)"
    r"[^\s()\[\]]{1,20})?"
)
"""What may follow a unit: "per person"."""
_UNITS = (
    re.compile(r"(?P<name>l)/(?P<unit>[cm]?m)"),
    re.compile(rf"(?P<name>\S.{{0,80}}?)(?:,?\s(?:in|/)\s|,\s?)(?P<unit>[^\s()\[\]]{{1,10}}(?:\(\w\))?{EACH})"),
    re.compile(rf"(?P<name>\S.{{0,80}}?)\s(?P<unit>(?:(?!min\b)[^\s()\[\]]{{2,10}}|[%‰])(?:\(\w\))?{EACH})"),
    re.compile(r"(?P<name>[^(\[]{2,80}?),?\s?[(\[](?:in )?(?P<unit>[^()\[\]]{1,24}(?:\(\w\))?)[)\]]"),
    re.compile(r"(?P<name>[^(\[/]{0,80}[^\W\d_])/(?P<unit>[^\s()\[\]/]{1,8})"),
)
"""Headers with units: "l/mm", a length; "Width, mm", "Breite in mm"; "Flow m³/h je Person"; "Width (mm)"; "U/V"."""
_FIGURE = re.compile(r"[<>≤≥±~+−-]{0,2}\s?\d[\d.,  /½¼¾]{0,20}")


def named_unit(head: str) -> tuple[str, str] | None:
    """Split a column header from its unit; the name is empty if the header is only a unit, such as "m³/h"."""
    if re.search(r"[/°%]", head) and is_unit(head) and not _UNITS[0].fullmatch(head):
        return "", head
    found = (match for pattern in _UNITS if (match := pattern.fullmatch(head)) and is_unit(match["unit"]))
    return next(((match["name"].rstrip(" ,"), match["unit"]) for match in found), None)


def is_figure(words: str) -> bool:
    """Return whether a cell contains only a number."""
    return _FIGURE.fullmatch(words) is not None


def is_unit(words: str) -> bool:
    """Return whether words are a physical unit: "mm", "l/s per person"."""
    unit = unit_behind(f"1 {words}", 1)
    return is_physical(unit.base) and re.fullmatch(EACH, words[unit.end - 2 :]) is not None
