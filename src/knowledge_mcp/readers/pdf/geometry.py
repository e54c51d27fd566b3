"""PDFium's own functions, how its objects lie on a page, and what is seen of them."""

from __future__ import annotations

import ctypes
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, TypeAlias

from knowledge_mcp.readers.pdf.lines import Box

Matrix: TypeAlias = tuple[float, float, float, float, float, float]
_SCALE = 16
"""Steps to a point: PDFium's functions count in whole units."""
_CONTRAST = 12
"""Steps of 255 by which the lightest and darkest pixel of a place differ at least where something is seen."""
_DOTS = 2.0
"""Pixels to a point in which a page is looked at."""
_MOST_PIXELS = 36_000_000
"""Larger sheets are looked at with fewer pixels to a point, as `rendering` does it: an A0 drawing has 32 million."""
_DRAWN = 0.9
"""Share of its length along which a line is seen, where one is: letters alone leave more of it free."""
SAME: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


def raw() -> Any:
    """Return PDFium's own functions; the library has no types for them."""
    import pypdfium2.raw

    return pypdfium2.raw


def matrix_of(one: Any) -> Matrix:
    """Return how an object lies in what it is part of."""
    pdfium = raw()
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(one, found):
        return SAME
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def times(one: Matrix, other: Matrix) -> Matrix:
    """Return the matrix that applies `one`, then `other`."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def placed(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    """Return where a point comes to lie."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def on_page(page: Any, size: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Turn points from the top left of a page as it is shown, `size` of it, into the page's own space."""
    across, up = ctypes.c_double(), ctypes.c_double()
    width, height = (round(each * _SCALE) for each in size)
    raw().FPDF_DeviceToPage(page, 0, 0, width, height, 0, round(x * _SCALE), round(y * _SCALE), across, up)
    return across.value, up.value


def text_in(page: Any, text: Any, left: float, top: float, right: float, bottom: float) -> str:
    """Return what PDFium reads in a box of a page; the box in points from the top left."""
    size = page.get_size()
    corners = on_page(page, size, left, top), on_page(page, size, right, bottom)
    (x0, x1), (y0, y1) = (sorted(pair) for pair in zip(*corners, strict=True))
    return str(text.get_text_bounded(x0, y0, x1, y1)).replace("\ufffe", "-")


def from_page(page: Any, size: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Turn a place in the page's own space into points from the top left of the page as it is shown, `size` of it."""
    across, down = ctypes.c_int(), ctypes.c_int()
    width, height = (round(each * _SCALE) for each in size)
    raw().FPDF_PageToDevice(page, 0, 0, width, height, 0, x, y, across, down)
    return across.value / _SCALE, down.value / _SCALE


def box_around(points: Sequence[tuple[float, float]]) -> Box:
    """Return the box around some points."""
    return (
        min(x for x, _ in points), min(y for _, y in points), max(x for x, _ in points), max(y for _, y in points),
    )  # fmt: skip


def _differs(one: Sequence[int], other: Sequence[int]) -> bool:
    return any(abs(first - second) >= _CONTRAST for first, second in zip(one, other, strict=True))


class PrintedPart:
    """A page as it is printed, as far as some boxes reach."""

    def __init__(self, page: Any, boxes: Sequence[Box]) -> None:
        width, height = page.get_size()
        left, top, right, bottom = box_around([point for x0, y0, x1, y1 in boxes for point in ((x0, y0), (x1, y1))])
        self._left, self._top = max(math.floor(left) - 2, 0), max(math.floor(top) - 2, 0)
        crop = (
            self._left, math.floor(max(height - bottom - 2, 0)), math.floor(max(width - right - 2, 0)), self._top,
        )  # fmt: skip
        area = max((right - left + 4) * (bottom - top + 4), 1.0)
        self._dots = min(_DOTS, math.sqrt(_MOST_PIXELS / area))
        self._image: Any = page.render(scale=self._dots, crop=crop).to_pil().convert("RGB")

    def shows(self, box: Box, ink: tuple[int, ...] | None) -> bool:
        """Tell whether words within a box can be seen: in an ink that is not the colour around them; else anything."""
        left, top, right, bottom = self._pixels(box)
        if right <= left or bottom <= top:
            return False
        if ink is None:
            part = self._image.crop((left, top, right, bottom))
            return any(high - low >= _CONTRAST for low, high in part.getextrema())
        return _differs(ink, self._ground(left, top, right, bottom))

    def shows_line(self, box: Box, height: float) -> bool:
        """Tell whether a line can be seen through the words within a box, at a height: ink, or its own, all along."""
        left, top, right, bottom = self._pixels(box)
        at = math.floor((height - self._top) * self._dots)
        first, end = max(at - 1, 0), min(at + 2, self._image.height)
        if right <= left or end <= first:
            return False
        ground = self._ground(left, top, right, bottom)
        pixels = self._image.load()
        inked = sum(any(_differs(pixels[x, y], ground) for y in range(first, end)) for x in range(left, right))
        return inked >= _DRAWN * (right - left)

    def _pixels(self, box: Box) -> tuple[int, int, int, int]:
        x0, x1 = ((value - self._left) * self._dots for value in box[::2])
        y0, y1 = ((value - self._top) * self._dots for value in box[1::2])
        left, top = max(math.floor(x0), 0), max(math.floor(y0), 0)
        return left, top, min(math.ceil(x1), self._image.width), min(math.ceil(y1), self._image.height)

    def _ground(self, left: int, top: int, right: int, bottom: int) -> tuple[int, int, int]:
        """Return the colour that there is most of in a frame around some words."""
        left, top = max(left - 2, 0), max(top - 2, 0)
        right, bottom = min(right + 2, self._image.width), min(bottom + 2, self._image.height)
        strips = (
            (left, top, right, top + 1),
            (left, bottom - 1, right, bottom),
            (left, top, left + 1, bottom),
            (right - 1, top, right, bottom),
        )
        colours: Counter[tuple[int, int, int]] = Counter()
        for strip in strips:
            part = self._image.crop(strip)
            colours.update({colour: count for count, colour in part.getcolors(part.width * part.height)})
        return colours.most_common(1)[0][0]
