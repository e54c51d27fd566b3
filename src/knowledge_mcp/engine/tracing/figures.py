"""Figures in cells of tables, with the units that stand above or behind them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.language.multilingual.recognition import FUNCTION_WORDS
from knowledge_mcp.language.quantities.bounds import NAMED, Bound
from knowledge_mcp.language.quantities.reading import DENIED, limits_in
from knowledge_mcp.language.quantities.units import is_physical, unit_behind

_UNIT_ABOVE = re.compile(
    r"(?P<name>[^(\[]{2,80}?)(?:,?\s?(?:in )?[(\[](?:in )?(?P<bracketed>[^()\[\]]{1,12})[)\]]"
    r"|(?:,|\sin|\s?/)\s?(?P<led>[^\s()\[\]]{1,8})|\s(?P<alone>[^\s()\[\]/]{2,8}))"
)
"""A head of a column with its unit: "Width (mm)", "Width, mm", "Breite in mm", "l/mm", "Width mm"."""
_FIGURE = re.compile(r"[<>≤≥±~+−-]{0,2}\s?\d[\d.,  /½¼¾]{0,20}")


def measured_below(above: str, cell: str) -> tuple[str, str] | None:
    """Read a number below a head with a unit: "Width (mm)" above "800" is ("Width", "800 mm"); None for all else."""
    named = _UNIT_ABOVE.fullmatch(above) if _FIGURE.fullmatch(cell) else None
    unit = named and (named["bracketed"] or named["led"] or named["alone"])
    return (named["name"], f"{cell} {unit}") if named and unit and _is_unit(unit) else None


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
        if not _FIGURE.fullmatch(cell):
            continue
        behind = row[place + 1][1] if place + 1 < len(row) else ""
        measured = measured_below(above, cell) or (("", f"{cell} {behind}") if _is_unit(behind) else None)
        whole = f"{words} {measured[1]}" if measured is not None else words
        return whole if whole != words and _goes_on(words, whole) else words
    return words


def _bounds(row: Sequence[tuple[str, str]]) -> list[str]:
    """Say the cells below "Min" and "Max" with their unit: "Min: 10 bar"; it may have a column of its own."""
    unit = next((cell for _, cell in row if _is_unit(cell)), "")
    found: list[str] = []
    for above, cell in row:
        if _FIGURE.fullmatch(cell) and NAMED.match(above):
            name, value = measured_below(above, cell) or (above, f"{cell} {unit}".strip())
            found.append(f"{name}: {value}")
    return found


def _is_unit(words: str) -> bool:
    return bool(words) and is_physical(unit_behind(f"1 {words}", 1).base)


def _goes_on(words: str, whole: str) -> bool:
    """Tell whether a sentence lacks its figure: its last words bound it, or lead on as "be" and "of" do."""
    if words.endswith(("=", ":", "≤", "≥", "<", ">")):
        return True
    last = words.rpartition(" ")[2].lower()
    if any(last in each for each in FUNCTION_WORDS.values()):
        return True
    return any(each.end == len(whole) and each.bound is not Bound.EXACT for each in limits_in(whole))
