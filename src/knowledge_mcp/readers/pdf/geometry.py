"""PDFium's functions, transformations of its objects to the page, and tests of what is visible on the page."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from knowledge_mcp.readers.pdf.lines import Box

Matrix: TypeAlias = tuple[float, float, float, float, float, float]
BATCH = 25
"""Pages held in memory at a time; a file is reopened for each batch, which frees PDFium's caches."""
_SCALE = 16
"""Steps per point: PDFium's functions use whole numbers."""
_CONTRAST = 12
"""Minimum difference, out of 255, between the lightest and darkest pixel of a place where something is visible."""
_DOTS = 2.0
"""Pixels per point in which a page is rendered to look at it."""
_MOST_PIXELS = 36_000_000
"""Larger sheets are rendered with fewer pixels per point, as in `rendering`: an A0 drawing has 32 million."""
_DRAWN = 0.9
"""Share of a line's length that must be visible: letters alone cover less of it."""
_LEVEL_BASE = 0.5
"""Maximum difference in height of two letters of one line, in points."""
SAME: Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@functools.cache
def raw() -> Any:
    """Return PDFium's raw functions; the library has no types for them."""
    import pypdfium2.raw

    return pypdfium2.raw


def reopened(path: str, numbers: Iterable[int]) -> Iterator[tuple[Any, list[int]]]:
    """Yield a file's document, reopened from time to time, with the numbers of the next pages to read."""
    import pypdfium2

    waiting = list(numbers)
    for start in range(0, len(waiting), BATCH):
        with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
            yield document, waiting[start : start + BATCH]


def matrix_of(one: Any) -> Matrix:
    """Return the matrix of an object relative to what contains it."""
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
    """Apply a matrix to a point."""
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def on_page(page: Any, size: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Convert points from the top left of a page as shown, with dimensions `size`, to page space."""
    across, up = ctypes.c_double(), ctypes.c_double()
    width, height = (round(each * _SCALE) for each in size)
    raw().FPDF_DeviceToPage(page, 0, 0, width, height, 0, round(x * _SCALE), round(y * _SCALE), across, up)
    return across.value, up.value


def text_in(page: Any, text: Any, left: float, top: float, right: float, bottom: float) -> str:
    """Return the text that PDFium reads in a box of a page; the box is in points from the top left."""
    size = page.get_size()
    corners = on_page(page, size, left, top), on_page(page, size, right, bottom)
    (x0, x1), (y0, y1) = (sorted(pair) for pair in zip(*corners, strict=True))
    return str(text.get_text_bounded(x0, y0, x1, y1)).replace("\ufffe", "-")


def from_page(page: Any, size: tuple[float, float], x: float, y: float) -> tuple[float, float]:
    """Convert a point in page space to points from the top left of the page as shown, with dimensions `size`."""
    across, down = ctypes.c_int(), ctypes.c_int()
    width, height = size
    raw().FPDF_PageToDevice(page, 0, 0, round(width * _SCALE), round(height * _SCALE), 0, x, y, across, down)
    return across.value / _SCALE, down.value / _SCALE


def size_of_letter(text: Any, at: int) -> float:
    """Return the font size of a letter in points, by its index in PDFium's text."""
    pdfium = raw()
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(text, at, matrix)
    return float(pdfium.FPDFText_GetFontSize(text, at) * math.sqrt(abs(matrix.a * matrix.d - matrix.b * matrix.c)))


def base_of_letter(text: Any, at: int) -> float:
    """Return the height of a letter's baseline on the page in points, by its index in PDFium's text."""
    x, y = ctypes.c_double(), ctypes.c_double()
    raw().FPDFText_GetCharOrigin(text, at, x, y)
    return y.value


def gap_between(text: Any, one: int, other: int) -> float:
    """Return the distance between two letters of one line in points; 0 if they are not on one line."""
    pdfium = raw()
    first, second = pdfium.FS_RECTF(), pdfium.FS_RECTF()
    both = [pdfium.FPDFText_GetLooseCharBox(text, at, box) for at, box in ((one, first), (other, second))]
    return second.left - first.right if all(both) and abs(first.bottom - second.bottom) < _LEVEL_BASE else 0.0


def box_around(points: Sequence[tuple[float, float]]) -> Box:
    """Return the bounding box of some points."""
    return (
        min(x for x, _ in points), min(y for _, y in points), max(x for x, _ in points), max(y for _, y in points),
    )  # fmt: skip


def _differs(one: Sequence[int], other: Sequence[int]) -> bool:
    return any(abs(first - second) >= _CONTRAST for first, second in zip(one, other, strict=True))


class PrintedPart:
    """A page as it is printed, rendered as far as some boxes extend."""

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
        """Return whether words in a box are visible: `ink` differs from the background; if None, anything does."""
        left, top, right, bottom = self._pixels(box)
        if right <= left or bottom <= top:
            return False
        if ink is None:
            part = self._image.crop((left, top, right, bottom))
            return any(high - low >= _CONTRAST for low, high in part.getextrema())
        return _differs(ink, self._ground(left, top, right, bottom))

    def shows_line(self, box: Box, height: float) -> bool:
        """Return whether a line is visible through the words in a box, at a height: ink along the whole width."""
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
        """Return the most frequent colour in a frame around some words: the background."""
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
