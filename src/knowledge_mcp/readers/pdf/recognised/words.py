"""Recognised words: their font size, their place before the page was turned, and the lines that they form.

The box of a word shows its font size once the letters are known: "arms" has neither ascenders nor descenders, "play"
has both. Therefore sizes and baselines of consecutive lines of running text agree.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from knowledge_mcp.readers.shared.layout import Line

Word = list[Any]
"""Text, confidence, left, top, right, bottom in pixels of the upright page, line, block, width of its strokes."""
FONT = "recognised"
"""Name of the font of recognised words: their fonts are not known."""

_ASCENT, _X_HEIGHT, _DESCENT = 0.72, 0.52, 0.21
"""Heights of capitals, small letters and descenders as shares of the font size, on average over common fonts."""
_SHORT = set("acemnorsuvwxz")
_LOW = set("gjpqyQ,;()[]{}|/@$§")


@dataclass(frozen=True, slots=True)
class Turn:
    """How a page was turned before it was read: clockwise, first by some degrees, then by quarter turns.

    Attributes:
        width, height: pixels of the upright page.
        quarter: 0, 90, 180 or 270.
        skew: degrees beyond that.
    """

    width: float
    height: float
    quarter: int = 0
    skew: float = 0.0

    def undone(self, left: float, top: float, right: float, bottom: float) -> tuple[float, float, float, float]:
        """Return the bounding box, in pixels of the original page, of a box of the upright page."""
        if not self.quarter and not self.skew:
            return left, top, right, bottom
        xs, ys = zip(*(self._undone(x, y) for x in (left, right) for y in (top, bottom)), strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    def shown(self, line: Line, scale: float) -> tuple[float, float, float, float]:
        """Return the place of a line on the original page, in points; `scale` is in points per pixel."""
        left, top, right, bottom = self.undone(line.x0 / scale, line.y0 / scale, line.x1 / scale, line.y1 / scale)
        return left * scale, top * scale, right * scale, bottom * scale

    def _undone(self, x: float, y: float) -> tuple[float, float]:
        across, along = self.width, self.height
        if self.quarter == 90:
            x, y, across, along = y, across - x, along, across
        elif self.quarter == 180:
            x, y = across - x, along - y
        elif self.quarter == 270:
            x, y, across, along = along - y, x, along, across
        sine, cosine = math.sin(math.radians(self.skew)), math.cos(math.radians(self.skew))
        # turning enlarged the sheet, so that it contains the whole page
        larger = cosine * cosine - sine * sine
        width, height = (across * cosine - along * abs(sine)) / larger, (along * cosine - across * abs(sine)) / larger
        x, y = x - across / 2, y - along / 2
        return width / 2 + x * cosine + y * sine, height / 2 - x * sine + y * cosine


def size_of(words: Sequence[Word]) -> float:
    """Estimate the font size of some words of a line, in pixels."""
    sizes = [size for word in words if (size := _size(word)) > 0]
    tall = statistics.median(word[5] - word[3] for word in words)
    return statistics.median(sizes) if sizes else tall / (_ASCENT + _DESCENT)


def foot_of(words: Sequence[Word], size: float) -> float:
    """Estimate the baseline of a line, in pixels from the top of the page."""
    return statistics.median(word[5] - (_DESCENT * size if _LOW & set(word[0]) else 0) for word in words)


_HEAVY = 1.2
"""Factor of the stroke width of the running text from which print is bold: on generated pages plain lines had 0.78 to
1.1, bold ones 1.25 to 1.7, in three fonts and at 200 and 300 dots per inch."""


def stroke_of(words: Sequence[Word], size: float) -> float:
    """Return the stroke width of some words as a share of their font size; 0 if it was not measured."""
    letters = sum(len(word[0]) for word in words if word[8])
    return sum(len(word[0]) * word[8] for word in words) / letters / size if letters else 0.0


def is_heavy(words: Sequence[Word], size: float, usual: float) -> bool:
    """Return whether words are bold; `usual` is the stroke width of the running text as a share of its font size."""
    return 0 < _HEAVY * usual <= stroke_of(words, size)


def line_of(words: Sequence[Word], page: int, scale: float, turn: Turn, usual: float) -> Line:
    """Make a line from words sorted from the left; `scale` is in points per pixel, `usual` as in `is_heavy`."""
    size = size_of(words)
    foot = foot_of(words, size)
    gaps = [after[2] - before[4] for before, after in itertools.pairwise(words)]
    places = [turn.undone(*word[2:6]) for word in words]
    return Line(
        page=page,
        text=" ".join(word[0] for word in words),
        x0=round(min(word[2] for word in words) * scale, 1),
        y0=round((foot - 0.8 * size) * scale, 1),
        x1=round(max(word[4] for word in words) * scale, 1),
        y1=round((foot + 0.2 * size) * scale, 1),
        size=round(size * scale, 1),
        bold=is_heavy(words, size, usual),
        font=FONT,
        gap=max(gaps, default=0.0) * scale,
        block=float(words[0][7]),
        shown=(
            min(place[0] for place in places) * scale,
            min(place[1] for place in places) * scale,
            max(place[2] for place in places) * scale,
            max(place[3] for place in places) * scale,
        ),
    )


def _size(word: Sequence[Any]) -> float:
    """Estimate the font size of one word in pixels; 0 if it has no letters or digits."""
    letters = [letter for letter in word[0] if letter.isalnum()]
    if not letters:
        return 0.0
    top = _X_HEIGHT if set(word[0]) <= _SHORT | set("gpqy.,") else _ASCENT
    bottom = _DESCENT if _LOW & set(word[0]) else 0.0
    return (word[5] - word[3]) / (top + bottom)
