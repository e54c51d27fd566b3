"""Merge two readings of one page: add what the first one lacks or doubts from the second one."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import replace

from knowledge_mcp.language.openings import mark_alone, split_clause_number
from knowledge_mcp.model.extraction import DOUBTFUL, OcrWord
from knowledge_mcp.ocr.bullets import height_of
from knowledge_mcp.ocr.invocation import in_sure_lines
from knowledge_mcp.ocr.remains import LeftPiece
from knowledge_mcp.ocr.rules import Box, count_crossed, is_within

_SURE = 80.0
"""Confidence at which words in cells need no second reading, and at which another reading may add words to lines:
letters that are found in a picture have less.
"""
_SURE_SIGN = 85.0
"""Confidence at which another reading may add words with digits, and one or two signs in a cell: a wrong letter is
visible, a wrong digit is not.
"""
_NOISE = re.compile(r"[^\w.)]")
"""Signs that dirt and rules are read as; the end of a marker is none of them."""
_HAS_DIGIT = re.compile(r"\d").search
_SIDES = 3
"""Minimum number of vertical rules, and of horizontal ones, that form cells next to and below each other."""
_EDGE, _DOUBTED = 0.25, 0.5
"""Shares of the height of words: how far a box may end inside the letters of a word, and how far the box of a
doubtful word may be away from them.
"""
_NEAR, _TABULATED = 2.5, 6.0
"""Maximum distance of a missed word, and of a missed number or marker, from the words of its line, as multiples of its
height: half an inch of a tabulator, less the number, is up to 5 heights of 10-point print.
"""
_TALL = 1.8
"""Minimum height, as a multiple of the usual one, of a word that is a column of signs: two lines are higher."""
_ENDS = frozenset(".):")
"""What remains of a marker such as "m." if its letter was not read."""
_ROW = 64
"""Height in pixels of the bands in which words are looked up: about a line with halves of its neighbours."""


def with_missing(words: Sequence[OcrWord], others: Sequence[OcrWord], rules: Sequence[Box] = ()) -> tuple[OcrWord, ...]:
    """Add words of another reading of the page that it is sure of, if this one has none or a doubtful one there.

    A word joins the line next to it. Lines that are next to none go before the first line of their column that is below
    them, otherwise after the last one above. If their column has no lines, they become a paragraph before the first one
    that begins below them. Single digits and letters are words only between `rules`, that is, in cells, and where they
    replace others.
    """
    cells = _around_rules(rules)
    certain = {id(word) for word in _certain(words, cells)}
    sure = [word for word in others if word.confidence >= (_SURE_SIGN if _HAS_DIGIT(word.text) else DOUBTFUL)]
    near = _Near(sure)
    found: list[OcrWord] = []
    replaced: list[OcrWord] = []
    for word in words:
        stays = id(word) in certain or not any(_is_better(each, word) for each in near.to(word))
        (found if stays else replaced).append(word)
    near, gone = _Near(found), _Near(replaced)
    missing = [word for word in sure if not any(_meet(word, own, _EDGE) for own in near.to(word))]
    words_alone = {
        id(word)
        for word in missing
        if is_within(word.box, cells) or any(_meet(word, old, _EDGE) for old in gone.to(word))
    }
    alone = _unjoined(found, near, missing, words_alone)
    lines = _lines_of(found)
    boxes = [_around(line) for line in lines]
    number = max((word.line for word in words), default=-1) + 1
    longer = {id(word) for word in in_sure_lines(alone)}
    kept = [
        word for word in alone if id(word) in longer or (word.confidence >= _SURE_SIGN and is_within(word.box, cells))
    ]
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


def _share(one: Box, other: Box) -> bool:
    return min(one[2], other[2]) > max(one[0], other[0]) and min(one[3], other[3]) > max(one[1], other[1])


def count_lost(
    pieces: Sequence[LeftPiece], words: Sequence[OcrWord], rules: Sequence[Box], before: Sequence[Box] = ()
) -> int:
    """Count the pieces of print in cells and before lines that are not words: a cell would be empty, a line unnumbered.

    Args:
        pieces: all that were left.
        words: those of the page now.
        rules: those of the page.
        before: boxes of what is printed before lines.
    """
    cells = _around_rules(rules)
    boxes = [piece.box for piece in pieces]
    inside = [box for box in boxes if is_within(box, cells) or any(_share(box, start) for start in before)]
    return sum(not any(_share(box, word.box) for word in words) for box in inside)


def begins_doubtfully(words: Sequence[OcrWord]) -> bool:
    """Return whether the number of some line is doubtful."""
    starts = (next(line) for _, line in itertools.groupby(words, key=lambda word: word.line))
    return any(word.confidence < DOUBTFUL and _HAS_DIGIT(word.text) is not None for word in starts)


def with_edges(words: Sequence[OcrWord], rules: Sequence[Box] = ()) -> list[Box]:
    """Return boxes that contain all print of the confident words; `rules` are those of the page."""
    cells = _around_rules(rules)
    edge = round(height_of(words) * _EDGE)
    boxes = [word.box for word in _certain(words, cells)]
    return [(left - edge, top - edge, right + edge, bottom + edge) for left, top, right, bottom in boxes]


def doubtful_boxes(words: Sequence[OcrWord], rules: Sequence[Box] = ()) -> list[Box]:
    """Return the boxes of the words that are to be read again, each as a whole.

    A column of signs is in none, nor is what is on both sides of a vertical rule.
    """
    certain = {id(word) for word in _certain(words, _around_rules(rules))}
    tall = _tall(words)
    whole = (word.box for word in words if id(word) not in certain and _height(word) < tall)
    return [box for box in whole if not count_crossed([box], rules)]


def _is_better(one: OcrWord, other: OcrWord) -> bool:
    """Return whether a word is a more confident reading of the same print, and not of a part of it."""
    better = one.confidence > other.confidence or _ENDS.issuperset(other.text)
    own, whole = (_NOISE.sub("", word.text) for word in (one, other))
    return better and _meet(one, other, _DOUBTED) and (own == whole or own not in whole)


def _certain(words: Sequence[OcrWord], cells: Box) -> list[OcrWord]:
    """List the words that need no second reading; in cells, without a sentence, more confidence is needed.

    Doubtful digits within running text stay, because they are reported as doubtful, and parts of a number do not count.
    Those that begin a line are read again, because they number it.
    """
    tall = _tall(words)
    found: list[OcrWord] = []
    line = -1
    for word in words:
        begins, line = word.line != line, word.line
        if is_within(word.box, cells):
            certain = word.confidence >= _SURE
        elif begins and _ENDS.issuperset(word.text):
            certain = False
        else:
            within = _HAS_DIGIT(word.text) is not None and not begins and _height(word) < tall
            certain = word.confidence >= DOUBTFUL or within
        if certain:
            found.append(word)
    return found


def _tall(words: Sequence[OcrWord]) -> float:
    """Return the height from which a word may be a column of signs."""
    return _TALL * height_of(words)


def _height(word: OcrWord) -> int:
    return word.box[3] - word.box[1]


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
        slack = _TABULATED * _height(word)
        left, right = word.box[0] - slack, word.box[2] + slack
        for row in self._rows_of(word):
            yield from (each for each in self._rows.get(row, ()) if each.box[0] <= right and each.box[2] >= left)

    @staticmethod
    def _rows_of(word: OcrWord) -> range:
        height = word.box[3] - word.box[1]
        return range((word.box[1] - height) // _ROW, (word.box[3] + height) // _ROW + 1)


def _unjoined(
    found: list[OcrWord], near: _Near, missing: Sequence[OcrWord], words_alone: Container[int]
) -> list[OcrWord]:
    """Add words to the lines next to them, which brings others next to their line; return the confident others.

    Args:
        found: the words of all lines, to which words are added.
        near: the same, by position.
        missing: the words to add.
        words_alone: `id` of those that are words even if they are a single sign.
    """
    left = list(missing)
    while len(others := [word for word in left if not _joined(found, near, word, words_alone)]) < len(left):
        left = others
    return [word for word in left if word.confidence >= _SURE]


def _joined(found: list[OcrWord], near: _Near, word: OcrWord, words_alone: Container[int]) -> bool:
    """Add a word to the line next to it; return whether there is one. A single sign before a line is a bullet."""
    reach = _TABULATED if _is_number(word.text) else _NEAR
    candidates = (each for each in near.to(word) if _is_beside(each, word, reach))
    beside = min(candidates, key=lambda each: _gap(each, word), default=None)
    if beside is None:
        return False
    own = [at for at, each in enumerate(found) if each.line == beside.line]
    place = next((at for at in own if found[at].box[0] > word.box[0]), own[-1] + 1)
    if len(word.text) > 1 or place > own[0] or id(word) in words_alone:
        joined = replace(word, line=beside.line, block=beside.block, paragraph=beside.paragraph)
        found.insert(place, joined)
        near.add(joined)
    return True


def _is_number(text: str) -> bool:
    """Return whether it numbers a line: "5.7", "A.1", "b)"; not a sign, nor a number that may be anything."""
    if mark_alone(text) is not None:
        return any(map(str.isalnum, text))
    return "." in text and bool(split_clause_number(f"{text} Title").number)


def _is_beside(one: OcrWord, other: OcrWord, reach: float) -> bool:
    height = min(_height(one), _height(other))
    shared = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return 2 * shared > height and _gap(one, other) <= reach * height


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
