"""Formulas and signs that are small pictures in the text: each leaves U+FFFC where it stands.

A picture in a line has words of a sentence beside it; one between lines has the number of a formula to its right, or
the sentence above goes on with it. Bullets, icons, rules, logos and figures leave nothing.
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
"""Points of height and width below which a picture is a rule or a dot."""
_HIGHEST = 40.0
"""Points up to which a picture in a line is a formula: a fraction under a sum sign takes three lines of text."""
_HIGHEST_BETWEEN = 60.0
"""The same between lines, where fractions stand in fractions and matrices have three rows."""
_WIDEST = 0.75
"""Share of the page's width up to which a formula reaches; a figure or a banner is wider."""
_LONGEST = 25.0
"""Times its height from which on a picture is an ornament between parts."""
_MARGIN = 0.07
"""Share of the page's height at its head and foot where logos and running lines stand."""
_TOUCHING = 1.5
"""Points up to which pictures are parts of one: programs cut pictures into strips."""
_ROOM = 3.0
"""Points around a picture that lines of a drawing reach into; the edges of a table's cell stand farther off."""
_WHITE = "ffffffff"
MOST_PICTURES = 150
"""Pieces of pictures on a page from which on it is a drawing."""
_NEAR = 1.2
"""Times the print's size up to which a picture stands beside a word as another word does."""
_OVER = 2.0
"""Points by which the box of a word may reach into a picture: blanks at its end are a part of it."""
_LEVEL = 0.5
"""Share of a word's height that a picture beside it reaches over."""
_FEW_WORDS = 4
"""Words of a row at least that belongs to a sentence; labels of drawings have fewer."""
_LARGER = 1.0
"""Points by which a heading's print is larger than most of its page's."""
_OFTEN = 3
"""Times that pictures of one size begin a line, from which on they are bullets or icons."""
_ALIKE = 2.0
"""Points by which bullets of one kind differ at most."""
_INDENT = 10
"""Times the print's size by which a formula stands to the right of the end of a short line above it at most."""
_COLUMN = 20.0
"""Times the print's size above a formula in which lines tell how wide its column is: some of them are full."""
_OF_ONE_LINE = 2.0
"""Times its height that a word is as high as a picture before it; an icon stands beside several lines."""
_ABOVE = 2.5
"""Lines of space above a formula at most."""
_BLANK = 0.15
"""Share of the print's size that parts a picture from the words beside it, though it may touch them."""
_SCALE = 2.0
"""Pixels to a point at which a picture is looked at."""
_CONTRAST = 24
"""Steps of 255 between the darkest and the brightest of what can be seen."""
_FORMULA_NUMBER = re.compile(r"\s*[(\[]\s?(?:[A-Z]{1,2}[.-]?)?\d{1,3}(?:[.-]\d{1,3}){0,3}[a-z]?\s?[)\]]\s*")
_ENDED = (".", "!", "?", ".)", ".”", '."', "。", "！", "？")
_GOES_ON = re.compile(r"\s*(?:[a-z]|[=,.;:)]|\()")


@dataclass(frozen=True, slots=True)
class Picture:
    """One picture: its box in points from the top left of the page as it is shown."""

    box: Box

    @property
    def height(self) -> float:
        """Return how high it is."""
        return self.box[3] - self.box[1]

    @property
    def form(self) -> tuple[int, int]:
        """Return its width and height, as alike as bullets are: programs draw each of them anew."""
        return round((self.box[2] - self.box[0]) / _ALIKE), round(self.height / _ALIKE)


@dataclass(frozen=True, slots=True)
class Sign:
    """A picture that is a sign of the text, and the word beside it or above it whose print or row it takes."""

    picture: Picture
    word: TextItem


class PictureSigns:
    """Find the pictures of some pages that are signs of their text.

    Args:
        pages: parsed.
        pictures: of each page, by its place among them.
    """

    def __init__(self, pages: Sequence[ParsedPage], pictures: Mapping[int, Sequence[Picture]]) -> None:
        self._pages = pages
        self._pictures = {index: _united(some) for index, some in pictures.items() if 0 < len(some) <= MOST_PICTURES}
        self._first: Counter[tuple[int, int]] = Counter()
        self._rows = {index: _Rows(pages[index]) for index in self._pictures}
        for index, some in self._pictures.items():
            self._first.update(each.form for each in some if self._rows[index].left_of(each) is None)

    def found(self) -> Iterator[tuple[int, list[Sign]]]:
        """Yield the places of pages that have such pictures, and these."""
        for index, some in self._pictures.items():
            rows = self._rows[index]
            signs: list[Sign] = []
            for each in some:
                page = self._pages[index]
                if _may_be_sign(each, page) and not rows.covers(each) and not _is_drawn_at(page, each):
                    word = self._beside(each, rows) or _between(each, rows)
                    if word is not None:
                        signs.append(Sign(each, word))
            if signs:
                yield index, signs

    def _beside(self, picture: Picture, rows: _Rows) -> TextItem | None:
        """Return the word that a picture in a line stands beside."""
        if picture.height > _HIGHEST:
            return None
        left, right = rows.left_of(picture), rows.right_of(picture)
        if left is None and (
            right is None
            or picture.height > _OF_ONE_LINE * right.height
            or self._first[picture.form] >= _OFTEN
            or not _GOES_ON.match(right.text)
        ):
            return None
        if left is not None and right is None and left.text.rstrip().endswith(_ENDED):
            return None
        word = left or right
        assert word is not None
        return word if rows.is_prose(word) else None


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
    """Tell the part of a drawing: curves, or lines that are not level, reach into the room around a picture."""
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
        if (
            is_seen and height > 1 and not _holds((x, y, x + width, y + height), around)
        ):  # it is no ground of a whole part
            drawn.append((x, y, x + width, y + height))
    return any(_overlap(each, around) for each in drawn)


def _holds(one: Box, other: Box) -> bool:
    return one[0] <= other[0] and one[1] <= other[1] and one[2] >= other[2] and one[3] >= other[3]


def _overlap(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


class _Rows:
    """The words of a page by their heights."""

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
        """List the words that reach into a band."""
        first = bisect_left(self._tops, top - self._tallest)
        return [item for item in self._items[first : bisect_left(self._tops, bottom)] if item.y + item.height > top]

    def covers(self, picture: Picture) -> bool:
        """Tell whether words are printed on a picture: it is their ground."""
        left, top, right, bottom = picture.box
        return any(
            left < item.x + item.width / 2 < right
            and top < item.y + item.height / 2 < bottom
            and item.width < 2 * (right - left)
            for item in self.near(top, bottom)
        )

    def left_of(self, picture: Picture) -> TextItem | None:
        """Return the word right before a picture; the parser joins words that stand close on both sides of it."""
        return self._beside(picture, lambda item: picture.box[0] - item.x - item.width)

    def right_of(self, picture: Picture) -> TextItem | None:
        """Return the word right behind a picture."""
        return self._beside(picture, lambda item: item.x - picture.box[2])

    def _beside(self, picture: Picture, gap: Callable[[TextItem], float]) -> TextItem | None:
        """Return the first word at the height of a picture, with a small gap between the two, or that runs past it."""
        _, top, _, bottom = picture.box
        for item in self.near(top, bottom):
            shared = min(bottom, item.y + item.height) - max(top, item.y)
            if shared <= _LEVEL * min(item.height, picture.height):
                continue
            if -_OVER < gap(item) < _near(item) or _runs_past(item, picture):
                return item
        return None

    def is_prose(self, word: TextItem) -> bool:
        """Tell whether a word stands in running text: its row has some words, and the print of the page."""
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
        """Return where the lines above a picture end at most."""
        left, top, right, _ = picture.box
        above = self.near(top - _COLUMN * self._size, top)
        return max(
            (item.x + item.width for item in above if item.x < right and item.x + item.width > left), default=right
        )

    def below(self, picture: Picture) -> str:
        """Return the row right below a picture."""
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
    """Return the number of a formula between two lines, or the last word above it; None where it is no formula."""
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
    """Put pictures together that touch each other."""
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


def put_signs(page: Any, parsed: ParsedPage, signs: Sequence[Sign]) -> None:
    """Add pictures to the words of a parsed page, those that can be seen and have no words on them.

    Args:
        page: the same page, open, of PDFium.
        parsed: as the parser has it.
        signs: found on it.
    """
    with contextlib.closing(page.get_textpage()) as text:
        for sign in signs:
            left, top, right, bottom = sign.picture.box
            inset = (bottom - top) / 4
            words = text_in(page, text, left + 1, top + inset, right - 1, bottom - inset)
            if words.strip() or not _is_seen(page, sign):
                continue
            around = next((item for item in parsed.text_items if _runs_past(item, sign.picture)), None)
            if around is not None and not _split(page, text, parsed, around, sign.picture):
                continue
            parsed.text_items.append(_as_item(sign))


def _runs_past(item: TextItem, picture: Picture) -> bool:
    """Tell an item of words on both sides of a picture: the parser joins those that stand close."""
    left, top, right, bottom = picture.box
    middle = item.y + item.height / 2
    return item.x < left and item.x + item.width > right and top < middle < bottom


def _split(page: Any, text: Any, parsed: ParsedPage, item: TextItem, picture: Picture) -> bool:
    """Cut an item in two where a picture stands in it; tells whether it could."""
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
    """Tell whether a picture shows anything: it is not all of one colour."""
    width, height = page.get_size()
    left, top, right, bottom = sign.picture.box
    crop = (max(left, 0), max(height - bottom, 0), max(width - right, 0), max(top, 0))
    shown = page.render(scale=_SCALE, crop=crop).to_pil().convert("L")
    low, high = shown.getextrema()
    return high - low >= _CONTRAST


def _as_item(sign: Sign) -> TextItem:
    """Make an item of a picture, in the print of the word beside or above it."""
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
