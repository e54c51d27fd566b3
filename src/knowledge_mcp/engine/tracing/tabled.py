"""Limits in tables that a sentence refers to: "The flow shall be at least as given in Table 1"."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from knowledge_mcp.engine.evidence.captions import caption_of, rows_beside
from knowledge_mcp.engine.tracing.figures import EACH, is_figure, is_unit, row_said
from knowledge_mcp.language.quantities.bounds import NAMED, Bound, limiting
from knowledge_mcp.language.quantities.reading import Quantity, limits_in
from knowledge_mcp.language.quantities.units import is_physical
from knowledge_mcp.language.references import find_references
from knowledge_mcp.language.sentences import cell_texts
from knowledge_mcp.model.document import ReferenceKind, Span

_RULE = re.compile(r"[\s|:+=-]*")
_WORD = re.compile(r"[^\W_]+")
_NOT_EXCEEDED = re.compile(
    r"\b(?:not (?:to )?be exceeded|nicht (?:zu )?überschr\w{3,8}|ne doi(?:t|vent) pas (?:être )?dépass\w{1,4})\b",
    re.IGNORECASE,
)
_TIMES = re.compile(
    r"\b(?:twice|thrice|double|half|times|doppelt\w{0,2}|halb\w{0,2}|\w{2,8}fache\w?|moitié|fois|doble|mitad)\b|%",
    re.IGNORECASE,
)
"""What makes another limit of the numbers of a table: "not exceed twice the values given in Table 2"."""
_MOST_WORDS = 8
"""Words between those of a limit and the table: "at least the values that are given in Table 1"."""
_IN_BRACKETS = re.compile(r"\(([^()]+)\)\Z")
_BETWEEN_FIGURES = re.compile(rf"(?:[\s.,:()<>≤≥±+–−-]|\b(?:to|bis|à|a|and|und|et|y)\b|{EACH})*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class TabledRow:
    """Hold a row of a table that has a number with a unit.

    Attributes:
        name: label of the table as its caption prints it: "Tabelle 1".
        span: the row in the text.
        text: the row with what stands above its cells and the units of its numbers.
        about: words of the row that others of the table have not: what its limits are of.
        bound: what the caption makes of its numbers; exact where it says nothing.
    """

    name: str
    span: Span
    text: str
    about: str
    bound: Bound


def tables_named(sentence: str, language: str) -> dict[str, Bound]:
    """Return the tables of its own document that a sentence refers to, and what it says that their numbers are."""
    return {
        each.target: _bound(sentence, each.span)
        for each in find_references(sentence, language=language)
        if each.kind is ReferenceKind.TABLE and each.target.startswith("Table ")
    }


def _bound(sentence: str, place: Span) -> Bound:
    """Tell whether a sentence makes a least or a most of the numbers of the table that it names."""
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
        language: of the document, as `language_of` tells it.
    """
    caption = caption_of(text, table)
    rows = rows_beside(text, caption) if caption is not None else []
    ruled = next((place for place, row in enumerate(rows) if _RULE.fullmatch(row.of(text))), 0)
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
        said = row_said(heads, cells)
        about = " ".join(word for word in own if word not in shared)
        if about and row_limits(said, limits_in(said, language)):
            yield TabledRow(name, row, said, about, bound)


def _words_about(cells: Sequence[str]) -> list[str]:
    """List the words of a row that say what its numbers are of, without units and "maximum": those before the first."""
    told = itertools.takewhile(lambda cell: not is_figure(cell) and not _is_measured(cell), cells)
    named = (re.split(r",\s|\s[(\[]|\sin\s", cell)[0] for cell in told if len(cell) == 1 or not is_unit(cell))
    return [word.lower() for cell in named for word in _WORD.findall(NAMED.sub(" ", cell))]


def _is_measured(cell: str) -> bool:
    return any(is_physical(each.unit) for each in limits_in(cell))


def row_limits(said: str, limits: Sequence[Quantity]) -> list[tuple[Quantity, str]]:
    """List the limits of a row with what stands above each; cells that say more than a number or a range set none.

    Args:
        said: the row as `row_said` gives it.
        limits: its numbers, in order.
    """
    found: list[tuple[Quantity, str]] = []
    begin = 0
    for part in said.split("; "):
        name, _, value = part.rpartition(": ")
        end = begin + len(part)
        own = [each for each in limits if begin <= each.start < end]
        if _BETWEEN_FIGURES.fullmatch(_without(said, Span(end - len(value), end), own)):
            column = _IN_BRACKETS.search(name)
            above = NAMED.sub(" ", column[1] if column else name).strip(" .:,")
            found += [(each, above) for each in own if is_physical(each.unit)]
        begin = end + 2
    return found


def _without(text: str, span: Span, numbers: Sequence[Quantity]) -> str:
    """Return what a span has beside numbers."""
    rest, place = "", span.start
    for each in numbers:
        rest += text[place : each.start]
        place = max(place, each.end)
    return rest + text[place : span.end]
