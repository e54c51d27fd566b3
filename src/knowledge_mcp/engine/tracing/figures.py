"""Figures in cells of tables, with the units that stand above or behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS
from knowledge_mcp.language.quantities.bounds import NAMED, Bound
from knowledge_mcp.language.quantities.reading import DENIED, limits_in
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
"""Heads with their units: "l/mm", a length; "Width, mm", "Breite in mm"; "Flow m³/h je Person"; "Width (mm)"; "U/V"."""
_OF_UNITS = re.compile(r"(?:units?|einheit|unité|unidade?|unità|dim)\b", re.IGNORECASE)
"""Heads of columns of units; elsewhere one letter is a name."""
_FIGURE = re.compile(r"[<>≤≥±~+−-]{0,2}\s?\d[\d.,  /½¼¾]{0,20}")


def _named_unit(head: str) -> tuple[str, str] | None:
    """Part a head of a column from its unit; the name is empty where the head is a unit alone, as "m³/h" is."""
    if re.search(r"[/°%]", head) and is_unit(head) and not _UNITS[0].fullmatch(head):
        return "", head
    found = (match for pattern in _UNITS if (match := pattern.fullmatch(head)) and is_unit(match["unit"]))
    return next(((match["name"].rstrip(" ,"), match["unit"]) for match in found), None)


def measured_below(above: str, cell: str) -> tuple[str, str] | None:
    """Read a number below a head with a unit: "Width (mm)" above "800" is ("Width", "800 mm"); None for all else."""
    named = _named_unit(above) if is_figure(cell) else None
    return None if named is None else (named[0], f"{cell} {named[1]}")


def row_said(heads: Sequence[str], cells: Sequence[str]) -> str:
    """Say a row with what stands above its cells: "Room: Theatre; Minimum flow: 30 m³/h".

    A number has the unit that stands above it, in a cell of its own ("Flow | m³/h | 30"), or with the name that the
    row begins with: "Flow, m³/h | 30 | 20" below "Theatre" and "Office" is "Flow (Theatre): 30 m³/h; Flow (Office): …".
    """
    pairs = list(zip_longest(heads, cells, fillvalue=""))
    unit = _unit_in(pairs[1:])
    led = None if unit or not cells else _named_unit(cells[0])
    if led is not None and any(map(is_figure, cells[1:])):
        return "; ".join(
            _said(f"{led[0]} ({above})" if above else led[0], cell, led[1]) for above, cell in pairs[1:] if cell
        )
    return "; ".join(_said(above, cell, unit) for above, cell in pairs if cell and cell != unit)


def _unit_in(row: Sequence[tuple[str, str]]) -> str:
    """Return the unit that has a cell of its own, empty where none has."""
    return next((cell for above, cell in row if is_unit(cell) and (len(cell) > 1 or _OF_UNITS.match(above))), "")


def _said(above: str, cell: str, unit: str) -> str:
    if (measured := measured_below(above, cell)) is not None:
        return ": ".join(filter(None, measured))
    said = f"{cell} {unit}" if unit and is_figure(cell) else cell
    return f"{above}: {said}" if above else said


def completed(words: str, row: Sequence[tuple[str, str]]) -> str:
    """Complete a sentence that goes on in the next columns: "The width shall be at least", "800", "mm".

    A least and a most that stand in columns of their own follow it whatever it ends with.

    Args:
        words: the sentence, as its cell has it.
        row: what stands above each of the cells behind it, and what it says.

    Returns:
        The sentence with its figure, "The width shall be at least 800 mm"; as it was where it has an end of its own.
    """
    if bounds := _bounds(row):
        return words if DENIED.search(words) else f"{words} {'; '.join(bounds)}"
    for place, (above, cell) in enumerate(row):
        if not is_figure(cell):
            continue
        behind = row[place + 1][1] if place + 1 < len(row) else ""
        measured = measured_below(above, cell) or (("", f"{cell} {behind}") if is_unit(behind) else None)
        whole = f"{words} {measured[1]}" if measured is not None else words
        return whole if whole != words and _goes_on(words, whole) else words
    return words


def _bounds(row: Sequence[tuple[str, str]]) -> list[str]:
    """Say the cells below "Min" and "Max" with their unit: "Min: 10 bar"; it may have a column of its own."""
    unit = _unit_in(row)
    found: list[str] = []
    for above, cell in row:
        if is_figure(cell) and NAMED.match(above):
            name, value = measured_below(above, cell) or (above, f"{cell} {unit}".strip())
            found.append(f"{name}: {value}")
    return found


def is_figure(words: str) -> bool:
    """Tell whether a cell holds a number alone."""
    return _FIGURE.fullmatch(words) is not None


def is_unit(words: str) -> bool:
    """Tell whether words are a unit that measures something: "mm", "l/s per person"."""
    unit = unit_behind(f"1 {words}", 1)
    return is_physical(unit.base) and re.fullmatch(EACH, words[unit.end - 2 :]) is not None


def _goes_on(words: str, whole: str) -> bool:
    """Tell whether a sentence lacks its figure: its last words bound it, or lead on as "be" and "of" do."""
    if words.endswith(("=", ":", "≤", "≥", "<", ">")):
        return True
    last = words.rpartition(" ")[2].lower()
    if any(last in each for each in FUNCTION_WORDS.values()):
        return True
    return any(each.end == len(whole) and each.bound is not Bound.EXACT for each in limits_in(whole))
