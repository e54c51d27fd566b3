"""Words of a page that a line or a comment strikes out: whoever reads the page takes them for deleted.

A redline of a standard prints what went with a line through it, beside what came. Each letter is judged by where the
line passes it: a line below is an underline, one above and below letters is that of a fraction.
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

from knowledge_mcp.readers.pdf.flow.letters import LetterSheet, ligatures_of, size_of_letter
from knowledge_mcp.readers.pdf.geometry import PrintedPart, from_page, raw
from knowledge_mcp.readers.pdf.lines import is_rotated
from knowledge_mcp.support.matching import BoundedMatcher
from knowledge_mcp.support.wording import list_first

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_CROSSED = (0.1, 0.5)
"""Shares of the size of print above the line that letters stand on, between which a line strikes them out: word
processors draw it at 0.22 to 0.36, and a small letter is 0.5 high."""
_MIDDLE = (0.2, 0.85)
"""Shares of the height of an item between which such a line passes it, however its font measures it."""
_REACH = (-0.3, 0.95)
"""Shares of the size between which letters and signs reach below and above the line that they stand on."""
_HOME = 0.25
"""Share of the size by which the middle of a line of text is above the line that it stands on; a comma's is not."""
_OVER = 0.6
"""Share of the size by which a line may reach beyond its words, for a blank: rules of tables and axes reach further."""
_THICK, _THIN = 0.2, 3.0
"""Share of the size that a line may be thick, and points of a filled area that is one: more is a marker's band."""
_BLANK, _LEVEL = 0.5, 0.3
"""Shares of the height of an item by which another one is apart from it at most, to the side and in height, that goes
on with its words: more than a blank; cells of tables are further apart."""
_TOUCHING, _SAME_HEIGHT = 1.0, 0.5
"""Points by which pieces of one line are apart at most, along it and across: programs draw one below each run."""
_LARGER, _SMALLER = 2.0, 0.5
"""Times the usual size of the letters in a line's way from which on, and up to which, one is of other print: a
watermark below a table; raised and lowered letters have .58 to .7."""
_FULL = 0.9
"""Share of the largest size from which on a letter is none that is raised or lowered, which web pages set at .83."""
_MOST_LINES = 10_000
"""Level lines of a page up to which those that strike out are looked for, which takes seconds then: a page on which
each word is struck out has some hundred."""
_MOST_PAGES = 5
"""Pages that a warning names, as those of comments do."""
_OUTLINED = (0.3, 1.3)
"""Share of the size by which what outlines a letter reaches beyond its box at most, and times the size that it is high
at most."""

Box = tuple[float, float, float, float]
"""Left, top, right, bottom, in points from the top left of a page."""


@dataclass(frozen=True, slots=True)
class StruckWords:
    """What was taken out of a page.

    Attributes:
        count: characters that are not blank.
        lines: where whole lines were.
        crowded: the page has so many lines that those that strike out were not looked for.
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
class _Set:
    """A letter as it is set: its place in the file, its sign, the middle of its width, its edges, foot and size."""

    at: int
    text: str
    middle: float
    left: float
    right: float
    foot: float
    size: float


def take_struck(page: Any, text: Any, parsed: ParsedPage, marked: Sequence[Box] = ()) -> StruckWords:
    """Take struck words out of the items of a parsed page.

    An item that is left of a line reaches as far as the line did: words beside struck ones begin no paragraph.

    Args:
        page: the same page, open, of PDFium.
        text: its text.
        parsed: as the parser has it.
        marked: places that comments strike out.
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
        inside = letters.within(_box_of(item))
        if not is_rotated(item) and any(letter.at in gone for letter in inside):
            count += _cut(item, inside, gone)
            empty += [] if item.text else [item]
    if empty:
        parsed.text_items = [item for item in parsed.text_items if item.text]
    lines = [_box_of(item) for item in empty if not _taken_over(item, parsed.text_items)]
    return StruckWords(count, lines, crowded)


def crowded_warning(pages: Sequence[int]) -> Iterator[str]:
    """Say on which pages struck words were not looked for."""
    if pages:
        where = f"{'pages' if len(pages) > 1 else 'page'} {list_first([*map(str, pages)], _MOST_PAGES)}"
        yield f"More than {_MOST_LINES:,} lines on {where}: words that lines strike out there are in the text."


def _joined(rules: Iterable[_Rule]) -> list[_Rule]:
    """Sort rules from the top and make one of the pieces of each that touch."""
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
    """Give the level lines that are drawn, and the filled areas that are thin enough; edges of other areas are none."""
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
    """Give the rules that pass through the middle of items and reach no further than these.

    Few pages have any, and the letters of the others are not looked at.
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


def _letters(page: Any, text: Any) -> Iterator[_Set]:
    """Give the letters and signs of a page, but blanks, in the order of its file."""
    sheet = LetterSheet(page, text, (), ligatures_of(str(text.get_text_range())))
    size, across, up = page.get_size(), ctypes.c_double(), ctypes.c_double()
    for letter in sheet.printed():
        measured = size_of_letter(text, letter.at)
        if letter.text.isspace() or not measured or not raw().FPDFText_GetCharOrigin(text, letter.at, across, up):
            continue
        _, foot = from_page(page, size, across.value, up.value)
        left, _, right, _ = letter.box
        yield _Set(letter.at, letter.text, letter.middle[0], left, right, foot, measured)


class _Letters:
    """The letters of a page, to be found by where they stand."""

    def __init__(self, letters: Iterable[_Set]) -> None:
        self._sorted = sorted(letters, key=lambda letter: letter.foot)
        self._feet = [letter.foot for letter in self._sorted]
        self._largest = max((letter.size for letter in self._sorted), default=0.0)

    def within(self, box: Box) -> list[_Set]:
        """List the letters whose middle is in a box, in the order of the file."""
        near = self._between(box[1], box[3] + _HOME * self._largest)
        inside = [
            each for each in near
            if box[0] <= each.middle <= box[2] and box[1] <= each.foot - _HOME * each.size <= box[3]
        ]  # fmt: skip
        return sorted(inside, key=lambda letter: letter.at)

    def in_the_way(self, rule: _Rule) -> list[_Set]:
        """List the letters that a rule passes, those too that it passes below or above their middle."""
        low, high = (share * self._largest + rule.height for share in _REACH)
        near = self._between(low, high)
        return [each for each in near if rule.start <= each.middle <= rule.end and _is_between(each, rule, _REACH)]

    def _between(self, top: float, bottom: float) -> list[_Set]:
        return self._sorted[bisect_left(self._feet, top) : bisect_right(self._feet, bottom)]


@dataclass(frozen=True, slots=True)
class _Way:
    """A rule, the letters that it strikes out, and the box around what of it passes these."""

    rule: _Rule
    letters: list[_Set]
    box: Box


def _struck_by(rule: _Rule, letters: _Letters) -> _Way | None:
    """Find the letters that a rule strikes out, all that stand in its way; None where it is another rule.

    Raised and lowered letters go with those beside them: what underlines these may strike out a lowered one.
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
    return _Way(rule, way, (max(left, rule.start), top, min(right, rule.end), bottom))


def _outlines(parsed: ParsedPage) -> list[Box]:
    """List the drawn areas that are no lines, sorted from the left: where print is outlined, each letter is one."""
    graphics = parsed.vector_graphics
    boxes = [shape.bbox for shape in graphics.shapes if shape.stroke] if graphics is not None else []
    return sorted((x, y, x + width, y + height) for x, y, width, height in boxes if height > _THIN)


def _is_outlined(way: _Way, outlines: Sequence[Box]) -> bool:
    """Tell whether the letters that a line passes are drawn around: it is the bar of an E, or the stem of a 4."""

    def is_one(letter: _Set) -> bool:
        beyond, tall = (share * letter.size for share in _OUTLINED)
        first = bisect_left(outlines, (letter.left - beyond,))
        near = itertools.takewhile(lambda box: box[0] <= letter.middle, outlines[first:])
        return any(
            right <= letter.right + beyond and bottom - top <= tall and top <= way.rule.height <= bottom
            for _, top, right, bottom in near
        )

    return all(is_one(letter) for letter in way.letters)


def _seen(page: Any, ways: Sequence[_Way]) -> list[_Way]:
    """List those whose rule is seen on the page: some are painted over, or as white as the paper."""
    picture = PrintedPart(page, [each.box for each in ways]) if ways else None
    return [each for each in ways if picture is not None and picture.shows_line(each.box, each.rule.height)]


def _is_between(letter: _Set, rule: _Rule, shares: tuple[float, float]) -> bool:
    low, high = shares
    return low * letter.size <= letter.foot - rule.height <= high * letter.size


def _cut(item: TextItem, letters: Sequence[_Set], gone: set[int]) -> int:
    """Cut struck letters out of an item; returns how many went."""
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
    """Let the item beside one that is empty reach over its place; False where there is none on its line."""
    near = _BLANK * item.height
    for other in items:
        level = abs(other.y + other.height / 2 - item.y - item.height / 2) < _LEVEL * item.height
        start, end = min(other.x, item.x), max(other.x + other.width, item.x + item.width)
        if level and end - start < other.width + item.width + near:
            other.x, other.width = start, end - start
            return True
    return False


def _box_of(item: TextItem) -> Box:
    return item.x, item.y, item.x + item.width, item.y + item.height
