"""Child process: HTML to headings and blocks, by one walk over the tree without recursion.

What a reader of the page sees is kept: words, lists, tables, code, alternative texts of pictures; links become
references. Scripts, styles and comments are left out; `hidden` removes what the page hides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urljoin

from knowledge_mcp.model.document import BlockKind, ReferenceKind
from knowledge_mcp.readers.html.completed import NOTE_MARK, is_note_mark, mark_notes
from knowledge_mcp.readers.html.hidden import UNSAID, take_out_hidden
from knowledge_mcp.readers.html.lines import LineOf, Lines, no_line
from knowledge_mcp.readers.html.parsing import parse_html
from knowledge_mcp.readers.html.tables import (
    MARKER,
    feet_at_the_end,
    is_data_table,
    languages_of_tables,
    lists_of_tables,
)
from knowledge_mcp.readers.shared.containers import Element
from knowledge_mcp.readers.shared.numbering import FORM_NAMES, counted, whole_number
from knowledge_mcp.readers.shared.pieces import (
    Piece,
    at_lines,
    counting,
    heading,
    hidden_piece,
    piece,
    rich_piece,
    with_anchors,
)
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered
from knowledge_mcp.readers.shared.tables import TableCells

_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset figcaption figure"
    " footer form h1 h2 h3 h4 h5 h6 header hgroup hr html legend li main menu nav ol optgroup option p pre search"
    " section select summary table tbody td tfoot th thead title tr ul".split()
)
_EMPHASIS = frozenset({"b", "strong", "u", "i", "em"})
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_HEADING = re.compile(r"h[1-6]")
_MARKER_ALONE = re.compile(r"\(?(?:\d{1,3}|[a-zA-Z]{1,2}|[ivx]{1,5})[.)]")
_NUMBER = re.compile(r"(?:[A-Z]{0,2}\d[\d.]{0,9}[A-Za-z]{0,2}[.)]?)?(?: ?\([A-Za-z\d]{1,5}\)){0,4} ?")
_LONGEST_NUMBER = 20
_LINKS = ("http://", "https://", "mailto:", "#")
_BULLET = "•"
_MOST_NAMES, _MOST_OF_ONE, _LONGEST_NAME = 50_000, 50, 200


def html_pieces(text: str, *, base: str = "", line_of: LineOf | None = None) -> Iterator[Piece]:
    """Write the headings and blocks of a page or a part of one, and count what it hides; errors as `parse_html`."""
    root = parse_html(text)
    hidden = take_out_hidden(root)
    yield from walk_html(root, base=base, line_of=line_of)
    if hidden:
        yield hidden_piece(hidden)


def walk_html(root: Element, *, base: str = "", line_of: LineOf | None = None) -> Iterator[Piece]:
    """Write the headings and blocks of a tree; relative links are resolved against `base`, or the page's own base.

    With `line_of`, blocks have the lines of the file; a heading has those of its element.
    """
    from lxml import etree

    found = next((element.get("href") for element in root.iter("{*}base", "base") if element.get("href")), None)
    feet_at_the_end(root)
    lists_of_tables(root)
    languages_of_tables(root)
    mark_notes(root)
    walk = _Walk(_joined(base, found or ""), line_of)
    for event, element in etree.iterwalk(root, events=("start", "end")):
        tag = element.tag.rpartition("}")[2].lower() if isinstance(element.tag, str) else ""
        if event == "start":
            walk.start(tag, element)
            walk.words(element.text)
        else:
            walk.end(tag, element)
            walk.words(element.tail if element is not root else None)
        yield from walk.taken()
    walk.finish()
    yield from walk.taken()


@dataclass(slots=True)
class _List:
    """An open list: the form of its numbers, empty for bullets, and how it counts."""

    form: str = ""
    count: int = 1
    step: int = 1


def _list_of(element: Element) -> _List:
    """Create the list of an `ol`, with its numbering."""
    step = 1 if element.get("reversed") is None else -1
    first = 1 if step > 0 else sum(1 for item in element if isinstance(item.tag, str) and item.tag.endswith("li"))
    named = (FORM_NAMES.get(name) for name in (element.get("class") or "").lower().split())
    return _List(element.get("type") or next(filter(None, named), "1"), _item_number(element.get("start"), first), step)


def _item_number(text: str | None, default: int) -> int:
    """Read the number of an item, which may be negative."""
    size = whole_number((text or "").removeprefix("-"), None)
    return default if size is None else -size if text and text.startswith("-") else size


class _Walk:
    """The state of the walk over the tree."""

    def __init__(self, base: str, line_of: LineOf | None) -> None:
        self._base = base
        self._lines = Lines(line_of or no_line)
        self._out: list[Piece] = []
        self._rich = RichText()
        self._hidden = 0
        self._pre = 0
        self._heading = 0
        self._number = ""
        self._caption = 0
        self._note = ""
        self._beside: RichText | None = None  # a marker alone, whose text follows
        self._quotes: list[int] = []  # for each open quote, the number of lists around it
        self._terms: list[Piece] = []
        self._above: list[Piece] = []
        self._is_term = False
        self._lists: list[_List] = []
        self._marker = ""
        self._links: list[tuple[int, str] | None] = []
        self._raised: list[str] = []
        self._emphasised: list[int] = []
        self._table: TableCells | None = None
        self._names: list[str] = []
        self._name_count = 0

    def taken(self) -> list[Piece]:
        """Return the finished pieces."""
        out, self._out = self._out, []
        return out

    def start(self, tag: str, element: Element) -> None:
        """Enter an element."""
        self._lines.begin(element)
        if tag in UNSAID:
            self._hidden += 1
        if self._hidden:
            return
        if tag in _BLOCKS and self._table is None:
            self.flush()  # the text before does not get the element's name
        self._name(element)
        if self._table is not None:
            self._in_table(tag, element)
        elif tag == "table" and is_data_table(element):
            self.flush()
            self._flush_terms()
            self._table = TableCells()
        elif tag in _BLOCKS:
            self._block(tag, element)
        if tag == "br":
            self._break()
        elif tag == "img":
            self._rich.add(f" {element.get('alt') or ''} ")
        elif tag == "a":
            self._links.append((len(self._rich), self._target(element)))
        elif tag in {"button", "label"} or self._is_after_number(element):
            self._rich.add(" ")
        if place := _place(tag, element):
            self._raised.append(place)
        if tag in _EMPHASIS:
            self._emphasised.append(len(self._rich))

    def end(self, tag: str, element: Element) -> None:
        """Leave an element."""
        if tag in UNSAID:
            self._hidden -= 1
            return
        if self._hidden:
            return
        if _place(tag, element):
            self._raised.pop()
        if tag in _EMPHASIS and self._emphasised:
            self._rich.stand_out(self._emphasised.pop())
        if tag == "a" and self._links:
            link = self._links.pop()
            if link is not None and link[1]:
                internal = link[1].startswith("#")
                self._rich.mark(link[0], None if internal else ReferenceKind.LINK, link[1])
        if self._table is not None:
            self._end_in_table(tag)
        elif tag in _BLOCKS:
            self.flush()
            self._unblock(tag)

    def words(self, text: str | None) -> None:
        """Add a run of text."""
        if text:
            self._lines.pass_over(text, is_shown=not self._hidden)
        if text and not self._hidden:
            self._rich.add(raised_or_lowered(text, self._raised[-1]) if self._raised else text)

    def finish(self) -> None:
        """Close whatever is still open."""
        self.flush()
        self._flush_terms()
        if self._beside is not None:
            self._paragraph(RichText())

    def flush(self) -> None:
        """Close the open block."""
        rich, self._rich = self._rich, RichText(verbatim=self._pre > 0)
        self._emphasised = [0] * len(self._emphasised)
        self._links = [(0, link[1]) if link else None for link in self._links]
        if rich.is_blank:
            self._out.extend([hidden_piece(rich.hidden)] if rich.hidden else [])
            self._lines.take()
            return
        if self._heading or self._pre or self._caption:
            self._flush_terms()
        if self._heading:
            self._put(counting(heading(rich.text, self._heading, number=self._number), rich))
        elif self._pre:
            self._put(counting(piece(BlockKind.CODE, rich.text.strip("\n")), rich))
        elif self._caption:
            self._put(rich_piece(BlockKind.CAPTION, rich))
        elif self._terms:
            terms, self._terms = self._terms, []
            term = RichText("; ".join(each["text"] for each in terms) + ": ")  # two terms may share a definition
            for each in terms:
                term.hidden.update(each.get("hidden", {}))
            self._names = [name for each in terms for name in each.get("anchors", [])] + self._names
            self._lines.reach_up(line for each in terms for line in each.get("lines", ()))
            term.extend(rich)
            self._put(rich_piece(BlockKind.PARAGRAPH, term))
        elif self._note:
            self._put(rich_piece(BlockKind.FOOTNOTE, rich, marker=self._note))
        elif self._quotes and self._quotes[-1] == len(self._lists):
            self._put(rich_piece(BlockKind.QUOTE, rich))
        elif self._lists:
            marker, self._marker = self._marker, ""
            kind = BlockKind.FOOTNOTE if marker.startswith(NOTE_MARK) else BlockKind.LIST_ITEM
            self._put(rich_piece(kind, rich, marker=marker, depth=len(self._lists) - 1))
        else:
            self._paragraph(rich)

    def _paragraph(self, rich: RichText) -> None:
        """Emit a paragraph; a marker alone begins the next one, which a grid shows beside it."""
        beside, self._beside = self._beside, None
        if beside is not None:
            beside.add(" ")
            beside.extend(rich)
            rich = beside
        elif _MARKER_ALONE.fullmatch(rich.text.strip()):
            self._beside = rich
            return
        self._put(rich_piece(BlockKind.PARAGRAPH, rich))

    def _put(self, written: Piece) -> None:
        """Emit a piece with its lines and the names of its elements and of empty ones directly before it."""
        beside, self._beside = self._beside, None
        self._out.extend([rich_piece(BlockKind.PARAGRAPH, beside)] if beside is not None else [])
        names, self._names = self._names, []
        lines = self._lines.take()
        self._out.append(with_anchors(at_lines(written, *lines) if lines is not None else written, names))

    # ---- blocks

    def _block(self, tag: str, element: Element) -> None:
        self.flush()
        if _HEADING.fullmatch(tag):
            self._heading, self._number = int(tag[1]), element.get(MARKER) or ""
            self._lines.open()
        elif tag == "p":
            self._note = element.get(MARKER) or ""
        elif tag == "pre":
            self._pre += 1
            self._rich = RichText(verbatim=True)
        elif tag in {"figcaption", "caption"}:
            self._caption += 1
        elif tag == "blockquote":
            self._quotes.append(len(self._lists))
        elif tag in _LISTS:
            self._lists.append(_list_of(element) if tag == "ol" else _List())
        elif tag == "li":
            self._marker = self._next_marker(element)
        elif tag == "dt":
            if self._is_term:  # the parser nests a term in the one before it if that has no end tag
                self._unblock(tag)
            self._is_term = True
            self._above, self._terms = self._terms, []

    def _unblock(self, tag: str) -> None:
        if _HEADING.fullmatch(tag):
            self._heading = 0
        elif tag == "p":
            self._note = ""
        elif tag == "pre":
            self._pre = max(self._pre - 1, 0)
            self._rich = RichText(verbatim=self._pre > 0)
        elif tag in {"figcaption", "caption"}:
            self._caption -= 1
        elif tag == "blockquote":
            _ = self._quotes.pop() if self._quotes else None
        elif tag in _LISTS:
            self._lists.pop()
        elif tag == "li":
            self._marker = ""
        elif tag == "dt" and self._is_term:
            # the term waits for its definition
            self._is_term = False
            self._terms, self._above = self._above, []
            if self._out and self._out[-1].get("kind") in {"paragraph", "list_item"}:
                written = self._out.pop()
                written["text"] = written["text"].strip().rstrip(":")
                self._terms.append(written)
        elif tag in {"dd", "dl"}:
            self._flush_terms()

    def _flush_terms(self) -> None:
        for written in self._terms:
            of_list = {"kind", "marker", "depth"}
            self._out.append(
                {"kind": BlockKind.PARAGRAPH.value, **{k: v for k, v in written.items() if k not in of_list}}
            )
        self._terms = []

    def _next_marker(self, element: Element) -> str:
        if stated := element.get(MARKER):
            return stated
        if not self._lists or not self._lists[-1].form:
            return _BULLET
        here = self._lists[-1]
        count = _item_number(element.get("value"), here.count)
        here.count = count + here.step
        return f"{counted(count, element.get('type') or here.form)}."

    # ---- tables

    def _in_table(self, tag: str, element: Element) -> None:
        assert self._table is not None
        if tag == "table":
            self._table.depth += 1
        if self._table.depth > 1:
            self._rich.add(" " if tag in _BLOCKS else "")
        elif tag == "tr":
            self._stray()
            self._table.row()
        elif tag in {"td", "th"}:
            self._stray()
            wide, deep = (whole_number(element.get(name), 1) for name in ("colspan", "rowspan"))
            self._table.open(wide, deep, is_head=tag == "th")
        elif tag == "thead":
            self._table.in_head = True
        elif tag == "caption":
            self._stray()
        elif tag in _BLOCKS:
            self._rich.add(" ")

    def _end_in_table(self, tag: str) -> None:
        assert self._table is not None
        if tag == "table":
            self._table.depth -= 1
            if self._table.depth == 0:
                self._stray()
                table, self._table = self._table, None
                for piece in table.pieces():
                    self._put(piece)
                return
        if self._table.depth > 1:
            self._rich.add(" " if tag in _BLOCKS else "")
        elif tag in {"td", "th"}:
            rich, self._rich = self._rich, RichText()
            self._links = [(0, link[1]) if link else None for link in self._links]
            self._table.close(rich)
        elif tag == "thead":
            self._table.in_head = False
        elif tag == "caption":
            self._stray(BlockKind.CAPTION)
        elif tag in _BLOCKS:
            self._rich.add(" ")

    def _stray(self, kind: BlockKind = BlockKind.PARAGRAPH) -> None:
        """Write words that are in a table but not in a cell before the table."""
        rich, self._rich = self._rich, RichText()
        if not rich.is_blank:
            self._put(rich_piece(kind, rich))

    # ---- words

    def _break(self) -> None:
        if self._table is not None or self._heading:
            self._rich.add(" ")
        elif self._pre:
            self._rich.add("\n")
        else:
            self._rich.break_line()

    def _is_after_number(self, element: Element) -> bool:
        """Return whether an element follows a clause's number, if only a stylesheet separates the two."""
        beside = element.getprevious()
        if beside is None or beside.tail or self._pre or not 0 < len(self._rich) <= _LONGEST_NUMBER:
            return False
        begins = (element.text or "")[:1]
        return (begins.isalpha() or begins == "(") and _NUMBER.fullmatch(self._rich.text) is not None

    def _name(self, element: Element) -> None:
        name = element.get("id") or (element.get("name") if element.tag == "a" else None)
        if name and len(name) <= _LONGEST_NAME and self._name_count < _MOST_NAMES:
            self._names = [*self._names[1 - _MOST_OF_ONE :], name]
            self._name_count += 1

    def _target(self, element: Element) -> str:
        href = " ".join((element.get("href") or "").split())
        if len(href) > 2000:
            return ""
        if href.startswith("#"):
            return href if len(href) > 1 else ""
        joined = _joined(self._base, href) if href else ""
        return joined if joined.lower().startswith(_LINKS) or (joined and ":" not in joined) else ""


def _place(tag: str, element: Element) -> str:
    """Return "sup" or "sub" if an element raises or lowers its words; a mark of a note is raised by some stylesheet."""
    if tag in {"sup", "sub"}:
        return tag
    return "sup" if is_note_mark(element) else ""


def _joined(base: str, href: str) -> str:
    try:
        return urljoin(base, href) if base else href
    except ValueError:
        return href
