"""Finds formulas and signs that are small pictures in the text, and writes U+FFFC at their place.

A picture in a line has words of a sentence next to it. A picture between lines has a formula number to its right, or
continues the sentence above. Bullets, icons, rules, logos and figures are ignored.
"""

from __future__ import annotations

import contextlib
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.geometry import text_in
from knowledge_mcp.readers.pdf.lines import Box, is_rotated, size_of
from knowledge_mcp.readers.shared.layout import UNREAD, is_bold_name

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem


_LOWEST, _NARROWEST = 4.0, 3.0
"""Height and width in points below which a picture is a rule or a dot."""
_HIGHEST = 40.0
"""Maximum height in points of a formula in a line: a fraction under a sum sign takes three lines of text."""
_HIGHEST_BETWEEN = 60.0
"""The same for a formula between lines, with nested fractions or matrices of three rows."""
_WIDEST = 0.75
"""Maximum width of a formula as a share of the page's width; a figure or a banner is wider."""
_LONGEST = 25.0
"""Width, as a factor of the height, above which a picture is an ornament between parts."""
_MARGIN = 0.07
"""Share of the page's height at top and bottom for logos and running lines."""
_TOUCHING = 1.5
"""Maximum distance in points between pieces of one picture: programs cut pictures into strips."""
_ROOM = 3.0
"""Distance in points around a picture that lines of a drawing enter; edges of table cells are farther away."""
_SMALLEST = 2.0
"""Minimum height in points of an outlined letter: underlines and rules are lower; signs such as "−" join others."""
_LETTERS_APART = 4.0
"""Maximum distance in points between the signs of a formula: thick spaces are a quarter of the font size."""
_DARK = 0x60
"""Brightness, out of 255, below which a colour is that of text and not of an icon."""
_WHITE = "ffffffff"
MOST_PICTURES = 150
"""Maximum number of pieces of pictures on a page; with more it is a drawing."""
_NEAR = 1.2
"""Maximum gap between a picture and a word of the same line, as a factor of the font size."""
_OVER = 2.0
"""Points by which the box of a word may overlap a picture: it includes spaces at its end."""
_LEVEL = 0.5
"""Minimum vertical overlap of a picture and a word next to it, as a share of the smaller height."""
_FEW_WORDS = 4
"""Minimum number of words of a row that belongs to a sentence; labels of drawings have fewer."""
_LARGER = 1.0
"""Points by which a heading is larger than most of its page's text."""
_OFTEN = 3
"""Number of pictures of one size at the beginning of lines from which they are bullets or icons."""
_ALIKE = 2.0
"""Maximum difference in points between bullets of one kind."""
_INDENT = 10
"""Maximum distance, as a factor of the font size, of a formula to the right of the end of a short line above it."""
_COLUMN = 20.0
"""Distance above a formula, as a factor of the font size, in which lines show the width of its column: some are
full."""
_OF_ONE_LINE = 2.0
"""Maximum height of a picture as a factor of the height of the word after it; an icon is next to several lines."""
_ABOVE = 2.5
"""Maximum number of empty lines above a formula."""
_BLANK = 0.15
"""Share of the font size inserted between a picture and the words next to it, as they may touch."""
_SCALE = 2.0
"""Pixels per point in which a picture is rendered."""
_CONTRAST = 24
"""Minimum difference, out of 255, between the darkest and the brightest pixel of a visible picture."""
_FORMULA_NUMBER = re.compile(r"\s*[(\[]\s?(?:[A-Z]{1,2}[.-]?)?\d{1,3}(?:[.-]\d{1,3}){0,3}[a-z]?\s?[)\]]\s*")
_ENDED = (".", "!", "?", ".)", ".”", '."', "。", "！", "？")
_CONTINUATION = re.compile(r"\s*(?:[a-z]|[=,.;:)]|\()")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its box in points from the top left of the page as shown."""

    box: Box

    @property
    def height(self) -> float:
        """Return its height."""
        return self.box[3] - self.box[1]

    @property
    def form(self) -> tuple[int, int]:
        """Return its width and height, rounded so that bullets of one kind are equal: each is drawn separately."""
        return round((self.box[2] - self.box[0]) / _ALIKE), round(self.height / _ALIKE)


@dataclass(frozen=True, slots=True)
class Sign:
    """A picture that is a sign of the text, and the word next to it or above it whose style or row it takes."""

    picture: Picture
    word: TextItem


class PictureSigns:
    """Find the pictures of some pages that are signs of their text.

    Args:
        pages: the parsed pages.
        pictures: of each page, by its index.
    """

    def __init__(self, pages: Sequence[ParsedPage], pictures: Mapping[int, Sequence[Picture]]) -> None:
        self._pages = pages
        self._pictures = {index: _united(some) for index, some in pictures.items() if 0 < len(some) <= MOST_PICTURES}
        self._first: Counter[tuple[int, int]] = Counter()
        self._rows = {index: _Rows(pages[index]) for index in self._pictures}
        for index, some in self._pictures.items():
            self._first.update(each.form for each in some if self._rows[index].left_of(each) is None)

    def found(self) -> Iterator[tuple[int, list[Sign]]]:
        """Yield the index of each page with such pictures, and its signs."""
        for index, some in self._pictures.items():
            rows = self._rows[index]
            signs: list[Sign] = []
            for each in some:
                page = self._pages[index]
                if not _may_be_sign(each, page) or rows.covers(each):
                    continue
                word = self._beside(each, rows) or _between(each, rows)
                if word is not None and not _is_drawn_at(page, each):  # last: a drawing has thousands of lines
                    signs.append(Sign(each, word))
            if signs:
                yield index, signs

    def _beside(self, picture: Picture, rows: _Rows) -> TextItem | None:
        """Return the word next to a picture in a line."""
        if picture.height > _HIGHEST:
            return None
        left, right = rows.left_of(picture), rows.right_of(picture)
        if left is None and (
            right is None
            or picture.height > _OF_ONE_LINE * right.height
            or self._first[picture.form] >= _OFTEN
            or not _CONTINUATION.match(right.text)
        ):
            return None
        if left is not None and right is None and left.text.rstrip().endswith(_ENDED):
            return None
        word = left or right
        assert word is not None
        return word if rows.is_prose(word) else None


def outlined_signs(parsed: ParsedPage) -> list[Picture]:
    """List what small dark shapes draw together: programs may set formulas as outlines of letters.

    With more than `MOST_PICTURES` shapes the page is a drawing, and nothing is listed.
    """
    boxes: list[Box] = []
    for shape in parsed.vector_graphics.shapes if parsed.vector_graphics is not None else ():
        x, y, width, height = shape.bbox
        is_letter = shape.fill and not shape.stroke and _is_dark(shape.fill_color)
        if is_letter and _SMALLEST <= height <= _HIGHEST and _SMALLEST / 2 <= width <= _HIGHEST:
            boxes.append((x - _LETTERS_APART / 2, y, x + width + _LETTERS_APART / 2, y + height))
    if len(boxes) > MOST_PICTURES:
        return []
    half = _LETTERS_APART / 2
    return [
        Picture((left + half, top, right - half, bottom))
        for left, top, right, bottom in (each.box for each in _united([Picture(box) for box in boxes]))
    ]


def _is_dark(colour: str | None) -> bool:
    return colour is not None and all(channel < _DARK for channel in bytes.fromhex(colour)[-3:])


def _may_be_sign(picture: Picture, page: ParsedPage) -> bool:
    left, top, right, bottom = picture.box
    width, height = right - left, bottom - top
    return (
        _LOWEST <= height <= _HIGHEST_BETWEEN
        and _NARROWEST <= width <= min(_WIDEST * page.width, _LONGEST * height)
        and left > 0
        and right < page.width
        and top > _MARGIN * page.height
        and bottom < (1 - _MARGIN) * page.height
    )


def _is_drawn_at(page: ParsedPage, picture: Picture) -> bool:
    """Return whether a picture is part of a drawing: curves or non-horizontal lines enter the space around it."""
    graphics = page.vector_graphics
    if graphics is None:
        return False
    left, top, right, bottom = picture.box
    around = (left - _ROOM, top - _ROOM, right + _ROOM, bottom + _ROOM)
    drawn = [
        (min(line.x1, line.x2), min(line.y1, line.y2), max(line.x1, line.x2), max(line.y1, line.y2))
        for line in graphics.lines
        if abs(line.y1 - line.y2) > 1 and line.stroke
    ]
    for shape in graphics.shapes:
        x, y, width, height = shape.bbox
        is_seen = shape.stroke or (shape.fill and shape.fill_color != _WHITE)
        box = (x, y, x + width, y + height)
        # neither the background of a whole part nor a letter of the formula
        if is_seen and height > 1 and not _holds(box, around) and not _holds(around, box):
            drawn.append(box)
    return any(_overlap(each, around) for each in drawn)


def _holds(one: Box, other: Box) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and one[2] >= other[2] and one[3] >= other[3]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


class _Rows:
    """The words of a page, searchable by height."""

    def __init__(self, page: ParsedPage) -> None:
        items = [item for item in page.text_items if item.text.strip() and not is_rotated(item)]
        self._items = sorted(items, key=lambda item: item.y)
        self._tops = [item.y for item in self._items]
        self._tallest = max((item.height for item in items), default=0.0)
        self._head = _MARGIN * page.height
        sizes: Counter[float] = Counter()
        for item in items:
            sizes[round(size_of(item), 1)] += len(item.text)
        self._size = sizes.most_common(1)[0][0] if sizes else 0.0

    def near(self, top: float, bottom: float) -> list[TextItem]:
        """List the words that overlap a horizontal band."""
        first = bisect_left(self._tops, top - self._tallest)
        return [item for item in self._items[first : bisect_left(self._tops, bottom)] if item.y + item.height > top]

    def covers(self, picture: Picture) -> bool:
        """Return whether words are printed on a picture, which is then their background."""
        left, top, right, bottom = picture.box
        return any(
            left < item.x + item.width / 2 < right
            and top < item.y + item.height / 2 < bottom
            and item.width < 2 * (right - left)
            for item in self.near(top, bottom)
        )

    def left_of(self, picture: Picture) -> TextItem | None:
        """Return the word directly before a picture; the parser joins words that are close on both sides of it."""
        return self._beside(picture, lambda item: picture.box[0] - item.x - item.width)

    def right_of(self, picture: Picture) -> TextItem | None:
        """Return the word directly after a picture."""
        return self._beside(picture, lambda item: item.x - picture.box[2])

    def _beside(self, picture: Picture, gap: Callable[[TextItem], float]) -> TextItem | None:
        """Return the first word at the height of a picture with a small gap between them, or that runs past it."""
        _, top, _, bottom = picture.box
        for item in self.near(top, bottom):
            shared = min(bottom, item.y + item.height) - max(top, item.y)
            if shared <= _LEVEL * min(item.height, picture.height):
                continue
            if -_OVER < gap(item) < _near(item) or _runs_past(item, picture):
                return item
        return None

    def is_prose(self, word: TextItem) -> bool:
        """Return whether a word is running text: its row has several words, in the font size of the page."""
        count = sum(any(map(str.isalpha, each)) for item in self._row_of(word) for each in item.text.split())
        bold = (word.font_weight or 400) >= 600 or is_bold_name(word.font_name or "")
        return count >= _FEW_WORDS and not bold and size_of(word) < self._size + _LARGER

    def nearest_above(self, picture: Picture) -> TextItem | None:
        """Return the last word of the row above a picture, in its column."""
        left, top, right, _ = picture.box
        reach = _ABOVE * 1.2 * self._size
        above = [
            item
            for item in self.near(top - reach, top)
            if item.y + item.height / 2 < top
            and item.y > self._head
            and item.x < right
            and item.x + item.width > left - _INDENT * self._size
        ]
        lowest = max((item.y + item.height for item in above), default=0.0)
        return max((item for item in above if item.y + item.height > lowest - 3), key=lambda item: item.x, default=None)

    def right_edge(self, picture: Picture) -> float:
        """Return the right edge of the lines above a picture."""
        left, top, right, _ = picture.box
        above = self.near(top - _COLUMN * self._size, top)
        return max(
            (item.x + item.width for item in above if item.x < right and item.x + item.width > left), default=right
        )

    def below(self, picture: Picture) -> str:
        """Return the text of the row directly below a picture."""
        left, _, right, bottom = picture.box
        under = [
            item
            for item in self.near(bottom, bottom + 3 * self._size)
            if item.y + item.height / 2 > bottom and item.x < right and item.x + item.width > left
        ]
        if not under:
            return ""
        row = self._row_of(min(under, key=lambda item: item.y))
        return " ".join(item.text.strip() for item in sorted(row, key=lambda item: item.x))

    def _row_of(self, word: TextItem) -> list[TextItem]:
        return [item for item in self.near(word.y, word.y + word.height) if abs(item.y - word.y) < 0.5 * word.height]


def _near(item: TextItem) -> float:
    return _NEAR * size_of(item)


def _between(picture: Picture, rows: _Rows) -> TextItem | None:
    """Return the number of a formula between two lines, or the last word above it; None if it is not a formula."""
    left, top, right, bottom = picture.box
    above = rows.nearest_above(picture)
    opened = opening_of(rows.below(picture))
    if above is None or (opened is not None and opened.kind is BlockKind.CAPTION):
        return None
    end = rows.right_edge(picture)
    level = [item for item in rows.near(top + _OVER, bottom - _OVER) if item.x > right or item.x + item.width < left]
    beside = [item for item in level if item.x < end]
    further = [item for item in level if item.x >= end]  # of another column, unless it is the number
    for some in (beside, further):
        if len(some) == 1 and some[0].x > right and _FORMULA_NUMBER.fullmatch(some[0].text):
            return some[0]
    unfinished = not above.text.rstrip().endswith(_ENDED)
    is_said = above.text.rstrip().endswith(":") or rows.is_prose(above)
    return above if unfinished and is_said and not beside and rows.is_prose(above) else None


def _united(pictures: Sequence[Picture]) -> list[Picture]:
    """Join pictures that touch each other."""
    found: list[Picture] = []
    for each in sorted(pictures, key=lambda each: each.box):
        box = each.box
        while (
            other := next(
                (
                    other
                    for other in found
                    if _overlap(
                        other.box, (box[0] - _TOUCHING, box[1] - _TOUCHING, box[2] + _TOUCHING, box[3] + _TOUCHING)
                    )
                ),
                None,
            )
        ) is not None:
            found.remove(other)
            low, high = zip(box[:2], other.box[:2], strict=True), zip(box[2:], other.box[2:], strict=True)
            left, top, right, bottom = *map(min, low), *map(max, high)
            box = (left, top, right, bottom)
        found.append(Picture(box))
    return found


def put_signs(page: Any, parsed: ParsedPage, signs: Sequence[Sign], hidden: Sequence[Box] = ()) -> None:
    """Add pictures to the words of a parsed page if they are visible and have no words on them.

    Args:
        page: the open PDFium page.
        parsed: the same page as the parser returns it.
        signs: those found on it.
        hidden: boxes of hidden text, such as the source of a formula.
    """
    with contextlib.closing(page.get_textpage()) as text:
        for sign in signs:
            left, top, right, bottom = sign.picture.box
            inset = (bottom - top) / 4
            words = text_in(page, text, left + 1, top + inset, right - 1, bottom - inset)
            is_hidden = any(_overlap(box, sign.picture.box) for box in hidden)
            if (words.strip() and not is_hidden) or not _is_seen(page, sign):
                continue
            around = next((item for item in parsed.text_items if _runs_past(item, sign.picture)), None)
            if around is not None and not _split(page, text, parsed, around, sign.picture):
                continue
            parsed.text_items.append(_as_item(sign))


def _runs_past(item: TextItem, picture: Picture) -> bool:
    """Return whether an item has words on both sides of a picture: the parser joins words that are close."""
    left, top, right, bottom = picture.box
    middle = item.y + item.height / 2
    return item.x < left and item.x + item.width > right and top < middle < bottom


def _split(page: Any, text: Any, parsed: ParsedPage, item: TextItem, picture: Picture) -> bool:
    """Split an item at a picture inside it; return whether it could be split."""
    left, _, right, _ = picture.box
    before = " ".join(text_in(page, text, item.x - 1, item.y + 1, left, item.y + item.height - 1).split())
    if not before or not item.text.startswith(before):
        return False
    end = item.x + item.width
    rest = replace(item, text=item.text[len(before) :].lstrip(), x=right, width=end - right)
    item.text, item.width = before, left - item.x
    parsed.text_items.append(rest)
    return True


def _is_seen(page: Any, sign: Sign) -> bool:
    """Return whether a picture shows anything, that is, more than one colour."""
    width, height = page.get_size()
    left, top, right, bottom = sign.picture.box
    crop = (max(left, 0), max(height - bottom, 0), max(width - right, 0), max(top, 0))
    shown = page.render(scale=_SCALE, crop=crop).to_pil().convert("L")
    low, high = shown.getextrema()
    return high - low >= _CONTRAST


def _as_item(sign: Sign) -> TextItem:
    """Make an item from a picture, in the style of the word next to it or above it."""
    (left, top, right, bottom), word = sign.picture.box, sign.word
    blank = size_of(word) * _BLANK
    values: dict[str, Any] = {
        "text": UNREAD,
        "x": left + blank,
        "width": max(right - left - 2 * blank, 1.0),
        "mcid": None,
    }
    shared = min(bottom, word.y + word.height) - max(top, word.y)
    if shared > _LEVEL * min(word.height, sign.picture.height):  # its row is the word's
        return replace(word, **values)
    return replace(word, y=(top + bottom - word.height) / 2, **values)
