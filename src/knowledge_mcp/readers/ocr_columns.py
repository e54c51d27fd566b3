"""Recognised lines that run across two columns, cut apart and put in order; runs in the sandbox's child.

Where columns have few lines, OCR engines see no gutter between them and read straight across. A strip of white through
lines that follow each other is a gutter if what stands on both its sides is running prose: sentences go on from a
line's end to the next one below it, and lines of one side end about alike. Rows of a form or of a table do neither.
"""

from __future__ import annotations

import itertools
import re
import statistics
from collections.abc import Iterator, Sequence
from typing import Any

__all__ = ["columns_apart"]

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


def columns_apart(lines: Sequence[_Line], depth: int = _DEEPEST) -> Iterator[_Line]:
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
        yield from columns_apart(beside, depth - 1) if depth > 1 else beside
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
