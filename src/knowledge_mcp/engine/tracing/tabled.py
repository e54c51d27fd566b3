"""Limits in tables that a sentence refers to: "The flow shall be at least as given in Table 1"."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from knowledge_mcp.engine.evidence.captions import caption_of, rows_beside
from knowledge_mcp.engine.tracing.figures import is_figure, is_unit, row_said
from knowledge_mcp.language.quantities.bounds import NAMED, Bound, limiting
from knowledge_mcp.language.quantities.reading import limits_in
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
_MOST_WORDS = 8
"""Words between those of a limit and the table: "at least the values that are given in Table 1"."""


@dataclass(frozen=True, slots=True)
class TabledLimits:
    """Hold a row of a table that sets limits.

    Attributes:
        table: label of the table in its normal form, "Table 1".
        name: the label as its caption prints it.
        span: the row in the text.
        text: the row with what stands above its cells and the units of its numbers.
        about: words of the row that others of the table have not: what its limits are of.
        bound: what its numbers are that say nothing of it themselves.
    """

    table: str
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
    before = (" ".join(words[:last]) for last in range(len(words), max(len(words) - _MOST_WORDS, 0), -1))
    found = (limiting(f"{each} ", "", is_measured=True) for each in before)
    return next((each.bound for each in found if each.led), Bound.EXACT)


def limits_tabled(text: str, table: str, bound: Bound, language: str) -> Iterator[TabledLimits]:
    """Yield the rows of a table that have a number with a unit, in order.

    Args:
        text: of the document.
        table: as `tables_named` returns it.
        bound: what a sentence makes of the numbers, where the head and the caption say nothing.
        language: of the document, as `language_of` tells it.
    """
    caption = caption_of(text, table)
    rows = rows_beside(text, caption) if caption is not None else []
    ruled = next((place for place, row in enumerate(rows) if _RULE.fullmatch(row.of(text))), 0)
    if caption is None or not 0 < ruled < len(rows) - 1:
        return
    heads = cell_texts(rows[ruled - 1].of(text))
    named = {bool(each["least"]) for each in NAMED.finditer(caption.of(text))}
    bound = (Bound.LEAST if named.pop() else Bound.MOST) if len(named) == 1 else bound
    name = " ".join(caption.of(text).lstrip(" \t*_|>").split()[:2]).rstrip(".:*_")
    below = [(row, cell_texts(row.of(text))) for row in rows[ruled + 1 :]]
    labels = [" ".join(cell for cell in cells if not is_figure(cell) and not is_unit(cell)) for _, cells in below]
    words = [set(_WORD.findall(label.lower())) for label in labels]
    shared = set[str]().union(*words[:1]).intersection(*words) if len(words) > 1 else set[str]()
    for (row, cells), label in zip(below, labels, strict=True):
        said = row_said(heads, cells)
        about = " ".join(word for word in _WORD.findall(label) if word.lower() not in shared)
        if about and any(is_physical(each.unit) for each in limits_in(said, language)):
            yield TabledLimits(table, name, row, said, about, bound)
