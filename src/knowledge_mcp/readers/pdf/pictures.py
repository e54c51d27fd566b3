"""How much of a PDF's page its pictures cover, and how many strokes are drawn on it. Runs in the sandbox's child.

Pictures are counted as the specification says, area of images over area of the page; where they overlap or hang over
the edge, what is covered counts once and what is outside not at all.
"""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["PageMarks", "marks_of"]

_DEPTH = 8
_MOST_OBJECTS = 200_000
_GRID = 1200.0
_BATCH = 25
_UPRIGHT = 0.02
_EXAMINED = 4000

_Matrix = tuple[float, float, float, float, float, float]
_SAME: _Matrix = (1.0, 0.0, 0.0, 1.0, 0.0, 0.0)


@dataclass(slots=True)
class PageMarks:
    """What is on one page beside its text.

    Attributes:
        number: physical page from 1.
        image_ratio: area of pictures over area of the page, 0..1.
        images: how many pictures there are.
        paths: how many vector paths there are: rules of tables and frames too.
        slanted: how many of the paths looked at (the first 4,000) have curves or lines that are not upright or level.
    """

    number: int
    image_ratio: float = 0.0
    images: int = 0
    paths: int = 0
    slanted: int = 0
    quads: list[Sequence[tuple[float, float]]] = field(default_factory=list[Sequence[tuple[float, float]]])


def marks_of(path: str, numbers: Iterable[int]) -> Iterator[PageMarks]:
    """Yield the marks of pages; the file is opened anew now and then, which frees what PDFium caches."""
    import pypdfium2

    waiting = list(numbers)
    while waiting:
        some, waiting = waiting[:_BATCH], waiting[_BATCH:]
        document: Any  # the library's annotations are partial
        with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
            for number in some:
                with contextlib.closing(document[number - 1]) as page:
                    yield _marks(page, number)


def _marks(page: Any, number: int) -> PageMarks:
    pdfium = _raw()
    marks = PageMarks(number)
    count = pdfium.FPDFPage_CountObjects(page)
    found = (pdfium.FPDFPage_GetObject(page, index) for index in range(min(count, _MOST_OBJECTS)))
    _walk(found, _SAME, marks, 0)
    if marks.quads:
        marks.image_ratio = _covered(page.get_bbox(), marks.quads)
    return marks


def _walk(objects: Iterable[Any], outer: _Matrix, marks: PageMarks, depth: int) -> None:
    pdfium = _raw()
    for one in objects:
        kind = pdfium.FPDFPageObj_GetType(one)
        if kind == pdfium.FPDF_PAGEOBJ_IMAGE:
            marks.images += 1
            within = _times(_matrix(one), outer)
            marks.quads.append([_place(within, x, y) for x, y in ((0, 0), (1, 0), (1, 1), (0, 1))])
        elif kind == pdfium.FPDF_PAGEOBJ_PATH:
            marks.paths += 1
            if marks.paths <= _EXAMINED and _is_slanted(one):
                marks.slanted += 1
        elif kind == pdfium.FPDF_PAGEOBJ_FORM and depth < _DEPTH:
            count = pdfium.FPDFFormObj_CountObjects(one)
            inside = (pdfium.FPDFFormObj_GetObject(one, index) for index in range(min(count, _MOST_OBJECTS)))
            _walk(inside, _times(_matrix(one), outer), marks, depth + 1)


def _is_slanted(path: Any) -> bool:
    """Tell whether a path has a curve, or a line that is neither upright nor level: no rule, frame or cell has."""
    pdfium = _raw()
    x, y = ctypes.c_float(), ctypes.c_float()
    before: tuple[float, float] | None = None
    for index in range(min(pdfium.FPDFPath_CountSegments(path), 12)):
        segment = pdfium.FPDFPath_GetPathSegment(path, index)
        kind = pdfium.FPDFPathSegment_GetType(segment)
        if kind == pdfium.FPDF_SEGMENT_BEZIERTO:
            return True
        pdfium.FPDFPathSegment_GetPoint(segment, x, y)
        here = (x.value, y.value)
        if kind == pdfium.FPDF_SEGMENT_LINETO and before is not None:
            across, along = abs(here[0] - before[0]), abs(here[1] - before[1])
            if min(across, along) > max(0.5, _UPRIGHT * max(across, along)):
                return True
        before = here
    return False


def _raw() -> Any:
    """Return PDFium's own functions; the library has no types for them."""
    import pypdfium2.raw

    return pypdfium2.raw


# ---- geometry -------------------------------------------------------------------------------------------------------


def _matrix(one: Any) -> _Matrix:
    pdfium = _raw()
    found = pdfium.FS_MATRIX()
    if not pdfium.FPDFPageObj_GetMatrix(one, found):
        return _SAME
    return (found.a, found.b, found.c, found.d, found.e, found.f)


def _times(one: _Matrix, other: _Matrix) -> _Matrix:
    """Return the matrix that applies `one`, then `other`."""
    a, b, c, d, e, f = one
    g, h, i, j, k, m = other
    return (a * g + b * i, a * h + b * j, c * g + d * i, c * h + d * j, e * g + f * i + k, e * h + f * j + m)


def _place(matrix: _Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return a * x + c * y + e, b * x + d * y + f


def _covered(box: tuple[float, float, float, float], quads: Sequence[Sequence[tuple[float, float]]]) -> float:
    """Tell which share of a box the four-sided figures cover, by painting them on a grid of it."""
    from PIL import Image, ImageDraw

    left, bottom, right, top = box
    across, along = max(right - left, 1e-6), max(top - bottom, 1e-6)
    scale = _GRID / max(across, along)
    size = (max(round(across * scale), 1), max(round(along * scale), 1))
    grid = Image.new("L", size)
    paint = ImageDraw.Draw(grid)
    for quad in quads:
        corners = [_clipped((x - left) * size[0] / across, (y - bottom) * size[1] / along) for x, y in quad]
        paint.polygon(corners, fill=1)
    return grid.histogram()[1] / (size[0] * size[1])


def _clipped(x: float, y: float) -> tuple[float, float]:
    """Keep a corner within what the painter can count with."""
    return min(max(x, -1e6), 1e6), min(max(y, -1e6), 1e6)
