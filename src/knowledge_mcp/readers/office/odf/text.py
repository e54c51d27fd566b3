"""Child process: OpenDocument texts (.odt): headings with their computed numbers, lists, tables, notes, links.

MarkItDown cannot read OpenDocument. Deleted text (tracked changes) is not part of the document; changes and comments
are reported; hidden text is left out and counted.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.model.document import BlockKind, HiddenReason
from knowledge_mcp.readers.office.odf.looks import OdtLooks, length_of, unseen_element
from knowledge_mcp.readers.office.odf.numbers import HeadingNumbers, Lists, OpenList
from knowledge_mcp.readers.office.odf.package import DRAW, TABLE, TEXT, OdfPackage, opened_package
from knowledge_mcp.readers.office.odf.remarks import remarks_of
from knowledge_mcp.readers.office.odf.words import MOST_DEPTH, SHAPES, Embedded, ParagraphWords
from knowledge_mcp.readers.shared.containers import Element, check_depth, core_properties, local_name
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.pieces import (
    Piece,
    facts,
    heading,
    hidden_piece,
    messages,
    piece,
    rich_piece,
    with_anchors,
)
from knowledge_mcp.readers.shared.richtext import RichText
from knowledge_mcp.readers.shared.tables import TableCells

_MOST_REPEATED = 1000
_PASSED = frozenset(
    "text section index-body index-title table-of-content illustration-index table-index object-index user-index"
    " alphabetical-index bibliography frame text-box body list-header g page-sequence numbered-paragraph".split()
)
_INDEXES = frozenset({"table-of-content", "illustration-index", "table-index", "object-index", "alphabetical-index"})


def odt(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an OpenDocument text.

    Raises:
        Refusal: it is not an OpenDocument text, or is locked, damaged, empty or too large.
    """
    with opened_package(path, "text", "an OpenDocument text") as package:
        if not check:
            body = package.body("text")
            walk = OdfWalk(package)
            yield from messages(itertools.chain(walk.blocks(body), walk.facts(body)))


@dataclass(slots=True)
class _Item:
    """An open list item: its list, its element, and its label; None before its first paragraph."""

    within: OpenList
    element: Element
    label: str | None = None


class OdfWalk:
    """Write the blocks of a body; `title` is the first paragraph in the title style."""

    def __init__(self, package: OdfPackage) -> None:
        self._properties = core_properties(package.archive, "meta.xml")
        self._outline = HeadingNumbers(package.styles)
        self._lists = Lists(package.roots)
        self._looks = OdtLooks(package.roots)
        self.words = ParagraphWords(self._looks, Embedded(package), Counter())
        self.title = ""

    def facts(self, body: Element, warnings: Sequence[str] = ()) -> Iterator[Piece]:
        """Write what is known about the whole, after its blocks."""
        yield hidden_piece(self.words.hidden)
        about, remarks = remarks_of(body)
        about += warnings
        if next(body.iter("{*}image"), None) is not None:
            about.append("Text in images is not read.")
        if self.words.objects.unread:
            about.append("Embedded objects, such as charts, are not read.")
        title = self._properties.pop("title", "") or self.title
        yield facts(title=title, metadata=self._properties | remarks, warnings=about)

    def blocks(self, parent: Element, depth: int = 0, item: _Item | None = None) -> Iterator[Piece]:
        """Write the content of an element; `item` is the open list item."""
        check_depth(depth, MOST_DEPTH, "parts are")
        for element in parent:
            name = local_name(element)
            if self.words.is_unseen(element):
                continue
            if name in {"p", "h"}:
                if item is not None and item.label is None:
                    item.label = self._lists.label(item.within, item.element, element)
                if name == "h":
                    yield from self._heading(element, item)
                else:
                    yield self._paragraph(element, item)
                yield from self._framed(element, depth)
            elif name == "list":
                yield from self._list(element, depth, item.within if item is not None else None)
            elif name == "table":
                yield from self._table(element)
            elif name in SHAPES or (name in _PASSED and name not in _INDEXES):
                if name == "frame" and (shown := self.words.of_frame(element)):
                    yield piece(BlockKind.PARAGRAPH, shown)
                yield from self.blocks(element, depth + 1, item)
            if self.words.notes:
                notes, self.words.notes = self.words.notes, []
                yield from notes

    def _paragraph(self, element: Element, item: _Item | None) -> Piece:
        rich = self.words.inline(element)
        if item is None:
            if not self.title and self._looks.is_title(element):
                self.title = " ".join(rich.text.split())
            return rich_piece(BlockKind.PARAGRAPH, rich)
        written = rich_piece(BlockKind.LIST_ITEM, rich, marker=item.label or "", depth=item.within.level - 1)
        if not rich.is_blank:
            item.label = ""
        return written

    def _heading(self, element: Element, item: _Item | None) -> Iterator[Piece]:
        level = whole_number(element.get(f"{TEXT}outline-level"), 1)
        words = self.words.inline(element).text.strip()
        if not words:
            return
        if item is None:
            label = self._outline.label(element, level)
        else:
            label, item.label = (item.label or "").strip("•"), ""
        names = [mark.get(f"{TEXT}name", "") for mark in element.iter(f"{TEXT}bookmark", f"{TEXT}bookmark-start")]
        yield with_anchors(heading(f"{label} {words}".strip(), level), [name for name in names if name])

    def _list(self, element: Element, depth: int, outer: OpenList | None) -> Iterator[Piece]:
        here = self._lists.open(element, outer)
        for part in element:
            if local_name(part) in {"list-item", "list-header"} and not self.words.is_unseen(part):
                yield from self.blocks(part, depth + 1, _Item(here, part))

    def _framed(self, element: Element, depth: int) -> Iterator[Piece]:
        """Write the text boxes and shapes with text that are anchored in a paragraph, after it."""
        for box in element.iter("{*}text-box", *(f"{DRAW}{name}" for name in SHAPES)):
            # a nested box is written with the outer one
            inside = {"text-box", *SHAPES}
            outer = next((a for a in box.iterancestors() if a is element or local_name(a) in inside), element)
            if outer is element and not any(map(self.words.is_unseen, _between(box, element))):
                yield from self.blocks(box, depth + 1)

    def _table(self, element: Element) -> Iterator[Piece]:
        table = TableCells()
        for row in element.iter(f"{TABLE}table-row"):
            if next(row.iterancestors(f"{TABLE}table"), None) is not element or self.words.is_unseen(row):
                continue
            above = row.getparent()
            table.in_head = above is not None and local_name(above) == "table-header-rows"
            cells = list(self._cells(row))
            for _ in range(_repeated(row, "number-rows-repeated") if cells else 0):
                table.row()
                for text, wide, deep in cells:
                    table.open(wide, deep)
                    table.close(text)
        return table.pieces()

    def _cells(self, row: Element) -> Iterator[tuple[RichText, int, int]]:
        """Yield a row's cells up to the last one with words, as (text, colspan, rowspan).

        Cells that are covered by another one are not visible.
        """
        blank: list[tuple[RichText, int, int]] = []
        for cell in row:
            if local_name(cell) == "covered-table-cell":
                self.words.hidden[HiddenReason.NOT_DISPLAYED] += length_of(cell)
            if local_name(cell) != "table-cell":
                continue
            text = self._cell(cell)
            reaches = (_repeated(cell, "number-columns-spanned"), _repeated(cell, "number-rows-spanned"))
            blank += [(text, *reaches)] * _repeated(cell, "number-columns-repeated")
            if not text.is_blank:
                yield from blank
                blank = []

    def _cell(self, cell: Element) -> RichText:
        rich = RichText()
        opened: dict[Element, OpenList] = {}
        items: set[Element] = set()
        for part in cell.iter(f"{TEXT}list", f"{TEXT}p", f"{TEXT}h"):
            # the words of notes and comments are handled elsewhere
            if any(local_name(above) in {"note", "annotation"} for above in part.iterancestors()):
                continue
            if local_name(part) == "list":
                opened[part] = self._lists.open(part, next(filter(None, map(opened.get, part.iterancestors())), None))
                continue
            reason = next(filter(None, map(unseen_element, _between(part, cell))), None)
            if reason is not None:
                self.words.hidden[reason] += length_of(part)
                continue
            item, label = part.getparent(), ""
            around = item.getparent() if item is not None else None
            within = opened.get(around) if around is not None else None
            if item is not None and within is not None and item not in items:
                items.add(item)
                label = self._lists.label(within, item, part)
            words = self.words.inline(part)
            rich.add(" " if len(rich) and len(words) else "")
            rich.add(f"{label} " if label and len(words) else "")
            rich.extend(words)
        return rich


def _between(inner: Element, outer: Element) -> Iterator[Element]:
    """Yield an element and its ancestors, up to `outer` (exclusive)."""
    yield inner
    for above in inner.iterancestors():
        if above is outer:
            return
        yield above


def _repeated(element: Element, name: str) -> int:
    """Read how often a row or a cell is repeated, or how many it spans."""
    return min(whole_number(element.get(f"{TABLE}{name}"), 1), _MOST_REPEATED)
