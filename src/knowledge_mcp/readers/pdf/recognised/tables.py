"""Tables of scanned pages: recognised words between the rules that the picture shows, read as those of a text layer."""

from __future__ import annotations

import itertools
import statistics
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.cells import RuledTable, ruled_tables
from knowledge_mcp.readers.pdf.flow.headed_rows import headed_rows
from knowledge_mcp.readers.pdf.flow.level_rules import tables_between_rules
from knowledge_mcp.readers.pdf.flow.parted_rows import parted_rows
from knowledge_mcp.readers.pdf.lines import around
from knowledge_mcp.readers.pdf.recognised.words import FONT, Word, foot_of, is_heavy, size_of
from knowledge_mcp.readers.pdf.ruled import drawn_of
from knowledge_mcp.readers.shared.layout import is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem, VectorGraphics

_BLANK = 0.6
"""Times the size of type up to which two words of a line are one text: blanks of justified lines may be wider."""
_BLANK_OF_FIGURES = 0.4
"""The same for two figures: columns of figures stand as close as a wide blank."""
_SAME_SIZE = 0.15
"""Share by which the type of a cell, as measured by its letters, may be off that of the page."""
_ABOVE, _BELOW = 0.95, 0.25
"""Shares of the type size that a line takes above and below the foot of its letters, as the parser measures lines."""
_OVER = 0.3
"""Times the size of type by which the boxes of two words of one text lie over each other at most."""
_OFF = 0.5
"""Times the size of type by which words may seem to stand off their line: a rule below them may be in their box."""
_SLACK = 4
"""Pixels by which a word may reach over a rule beside it."""
_SIGNS = "|[]{}_-—–=!'‘’.,:;"
"""What a rule is taken for, where it is taken for letters."""


def take_tables(
    words: Sequence[Word], graphics: VectorGraphics, page: int, scale: float, usual: float
) -> tuple[list[RuledTable], list[Word]]:
    """Make the tables of a page; returns them with the words that are in none.

    Args:
        words: of the page, in the engine's order.
        graphics: the rules of the page.
        page: its number.
        scale: points a pixel.
        usual: stroke of the running text, as a share of its size.
    """
    drawn = drawn_of(graphics)
    upright = sorted((line.at / scale, line.start / scale, line.end / scale) for line in drawn.upright)
    words = [own for word in words if (own := _without_rules(word, upright))[0]]
    of_item = {id(item): (item, run) for item, run in _items(words, upright, scale, usual)}
    items = [item for item, _ in of_item.values()]
    places = dict.fromkeys(of_item, 0.0)
    drawn.grids += parted_rows(drawn, items)
    drawn.grids += headed_rows(drawn, items)
    tables, rest = ruled_tables(drawn, items, page, places)
    for table, taken in tables_between_rules(graphics, rest, [], page, places):
        tables.append(RuledTable([table], around(table.lines), 0.0))
        rest = [item for item in rest if id(item) not in taken]
    left = {id(word) for item in rest for word in of_item[id(item)][1]}
    return tables, [word for word in words if id(word) in left]


def graphics_of(rules: Sequence[Sequence[float]], scale: float) -> VectorGraphics:
    """Give rules the form in which the parser gives the lines of a page; each is as level or upright as it is meant."""
    from liteparse.types import VectorGraphics, VectorLine

    lines: list[VectorLine] = []
    for left, top, right, bottom in ([edge * scale for edge in rule] for rule in rules):
        x, y = (left + right) / 2, (top + bottom) / 2
        ends = (left, y, right, y) if abs(right - left) > abs(bottom - top) else (x, top, x, bottom)
        lines.append(VectorLine(*ends, stroke=True, stroke_width=None, stroke_color=None, fill=False, fill_color=None))
    return VectorGraphics([], lines)


_Upright = tuple[float, float, float]
"""An upright rule in pixels: its place, and from where to where it runs."""


def _items(
    words: Sequence[Word], upright: Sequence[_Upright], scale: float, usual: float
) -> Iterator[tuple[TextItem, Sequence[Word]]]:
    """Yield the words that stand together in a line, with no rule between them, each time as one item."""
    lines = [list(line) for _, line in itertools.groupby(words, key=lambda word: word[6])]
    most = statistics.median([size_of(line) for line in lines]) if lines else 0.0
    for line in lines:
        size = size_of(line)
        size = most if abs(size - most) <= _SAME_SIZE * most else size
        foot = foot_of(line, size)
        run: list[Word] = []
        for word in line:
            blank = _BLANK if not (run and is_figures(run[-1][0]) and is_figures(word[0])) else _BLANK_OF_FIGURES
            beside = run and -_OVER * size <= word[2] - run[-1][4] <= blank * size
            if run and not (beside and not _is_crossed(run[-1][4], word[2], word, upright)):
                yield _item(run, foot, size, scale, usual), run
                run = []
            run.append(word)
        if run:
            yield _item(run, foot, size, scale, usual), run


def _without_rules(word: Word, upright: Sequence[_Upright]) -> Word:
    """Leave out of a word what a rule at one of its ends was taken for; nothing may be left."""
    text, edge = word[0], (word[5] - word[3]) / 2
    if not text.strip(_SIGNS):
        return ["" if _is_crossed(word[2], word[4], word, upright) else text, *word[1:]]
    if text[0] == "|" and _is_crossed(word[2] - edge, word[2] + edge, word, upright):
        text = text[1:]
    if text[-1] == "|" and _is_crossed(word[4] - edge, word[4] + edge, word, upright):
        text = text[:-1]
    return [text, *word[1:]]


def _is_crossed(start: float, end: float, word: Word, upright: Sequence[_Upright]) -> bool:
    """Tell whether an upright rule goes through a place at the height of a word."""
    middle = (word[3] + word[5]) / 2
    first, last = bisect_left(upright, (start - _SLACK,)), bisect_right(upright, (end + _SLACK,))
    return any(top <= middle <= bottom for _, top, bottom in upright[first:last])


def _item(run: Sequence[Word], foot: float, size: float, scale: float, usual: float) -> TextItem:
    """Make an item of words; `foot` is where the letters of their whole line stand, if these do."""
    from liteparse.types import TextItem

    left, right = min(word[2] for word in run), max(word[4] for word in run)
    own = foot_of(run, size)
    top, points = (foot if abs(foot - own) < _OFF * size else own) - _ABOVE * size, round(size * scale, 1)
    return TextItem(
        text=" ".join(word[0] for word in run),
        x=left * scale,
        y=top * scale,
        width=(right - left) * scale,
        height=(_ABOVE + _BELOW) * size * scale,
        font_name=FONT,
        font_size=points,
        font_height=points,
        font_weight=700 if is_heavy(run, size, usual) else 400,
    )
