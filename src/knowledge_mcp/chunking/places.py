"""Where a piece stands in its source: pages and lines."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from knowledge_mcp.chunking.passages import Piece
from knowledge_mcp.model.document import Block, Document, Page, Span

__all__ = ["lines_of", "pages_of"]


def pages_of(document: Document, piece: Piece) -> tuple[int, ...]:
    """List the physical pages of a piece, in order; a block that is held in part counts with that part's pages only."""
    found: set[int] = set()
    for block in piece.blocks:
        if len(block.pages) < 2 or piece.span.contains(block.span):
            found.update(block.pages)
        else:
            part = Span(max(block.span.start, piece.span.start), min(block.span.end, piece.span.end))
            by_number = {page.number: page.span for page in _between(document.pages, block.pages[0], block.pages[-1])}
            held = [n for n in block.pages if n in by_number and by_number[n].overlaps(part)]
            found.update(held or block.pages)
    return tuple(sorted(found))


def _between(pages: Sequence[Page], first: int, last: int) -> Sequence[Page]:
    """Take the pages with these numbers; some may be missing where only markers in the text tell them."""
    begin = bisect_left(pages, first, key=lambda page: page.number)
    return pages[begin : bisect_right(pages, last, lo=begin, key=lambda page: page.number)]


def lines_of(text: str, piece: Piece) -> tuple[int, int] | None:
    """Return the first and last source line of a piece, None where the format has none."""
    found = [_lines(text, piece.span, block) for block in piece.blocks if block.lines is not None]
    known = [lines for lines in found if lines is not None]
    if not known:
        return None
    return min(first for first, _ in known), max(last for _, last in known)


def _lines(text: str, span: Span, block: Block) -> tuple[int, int] | None:
    if block.lines is None or span.contains(block.span):
        return block.lines
    first, last = block.lines
    height = text.count("\n", block.span.start, block.span.end)
    if height != last - first:
        return block.lines
    start, end = max(block.span.start, span.start), min(block.span.end, span.end)
    above = text.count("\n", block.span.start, start)
    return first + above, first + above + text.count("\n", start, end)
