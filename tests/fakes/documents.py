"""Documents for tests: a builder from parts, Hypothesis strategies over it, and a small token measure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

from knowledge_mcp.model.document import Block, BlockKind, Document, HeadingSource, Page, Section, Span


@dataclass(frozen=True, slots=True)
class Part:
    """One block to be: its kind and text; for a heading also level, number and whether it is informative.

    Attributes:
        kind: kind of the block.
        text: its text; for a heading the title without number.
        level: of a heading, from 1.
        number: of a heading, None if unnumbered.
        informative: of a heading.
        depth: of a list item, from 0.
        page: physical page, None where the format has none.
        marker: of a list item, a note or a caption.
    """

    kind: BlockKind
    text: str
    level: int = 1
    number: str | None = None
    informative: bool = False
    depth: int = 0
    page: int | None = None
    marker: str = ""


@dataclass(frozen=True, slots=True)
class PieceMeasure:
    """Measure text as subword tokenizers do: runs of at most `piece` letters or digits, and single other signs."""

    max_tokens: int = 256
    piece: int = 5

    def count_tokens(self, text: str) -> int:
        """Count the pieces."""
        return len(self.token_spans(text))

    def token_spans(self, text: str) -> Sequence[tuple[int, int]]:
        """List each piece's place."""
        return [match.span() for match in re.finditer(rf"\w{{1,{self.piece}}}|[^\w\s]", text)]


def build_document(
    parts: Sequence[Part], *, document_id: str = "sample", title: str = "A Sample Document", blank: str = "\n\n"
) -> Document:
    """Lay parts out as a reader would: one text, sections with spans, blocks that cover all of it.

    Args:
        parts: in reading order; blank texts are left out.
        document_id: id of the document.
        title: its title.
        blank: what stands between blocks; whitespace.
    """
    text = ""
    blocks: list[Block] = []
    opened: list[tuple[Part, int | None, Span]] = []
    path: list[int] = []
    lines: list[int] = []
    for part in parts:
        words = f"{part.number} {part.text}" if part.number else part.text
        words = words.strip()
        if not words:
            continue
        text += blank if text else ""
        span = Span(len(text), len(text) + len(words))
        text += words
        if part.kind is BlockKind.HEADING:
            while path and opened[path[-1]][0].level >= part.level:
                path.pop()
            opened.append((part, path[-1] if path else None, span))
            path.append(len(opened) - 1)
        first = text.count("\n", 0, span.start) + 1
        lines.append(first)
        blocks.append(
            Block(
                part.kind,
                span,
                section=path[-1] if path else None,
                pages=() if part.page is None else (part.page,),
                lines=(first, first + words.count("\n")),
                marker=part.marker,
                depth=part.depth,
            )
        )
    return Document(
        id=document_id,
        title=title,
        document_type=None,
        text=text,
        sections=_sections(opened, len(text)),
        blocks=tuple(blocks),
        pages=_pages(blocks),
        source_uri=f"file:///library/{document_id}.md",
        sha256="0" * 64,
        media_type="text/markdown",
    )


def _sections(opened: Sequence[tuple[Part, int | None, Span]], length: int) -> tuple[Section, ...]:
    sections: list[Section] = []
    for index, (part, parent, heading) in enumerate(opened):
        ends = (span.start for other, _, span in opened[index + 1 :] if other.level <= part.level)
        informative = part.informative or (parent is not None and sections[parent].informative)
        sections.append(
            Section(
                index=index,
                parent=parent,
                level=part.level,
                number=part.number,
                title=part.text,
                heading=heading,
                span=Span(heading.start, next(ends, length)),
                informative=informative,
                source=HeadingSource.MARKUP,
            )
        )
    return tuple(sections)


def _pages(blocks: Sequence[Block]) -> tuple[Page, ...]:
    spans: dict[int, Span] = {}
    for block in blocks:
        for page in block.pages:
            known = spans.get(page, block.span)
            spans[page] = Span(min(known.start, block.span.start), max(known.end, block.span.end))
    return tuple(Page(number, str(number), span) for number, span in sorted(spans.items()))


_WORDS = st.sampled_from(
    [
        *(
            "the supplier system shall should may can must not record verify each load interface e.g. i.e. Fig. "
            "3.2 see 5.3.1"
        ).split(),
        *"Annex B Table 4 mm 12 °C größer naïve 试验 要求 “quoted” (note) REQ-12 internationalisation a".split(),
        "x" * 70,
        "Ωμέγα",
        "e\u0301",
        "🙂",
    ]
)
_TITLE = st.lists(
    st.sampled_from("Loads General Scope Terms Verification Records Interfaces Examples Glossary".split()),
    min_size=1,
    max_size=3,
)


@st.composite
def _sentences(draw: st.DrawFn, most: int = 8) -> str:
    sentences: list[str] = []
    for _ in range(draw(st.integers(1, most))):
        words = draw(st.lists(_WORDS, min_size=1, max_size=24))
        stop = draw(st.sampled_from([".", ".", ".", "?", ":", "", ";"]))
        sentences.append(" ".join(words).capitalize() + stop)
    return draw(st.sampled_from([" ", " ", "\n"])).join(sentences)


@st.composite
def _table(draw: st.DrawFn) -> str:
    columns = draw(st.integers(1, 4))
    cells = st.lists(_WORDS, min_size=1, max_size=6).map(" ".join)
    rows = draw(st.lists(st.lists(cells, min_size=columns, max_size=columns), min_size=1, max_size=12))
    head, *rest = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([head, "|" + " --- |" * columns, *rest])


@st.composite
def _code(draw: st.DrawFn) -> str:
    lines = st.lists(_WORDS, min_size=0, max_size=8).map(lambda words: "    " + " ".join(words))
    return "\n".join(["begin", *draw(st.lists(lines, min_size=0, max_size=15)), "end"])


@st.composite
def _body(draw: st.DrawFn) -> Part:
    kind = draw(
        st.sampled_from(
            [
                BlockKind.PARAGRAPH,
                BlockKind.PARAGRAPH,
                BlockKind.LIST_ITEM,
                *[k for k in BlockKind if k != BlockKind.HEADING],
            ]
        )
    )
    if kind is BlockKind.TABLE:
        return Part(kind, draw(_table()))
    if kind is BlockKind.CODE:
        return Part(kind, draw(_code()))
    if kind is BlockKind.CAPTION:
        return Part(kind, f"Table {draw(st.integers(1, 9))} — {' '.join(draw(_TITLE))}")
    return Part(kind, draw(_sentences()), depth=draw(st.integers(0, 2)) if kind is BlockKind.LIST_ITEM else 0)


@st.composite
def parts(draw: st.DrawFn, *, most_sections: int = 8) -> list[Part]:
    """Draw the parts of a document: text before the first heading, numbered and unnumbered sections, empty ones too."""
    found = draw(st.lists(_body(), max_size=2))
    counters = [0] * 8
    level = 0
    for _ in range(draw(st.integers(0, most_sections))):
        level = draw(st.integers(1, min(level + 1, 8)))
        counters[level - 1] += 1
        counters[level:] = [0] * (8 - level)
        numbered = draw(st.booleans())
        number = ".".join(str(max(1, n)) for n in counters[:level]) if numbered else None
        found.append(
            Part(BlockKind.HEADING, " ".join(draw(_TITLE)), level, number, informative=draw(st.integers(0, 5)) == 0)
        )
        found.extend(draw(st.lists(_body(), max_size=6)))
    return found


@st.composite
def documents(draw: st.DrawFn, *, most_sections: int = 8) -> Document:
    """Draw a document that a reader might have made."""
    blank = draw(st.sampled_from(["\n\n", "\n", "\n \n\n"]))
    return build_document(draw(parts(most_sections=most_sections)), blank=blank)
