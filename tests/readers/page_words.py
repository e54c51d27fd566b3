"""Where PDFium sees words on the pages of a file as they are shown: the oracle for boxes; and words that occur once."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import io
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.model.document import Box
from tests.readers.pdf_files import HEIGHT, LEFT, WIDTH, changed, sheet

_FINE = 100
_ONSETS, _RIMES = "bdfgklmnprstvz", ("a", "e", "i", "o", "u")


@dataclass(frozen=True, slots=True)
class PageWord:
    """One word with its box: points from the upper left corner of the page as it is shown."""

    text: str
    box: Box


def holds(box: Box, other: Box, tolerance: float = 0.0) -> bool:
    """Tell whether a box lies inside another one of the same page."""
    return (
        box.page == other.page
        and box.left <= other.left + tolerance
        and box.top <= other.top + tolerance
        and box.right >= other.right - tolerance
        and box.bottom >= other.bottom - tolerance
    )


@functools.cache
def page_words(data: bytes) -> tuple[PageWord, ...]:
    """List the words of all pages; a word is a run of letters and digits."""
    import pypdfium2

    found: list[PageWord] = []
    document: Any  # the library's annotations are partial
    with contextlib.closing(pypdfium2.PdfDocument(io.BytesIO(data))) as document:
        for number in range(1, len(document) + 1):
            with contextlib.closing(document[number - 1]) as page, contextlib.closing(page.get_textpage()) as text:
                found.extend(_words(page, text, number))
    return tuple(found)


def _words(page: Any, text: Any, number: int) -> Iterator[PageWord]:
    characters = [text.get_text_range(at, 1) for at in range(text.count_chars())]
    for match in re.finditer(r"\w+", "".join(each or " " for each in characters)):
        corners = [_shown(page, text.get_charbox(at)) for at in range(*match.span())]
        yield PageWord(
            match.group(),
            Box(
                number,
                min(each[0] for each in corners),
                min(each[1] for each in corners),
                max(each[2] for each in corners),
                max(each[3] for each in corners),
            ),
        )


def _shown(page: Any, box: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
    from pypdfium2 import raw

    pdfium: Any = raw  # the library has no types for them
    width, height = page.get_size()
    x, y = ctypes.c_int(), ctypes.c_int()
    places: list[tuple[float, float]] = []
    for across, along in ((box[0], box[1]), (box[2], box[3])):
        pdfium.FPDF_PageToDevice(page, 0, 0, round(width * _FINE), round(height * _FINE), 0, across, along, x, y)
        places.append((x.value / _FINE, y.value / _FINE))
    (one, top), (other, bottom) = places
    return min(one, other), min(top, bottom), max(one, other), max(top, bottom)


# ---- files in which every word occurs once --------------------------------------------------------------------------


class _Words:
    def __init__(self) -> None:
        self._count = 0

    def next(self) -> str:
        number, word = self._count, ""
        self._count += 1
        for _ in range(3):
            number, onset = divmod(number, len(_ONSETS))
            word += _ONSETS[onset] + _RIMES[(number + onset) % len(_RIMES)]
        return word + _ONSETS[number % len(_ONSETS)]

    def line(self, count: int, *, begin: bool = False, end: bool = False) -> str:
        words = [self.next() for _ in range(count)]
        words[0] = words[0].capitalize() if begin else words[0]
        return " ".join(words) + ("." if end else "")

    def paragraph(self, lines: int, words: int) -> list[str]:
        last = lines - 1
        return [self.line(words, begin=row == 0, end=row == last) for row in range(lines)]


def once() -> _Words:
    """Make a source of words none of which comes twice."""
    return _Words()


def _plain() -> bytes:
    words, pages = once(), sheet(title="Plain")
    pages.furniture = lambda each: each.at(LEFT, 40, "KM 100:2026  Sample recorders", 9)
    for number in (1, 2):
        pages.heading(f"{number} {words.line(2, begin=True)}")
        for part in (1, 2):
            pages.heading(f"{number}.{part} {words.line(3, begin=True)}", 11)
            pages.paragraph(*words.paragraph(4, 9))
            for letter in "abc":
                pages.line(f"{letter}) {words.line(6)};", x=LEFT + 14)
            pages.paragraph(f"NOTE {words.line(6, begin=True, end=True)}")
        pages.line(f"{number} {words.line(7, begin=True, end=True)}", size=7)
        if number == 1:
            pages.next_page()
    return pages.done()


def _split() -> bytes:
    """Let each paragraph run over the foot of its page."""
    words, pages = once(), sheet(title="Split")
    pages.heading(f"1 {words.line(2, begin=True)}")
    for _ in range(3):
        pages.y = 700
        for row in range(5):
            pages.line(words.line(9, begin=row == 0))
        pages.next_page()
        pages.y = 90
        for row in range(4):
            pages.line(words.line(9, end=row == 3))
        pages.y += 8
    return pages.done()


def _columns() -> bytes:
    """Set two columns below a heading over both; a paragraph goes from one into the other."""
    words, pages = once(), sheet(title="Columns")
    for number in (1, 2):
        pages.at(60, 110, f"{number} {words.line(5, begin=True)}", 13, "Helvetica-Bold")
        for row, column in enumerate((60.0, 320.0)):
            lines = [words.line(5, begin=True) for _ in range(40)]
            for last in (6, 15, 27) if row else (8, 19, 30):
                lines[last] += "."
            lines[-1] += "." if row else ","  # a comma: the sentence goes on in the next column
            for step, line in enumerate(lines):
                pages.at(column, 140 + 13 * step, line)
        pages.next_page()
    return pages.done()


def _table() -> bytes:
    words, pages = once(), sheet(title="Table")
    pages.heading(f"1 {words.line(2, begin=True)}")
    pages.paragraph(*words.paragraph(3, 9))
    pages.paragraph(f"Table 1 - {words.line(3, begin=True)}")
    rows = [[words.line(2, begin=True) for _ in range(3)] for _ in range(12)]
    pages.grid(rows, (140, 140, 140))
    pages.paragraph(*words.paragraph(3, 9))
    return pages.done()


def turned(data: bytes, degrees: int, *, upright: bool) -> bytes:
    """Turn the pages clockwise; with `upright` what stands on them is turned back, so that it is shown as before."""
    import pikepdf

    ways = {90: (0, 1, -1, 0, HEIGHT, 0), 180: (-1, 0, 0, -1, WIDTH, HEIGHT), 270: (0, -1, 1, 0, 0, WIDTH)}

    def change(document: Any) -> None:
        for page in document.pages:
            page.Rotate = degrees
            if upright:
                matrix = " ".join(f"{value:g}" for value in ways[degrees])
                page.contents_add(pikepdf.Stream(document, f"q {matrix} cm\n".encode()), prepend=True)
                page.contents_add(pikepdf.Stream(document, b"\nQ"))
                size = (WIDTH, HEIGHT) if degrees == 180 else (HEIGHT, WIDTH)
                page.MediaBox = pikepdf.Array([0, 0, *map(int, size)])

    return changed(data, change)


def _cropped() -> bytes:
    def change(document: Any) -> None:
        import pikepdf

        for page in document.pages:
            page.CropBox = pikepdf.Array([40, 30, 560, 812])

    return changed(layout("plain"), change)


_MAKERS: Mapping[str, Callable[[], bytes]] = {
    "plain": _plain,
    "split": _split,
    "columns": _columns,
    "table": _table,
    "turned right": lambda: turned(layout("plain"), 90, upright=True),
    "turned over": lambda: turned(layout("plain"), 180, upright=True),
    "turned left": lambda: turned(layout("plain"), 270, upright=True),
    "lying on its side": lambda: turned(layout("plain"), 90, upright=False),
    "columns turned": lambda: turned(layout("columns"), 270, upright=True),
    "cropped": _cropped,
}
LAYOUTS = tuple(_MAKERS)
"""Names of files, by what is special about them."""


@functools.cache
def layout(name: str) -> bytes:
    """Make one of these files; in all of them every word of seven letters occurs once."""
    return _MAKERS[name]()
