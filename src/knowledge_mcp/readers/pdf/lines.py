"""Turns text items of the engine into lines.

The words come only from the text items, character by character as in the file. Lines are assembled across the whole
width of the page; the engine's blocks decide where a row is split.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knowledge_mcp.language.openings import mark_alone
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.layout import Line, family_of, is_bold_name, is_code_name, is_italic_name

if TYPE_CHECKING:
    from liteparse.types import AnnotationRect, TextItem, VectorGraphics

_SPREAD_NAME = re.compile(r"(?<![^\W\d_])[A-ZА-Я](?: [a-zа-я](?![^\W\d_])){4,}")
_LETTERSPACED = re.compile(r"(?:\b\w ){4,}\w\b")
_END = re.compile(r"[.:;!?][)\]\"”’]*$")
_NUMBER_WIDTH = 14
_HANGING = 2.6
"""Maximum gap between a list marker and the text of its item, as a factor of the font size: a tab."""
_TEXT_WIDTH = 3.0
"""Minimum width of a line of text as a factor of its height: parts of a formula are narrower."""


def is_rotated(item: TextItem) -> bool:
    """Return whether an item runs up, down or upside down."""
    return abs((item.rotation + 180.0) % 360.0 - 180.0) > 5.0


def is_slanted(item: TextItem) -> bool:
    """Return whether an item is neither horizontal nor vertical: a stamp or a watermark across the page."""
    return abs((item.rotation + 45.0) % 90.0 - 45.0) > 5.0


def is_heavy(item: TextItem) -> bool:
    """Return whether an item is bold."""
    return (item.font_weight or _PLAIN) >= HEAVY or is_bold_name(item.font_name or "")


@dataclass(slots=True)
class FontWeights:
    """What font names say about the weight of fonts, on pages that are parsed in batches.

    A file may state a bold weight for all its fonts. The weight is ignored if the family has a font that is bold by its
    name, and the font that is not bold by its name sets at least as many letters.
    """

    _letters: Counter[tuple[str, bool]] = field(default_factory=Counter[tuple[str, bool]])

    def settle(self, items: Sequence[TextItem]) -> None:
        """Reset the bold weight of items whose font is not bold by its name."""
        names = [item.font_name or "" for item in items]
        fonts = [(family_of(name), is_bold_name(name)) for name in names]
        for font, item in zip(fonts, items, strict=True):
            self._letters[font] += len(item.text)
        for (family, is_bold), item in zip(fonts, items, strict=True):
            if not is_bold and 0 < self._letters[family, True] <= self._letters[family, False]:
                item.font_weight = min(item.font_weight or _PLAIN, _PLAIN)


HEAVY, _PLAIN = 600, 400
"""Weight from which a font is bold, and weight of a font that is not."""

Box = tuple[float, float, float, float]
"""Left, top, right and bottom, in points from the top left corner of a page."""


def stands_in(item: TextItem, box: Box, over: float = 0.0) -> bool:
    """Return whether the middle of an item is in a box, or at most `over` outside it."""
    x, y = item.x + item.width / 2, item.y + item.height / 2
    return box[0] - over <= x <= box[2] + over and box[1] - over <= y <= box[3] + over


def overlap(one: Box, other: Box, least: float = 0.0) -> bool:
    """Return whether two boxes have more than `least` points in common in both directions."""
    across = min(one[2], other[2]) - max(one[0], other[0])
    return across > least and min(one[3], other[3]) - max(one[1], other[1]) > least


def box_of(item: AnnotationRect | TextItem) -> Box:
    """Return the box of a text, a block or a cell of the engine."""
    return item.x, item.y, item.x + item.width, item.y + item.height


def crossings(spans: Iterable[tuple[float, float]]) -> Callable[[float], int]:
    """Return a function that counts the spans, each given by its two ends, that a place is inside of."""
    real = [span for span in spans if span[0] < span[1]]
    starts, ends = sorted(start for start, _ in real), sorted(end for _, end in real)
    return lambda x: bisect_left(starts, x) - bisect_right(ends, x)


def middle_of(item: TextItem) -> float:
    """Return the height of the middle of an item, in points from the top."""
    return item.y + item.height / 2


def rows_of(items: list[TextItem]) -> list[list[TextItem]]:
    """Group items that share a baseline into rows from top to bottom; each row is sorted from left to right."""
    rows: list[list[TextItem]] = []
    wide: list[TextItem] = []  # of the last row: only these are lines of text
    for item in sorted(items, key=lambda item: (item.y + item.height / 2, item.x)):
        is_wide = item.width > _TEXT_WIDTH * item.height
        beside = rows and any(_share_baseline(other, item) for other in rows[-1][-3:])
        if beside and not (is_wide and any(_is_line_below(other, item) for other in wide)):
            rows[-1].append(item)
        else:
            rows.append([item])
            wide = []
        wide += [item] if is_wide else []
    return [sorted(row, key=lambda item: item.x) for row in rows]


Piece = tuple[float, float, str]
"""A piece of text in a line: its left and right edge, and its words."""


def pieces_of(line: Sequence[TextItem], apart: float) -> list[Piece]:
    """Join the items of a line that are close together; `apart` is the gap between pieces, in font sizes."""
    found: list[Piece] = []
    for item in line:
        if found and item.x - found[-1][1] < apart * size_of(item):
            found[-1] = (found[-1][0], max(found[-1][1], item.x + item.width), f"{found[-1][2]} {item.text}")
        else:
            found.append((item.x, item.x + item.width, item.text))
    return found


def _share_baseline(one: TextItem, other: TextItem) -> bool:
    top = max(one.y, other.y)
    bottom = min(one.y + one.height, other.y + other.height)
    return bottom - top > 0.5 * min(one.height, other.height)


def _is_line_below(above: TextItem, item: TextItem) -> bool:
    """Return whether two items are lines of text one below the other; larger print next to them may overlap both."""
    if min(above.width, item.width) <= _TEXT_WIDTH * max(above.height, item.height):
        return False
    shared = min(above.x + above.width, item.x + item.width) - max(above.x, item.x)
    return shared > 0 and not _share_baseline(above, item)


def parts_of(row: Sequence[TextItem], places: Mapping[int, float]) -> list[list[TextItem]]:
    """Split a row at gaps that are wider than a letter's height and separate two blocks."""
    parts: list[list[TextItem]] = []
    for item in row:
        previous = parts[-1][-1] if parts else None
        if previous is not None:
            gap = item.x - (previous.x + previous.width)
            near = gap <= max(size_of(item), size_of(previous), 0.6 * item.height)
            near = near or (len(parts[-1]) == 1 and gap <= _HANGING * size_of(item) and _is_mark_of(previous, item))
            if near or (places[id(previous)] == places[id(item)] and gap < 8 * size_of(item)):
                parts[-1].append(item)
                continue
        parts.append([item])
    return parts


def _is_mark_of(previous: TextItem, item: TextItem) -> bool:
    """Return whether an item is nothing but the marker of a list item that begins with the other item."""
    mark = mark_alone(previous.text.strip())
    return mark is not None and mark.kind is BlockKind.LIST_ITEM and any(map(str.isalpha, item.text))


def line_of(items: Sequence[TextItem], page: int, places: Mapping[int, float]) -> Line:
    """Make a line from items sorted from the left; `places` has the block of each, by its id."""
    sizes: dict[float, int] = {}
    fonts: dict[str, int] = {}
    where: dict[float, int] = {}
    bold = code = total = 0
    gap = 0.0
    split: tuple[int, float] | None = None
    gaps: list[tuple[int, float, float]] = []
    text = ""
    faces: list[tuple[int, bool]] = []
    led: tuple[float, bool, str] | None = None
    previous: TextItem | None = None
    x0, y0 = items[0].x, items[0].y
    x1, y1 = x0 + items[0].width, y0 + items[0].height
    for item in items:
        size, x, y = size_of(item), item.x, item.y
        words = " ".join(_despaced(item.text).split())
        if previous is not None:
            text += _joint(previous, item, size)
            end = previous.x + previous.width
            gap, split = (x - end, (len(text), x)) if x - end > gap else (gap, split)
            gaps += [(len(text), end, x)] if x - end > size else []
            x0, y0, x1, y1 = min(x0, x), min(y0, y), max(x1, x + item.width), max(y1, y + item.height)
        text += words
        previous = item
        count = len(words)
        name = item.font_name or ""
        heavy = is_heavy(item)
        faces.append((len(text), heavy or is_italic_name(name)))
        bold += count if heavy else 0
        code += count if is_code_name(name) else 0
        total += count
        place = places[id(item)]
        sizes[size] = sizes.get(size, 0) + count
        where[place] = where.get(place, 0) + count
        font = name.partition("+")[2] or name
        led = (size, heavy, font) if led is None and faces[-1][1] else led
        fonts[font] = fonts.get(font, 0) + count
    lead = _lead(faces)
    return Line(
        page=page,
        text=text.strip(),
        x0=x0,
        y0=y0,
        x1=x1,
        y1=y1,
        size=max(sizes, key=sizes.__getitem__),
        bold=bold * 2 > total,
        font=max(fonts, key=fonts.__getitem__),
        code=code > 0.85 * total,
        gap=gap,
        split=split,
        gaps=tuple(gaps),
        block=max(where, key=where.__getitem__),
        rotated=is_rotated(items[0]),
        marked=frozenset(item.mcid for item in items if item.mcid is not None),
        lead=lead,
        led=led if lead else None,
    )


def words_of_items(items: list[TextItem]) -> str:
    """Join the words of some items, line by line."""
    places = dict.fromkeys(map(id, items), 0.0)
    return " ".join(line_of(row, 0, places).text for row in rows_of(items))


def ends_sentence(text: str) -> bool:
    """Return whether a text ends with a sentence, or with what leads to a list."""
    return _END.search(text, max(len(text) - 12, 0)) is not None


def around(lines: Sequence[Line]) -> tuple[float, float, float, float]:
    """Return the bounding box of some lines: left, top, right, bottom."""
    return (
        min(line.x0 for line in lines), min(line.y0 for line in lines),
        max(line.x1 for line in lines), max(line.y1 for line in lines),
    )  # fmt: skip


_UNDER = 0.35
"""Maximum distance, as a share of the font size, between a line's lower edge and the rule that underlines it."""
_SAME_END = 3.0
"""Maximum distance in points between the ends of a rule and of the words: rules of tables and pages extend further."""

_COLOUR = re.compile(r"(?:[0-9A-Fa-f]{2}){3,4}")
_GREY = 64
"""Maximum difference, out of 255, between red, green and blue of a grey: blue-black print still counts as black."""
_STOP_NEAR = 8
"""Number of letters, about two words, by which the estimated end of a rule may be off, as letters differ in width."""


def mark_underlined(lines: Sequence[Line], graphics: VectorGraphics | None) -> None:
    """Treat underlined lines as bold, and underlined words at the beginning of a line as its lead: see `Line`.

    A coloured rule underlines what a redline has added, or a link; it does not make a heading.
    """
    rules = sorted(  # a drawing has thousands
        (rule.y1, number, min(rule.x1, rule.x2), max(rule.x1, rule.x2))
        for number, rule in enumerate(graphics.lines if graphics is not None else ())
        if abs(rule.y1 - rule.y2) < 1 and not _is_coloured(rule.stroke_color)
    )
    heights = [height for height, *_ in rules]
    for line in lines if rules else ():
        first = bisect_right(heights, line.y1 - _UNDER * line.size)
        near = rules[first : bisect_left(heights, line.y1 + _UNDER * line.size)]
        for _, start, end in sorted(rule[1:] for rule in near):  # as they were drawn
            if abs(end - line.x1) <= _SAME_END and abs(start - line.x0) <= _SAME_END:
                line.bold = True
            elif not line.lead and line.x0 - _SAME_END <= start and end < line.x1 - _SAME_END:
                line.lead = _underlined(line, start, end)


def _is_coloured(colour: str | None) -> bool:
    """Return whether a colour (AARRGGBB) is neither black, white nor grey."""
    if colour is None or not _COLOUR.fullmatch(colour):
        return False
    channels = bytes.fromhex(colour)[-3:]
    return max(channels) - min(channels) > _GREY


def _underlined(line: Line, start: float, end: float) -> int:
    """Count the characters up to the end of the words that a rule underlines; 0 if they do not begin the line."""
    share = len(line.text) / max(line.x1 - line.x0, 1.0)
    if (start - line.x0) * share > _NUMBER_WIDTH:
        return 0
    near = (end - line.x0) * share
    ends = [match.end() for match in re.finditer(r"\S+", line.text)]
    stops = [place for place in ends if line.text[place - 1] in ".:" and abs(place - near) <= _STOP_NEAR]
    return min(stops or ends, key=lambda place: abs(place - near))


def _lead(faces: Sequence[tuple[int, bool]]) -> int:
    """Return the end of the only emphasised run of a line if the line begins with it, else 0; see `Line`."""
    first = next((index for index, (_, apart) in enumerate(faces) if apart), None)
    if first is None or (first > 0 and faces[first - 1][0] > _NUMBER_WIDTH):
        return 0
    last = first
    while last + 1 < len(faces) and faces[last + 1][1]:
        last += 1
    if last + 1 == len(faces) or any(apart for _, apart in faces[last + 1 :]):
        return 0
    return faces[last][0]


def size_of(item: TextItem) -> float:
    """Return the font size of an item, in points."""
    height = item.font_height or 0.0
    if height <= 0.5:
        height = item.height / 1.3 if not is_rotated(item) else item.width / 1.3
    return round(height, 1)


def _joint(previous: TextItem, item: TextItem, size: float) -> str:
    distance = item.x - (previous.x + previous.width)
    return " " if distance > 0.12 * max(size, 4.0) or previous.text.endswith(" ") else ""


def _despaced(text: str) -> str:
    """Join letter-spaced words ("R E P O R T"), between which are two or more spaces; and names ("N o t e s")."""
    text = _SPREAD_NAME.sub(lambda match: match.group().replace(" ", ""), text)
    if "  " not in text or not _LETTERSPACED.search(text):
        return text
    return _LETTERSPACED.sub(lambda match: match.group().replace(" ", ""), text)


def code_text(lines: Sequence[Line]) -> str:
    """Print code line by line, indented as on the page; pieces of one row are joined."""
    rows: list[Line] = []
    for line in lines:
        if rows and rows[-1].page == line.page and line.is_beside(rows[-1]):
            rows[-1] = replace(rows[-1], text=f"{rows[-1].text} {line.text}", x1=line.x1)
        else:
            rows.append(line)
    left = min(line.x0 for line in rows)
    return "\n".join(" " * round((line.x0 - left) / max(0.6 * line.size, 1.0)) + line.text for line in rows)


# ---- lines that were broken for lack of room, unlike rows, labels and code -------------------------------------------

Row = list["TextItem"]
"""Texts at one height, from the left."""

_BROKEN = 2
"""Minimum number of broken lines: the longest line of any column leaves no room for the word below it."""
_WORDS = 2
"""Minimum number of words of the rows of a column of text, on average: cells of one word are a table's."""
_WORD = re.compile(r"[^\W\d_]{2}")
_BLANK = 0.25
"""Width of a blank in font sizes."""


def wraps(columns: Sequence[Sequence[Row]], fewest: int) -> bool:
    """Return whether lines were broken for lack of room, and as many as lines that continue below without need.

    Args:
        columns: the rows of each column, from the top.
        fewest: minimum number of columns with broken lines.
    """
    broken: list[int] = []
    loose = 0
    for column in columns:
        right = right_of(column)
        room = [fits(row, below, right) for row, below in itertools.pairwise(column) if goes_on(row, below)]
        broken.append(room.count(False))
        loose += room.count(True)
    return len(broken) - broken.count(0) >= fewest and sum(broken) >= max(loose, _BROKEN)


def is_worded(column: Sequence[Row]) -> bool:
    """Return whether the rows of a column are words of sentences, not symbols or figures."""
    return sum(_WORD.search(word) is not None for row in column for item in row for word in item.text.split()) >= (
        _WORDS * len(column)
    )


def has_word(row: Row) -> bool:
    """Return whether a row has a word, not only figures and signs."""
    return any(_WORD.search(item.text) for item in row)


def right_of(column: Sequence[Row]) -> float:
    """Return the right edge of some rows."""
    return max((row[-1].x + row[-1].width for row in column), default=0.0)


def goes_on(row: Row, below: Row) -> bool:
    """Return whether a row continues a sentence of the row above."""
    return below[0].text[:1].islower() and not ends_sentence(row[-1].text)


def fits(row: Row, below: Row, right: float) -> bool:
    """Return whether the first word of a row would have had room in the row above; `right` is its column's edge."""
    words = below[0].text.split()
    width = below[0].width * len(words[0]) / max(len(below[0].text), 1)
    return row[-1].x + row[-1].width + _BLANK * size_of(below[0]) + width <= right
