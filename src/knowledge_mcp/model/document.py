"""A document as read: one canonical text, spans of it, and the text that people cannot see in the file."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from knowledge_mcp.support.wording import how_many

Hidden: TypeAlias = tuple[tuple[str, int], ...]
"""Characters left out by reason (`HiddenReason` values), sorted by the reason's name."""


class HiddenReason(StrEnum):
    """Why text is hidden; the value is the wording for people."""

    NOT_DISPLAYED = "not displayed"
    MARKED = "marked as hidden"
    STRUCK = "struck out"
    INVISIBLE = "drawn invisibly"
    TRANSPARENT = "transparent"
    TOO_SMALL = "too small to see"
    COLOUR = "in the colour of its background"
    OFF_PAGE = "off the page"
    CLIPPED = "clipped away"
    TAGS = "Unicode tag characters"
    ZERO_WIDTH = "zero-width characters"
    DIRECTION = "direction marks"
    VARIATION = "variation selectors without a character"


def listed_hidden(counts: Mapping[str, int]) -> Hidden:
    """List counts by reason, without zeros."""
    return tuple(sorted((str(reason), count) for reason, count in counts.items() if count > 0))


def summed_hidden(parts: Iterable[Hidden]) -> Hidden:
    """Add up several counts."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(dict(part))
    return listed_hidden(total)


def hidden_sentence(hidden: Hidden) -> str:
    """Return a sentence that says how many characters were left out and why; empty if none were."""
    total = sum(count for _, count in hidden)
    if not total:
        return ""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in hidden)
    return f"{how_many(total, 'hidden character was', 'hidden characters were')} omitted: {reasons}."


@dataclass(frozen=True, slots=True)
class Classification:
    """The type of a document, its confidence (0 to 1, None if not measured), and what determined it."""

    kind: str
    confidence: float | None = None
    reason: str = ""


class DocumentType(StrEnum):
    """Kinds of document (A-REQ-DATA-003)."""

    STANDARD = "standard"
    HANDBOOK = "handbook"
    GUIDE = "guide"
    SPECIFICATION = "specification"
    REPORT = "report"
    POLICY = "policy"
    CUSTOM = "custom"


class BlockKind(StrEnum):
    """Kinds of text blocks, by layout."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CAPTION = "caption"
    CODE = "code"
    NOTE = "note"
    EXAMPLE = "example"
    QUOTE = "quote"
    FOOTNOTE = "footnote"


PROSE_KINDS = frozenset({BlockKind.PARAGRAPH, BlockKind.LIST_ITEM})
"""Kinds of blocks that are running text."""
NOTE_KINDS = frozenset({BlockKind.NOTE, BlockKind.EXAMPLE})
"""Kinds of blocks that explain other text."""


class HeadingSource(StrEnum):
    """Evidence that a line is a heading, best first."""

    OUTLINE = "outline"
    TAGS = "tags"
    STYLE = "style"
    MARKUP = "markup"
    NUMBERING = "numbering"
    TYPOGRAPHY = "typography"


class ReferenceKind(StrEnum):
    """Kinds of targets of a cross-reference."""

    CLAUSE = "clause"
    ANNEX = "annex"
    TABLE = "table"
    FIGURE = "figure"
    DOCUMENT = "document"
    LINK = "link"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The range `[start, end)` in code points of the document's canonical text."""

    start: int
    end: int

    def __len__(self) -> int:
        """Return the number of code points."""
        return self.end - self.start

    def of(self, text: str) -> str:
        """Cut the span out of its text."""
        return text[self.start : self.end]

    def trimmed(self, text: str) -> Span:
        """Return the span without the whitespace at both ends; empty if there is nothing else."""
        start, end = self.start, self.end
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return Span(start, end)

    def contains(self, other: Span) -> bool:
        """Return whether the other span lies entirely inside."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Return whether the two share at least one code point."""
        return self.start < other.end and other.start < self.end

    def starts_in(self, spans: Sequence[Span]) -> bool:
        """Return whether the start lies in one of several spans, which are sorted and disjoint."""
        place = bisect_right(spans, self.start, key=lambda each: each.start) - 1
        return place >= 0 and spans[place].end > self.start


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle on a page as displayed, turned upright.

    Attributes:
        page: physical page from 1.
        left, top, right, bottom: points (1/72 inch) from the page's upper left corner; top < bottom.
    """

    page: int
    left: float
    top: float
    right: float
    bottom: float

    def joined(self, other: Box) -> Box:
        """Return the smallest box around this one and another of its page."""
        left, top = min(self.left, other.left), min(self.top, other.top)
        return Box(self.page, left, top, max(self.right, other.right), max(self.bottom, other.bottom))


LAYER_UNCHECKED = "its text is the layer below a scanned image, which may differ from what is printed"
LAYOUT_UNCERTAIN = "its layout is uncertain: texts are side by side, and their order may differ"
"""Note of a page whose words are all present, but perhaps not in reading order."""


@dataclass(frozen=True, slots=True)
class Page:
    """One physical page and how its text was read.

    Attributes:
        number: physical page, counted from 1.
        label: the page's printed label ("iv", "12"); `str(number)` if none is known of any page, empty if other pages
            have one.
        span: its text in the canonical text; empty if nothing was read.
        method: `text_layer`, `ocr`, `blank` if there is nothing to read, `none` if there is something but it was not
            read.
        note: why a page is empty, partial or uncertain, otherwise empty.
        runs: the runs of its text, if text of other pages lies between them; empty if the whole span is its own.
    """

    number: int
    label: str
    span: Span
    method: str = "text_layer"
    note: str = ""
    runs: tuple[Span, ...] = ()

    @property
    def own_runs(self) -> tuple[Span, ...]:
        """Return the runs of its text: one, unless text of other pages lies between."""
        return self.runs or (self.span,)

    def holds(self, span: Span) -> bool:
        """Return whether some of its text lies in a span."""
        return any(run.overlaps(span) for run in self.own_runs)


@dataclass(frozen=True, slots=True)
class Section:
    """One node of the section tree; `Document.sections` lists the nodes in reading order.

    Attributes:
        index: its position in `Document.sections`.
        parent: position of the parent section, None at the top.
        level: depth from 1, never truncated.
        number: clause number as printed, without trailing dot ("5.3.1.2", "A.1", "Annex B" → "B"), None if unnumbered.
        title: heading text without the number.
        heading: span of all heading lines, including the number; empty for the implied root of text before the first
            heading.
        span: heading and all content, including subsections.
        informative: True for informative annexes and parts marked as informative, False if normative is stated or
            implied.
        source: the evidence that it is a heading.
        confidence: 0 to 1; 1 for outline, tags, style and markup.
    """

    index: int
    parent: int | None
    level: int
    number: str | None
    title: str
    heading: Span
    span: Span
    informative: bool = False
    source: HeadingSource = HeadingSource.MARKUP
    confidence: float = 1.0

    @property
    def label(self) -> str:
        """Join number and title as printed."""
        return f"{self.number} {self.title}".strip() if self.number else self.title


@dataclass(frozen=True, slots=True)
class Block:
    """A run of text of one kind; blocks are in order, disjoint, and cover all text except whitespace.

    Attributes:
        kind: what it is.
        span: its text in the canonical text. A table's text is Markdown (`| a | b |` rows, header first).
        section: index of the innermost section that contains it, None before the first heading.
        pages: its physical pages from 1; empty if the format has none.
        lines: first and last line in the source file from 1; None if the format has none.
        marker: a list item's own label ("a)", "•"), a note's or caption's label ("NOTE 1", "Table 3"), otherwise empty.
        depth: nesting of a list item from 0.
        boxes: where it is on the pages, one for each page or column; empty if the reader does not know.
        rows: for each line of its text, the line in the source file, if they are not consecutive: a sheet has hidden
            and blank rows, and headers of several rows; otherwise empty.
    """

    kind: BlockKind
    span: Span
    section: int | None = None
    pages: tuple[int, ...] = ()
    lines: tuple[int, int] | None = None
    marker: str = ""
    depth: int = 0
    boxes: tuple[Box, ...] = ()
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A cross-reference found in the text.

    Attributes:
        text: as printed, e.g. "see 5.3.1", whitespace normalised.
        kind: what it points to.
        target: the normal form of the target: "5.3.1", "Table 4", "Annex B", "IEEE 29148:2018 6.2", a URL.
        span: its location in the canonical text.
    """

    text: str
    kind: ReferenceKind
    target: str
    span: Span


@dataclass(frozen=True, slots=True)
class Anchor:
    """A named target of links.

    Attributes:
        name: what follows the "#" of such a link, percent-decoded.
        place: offset in the canonical text where the target begins.
    """

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class DeclaredLink:
    """A link from one item to another: the other's id, and the name of the link there ("Parent", "implements")."""

    target: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class RequirementItem:
    """One item of a requirements file.

    Attributes:
        id: the id that its tool uses: a UID, or the identifier of the ReqIF object.
        title: its heading; may be empty.
        text: its text, as plain text; may be empty for a heading.
        level: its position as written ("1.10"), otherwise as counted; empty if it has none.
        kind: the tool's name for its kind: the type of the object, the directive, the tag.
        attributes: everything that the file states about it, by name, in order: title, text, and names unknown to us.
        links: to other items, in this file or others.
        line: where it begins in its file; 0 if lines have no meaning there.
        informative: whether its tool marks it as not binding.
        span: its location in the canonical text of its document, including the title; empty if unknown.
    """

    id: str
    title: str
    text: str
    level: str = ""
    kind: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    links: tuple[DeclaredLink, ...] = ()
    line: int = 0
    informative: bool = False
    span: Span = Span(0, 0)


@dataclass(frozen=True, slots=True)
class Document:
    """What a reader made of one source item.

    Attributes:
        id: proposed document id: front matter `document_id`, otherwise the slug of the file name's stem.
        title: front matter or core property title, otherwise the first title heading, otherwise the file name's stem.
        document_type: from front matter; None if the source does not state it (the classifier then decides).
        text: the canonical text; lines end with a line feed; no carriage return, no NUL.
        sections: in reading order, parents before children.
        blocks: in reading order.
        pages: in order; empty for formats without pages.
        references: explicit links and fields of the format (the analysis adds those it finds in the text).
        metadata: flat, from front matter or core properties: edition, version, date, author, language …
        anchors: targets of links in the text, each name once, sorted by position.
        hidden: characters left out because people do not see them in the file, by reason; a warning says so too.
        warnings: what was lost or is doubtful, one sentence each; never empty if text was lost.
        items: the items of a requirements file, in order; empty for every other file.
        original: the file's bytes, if only they contain everything (zlib, Base64); otherwise empty.
        source_uri: `SourceItem.uri`.
        sha256: `SourceItem.sha256`.
        media_type: `SourceItem.media_type`.
    """

    id: str
    title: str
    document_type: DocumentType | None
    text: str
    sections: tuple[Section, ...]
    blocks: tuple[Block, ...]
    pages: tuple[Page, ...]
    source_uri: str
    sha256: str
    media_type: str
    references: tuple[Reference, ...] = ()
    metadata: tuple[tuple[str, str], ...] = ()
    warnings: tuple[str, ...] = field(default=())
    anchors: tuple[Anchor, ...] = ()
    hidden: Hidden = ()
    items: tuple[RequirementItem, ...] = ()
    original: str = ""

    def ancestors(self, section: int | None) -> tuple[Section, ...]:
        """List a section and all sections above it, outermost first; empty for None."""
        path: list[Section] = []
        while section is not None:
            path.append(self.sections[section])
            section = self.sections[section].parent
        return tuple(reversed(path))

    def common(self, one: int | None, other: int | None) -> int | None:
        """Return the innermost section that contains both sections, None if there is none."""
        common: int | None = None
        for here, there in zip(self.ancestors(one), self.ancestors(other), strict=False):
            if here is not there:
                break
            common = here.index
        return common
