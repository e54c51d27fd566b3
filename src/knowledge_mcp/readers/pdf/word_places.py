"""Where words stand on a page of a PDF, found by their letters and digits alone; runs in the sandbox's child.

Blanks, hyphens at line ends, quotation marks and dashes count for nothing, ligatures for their letters.
"""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["is_inside", "word_places"]

_LEAST = 3
_ENOUGH = 20
"""Letters by which the beginning or end of a paragraph is known that goes over the page's edge."""
_MOST_CHARACTERS = 200_000
_SAME_LINE = 0.5
_BESIDE = 4.0
"""Heights of a line by which two of its words may stand apart, signs that are no letters between them."""
_PIECES = re.compile(r"\n|(?<!\\)\|")

_Place = tuple[float, float, float, float]


def word_places(sheet: Any, words: str, frames: Sequence[_Place], size: tuple[int, int]) -> list[_Place]:
    """Find words on a page, and return a box for each of their lines.

    Words that are not found as a whole are looked for line by line and cell by cell, and of what goes over the page's
    edge the part that stands on it. Only places inside the frames count.

    Args:
        sheet: PDFium's page.
        words: what is looked for.
        frames: left, top, right, bottom in pixels of a picture of the page; none for the whole page.
        size: width and height of that picture.
    """
    with contextlib.closing(sheet.get_textpage()) as text:
        page = _Spelled.of(sheet, text, size)
        found = page.find(_spelling(words), frames)
        if found:
            return found
        places: list[_Place] = []
        for piece in _PIECES.split(words):
            wanted = _spelling(piece)
            places += page.find(wanted, frames) or page.find_part(wanted, frames)
    return places


def is_inside(place: _Place, frames: Sequence[_Place]) -> bool:
    """Tell whether the middle of a place lies inside one of the frames."""
    x, y = (place[0] + place[2]) / 2, (place[1] + place[3]) / 2
    return any(left <= x <= right and top <= y <= bottom for left, top, right, bottom in frames)


@dataclass(slots=True)
class _Spelled:
    """The letters and digits of a page, each with the number of the character that shows it.

    Attributes:
        after: where the last words were found; the next ones are looked for behind them first.
    """

    sheet: Any
    text: Any
    size: tuple[int, int]
    letters: str
    numbers: list[int]
    after: int = 0

    @classmethod
    def of(cls, sheet: Any, text: Any, size: tuple[int, int]) -> _Spelled:
        pdfium = _raw()
        letters: list[str] = []
        numbers: list[int] = []
        for number in range(min(text.count_chars(), _MOST_CHARACTERS)):
            code = pdfium.FPDFText_GetUnicode(text, number)
            plain = _spelling(chr(code)) if 0 < code < 0x110000 else ""
            letters.append(plain)
            numbers.extend([number] * len(plain))
        return cls(sheet, text, size, "".join(letters), numbers)

    def find(self, wanted: str, frames: Sequence[_Place]) -> list[_Place]:
        """Return where the letters stand as a whole: the first place inside the frames, nothing where there is none."""
        if len(wanted) < _LEAST:
            return []
        for start in self._starts(wanted):
            places = self._places(start, start + len(wanted), frames)
            if places:
                return places
        return []

    def find_part(self, wanted: str, frames: Sequence[_Place]) -> list[_Place]:
        """Return where the beginning or the end of the letters stands, as far as it goes."""
        if len(wanted) < 2 * _ENOUGH:
            return []
        for start in self._starts(wanted[:_ENOUGH]):
            places = self._places(start, start + _alike(wanted, self.letters[start:]), frames)
            if places:
                return places
        for start in self._starts(wanted[-_ENOUGH:]):
            stop = start + _ENOUGH
            places = self._places(stop - _alike(wanted[::-1], self.letters[stop - 1 :: -1]), stop, frames)
            if places:
                return places
        return []

    def _starts(self, wanted: str) -> Iterator[int]:
        for begin, end in ((self.after, len(self.letters)), (0, self.after + len(wanted) - 1)):
            start = self.letters.find(wanted, begin, end)
            while start >= 0:
                yield start
                start = self.letters.find(wanted, start + 1, end)

    def _places(self, start: int, stop: int, frames: Sequence[_Place]) -> list[_Place]:
        """Return a box for each line of these letters, nothing where some stand outside the frames."""
        numbers = sorted(set(self.numbers[start:stop]))
        places = [self._on_picture(self.text.get_charbox(number)) for number in numbers]
        if frames and not all(is_inside(place, frames) for place in places):
            return []
        self.after = stop
        return _in_lines(places)

    def _on_picture(self, box: _Place) -> _Place:
        """Turn a box of the file (left, bottom, right, top) into one of the picture (left, top, right, bottom)."""
        pdfium, (width, height) = _raw(), self.size
        x, y = ctypes.c_int(), ctypes.c_int()
        xs: list[float] = []
        ys: list[float] = []
        for across, along in ((box[0], box[1]), (box[2], box[3])):
            pdfium.FPDF_PageToDevice(self.sheet, 0, 0, width, height, 0, across, along, x, y)
            xs.append(x.value)
            ys.append(y.value)
        return min(xs), min(ys), max(xs), max(ys)


def _raw() -> Any:
    """Return PDFium's own functions; the library has no types for them."""
    import pypdfium2.raw

    return pypdfium2.raw


def _alike(one: str, other: str) -> int:
    """Count the letters that two texts begin with alike."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _spelling(text: str) -> str:
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def _in_lines(places: Sequence[_Place]) -> list[_Place]:
    """Join the boxes of characters that follow one another in a line; lines may run across the page, or up and down."""
    steps = [abs(after[0] - before[0]) >= abs(after[1] - before[1]) for before, after in itertools.pairwise(places)]
    along = 0 if sum(steps) * 2 >= len(steps) else 1
    joined: list[_Place] = []
    for place in places:
        if joined and _goes_on(joined[-1], place, along):
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


def _goes_on(line: _Place, place: _Place, along: int) -> bool:
    """Tell whether a character stands in a line that runs along an axis (0 across the page), or a little beside it."""
    across = 1 - along
    common = min(line[across + 2], place[across + 2]) - max(line[across], place[across])
    smaller = min(line[across + 2] - line[across], place[across + 2] - place[across])
    gap = max(line[along], place[along]) - min(line[along + 2], place[along + 2])
    return common > _SAME_LINE * smaller - 1 and gap < _BESIDE * max(line[across + 2] - line[across], 1.0)
