"""Where a block stands on its pages: boxes of its lines, one for each page and column; in the sandbox's child."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from knowledge_mcp.readers.boxes import packed
from knowledge_mcp.readers.ocr_layout import RecognisedLine
from knowledge_mcp.readers.pdf.layout import Line

__all__ = ["Extent"]

_MARGIN = 1.0
"""Points by which a box is larger than its lines: type reaches beyond the ascent and descent that its font states."""
_APART = 3.0
"""Points between a box and a line beside it from which on the line stands in another column."""

_Place = tuple[float, float, float, float]


class Extent:
    """Gather the boxes of the lines of one block, in reading order.

    A line of another page begins another box, and so does one that stands higher than the line before it, beside all
    that is held: the block goes on in the next column.

    Args:
        lines: the first lines.
        whole: lines of one page make one box wherever they stand, as the cells of a table do.
    """

    __slots__ = ("_boxes", "_last", "_whole")

    def __init__(self, lines: Iterable[Line] = (), *, whole: bool = False) -> None:
        self._boxes: list[tuple[int, list[float]]] = []
        self._last: _Place = (0.0, 0.0, 0.0, 0.0)
        self._whole = whole
        for line in lines:
            self.add(line)

    def add(self, line: Line) -> None:
        """Take up one more line."""
        place = _place(line)
        page, box = self._boxes[-1] if self._boxes else (0, [])
        if page != line.page or (not self._whole and self._is_elsewhere(place, box)):
            self._boxes.append((line.page, list(place)))
        else:
            box[0], box[1] = min(box[0], place[0]), min(box[1], place[1])
            box[2], box[3] = max(box[2], place[2]), max(box[3], place[3])
        self._last = place

    def packed(self) -> list[int]:
        """Write the boxes as whole numbers, as `boxes.unpacked` reads them."""
        numbers: list[int] = []
        for page, (left, top, right, bottom) in self._boxes:
            numbers += packed(page, left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN)
        return numbers

    def _is_elsewhere(self, place: _Place, box: Sequence[float]) -> bool:
        beside = place[0] > box[2] + _APART or place[2] < box[0] - _APART
        return beside and (place[1] + place[3]) / 2 < self._last[1]


def _place(line: Line) -> _Place:
    """Tell where a line is to be seen: a recognised one where its words are, not where its type would stand."""
    if isinstance(line, RecognisedLine):
        return line.shown
    return line.x0, line.y0, line.x1, line.y1
