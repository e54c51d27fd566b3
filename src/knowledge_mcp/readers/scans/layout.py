"""Recognised words to lines in reading order, as if a page had a text layer; runs in the sandbox's child.

A box of letters says how large the type is once one knows which letters they are: "arms" has neither ascender nor
descender, "play" has both. So sizes and baselines come out alike for a line of running text and the next one.
"""

from __future__ import annotations

import itertools
import json
import math
import re
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.shared.layout import Line, PageLayout

_Word = list[Any]
"""Text, confidence, left, top, right, bottom, line, block."""
_Line = list[_Word]

_WIDE, _WIDER = 1.0, 2.5
"""How wide a gutter is at least: in heights of the words beside it, and in gaps between words of the same lines."""
_FOLLOWING = 2.6
"""Heights from line to line, at most, of lines that follow each other."""
_LEAST_WORDS = 4.0
_RAGGED = 0.4
_GOES_ON = 0.5
_DEEPEST = 3
_ENDED = re.compile(r"[.:;!?][)\]\"”’]*$")


def order_by_column(lines: Sequence[_Line], depth: int = _DEEPEST) -> Iterator[_Line]:
    """Yield lines in reading order: those of a left column before those of the one beside it.

    Args:
        lines: of one page, in the engine's order; a word is its text, confidence, box in pixels, line and block.
        depth: how many times more what stands on the right may be parted.

    Words stay as they are but for their block: a column that was cut out has one of its own, between those of others.
    """
    at = 0
    while at < len(lines):
        run = _run(lines[at:])
        if run is None:
            yield lines[at]
            at += 1
            continue
        count, edge = run
        left = [[word for word in line if word[4] <= edge] for line in lines[at : at + count]]
        right = [[word for word in line if word[4] > edge] for line in lines[at : at + count]]
        for line in _rest(lines[at + count - 1 :], left, right):
            (left if line[0][2] < edge else right).append(line)
            count += 1
        block = lines[at][0][7]
        yield from _in_block(left, block)
        beside = list(_in_block(right, block + 0.5 ** (1 + _DEEPEST - depth)))
        yield from order_by_column(beside, depth - 1) if depth > 1 else beside
        at += count


def _in_block(lines: Sequence[_Line], block: float) -> Iterator[_Line]:
    for line in lines:
        yield [[*word[:7], block] for word in line]


def _run(lines: Sequence[_Line]) -> tuple[int, float] | None:
    """Find a gutter that begins in the first line: the longest run of lines that it parts, and its left edge."""
    best: tuple[int, float] | None = None
    for start, end in _gaps(lines[0]):
        left, right, count = start, end, 1
        for above, line in itertools.pairwise(lines):
            shared = [(max(left, one), min(right, other)) for one, other in _gaps(line)]
            within = max(shared, key=lambda span: span[1] - span[0], default=(0.0, 0.0))
            if not _follows(above, line) or within[1] - within[0] < _WIDE * _height(line):
                break
            left, right = within
            count += 1
        if count > max(1, best[0] if best else 0) and _is_gutter(lines[:count], left, right):
            best = count, left
    return best


def _rest(lines: Sequence[_Line], left: Sequence[_Line], right: Sequence[_Line]) -> list[_Line]:
    """List the lines, from the second on, with which the longer of two columns goes on alone."""
    near, far = (min(line[0][2] for line in side) for side in (left, right))
    found: list[_Line] = []
    for above, line in itertools.pairwise(lines):
        slack = _height(line)
        within = (near - slack <= line[0][2] and line[-1][4] < far) or far - slack <= line[0][2]
        if not within or not _follows(above, line):
            break
        found.append(line)
    return found


def _gaps(line: _Line) -> list[tuple[float, float]]:
    """List the gaps between words of a line that could be gutters."""
    height = _height(line)
    gaps = [(float(one[4]), float(other[2])) for one, other in itertools.pairwise(line)]
    usual = statistics.median_low([end - start for start, end in gaps]) if gaps else 0.0
    return [(start, end) for start, end in gaps if end - start >= max(_WIDE * height, _WIDER * usual)]


def _height(line: _Line) -> float:
    return float(statistics.median(word[5] - word[3] for word in line))


def _follows(above: _Line, line: _Line) -> bool:
    step = statistics.median(word[5] for word in line) - statistics.median(word[5] for word in above)
    return 0 < step < _FOLLOWING * max(_height(above), _height(line))


def _is_gutter(lines: Sequence[_Line], start: float, end: float) -> bool:
    """Tell whether prose stands on both sides of a strip."""
    sides = [[[word for word in line if word[4] <= start] for line in lines]]
    sides.append([[word for word in line if word[2] >= end] for line in lines])
    if not all(line for side in sides for line in side):  # words that overlap or stand out of order
        return False
    joints = [_goes_on(above, line) for side in sides for above, line in itertools.pairwise(side)]
    return all(map(_is_prose, sides)) and sum(joints) >= _GOES_ON * len(joints)


def _is_prose(side: Sequence[_Line]) -> bool:
    """Tell whether lines have several words each, and end about alike; the last of several may be short."""
    if statistics.fmean(map(len, side)) < _LEAST_WORDS or any(line[-1][0].endswith(":") for line in side):
        return False
    left, right = min(line[0][2] for line in side), max(line[-1][4] for line in side)
    return all(right - line[-1][4] <= _RAGGED * (right - left) for line in (side[:-1] if len(side) > 2 else side))


def _goes_on(above: _Line, line: _Line) -> bool:
    """Tell whether a sentence runs from one line into the next."""
    return not _ENDED.search(above[-1][0]) and (above[-1][0].endswith("-") or line[0][0][:1].islower())


_ASCENT, _X_HEIGHT, _DESCENT = 0.72, 0.52, 0.21
"""Shares of the type size that capitals, small letters, and descenders take, on average over common faces."""
_SHORT = set("acemnorsuvwxz")
_LOW = set("gjpqyQ,;()[]{}|/@$§")
_SAME_SIZE = 0.13


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
    lines = order_by_column(list(_lines(fields["words"])))
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
    return Line(
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
