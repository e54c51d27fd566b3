"""Removes words of a page that a line or a comment strikes out: a reader of the page takes them as deleted.

A redline of a standard prints deleted words with a line through them, next to the new words. Each letter is judged by
the height at which the line crosses it: a line below is an underline, one between letters above and below is a
fraction bar.
"""

from __future__ import annotations

import ctypes
import itertools
import statistics
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.pdf.flow.letters import LetterSheet, ligatures_of
from knowledge_mcp.readers.pdf.geometry import PrintedPart, from_page, raw, size_of_letter
from knowledge_mcp.readers.pdf.lines import Box, box_of, is_rotated
from knowledge_mcp.support.matching import BoundedMatcher
from knowledge_mcp.support.wording import list_first

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_CROSSED = (0.1, 0.5)
"""Range above the baseline, as shares of the font size, in which a line strikes letters out: word processors draw it at
0.22 to 0.36, and a lower-case letter is 0.5 high."""
_MIDDLE = (0.2, 0.85)
"""Range within an item's height, as shares, in which such a line crosses it, whatever metrics its font states."""
_REACH = (-0.3, 0.95)
"""Shares of the font size that letters and signs extend below and above the baseline."""
_HOME = 0.25
"""Share of the font size by which the middle of a line of text is above the baseline; that of a comma is not."""
_OVER = 0.6
"""Share of the font size by which a line may extend beyond its words, for a space: table rules and axes extend
further."""
_THICK, _THIN = 0.2, 3.0
"""Maximum thickness of a line as a share of the font size, and in points for a filled area that counts as a line. A
highlighter band is thicker."""
_BLANK, _LEVEL = 0.5, 0.3
"""Maximum horizontal and vertical distance, as shares of an item's height, of a neighbouring item that continues its
words: more than a space, but cells of tables are further apart."""
_TOUCHING, _SAME_HEIGHT = 1.0, 0.5
"""Maximum distance in points between pieces of one line, along it and across: programs draw one piece per run."""
_LARGER, _SMALLER = 2.0, 0.5
"""Factors of the usual size of the letters that a line crosses: a letter at least this large, or at most this small, is
other text, such as a watermark below a table. Superscripts and subscripts have 0.58 to 0.7."""
_FULL = 0.9
"""Share of the largest font size from which a letter is not a superscript or subscript; web pages set these at 0.83."""
_MOST_LINES = 10_000
"""Maximum number of horizontal lines on a page for which strike-outs are looked for; at this number it takes seconds.
A page on which every word is struck out has a few hundred."""
_MOST_PAGES = 5
"""Maximum number of pages that a warning names, as in the warnings about comments."""
_OUTLINED = (0.3, 1.3)
"""Share of the font size by which an outline of a letter extends beyond its box at most, and its maximum height as a
factor of the font size."""


@dataclass(frozen=True, slots=True)
class StruckWords:
    """What was removed from a page.

    Attributes:
        count: number of characters without white space.
        lines: boxes of lines that were removed completely.
        crowded: True if the page has too many lines, so strike-outs were not looked for.
    """

    count: int = 0
    lines: Sequence[Box] = ()
    crowded: bool = False


@dataclass(frozen=True, slots=True)
class _Rule:
    height: float
    start: float
    end: float
    thick: float


@dataclass(frozen=True, slots=True)
class _PrintedLetter:
    """A letter on the page: its index in the file, its character, horizontal middle, edges, baseline and font size."""

    at: int
    text: str
    middle: float
    left: float
    right: float
    foot: float
    size: float


def take_struck(page: Any, text: Any, parsed: ParsedPage, marked: Sequence[Box] = ()) -> StruckWords:
    """Remove struck-out words from the items of a parsed page.

    If one item remains of a line, it is extended over the whole line, so that words next to struck ones do not begin a
    paragraph.

    Args:
        page: the open PDFium page.
        text: its text page.
        parsed: the same page as the parser returns it.
        marked: boxes that comments strike out.
    """
    rules = _joined(_rules(parsed))
    crowded = len(rules) > _MOST_LINES
    crossing = [] if crowded else [*_crossing(rules, parsed.text_items)]
    if not crossing and not marked:
        return StruckWords(crowded=crowded)
    outlines = _outlines(parsed) if crossing else []
    letters = _Letters(_letters(page, text))
    gone = {letter.at for box in dict.fromkeys(marked) for letter in letters.within(box)}
    ways = [way for rule in crossing if (way := _struck_by(rule, letters)) and not _is_outlined(way, outlines)]
    for each in _seen(page, ways):
        gone.update(letter.at for letter in each.letters)
    count = 0
    empty: list[TextItem] = []
    for item in parsed.text_items if gone else ():
        inside = letters.within(box_of(item))
        if not is_rotated(item) and any(letter.at in gone for letter in inside):
            count += _cut(item, inside, gone)
            empty += [] if item.text else [item]
    if empty:
        parsed.text_items = [item for item in parsed.text_items if item.text]
    lines = [box_of(item) for item in empty if not _taken_over(item, parsed.text_items)]
    return StruckWords(count, lines, crowded)


def crowded_warning(pages: Sequence[int]) -> Iterator[str]:
    """Warn about pages on which struck-out words were not looked for."""
    if pages:
        where = f"{'pages' if len(pages) > 1 else 'page'} {list_first([*map(str, pages)], _MOST_PAGES)}"
        yield f"More than {_MOST_LINES:,} lines on {where}: words that lines strike out there are in the text."


def _joined(rules: Iterable[_Rule]) -> list[_Rule]:
    """Sort lines from the top and merge pieces that touch."""
    levels: list[list[_Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.height):
        if not levels or rule.height - levels[-1][0].height > _SAME_HEIGHT:
            levels.append([])
        levels[-1].append(rule)
    found: list[_Rule] = []
    for level in levels:
        first, *others = sorted(level, key=lambda rule: rule.start)
        found.append(first)
        for rule in others:
            last = found[-1]
            if rule.start - last.end <= _TOUCHING:
                found[-1] = _Rule(last.height, last.start, max(last.end, rule.end), max(last.thick, rule.thick))
            else:
                found.append(rule)
    return sorted(found, key=lambda rule: rule.height)


def _rules(parsed: ParsedPage) -> Iterator[_Rule]:
    """Yield the drawn horizontal lines, and filled areas that are thin enough; edges of other areas do not count."""
    graphics = parsed.vector_graphics
    for line in graphics.lines if graphics is not None else ():
        if line.stroke and abs(line.y1 - line.y2) < 1:
            left, right = sorted((line.x1, line.x2))
            yield _Rule((line.y1 + line.y2) / 2, left, right, line.stroke_width or 0.0)
    for shape in graphics.shapes if graphics is not None else ():
        x, y, width, height = shape.bbox
        if shape.fill and not shape.has_curve and height <= _THIN < width:
            yield _Rule(y + height / 2, x, x + width, height)


def _crossing(rules: Sequence[_Rule], items: Sequence[TextItem]) -> Iterator[_Rule]:
    """Yield the lines that cross the middle of items and do not extend beyond them.

    Few pages have any; on the others, the letters need not be read.
    """
    heights = [rule.height for rule in rules]
    reaches: dict[int, tuple[float, float]] = {}
    for item in items:
        left, right, over = item.x, item.x + item.width, _OVER * item.height
        top, bottom = (item.y + share * item.height for share in _MIDDLE)
        for at in range(bisect_right(heights, top), bisect_left(heights, bottom)):
            if rules[at].start < right and rules[at].end > left:
                known = reaches.get(at, (left, right))
                reaches[at] = min(known[0], left - over), max(known[1], right + over)
    return (
        rules[at] for at, (left, right) in sorted(reaches.items()) if left <= rules[at].start and rules[at].end <= right
    )


def _letters(page: Any, text: Any) -> Iterator[_PrintedLetter]:
    """Yield the letters and signs of a page without white space, in file order."""
    sheet = LetterSheet(page, text, (), ligatures_of(str(text.get_text_range())))
    size, across, up = page.get_size(), ctypes.c_double(), ctypes.c_double()
    for letter in sheet.printed():
        measured = size_of_letter(text, letter.at)
        if letter.text.isspace() or not measured or not raw().FPDFText_GetCharOrigin(text, letter.at, across, up):
            continue
        _, foot = from_page(page, size, across.value, up.value)
        left, _, right, _ = letter.box
        yield _PrintedLetter(letter.at, letter.text, letter.middle[0], left, right, foot, measured)


class _Letters:
    """The letters of a page, searchable by position."""

    def __init__(self, letters: Iterable[_PrintedLetter]) -> None:
        self._sorted = sorted(letters, key=lambda letter: letter.foot)
        self._feet = [letter.foot for letter in self._sorted]
        self._largest = max((letter.size for letter in self._sorted), default=0.0)

    def within(self, box: Box) -> list[_PrintedLetter]:
        """List the letters whose middle is in a box, in file order."""
        near = self._between(box[1], box[3] + _HOME * self._largest)
        inside = [
            each for each in near
            if box[0] <= each.middle <= box[2] and box[1] <= each.foot - _HOME * each.size <= box[3]
        ]  # fmt: skip
        return sorted(inside, key=lambda letter: letter.at)

    def in_the_way(self, rule: _Rule) -> list[_PrintedLetter]:
        """List the letters that a line crosses, also below or above their middle."""
        low, high = (share * self._largest + rule.height for share in _REACH)
        near = self._between(low, high)
        return [each for each in near if rule.start <= each.middle <= rule.end and _is_between(each, rule, _REACH)]

    def _between(self, top: float, bottom: float) -> list[_PrintedLetter]:
        return self._sorted[bisect_left(self._feet, top) : bisect_right(self._feet, bottom)]


@dataclass(frozen=True, slots=True)
class _Strike:
    """A line, the letters that it strikes out, and the bounding box of the part of it that crosses them."""

    rule: _Rule
    letters: list[_PrintedLetter]
    box: Box


def _struck_by(rule: _Rule, letters: _Letters) -> _Strike | None:
    """Find the letters that a line strikes out: all that it crosses. None if it is another kind of line.

    Superscripts and subscripts go with their neighbours: a line that underlines these may cross a subscript.
    """
    way = letters.in_the_way(rule)
    if not way:
        return None
    usual = statistics.median(each.size for each in way)
    way = [each for each in way if _SMALLER * usual <= each.size <= _LARGER * usual]
    largest = max(each.size for each in way)
    full = [each for each in way if each.size >= _FULL * largest]
    crossed = [each for each in full if _is_between(each, rule, _CROSSED) and rule.thick <= _THICK * each.size]
    if 2 * len(crossed) <= len(full):
        return None
    left, right = min(each.left for each in way), max(each.right for each in way)
    over = _OVER * largest
    if rule.start < left - over or rule.end > right + over:
        return None
    top, bottom = min(each.foot - each.size for each in way), max(each.foot for each in way)
    return _Strike(rule, way, (max(left, rule.start), top, min(right, rule.end), bottom))


def _outlines(parsed: ParsedPage) -> list[Box]:
    """List the drawn areas that are not lines, sorted from the left: in outlined text, each letter is one of them."""
    graphics = parsed.vector_graphics
    boxes = [shape.bbox for shape in graphics.shapes if shape.stroke] if graphics is not None else []
    return sorted((x, y, x + width, y + height) for x, y, width, height in boxes if height > _THIN)


def _is_outlined(strike: _Strike, outlines: Sequence[Box]) -> bool:
    """Return whether the letters that a line crosses are outlined: the line is then part of a letter, as in E or 4."""

    def is_one(letter: _PrintedLetter) -> bool:
        beyond, tall = (share * letter.size for share in _OUTLINED)
        first = bisect_left(outlines, (letter.left - beyond,))
        near = itertools.takewhile(lambda box: box[0] <= letter.middle, outlines[first:])
        return any(
            right <= letter.right + beyond and bottom - top <= tall and top <= strike.rule.height <= bottom
            for _, top, right, bottom in near
        )

    return all(is_one(letter) for letter in strike.letters)


def _seen(page: Any, strikes: Sequence[_Strike]) -> list[_Strike]:
    """List those whose line is visible on the page: some are painted over, or white on white."""
    picture = PrintedPart(page, [each.box for each in strikes]) if strikes else None
    return [each for each in strikes if picture is not None and picture.shows_line(each.box, each.rule.height)]


def _is_between(letter: _PrintedLetter, rule: _Rule, shares: tuple[float, float]) -> bool:
    low, high = shares
    return low * letter.size <= letter.foot - rule.height <= high * letter.size


def _cut(item: TextItem, letters: Sequence[_PrintedLetter], gone: set[int]) -> int:
    """Remove struck-out letters from an item; return how many."""
    signs = [at for at, sign in enumerate(item.text) if not sign.isspace()]
    printed = [(sign, letter) for letter in letters for sign in unicodedata.normalize("NFKC", letter.text)]
    written = [unicodedata.normalize("NFKC", item.text[at]) for at in signs]
    matcher = BoundedMatcher(written, [sign for sign, _ in printed])
    cut = {
        signs[match.a + step]
        for match in matcher.get_matching_blocks()
        for step in range(match.size)
        if printed[match.b + step][1].at in gone
    }
    item.text = " ".join("".join(sign for at, sign in enumerate(item.text) if at not in cut).split())
    return len(cut)


def _taken_over(item: TextItem, items: Sequence[TextItem]) -> bool:
    """Extend a neighbouring item over the place of an emptied one; False if there is none on its line."""
    near = _BLANK * item.height
    for other in items:
        level = abs(other.y + other.height / 2 - item.y - item.height / 2) < _LEVEL * item.height
        start, end = min(other.x, item.x), max(other.x + other.width, item.x + item.width)
        if level and end - start < other.width + item.width + near:
            other.x, other.width = start, end - start
            return True
    return False
