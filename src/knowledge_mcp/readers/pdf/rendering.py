"""PDF pages to grey images for text recognition; runs in the sandbox's child."""

from __future__ import annotations

import contextlib
import math
import struct
import zlib
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["MOST_PIXELS", "as_png", "is_blank", "render"]

MOST_PIXELS = 36_000_000
"""Larger sheets are rendered with fewer dots per inch: an A1 drawing with 190."""

_BATCH = 25
_SPREAD = 24


def render(path: str, *, pages: Sequence[int], dpi: int = 300) -> Iterator[dict[str, Any] | bytes]:
    """Yield each page's `page` number, `dpi` and whether it is `blank` or `failed`; then, unless one of these, its PNG.

    The file is opened anew now and then: PDFium keeps the pictures that it has decoded.
    """
    import pypdfium2

    waiting = list(pages)
    while waiting:
        some, waiting = waiting[:_BATCH], waiting[_BATCH:]
        document: Any  # the library's annotations are partial
        with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
            document.init_forms()
            for number in some:
                try:
                    yield from _render(document, number, dpi)
                except pypdfium2.PdfiumError as error:
                    yield {"page": number, "failed": f"The page could not be rendered: {error}."}


def _render(document: Any, number: int, dpi: int) -> Iterator[dict[str, Any] | bytes]:
    """Paint one page on a grey bitmap.

    The library's `grayscale` has every picture converted before it is painted; painted on grey as it is, it comes to
    the same within two of 255 shades, in half the time. That a scan is resampled, by a pixel in three thousand where it
    has as many dots as are asked for, does it good: painted pixel by pixel, grainy pages read worse.
    """
    import pypdfium2.raw

    grey: int = pypdfium2.raw.FPDFBitmap_Gray
    with contextlib.closing(document[number - 1]) as page:
        width, height = page.get_size()
        scale = min(dpi / 72, math.sqrt(MOST_PIXELS / max(width * height, 1.0)))
        with contextlib.closing(page.render(scale=scale, force_bitmap_format=grey)) as bitmap:
            image = bitmap.to_pil()
            blank = is_blank(image)
            described = {"page": number, "dpi": round(scale * 72, 2), "blank": blank}
            printed = b"" if blank else as_png(image, described["dpi"])
    yield described
    if printed:
        yield printed


def is_blank(image: Any) -> bool:
    """Tell whether a grey image is of one shade, give or take what a scanner adds."""
    darkest, lightest = image.getextrema()
    return lightest - darkest < _SPREAD


def as_png(image: Any, dpi: float) -> bytes:
    """Encode a grey image as PNG with its resolution, by which the engine reads type sizes.

    Nothing is compressed: it goes to the next process and no further, and packing the grain of a scan takes as long as
    rendering it.
    """
    width, height = image.size
    pixels = memoryview(image.tobytes())
    rows = b"".join(part for row in range(height) for part in (b"\0", pixels[row * width : (row + 1) * width]))
    per_metre = round(dpi / 0.0254)
    return b"".join(
        (
            b"\x89PNG\r\n\x1a\n",
            _piece(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)),
            _piece(b"pHYs", struct.pack(">IIB", per_metre, per_metre, 1)),
            _piece(b"IDAT", zlib.compress(rows, 0)),
            _piece(b"IEND", b""),
        )
    )


def _piece(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(body, zlib.crc32(kind)))
