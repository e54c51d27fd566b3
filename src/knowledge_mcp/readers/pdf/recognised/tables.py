"""Tables of scanned pages: recognised words between the rules of the picture, read like those of a text layer."""

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
"""Maximum gap between two words of one text, as a factor of the font size: justified lines may have wider spaces."""
_BLANK_OF_FIGURES = 0.4
"""The same for two figures: the gap between columns of figures may be as narrow as a wide space."""
_SAME_SIZE = 0.15
"""Share by which the measured font size of a cell may differ from that of the page."""
_ABOVE, _BELOW = 0.95, 0.25
"""Height of a line above and below its baseline, as shares of the font size, as the parser measures lines."""
_OVER = 0.3
"""Maximum overlap of the boxes of two words of one text, as a factor of the font size."""
_OFF = 0.5
"""Apparent distance of words from their line, as a factor of the font size, up to which they are on it: a rule below
them may be in their box."""
_SLACK = 4
"""Pixels by which a word may overlap a rule next to it."""
_SIGNS = "|[]{}_-—–=!'‘’.,:;"
"""Characters as which rules are misread."""


def take_tables(
    words: Sequence[Word], graphics: VectorGraphics, page: int, scale: float, usual: float
) -> tuple[list[RuledTable], list[Word]]:
    """Make the tables of a page; return them and the words that are in none.

    Args:
        words: words of the page, in the engine's order.
        graphics: the rules of the page.
        page: its number.
        scale: points per pixel.
        usual: stroke width of the running text, as a share of its font size.
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
    """Convert rules to the form in which the parser returns lines, each exactly horizontal or vertical."""
    from liteparse.types import VectorGraphics, VectorLine

    lines: list[VectorLine] = []
    for left, top, right, bottom in ([edge * scale for edge in rule] for rule in rules):
        x, y = (left + right) / 2, (top + bottom) / 2
        ends = (left, y, right, y) if abs(right - left) > abs(bottom - top) else (x, top, x, bottom)
        lines.append(VectorLine(*ends, stroke=True, stroke_width=None, stroke_color=None, fill=False, fill_color=None))
    return VectorGraphics([], lines)


_Upright = tuple[float, float, float]
"""A vertical rule in pixels: its position, its start and its end."""


def _items(
    words: Sequence[Word], upright: Sequence[_Upright], scale: float, usual: float
) -> Iterator[tuple[TextItem, Sequence[Word]]]:
    """Yield one item, with its words, for each group of adjacent words of a line without a rule between them."""
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
    """Remove characters as which a rule at one end of a word was read; the word may become empty."""
    text, edge = word[0], (word[5] - word[3]) / 2
    if not text.strip(_SIGNS):
        return ["" if _is_crossed(word[2], word[4], word, upright) else text, *word[1:]]
    if text[0] == "|" and _is_crossed(word[2] - edge, word[2] + edge, word, upright):
        text = text[1:]
    if text[-1] == "|" and _is_crossed(word[4] - edge, word[4] + edge, word, upright):
        text = text[:-1]
    return [text, *word[1:]]


def _is_crossed(start: float, end: float, word: Word, upright: Sequence[_Upright]) -> bool:
    """Return whether a vertical rule crosses a place at the height of a word."""
    middle = (word[3] + word[5]) / 2
    first, last = bisect_left(upright, (start - _SLACK,)), bisect_right(upright, (end + _SLACK,))
    return any(top <= middle <= bottom for _, top, bottom in upright[first:last])


def _item(run: Sequence[Word], foot: float, size: float, scale: float, usual: float) -> TextItem:
    """Make an item from words; `foot` is the baseline of their whole line, used if it is close to theirs."""
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
