"""Markdown inlines to text with references: the words as a reader sees them, without the marks of emphasis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import TYPE_CHECKING

from knowledge_mcp.model.document import ReferenceKind
from knowledge_mcp.readers.markdown.pages import BREAK
from knowledge_mcp.readers.shared.numbering import whole_number
from knowledge_mcp.readers.shared.richtext import RichText, raised_or_lowered
from knowledge_mcp.readers.shared.tables import TableCells

if TYPE_CHECKING:
    from markdown_it.token import Token

_BLOCKS = frozenset(
    "address article aside blockquote center dd details div dl dt fieldset figcaption figure footer form h1 h2 h3 h4 h5"
    " h6 header hr li main nav ol p pre section summary table tbody tfoot thead ul".split()
)
_HIDDEN = frozenset({"script", "style", "template", "noscript"})
_HEADING = re.compile(r"h([1-6])")


@dataclass(slots=True)
class HtmlPiece:
    """One part of an HTML block.

    Attributes:
        kind: "text", "heading", "item", "table" or "image".
        text: its words; empty for a table.
        level: a heading's level from 1.
        rows: a table's cells.
        names: ids and names of its elements and of those directly before it; a piece with only names ends the block.
    """

    kind: str
    text: str = ""
    level: int = 0
    rows: list[list[str]] = field(default_factory=list[list[str]])
    names: list[str] = field(default_factory=list[str])


class _Collector(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[HtmlPiece] = []
        self._words: list[str] = []
        self._kind = HtmlPiece("text")
        self._table: TableCells | None = None
        self._hidden = 0
        self._names: list[str] = []
        self._raised: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _RAISING:
            self._raised.append(tag)
        if tag in _HIDDEN:
            self._hidden += 1
        elif tag == "br":
            self._words.append("\n")
        elif tag == "img":
            self._image(dict(attrs).get("alt"))
        elif tag == "table":
            self.flush()
            self._table = TableCells()
        elif tag == "thead" and self._table is not None:
            self._table.in_head = True
        elif tag == "tr" and self._table is not None:
            self._table.row()
            self._words.clear()
        elif tag in {"td", "th"} and self._table is not None:
            self._words.clear()
            attributes = dict(attrs)
            wide, deep = (whole_number(attributes.get(name), 1) for name in ("colspan", "rowspan"))
            self._table.open(wide, deep, is_head=tag == "th")
        elif tag in _BLOCKS and self._table is None:
            self.flush()
            heading = _HEADING.fullmatch(tag)
            if heading:
                self._kind = HtmlPiece("heading", level=int(heading.group(1)))
            elif tag == "li":
                self._kind = HtmlPiece("item")
        self._names.extend(value for name, value in attrs if value and (name == "id" or (tag, name) == ("a", "name")))

    def handle_endtag(self, tag: str) -> None:
        if tag in self._raised:
            self._raised.remove(tag)
        if tag in _HIDDEN:
            self._hidden = max(self._hidden - 1, 0)
        elif tag == "thead" and self._table is not None:
            self._table.in_head = False
        elif tag in {"td", "th"} and self._table is not None:
            self._table.close(RichText(self._take()))
        elif tag == "table" and self._table is not None:
            self._end_table(self._table)
        elif tag in _BLOCKS and self._table is None:
            self.flush()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self._words.append(raised_or_lowered(data, self._raised[-1] if self._raised else ""))

    def flush(self) -> None:
        """Close the open piece."""
        if self._table is not None:
            self._end_table(self._table)
        piece, self._kind = self._kind, HtmlPiece("text")
        piece.text = self._take()
        if piece.text:
            self._put(piece)

    def finish(self) -> None:
        """Close the open piece; names that nothing follows become a piece."""
        self.flush()
        if self._names:
            self._put(HtmlPiece("text"))

    def _put(self, piece: HtmlPiece) -> None:
        piece.names, self._names = self._names, []
        self.pieces.append(piece)

    def _image(self, text: str | None) -> None:
        if text and self._table is None:
            self.flush()
            self._put(HtmlPiece("image", text=" ".join(text.split())))

    def _end_table(self, table: TableCells) -> None:
        """Keep a real table; one that only lays out a page is text."""
        self._table = None
        rows = [[cell.text for cell in row] for row in table.rows()]
        if len(rows) >= 2 and max(len(row) for row in rows) >= 2:
            self._put(HtmlPiece("table", rows=rows))
        else:
            for cell in (cell for row in rows for cell in row if cell):
                self._put(HtmlPiece("text", text=cell))

    def _take(self) -> str:
        text = "".join(self._words)
        self._words = []
        return re.sub(r"[ \t\n]*\n[ \t\n]*|[ \t]+", lambda m: "\n" if "\n\n" in m.group() else " ", text).strip()


def html_pieces(source: str) -> list[HtmlPiece]:
    """Split an HTML block into pieces; comments, scripts and styles are left out."""
    collector = _Collector()
    collector.feed(_without_open_comment(source))
    collector.close()
    collector.finish()
    return collector.pieces


def _without_open_comment(source: str) -> str:
    """Cut off an unclosed comment: the parser would search for its end again from each of its openings."""
    start = source.find("<!--", source.rfind("-->") + 1)
    return source if start < 0 else source[:start]


def inline_text(tag: str) -> str:
    """Return what an inline tag shows: a line end for `<br>`, else nothing."""
    return "\n" if re.match(r"<br\b", tag, re.IGNORECASE) else ""


_RAISING = frozenset({"sup", "sub"})
_TAG = re.compile(r"<(?P<end>/?)(?P<name>su[pb])\b", re.IGNORECASE)
_LETTERED_ITEM = re.compile(r"\(?(?:[a-z]|[ivx]{1,4}|\d{1,2})\)\s")
_NAME = re.compile(r"<(?:a\s[^>]{0,1000}?\bname|\w{1,30}+\s[^>]{0,1000}?\bid)\s*=\s*[\"']?([^\"'\s>]+)", re.IGNORECASE)


def inline_rich(tokens: Sequence[Token]) -> RichText:
    """Write inline tokens as text; links become references, images their alternative text."""
    rich = RichText()
    links: list[tuple[int, str]] = []
    emphasised: list[int] = []
    place = ""
    for index, token in enumerate(tokens):
        kind = token.type
        if kind in {"text", "code_inline", "text_special"}:
            _add(rich, raised_or_lowered(token.content, place))
        elif kind == "softbreak":
            _soft_break(rich, tokens, index)
        elif kind == "hardbreak":
            rich.break_line()
        elif kind == "html_inline":
            tag = _TAG.match(token.content)
            place = place if tag is None else "" if tag["end"] else tag["name"].lower()
            if inline_text(token.content):
                rich.break_line()
        elif kind == "image":
            rich.add(token.content)
        elif kind == "link_open":
            links.append((len(rich), str(token.attrs.get("href", ""))))
        elif kind == "link_close" and links:
            start, target = links.pop()
            rich.mark(start, None if target.startswith("#") else ReferenceKind.LINK, target)
        elif kind in {"strong_open", "em_open"}:
            emphasised.append(len(rich))
        elif kind in {"strong_close", "em_close"} and emphasised:
            rich.stand_out(emphasised.pop())
        elif kind == "footnote_ref":
            rich.add(f"[^{footnote_label(token)}]")
    return rich


def _add(rich: RichText, text: str) -> None:
    first, *others = text.split(BREAK)
    rich.add(first)
    for piece in others:
        rich.break_page()
        rich.add(piece)


def _soft_break(rich: RichText, tokens: Sequence[Token], index: int) -> None:
    """Join lines with a blank, but keep the line end before a list item that Markdown does not support ("a)")."""
    following = tokens[index + 1].content.lstrip(BREAK) if index + 1 < len(tokens) else ""
    if _LETTERED_ITEM.match(following):
        rich.break_line()
    else:
        rich.add(" ")


def footnote_label(token: Token) -> str:
    """Return a footnote's label as written, or its number if it has none."""
    meta: dict[str, object] = token.meta
    label = meta.get("label")
    number = meta.get("id")
    return str(label) if label else str(number + 1 if isinstance(number, int) else 1)


def image_alone(tokens: Sequence[Token]) -> bool:
    """Return whether a paragraph contains only pictures."""
    shown = [token for token in tokens if token.type not in {"softbreak", "hardbreak", "link_open", "link_close"}]
    return bool(shown) and all(t.type == "image" or (t.type == "text" and not t.content.strip()) for t in shown)


def anchor_names(tokens: Sequence[Token]) -> list[str]:
    """Return the names in inline tokens: of `<a name="...">` and the ids of tags."""
    names: list[str] = []
    for token in tokens:
        if token.type == "html_inline":
            names.extend(_NAME.findall(token.content))
    return names
