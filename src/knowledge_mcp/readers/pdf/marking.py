"""One page of a PDF as a picture with places marked on it; runs in the sandbox's child.

Places are boxes in points from the upper left corner of the page as it is shown. Where the words that stand there are
given too, and the page has them in its text layer, just these words are coloured, and the boxes are drawn around them;
a box in which none of them is found is coloured as a whole.
"""

from __future__ import annotations

import contextlib
import io
import math
from collections.abc import Iterator, Sequence
from typing import Any

from knowledge_mcp.readers.pdf.engine import refusal
from knowledge_mcp.readers.pdf.rendering import MOST_PIXELS
from knowledge_mcp.readers.pdf.word_places import is_inside, word_places
from knowledge_mcp.support.sandbox_worker import Refusal

__all__ = ["mark"]

_PAINT, _FRAME = (255, 236, 130), (214, 69, 0)


def mark(
    path: str, *, page: int, boxes: Sequence[Sequence[float]], words: str = "", dpi: int = 150
) -> Iterator[dict[str, Any] | bytes]:
    """Yield `width` and `height` in pixels and in how many places `words` were found; then the picture as PNG.

    Args:
        path: the file.
        page: physical page from 1.
        boxes: left, top, right, bottom of each place, in points.
        words: what stands there, or some of it: lines and cells of tables are looked for one by one where the whole is
            not found; empty to colour the boxes.
        dpi: dots per inch, fewer for sheets that would be too large.

    Raises:
        Refusal: the file cannot be opened, or has no such page.
    """
    import pypdfium2

    document: Any  # the library's annotations are partial
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise refusal(path, error) from error
    try:
        with contextlib.closing(document):
            if not 0 < page <= len(document):
                raise Refusal("corrupted", f"The file has {len(document)} pages, and no page {page}.")
            document.init_forms()
            with contextlib.closing(document[page - 1]) as sheet:
                image, found = _drawn(sheet, boxes, words, dpi)
    except pypdfium2.PdfiumError as error:
        raise Refusal("corrupted", "The page cannot be drawn.", details=f"PDFium: {error}") from error
    printed = io.BytesIO()
    image.save(printed, "PNG", dpi=(dpi, dpi))
    yield {"width": image.width, "height": image.height, "words": found}
    yield printed.getvalue()


def _drawn(sheet: Any, boxes: Sequence[Sequence[float]], words: str, dpi: int) -> tuple[Any, int]:
    """Draw the page and the marks; returns the picture, and how many places of the words were found."""
    from PIL import Image, ImageChops, ImageDraw

    width, height = sheet.get_size()
    scale = min(dpi / 72, math.sqrt(MOST_PIXELS / max(width * height, 1.0)))
    with contextlib.closing(sheet.render(scale=scale)) as bitmap:
        image = bitmap.to_pil().convert("RGB")
    frames = [(box[0] * scale, box[1] * scale, box[2] * scale, box[3] * scale) for box in boxes]
    coloured = word_places(sheet, words, frames, image.size)
    bare = [frame for frame in frames if not any(is_inside(place, [frame]) for place in coloured)]
    paint = Image.new("RGB", image.size, "white")
    brush = ImageDraw.Draw(paint)
    for left, top, right, bottom in (*coloured, *bare):
        brush.rectangle((left, top, right, bottom), fill=_PAINT)
    image = ImageChops.multiply(image, paint)
    pen = ImageDraw.Draw(image)
    for left, top, right, bottom in frames:
        pen.rectangle((left, top, right, bottom), outline=_FRAME, width=max(round(scale), 1))
    return image, len(coloured)
