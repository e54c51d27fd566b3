"""Words that a line strikes out: whoever reads the page takes them for deleted, so they are no text of it.

The line lies at half the height of small letters and ends where the words do. PDFium tells which letters it crosses.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.pdf.geometry import on_page
from knowledge_mcp.readers.pdf.lines import is_rotated, size_of

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_MIDDLE = (0.35, 0.72)
"""Shares of an item's height between which a line strikes its letters out; below it underlines them."""
_THIN = 1.5
"""Points up to which a filled area is a line."""
_OVER = 2.0
"""Points by which a line may reach beyond the words: rules of tables and axes reach further."""
_BAND = 0.1
"""Share of the height within which letters are crossed: those above and below a fraction's line are not."""
_ONE_LINE = 1.7
"""Times its size that an item of one line is high at most; a fraction is higher."""
_MOST_LINES = 400
"""Level lines of a page from which on it is a drawing."""


def take_struck(page: Any, text: Any, parsed: ParsedPage) -> int:
    """Take struck words out of the items of a parsed page; returns how many characters that are not blank went.

    Args:
        page: the same page, open, of PDFium.
        text: its text.
        parsed: as the parser has it.
    """
    lines = sorted(_level(parsed))
    heights = [height for height, *_ in lines]
    count = 0
    for item in parsed.text_items if 0 < len(lines) <= _MOST_LINES else ():
        top, bottom = (item.y + share * item.height for share in _MIDDLE)
        for height, start, end in lines[bisect_right(heights, top) : bisect_left(heights, bottom)]:
            within = item.x - _OVER <= start and end <= item.x + item.width + _OVER
            if within and not is_rotated(item) and item.height < _ONE_LINE * size_of(item):
                words = _crossed(page, text, height, start, end, _BAND * item.height)
                if words and words in item.text:
                    item.text = " ".join(_without(item, words, start).split())
                    count += len("".join(words.split()))
    parsed.text_items = [item for item in parsed.text_items if item.text.strip()] if count else parsed.text_items
    return count


def _level(parsed: ParsedPage) -> Iterator[tuple[float, float, float]]:
    graphics = parsed.vector_graphics
    for line in graphics.lines if graphics is not None else ():
        if abs(line.y1 - line.y2) < 1:
            yield (line.y1 + line.y2) / 2, min(line.x1, line.x2), max(line.x1, line.x2)
    for shape in graphics.shapes if graphics is not None else ():
        x, y, width, height = shape.bbox
        if shape.fill and not shape.has_curve and height <= _THIN < width:
            yield y + height / 2, x, x + width


def _crossed(page: Any, text: Any, height: float, start: float, end: float, band: float) -> str:
    size = page.get_size()
    left, top = on_page(page, size, start + 0.5, height - band)
    right, bottom = on_page(page, size, end - 0.5, height + band)
    words = text.get_text_bounded(min(left, right), min(bottom, top), max(left, right), max(bottom, top))
    words = " ".join(words.replace("\ufffe", "-").split())
    return words if any(map(str.isalnum, words)) else ""


def _without(item: TextItem, words: str, start: float) -> str:
    """Cut the words out where they stand nearest to where the line begins."""
    near = (start - item.x) / max(item.width, 1.0) * len(item.text)
    places = [at for at in range(len(item.text)) if item.text.startswith(words, at)]
    at = min(places, key=lambda place: abs(place - near))
    return f"{item.text[:at]} {item.text[at + len(words) :]}"
