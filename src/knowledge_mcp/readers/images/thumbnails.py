"""Small pictures of pages for people who read a report; runs in the sandbox's child."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Any

_QUALITY = 70


def render(path: str, *, pages: Sequence[int], width: int = 180) -> Iterator[dict[str, int] | bytes]:
    """Yield `page`, then its JPEG, for each of these pages of a PDF or an image file; `width` is in pixels."""
    draw = _of_pdf if PurePath(path).suffix.lower() == ".pdf" else _of_image
    for number, image in draw(path, pages, width):
        printed = io.BytesIO()
        image.convert("RGB").save(printed, "JPEG", quality=_QUALITY)
        yield {"page": number}
        yield printed.getvalue()


def _of_pdf(path: str, pages: Sequence[int], width: int) -> Iterator[tuple[int, Any]]:
    import pypdfium2

    document: Any  # the library's annotations are partial
    with contextlib.closing(pypdfium2.PdfDocument(path)) as document:
        for number in pages:
            with contextlib.closing(document[number - 1]) as page:
                across, along = page.get_size()
                scale = min(width / max(across, 1.0), 2 * width / max(along, 1.0))
                with contextlib.closing(page.render(scale=scale)) as bitmap:
                    yield number, bitmap.to_pil().copy()


def _of_image(path: str, pages: Sequence[int], width: int) -> Iterator[tuple[int, Any]]:
    from PIL import Image

    with Image.open(path) as image:
        for number in pages:
            image.seek(number - 1)
            image.draft("RGB", (2 * width, 4 * width))  # JPEGs are decoded small
            copy = image.convert("RGB")
            copy.thumbnail((width, 2 * width))
            yield number, copy
