"""Bullets of lists, which OCR reads as letters ("e", "¢", "m") or not at all: found by their shape before a line."""

from __future__ import annotations

import importlib
import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
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
_CONTRAST = 60
"""Minimum difference between ink and paper, of 255: grain has less."""


def height_of(words: Sequence[OcrWord]) -> float:
    """Return the usual height of words in pixels."""
    return statistics.median([word.box[3] - word.box[1] for word in words])


def places_of(words: Sequence[OcrWord]) -> Iterator[tuple[int, Box]]:
    """Yield where a bullet may be: the index of the word that would follow, and a box.

    It is around the first word of a line if that is short, or between the line and the words before it.
    """
    height = height_of(words) if words else 0.0
    longer = [word.box for word in words if len(word.text) > _MISREAD]
    margin = round(_MARGIN * height)
    for _, line in itertools.groupby(enumerate(words), key=lambda numbered: numbered[1].line):
        (at, first), *rest = line
        left, top, right, bottom = first.box
        if rest and len(first.text) <= _MISREAD:
            following, after = rest[0]
            yield following, (left - margin, top - margin, min(right + margin, after.box[0]), bottom + margin)
        middle = (top + bottom) / 2
        before = [box[2] for box in longer if box[1] < middle < box[3] and box[2] <= left]
        start, end = max(round(left - _REACH * height), *before, 0), round(left - _GAP * height)
        if start < end:
            yield at, (start, top, end, bottom)


def solid_in(image: Image, boxes: Sequence[Sequence[int]], height: float) -> Iterator[Box | None]:
    """Yield for each box what is printed in it if that is one solid sign as a bullet has; otherwise None.

    Args:
        image: the page, dark on white.
        boxes: where to look.
        height: of the page's words.
    """
    np: Any = importlib.import_module("numpy")
    shades = np.asarray(image, dtype=np.int16)
    for left, top, right, bottom in ((max(left, 0), max(top, 0), right, bottom) for left, top, right, bottom in boxes):
        part = shades[top:bottom, left:right]
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
        yield (left + start, top + high, left + end, top + low) if is_bullet else None


def with_bullets(words: Sequence[OcrWord], bullets: Mapping[int, Box]) -> tuple[OcrWord, ...]:
    """Insert bullets before the words with these indexes, instead of the short words in their place."""
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
