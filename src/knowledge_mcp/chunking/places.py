"""Where a piece stands in its source: pages and lines, and boxes on the pages."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from knowledge_mcp.chunking.passages import Piece
from knowledge_mcp.model.chunk import Chunk
from knowledge_mcp.model.document import Block, Box, Document, Page, Span
from knowledge_mcp.support.checkpoints import checked

__all__ = ["LinePlaces", "PagePlaces", "pages_of", "with_boxes"]

_WASTE = 0.4
"""Share of a box that may hold nothing where boxes are joined: a short heading over its paragraph is one place with it,
a heading over two columns is not one with the first."""
_LITTLE = 14_000.0
"""Square points that may hold nothing in any case: about two lines of a page."""
_GAP = 60.0
"""Points between two blocks from which on they are two places, though they stand in one column."""


class PagePlaces:
    """Find the pages that a part of the text stands on, without going through all of them."""

    def __init__(self, pages: Sequence[Page]) -> None:
        self._pages = sorted(pages, key=lambda page: page.span)
        self._reach = list(accumulate((page.span.end for page in self._pages), max))

    def on(self, span: Span) -> list[int]:
        """List the numbers of pages whose text overlaps a span."""
        first = bisect_right(self._reach, span.start)  # no page before it reaches into the span
        last = bisect_left(self._pages, span.end, lo=first, key=lambda page: page.span.start)
        return [page.number for page in self._pages[first:last] if page.span.overlaps(span)]


def pages_of(places: PagePlaces, piece: Piece) -> tuple[int, ...]:
    """List the physical pages of a piece, in order; a block that is held in part counts with that part's pages only."""
    found: set[int] = set()
    for block in piece.blocks:
        if len(block.pages) < 2 or piece.span.contains(block.span):
            found.update(block.pages)
        else:
            part = Span(max(block.span.start, piece.span.start), min(block.span.end, piece.span.end))
            held = [number for number in places.on(part) if _has(block.pages, number)]
            found.update(held or block.pages)
    return tuple(sorted(found))


def _has(pages: Sequence[int], number: int) -> bool:
    """Tell whether a page is one of a block's, which are in order."""
    place = bisect_left(pages, number)
    return place < len(pages) and pages[place] == number


class LinePlaces:
    """Find the source lines of pieces; the lines of a block are counted once, however many pieces it is cut into."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._counted = Span(0, 0)
        self._ends = array("q")

    def of(self, piece: Piece) -> tuple[int, int] | None:
        """Return the first and last source line of a piece, None where the format has none."""
        found = [self._lines(piece.span, block, block.lines) for block in piece.blocks if block.lines is not None]
        return (min(first for first, _ in found), max(last for _, last in found)) if found else None

    def _lines(self, span: Span, block: Block, lines: tuple[int, int]) -> tuple[int, int]:
        if span.contains(block.span):
            return lines
        if block.span != self._counted:
            self._counted = block.span
            ends = re.compile("\n").finditer(self._text, block.span.start, block.span.end)
            self._ends = array("q", (end.start() for end in ends))
        first, last = lines
        if len(self._ends) != last - first:
            return lines
        above = bisect_left(self._ends, max(block.span.start, span.start))
        below = bisect_left(self._ends, min(block.span.end, span.end))
        return first + above, first + max(above, below)


# ---- boxes ----------------------------------------------------------------------------------------------------------


def with_boxes(document: Document, chunks: Sequence[Chunk]) -> list[Chunk]:
    """Say of chunks where they stand on their pages: the boxes of all blocks that they hold in whole or part.

    Of a block that goes over several pages, those of the chunk's own pages count. Boxes that follow one another down a
    column are joined. Chunks of a document whose reader knows no boxes stay as they are.
    """
    blocks = [block for block in document.blocks if block.boxes]
    if not blocks:
        return list(chunks)
    starts = [block.span.start for block in blocks]
    placed: list[Chunk] = []
    for chunk in checked(chunks):
        first = max(bisect_right(starts, chunk.span.start) - 1, 0)
        near = blocks[first : bisect_left(starts, chunk.span.end)]
        held = (block for block in near if block.span.overlaps(chunk.span))
        boxes = _joined(box for block in held for box in _held(block, chunk.page_numbers))
        placed.append(replace(chunk, boxes=boxes) if boxes else chunk)
    return placed


def _held(block: Block, pages: Sequence[int]) -> Sequence[Box]:
    """Take the boxes on these pages; all where there is none, so that nothing of the block is lost."""
    return [box for box in block.boxes if box.page in pages] or block.boxes


def _joined(boxes: Iterable[Box]) -> tuple[Box, ...]:
    """Join each box to the one before it where it goes on below it and the two together hold little else."""
    joined: list[Box] = []
    filled: list[float] = []
    for box in boxes:
        if joined:
            both, area = _around(joined[-1], box), filled[-1] + _area(box)
            below = both.page == box.page and -_GAP / 4 < box.top - joined[-1].bottom < _GAP
            if below and _area(both) - area <= max(_WASTE * _area(both), _LITTLE):
                joined[-1], filled[-1] = both, area
                continue
        joined.append(box)
        filled.append(_area(box))
    return tuple(joined)


def _around(one: Box, other: Box) -> Box:
    left, top = min(one.left, other.left), min(one.top, other.top)
    return Box(other.page, left, top, max(one.right, other.right), max(one.bottom, other.bottom))


def _area(box: Box) -> float:
    return (box.right - box.left) * (box.bottom - box.top)
