"""Markdown tokens to headings and blocks, each with its source lines."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from knowledge_mcp.language.clauses import SectionLevels, following_numbers
from knowledge_mcp.language.openings import (
    NumberedTitle,
    caption_label,
    caption_target,
    example_label,
    note_label,
    section_target,
    split_clause_number,
)
from knowledge_mcp.model.document import BlockKind, HeadingSource, Reference, ReferenceKind
from knowledge_mcp.readers.markdown.contents import plain_words
from knowledge_mcp.readers.markdown.inline import HtmlPiece, anchor_names, html_pieces, image_alone, inline_rich
from knowledge_mcp.readers.markdown.numbered import titles_before_text
from knowledge_mcp.readers.markdown.pages import PageLines
from knowledge_mcp.readers.shared.assembly import DocumentBuilder
from knowledge_mcp.readers.shared.richtext import RichText, lay, table_text

if TYPE_CHECKING:
    from markdown_it.token import Token

_BULLET = "•"
_ATTRIBUTES = re.compile(r"(?:(?<!\s)\s++)?\{:?\s*+(?:#(?P<id>[\w.:-]++))?+(?P<pairs>[^{}]*+)\}\s*$")
_CLOSING_MARKS = re.compile(r"(?<![\s#])[ \t]++#+\s*\Z")
"""The closing marks of a heading, which the parser reads as words if attributes follow: `## Scope ## {#scope}`."""
_ESCAPED_MARK = re.compile(r"\\#\s*+\{[^{}]*\}\s*\Z")
_LEVEL = re.compile(r"(?:^|\s)level=\"?(\d{1,3})\"?(?=\s|$)")
_MOST_HEADING_LINES, _LONGEST_HEADING = 2, 300
"""Most lines and characters of an underlined heading; a longer one is a paragraph above a rule."""
_NUMBER = re.compile(r"(?:^|\s)number=(\"[^\"]*\"|\S+)")
_ALERT = re.compile(r"\[!(?P<kind>NOTE|TIP|IMPORTANT|WARNING|CAUTION|EXAMPLE)\]\s*", re.IGNORECASE)
_MDX_CODE = re.compile(r"(?:import|export)\s.+")


@dataclass(slots=True)
class _List:
    ordered: bool


@dataclass(slots=True)
class _Term:
    """A term that waits for its definition, and where it is."""

    text: RichText
    lines: tuple[int, int] | None
    pages: tuple[int, ...]


def _is_ruled_text(token: Token, inline: Token) -> bool:
    """Return whether CommonMark's heading is text above a line of hyphens, judged by its lines or length."""
    is_long = inline.content.count("\n") + 1 > _MOST_HEADING_LINES or len(inline.content) > _LONGEST_HEADING
    return token.markup in {"-", "="} and is_long


class _Declared(NamedTuple):
    """A heading: its words, their parts, and what its attributes set, as in `{: #id level="7" number="5.3"}`."""

    words: str
    parts: NumberedTitle
    is_numbered: bool = False
    level: int = 0
    name: str = ""


def _declared(words: str, content: str) -> _Declared:
    """Read a heading; `content` is its Markdown."""
    attributes = _ATTRIBUTES.search(words)
    if attributes is None or content.rstrip().endswith("\\}"):
        return _Declared(words, split_clause_number(words))
    words = words[: attributes.start()]
    if not _ESCAPED_MARK.search(content):
        words = _CLOSING_MARKS.sub("", words)
    parts = split_clause_number(words)
    number, depth = _NUMBER.search(attributes["pairs"]), _LEVEL.search(attributes["pairs"])
    if number:
        given = number.group(1).strip('"')
        shown = " ".join(words.split())
        title = shown.removeprefix(given).lstrip(" .):,;") if given else shown
        parts = NumberedTitle(given or None, title or shown, parts.informative, parts.keyword if given else "")
    return _Declared(words, parts, number is not None, int(depth[1]) if depth else 0, attributes["id"] or "")


def _following_numbers(tokens: Sequence[Token]) -> dict[int, str | None]:
    """Return the number of the next numbered heading for each heading, by the `id` of its inline token."""
    pairs = itertools.pairwise(tokens)
    headings = [inline for token, inline in pairs if token.type == "heading_open" and token.level == 0]
    numbers = [_declared(plain_words(each).strip(), each.content).parts.number for each in headings]
    return dict(zip(map(id, headings), following_numbers(numbers), strict=True))


def _is_quoted(label: str) -> bool:
    """Return whether a box with this label is a note, an example or a quotation."""
    opening = f"{label}: x"
    return label == "Quote" or note_label(opening) is not None or example_label(opening) is not None


class MarkdownWalker:
    """Convert tokens: iterate over `walk` with all tokens, then call `finish` once.

    `first_line` is the number of the tokens' first line.
    """

    def __init__(
        self, builder: DocumentBuilder, *, first_line: int = 1, is_mdx: bool = False, marks: PageLines | None = None
    ) -> None:
        self._builder = builder
        self._first_line = first_line
        self._marks = marks or PageLines()
        self._is_mdx = is_mdx
        self._lists: list[_List] = []
        self._quotes: list[str | None] = []
        self._boxes: list[str] = []
        self._marker: str | None = None
        self._term: _Term | None = None
        self._footnote: str | None = None
        self._levels = SectionLevels()
        self._following: dict[int, str | None] = {}
        self._titles: dict[int, int] = {}
        self._anchors: dict[str, tuple[ReferenceKind, str]] = {}
        self._slugs: dict[str, int] = {}
        self._waiting_names: list[str] = []
        self._pending: list[Reference] = []
        self._lines: tuple[int, int] | None = None
        self._pages: tuple[int, ...] = ()
        self.title = ""

    def walk(self, tokens: Sequence[Token]) -> Iterator[None]:
        """Convert all block tokens in order; yields at the end of each top-level block."""
        self._following, self._titles = _following_numbers(tokens), titles_before_text(tokens)
        index = 0
        while index < len(tokens):
            token = tokens[index]
            # a definition list's term, which is one line, has an empty range
            if token.map is not None and (token.map[1] > token.map[0] or token.type == "dt_open"):
                first = self._marks.original(token.map[0])
                last = self._marks.original(max(token.map[1] - 1, token.map[0]))
                self._lines = (self._first_line + first, self._first_line + last)
                self._pages = self._marks.on(first, last)
            if token.type == "table_open":
                stop = next(k for k in range(index, len(tokens)) if tokens[k].type == "table_close")
                self._table(tokens[index:stop])
                index = stop
            elif token.type == "heading_open" and not _is_ruled_text(token, tokens[index + 1]):
                self._heading(int(token.tag[1]), tokens[index + 1])
                index += 2
            elif token.type in {"paragraph_open", "dt_open", "heading_open"}:
                self._text(token, tokens[index + 1])
                index += 2
            else:
                self._structure(token)
            if token.level == 0:
                yield
            index += 1

    def finish(self) -> None:
        """Resolve the links within the document."""
        self._flush_term()
        for reference in self._pending:
            known = self._anchors.get(reference.target.removeprefix("#").lower())
            kind, target = known or (ReferenceKind.LINK, reference.target)
            self._builder.reference(Reference(reference.text, kind, target, reference.span))

    # ---- structure

    def _structure(self, token: Token) -> None:
        kind = token.type
        if kind in {"bullet_list_open", "ordered_list_open"}:
            self._lists.append(_List(kind == "ordered_list_open"))
        elif kind in {"bullet_list_close", "ordered_list_close"}:
            self._lists.pop()
        elif kind == "list_item_open":
            self._marker = f"{token.info}{token.markup}" if self._lists[-1].ordered else _BULLET
        elif kind == "list_item_close":
            self._marker = None
        elif kind == "blockquote_open":
            self._quotes.append(None)
        elif kind == "blockquote_close":
            self._quotes.pop()
        elif kind in {"box_open", "box_close"}:
            self._box(token)
        elif kind == "fence":
            self._add_block(BlockKind.CODE, RichText(token.content.rstrip("\n"), verbatim=True))
        elif kind == "code_block":
            self._indented_code(token)
        elif kind == "html_block":
            self._html(token.content)
        elif kind in {"footnote_reference_open", "footnote_reference_close"}:
            meta: dict[str, object] = token.meta
            self._footnote = f"[^{meta.get('label')}]" if token.nesting == 1 else None
        elif kind == "dl_close":
            self._flush_term()

    def _box(self, token: Token) -> None:
        """Open or close a box.

        The content of a note, an example or a quotation is read as such; that of other boxes as it is.
        """
        if token.nesting == 1:
            self._boxes.append(token.info)
            if _is_quoted(token.info):
                self._quotes.append(None if token.info == "Quote" else token.info)
        elif _is_quoted(self._boxes.pop()):
            self._quotes.pop()

    # ---- headings

    def _heading(self, level: int, inline: Token) -> None:
        children = inline.children or []
        rich = inline_rich(children)
        if self._quotes or self._lists or any(self._boxes):
            self._waiting_names.extend(anchor_names(children))
            self._block(rich)
            return
        self._waiting_names.extend(anchor_names(children))
        self._builder.leave_out(rich.hidden)
        self._section(level, _declared(rich.text.strip(), inline.content), self._following.get(id(inline)))

    def _section(self, level: int, declared: _Declared, following: str | None = None) -> None:
        words, parts = declared.words, declared.parts
        names, self._waiting_names = [*self._waiting_names, *filter(None, [declared.name])], []
        depth = declared.level or self._levels.of(parts, level, following)
        shown = " ".join(words.split())
        printed = shown if declared.is_numbered else parts.printed(shown)
        span = self._builder.heading(
            parts.title,
            level=depth,
            source=HeadingSource.MARKUP,
            number=parts.number,
            informative=parts.informative,
            printed=printed,
            pages=self._pages,
            lines=self._lines,
        )
        if span is None:
            return
        self._levels.open(parts, depth)
        if depth == 1 and not self.title:
            self.title = shown
        self._name(shown, parts, names, span.start)

    def _name(self, words: str, parts: NumberedTitle, names: Sequence[str], place: int) -> None:
        """Record the names by which links may refer to a section: its slug and its explicit anchors."""
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        seen = self._slugs.get(slug, 0)
        self._slugs[slug] = seen + 1
        names = [f"{slug}-{seen}" if seen else slug, *names]
        self._builder.anchor(names, place)
        for name in names:
            if parts.number is None:
                self._anchors.setdefault(name.lower(), (ReferenceKind.LINK, f"#{name}"))
            else:
                self._anchors.setdefault(name.lower(), section_target(parts))

    # ---- text

    def _text(self, token: Token, inline: Token) -> None:
        children = inline.children or []
        rich = inline_rich(children)
        if token.type == "dt_open":
            self._flush_term()
            self._term = _Term(rich, self._lines, self._pages)
            return
        self._waiting_names.extend(anchor_names(children))
        if rich.is_blank:
            self._builder.leave_out(rich.hidden)
            return
        if (attributes := _ATTRIBUTES.fullmatch(inline.content)) and attributes["id"]:
            self._waiting_names.append(attributes["id"])  # of the heading above, or of what follows
        elif self._is_mdx and all(_MDX_CODE.fullmatch(line) for line in inline.content.split("\n")):
            self._add_block(BlockKind.CODE, RichText(inline.content, verbatim=True))
        elif image_alone(children):
            self._add_block(BlockKind.CAPTION, rich, marker=caption_label(rich.text) or "")
        else:
            rich.lead = max(rich.lead, self._titles.get(id(inline), 0))
            self._block(rich)

    def _block(self, rich: RichText) -> None:
        """Write a paragraph as the kind of block that its context and its beginning indicate."""
        if self._term is not None:
            term, self._term = self._term, None
            if term.lines is not None and self._lines is not None:
                self._lines = (term.lines[0], self._lines[1])
            self._pages = tuple(dict.fromkeys((*term.pages, *self._pages)))
            term.text.add(" " if term.text.text.rstrip().endswith(":") else ": ")
            term.text.extend(rich)
            rich = term.text
        if self._footnote is not None:
            note = RichText(f"{self._footnote} ")
            note.extend(rich)
            self._add_block(BlockKind.FOOTNOTE, note, marker=self._footnote)
        elif self._quotes:
            self._quoted(rich)
        elif (label := note_label(rich.text)) is not None:
            self._add_block(BlockKind.NOTE, self._with_marker(rich), marker=label)
        elif (label := example_label(rich.text)) is not None:
            self._add_block(BlockKind.EXAMPLE, self._with_marker(rich), marker=label)
        elif self._lists:
            marker, self._marker = self._marker or "", None
            self._add_block(BlockKind.LIST_ITEM, rich, marker=marker, depth=len(self._lists) - 1)
        elif (label := caption_label(rich.text)) is not None:
            self._name_caption(label)
            self._add_block(BlockKind.CAPTION, rich, marker=label)
        else:
            self._add_block(BlockKind.PARAGRAPH, rich)

    def _name_caption(self, label: str) -> None:
        target = caption_target(label)
        if target is not None:
            for name in self._waiting_names:
                self._anchors.setdefault(name.lower(), target)

    def _quoted(self, rich: RichText) -> None:
        """Write a quotation; one that begins as a note ("[!NOTE]", "Note:") is a note to its end."""
        alert = _ALERT.match(rich.text)
        label = note_label(rich.text) or example_label(rich.text)
        if alert:
            label = alert.group("kind").upper()
            shown = RichText(f"{label} ")
            shown.add(rich.text[alert.end() :])
            shift = len(label) + 1 - alert.end()
            for mark in rich.marks:
                shown.mark_range(mark.start + shift, mark.end + shift, mark.kind, mark.target)
            rich = shown
        if label is not None:
            self._quotes[-1] = label
        within = self._quotes[-1]
        kind = BlockKind.QUOTE if within is None else BlockKind.NOTE
        if within is not None and within.upper().startswith("EXAMPLE"):
            kind = BlockKind.EXAMPLE
        self._add_block(kind, self._with_marker(rich), marker=within or "")

    def _with_marker(self, rich: RichText) -> RichText:
        """Put the open list item's label before a text whose block is not a list item."""
        if not self._marker:
            return rich
        shown = RichText(f"{self._marker} ")
        shown.extend(rich)
        self._marker = None
        return shown

    def _flush_term(self) -> None:
        term, self._term = self._term, None
        if term is not None:
            here, self._lines, self._pages = (self._lines, self._pages), term.lines, term.pages
            self._add_block(BlockKind.PARAGRAPH, term.text)
            self._lines, self._pages = here

    # ---- tables and HTML

    def _table(self, tokens: Sequence[Token]) -> None:
        rows: list[list[RichText]] = []
        at_break = False
        for token in tokens:
            if token.type == "tr_open":
                rows.append([])
                at_break = token.map is not None and self._marks.breaks_before(self._marks.original(token.map[0]))
            elif token.type == "inline":
                self._waiting_names.extend(anchor_names(token.children or []))
                cell = inline_rich(token.children or [])
                if at_break:
                    cell.breaks.insert(0, 0)
                    at_break = False
                rows[-1].append(cell)
        self._add_block(BlockKind.TABLE, table_text(rows))

    def _html(self, source: str) -> None:
        for piece in html_pieces(source):
            self._waiting_names.extend(piece.names)
            if piece.text or piece.rows:
                self._html_piece(piece)

    def _html_piece(self, piece: HtmlPiece) -> None:
        if piece.kind == "heading" and not (self._quotes or self._lists or any(self._boxes)):
            self._section(piece.level, _Declared(piece.text, split_clause_number(piece.text)))
        elif piece.kind == "table":
            self._add_block(BlockKind.TABLE, table_text([[RichText(cell) for cell in row] for row in piece.rows]))
        elif piece.kind == "item":
            self._add_block(BlockKind.LIST_ITEM, RichText(piece.text), marker=_BULLET, depth=len(self._lists))
        elif piece.kind == "image":
            self._add_block(BlockKind.CAPTION, RichText(piece.text), marker=caption_label(piece.text) or "")
        else:
            self._block(RichText(piece.text))

    def _indented_code(self, token: Token) -> None:
        """Write the lines of each page as a separate block: a marker between them is not code, and ends nothing."""
        words = token.content.rstrip("\n").split("\n")
        start = token.map[0] if token.map is not None else 0
        places = [self._marks.original(start + k) for k in range(len(words))]
        for pages, run in itertools.groupby(
            zip(places, words, strict=True), key=lambda line: self._marks.on(line[0], line[0])
        ):
            lines = list(run)
            written = [place for place, text in lines if text.strip()]
            if written:
                self._pages = pages
                self._lines = (self._first_line + written[0], self._first_line + written[-1])
                self._add_block(BlockKind.CODE, RichText("\n".join(text for _, text in lines), verbatim=True))

    def _add_block(self, kind: BlockKind, rich: RichText, *, marker: str = "", depth: int = 0) -> None:
        self._flush_term()  # its definition does not begin with a paragraph
        span, pending = lay(self._builder, kind, rich, marker=marker, depth=depth, lines=self._lines, pages=self._pages)
        self._pending.extend(pending)
        if span is not None:
            self._builder.anchor(self._waiting_names, span.start)
            self._waiting_names = []
