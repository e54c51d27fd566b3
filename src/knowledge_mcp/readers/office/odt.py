"""In the child: OpenDocument texts (.odt): headings with their computed numbers, lists, tables, notes, links.

Ours because MarkItDown reads no OpenDocument. Deleted text (tracked changes) is no part of the document; comments are
left out, and told; what nobody sees is left out, and counted.
"""

from __future__ import annotations

import zipfile
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.document import BlockKind, HiddenReason, ReferenceKind
from knowledge_mcp.readers.office.odt_hidden import OdtLook, OdtLooks, length_of, unseen_element
from knowledge_mcp.readers.shared.containers import (
    core_properties,
    corrupted,
    local_name,
    member,
    open_archive,
    parse_xml,
)
from knowledge_mcp.readers.shared.hidden import nonblank_length, unaccepted_changes
from knowledge_mcp.readers.shared.numbering import counted
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
from knowledge_mcp.support.wording import how_many

if TYPE_CHECKING:
    from lxml.etree import _Element as Element  # pyright: ignore[reportPrivateUsage] - lxml's only name for it

_EXPECTED = "an OpenDocument text"
_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_STYLE = "{urn:oasis:names:tc:opendocument:xmlns:style:1.0}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_MOST_DEPTH = 100
_MOST_REPEATED = 1000
_SKIPPED = frozenset({"tracked-changes", "annotation", "annotation-end", "sequence-decls", "ruby-text", "number"})
_PASSED = frozenset(
    "text section index-body index-title table-of-content illustration-index table-index object-index user-index"
    " alphabetical-index bibliography frame text-box body list-header g page-sequence numbered-paragraph".split()
)
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
        if check:
            yield {"pages": None}
            return
        yield from messages(_pieces(archive, content))


def _pieces(archive: zipfile.ZipFile, content: Element) -> Iterator[Piece]:
    body = content.find("{*}body/{*}text")
    if body is None:
        raise corrupted(_EXPECTED, "its content has no text body")
    properties = core_properties(archive, "meta.xml")
    data = member(archive, "styles.xml")
    styles = parse_xml(data, _EXPECTED) if data else None
    walk = _Walk(_Numbers(styles), OdtLooks(root for root in (styles, content) if root is not None))
    yield from walk.blocks(body, 0)
    yield hidden_piece(walk.hidden)
    warnings: list[str] = []
    comments = sum(1 for _ in body.iter("{*}annotation"))
    if comments:
        warnings.append(f"{how_many(comments, 'comment was', 'comments were')} left out.")
    deleted = sum(1 for _ in body.iter(f"{_TEXT}deletion"))
    inserted = sum(1 for _ in body.iter(f"{_TEXT}insertion"))
    if deleted or inserted:
        warnings.append(unaccepted_changes(insertions=inserted, deletions=deleted))
    if next(body.iter("{*}image"), None) is not None:
        warnings.append("Text in pictures is not read.")
    yield facts(title=properties.pop("title", ""), metadata=properties, warnings=warnings)


class _Numbers:
    """Count headings as the document's outline numbering does; nothing where it has none."""

    def __init__(self, styles: Element | None) -> None:
        self._levels: dict[int, tuple[str, str, str, int, int]] = {}
        self._counts: dict[int, int] = {}
        for level in styles.iter(f"{_TEXT}outline-level-style") if styles is not None else ():
            form = level.get(f"{_STYLE}num-format", "")
            if form in {"1", "a", "A", "i", "I"}:
                self._levels[_number(level.get(f"{_TEXT}level"), 1)] = (
                    form,
                    level.get(f"{_STYLE}num-prefix", ""),
                    level.get(f"{_STYLE}num-suffix", ""),
                    _number(level.get(f"{_TEXT}display-levels"), 1),
                    _number(level.get(f"{_TEXT}start-value"), 1),
                )

    def label(self, element: Element, level: int) -> str:
        """Return a heading's number with its dress, empty without one."""
        written = element.find(f"{_TEXT}number")
        if level not in self._levels:
            return (written.text or "") if written is not None else ""
        if element.get(f"{_TEXT}is-list-header") == "true":
            return ""
        start = self._levels[level][4]
        self._counts[level] = self._counts.get(level, start - 1) + 1
        self._counts = {deep: count for deep, count in self._counts.items() if deep <= level}
        _, prefix, suffix, shown, _ = self._levels[level]
        parts = [
            counted(self._counts.get(deep, self._levels[deep][4]), self._levels[deep][0])
            for deep in range(max(level - shown + 1, 1), level + 1)
            if deep in self._levels
        ]
        return f"{prefix}{'.'.join(parts)}{suffix}"


class _Walk:
    """Write the blocks of a body; `hidden` counts what nobody sees."""

    def __init__(self, numbers: _Numbers, looks: OdtLooks) -> None:
        self._numbers = numbers
        self._looks = looks
        self.hidden: Counter[str] = Counter()
        self._notes: list[Piece] = []

    def blocks(self, parent: Element, depth: int, marker: str = "", within: int = -1) -> Iterator[Piece]:
        """Write what stands in an element; `marker` is the open list item's, `within` its nesting."""
        if depth > _MOST_DEPTH:
            raise Refusal("unsupported", f"It nests its parts more than {_MOST_DEPTH} levels deep.")
        for element in parent:
            name = local_name(element)
            if self._is_unseen(element):
                continue
            if name == "h" and within < 0:
                yield from self._heading(element)
            elif name in {"p", "h"}:
                rich = self._inline(element)
                if within >= 0:
                    yield rich_piece(BlockKind.LIST_ITEM, rich, marker=marker, depth=within)
                    marker = "" if not rich.is_blank else marker
                else:
                    yield rich_piece(BlockKind.PARAGRAPH, rich)
                yield from self._framed(element, depth)
            elif name == "list":
                yield from self._list(element, depth, within + 1)
            elif name == "table":
                yield self._table(element)
            elif name in _PASSED and name not in _INDEXES:
                yield from self.blocks(element, depth + 1, marker, within)
            if self._notes:
                notes, self._notes = self._notes, []
                yield from notes

    def _heading(self, element: Element) -> Iterator[Piece]:
        level = _number(element.get(f"{_TEXT}outline-level"), 1)
        words = self._inline(element).text.strip()
        if words:
            label = self._numbers.label(element, level)
            names = [
                mark.get(f"{_TEXT}name", "") for mark in element.iter(f"{_TEXT}bookmark", f"{_TEXT}bookmark-start")
            ]
            yield with_anchors(heading(f"{label} {words}".strip(), level), [name for name in names if name])
        yield from self._framed(element, 0)

    def _list(self, element: Element, depth: int, within: int) -> Iterator[Piece]:
        for item in element:
            if local_name(item) in {"list-item", "list-header"}:
                yield from self.blocks(item, depth + 1, "•", within)

    def _framed(self, element: Element, depth: int) -> Iterator[Piece]:
        """Write the text boxes that are anchored in a paragraph, behind it."""
        for box in element.iter("{*}text-box"):
            # a box within a box is written with the outer one
            outer = next((a for a in box.iterancestors() if a is element or local_name(a) == "text-box"), element)
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
        for part in cell.iter(f"{_TEXT}p", f"{_TEXT}h"):
            # the words of a note or a comment stand elsewhere or nowhere
            if any(local_name(above) in {"note", "annotation"} for above in part.iterancestors()):
                continue
            reason = next(filter(None, map(unseen_element, _between(part, cell))), None)
            if reason is None:
                words = self._inline(part)
                rich.add(" " if len(rich) and len(words) else "")
                rich.extend(words)
            else:
                self.hidden[reason] += length_of(part)
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
                rich.add(" ".join(titles))
            elif name not in _SKIPPED and not self._is_unseen(child):
                own = self._looks.behind(child, self._looks.span(child).over(look)) if name == "span" else look
                self._collect(rich, child, depth + 1, own)
            self._show(rich, child.tail, look)

    def _note(self, rich: RichText, note: Element) -> None:
        mark = note.find(f"{_TEXT}note-citation")
        citation = "".join(mark.itertext()).strip() if mark is not None else "*"
        body = RichText(f"[{citation}] ")
        for part in note.iter(f"{_TEXT}p"):
            self._collect(body, part, 1, self._looks.paragraph(part))
            body.add(" ")
        self.hidden.update(body.hidden)
        body.hidden.clear()
        rich.add(f"[{citation}]")
        self._notes.append(rich_piece(BlockKind.FOOTNOTE, body, marker=f"[{citation}]"))


def _between(inner: Element, outer: Element) -> Iterator[Element]:
    """Give an element and those around it, up to another."""
    yield inner
    for above in inner.iterancestors():
        if above is outer:
            return
        yield above


def _repeated(element: Element, name: str) -> int:
    """Read how often a row or a cell stands there, or how far it reaches."""
    return min(_number(element.get(f"{_TABLE}{name}"), 1), _MOST_REPEATED)


def _number(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else default
