"""In the child: OpenDocument texts (.odt): headings with their computed numbers, lists, tables, notes, links.

Ours because MarkItDown reads no OpenDocument. Deleted text (tracked changes) is no part of the document; changes
and comments are told; what nobody sees is left out, and counted.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.model.document import BlockKind, HiddenReason, ReferenceKind
from knowledge_mcp.readers.office.odt_hidden import OdtLook, OdtLooks, length_of, unseen_element
from knowledge_mcp.readers.office.odt_numbers import HeadingNumbers, Lists, OpenList
from knowledge_mcp.readers.office.remarks import remarks_of
from knowledge_mcp.readers.shared.containers import (
    Element,
    core_properties,
    corrupted,
    local_name,
    member,
    open_archive,
    parse_xml,
)
from knowledge_mcp.readers.shared.equations import equation_text
from knowledge_mcp.readers.shared.hidden import nonblank_length
from knowledge_mcp.readers.shared.layout import UNREAD
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.pieces import (
    Piece,
    facts,
    heading,
    hidden_piece,
    messages,
    rich_piece,
    with_anchors,
)
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered
from knowledge_mcp.readers.shared.tables import TableCells
from knowledge_mcp.support.sandbox_worker import Refusal

_EXPECTED = "an OpenDocument text"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_MOST_DEPTH = 100
_MOST_REPEATED = 1000
_SKIPPED = frozenset({"tracked-changes", "annotation", "annotation-end", "sequence-decls", "ruby-text", "number"})
_PASSED = frozenset(
    "text section index-body index-title table-of-content illustration-index table-index object-index user-index"
    " alphabetical-index bibliography frame text-box body list-header g page-sequence numbered-paragraph".split()
)
_SHAPES = frozenset(
    "custom-shape rect ellipse circle polygon polyline path line connector caption regular-polygon measure".split()
)
"""What is drawn, and may hold words of its own."""
_INDEXES = frozenset({"table-of-content", "illustration-index", "table-index", "object-index", "alphabetical-index"})


def odt(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield the messages of an OpenDocument text.

    Raises:
        Refusal: it is none, locked, damaged, empty or too large.
    """
    with open_archive(path, _EXPECTED, needs=("content.xml",)) as archive:
        kind = (member(archive, "mimetype") or b"").decode("ascii", "replace").strip()
        if kind and not kind.startswith("application/vnd.oasis.opendocument.text"):
            named = kind.rpartition(".")[2]
            raise Refusal(
                "mislabelled",
                f"It is not {_EXPECTED} but another OpenDocument file ({named}).",
                suggestion="Give the file its right extension.",
            )
        if b"encryption-data" in (member(archive, "META-INF/manifest.xml") or b""):
            raise Refusal("password_protected", "It is protected by a password.", suggestion="Save it without one.")
        content = parse_xml(member(archive, "content.xml") or b"", _EXPECTED)
        if not check:
            yield from messages(_pieces(archive, content))


def _pieces(archive: zipfile.ZipFile, content: Element) -> Iterator[Piece]:
    body = content.find("{*}body/{*}text")
    if body is None:
        raise corrupted(_EXPECTED, "its content has no text body")
    properties = core_properties(archive, "meta.xml")
    data = member(archive, "styles.xml")
    styles = parse_xml(data, _EXPECTED) if data else None
    roots = [root for root in (styles, content) if root is not None]
    walk = _Walk(HeadingNumbers(styles), Lists(roots), OdtLooks(roots), _Objects(archive))
    yield from walk.blocks(body, 0)
    yield hidden_piece(walk.hidden)
    warnings, remarks = remarks_of(body)
    if next(body.iter("{*}image"), None) is not None:
        warnings.append("Text in pictures is not read.")
    if walk.objects.unread:
        warnings.append("Embedded objects, such as charts, are not read.")
    yield facts(title=properties.pop("title", "") or walk.title, metadata=properties | remarks, warnings=warnings)


@dataclass(slots=True)
class _Item:
    """Hold an open list item: its list, its element, and what is printed before it; None before its first paragraph."""

    within: OpenList
    element: Element
    label: str | None = None


class _Objects:
    """Read what is embedded in a text: formulas; `unread` tells whether there is anything else."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self.unread = False

    def formula(self, frame: Element) -> str:
        """Return the formula in a frame as text, "" where it holds none."""
        for each in frame.iterchildren(f"{_DRAW}object"):
            path = (each.get(_LINK) or "").removeprefix("./").rstrip("/")
            data = member(self._archive, f"{path}/content.xml") if path else None
            root = parse_xml(data, _EXPECTED) if data else next(iter(each), None)
            if root is not None and local_name(root) == "math":
                return equation_text(root).strip() or UNREAD
            self.unread = True
        return ""


class _Walk:
    """Write the blocks of a body; `hidden` counts what nobody sees, `title` is the first paragraph in its style."""

    def __init__(self, outline: HeadingNumbers, lists: Lists, looks: OdtLooks, objects: _Objects) -> None:
        self._outline = outline
        self._lists = lists
        self._looks = looks
        self.objects = objects
        self.hidden: Counter[str] = Counter()
        self.title = ""
        self._notes: list[Piece] = []

    def blocks(self, parent: Element, depth: int, item: _Item | None = None) -> Iterator[Piece]:
        """Write what stands in an element; `item` is the list item that is open."""
        if depth > _MOST_DEPTH:
            raise Refusal("unsupported", f"It nests its parts more than {_MOST_DEPTH} levels deep.")
        for element in parent:
            name = local_name(element)
            if self._is_unseen(element):
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
                yield self._table(element)
            elif name in _SHAPES or (name in _PASSED and name not in _INDEXES):
                yield from self.blocks(element, depth + 1, item)
            if self._notes:
                notes, self._notes = self._notes, []
                yield from notes

    def _paragraph(self, element: Element, item: _Item | None) -> Piece:
        rich = self._inline(element)
        if item is None:
            if not self.title and self._looks.is_title(element):
                self.title = " ".join(rich.text.split())
            return rich_piece(BlockKind.PARAGRAPH, rich)
        written = rich_piece(BlockKind.LIST_ITEM, rich, marker=item.label or "", depth=item.within.level - 1)
        if not rich.is_blank:
            item.label = ""
        return written

    def _heading(self, element: Element, item: _Item | None) -> Iterator[Piece]:
        level = whole_number(element.get(f"{_TEXT}outline-level"), 1)
        words = self._inline(element).text.strip()
        if not words:
            return
        if item is None:
            label = self._outline.label(element, level)
        else:
            label, item.label = (item.label or "").strip("•"), ""
        names = [mark.get(f"{_TEXT}name", "") for mark in element.iter(f"{_TEXT}bookmark", f"{_TEXT}bookmark-start")]
        yield with_anchors(heading(f"{label} {words}".strip(), level), [name for name in names if name])

    def _list(self, element: Element, depth: int, outer: OpenList | None) -> Iterator[Piece]:
        here = self._lists.open(element, outer)
        for part in element:
            if local_name(part) in {"list-item", "list-header"} and not self._is_unseen(part):
                yield from self.blocks(part, depth + 1, _Item(here, part))

    def _framed(self, element: Element, depth: int) -> Iterator[Piece]:
        """Write the text boxes and shapes with words that are anchored in a paragraph, behind it."""
        for box in element.iter("{*}text-box", *(f"{_DRAW}{name}" for name in _SHAPES)):
            # a box within a box is written with the outer one
            inside = {"text-box", *_SHAPES}
            outer = next((a for a in box.iterancestors() if a is element or local_name(a) in inside), element)
            if outer is element and not any(map(self._is_unseen, _between(box, element))):
                yield from self.blocks(box, depth + 1)

    def _table(self, element: Element) -> Piece:
        table = TableCells()
        for row in element.iter(f"{_TABLE}table-row"):
            if next(row.iterancestors(f"{_TABLE}table"), None) is not element or self._is_unseen(row):
                continue
            above = row.getparent()
            table.in_head = above is not None and local_name(above) == "table-header-rows"
            cells = list(self._cells(row))
            for _ in range(_repeated(row, "number-rows-repeated") if cells else 0):
                table.row()
                for text, wide, deep in cells:
                    table.open(wide, deep)
                    table.close(text)
        return table.piece()

    def _cells(self, row: Element) -> Iterator[tuple[RichText, int, int]]:
        """Read a row's cells up to the last one with words, with the columns and rows that they reach over.

        A cell that another one reaches over is not shown.
        """
        blank: list[tuple[RichText, int, int]] = []
        for cell in row:
            if local_name(cell) == "covered-table-cell":
                self.hidden[HiddenReason.NOT_DISPLAYED] += length_of(cell)
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
        for part in cell.iter(f"{_TEXT}list", f"{_TEXT}p", f"{_TEXT}h"):
            # the words of a note or a comment stand elsewhere or nowhere
            if any(local_name(above) in {"note", "annotation"} for above in part.iterancestors()):
                continue
            if local_name(part) == "list":
                opened[part] = self._lists.open(part, next(filter(None, map(opened.get, part.iterancestors())), None))
                continue
            reason = next(filter(None, map(unseen_element, _between(part, cell))), None)
            if reason is not None:
                self.hidden[reason] += length_of(part)
                continue
            item, label = part.getparent(), ""
            around = item.getparent() if item is not None else None
            within = opened.get(around) if around is not None else None
            if item is not None and within is not None and item not in items:
                items.add(item)
                label = self._lists.label(within, item, part)
            words = self._inline(part)
            rich.add(" " if len(rich) and len(words) else "")
            rich.add(f"{label} " if label and len(words) else "")
            rich.extend(words)
        return rich

    def _inline(self, element: Element) -> RichText:
        rich = RichText()
        self._collect(rich, element, 0, self._looks.paragraph(element))
        self.hidden.update(rich.hidden)
        rich.hidden.clear()
        return rich

    def _is_unseen(self, element: Element) -> bool:
        """Tell whether nothing of an element is seen, and count it then."""
        reason = unseen_element(element)
        if reason is not None:
            self.hidden[reason] += length_of(element)
        return reason is not None

    def _show(self, rich: RichText, text: str | None, look: OdtLook) -> None:
        reason = look.reason(text) if text else None
        if reason is None:
            rich.add(raised_or_lowered(text or "", look.place or ""))
        else:
            rich.hidden[reason] += nonblank_length(text)

    def _collect(self, rich: RichText, element: Element, depth: int, look: OdtLook) -> None:
        if depth > _MOST_DEPTH:
            raise Refusal("unsupported", f"It nests its text more than {_MOST_DEPTH} levels deep.")
        self._show(rich, element.text, look)
        for child in element:
            name = local_name(child)
            if name in {"s", "tab"}:
                rich.add(" ")
            elif name == "line-break":
                rich.break_line()
            elif name == "note" and look.hidden:
                self.hidden[HiddenReason.NOT_DISPLAYED] += length_of(child)
            elif name == "note":
                self._note(rich, child)
            elif name == "a":
                start = len(rich)
                self._collect(rich, child, depth + 1, look)
                target = child.get(_LINK, "")
                rich.mark(start, None if target.startswith("#") else ReferenceKind.LINK, target)
            elif name == "frame":
                titles = [found.text or "" for found in child.iterchildren("{*}title", "{*}desc")]
                formula = self.objects.formula(child)
                rich.add(f" {formula} " if formula else " ".join(titles))
            elif name not in _SKIPPED and name not in _SHAPES and not self._is_unseen(child):
                own = self._looks.behind(child, self._looks.span(child).over(look)) if name == "span" else look
                self._collect(rich, child, depth + 1, own)
            self._show(rich, child.tail, look)

    def _note(self, rich: RichText, note: Element) -> None:
        mark = note.find(f"{_TEXT}note-citation")
        citation = "".join(mark.itertext()).strip() if mark is not None else "*"
        marker = f"[^{citation}]"
        body = RichText(f"{marker} ")
        for part in note.iter(f"{_TEXT}p"):
            self._collect(body, part, 1, self._looks.paragraph(part))
            body.add(" ")
        self.hidden.update(body.hidden)
        body.hidden.clear()
        rich.add(marker)
        self._notes.append(rich_piece(BlockKind.FOOTNOTE, body, marker=marker))


def _between(inner: Element, outer: Element) -> Iterator[Element]:
    """Give an element and those around it, up to another."""
    yield inner
    for above in inner.iterancestors():
        if above is outer:
            return
        yield above


def _repeated(element: Element, name: str) -> int:
    """Read how often a row or a cell stands there, or how far it reaches."""
    return min(whole_number(element.get(f"{_TABLE}{name}"), 1), _MOST_REPEATED)
