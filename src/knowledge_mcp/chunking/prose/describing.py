"""Turn pieces into chunks, with any chunker: ids, locations, statements, references, parents."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import TypeVar

from knowledge_mcp.chunking.prose.headings import HeadingPaths
from knowledge_mcp.chunking.prose.passages import ChunkIds, Piece
from knowledge_mcp.language.clauses import SectionFacts, SectionRole
from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.references import document_references, names_document
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.chunk import Chunk, ChunkType, Definition, Modality, Statement, text_key
from knowledge_mcp.model.document import Block, BlockKind, Box, Document, Page, Reference, Span
from knowledge_mcp.model.lines import SourceLines, line_ends, line_runs
from knowledge_mcp.support.checkpoints import check_each

_FIGURE = re.compile(r"\W*(?:figure|fig\.)\s", re.IGNORECASE)
_BY_ROLE = {
    SectionRole.ANNEX: ChunkType.ANNEX,
    SectionRole.OVERVIEW: ChunkType.OVERVIEW,
    SectionRole.ABBREVIATIONS: ChunkType.DEFINITION,
}


def chunk_type_of(
    piece: Piece, text: str, facts: SectionFacts, statements: Sequence[Statement], definitions: Sequence[Definition]
) -> ChunkType:
    """Classify a piece; the first match wins.

    1. `reference`: it is in a bibliography or among normative references.
    2. `definition`: it is in a clause of terms or abbreviations and defines something, or half of it is definitions.
    3. `example`: it is in a section of examples, or its body is only examples, with the code that belongs to them.
    4. `table`: at least half of its body is a table.
    5. `figure`: at least half of its body is captions of figures, and it contains no statement.
    6. `requirement`: it contains a mandatory statement. 7. `recommendation`: it contains an advisory one.
    8. `annex`: it is in an annex and none of the above.
    9. `overview`: it is in scope, introduction, foreword, abstract, contents or similar; an abbreviations clause
       without entries is a `definition`.
    10. `guidance`: everything else, including permissions and possibilities.
    """
    role = facts.role(piece.passage.section)
    if role is SectionRole.REFERENCES:
        return ChunkType.REFERENCE
    sizes, captions = _sizes(piece, text)
    body = sum(sizes.values())
    if definitions and (
        role in {SectionRole.DEFINITIONS, SectionRole.ABBREVIATIONS}
        or _covered_length(piece.span, definitions) * 2 >= body
    ):
        return ChunkType.DEFINITION
    if role is SectionRole.EXAMPLE or _only_examples(piece, sizes, body):
        return ChunkType.EXAMPLE
    if body and sizes.get(BlockKind.TABLE, 0) * 2 >= body:
        return ChunkType.TABLE
    if body and captions * 2 >= body and not statements:
        return ChunkType.FIGURE
    found = {statement.modality for statement in statements}
    if Modality.REQUIREMENT in found:
        return ChunkType.REQUIREMENT
    if Modality.RECOMMENDATION in found:
        return ChunkType.RECOMMENDATION
    return _BY_ROLE.get(role, ChunkType.GUIDANCE)


def _sizes(piece: Piece, text: str) -> tuple[dict[BlockKind, int], int]:
    """Count code points by kind of block, without headings, and those in captions of figures."""
    sizes: dict[BlockKind, int] = {}
    captions = 0
    for block in piece.blocks:
        if block.kind is BlockKind.HEADING:
            continue
        size = max(0, min(block.span.end, piece.span.end) - max(block.span.start, piece.span.start))
        sizes[block.kind] = sizes.get(block.kind, 0) + size
        if block.kind is BlockKind.CAPTION and _FIGURE.match(text, block.span.start, block.span.end):
            captions += size
    return sizes, captions


def _only_examples(piece: Piece, sizes: dict[BlockKind, int], body: int) -> bool:
    examples = sizes.get(BlockKind.EXAMPLE, 0)
    code = sizes.get(BlockKind.CODE, 0)
    if not body or examples + code < body:
        return False
    if not code:
        return True
    return piece.passage.is_announced(next(block for block in piece.blocks if block.kind is not BlockKind.HEADING))


def _covered_length(span: Span, definitions: Sequence[Definition]) -> int:
    return sum(max(0, min(d.span.end, span.end) - max(d.span.start, span.start)) for d in definitions)


_WASTE = 0.4
"""Maximum empty share of a joined box: a short heading is joined with the paragraph below it, a heading over two
columns not with the first one.
"""
_LITTLE = 14_000.0
"""Empty square points that are always allowed: about two lines of a page."""
_GAP = 60.0
"""Minimum gap in points between two blocks of one column that are separate boxes."""


class PagePlaces:
    """Find the pages of a part of the text without a linear search."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = sorted(pages, key=lambda page: page.span)
        self._reach = list(accumulate((page.span.end for page in self._pages), max))

    def on(self, span: Span) -> list[int]:
        """List the numbers of the pages whose text overlaps a span."""
        first = bisect_right(self._reach, span.start)  # no earlier page reaches into the span
        last = bisect_left(self._pages, span.end, lo=first, key=lambda page: page.span.start)
        return [page.number for page in self._pages[first:last] if page.holds(span)]


def pages_of(places: PagePlaces, piece: Piece) -> tuple[int, ...]:
    """List the physical pages of a piece, in order; for a block that was split, only the pages of that part."""
    found: set[int] = set()
    for block in piece.blocks:
        if len(block.pages) < 2 or piece.span.contains(block.span):
            found.update(block.pages)
        else:
            part = Span(max(block.span.start, piece.span.start), min(block.span.end, piece.span.end))
            numbers = [number for number in places.on(part) if _has(block.pages, number)]
            found.update(numbers or block.pages)
    return tuple(sorted(found))


def _has(pages: Sequence[int], number: int) -> bool:
    """Return whether a page is one of a block's sorted pages."""
    place = bisect_left(pages, number)
    return place < len(pages) and pages[place] == number


# ---- boxes ----------------------------------------------------------------------------------------------------------


def with_boxes(document: Document, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Add to chunks their boxes on the pages: those of all blocks that they contain, in whole or in part.

    For a block that spans pages, only the boxes on the chunk's own pages are used. Consecutive boxes of a column are
    joined. Without boxes from the reader, chunks stay unchanged.
    """
    blocks = [block for block in document.blocks if block.boxes]
    if not blocks:
        return list(chunks)
    starts = [block.span.start for block in blocks]
    describe_pieces: list[Chunk] = []
    for chunk in check_each(chunks):
        first = max(bisect_right(starts, chunk.span.start) - 1, 0)
        near = blocks[first : bisect_left(starts, chunk.span.end)]
        overlapping = (block for block in near if block.span.overlaps(chunk.span))
        boxes = _join(box for block in overlapping for box in _boxes_on(block, chunk.page_numbers))
        describe_pieces.append(replace(chunk, boxes=boxes) if boxes else chunk)
    return describe_pieces


def _boxes_on(block: Block, pages: Sequence[int]) -> Sequence[Box]:
    """Return the boxes on these pages; all boxes if there is none, so that nothing of the block is lost."""
    return [box for box in block.boxes if box.page in pages] or block.boxes


def _join(boxes: Iterable[Box]) -> tuple[Box, ...]:
    """Join each box with the previous one if it continues below it and the union has little empty space."""
    joined: list[Box] = []
    filled: list[float] = []
    for box in boxes:
        if joined:
            both, area = box.joined(joined[-1]), filled[-1] + _area(box)
            below = both.page == box.page and -_GAP / 4 < box.top - joined[-1].bottom < _GAP
            if below and _area(both) - area <= max(_WASTE * _area(both), _LITTLE):
                joined[-1], filled[-1] = both, area
                continue
        joined.append(box)
        filled.append(_area(box))
    return tuple(joined)


def _area(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)


CONTEXT_JOIN = 2
"""Tokens reserved for how a tokenizer encodes the blank line between context and content."""


def describe_pieces(
    document: Document, document_type: str, facts: SectionFacts, paths: HeadingPaths, pieces: Sequence[Piece]
) -> list[Chunk]:
    """Create the chunk of every piece of a document, in order."""
    writer = _Writer(document, document_type, facts, paths)
    chunks = [writer.write(index, piece) for index, piece in enumerate(check_each(pieces))]
    return _with_parents(document, pieces, chunks)


_P = TypeVar("_P", Definition, Reference, Statement)


def _inside(items: Sequence[_P], span: Span) -> Sequence[_P]:
    """List the items that begin in a span, from items sorted by position."""
    first, last = (bisect_left(items, place, key=lambda item: item.span.start) for place in (span.start, span.end))
    return items[first:last]


class _Writer:
    """Create the chunks of one document."""

    def __init__(self, document: Document, document_type: str, facts: SectionFacts, paths: HeadingPaths) -> None:
        self._document = document
        self._type = document_type
        self._facts = facts
        self._paths = paths
        self._definitions = find_definitions(document, facts=facts)
        self._statements = find_statements(document, facts=facts, exempt=[d.span for d in self._definitions])
        self._references = document_references(document)
        self._source_lines = SourceLines(
            document.text, line_runs(document.text, document.blocks), line_ends(document.text)
        )
        self._page_places = PagePlaces(document.pages)
        self._labels = {page.number: page.label for page in document.pages}
        self._ids = ChunkIds(document.id)

    def write(self, index: int, piece: Piece) -> Chunk:
        """Create the chunk of one piece; parents are added later."""
        document = self._document
        section = piece.passage.section
        content = piece.span.of(document.text)
        digest = text_key(content)
        statements = _inside(self._statements, piece.span)
        definitions = _inside(self._definitions, piece.span)
        links = _inside(self._references, piece.span)
        pages = pages_of(self._page_places, piece)
        path = self._paths.context(section)[0]
        return Chunk(
            id=self._ids.next(self._paths.place(section), digest),
            document_id=document.id,
            document_title=document.title,
            document_type=self._type,
            index=index,
            content=content,
            content_hash=digest,
            context=f"{path}\n{piece.resume}" if piece.resume else path,
            token_count=piece.tokens,
            span=piece.span,
            section_hierarchy=self._paths.hierarchy(section),
            section_title=document.sections[section].title if section is not None else "",
            clause_number=self._facts.clause_number(section),
            parent_chunk_id=None,
            chunk_type=chunk_type_of(piece, document.text, self._facts, statements, definitions),
            normative=any(s.modality is Modality.REQUIREMENT for s in statements),
            source_path=document.source_uri,
            page_numbers=pages,
            page_labels=tuple(self._labels.get(page, str(page)) for page in pages),
            lines=self._source_lines.of(piece.span),
            references=tuple(dict.fromkeys(link.target for link in links if names_document(link))),
            links=tuple(links),
            statements=tuple(statements),
            definitions=tuple(definitions),
        )


def _with_parents(document: Document, pieces: Sequence[Piece], chunks: Sequence[Chunk]) -> list[Chunk]:
    """Link each chunk to the first one of the enclosing section."""
    openers: dict[int, int] = {}
    for index, piece in enumerate(check_each(pieces)):
        for block in piece.blocks:
            section = block.section
            while section is not None and section not in openers:
                openers[section] = index
                section = document.sections[section].parent
    linked: list[Chunk] = []
    for index, (piece, chunk) in enumerate(zip(pieces, chunks, strict=True)):
        section = piece.passage.section
        while section is not None and openers.get(section, index) >= index:
            section = document.sections[section].parent
        linked.append(chunk if section is None else replace(chunk, parent_chunk_id=chunks[openers[section]].id))
    return linked
