"""Child process: the paragraphs and tables of rich text, written as a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.html.tables import MARKER
from knowledge_mcp.readers.shared.containers import Element
from knowledge_mcp.readers.shared.pieces import MOST_BLOCKS, too_much

_ITEM = re.compile(r"[(\[]?(?:[a-zA-Z]{1,5}|\d{1,3})[.)\]]+|[-–—•]")
"""Labels of list items; other numbers, such as 1.1, are those of clauses."""
_DEEPEST_HEADING = 6
_MOST_LEVELS = 9
_NEAR = 40
"""Twips by which the edges of one column may differ: programs round them row by row; columns are wider."""


@dataclass(frozen=True, slots=True)
class Look:
    """How letters look: in a font, bold, hidden, struck out, deleted, raised ("sup") or lowered ("sub")."""

    font: int = 0
    bold: bool = False
    hidden: bool = False
    struck: bool = False
    deleted: bool = False
    inserted: bool = False
    place: str = ""

    @property
    def reason(self) -> HiddenReason | None:
        """Why such letters are not text, None if they are."""
        return HiddenReason.NOT_DISPLAYED if self.hidden else HiddenReason.STRUCK if self.struck else None


Runs = list[tuple[str, Look]]


@dataclass(frozen=True, slots=True)
class Edge:
    """The right edge of a cell in twips, and whether the cell continues the one on its left or above it."""

    place: int
    is_left: bool = False
    is_below: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a table: its edges, its cells with their paragraphs, and whether it is part of the header."""

    edges: Sequence[Edge]
    cells: Sequence[Sequence[Runs]]
    is_head: bool


class RtfPage:
    """Write the elements of a page; `body` is the result."""

    def __init__(self) -> None:
        from lxml import etree

        self._made = etree.SubElement
        self.body: Element = etree.Element("body")
        self._count = 0

    def heading(self, runs: Runs, label: str, level: int) -> None:
        """Write a heading with its number, which is part of its words."""
        made = self._element(self.body, f"h{min(level, _DEEPEST_HEADING)}")
        made.text = " ".join(f"{label} {''.join(words for words, _ in runs)}".split())

    def paragraph(self, runs: Runs, label: str = "", level: int = 0) -> None:
        """Write a paragraph, or an item of a list with its label."""
        if _ITEM.fullmatch(label):
            item = self.body
            for _ in range(min(level, _MOST_LEVELS) + 1):
                item = self._element(item, "ul")
            item = self._element(item, "li")
            item.set(MARKER, label)
            self._words(item, runs)
        else:
            self._words(self._element(self.body, "p"), [(f"{label} ", Look()), *runs] if label else runs)

    def note(self, mark: str, runs: Runs) -> None:
        """Write a note below the paragraph that refers to it."""
        made = self._element(self.body, "p")
        made.set(MARKER, mark)
        self._words(made, [(f"{mark} ", Look()), *runs])

    def table(self, rows: Sequence[Row]) -> None:
        """Write a table; cells that reach over several columns or rows do so on the page."""
        columns = _columns(edge.place for row in rows for edge in row.edges)
        table = self._element(self.body, "table")
        above: dict[int, Element] = {}
        for row in rows:
            line = self._element(table, "tr")
            at, cell = 0, line
            for edge, paragraphs in _placed(row):
                end = columns.get(edge.place, at + 1)
                wide, at = max(end - at, 1), max(end, at + 1)
                if edge.is_left and cell is not line:
                    cell.set("colspan", str(int(cell.get("colspan", "1")) + wide))
                elif edge.is_below and at in above:
                    cell = above[at]
                    cell.set("rowspan", str(int(cell.get("rowspan", "1")) + 1))
                else:
                    cell = self._element(line, "th" if row.is_head else "td")
                    cell.set("colspan", str(wide))
                above[at] = cell
                for runs in paragraphs:
                    self._words(self._element(cell, "p"), runs)

    def _element(self, into: Element, tag: str) -> Element:
        self._count += 1
        if self._count > 2 * MOST_BLOCKS:  # a paragraph of a list or a cell is two or more elements
            raise too_much()
        return self._made(into, tag)

    def _words(self, into: Element, runs: Runs) -> None:
        last: Element | None = None
        plain: list[str] = []

        def add_plain() -> None:
            if plain:  # joined once: to append each run would take the square of their number
                words = "".join(plain)
                plain.clear()
                if last is None:
                    into.text = (into.text or "") + words
                else:
                    last.tail = words

        for words, look in runs:
            tag = look.place or ("b" if look.bold else "")
            for index, line in enumerate(words.split("\n")):
                if index:
                    add_plain()
                    last = self._element(into, "br")
                if tag and line:
                    add_plain()
                    last = self._element(into, tag)
                    last.text = line
                else:
                    plain.append(line)
        add_plain()


def _placed(row: Row) -> list[tuple[Edge, Sequence[Runs]]]:
    """Pair the cells of a row with their edges; a cell without an edge is one column wide."""
    last = row.edges[-1].place if row.edges else 0
    more = [Edge(last + 1 + number) for number in range(len(row.cells) - len(row.edges))]
    return list(zip([*row.edges, *more], row.cells, strict=False))


def _columns(places: Iterable[int]) -> Mapping[int, int]:
    """Return the numbers of the columns by their right edges, from 1; edges near each other are one."""
    found: dict[int, int] = {}
    number, last = 0, -_NEAR
    for place in sorted(set(places)):
        number += place - last > _NEAR or not number
        found[place], last = number, place
    return found
