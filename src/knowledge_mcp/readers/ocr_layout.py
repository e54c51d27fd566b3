"""Recognised words to lines in reading order, as if a page had a text layer; runs in the sandbox's child.

A box of letters says how large the type is once one knows which letters they are: "arms" has neither ascender nor
descender, "play" has both. So sizes and baselines come out alike for a line of running text and the next one.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.ocr_columns import columns_apart
from knowledge_mcp.readers.pdf.layout import Line, PageLayout

__all__ = ["Recognised", "RecognisedLine", "load_recognised"]

_ASCENT, _X_HEIGHT, _DESCENT = 0.72, 0.52, 0.21
"""Shares of the type size that capitals, small letters, and descenders take, on average over common faces."""
_SHORT = set("acemnorsuvwxz")
_LOW = set("gjpqyQ,;()[]{}|/@$§")
_SAME_SIZE = 0.13


@dataclass(slots=True)
class RecognisedLine(Line):
    """A line that was recognised; `shown` is the box of its words in points on the page as it came, not turned."""

    shown: tuple[float, float, float, float] = field(default=(0.0, 0.0, 0.0, 0.0), kw_only=True)


@dataclass(frozen=True, slots=True)
class _Turn:
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
        """Return the box, in pixels of the page as it came, that holds a box of the upright page."""
        if not self.quarter and not self.skew:
            return left, top, right, bottom
        xs, ys = zip(*(self._undone(x, y) for x in (left, right) for y in (top, bottom)), strict=True)
        return min(xs), min(ys), max(xs), max(ys)

    def _undone(self, x: float, y: float) -> tuple[float, float]:
        across, along = self.width, self.height
        if self.quarter == 90:
            x, y, across, along = y, across - x, along, across
        elif self.quarter == 180:
            x, y = across - x, along - y
        elif self.quarter == 270:
            x, y, across, along = along - y, x, along, across
        sine, cosine = math.sin(math.radians(self.skew)), math.cos(math.radians(self.skew))
        # turning made the sheet larger, so that it holds all of the page
        larger = cosine * cosine - sine * sine
        width, height = (across * cosine - along * abs(sine)) / larger, (along * cosine - across * abs(sine)) / larger
        x, y = x - across / 2, y - along / 2
        return width / 2 + x * cosine + y * sine, height / 2 - x * sine + y * cosine


@dataclass(frozen=True, slots=True)
class Recognised:
    """One recognised page as a layout, with the reason why it was recognised and its words' mean confidence."""

    layout: PageLayout
    reason: str
    confidence: float


def load_recognised(path: str) -> dict[int, Recognised]:
    """Read the file that `recognition.recognise` wrote; pages by number."""
    with Path(path).open(encoding="utf-8") as lines:
        pages = {page.layout.number: page for page in map(_page, lines)}
    _settle_sizes([page.layout for page in pages.values()])
    return pages


def _page(text: str) -> Recognised:
    fields: dict[str, Any] = json.loads(text)
    scale: float = fields["scale"]
    width, height = fields["size"]
    layout = PageLayout(fields["page"], width * scale, height * scale)
    turn = _Turn(width, height, *fields.get("turned", ()))
    lines = columns_apart(list(_lines(fields["words"])))
    layout.elements.extend(_line(words, fields["page"], scale, turn) for words in lines)
    confidence = statistics.fmean(word[1] for word in fields["words"]) if fields["words"] else 0.0
    return Recognised(layout, fields["reason"], confidence)


def _lines(words: Sequence[list[Any]]) -> Iterator[list[list[Any]]]:
    line: list[list[Any]] = []
    for word in words:
        if line and line[-1][6] != word[6]:
            yield line
            line = []
        line.append(word)
    if line:
        yield line


def _line(words: Sequence[list[Any]], page: int, scale: float, turn: _Turn) -> Line:
    sizes = [size for word in words if (size := _size(word)) > 0]
    tall = statistics.median(word[5] - word[3] for word in words)
    size = statistics.median(sizes) if sizes else tall / (_ASCENT + _DESCENT)
    baseline = statistics.median(word[5] - (_DESCENT * size if _LOW & set(word[0]) else 0) for word in words)
    gaps = [after[2] - before[4] for before, after in itertools.pairwise(words)]
    places = [turn.undone(*word[2:6]) for word in words]
    return RecognisedLine(
        page=page,
        text=" ".join(word[0] for word in words),
        x0=round(min(word[2] for word in words) * scale, 1),
        y0=round((baseline - 0.8 * size) * scale, 1),
        x1=round(max(word[4] for word in words) * scale, 1),
        y1=round((baseline + 0.2 * size) * scale, 1),
        size=round(size * scale, 1),
        bold=False,
        font="recognised",
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
    """Estimate the type size of one word in pixels; 0 where its letters do not tell."""
    letters = [letter for letter in word[0] if letter.isalnum()]
    if not letters:
        return 0.0
    top = _X_HEIGHT if set(word[0]) <= _SHORT | set("gpqy.,") else _ASCENT
    bottom = _DESCENT if _LOW & set(word[0]) else 0.0
    return (word[5] - word[3]) / (top + bottom)


def _settle_sizes(pages: Sequence[PageLayout]) -> None:
    """Give lines of about the size of the running text exactly that size, and round the others to half points."""
    lines = [line for page in pages for line in page.lines]
    if not lines:
        return
    usual = _usual(lines)
    for page in pages:
        own = _usual(page.lines) if page.lines else usual
        own = usual if abs(own - usual) <= _SAME_SIZE * usual else own
        for line in page.lines:
            line.size = own if abs(line.size - own) <= _SAME_SIZE * own else round(line.size * 2) / 2


def _usual(lines: Sequence[Line]) -> float:
    """Return the size in which half of the letters are set smaller, half larger."""
    weighed = sorted((line.size, len(line.text)) for line in lines)
    half, seen = sum(weight for _, weight in weighed) / 2, 0
    for size, weight in weighed:
        seen += weight
        if seen >= half:
            return size
    return weighed[-1][0]
