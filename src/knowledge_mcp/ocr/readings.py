"""Two readings of one page made one: what the second one has, and the first one has not or doubts."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence
from dataclasses import replace

from knowledge_mcp.model.extraction import DOUBTFUL, OcrWord
from knowledge_mcp.ocr.invocation import in_sure_lines
from knowledge_mcp.ocr.rules import Box

__all__ = ["with_edges", "with_missing"]

_SURE_LINE = 80.0
"""Confidence of words in lines that another reading adds: letters that it finds in a picture have less."""
_EDGE, _DOUBTED = 0.25, 0.5
"""Shares of the height of words by which the box of one may end within its letters, and by which that of a doubtful one
may lie off them."""
_NEAR = 2.5
"""Times its height by which a word that was missed stands off the words of its line at most."""


def with_missing(words: Sequence[OcrWord], others: Sequence[OcrWord]) -> tuple[OcrWord, ...]:
    """Add what another reading of the page has, and is sure of, where this one has no word or a doubtful one.

    A word joins the line beside it. Lines that stand beside none go before the first line of their column that is below
    them, else behind the last one above. Where nothing stands in their column, they are a paragraph of their own before
    the first one that begins below them.
    """
    sure = [word for word in others if word.confidence >= DOUBTFUL]
    found = [
        word for word in words if word.confidence >= DOUBTFUL or not any(_meet(word, each, _DOUBTED) for each in sure)
    ]
    missing = [word for word in sure if not any(_meet(word, own, _EDGE) for own in found)]
    alone = [word for word in missing if not _joined(found, word) and word.confidence >= _SURE_LINE]
    lines = _lines_of(found)
    boxes = [_around(line) for line in lines]
    number = max((word.line for word in words), default=-1) + 1
    for added in _lines_of(in_sure_lines(alone)):
        box = _around(added)
        place, near = _place_of(box, lines, boxes)
        own = lines[near][0] if lines else added[0]
        boxes.insert(place, box)
        lines.insert(place, [replace(word, line=number, block=own.block, paragraph=own.paragraph) for word in added])
        number += 1
    return tuple(itertools.chain.from_iterable(lines))


def with_edges(words: Sequence[OcrWord]) -> list[Box]:
    """Return boxes that hold all print of the words that are sure."""
    edge = round(statistics.median([word.box[3] - word.box[1] for word in words]) * _EDGE) if words else 0
    boxes = [word.box for word in words if word.confidence >= DOUBTFUL]
    return [(left - edge, top - edge, right + edge, bottom + edge) for left, top, right, bottom in boxes]


def _joined(found: list[OcrWord], word: OcrWord) -> bool:
    """Put a word into the line beside it; tells whether there is one."""
    beside = min((each for each in found if _is_beside(each, word)), key=lambda each: _gap(each, word), default=None)
    if beside is None:
        return False
    own = [at for at, each in enumerate(found) if each.line == beside.line]
    place = next((at for at in own if found[at].box[0] > word.box[0]), own[-1] + 1)
    found.insert(place, replace(word, line=beside.line, block=beside.block, paragraph=beside.paragraph))
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
    """Find the place among lines for what stands in a box, and the line whose paragraph it belongs to."""
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
    """Tell whether two words may be of the same print; `slack` is as of `_EDGE`."""
    across = min(one.box[2], other.box[2]) - max(one.box[0], other.box[0])
    along = min(one.box[3], other.box[3]) - max(one.box[1], other.box[1])
    return across > 0 and along > -slack * max(one.box[3] - one.box[1], other.box[3] - other.box[1])
