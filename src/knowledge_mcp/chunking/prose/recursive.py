"""The chunker for planning documents: recursive splitting by characters, with the pages of every chunk (B-FR-006)."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from knowledge_mcp.chunking.prose.describing import PagePlaces, with_boxes
from knowledge_mcp.model.chunk import Chunk, ChunkType, text_key
from knowledge_mcp.model.document import Block, BlockKind, Document, Span
from knowledge_mcp.model.errors import ConfigError
from knowledge_mcp.ports import TokenMeasure
from knowledge_mcp.support.checkpoints import check_each

SEPARATORS = ("\n\n", "\n", ". ", "! ", "? ", "; ", ", ", " ", "")
"""Paragraph, line, sentence (three), clause, phrase, word, character (B-FR-006)."""


@dataclass(frozen=True, slots=True)
class Splitting:
    """Parameters for splitting a text.

    Attributes:
        size: maximum characters of a chunk.
        overlap: maximum characters shared by neighbouring chunks.
        separators: coarsest first; the empty one splits between any two characters.
        keep: whether a separator belongs to the piece that it `end`s or to the one that it `start`s.
    """

    size: int = 800
    overlap: int = 200
    separators: tuple[str, ...] = SEPARATORS
    keep: Literal["start", "end"] = "end"


def split(text: str, span: Span, how: Splitting) -> list[Span]:
    """Split a part of a text; chunks are in order, not blank, and begin and end with a visible character."""
    trimmed = (found.trimmed(text) for found in _split(text, span, how, how.separators))
    return [found for found in trimmed if len(found)]


def _split(text: str, span: Span, how: Splitting, separators: Sequence[str]) -> Iterator[Span]:
    separator, finer = _first_present(text, span, separators)
    if not separator:
        yield from _even(span, how)
        return
    pieces = _pieces(text, span, separator, how.keep)
    for is_small, run in groupby(pieces, key=lambda piece: len(piece) < how.size):
        if is_small:
            yield from _join(check_each(run), how)
            continue
        for piece in run:
            if finer:
                yield from _split(text, piece, how, finer)
            else:
                yield piece


def _even(span: Span, how: Splitting) -> Iterator[Span]:
    """Split between characters: chunks of full size, each with the full overlap."""
    for start in check_each(range(span.start, span.end, how.size - how.overlap)):
        yield Span(start, min(start + how.size, span.end))
        if start + how.size >= span.end:
            break


def _first_present(text: str, span: Span, separators: Sequence[str]) -> tuple[str, Sequence[str]]:
    for place, separator in enumerate(separators):
        if not separator:
            return "", ()
        if text.find(separator, span.start, span.end) >= 0:
            return separator, separators[place + 1 :]
    return separators[-1], ()


def _pieces(text: str, span: Span, separator: str, keep: Literal["start", "end"]) -> Iterator[Span]:
    """Split at a separator, which stays with its piece; empty pieces are left out."""
    start = span.start
    for found in re.compile(re.escape(separator)).finditer(text, span.start, span.end):
        cut = found.end() if keep == "end" else found.start()
        if cut > start:
            yield Span(start, cut)
            start = cut
    if start < span.end:
        yield Span(start, span.end)


def _join(pieces: Iterable[Span], how: Splitting) -> Iterator[Span]:
    """Join neighbours up to the size; each chunk begins with the end of the previous one."""
    window: deque[Span] = deque()
    total = 0
    for piece in pieces:
        if total + len(piece) > how.size and window:
            yield Span(window[0].start, window[-1].end)
            while total > how.overlap or (total + len(piece) > how.size and total > 0):
                total -= len(window.popleft())
        window.append(piece)
        total += len(piece)
    if window:
        yield Span(window[0].start, window[-1].end)


def shrink(text: str, span: Span, how: Splitting, fits: Callable[[Span], bool]) -> Iterator[Span]:
    """Split what does not fit into ever smaller chunks until it does."""
    if fits(span) or len(span) < 2:
        yield span
        return
    size = max(len(span) // 2, 1)
    smaller = Splitting(size, min(how.overlap, size // 4), how.separators, how.keep)
    for part in split(text, span, smaller):
        yield from shrink(text, part, smaller, fits)


_LEVELS = 6


class RecursiveChunker:
    """Split documents by paragraphs, lines, sentences, clauses, phrases, words (`ports.Chunker`).

    A separator stays with the text before it. A chunk longer than the embedding model can read is split further, so
    that its vector covers all of it. Ids are `{document id}_{page:03d}_{index:03d}`.

    Args:
        size: maximum characters of a chunk (200 tokens of four characters each).
        overlap: maximum characters shared by neighbouring chunks (50 tokens).

    Raises:
        ConfigError: the overlap is not less than the size, or one of them is negative.
    """

    def __init__(self, size: int = 800, overlap: int = 200) -> None:
        if size < 1 or not 0 <= overlap < size:
            raise ConfigError(f"A chunk of {size} characters cannot share {overlap} of them with the next one.")
        self._how = Splitting(size, overlap)
        self.version = f"recursive/3 size={size} overlap={overlap}"

    def chunk(self, document: Document, document_type: str, measure: TokenMeasure) -> list[Chunk]:
        """Split and describe every passage, in order."""
        text = document.text
        tokens: dict[Span, int] = {}

        def fits(span: Span) -> bool:
            tokens[span] = measure.count_tokens(span.of(text))
            return tokens[span] <= measure.max_tokens

        whole = split(text, Span(0, len(text)), self._how)
        parts = {part for span in check_each(whole) for part in shrink(text, span, self._how, fits)}
        spans = sorted(parts, key=lambda span: (span.start, span.end))  # parts of overlapping pieces interleave
        places = _Places(document)
        chunks = [
            places.describe(index, span, tokens.get(span) or measure.count_tokens(span.of(text)), document_type)
            for index, span in enumerate(check_each(spans))
        ]
        return with_boxes(document, chunks)


class _Places:
    """Find the location of a span in its document."""

    def __init__(self, document: Document) -> None:
        self._document = document
        self._blocks = document.blocks
        self._starts = [block.span.start for block in document.blocks]
        self._pages_at = PagePlaces(document.pages)
        self._labels = {page.number: page.label for page in document.pages}

    def describe(self, index: int, span: Span, tokens: int, document_type: str) -> Chunk:
        """Create the chunk of a span."""
        document = self._document
        content = span.of(document.text)
        pages = self._pages(span)
        block = self._block_at(span.start)
        path = document.ancestors(block.section if block is not None else None)
        return Chunk(
            id=f"{document.id}_{pages[0] if pages else 0:03d}_{index:03d}",
            document_id=document.id,
            document_title=document.title,
            document_type=document_type,
            index=index,
            content=content,
            content_hash=text_key(content),
            context="",
            token_count=tokens,
            span=span,
            section_hierarchy=tuple(section.label for section in path)[:_LEVELS],
            section_title=path[-1].title if path else "",
            clause_number=next((section.number for section in reversed(path) if section.number), None),
            parent_chunk_id=None,
            chunk_type=self._kind(span, block),
            normative=False,
            source_path=document.source_uri,
            page_numbers=pages,
            page_labels=tuple(self._labels.get(page, str(page)) for page in pages),
        )

    def _pages(self, span: Span) -> tuple[int, ...]:
        """List the pages of a span, in order."""
        found = self._pages_at.on(span)
        if not found:
            block = self._block_at(span.start)
            found = list(block.pages) if block is not None else []
        return tuple(sorted(found))

    def _block_at(self, place: int) -> Block | None:
        """Return the last block that begins at or before a position, otherwise the first one."""
        if not self._blocks:
            return None
        return self._blocks[max(bisect_right(self._starts, place) - 1, 0)]

    def _kind(self, span: Span, block: Block | None) -> ChunkType:
        """Return `table` for a chunk that contains nothing else."""
        if block is None or block.kind is not BlockKind.TABLE:
            return ChunkType.GUIDANCE
        last = max(bisect_left(self._starts, span.end), 1)
        first = max(bisect_right(self._starts, span.start) - 1, 0)
        inside = self._blocks[first:last]
        return ChunkType.TABLE if all(each.kind is BlockKind.TABLE for each in inside) else ChunkType.GUIDANCE
