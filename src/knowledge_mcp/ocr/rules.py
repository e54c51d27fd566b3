"""What a page's picture shows of its print: straight rules, stroke widths of words, and boxes on a straightened page.

Rules are measured at half of the page's size. A rule may have gaps, and the page may be skewed by a degree or two: a
rule then is a staircase of runs, and each run is joined with those of the next row that it touches.
"""

from __future__ import annotations

import importlib
import math
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_mcp.support.grouping import root_of, united

if TYPE_CHECKING:
    from PIL.Image import Image

Box = tuple[int, int, int, int]
"""Left, top, right, bottom in pixels; for a rule its ends, so that the bottom of a rising one is above its top."""

_HALF = 2
"""Factor by which a page is reduced: a hairline at 300 dots per inch keeps half of its ink."""
_PAPER = 4
"""Size in pixels, on the reduced page, of the squares whose average brightness gives the background, the lightest of
nine: strokes of letters are narrower, shaded rows are higher.
"""
_COARSE = 16
"""Size in pixels (the window is three times as large) for dark background with light letters: there it is darker
than half of the paper; around words on light background it never is.
"""
_GRAIN = 60
"""Steps of 255 subtracted from the print of a flattened page, whose contrast was raised: removes grain and specks."""
_WIDE = 5
"""Pixels painted over a rule: half a point and its soft edges. More would cut digits that touch it."""
_INK = 56
"""Minimum difference, of 255, of a rule's ink from paper; at the edge of a pixel half may be paper."""
_LEVEL, _UPRIGHT = 45, 30
"""Minimum length of a rule in pixels of the reduced page, horizontal and vertical (7.6 and 5 mm at 300 dots per
inch): longer than strokes of letters, and as short as a row is high.
"""
_MOST_RUNS = 20_000
"""A page with more runs than this is a drawing or a picture: pages of cells have some thousand, several per rule."""
_LONG = 600
"""Minimum length in pixels of the page (5 cm at 300 dots per inch) of a horizontal rule used to measure skew: its
ends are accurate to one pixel.
"""
_THICK = 8.0
"""Maximum thickness of a rule in pixels of the reduced page, including one pixel on either side: 3 points."""
_BROKEN = 0.05
"""Share of a run that may be paper: scanners leave gaps in rules."""
_FOOT = 0.1
"""Share of a word's height, at its foot, where a rule may underline it."""
_IN_WORD = 0.5
"""Minimum share of a vertical stroke's length inside a word at which it is one of its letters."""


def rules_of(image: Image, boxes: Sequence[Sequence[int]]) -> list[Box]:
    """Return the ends of a page's rules in pixels: the horizontal ones, then the vertical ones.

    Args:
        image: the page, greyscale.
        boxes: those of its words: a stroke inside one belongs to a letter.
    """
    np: Any = importlib.import_module("numpy")
    ink = ink_of(image.reduce(_HALF), _INK)
    words = np.array(boxes, dtype=np.float64).reshape(-1, 4).T
    level = [rule for rule in _rules(ink, _LEVEL) if not _is_serif(rule, words)]
    turned = _rules(np.ascontiguousarray(ink.T), _UPRIGHT)
    upright = [(left, top, right, bottom) for top, left, bottom, right in turned]
    return [*level, *(rule for rule in upright if not _is_stroke(rule, words))]


def ink_of(image: Image, steps: int) -> Any:
    """Mark what is darker than the paper around it by a number of steps of 255, also on shaded ground."""
    np: Any = importlib.import_module("numpy")
    from PIL import ImageChops

    return np.asarray(ImageChops.subtract(_paper(image, _PAPER), image)) > steps


def _paper(image: Image, pixels: int) -> Image:
    """Return the background of print: the lightest of nine squares of a given size in pixels around each position."""
    from PIL import Image as Pillow
    from PIL import ImageFilter

    return image.reduce(pixels).filter(ImageFilter.MaxFilter(3)).resize(image.size, Pillow.Resampling.BILINEAR)


def flattened(image: Image, rules: Sequence[Sequence[int]]) -> Image:
    """Return a page with dark print on white paper everywhere, without some rules."""
    from PIL import Image as Pillow
    from PIL import ImageChops, ImageDraw, ImageFilter

    coarse = image.reduce(_COARSE)
    light = sorted(coarse.tobytes())[coarse.width * coarse.height // 2]
    dark = coarse.point([255 if 2 * shade < light else 0 for shade in range(256)])
    dark = dark.filter(ImageFilter.MinFilter(3)).filter(ImageFilter.MaxFilter(3)).resize(image.size)
    flat = Pillow.composite(ImageChops.invert(image), image, dark)
    flat = ImageChops.invert(ImageChops.subtract(_paper(flat, _HALF * _PAPER), flat, 0.8, -_GRAIN))
    paint = ImageDraw.Draw(flat)
    for left, top, right, bottom in rules:
        paint.line((left, top, right, bottom), fill=255, width=_WIDE)
    return flat


def count_crossed(words: Sequence[Box], rules: Sequence[Box]) -> int:
    """Count the words that a vertical rule crosses."""
    upright = sorted(
        ((left + right) / 2, top, bottom) for left, top, right, bottom in rules if abs(bottom - top) > abs(right - left)
    )
    count = 0
    for left, top, right, bottom in words:
        across = upright[bisect_right(upright, (left, math.inf)) : bisect_left(upright, (right,))]
        count += any(high < (top + bottom) / 2 < low for _, high, low in across)
    return count


def is_within(one: Box, box: Box) -> bool:
    """Return whether a box, or a rule by its ends, is inside another box."""
    (left, right), (top, bottom) = sorted(one[::2]), sorted(one[1::2])
    return box[0] <= left and right <= box[2] and box[1] <= top and bottom <= box[3]


def _rules(ink: Any, length: int) -> list[Box]:
    """Find the rules along rows, in pixels of the page; none in a drawing with thousands."""
    wide = ink.copy()
    wide[1:] |= ink[:-1]
    wide[:-1] |= ink[1:]
    found: list[Box] = []
    for group in groups_of(mark_runs(wide, length, 1 - _BROKEN), _MOST_RUNS):
        first, last = min(start for _, start, _ in group), max(end for _, _, end in group)
        if sum(end - start for _, start, end in group) > _THICK * (last - first):
            continue
        low, high = group[0][0], group[-1][0] + 1
        top, bottom = _ends(ink[low:high, first:last])
        found.append((_HALF * first, round(_HALF * (low + top)), _HALF * last, round(_HALF * (low + bottom))))
    return found


def _ends(band: Any) -> tuple[float, float]:
    """Return the rows in which the rule along a band begins and ends, from the centre of its ink in both halves.

    If the ink of a band is in the rows next to it, in a drawing, the centre of the band is used.
    """
    np: Any = importlib.import_module("numpy")
    counts = band.sum(axis=0)
    if not counts.any():
        return (len(band) - 1) / 2, (len(band) - 1) / 2
    columns = np.nonzero((counts > 0) & (counts <= 2 * np.median(counts[counts > 0])))[0]  # without rules that cross it
    if len(columns) < 2:
        return (len(band) - 1) / 2, (len(band) - 1) / 2
    middles = (band[:, columns] * np.arange(len(band))[:, None]).sum(axis=0) / counts[columns]
    half = len(columns) // 2
    (x, y), (other_x, other_y) = (
        (float(np.median(columns[part])), float(np.median(middles[part])))
        for part in (slice(0, half), slice(half, None))
    )
    slope = (other_y - y) / (other_x - x)
    return y - slope * x, y + slope * (band.shape[1] - 1 - x)


def mark_runs(ink: Any, length: int, full: float) -> Any:
    """Mark the runs along rows of a given length with a minimum share of ink in each part of that length."""
    np: Any = importlib.import_module("numpy")
    if ink.shape[1] <= length:
        return np.zeros_like(ink)
    before = np.cumsum(np.pad(ink, ((0, 0), (1, 0))), axis=1, dtype=np.int32)
    solid = before[:, length:] - before[:, :-length] >= full * length
    marked = np.zeros_like(ink)
    rows = np.nonzero(solid.any(axis=1))[0]  # few rows on a page of text
    reach = np.cumsum(np.pad(solid[rows], ((0, 0), (length, length - 1))), axis=1, dtype=np.int32)
    marked[rows] = reach[:, length:] - reach[:, :-length] > 0
    return marked


_Run = tuple[int, int, int]
"""A row, and the start and end of a run of ink in it."""


def groups_of(marked: Any, most: int) -> list[list[_Run]]:
    """Group marked runs along rows that touch others in the next row; none if there are too many."""
    np: Any = importlib.import_module("numpy")
    lined = np.nonzero(marked.any(axis=1))[0]
    edges = np.diff(np.pad(marked[lined], ((0, 0), (1, 1))).astype(np.int8), axis=1)
    rows, starts = np.nonzero(edges == 1)
    if len(starts) > most:
        return []
    ends = np.nonzero(edges == -1)[1]
    return _touching(list(zip(lined[rows].tolist(), starts.tolist(), ends.tolist(), strict=True)))


def _touching(runs: Sequence[_Run]) -> list[list[_Run]]:
    home = list(range(len(runs)))
    above: list[int] = []
    own: list[int] = []
    row, reached = -1, 0
    for index, (at, start, end) in enumerate(runs):
        if at != row:
            above, own, row, reached = (own if at == row + 1 else []), [], at, 0
        while reached < len(above) and runs[above[reached]][2] < start:
            reached += 1
        place = reached
        while place < len(above) and runs[above[place]][1] <= end:
            home[root_of(home, index)] = root_of(home, above[place])
            place += 1
        own.append(index)
    return united(home, runs)


def _is_stroke(rule: Box, words: Any) -> bool:
    """Return whether a vertical stroke belongs to a letter; `words` has the edges of all words, one row each."""
    np: Any = importlib.import_module("numpy")
    left, top, right, bottom = words
    across = (left < (rule[0] + rule[2]) / 2) & ((rule[0] + rule[2]) / 2 < right)
    within = np.minimum(rule[3], bottom) - np.maximum(rule[1], top)
    return bool((across & (within > _IN_WORD * (rule[3] - rule[1]))).any())


def _is_serif(rule: Box, words: Any) -> bool:
    """Return whether a horizontal stroke is merged print within one word, above the foot of its letters."""
    left, top, right, bottom = words
    along = (left - _HALF <= rule[0]) & (rule[2] <= right + _HALF)
    height = (rule[1] + rule[3]) / 2
    return bool((along & (top < height) & (height < bottom - _FOOT * (bottom - top))).any())


def print_of(image: Image, boxes: Sequence[Sequence[int]]) -> list[tuple[float, int, int]]:
    """Measure the print in the boxes of words.

    Ink is what is darker than the mean of a word's lightest and darkest values: pale print has no thinner strokes, and
    shaded ground is not ink.

    Returns:
        The average stroke width, in pixels of the page; where its ink begins and ends, from the top of the page. 0
        and the edges of the box if nothing is printed.
    """
    np: Any = importlib.import_module("numpy")
    shades = np.asarray(image, dtype=np.int16)
    found: list[tuple[float, int, int]] = []
    for left, top, right, bottom in boxes:
        word = shades[max(top, 0) : bottom, max(left, 0) : right]
        ink = 2 * word < int(word.max()) + int(word.min()) if word.size else word > 0
        begun = ink.copy()
        begun[:, 1:] &= ~ink[:, :-1]
        count, rows = int(begun.sum()), np.nonzero(ink.sum(axis=1) > 1)[0]
        stroke = round(float(ink.sum()) / count, 2) if count else 0.0
        high, low = (int(rows[0]), int(rows[-1]) + 1) if len(rows) else (0, bottom - max(top, 0))
        found.append((stroke, max(top, 0) + high, max(top, 0) + low))
    return found


def fall_of(rules: Sequence[Box]) -> float | None:
    """Return by how many degrees the long horizontal rules fall to the right (median); None without such rules."""
    falls = [
        math.degrees(math.atan2(bottom - top, right - left))
        for left, top, right, bottom in rules
        if right - left > _LONG
    ]
    return statistics.median(falls) if falls else None


@dataclass(frozen=True, slots=True)
class Straightening:
    """Coordinates of a page that is turned by a few degrees on a sheet that fits it; the picture is not changed.

    Attributes:
        degrees: clockwise.
        width, height: of the original page, in pixels.
    """

    degrees: float
    width: int
    height: int

    @property
    def size(self) -> tuple[int, int]:
        """Return the width and height of the sheet, in pixels."""
        sine, cosine = abs(math.sin(math.radians(self.degrees))), math.cos(math.radians(self.degrees))
        return round(self.width * cosine + self.height * sine), round(self.height * cosine + self.width * sine)

    def rule(self, ends: Box) -> Box:
        """Return the new ends of a rule."""
        one, other = self._point(*ends[:2]), self._point(*ends[2:])
        return round(one[0]), round(one[1]), round(other[0]), round(other[1])

    def word(self, box: Box) -> Box:
        """Return the new box of a word, without the rise of its line along it."""
        left, top, right, bottom = box
        x, y = self._point((left + right) / 2, (top + bottom) / 2)
        rise = (right - left) * abs(math.sin(math.radians(self.degrees)))
        wide, high = (right - left) / 2, max(bottom - top - rise, 1) / 2
        return round(x - wide), round(y - high), round(x + wide), round(y + high)

    def _point(self, x: float, y: float) -> tuple[float, float]:
        sine, cosine = math.sin(math.radians(self.degrees)), math.cos(math.radians(self.degrees))
        across, along = self.size
        x, y = x - self.width / 2, y - self.height / 2
        return across / 2 + x * cosine - y * sine, along / 2 + x * sine + y * cosine
