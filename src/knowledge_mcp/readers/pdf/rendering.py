"""Renders PDF pages as grey images for text recognition, and marks words on pages; runs in the sandbox's child."""

from __future__ import annotations

import contextlib
import ctypes
import io
import itertools
import math
import re
import struct
import unicodedata
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.readers.pdf.engine import opened
from knowledge_mcp.readers.pdf.geometry import raw, reopened
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

MOST_PIXELS = 36_000_000
"""Larger sheets are rendered with fewer dots per inch: an A1 drawing with 190."""

_SPREAD = 24


def render(path: str, *, pages: Sequence[int], dpi: int = 300) -> Iterator[dict[str, Any] | bytes]:
    """Yield each page's `page` number, `dpi` and whether it is `blank` or `failed`; otherwise its PNG follows."""
    import pypdfium2

    for document, some in reopened(path, pages):
        document.init_forms()
        for number in some:
            try:
                yield from _render(document, number, dpi)
            except pypdfium2.PdfiumError as error:
                yield {"page": number, "failed": f"The page could not be rendered: {error}."}


def _render(document: Any, number: int, dpi: int) -> Iterator[dict[str, Any] | bytes]:
    """Render one page to a grey bitmap.

    The library's `grayscale` converts every picture before it is painted. Painting the pictures directly onto grey
    gives the same result within two of 255 shades, in half the time. A scan that already has the requested resolution
    is resampled, by one pixel in three thousand. That helps: painted pixel by pixel, grainy pages are recognised worse.
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
    """Return whether a grey image has only one shade, apart from scanner noise."""
    darkest, lightest = image.getextrema()
    return lightest - darkest < _SPREAD


def as_png(image: Any, dpi: float) -> bytes:
    """Encode a grey image as PNG with its resolution, from which the OCR engine derives font sizes.

    It is not compressed: it goes only to the next process, and compressing the grain of a scan takes as long as
    rendering the page.
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


_LEAST = 3
_ENOUGH = 20
"""Number of letters by which the beginning or end of a paragraph that crosses the page's edge is found."""
_MOST_CHARACTERS = 200_000
_SAME_LINE = 0.5
_BESIDE = 4.0
"""Maximum distance between two words of a line, in line heights: other signs may be between them."""
_PIECES = re.compile(r"\n|(?<!\\)\|")

_Place = tuple[float, float, float, float]


def word_places(sheet: Any, words: str, frames: Sequence[_Place], size: tuple[int, int]) -> list[_Place]:
    """Find words on a page, and return a box for each of their lines.

    Words that are not found as a whole are searched line by line and cell by cell. If they cross the page's edge, the
    part on the page is found. Only places inside the frames count.

    Args:
        sheet: the PDFium page.
        words: the words to find.
        frames: left, top, right, bottom in pixels of a picture of the page; empty for the whole page.
        size: width and height of that picture.
    """
    with contextlib.closing(sheet.get_textpage()) as text:
        page = _Spelled.of(sheet, text, size)
        found = page.find(_spelling(words), frames)
        if found:
            return found
        places: list[_Place] = []
        for piece in _PIECES.split(words):
            spelling = _spelling(piece)
            places += page.find(spelling, frames) or page.find_part(spelling, frames)
    return places


def is_inside(place: _Place, frames: Sequence[_Place]) -> bool:
    """Return whether the middle of a place is inside one of the frames."""
    x, y = (place[0] + place[2]) / 2, (place[1] + place[3]) / 2
    return any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in frames)


@dataclass(slots=True)
class _Spelled:
    """The letters and digits of a page, each with the index of the character that shows it.

    Attributes:
        after: where the last words ended; the next ones are searched after this position first.
    """

    sheet: Any
    text: Any
    size: tuple[int, int]
    letters: str
    numbers: list[int]
    after: int = 0

    @classmethod
    def of(cls, sheet: Any, text: Any, size: tuple[int, int]) -> _Spelled:
        pdfium = raw()
        letters: list[str] = []
        numbers: list[int] = []
        for number in range(min(text.count_chars(), _MOST_CHARACTERS)):
            code = pdfium.FPDFText_GetUnicode(text, number)
            plain = _spelling(chr(code)) if 0 < code < 0x110000 else ""
            letters.append(plain)
            numbers.extend([number] * len(plain))
        return cls(sheet, text, size, "".join(letters), numbers)

    def find(self, spelling: str, frames: Sequence[_Place]) -> list[_Place]:
        """Return the boxes of the first whole match inside the frames; empty if there is none."""
        if len(spelling) < _LEAST:
            return []
        for start in self._starts(spelling):
            places = self._places(start, start + len(spelling), frames)
            if places:
                return places
        return []

    def find_part(self, spelling: str, frames: Sequence[_Place]) -> list[_Place]:
        """Return the boxes of the beginning or the end of the letters, as far as they match."""
        if len(spelling) < 2 * _ENOUGH:
            return []
        for start in self._starts(spelling[:_ENOUGH]):
            places = self._places(start, start + _alike(spelling, self.letters[start:]), frames)
            if places:
                return places
        for start in self._starts(spelling[-_ENOUGH:]):
            stop = start + _ENOUGH
            places = self._places(stop - _alike(spelling[::-1], self.letters[stop - 1 :: -1]), stop, frames)
            if places:
                return places
        return []

    def _starts(self, spelling: str) -> Iterator[int]:
        for begin, end in ((self.after, len(self.letters)), (0, self.after + len(spelling) - 1)):
            start = self.letters.find(spelling, begin, end)
            while start >= 0:
                yield start
                start = self.letters.find(spelling, start + 1, end)

    def _places(self, start: int, stop: int, frames: Sequence[_Place]) -> list[_Place]:
        """Return a box for each line of these letters; empty if any are outside the frames."""
        numbers = sorted(set(self.numbers[start:stop]))
        places = [self._on_picture(self.text.get_charbox(number)) for number in numbers]
        if frames and not all(is_inside(place, frames) for place in places):
            return []
        self.after = stop
        return _in_lines(places)

    def _on_picture(self, box: _Place) -> _Place:
        """Convert a box of the file (left, bottom, right, top) to one of the picture (left, top, right, bottom)."""
        pdfium, (width, height) = raw(), self.size
        x, y = ctypes.c_int(), ctypes.c_int()
        xs: list[float] = []
        ys: list[float] = []
        for across, along in ((box[0], box[1]), (box[2], box[3])):
            pdfium.FPDF_PageToDevice(self.sheet, 0, 0, width, height, 0, across, along, x, y)
            xs.append(x.value)
            ys.append(y.value)
        return min(xs), min(ys), max(xs), max(ys)


def _alike(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _spelling(text: str) -> str:
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _in_lines(places: Sequence[_Place]) -> list[_Place]:
    """Join the boxes of consecutive characters of a line; lines may be horizontal or vertical."""
    steps = [abs(after[0] - before[0]) >= abs(after[1] - before[1]) for before, after in itertools.pairwise(places)]
    along = 0 if sum(steps) * 2 >= len(steps) else 1
    joined: list[_Place] = []
    for place in places:
        if joined and _is_in_line(joined[-1], place, along):
            last = joined[-1]
            joined[-1] = (
                min(last[0], place[0]),
                min(last[1], place[1]),
                max(last[2], place[2]),
                max(last[3], place[3]),
            )
        else:
            joined.append(place)
    return joined


def _is_in_line(line: _Place, place: _Place, along: int) -> bool:
    """Return whether a character is in a line along an axis (0 is horizontal), or close to it."""
    across = 1 - along
    common = min(line[across + 2], place[across + 2]) - max(line[across], place[across])
    smaller = min(line[across + 2] - line[across], place[across + 2] - place[across])
    gap = max(line[along], place[along]) - min(line[along + 2], place[along + 2])
    return common > _SAME_LINE * smaller - 1 and gap < _BESIDE * max(line[across + 2] - line[across], 1.0)


_PAINT, _FRAME = (255, 236, 130), (214, 69, 0)


def mark(
    path: str, *, page: int, boxes: Sequence[Sequence[float]], words: str = "", dpi: int = 150
) -> Iterator[dict[str, Any] | bytes]:
    """Yield `width` and `height` in pixels and the number of places of `words`; then the picture as PNG.

    Args:
        path: the file.
        page: physical page from 1.
        boxes: left, top, right, bottom of each place, in points.
        words: the text there, or part of it: if the whole is not found, lines and cells of tables are searched one by
            one. If empty, the boxes are coloured.
        dpi: dots per inch; fewer for sheets that would be too large.

    Raises:
        Refusal: the file cannot be opened, or has no such page.
    """
    import pypdfium2

    try:
        with opened(path) as document:
            if not 0 < page <= len(document):
                raise Refusal("corrupted", f"The file has {how_many(len(document), 'page')}; there is no page {page}.")
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
    """Draw the page and the marks; return the picture and the number of places of the words."""
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
