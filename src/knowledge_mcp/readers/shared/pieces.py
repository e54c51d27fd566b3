"""What a child process sends about a file, and how a document is built from it.

The child writes headings and blocks as plain values (`heading`, `piece`) and limits what it sends (`messages`); the
parent (`DocumentAssembly`) builds the document. Formats other than Markdown are not converted to it: nothing has to be
escaped, and a table of a million cells is one text.
"""

from __future__ import annotations

import bisect
import dataclasses
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, cast

from knowledge_mcp.language.openings import (
    NumberedTitle,
    caption_label,
    caption_target,
    example_label,
    explains_symbols,
    note_label,
    section_target,
    split_clause_number,
)
from knowledge_mcp.language.requirements.specified import specification_items
from knowledge_mcp.model.document import (
    BlockKind,
    DeclaredLink,
    Document,
    HeadingSource,
    Reference,
    ReferenceKind,
    RequirementItem,
    Span,
)
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.assembly import (
    MOST_TEXT,
    SURROGATE,
    DocumentBuilder,
    parse_document_type,
    proposed_id,
)
from knowledge_mcp.readers.shared.richtext import LastBlock, RichText, lay
from knowledge_mcp.support.sandbox_worker import Refusal

Piece: TypeAlias = dict[str, Any]

MOST_BLOCKS = 400_000
BATCH = 200_000
"""Characters of text after which a message is sent."""


# ---- child process --------------------------------------------------------------------------------------------------


def heading(title: str, level: int, *, plain: bool = False, number: str = "") -> Piece:
    """Write a heading; with `plain` it is only a name: it is not searched for a clause number, and is not a title.

    `number` is what the file marks as the number at the beginning of the title.
    """
    written: Piece = {"heading": title, "level": level}
    if number:
        written["number"] = number
    if plain:
        written["plain"] = True
    return written


def with_anchors(written: Piece, names: Sequence[str]) -> Piece:
    """Add the names by which links refer to a heading or a block."""
    if names:
        written["anchors"] = list(names)
    return written


def page_piece(number: int) -> Piece:
    """Begin a page; what follows is on it."""
    return {"page": number}


def piece(kind: BlockKind, text: str, *, marker: str = "", depth: int = 0) -> Piece:
    """Write one block."""
    written: Piece = {"kind": kind.value, "text": text}
    if marker:
        written["marker"] = marker
    if depth:
        written["depth"] = depth
    return written


def at_lines(written: Piece, first: int, last: int, rows: Sequence[int] = ()) -> Piece:
    """Add the lines of the file, or rows of the sheet, of a block, from 1; `rows` as in `Block`."""
    written["lines"] = [first, last]
    if rows:
        written["rows"] = list(rows)
    return written


def rich_piece(kind: BlockKind, rich: RichText, *, marker: str = "", depth: int = 0) -> Piece:
    """Write one block with its links."""
    written = piece(kind, rich.text, marker=marker, depth=depth)
    if rich.marks:
        written["links"] = [[mark.start, mark.end, mark.target] for mark in rich.marks]
    if rich.lead:
        written["lead"] = rich.lead
    return counting(written, rich)


def with_texts(table: Piece, texts: Sequence[Piece]) -> Piece:
    """Add the paragraphs that a table is if the symbols of a formula are explained below the text before it."""
    if texts:
        table["texts"] = list(texts)
    return table


def _settled(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces, with paragraphs in place of tables that explain symbols."""
    explains = False
    for each in pieces:
        texts = each.pop("texts", ())
        if explains and texts:
            texts[0].update((key, each[key]) for key in ("anchors", "lines") if key in each)
            yield from texts
        else:
            yield each
        explains = each.get("kind") == BlockKind.PARAGRAPH and explains_symbols(each["text"].strip())


def counting(written: Piece, rich: RichText) -> Piece:
    """Add the count of hidden characters that were left out of a heading or a block."""
    if rich.hidden:
        written["hidden"] = dict(rich.hidden)
    return written


def table_piece(rows: Iterable[Sequence[str]]) -> Piece:
    """Write rows as one Markdown table, the first one as its header; rows end at their last filled cell.

    Short rows stay short: Markdown treats missing cells as empty.
    """
    lines: list[str] = []
    widest = 0
    for row in rows:
        cells = [_cell(cell) for cell in row]
        while cells and not cells[-1]:
            cells.pop()
        widest = max(widest, len(cells))
        lines.append("| " + " | ".join(cells) + " |" if cells else "|  |")
    if lines:
        missing = widest - max(lines[0].replace("\\|", "").count("|") - 1, 0)
        lines[0] += "  |" * missing
        lines.insert(1, "|" + " --- |" * widest)
    return piece(BlockKind.TABLE, "\n".join(lines))


def _cell(text: str) -> str:
    flat = " ".join(text.split()) if not text.isalnum() else text
    return flat.replace("|", "\\|") if "|" in flat else flat


def facts(*, title: str = "", metadata: Mapping[str, str] | None = None, warnings: Sequence[str] = ()) -> Piece:
    """Write facts about the document as a whole; later ones add to earlier ones."""
    return {"facts": {"title": title, "metadata": dict(metadata or {}), "warnings": list(warnings)}}


def hidden_piece(counted: Mapping[str, int]) -> Piece:
    """Write how many hidden characters were left out, by `HiddenReason`; counts add up."""
    return {"hidden": {str(reason): count for reason, count in counted.items() if count}}


def messages(pieces: Iterable[Piece]) -> Iterator[dict[str, Any]]:
    """Send pieces in batches, and facts immediately.

    Raises:
        Refusal: there is more than a document may hold; or there is no text.
    """
    batch: list[Piece] = []
    size, sent, blocks = 0, 0, 0
    for each in _settled(pieces):
        if "facts" in each or each.keys() == {"hidden"}:
            yield each
            continue
        length = len(each.get("text", "")) + len(each.get("heading", ""))
        size += length
        sent += length
        blocks += 1
        if sent > MOST_TEXT or blocks > MOST_BLOCKS:
            raise too_much()
        batch.append(each)
        if size > BATCH:
            yield {"blocks": batch}
            batch, size = [], 0
    if batch:
        yield {"blocks": batch}
    if not sent:
        raise Refusal("empty", "The file has no text.", suggestion="Exclude it, or check that it is the right file.")


def too_much() -> Refusal:
    """Return the refusal of a file with more text than a document may hold."""
    return Refusal(
        "too_large",
        f"It contains more than {MOST_TEXT // 1_000_000} million characters or {MOST_BLOCKS} blocks of text.",
        suggestion="Split it into several files.",
    )


# ---- child process, for readers that need positions in the text -----------------------------------------------------


class RecordingBuilder(DocumentBuilder):
    """Build a document in the child, and record the calls so that the parent can repeat them.

    References and names need the spans of the text, so the child builds the text itself. The parent computes its own
    spans, sections and pages.

    Attributes:
        calls: the calls since `taken` was called, with their arguments.
        within: whether a call is in progress.
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, list[object], dict[str, object]]] = []
        self.within = False
        self._sent = 0

    def taken(self, *, least: int = 0) -> Iterator[dict[str, Any]]:
        """Yield a message with the recorded calls, unless their text has fewer characters than `least`.

        Raises:
            Refusal: the whole is more than a document may hold.
        """
        if self.length > MOST_TEXT:
            raise too_much()
        if self.calls and self.length - self._sent >= least:
            yield {"calls": self.calls}
            self.calls, self._sent = [], self.length


def _recorded(method: Callable[..., Any]) -> Callable[..., Any]:
    """Make a method of the builder record its calls; nested calls are not recorded."""

    def call(self: RecordingBuilder, *given: object, **named: object) -> object:
        outermost, self.within = not self.within, True
        if outermost:
            self.calls.append((method.__name__, [_plain(each) for each in given], named))
        try:
            return method(self, *given, **named)
        finally:
            self.within = not outermost

    return call


for _name in ("heading", "block", "page", "reference", "anchor", "warn", "leave_out"):
    setattr(RecordingBuilder, _name, _recorded(getattr(DocumentBuilder, _name)))


def _plain(value: object) -> object:
    if isinstance(value, Reference):
        return [value.text, value.kind, value.target, value.span.start, value.span.end]
    return {**cast("Mapping[str, object]", value)} if isinstance(value, Mapping) else value


# ---- parent process -------------------------------------------------------------------------------------------------


@dataclasses.dataclass(slots=True)
class DocumentAssembly:
    """Take a child's messages and build the document; `untitled` if its first heading is not a title.

    `pages` is the page that has begun, if there are any.
    """

    builder: DocumentBuilder = dataclasses.field(default_factory=DocumentBuilder)
    title: str = ""
    headline: str = ""
    untitled: bool = False
    pages: tuple[int, ...] = ()
    metadata: dict[str, str] = dataclasses.field(default_factory=dict[str, str])
    _anchors: dict[str, tuple[ReferenceKind, str]] = dataclasses.field(
        default_factory=dict[str, tuple[ReferenceKind, str]]
    )
    _pending: list[Reference] = dataclasses.field(default_factory=list[Reference])
    _last: LastBlock = dataclasses.field(default_factory=LastBlock)
    _waiting: list[str] = dataclasses.field(default_factory=list[str])
    _items: list[RequirementItem] = dataclasses.field(default_factory=list[RequirementItem])
    _items_by_name: list[tuple[str, RequirementItem]] = dataclasses.field(
        default_factory=list[tuple[str, RequirementItem]]
    )

    def take(self, message: Mapping[str, Any]) -> None:
        """Add the content of one message."""
        for each in message.get("blocks", ()):
            self.builder.leave_out(each.get("hidden", {}))
            if "heading" in each:
                self._heading(each)
            elif "page" in each:
                self.pages = (int(each["page"]),)
                self.builder.page(*self.pages)
            else:
                self._block(each)
        for name, given, named in message.get("calls", ()):
            _call(self.builder, name, given, named)
        self.untitled = message.get("untitled", self.untitled)
        self._items_by_name += [(each["anchor"], item_of(each)) for each in message.get("items", ())]
        stated = message.get("facts")
        self.builder.leave_out(message.get("hidden", {}))
        if stated:
            self.title = stated["title"] or self.title
            self.metadata.update(stated["metadata"])
            for sentence in stated["warnings"]:
                self.builder.warn(sentence)

    def build(self, item: SourceItem) -> Document:
        """Build the document; its title is its property, else its first heading of level 1, else its file name."""
        for reference in self._pending:
            known = self._anchors.get(reference.target.removeprefix("#").lower())
            kind, target = known or (ReferenceKind.LINK, reference.target)
            self.builder.reference(dataclasses.replace(reference, kind=kind, target=target))
        document_type, sentence = parse_document_type(self.metadata)
        if sentence:
            self.builder.warn(sentence)
        document = self.builder.build(
            item,
            title=self.title or self.headline,
            id=proposed_id(self.metadata, item.name),
            document_type=document_type,
            metadata=self.metadata,
        )
        places = {each.name: Span(each.place, each.place) for each in document.anchors}
        placed = [dataclasses.replace(each, span=places.get(name, Span(0, 0))) for name, each in self._items_by_name]
        items = [*self._items, *placed] or [*specification_items(document)]
        return dataclasses.replace(document, items=tuple(_reaching(items, document))) if items else document

    def _heading(self, each: Piece) -> None:
        words, level = " ".join(each["heading"].split()), int(each["level"])
        names, lines = self._names_of(each), _lines_of(each)
        if "item" in each:
            item = item_of(each["item"])
            span = self.builder.heading(
                words,
                level=level,
                source=HeadingSource.MARKUP,
                number=item.id,
                informative=item.informative,
                pages=self.pages,
                lines=lines,
            )
            self._items.append(dataclasses.replace(item, span=span or Span(0, 0)))
            return
        if each.get("plain"):
            span = self.builder.heading(words, level=level, source=HeadingSource.MARKUP, pages=self.pages, lines=lines)
            self._name(names, span)
            return
        if level == 1 and not self.headline:
            self.headline = words
        parts = _numbered(words, each.get("number", ""))
        span = self.builder.heading(
            parts.title,
            level=level,
            source=HeadingSource.MARKUP,
            number=parts.number,
            informative=parts.informative,
            printed=parts.printed(words),
            pages=self.pages,
            lines=lines,
        )
        self._name(names, span)
        for name in names:
            target = (ReferenceKind.LINK, f"#{name}") if parts.number is None else section_target(parts)
            self._anchors.setdefault(name.lower(), target)

    def _block(self, each: Piece) -> None:
        kind, text, marker = BlockKind(each["kind"]), each["text"], each.get("marker", "")
        if kind is BlockKind.PARAGRAPH:
            kind, marker = _labelled(text)
        elif kind is BlockKind.CAPTION:
            marker = caption_label(text) or ""
        part = self._last.mark_in(kind, text)
        names = self._names_of(each)
        captioned = caption_target(marker) if kind is BlockKind.CAPTION else None
        if captioned is not None:
            for name in names:
                self._anchors.setdefault(name.lower(), captioned)
        links, lines = each.get("links"), _lines_of(each)
        if not links:
            span = self.builder.block(
                kind,
                f"{text[:part]} {text[part:]}" if part else text,
                marker=marker,
                depth=each.get("depth", 0),
                pages=self.pages,
                lines=lines,
                rows=each.get("rows", ()),
                lead=each.get("lead", 0),
            )
            self._name(names, span)
            return
        rich = RichText(text, verbatim=True)
        rich.lead = each.get("lead", 0)
        for start, end, target in links:
            rich.mark_range(start, end, None if target.startswith("#") else ReferenceKind.LINK, target)
        if part:
            rich.part(part)
        span, pending = lay(
            self.builder, kind, rich, marker=marker, depth=each.get("depth", 0), lines=lines, pages=self.pages
        )
        self._name(names, span)
        self._pending.extend(pending)

    def _names_of(self, each: Piece) -> list[str]:
        """Return a piece's names, with those of the pieces before it that had no text."""
        waiting, self._waiting = self._waiting, []
        return [*waiting, *each.get("anchors", ())]

    def _name(self, names: list[str], span: Span | None) -> None:
        if span is None:
            self._waiting = names
        else:
            self.builder.anchor(names, span.start)


def _call(builder: DocumentBuilder, name: str, given: Sequence[Any], named: dict[str, Any]) -> None:
    """Repeat a call of a `RecordingBuilder`; raises ValueError if a reference or a name is outside the text."""
    options = dict(named)
    if "lines" in options:
        options["lines"] = _lines_of(options)
    match name, *given:
        case "heading", title:
            options["source"] = HeadingSource(options["source"])
            builder.heading(title, **options)
        case "block", kind, text:
            builder.block(BlockKind(kind), text, **options)
        case "reference", (text, kind, target, start, end) if 0 <= start <= end <= builder.length:
            builder.reference(Reference(text, ReferenceKind(kind), target, Span(start, end)))
        case "anchor", names, place if 0 <= place <= builder.length:
            builder.anchor(names, place)
        case "page", number:
            builder.page(number, **options)
        case "warn", sentence:
            builder.warn(sentence)
        case "leave_out", counted:
            builder.leave_out(counted)
        case _:
            raise ValueError(f"no such call: {name}")


_STATED_NUMBER = re.compile(r"(?:[^\W\d_]+\.?\s+)?(?:§+\s*)?(\d[\w.-]*)")


def _numbered(words: str, stated: str) -> NumberedTitle:
    """Separate a heading's number from its title; a number that only the markup states ("1001") is used if valid."""
    parts = split_clause_number(words)
    found = _STATED_NUMBER.fullmatch(" ".join(stated.split())) if stated and parts.number is None else None
    if found is None:
        return parts
    title = words.removeprefix(" ".join(stated.split())).strip()
    return dataclasses.replace(parts, number=found.group(1).rstrip(".-"), title=title) if title else parts


def _lines_of(each: Mapping[str, Any]) -> tuple[int, int] | None:
    return (int(each["lines"][0]), int(each["lines"][1])) if each.get("lines") else None


def item_of(fields: Mapping[str, Any], name: str = "") -> RequirementItem:
    """Make an item of a job's message; without an id, it gets the file's name, as in Doorstop."""

    def words(text: str) -> str:
        return SURROGATE.sub("\ufffd", text)

    return RequirementItem(
        " ".join(words(fields["id"]).split()) or name,
        words(fields.get("heading", "")),
        words(fields.get("text", "")),
        fields.get("level", ""),
        words(fields.get("kind", "")),
        {words(key): words(value) for key, value in fields.get("attributes", {}).items()},
        tuple(DeclaredLink(words(target), words(kind)) for target, kind in fields.get("links", ())),
        fields.get("line", 0),
        fields.get("informative", False),
    )


def _reaching(items: Sequence[RequirementItem], document: Document) -> Iterator[RequirementItem]:
    """Extend each item that has a position from there to the next heading or item."""
    starts = sorted({*(each.heading.start for each in document.sections), *(each.span.start for each in items)})
    known = {each.span.start for each in items if len(each.span)} | {each.place for each in document.anchors}
    for each in items:
        after = bisect.bisect_right(starts, each.span.start)
        end = starts[after] if after < len(starts) else len(document.text)
        has_place = len(each.span) or each.span.start in known
        yield dataclasses.replace(each, span=Span(each.span.start, end).trimmed(document.text)) if has_place else each


def _labelled(text: str) -> tuple[BlockKind, str]:
    """Recognise a note, an example or a caption by how it begins; else it is a paragraph."""
    opening = text[:200]
    if (label := note_label(opening)) is not None:
        return BlockKind.NOTE, label
    if (label := example_label(opening)) is not None:
        return BlockKind.EXAMPLE, label
    if len(text) < len(opening) + 300 and (label := caption_label(text)) is not None:
        return BlockKind.CAPTION, label
    return BlockKind.PARAGRAPH, ""


_SPECIAL = re.compile(r"([\\`*_\[\]<>&|~$#!])")
_ITEM = re.compile(r"^(\s*)([-+=]|\d{1,9}[.)])(?=\s|$|[-=])")


def escaped(text: str) -> str:
    """Escape text so that Markdown shows it unchanged."""
    plain = _SPECIAL.sub(r"\\\1", text)
    return _ITEM.sub(lambda match: f"{match.group(1)}{match.group(2)[:-1]}\\{match.group(2)[-1]}", plain)
