"""Reads text that runs up or down a page: a table set sideways is read as if the page were turned.

Slanted letters are on a horizontal line: word processors slant a font that has no italics, also symbol fonts, and the
parser then reports text that runs diagonally.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.pdf.geometry import from_page, on_page, raw
from knowledge_mcp.readers.pdf.lines import Box, is_slanted
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, lines_of

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem, VectorGraphics, VectorLine

_FEWEST = 4
"""Number of items from which rotated text may be a table: two rows of two columns."""
_UP, _DOWN = 270, 90
_ASIDE = 1000
"""Number for the first rotated text; asides of a page are counted from 1."""
_LEANS, _LEVEL = 30.0, 1.0
"""Maximum angle in degrees of slanted letters, about a third of which is usual, and maximum slope of their line."""
_WITHIN = 2.0
"""Distance in points from the middle of an item within which one of its letters is found."""


@dataclass(frozen=True, slots=True)
class Turned:
    """The text of a page that runs in one other direction.

    Attributes:
        page: the page with only this text, turned upright.
        items: the items of the original page.
        most: whether it is most of the page's text.
        up: whether it runs up.
        sheet: width and height of the original page.
    """

    page: ParsedPage
    items: list[TextItem]
    most: bool
    up: bool
    sheet: tuple[float, float]

    def taken_back(self, layout: PageLayout) -> list[Line | Table]:
        """Return the elements with their place on the original page; empty unless a table or most of the page."""
        if not self.most and not any(isinstance(element, Table) for element in layout.elements):
            return []
        for element in layout.elements:
            for line in lines_of(element):
                line.shown = self._shown(line.x0, line.y0, line.x1, line.y1)
                line.aside = -_ASIDE if self.most else _ASIDE
        return layout.elements

    def _shown(self, left: float, top: float, right: float, bottom: float) -> Box:
        width, height = self.sheet
        if self.up:
            return top, height - right, bottom, height - left
        return width - bottom, left, width - top, right


def turned_text(parsed: ParsedPage, items: Iterable[TextItem]) -> list[Turned]:
    """Find the text of a page that runs up, and the text that runs down."""
    words = list(items)
    found: list[Turned] = []
    for direction in (_UP, _DOWN):
        some = [item for item in words if abs(item.rotation % 360 - direction) < 1]
        if len(some) >= _FEWEST:
            most = 2 * sum(len(item.text) for item in some) > sum(len(item.text) for item in words)
            up, sheet = direction == _UP, (parsed.width, parsed.height)
            found.append(Turned(_upright(parsed, some, up=up), some, most, up, sheet))
    return found


def is_upside_down(parsed: ParsedPage) -> bool:
    """Return whether most of a page's letters stand on their heads."""
    upside = sum(len(item.text) for item in parsed.text_items if abs(item.rotation % 360 - 180) < 1)
    return 2 * upside > sum(len(item.text) for item in parsed.text_items)


def turn_over(layout: PageLayout) -> None:
    """Give the lines of a page that was read turned over their place on the original page, in place."""
    width, height = layout.width, layout.height
    for line in layout.all_lines:
        left, top, right, bottom = line.shown or (line.x0, line.y0, line.x1, line.y1)
        line.shown = width - right, height - bottom, width - left, height - top


def _upright(parsed: ParsedPage, items: Iterable[TextItem], *, up: bool) -> ParsedPage:
    width, height = parsed.width, parsed.height

    def box(x: float, y: float, across: float, down: float) -> Box:
        return (height - y - down, x, down, across) if up else (y, width - x - across, down, across)

    turned: list[TextItem] = []
    for item in items:
        x, y, across, down = box(item.x, item.y, item.width, item.height)
        turned.append(replace(item, x=x, y=y, width=across, height=down, rotation=0.0))
    graphics = parsed.vector_graphics
    if graphics is not None:
        graphics = _turned_graphics(graphics, box)
    return replace(parsed, width=height, height=width, text_items=turned, blocks=[], vector_graphics=graphics)


def _turned_graphics(graphics: VectorGraphics, box: Callable[[float, float, float, float], Box]) -> VectorGraphics:
    lines: list[VectorLine] = []
    for line in graphics.lines:
        x0, y0, _, _ = box(line.x1, line.y1, 0.0, 0.0)
        x1, y1, _, _ = box(line.x2, line.y2, 0.0, 0.0)
        lines.append(replace(line, x1=min(x0, x1), y1=min(y0, y1), x2=max(x0, x1), y2=max(y0, y1)))
    return replace(graphics, lines=lines, shapes=[replace(shape, bbox=box(*shape.bbox)) for shape in graphics.shapes])


def set_level(page: Any, text: Any, parsed: ParsedPage) -> None:
    """Mark items of a parsed page as horizontal if their letters are slanted but their line is horizontal; in place.

    Args:
        page: the open PDFium page.
        text: its text page.
        parsed: the same page as the parser returns it.
    """
    for item in parsed.text_items:
        leans = (item.rotation + 180.0) % 360.0 - 180.0
        if is_slanted(item) and abs(leans) <= _LEANS and _runs_level(page, text, item):
            over = item.height * math.tan(math.radians(abs(leans)))  # how far the last letter leans over the next word
            item.rotation, item.width = 0.0, max(item.width - over, item.width / 2)


def _runs_level(page: Any, text: Any, item: TextItem) -> bool:
    """Return whether the first letter of an item is followed by the next one at the same height."""
    pdfium, size = raw(), page.get_size()
    x, y = on_page(page, size, item.x + min(item.width, item.height) / 2, item.y + item.height / 2)
    place = pdfium.FPDFText_GetCharIndexAtPos(text, x, y, item.height / 2 + _WITHIN, item.height / 2 + _WITHIN)
    matrix = pdfium.FS_MATRIX()
    if place < 0 or not pdfium.FPDFText_GetMatrix(text, place, matrix):
        return False
    scale = 100.0 / (math.hypot(matrix.a, matrix.b) or 1.0)
    (x0, y0), (x1, y1) = (
        from_page(page, size, x + step * scale * matrix.a, y + step * scale * matrix.b) for step in (0, 1)
    )
    return abs(math.degrees(math.atan2(y1 - y0, x1 - x0))) <= _LEVEL
