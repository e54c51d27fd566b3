"""PDFium's own functions, and how its objects lie on a page."""

from __future__ import annotations

import ctypes
from typing import Any, TypeAlias

Matrix: TypeAlias = tuple[float, float, float, float, float, float]
_SCALE = 16
"""Steps to a point: PDFium's functions count in whole units."""
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
