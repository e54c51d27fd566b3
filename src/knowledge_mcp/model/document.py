"""A document as read: one canonical text, the rest as spans of it, and what no reader of the file sees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

from knowledge_mcp.support.wording import how_many

Hidden: TypeAlias = tuple[tuple[str, int], ...]
"""Characters left out by reason (`HiddenReason` values), in the order of the reasons' names."""


class HiddenReason(StrEnum):
    """Why text is not seen; the value is how it is named to people."""

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
    """List counts by reason; those of nothing are left out."""
    return tuple(sorted((str(reason), count) for reason, count in counts.items() if count > 0))


def summed_hidden(parts: Iterable[Hidden]) -> Hidden:
    """Add up several counts."""
    total: Counter[str] = Counter()
    for part in parts:
        total.update(dict(part))
    return listed_hidden(total)


def hidden_sentence(hidden: Hidden) -> str:
    """Tell people how many characters were left out, and why; empty where none were."""
    total = sum(count for _, count in hidden)
    if not total:
        return ""
    reasons = ", ".join(f"{reason} {count:,}" for reason, count in hidden)
    return f"{how_many(total, 'hidden character was', 'hidden characters were')} left out: {reasons}."


@dataclass(frozen=True, slots=True)
class Classification:
    """Tell what kind of document it is, how sure that is (0..1, None where it is not measured), and by what."""

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
    """What a block of text is, as the layout tells."""

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


class HeadingSource(StrEnum):
    """What shows that a line is a heading, best first."""

    OUTLINE = "outline"
    TAGS = "tags"
    STYLE = "style"
    MARKUP = "markup"
    NUMBERING = "numbering"
    TYPOGRAPHY = "typography"


class ReferenceKind(StrEnum):
    """What a cross-reference points to."""

    CLAUSE = "clause"
    ANNEX = "annex"
    TABLE = "table"
    FIGURE = "figure"
    DOCUMENT = "document"
    LINK = "link"


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Delimit `[start, end)` in code points of the document's canonical text."""

    start: int
    end: int

    def __len__(self) -> int:
        """Count the code points inside."""
        return self.end - self.start

    def of(self, text: str) -> str:
        """Cut the span out of its text."""
        return text[self.start : self.end]

    def trimmed(self, text: str) -> Span:
        """Leave out the blanks at both ends of its text; an empty span where there is nothing else."""
        start, end = self.start, self.end
        while start < end and text[start].isspace():
            start += 1
        while end > start and text[end - 1].isspace():
            end -= 1
        return Span(start, end)

    def contains(self, other: Span) -> bool:
        """Tell whether the other span lies wholly inside."""
        return self.start <= other.start and other.end <= self.end

    def overlaps(self, other: Span) -> bool:
        """Tell whether the two share at least one code point."""
        return self.start < other.end and other.start < self.end


@dataclass(frozen=True, slots=True)
class Box:
    """Delimit a place on a page as it is shown, turned upright.

    Attributes:
        page: physical page from 1.
        left, top, right, bottom: points (1/72 inch) from the page's upper left corner; top < bottom.
    """

    page: int
    left: float
    top: float
    right: float
    bottom: float


LAYER_UNCHECKED = "its text is the layer below a scanned picture, which may say something else than is printed"
LAYOUT_UNCERTAIN = "its layout is uncertain: texts stand side by side, and their order may be another"
"""Note of a page whose words are all there, but may be in another order than a reader takes them."""


@dataclass(frozen=True, slots=True)
class Page:
    """Describe one physical page and how its text was got.

    Attributes:
        number: physical page, counted from 1.
        label: the page's printed label ("iv", "12"), equal to `str(number)` where none is known.
        span: its text in the canonical text; empty span where nothing was read.
        method: `text_layer`, `ocr`, `blank` where there is nothing to read, `none` where there is and nothing read it.
        note: why a page is empty, partial or uncertain, else empty.
        runs: the runs of its text where text of other pages stands between them; empty where its span is all its own.
    """

    number: int
    label: str
    span: Span
    method: str = "text_layer"
    note: str = ""
    runs: tuple[Span, ...] = ()

    @property
    def own_runs(self) -> tuple[Span, ...]:
        """Give the runs of its text, one where no text of other pages stands between."""
        return self.runs or (self.span,)

    def holds(self, span: Span) -> bool:
        """Tell whether some of its text stands in a span."""
        return any(run.overlaps(span) for run in self.own_runs)


@dataclass(frozen=True, slots=True)
class Section:
    """Describe one node of the section tree; `Document.sections` holds them in reading order.

    Attributes:
        index: own position in `Document.sections`.
        parent: position of the parent section, None at the top.
        level: depth from 1, never truncated.
        number: clause number as printed, without trailing dot ("5.3.1.2", "A.1", "Annex B" → "B"), None if unnumbered.
        title: heading text without the number.
        heading: span of the whole heading line(s), number included; empty span for the implied root of a text before
            the first heading.
        span: heading and all content, subsections included.
        informative: True for informative annexes and parts marked so, False where normative is said or implied.
        source: what shows that it is a heading.
        confidence: 0..1, 1 for outline, tags, style and markup.
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
        """Join number and title as a reader would print them."""
        return f"{self.number} {self.title}".strip() if self.number else self.title


@dataclass(frozen=True, slots=True)
class Block:
    """Describe one run of text of one kind; blocks are in order, disjoint, and cover all text but whitespace.

    Attributes:
        kind: what it is.
        span: its text in the canonical text. A table's text is Markdown (`| a | b |` rows, header first).
        section: index of the innermost section that holds it, None before the first heading.
        pages: physical pages from 1 that it stands on; empty where the format has none.
        lines: first and last line in the source file from 1; None where the format has none.
        marker: a list item's own label ("a)", "•"), a note's or caption's label ("NOTE 1", "Table 3"), else empty.
        depth: nesting of a list item from 0.
        boxes: where it stands on the pages, one for each page or column; empty where the reader does not know.
        rows: for each line of its text, the line in the source file, where they do not follow one another: a sheet has
            hidden and blank rows, and a header of several; else empty.
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
    """Describe one cross-reference found in the text.

    Attributes:
        text: as printed, e.g. "see 5.3.1", normalised to single blanks.
        kind: what it points to.
        target: the normal form of the target: "5.3.1", "Table 4", "Annex B", "IEEE 29148:2018 6.2", an url.
        span: where it stands in the canonical text.
    """

    text: str
    kind: ReferenceKind
    target: str
    span: Span


@dataclass(frozen=True, slots=True)
class Anchor:
    """Name a place that links may lead to.

    Attributes:
        name: what stands behind the "#" of such a link, percent signs decoded.
        place: where what it names begins in the canonical text.
    """

    name: str
    place: int


@dataclass(frozen=True, slots=True)
class DeclaredLink:
    """Tell that an item names another: its id, and what the link is called there ("Parent", "implements")."""

    target: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class RequirementItem:
    """Hold one item of a requirements file.

    Attributes:
        id: as its tool refers to it: a UID, or the identifier of the ReqIF object.
        title: its heading; may be empty.
        text: what it states, as plain text; may be empty for a heading.
        level: its place among the others, as written ("1.10"), else counted; empty where there is none.
        kind: what its tool calls it: the type of the object, the directive, the tag.
        attributes: everything that its file says of it, by name, in order: title, text, and what is unknown to us.
        links: to other items, here or elsewhere.
        line: where it begins in its file; 0 where lines mean nothing.
        informative: whether its tool says that it obliges nobody.
        span: where it stands in the canonical text of its document, title and all; empty where that is not known.
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
    """Hold what a reader made of one source item.

    Attributes:
        id: proposed document id: frontmatter `document_id`, else the slug of the file name's stem.
        title: frontmatter or core-property title, else first title heading, else the file name's stem.
        document_type: from frontmatter, None where the source does not say (the classifier then decides).
        text: the one canonical text; lines end with a line feed; no carriage return, no NUL.
        sections: in reading order, parents before children.
        blocks: in reading order.
        pages: in order; empty for formats without pages.
        references: explicit links and fields known to the format (the analysis adds those it finds in the text).
        metadata: flat, from frontmatter or core properties: edition, version, date, author, language …
        anchors: names of places in the text that links may lead to, each name once, by place.
        hidden: characters left out because no reader of the file sees them, by reason; a warning says so too.
        warnings: what was lost or doubtful, one sentence each; never empty when text was lost.
        items: what a file of requirements lists, in order; empty for every other file.
        original: the bytes of the file where only they hold all that it says (zlib, Base64); empty for every other.
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
        """List a section with all above it, outermost first; empty for None."""
        path: list[Section] = []
        while section is not None:
            path.append(self.sections[section])
            section = self.sections[section].parent
        return tuple(reversed(path))

    def common(self, one: int | None, other: int | None) -> int | None:
        """Return the innermost section that holds two sections, None where none does."""
        common: int | None = None
        for here, there in zip(self.ancestors(one), self.ancestors(other), strict=False):
            if here is not there:
                break
            common = here.index
        return common
