"""Tables: figures in cells with their units in headers or other cells, and limits that a sentence refers to.

"The flow shall be at least as given in Table 1" makes each row a limit.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from knowledge_mcp.engine.evidence.captions import caption_of, rows_beside
from knowledge_mcp.language.multilingual.recognition import is_function_word
from knowledge_mcp.language.quantities.bounds import DENIED, NAMED, Bound, limiting
from knowledge_mcp.language.quantities.heads import EACH, is_figure, is_unit, named_unit
from knowledge_mcp.language.quantities.limits import limits_in
from knowledge_mcp.language.quantities.reading import Quantity
from knowledge_mcp.language.quantities.units import is_physical
from knowledge_mcp.language.references import find_references
from knowledge_mcp.language.sentences import TABLE_RULE, cell_texts
from knowledge_mcp.model.document import ReferenceKind, Span

_OF_UNITS = re.compile(r"(?:units?|einheit|unité|unidade?|unità|dim)\b", re.IGNORECASE)
"""Headers of columns of units; in other columns a single letter is a name."""


def measured_below(above: str, cell: str) -> tuple[str, str] | None:
    """Read a number below a header with a unit: "Width (mm)" above "800" is ("Width", "800 mm"); otherwise None."""
    named = named_unit(above) if is_figure(cell) else None
    return None if named is None else (named[0], f"{cell} {named[1]}")


def row_text(heads: Sequence[str], cells: Sequence[str]) -> str:
    """Format a row with the headers of its cells: "Room: Theatre; Minimum flow: 30 m³/h".

    A number gets the unit in its header, in a separate cell ("Flow | m³/h | 30"), or in the row's first cell: "Flow,
    m³/h | 30 | 20" below "Theatre" and "Office" is "Flow (Theatre): 30 m³/h; Flow (Office): …".
    """
    pairs = list(zip_longest(heads, cells, fillvalue=""))
    unit = _unit_in(pairs[1:])
    led = None if unit or not cells else named_unit(cells[0])
    if led is not None and any(map(is_figure, cells[1:])):
        return "; ".join(
            _cell_text(f"{led[0]} ({above})" if above else led[0], cell, led[1]) for above, cell in pairs[1:] if cell
        )
    return "; ".join(_cell_text(above, cell, unit) for above, cell in pairs if cell and cell != unit)


def _unit_in(row: Sequence[tuple[str, str]]) -> str:
    """Return the unit in a separate cell, empty if there is none."""
    return next((cell for above, cell in row if is_unit(cell) and (len(cell) > 1 or _OF_UNITS.match(above))), "")


def _cell_text(above: str, cell: str, unit: str) -> str:
    if (measured := measured_below(above, cell)) is not None:
        return ": ".join(filter(None, measured))
    text = f"{cell} {unit}" if unit and is_figure(cell) else cell
    return f"{above}: {text}" if above else text


def completed(words: str, row: Sequence[tuple[str, str]]) -> str:
    """Complete a sentence that continues in the next columns: "The width shall be at least", "800", "mm".

    A minimum and a maximum in separate columns are appended however the sentence ends.

    Args:
        words: the sentence in its cell.
        row: the header and text of each following cell.

    Returns:
        The sentence with its figure, "The width shall be at least 800 mm"; unchanged if it is complete.
    """
    if bounds := _bounds(row):
        return words if DENIED.search(words) else f"{words} {'; '.join(bounds)}"
    for place, (above, cell) in enumerate(row):
        if not is_figure(cell):
            continue
        behind = row[place + 1][1] if place + 1 < len(row) else ""
        measured = measured_below(above, cell) or (("", f"{cell} {behind}") if is_unit(behind) else None)
        whole = f"{words} {measured[1]}" if measured is not None else words
        return whole if whole != words and _lacks_figure(words, whole) else words
    return words


def _bounds(row: Sequence[tuple[str, str]]) -> list[str]:
    """Format the cells below "Min" and "Max" with their unit: "Min: 10 bar"; the unit may have its own column."""
    unit = _unit_in(row)
    found: list[str] = []
    for above, cell in row:
        if is_figure(cell) and NAMED.match(above):
            name, value = measured_below(above, cell) or (above, f"{cell} {unit}".strip())
            found.append(f"{name}: {value}")
    return found


def _lacks_figure(words: str, whole: str) -> bool:
    """Return whether a sentence lacks its figure: it ends with words of a limit, or with "be", "of" and similar."""
    if words.endswith(("=", ":", "≤", "≥", "<", ">")):
        return True
    if is_function_word(words.rpartition(" ")[2]):
        return True
    return any(each.end == len(whole) and each.bound is not Bound.EXACT for each in limits_in(whole))


_WORD = re.compile(r"[^\W_]+(?:(?<=\d)[-.](?=\d)[^\W_]+)*")
_NOT_EXCEEDED = re.compile(
    r"\b(?:not (?:to )?be exceeded|nicht (?:zu )?überschr\w{3,8}|ne doi(?:t|vent) pas (?:être )?dépass\w{1,4})\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:twice|thrice|double|half|times|doppelt\w{0,2}|halb\w{0,2}|\w{2,8}fache\w?|moitié|fois|doble|mitad)\b|%",
    re.IGNORECASE,
)
"""Words that modify the numbers of a table: "not exceed twice the values given in Table 2"."""
_MOST_WORDS = 8
"""Maximum words between those of a limit and the table: "at least the values that are given in Table 1"."""
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\Z")
_BETWEEN_FIGURES = re.compile(rf"(?:[\s.,:()<>≤≥±+–−-]|\b(?:to|bis|à|a|and|und|et|y)\b|{EACH})*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TabledRow:
    """A table row that has a number with a unit.

    Attributes:
        name: label of the table as its caption prints it: "Tabelle 1".
        span: the row in the text.
        text: the row with the headers of its cells and the units of its numbers.
        about: words of the row that other rows do not have: the subject of its limits.
        bound: the bound that the caption gives its numbers; exact if it gives none.
    """

    name: str
    span: Span
    text: str
    about: str
    bound: Bound


def tables_named(sentence: str, language: str) -> dict[str, Bound]:
    """Return the tables of its own document that a sentence refers to, and the bound that it gives their numbers."""
    return {
        each.target: _bound(sentence, each.span)
        for each in find_references(sentence, language=language)
        if each.kind is ReferenceKind.TABLE and each.target.startswith("Table ")
    }


def _bound(sentence: str, place: Span) -> Bound:
    """Return whether a sentence makes the numbers of the table that it names minimums or maximums."""
    if _NOT_EXCEEDED.search(sentence):
        return Bound.MOST
    words = sentence[: place.start].split()
    for last in range(len(words), max(len(words) - _MOST_WORDS, 0), -1):
        found = limiting(" ".join(words[:last]) + " ", "", is_measured=True)
        if found.led:
            return Bound.EXACT if _TIMES.search(" ".join(words[last:])) else found.bound
    return Bound.EXACT


def rows_tabled(text: str, table: str, language: str) -> Iterator[TabledRow]:
    """Yield the rows of a table that have a number with a unit, in order.

    Args:
        text: of the document.
        table: as `tables_named` returns it.
        language: of the document, as from `language_of`.
    """
    caption = caption_of(text, table)
    rows = rows_beside(text, caption) if caption is not None else []
    ruled = next((place for place, row in enumerate(rows) if TABLE_RULE.fullmatch(row.of(text))), 0)
    if caption is None or not 0 < ruled < len(rows) - 1:
        return
    heads = cell_texts(rows[ruled - 1].of(text))
    named = {bool(each["least"]) for each in NAMED.finditer(caption.of(text))}
    bound = (Bound.LEAST if named.pop() else Bound.MOST) if len(named) == 1 else Bound.EXACT
    name = " ".join(caption.of(text).lstrip(" \t*_|>").split()[:2]).rstrip(".:*_")
    below = [(row, cell_texts(row.of(text))) for row in rows[ruled + 1 :]]
    words = [_words_about(cells) for _, cells in below]
    shared = set(words[0]).intersection(*words) if len(words) > 1 else set[str]()
    for (row, cells), own in zip(below, words, strict=True):
        row_words = row_text(heads, cells)
        about = " ".join(word for word in own if word not in shared)
        if about and row_limits(row_words, limits_in(row_words, language)):
            yield TabledRow(name, row, row_words, about, bound)


def _words_about(cells: Sequence[str]) -> list[str]:
    """List the words of a row before its first figure, which say what its numbers are, without units and "maximum"."""
    leading = itertools.takewhile(lambda cell: not is_figure(cell) and not _is_measured(cell), cells)
    named = (re.split(r",\s|\s[(\[]|\sin\s", cell)[0] for cell in leading if len(cell) == 1 or not is_unit(cell))
    return [word.lower() for cell in named for word in _WORD.findall(NAMED.sub(" ", cell))]


def _is_measured(cell: str) -> bool:
    return any(is_physical(each.unit) for each in limits_in(cell))


def row_limits(text: str, limits: Sequence[Quantity]) -> list[tuple[Quantity, str]]:
    """List the limits of a row with their headers; cells with more than a number or a range set none.

    Args:
        text: the row as from `row_text`.
        limits: its numbers, in order.
    """
    found: list[tuple[Quantity, str]] = []
    begin = 0
    for part in text.split("; "):
        name, _, value = part.rpartition(": ")
        end = begin + len(part)
        own = [each for each in limits if begin <= each.start < end]
        if _BETWEEN_FIGURES.fullmatch(_without(text, Span(end - len(value), end), own)):
            column = _IN_BRACKETS.search(name)
            above = NAMED.sub(" ", column[1] if column else name).strip(" .:,")
            found += [(each, above) for each in own if is_physical(each.unit)]
        begin = end + 2
    return found


def _without(text: str, span: Span, numbers: Sequence[Quantity]) -> str:
    """Return the text of a span without the numbers."""
    rest, place = "", span.start
    for each in numbers:
        rest += text[place : each.start]
        place = max(place, each.end)
    return rest + text[place : span.end]
