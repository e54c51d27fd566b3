"""What is printed before lines: bullets, which OCR reads as letters ("e", "¢", "m") or omits, and what is unread."""

from __future__ import annotations

import importlib
import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.rules import Box

if TYPE_CHECKING:
    from PIL.Image import Image

_SIGN = "•"
_MISREAD = 2
"""Maximum number of signs as which a bullet is read."""
_REACH, _GAP = 6.0, 0.15
"""Maximum and minimum distance of a bullet from its line, in heights of words: from a tabulator to a small blank."""
_MARGIN = 0.25
"""Part of a height by which the box of a misread bullet may be too small."""
_SIZES = 0.2, 0.9
"""Minimum and maximum width and height of a bullet, in heights of words: a full stop is smaller."""
_SHAPE = 0.65, 1.5
"""Minimum and maximum width of a bullet in its heights: a dash is wider, a colon narrower."""
_FULL = 0.65
"""Minimum share of ink in a bullet's box: of a disc it is .79, of most letters .5 and less."""
_LETTER = 0.4
"""Minimum height of a letter or digit, in heights of its line."""
_CONTRAST = 60
"""Minimum difference between ink and paper, of 255: grain has less."""


def height_of(words: Sequence[OcrWord]) -> float:
    """Return the usual height of words in pixels; 0 without words."""
    return statistics.median([word.box[3] - word.box[1] for word in words]) if words else 0.0


@dataclass(frozen=True, slots=True)
class LineStart:
    """Where a bullet, number or marker may be: the index of the word that would follow, and a box in pixels.

    Attributes:
        is_free: whether no word was read there.
    """

    at: int
    box: Box
    is_free: bool


@dataclass(frozen=True, slots=True)
class StartPrint:
    """Print at a place before a line: its box in pixels, and whether it is a bullet."""

    place: LineStart
    box: Box
    is_bullet: bool


def unread_boxes(starts: Sequence[StartPrint]) -> list[Box]:
    """Return the boxes of what is printed before lines and neither a word nor a bullet; specks do not count."""
    free = (each for each in starts if each.place.is_free and not each.is_bullet)
    return [each.box for each in free if each.box[3] - each.box[1] >= _LETTER * (each.place.box[3] - each.place.box[1])]


def places_of(words: Sequence[OcrWord]) -> Iterator[LineStart]:
    """Yield the places before lines: around their first word and the word before it if they are short, and between."""
    height = height_of(words)
    margin = round(_MARGIN * height)

    def around(box: Box, end: int) -> Box:
        return box[0] - margin, box[1] - margin, min(box[2] + margin, end), box[3] + margin

    for _, line in itertools.groupby(enumerate(words), key=lambda numbered: numbered[1].line):
        (at, first), *rest = line
        left, top, _, bottom = first.box
        if rest and len(first.text) <= _MISREAD:
            following, after = rest[0]
            yield LineStart(following, around(first.box, after.box[0]), is_free=False)
        middle, start = (top + bottom) / 2, max(round(left - _REACH * height), 0)
        level = (word for word in words if word.box[1] < middle < word.box[3] and start < word.box[2] <= left)
        before = max(level, key=lambda word: word.box[2], default=None)
        if before is not None:
            start = before.box[2] + margin
            if len(before.text) <= _MISREAD:
                yield LineStart(at, around(before.box, left), is_free=False)
        end = round(left - _GAP * height)
        if start < end:
            yield LineStart(at, (start, top, end, bottom), is_free=True)


def print_in(image: Image, boxes: Sequence[Sequence[int]], height: float) -> Iterator[tuple[Box, bool] | None]:
    """Yield for each box the box of what is printed in it, and whether that is a bullet; None if it is empty.

    Args:
        image: the page, dark on white.
        boxes: where to look.
        height: of the page's words.
    """
    np: Any = importlib.import_module("numpy")
    shades = np.asarray(image, dtype=np.uint8)
    for left, top, right, bottom in ((max(left, 0), max(top, 0), right, bottom) for left, top, right, bottom in boxes):
        part = shades[top:bottom, left:right].astype(np.int16)
        dark, light = (int(part.min()), int(part.max())) if part.size else (0, 0)
        ink = 2 * part < dark + light
        rows, columns = (np.nonzero(ink.sum(axis=axis) > 1)[0] for axis in (1, 0))
        if light - dark < _CONTRAST or not len(rows) or not len(columns):
            yield None
            continue
        high, low, start, end = int(rows[0]), int(rows[-1]) + 1, int(columns[0]), int(columns[-1]) + 1
        tall, wide = low - high, end - start
        fits = all(_SIZES[0] * height <= size <= _SIZES[1] * height for size in (tall, wide))
        is_solid = float(ink[high:low, start:end].mean()) >= _FULL
        is_bullet = fits and is_solid and _SHAPE[0] * tall <= wide <= _SHAPE[1] * tall
        yield (left + start, top + high, left + end, top + low), is_bullet


def with_bullets(words: Sequence[OcrWord], starts: Sequence[StartPrint]) -> tuple[OcrWord, ...]:
    """Insert bullets before the words that follow them, instead of the short words in their place."""
    bullets = {start.place.at: start.box for start in starts if start.is_bullet}
    found: list[OcrWord] = []
    for at, word in enumerate(words):
        across, along = (word.box[0] + word.box[2]) / 2, (word.box[1] + word.box[3]) / 2
        if len(word.text) <= _MISREAD and any(
            left <= across <= right and top <= along <= bottom for left, top, right, bottom in bullets.values()
        ):
            continue
        if at in bullets:
            found.append(replace(word, text=_SIGN, box=bullets[at]))
        found.append(word)
    return tuple(found)
