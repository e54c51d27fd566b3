"""Merge two readings of one page: add what the first one lacks or doubts from the second one."""

from __future__ import annotations

import itertools
import re
import statistics
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.model.extraction import DOUBTFUL, OcrWord
from knowledge_mcp.ocr.invocation import in_sure_lines
from knowledge_mcp.ocr.remains import LeftPiece
from knowledge_mcp.ocr.rules import Box

_SURE = 80.0
"""Confidence at which words in cells need no second reading, and at which another reading may add words to lines:
letters that are found in a picture have less.
"""
_SURE_SIGN = 85.0
"""Confidence at which another reading may add words with digits, and one or two signs in a cell: a wrong letter is
visible, a wrong digit is not.
"""
_HAS_DIGIT = re.compile(r"\d").search
_SIDES = 3
"""Minimum number of vertical rules, and of horizontal ones, that form cells next to and below each other."""
_EDGE, _DOUBTED = 0.25, 0.5
"""Shares of the height of words: how far a box may end inside the letters of a word, and how far the box of a
doubtful word may be away from them.
"""
_NEAR = 2.5
"""Maximum distance of a missed word from the words of its line, as a multiple of its height."""
_ROW = 64
"""Height in pixels of the bands in which words are looked up: about a line with halves of its neighbours."""


def with_missing(words: Sequence[OcrWord], others: Sequence[OcrWord], rules: Sequence[Box] = ()) -> tuple[OcrWord, ...]:
    """Add words of another reading of the page that it is sure of, if this one has none or a doubtful one there.

    A word joins the line next to it. Lines that are next to none go before the first line of their column that is below
    them, otherwise after the last one above. If their column has no lines, they become a paragraph before the first one
    that begins below them. Single digits and letters are words only between `rules`, that is, in cells.
    """
    cells = _around_rules(rules)
    sure = [word for word in others if word.confidence >= (_SURE_SIGN if _HAS_DIGIT(word.text) else DOUBTFUL)]
    near = _Near(sure)
    found = [
        word for word in words if _is_sure(word, cells) or not any(_is_better(each, word) for each in near.to(word))
    ]
    near = _Near(found)
    missing = [word for word in sure if not any(_meet(word, own, _EDGE) for own in near.to(word))]
    alone = [word for word in missing if not _joined(found, near, word, cells) and word.confidence >= _SURE]
    lines = _lines_of(found)
    boxes = [_around(line) for line in lines]
    number = max((word.line for word in words), default=-1) + 1
    longer = {id(word) for word in in_sure_lines(alone)}
    kept = [word for word in alone if id(word) in longer or (word.confidence >= _SURE_SIGN and _is_in(word.box, cells))]
    for added in _lines_of(kept):
        box = _around(added)
        place, near = _place_of(box, lines, boxes)
        own = lines[near][0] if lines else added[0]
        boxes.insert(place, box)
        lines.insert(place, [replace(word, line=number, block=own.block, paragraph=own.paragraph) for word in added])
        number += 1
    return tuple(itertools.chain.from_iterable(lines))


def _around_rules(rules: Sequence[Box]) -> Box:
    """Return the box around the vertical rules and those that cross them; empty if there are no cells."""
    upright = [rule for rule in rules if abs(rule[3] - rule[1]) > abs(rule[2] - rule[0])]
    if len(upright) < _SIDES or len(rules) - len(upright) < _SIDES:
        return 0, 0, 0, 0
    tops, bottoms = [min(rule[1], rule[3]) for rule in upright], [max(rule[1], rule[3]) for rule in upright]
    return min(rule[0] for rule in upright), min(tops), max(rule[2] for rule in upright), max(bottoms)


def _is_in(one: Box, box: Box) -> bool:
    return box[0] <= one[0] and box[1] <= one[1] and one[2] <= box[2] and one[3] <= box[3]


def _share(one: Box, other: Box) -> bool:
    return min(one[2], other[2]) > max(one[0], other[0]) and min(one[3], other[3]) > max(one[1], other[1])


def count_lost(pieces: Sequence[LeftPiece], words: Sequence[OcrWord], rules: Sequence[Box]) -> int:
    """Count the pieces of print in cells that are not words: a digit that was not read would be an empty cell."""
    cells = _around_rules(rules)
    inside = [piece.box for piece in pieces if _is_in(piece.box, cells)]
    return sum(not any(_share(box, word.box) for word in words) for box in inside)


def with_edges(words: Sequence[OcrWord], rules: Sequence[Box] = ()) -> list[Box]:
    """Return boxes that contain all print of the confident words; `rules` are those of the page."""
    cells = _around_rules(rules)
    edge = round(statistics.median([word.box[3] - word.box[1] for word in words]) * _EDGE) if words else 0
    boxes = [word.box for word in words if _is_sure(word, cells)]
    return [(left - edge, top - edge, right + edge, bottom + edge) for left, top, right, bottom in boxes]


def _is_better(one: OcrWord, other: OcrWord) -> bool:
    return one.confidence > other.confidence and _meet(one, other, _DOUBTED)


def _is_sure(word: OcrWord, cells: Box) -> bool:
    """Return whether a word needs no second reading; in cells, without a sentence, more confidence is needed.

    Doubtful digits of running text stay, because they are reported as doubtful, and parts of a number do not count.
    """
    if _is_in(word.box, cells):
        return word.confidence >= _SURE
    return word.confidence >= DOUBTFUL or _HAS_DIGIT(word.text) is not None


class _Near:
    """Find words of a page by position; a page of small print has thousands."""

    def __init__(self, words: Iterable[OcrWord]) -> None:
        self._rows: defaultdict[int, list[OcrWord]] = defaultdict(list)
        for word in words:
            self.add(word)

    def add(self, word: OcrWord) -> None:
        """Add a word after the existing ones."""
        for row in self._rows_of(word):
            self._rows[row].append(word)

    def to(self, word: OcrWord) -> Iterator[OcrWord]:
        """Yield the words that a word may overlap or be next to, some of them twice."""
        slack = _NEAR * (word.box[3] - word.box[1])
        left, right = word.box[0] - slack, word.box[2] + slack
        for row in self._rows_of(word):
            yield from (each for each in self._rows.get(row, ()) if each.box[0] <= right and each.box[2] >= left)

    @staticmethod
    def _rows_of(word: OcrWord) -> range:
        height = word.box[3] - word.box[1]
        return range((word.box[1] - height) // _ROW, (word.box[3] + height) // _ROW + 1)


def _joined(found: list[OcrWord], near: _Near, word: OcrWord, cells: Box) -> bool:
    """Add a word to the line next to it; return whether there is one. A single sign before a line is a bullet."""
    candidates = (each for each in near.to(word) if _is_beside(each, word))
    beside = min(candidates, key=lambda each: _gap(each, word), default=None)
    if beside is None:
        return False
    own = [at for at, each in enumerate(found) if each.line == beside.line]
    place = next((at for at in own if found[at].box[0] > word.box[0]), own[-1] + 1)
    if len(word.text) > 1 or place > own[0] or _is_in(word.box, cells):
        joined = replace(word, line=beside.line, block=beside.block, paragraph=beside.paragraph)
        found.insert(place, joined)
        near.add(joined)
    return True


def _is_beside(one: OcrWord, other: OcrWord) -> bool:
    height = min(one.box[3] - one.box[1], other.box[3] - other.box[1])
    shared = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return 2 * shared > height and _gap(one, other) <= _NEAR * height


def _gap(one: OcrWord, other: OcrWord) -> int:
    return max(one.box[0], other.box[0]) - min(one.box[2], other.box[2])


def _lines_of(words: Sequence[OcrWord]) -> list[list[OcrWord]]:
    return [list(line) for _, line in itertools.groupby(words, key=lambda word: word.line)]


def _place_of(box: Box, lines: Sequence[Sequence[OcrWord]], boxes: Sequence[Box]) -> tuple[int, int]:
    """Find the position among lines for what is in a box, and the line whose paragraph it belongs to."""
    beside = [at for at, other in enumerate(boxes) if other[0] < box[2] and other[2] > box[0]]
    below = next((at for at in beside if boxes[at][1] > box[3]), None)
    if below is not None:
        return below, below
    if beside:
        return beside[-1] + 1, beside[-1]
    for at, line in enumerate(lines):
        begins = at == 0 or line[0].paragraph != lines[at - 1][0].paragraph
        if begins and boxes[at][1] > box[3]:
            return at, at
    return len(lines), len(lines) - 1


def _around(words: Sequence[OcrWord]) -> Box:
    lefts, tops, rights, bottoms = zip(*(word.box for word in words), strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _meet(one: OcrWord, other: OcrWord, slack: float) -> bool:
    """Return whether two words may be the same print; `slack` as in `_EDGE`."""
    across = min(one.box[2], other.box[2]) - max(one.box[0], other.box[0])
    along = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return across > 0 and along > -slack * max(one.box[3] - one.box[1], other.box[3] - other.box[1])
