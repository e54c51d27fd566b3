"""Build a `Document` from headings, blocks and pages; shared by all readers.

A reader appends headings and blocks in reading order. The builder writes the canonical text, cleans it, and computes
spans, the section tree and the pages' spans. Also here: parsing of headings ("Annex B (informative) Records") and of
file names, which all formats need.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from knowledge_mcp.language.glossary.terms import TermsClause, entry_number
from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.language.titles import is_left_by_template, plain_name, subject_of
from knowledge_mcp.model.document import (
    Anchor,
    Block,
    BlockKind,
    Box,
    Document,
    DocumentType,
    HeadingSource,
    Page,
    Reference,
    Section,
    Span,
    hidden_sentence,
    listed_hidden,
)
from knowledge_mcp.model.errors import UnreadableDocumentError, UnreadableReason
from knowledge_mcp.model.source import SourceItem
from knowledge_mcp.readers.shared.clauses.finder import ClauseFinder, HeadingDraft
from knowledge_mcp.readers.shared.hidden import without_hidden
from knowledge_mcp.readers.shared.informative import informative_sections
from knowledge_mcp.readers.shared.numbering import TypedItems
from knowledge_mcp.support.checkpoints import checkpoint

# ---- text -----------------------------------------------------------------------------------------------------------

_REPLACED = {
    "\r\n": "\n",
    "\r": "\n",
    "\x0b": "\n",
    "\x0c": "\n",
    "\u0085": "\n",
    "\u2028": "\n",
    "\u2029": "\n",
    "\u00a0": " ",
    "\u202f": " ",
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
# Soft hyphens and control characters.
_DROPPED = re.compile("[\u00ad]|[\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f]")
_REPLACE = re.compile("\r\n|[" + "".join(key for key in _REPLACED if len(key) == 1) + "]")
MOST_TEXT = 32_000_000
"""Most characters of one document's text; about eight million tokens."""

_LONGEST_TITLE = 2000
_LONGEST_TERM = 120
"""Longest paragraph below an entry's number, in characters, that names the entry in outlines."""
_MOST_ANCHORS, _LONGEST_ANCHOR = 50_000, 200
_BETWEEN_BLOCKS = "\n\n"
SURROGATE = re.compile("[\ud800-\udfff]")
"""Halves of characters, which UTF-8 cannot encode."""
_ACCENTS = re.compile("(?<=[A-Za-z])[\u0300-\u036f]+|[\u034f\ufe00-\ufe0f]")
"""Diacritics of Latin letters, and characters that only select how a character is drawn."""
_LINE_END_BLANKS = re.compile(r"(?<![ \t])[ \t]+(?=\n|\Z)")


def normalise_text(text: str, hidden: Counter[str] | None = None) -> str:
    """Clean text for the canonical text: NFC, LF line ends, ligatures expanded, invisible characters removed.

    Tabs and leading blanks are kept (code needs them), trailing blanks are removed. A lone surrogate becomes U+FFFD.
    Idempotent. Removed characters that may carry words (`without_hidden`) are counted in `hidden`.
    """
    text = without_hidden(text, hidden)
    text = _REPLACE.sub(lambda match: _REPLACED[match.group()], text)
    text = SURROGATE.sub("\ufffd", _DROPPED.sub("", text))
    return _LINE_END_BLANKS.sub("", unicodedata.normalize("NFC", text))


def short_title(title: str) -> str:
    """Shorten a title that is too long, since it is repeated in each chunk below it. The text keeps all of it."""
    return title if len(title) <= _LONGEST_TITLE else f"{title[:_LONGEST_TITLE].rstrip()} …"


def is_one_clause(title: str, sections: Sequence[Section]) -> bool:
    """Return whether a title is one of several numbered headings: "1 Scope" is not a document's name."""
    found = [each for each in sections if each.number and title.startswith(each.number) and title.endswith(each.title)]
    return any(each.level == other.level and each is not other for each in found for other in sections)


def too_long(item: SourceItem) -> UnreadableDocumentError:
    """Return the error for a document with too much text."""
    return UnreadableDocumentError(
        f"It contains more than {MOST_TEXT // 1_000_000} million characters of text.",
        reason=UnreadableReason.TOO_LARGE,
        source=item.uri,
        name=item.name,
        suggestion="Split it into several files.",
    )


def slug(name: str) -> str:
    """Make an identifier of letters, digits and hyphens from a name in any script; never empty.

    Latin letters lose their accents, capitals become lower case, each run of other characters becomes one hyphen.
    """
    plain = unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", name))).lower()
    words: list[str] = []
    for is_part, signs in itertools.groupby(plain, lambda sign: sign.isalnum() or unicodedata.category(sign)[0] == "M"):
        # vowels are marks in the scripts of India; a mark without a letter, as in emoji, does not count
        words += [word for word in ["".join(signs)] if is_part and any(map(str.isalnum, word))]
    return "-".join(words) or "document"


def document_id(file_name: str) -> str:
    """Return the default id of a document: the slug of the file name's stem."""
    return slug(PurePath(file_name).stem)


# ---- building -------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _PageNote:
    label: str
    method: str
    note: str


class DocumentBuilder:
    """Collect headings, blocks and pages in reading order and build the `Document`.

    Not thread-safe; used once. Texts are normalised by `normalise_text` and stripped; empty ones are left out.
    """

    def __init__(self) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._blocks: list[Block] = []
        self._headings: list[HeadingDraft] = []
        self._pages: dict[int, _PageNote] = {}
        self._runs: dict[int, list[Span]] = {}
        self._references: list[Reference] = []
        self._anchors: dict[str, int] = {}
        self._warnings: dict[str, None] = {}
        self._hidden: Counter[str] = Counter()
        self._terms = TermsClause()
        self._items = TypedItems()
        self._leads: dict[int, int] = {}
        self._plain: set[int] = set()
        self._commented = False

    @property
    def length(self) -> int:
        """Number of code points written so far."""
        return self._length

    @property
    def has_text(self) -> bool:
        """Return whether any block or heading was written."""
        return bool(self._blocks)

    def heading(
        self,
        title: str,
        *,
        level: int,
        source: HeadingSource,
        number: str | None = None,
        informative: bool | None = None,
        confidence: float = 1.0,
        printed: str | None = None,
        pages: Sequence[int] = (),
        lines: tuple[int, int] | None = None,
        boxes: Sequence[Box] = (),
    ) -> Span | None:
        """Open a section and write its heading line.

        In a terms clause, a number alone is the number of an entry; its title is the term in the paragraph below.

        Args:
            title: heading text without the number.
            level: depth from 1, never truncated; the parent is the last section of a smaller level.
            source: how it was recognised as a heading.
            number: clause number as printed, without trailing dot.
            informative: what its line states; if None, the headings above it and the text below it decide.
            confidence: 0..1, how certain it is that it is a heading.
            printed: the line as printed, if it is more than number and title ("Annex B (informative) Records").
            pages: physical pages from 1.
            lines: first and last source line from 1.
            boxes: its positions on the pages.

        Returns:
            The heading's span in the canonical text; None if its text is empty, in which case there is no section.
        """
        entry = entry_number(title)
        is_entry = entry is not None and number in {None, entry} and self._terms.level_of(entry) is not None
        if is_entry:
            number, printed = entry, printed or title
        line = printed if printed is not None else f"{number} {title}" if number else title
        self._terms.heading(number, title, level)
        span = self.block(BlockKind.HEADING, " ".join(line.split()), pages=pages, lines=lines, boxes=boxes)
        if span is not None:
            clean = short_title(" ".join(normalise_text(title).split()))
            self._headings.append(
                HeadingDraft(max(level, 1), number, clean, span, source, confidence, informative, is_entry)
            )
            self._blocks[-1] = replace(self._blocks[-1], section=len(self._headings) - 1)
        return span

    def block(
        self,
        kind: BlockKind,
        text: str,
        *,
        pages: Sequence[int] = (),
        lines: tuple[int, int] | None = None,
        marker: str = "",
        depth: int = 0,
        breaks: Sequence[int] = (),
        boxes: Sequence[Box] = (),
        rows: Sequence[int] = (),
        lead: int = 0,
    ) -> Span | None:
        """Write one block; a list item's marker is put before its text unless it is already there.

        In a terms clause, a paragraph that begins with an entry's number, or number and term, opens a section. A
        paragraph with a typed marker ("a) a guard;") is a list item if a colon precedes it or if it counts on from one.

        Args:
            kind: its kind.
            text: its text; leading blanks of the first line are kept in code only.
            pages: physical pages from 1, ascending.
            lines: first and last source line from 1.
            marker: the label of a list item, note or caption, as in `Block`.
            depth: nesting of a list item from 0.
            breaks: offsets in `text` where each of `pages` except the first begins; without them, the whole block
                belongs to each of its pages.
            boxes: its positions on the pages.
            rows: the source line of each line of its text, if they are not consecutive.
            lead: number of characters set apart at its beginning, such as a run-in title.

        Returns:
            The block's span in the canonical text, None if the text is empty.
        """
        runs_in = 0 < lead < len(text) and (text[lead - 1] in ":." or text[lead:].lstrip()[:1] in ":—–")
        if kind is BlockKind.PARAGRAPH and not runs_in and (opened := self._terms.opens(text)) is not None:
            return self._open_entry(opened, text, pages, lines, boxes)
        if kind is BlockKind.PARAGRAPH and (typed := self._typed(text.lstrip())) is not None:
            kind, (marker, depth) = BlockKind.LIST_ITEM, typed
        if kind is BlockKind.LIST_ITEM and marker and not text.lstrip().startswith(marker):
            breaks = [offset + len(marker) + 1 for offset in breaks]
            text = f"{marker} {text}"
        if kind is BlockKind.CODE:
            clean, offsets = normalise_text(text, self._hidden).lstrip("\n").rstrip(), []
            clean = clean if clean.strip() else ""
        else:
            clean, offsets = _normalise_with_breaks(text, breaks, self._hidden)
        if not clean:
            return None
        span = self._append(clean)
        if self._terms.is_open:
            self._plain.add(span.start)
        if lead:
            self._leads[span.start] = lead
        section = len(self._headings) - 1 if self._headings else None
        self._blocks.append(Block(kind, span, section, tuple(pages), lines, marker, depth, tuple(boxes), tuple(rows)))
        self._extend_pages(span, pages, offsets)
        return span

    def _typed(self, text: str) -> tuple[str, int] | None:
        """Return the marker of a typed list item and its depth, None if it is not a list item."""
        opening = opening_of(text) if self._blocks else None
        if opening is None or opening.kind is not BlockKind.LIST_ITEM:
            return None
        above = self._blocks[-1]
        depth = self._items.depth_of(
            opening.marker, self._parts[-1], above.depth if above.kind is BlockKind.LIST_ITEM else -1
        )
        return None if depth is None else (opening.marker, depth)

    def _append(self, text: str) -> Span:
        checkpoint()
        if self._parts:
            self._parts.append(_BETWEEN_BLOCKS)
            self._length += len(_BETWEEN_BLOCKS)
        span = Span(self._length, self._length + len(text))
        self._parts.append(text)
        self._length = span.end
        return span

    def _open_entry(
        self,
        opened: tuple[str, str, int],
        text: str,
        pages: Sequence[int],
        lines: tuple[int, int] | None,
        boxes: Sequence[Box],
    ) -> Span | None:
        """Open the section of a terms entry whose number was passed as a paragraph."""
        number, title, level = opened
        source = HeadingSource.NUMBERING
        return self.heading(
            title, level=level, source=source, number=number, printed=text, pages=pages, lines=lines, boxes=boxes
        )

    def page(self, number: int, label: str | None = None, *, method: str = "text_layer", note: str = "") -> None:
        """Register a physical page; pages without any text must be registered too."""
        self._pages[number] = _PageNote(str(number) if label is None else label, method, note)

    def reference(self, reference: Reference) -> None:
        """Record an explicit link; its span is in the canonical text as written."""
        self._references.append(reference)

    def anchor(self, names: Iterable[str], place: int) -> None:
        """Name a position in the text; if a name occurs twice, the first position counts, as in a browser."""
        for name in names:
            clean = " ".join(normalise_text(name).split())
            if clean and len(clean) <= _LONGEST_ANCHOR and len(self._anchors) < _MOST_ANCHORS:
                self._anchors.setdefault(clean, place)

    def warn(self, sentence: str) -> None:
        """Record a warning once."""
        self._warnings[sentence] = None

    def expect_comments(self) -> None:
        """Expect clauses that comment on others ("R26.4.1" on "26.4.1"), whatever the text calls them."""
        self._commented = True

    def leave_out(self, counted: Mapping[str, int]) -> None:
        """Count characters that were left out as hidden, by `HiddenReason`."""
        self._hidden.update(counted)

    def build(
        self,
        item: SourceItem,
        *,
        title: str = "",
        id: str = "",
        document_type: DocumentType | None = None,
        metadata: Mapping[str, str] | None = None,
    ) -> Document:
        """Build the document; title and id default to the file name."""
        if self._length > MOST_TEXT:
            raise too_long(item)
        hidden = listed_hidden(self._hidden)
        if hidden:
            self.warn(hidden_sentence(hidden))
        text = "".join(self._parts)
        finder = ClauseFinder(text, self._leads, self._plain, commented=self._commented)
        self._blocks, self._headings = finder.settled(self._blocks, self._headings)
        self._blocks = _without_set_off(self._blocks, self._headings)
        sections = self._sections(text)
        name = " ".join(normalise_text(title).split())
        if not name or is_one_clause(name, sections) or is_left_by_template(name, text):
            name = subject_of(text)
        return Document(
            id=id or document_id(item.name),
            title=short_title(name) or plain_name(item.name),
            document_type=document_type,
            text=text,
            sections=sections,
            blocks=tuple(self._blocks),
            pages=self._build_pages(),
            source_uri=item.uri,
            sha256=item.sha256,
            media_type=item.media_type,
            references=tuple(sorted(self._references, key=lambda reference: reference.span)),
            metadata=tuple((key, normalise_text(value)) for key, value in (metadata or {}).items()),
            warnings=tuple(self._warnings),
            anchors=tuple(sorted((Anchor(*each) for each in self._anchors.items()), key=lambda each: each.place)),
            hidden=hidden,
        )

    def _extend_pages(self, span: Span, pages: Sequence[int], offsets: Sequence[int]) -> None:
        if len(offsets) == len(pages) - 1:
            cuts = [span.start, *(span.start + offset for offset in offsets), span.end]
        else:
            cuts = []
        for position, number in enumerate(pages):
            piece = Span(cuts[position], cuts[position + 1]) if cuts else span
            runs = self._runs.setdefault(number, [])
            if runs and piece.start <= runs[-1].end + len(_BETWEEN_BLOCKS):
                runs[-1] = Span(min(runs[-1].start, piece.start), max(runs[-1].end, piece.end))
            else:
                runs.append(piece)

    def _build_pages(self) -> tuple[Page, ...]:
        built: list[Page] = []
        place = 0
        for number in sorted(self._pages.keys() | self._runs.keys()):
            note = self._pages.get(number) or _PageNote(str(number), "text_layer", "")
            runs = self._runs.get(number, [Span(place, place)])
            span = Span(runs[0].start, runs[-1].end)
            place = max(place, span.end)
            built.append(Page(number, note.label, span, note.method, note.note, tuple(runs) if len(runs) > 1 else ()))
        return tuple(built)

    def _sections(self, text: str) -> tuple[Section, ...]:
        stops = self._stops(len(text))
        names = self._entry_names(text)
        parents: list[int | None] = []
        path: list[int] = []
        for index, heading in enumerate(self._headings):
            while path and self._headings[path[-1]].level >= heading.level:
                path.pop()
            parents.append(path[-1] if path else None)
            path.append(index)
        informative = informative_sections(self._headings, parents, self._blocks, text)
        return tuple(
            Section(
                index=index,
                parent=parents[index],
                level=heading.level,
                number=heading.number,
                title=names.get(index, heading.title),
                heading=heading.span,
                span=Span(heading.span.start, stops[index]),
                informative=informative[index],
                source=heading.source,
                confidence=heading.confidence,
            )
            for index, heading in enumerate(self._headings)
        )

    def _entry_names(self, text: str) -> dict[int, str]:
        """Return the names of entries whose heading is only a number: the first line of the paragraph below (the term).

        The result maps the index of a heading to the name.
        """
        names: dict[int, str] = {}
        for block, below in itertools.pairwise(self._blocks):
            if block.kind is BlockKind.HEADING and block.section is not None and self._headings[block.section].is_entry:
                name = below.span.of(text).partition("\n")[0] if below.kind is BlockKind.PARAGRAPH else ""
                if 0 < len(name) <= _LONGEST_TERM:
                    names[block.section] = name
        return names

    def _stops(self, length: int) -> list[int]:
        """Return where each section ends: before the next heading that is not deeper, else at the end of the text."""
        stops = [length] * len(self._headings)
        open_: list[int] = []
        for index, heading in enumerate(self._headings):
            while open_ and self._headings[open_[-1]].level >= heading.level:
                stops[open_.pop()] = heading.span.start - 2
            open_.append(index)
        return stops


_BESIDE = frozenset({BlockKind.HEADING, BlockKind.QUOTE, BlockKind.NOTE, BlockKind.EXAMPLE})


def _without_set_off(blocks: list[Block], headings: Sequence[HeadingDraft]) -> list[Block]:
    """Make quotations paragraphs where nothing else is said below a heading: they are the section's own text."""
    said = {block.section for block in blocks if block.kind not in _BESIDE} | {None}
    said.update(at for at, (one, below) in enumerate(itertools.pairwise(headings)) if below.level > one.level)
    return [
        replace(block, kind=BlockKind.PARAGRAPH)
        if block.kind is BlockKind.QUOTE and block.section not in said
        else block
        for block in blocks
    ]


def _normalise_with_breaks(text: str, breaks: Sequence[int], hidden: Counter[str]) -> tuple[str, list[int]]:
    """Normalise and strip a text, and adjust the offsets."""
    pieces = [normalise_text(text[a:b], hidden) for a, b in zip([0, *breaks], [*breaks, len(text)], strict=True)]
    # a combining mark at a break may only now join its base, and blanks before a break are not trailing blanks
    if not breaks:
        return pieces[0].strip(), []
    pieces = [_keep_blank(text, stop, piece) for stop, piece in zip([*breaks, 0], pieces, strict=True)]
    joined = unicodedata.normalize("NFC", "".join(pieces))
    lead = len(joined) - len(joined.lstrip())
    offsets: list[int] = []
    place = -lead
    for piece in pieces[:-1]:
        place += len(piece)
        offsets.append(place)
    clean = joined.strip()
    return clean, [min(max(offset, 0), len(clean)) for offset in offsets]


def _keep_blank(text: str, stop: int, piece: str) -> str:
    return f"{piece} " if stop and text[stop - 1 : stop] == " " else piece


MAX_IDENTIFIER = 200
"""Longest id of a document, in characters: every tool and address must be able to carry it."""

_IDENTIFIER = re.compile(rf"[^\W_][\w.:-]{{0,{MAX_IDENTIFIER - 1}}}")


def proposed_id(properties: Mapping[str, str], file_name: str) -> str:
    """Return the property `document_id` (as a slug if it is not a valid id), else the file name's slug."""
    named = properties.get("document_id", "").strip()
    if not named:
        return document_id(file_name)
    return named if _IDENTIFIER.fullmatch(named) else slug(named)[:MAX_IDENTIFIER].rstrip("-")


def parse_document_type(properties: Mapping[str, str]) -> tuple[DocumentType | None, str | None]:
    """Return the type in the property `document_type`, and a warning if its value is unknown."""
    named = properties.get("document_type", "").strip().lower()
    if not named:
        return None, None
    if named in set(DocumentType):
        return DocumentType(named), None
    known = ", ".join(sorted(DocumentType))
    return None, f"The property document_type is {named!r}, which is not one of {known}; the text decides instead."
