"""Finds callouts, side notes and cards next to the running text by the empty strip between the two.

Two texts side by side have independent lines: these do not share baselines, or sentences continue from line to line in
both. Rows of a table share baselines, and their text ends in the cells. Continuous text next to the page's longer text
is an aside; it is read as separate blocks, between two paragraphs of the running text.

Notes and titles in the margin (side notes of statutes, side heads of manuals, change marks) have their own column,
which no line of the running text enters on the whole page, and other print: smaller, or bold. Each is read before the
paragraph that begins at its height.
"""

from __future__ import annotations

import itertools
import math
import statistics
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from knowledge_mcp.readers.pdf.lines import is_heavy, is_rotated, size_of
from knowledge_mcp.readers.shared.layout import Line, Table, is_code_name, is_figures

if TYPE_CHECKING:
    from liteparse.types import TextItem


_SEGMENT_GAP = 1.0
"""Minimum gap between two texts as a factor of the font size: a justified line has gaps of half of it, a tab more."""
_NARROWEST = 9.0
"""Minimum width of an empty strip in points: less than the narrowest gutter in use, more than a stretched space."""
_FEWEST = 2
"""Minimum number of lines of an aside: a label next to a line stays in its row."""
_SMALL = 4
"""Number of lines from which an aside may be a list; in a smaller one, sentences must continue from line to line, as in
labels they do not."""
_BEYOND = 3
"""Number of lines by which the text next to a small aside must be longer: stretched spaces may line up by chance."""
_FEWEST_WORDS = 2.0
"""Minimum average number of words per line on both sides of a strip: numbers, letters and marks in a margin are not
text."""
_ALIGNED = 0.5
"""Share of an aside's lines with a baseline of the other side, above which sentences must continue on both sides."""
_SAME = 0.15
"""Maximum distance between equal baselines as a factor of the font size: boxes of letters differ by up to a point."""
_RUNS_ON = 3
"""Number of lines on each side that continue the sentence of the line above, if baselines are shared."""
_RUNS_ON_IN_TABLE = 2
"""The same if the engine sees a table: words that wrap in a narrow cell continue once."""
_BELOW = 2.2
"""Maximum distance between lines of the same text as a factor of the font size."""
_TITLE = 3.5
"""Maximum distance between the title of a box and its text as a factor of the font size."""
_MOST = 12
"""Maximum number of asides of a page; one with more is a drawing or a form."""
_MOST_STRIPS = 12
"""Number of places for strips that are tried, those next to the most rows first; the strip of an aside is next to all
of its lines."""
_ROW = 6.0
"""Height in points of a band in which words of one row are looked for; the neighbouring bands are searched too."""
_LARGEST = 1500
"""Maximum number of pieces of text on a page that is examined: more are a drawing or figures."""


@dataclass(slots=True)
class TextSegment:
    """Some words of a row without a wide gap."""

    items: list[TextItem]
    x0: float
    x1: float
    base: float
    height: float
    size: float
    text: str
    code: bool

    @property
    def top(self) -> float:
        return min(item.y for item in self.items)


@dataclass(slots=True)
class Aside:
    """One text next to the running text.

    Attributes:
        items: its items.
        top: its upper edge.
        clear: whether its lines share hardly any baseline with the text next to it, and sentences continue in both.
        share: its side's share of the letters on both sides of the strip: half for one of two columns, 0 for a note in
            the margin of the page.
        lines: its lines, once they are made.
        is_title: whether it is a title next to the text that it names.
    """

    items: list[TextItem]
    top: float
    clear: bool
    share: float
    lines: list[Line] = field(default_factory=list[Line])
    is_title: bool = False


def asides_of(items: Sequence[TextItem], tabled: Collection[int] = ()) -> list[Aside]:
    """Find the texts next to the running text of a page, from the top; usually there are none.

    Args:
        items: items of the page, outside of ruled tables.
        tabled: ids of those that the engine takes as cells of tables: there, texts side by side must be continuous.
    """
    if not _may_have(items):
        return []
    segments = segments_of([item for item in items if not is_rotated(item)])
    found: list[Aside] = []
    while len(found) < _MOST:
        aside = _next_aside(segments, tabled)
        if aside is None:
            break
        gone: set[int] = set()
        for below in (aside.group, *aside.more):
            group = [*_title_of(below, segments), *below]
            own = [item for each in group for item in each.items]
            found.append(Aside(own, min(each.top for each in group), aside.clear, aside.share))
            gone.update(id(each) for each in group)
        segments = [each for each in segments if id(each) not in gone]
    return sorted(found, key=lambda each: each.top)


def _title_of(group: Sequence[TextSegment], segments: Sequence[TextSegment]) -> list[TextSegment]:
    """Return the bold line above an aside, at its left edge, which is farther from it than its lines are."""
    first = group[0]
    if is_heavy(first.items[0]):
        return []
    above = [
        each
        for each in segments
        if 0 < first.base - each.base <= _TITLE * first.size and abs(each.x0 - first.x0) <= first.size
    ]
    return above if len(above) == 1 and all(map(is_heavy, above[0].items)) else []


def _may_have(items: Sequence[TextItem]) -> bool:
    """Check quickly whether text may be next to text: at one place of the page, more than two rows have a wide gap."""
    if not 2 * _FEWEST <= len(items) <= _LARGEST:
        return False
    ordered = sorted([(item.y + item.height, item.x, item.x + item.width) for item in items if len(item.text) > 1])
    nearest = [math.inf] * len(ordered)
    for index, (base, left, right) in enumerate(ordered):
        for place in range(index + 1, min(index + 7, len(ordered))):
            other, begin, end = ordered[place]
            if other - base > _NARROWEST:
                break
            if begin > right:
                nearest[index] = min(nearest[index], begin)
            elif left > end:
                nearest[place] = min(nearest[place], left)
    rows: defaultdict[int, set[int]] = defaultdict(set)
    for (base, _, right), edge in zip(ordered, nearest, strict=True):
        if _NARROWEST <= edge - right < math.inf:
            rows[int(edge // 24)].add(int(base // _ROW))
    places = sorted(rows)
    return any(len(rows[place]) + len(rows.get(place + 1, ())) > _FEWEST for place in places)


def segments_of(items: Sequence[TextItem]) -> list[TextSegment]:
    """Join the words of a row that have no wide gap between them; sorted from the top, then from the left."""
    found: list[TextSegment] = []
    rows: defaultdict[int, list[TextSegment]] = defaultdict(list)
    unsaid = 1.3 * statistics.median(item.height for item in items) if items else 0.0  # boxes of letters without size
    for item in sorted(items, key=lambda item: item.x):
        x, base, height = item.x, item.y + item.height, item.height
        size = size_of(item) if (item.font_height or 0.0) > 1 else unsaid
        row = int(base // _ROW)
        near = (each for place in (row, row - 1, row + 1) for each in rows[place] if x - each.x1 < 4 * size)
        for segment in near:
            level = min(base, segment.base) - max(base - height, segment.base - segment.height)
            gap = x - segment.x1
            if level > 0.5 * min(height, segment.height) and -size < gap < _SEGMENT_GAP * max(size, segment.size):
                segment.items.append(item)
                segment.x1 = max(segment.x1, x + item.width)
                segment.text = f"{segment.text} {item.text}"
                break
        else:
            code = is_code_name(item.font_name or "")
            segment = TextSegment([item], x, x + item.width, base, height, size, item.text, code)
            found.append(segment)
            rows[row].append(segment)
    return sorted(found, key=lambda each: (each.base, each.x0))


@dataclass(frozen=True, slots=True)
class _Found:
    """The lines of an aside, `clear` and `share` as in `Aside`, and similar groups above and below it."""

    group: list[TextSegment]
    clear: bool
    share: float
    more: list[list[TextSegment]]


def _next_aside(segments: Sequence[TextSegment], tabled: Collection[int]) -> _Found | None:
    """Find the aside with the most lines."""
    best: _Found | None = None
    for strip in _strips(segments):
        for run in _runs(segments, strip):
            left = [each for each in run if each.x1 <= strip]
            right = [each for each in run if each.x0 >= strip]
            for some, others in ((left, right), (right, left)):
                if _length(some) > _length(others) and len(others) >= _FEWEST:
                    continue
                groups = groups_of(some)
                for group in groups:
                    clear = _is_aside(group, others, strip, tabled) if len(group) >= _FEWEST else None
                    if clear is not None and (best is None or len(group) > len(best.group)):
                        more = [each for each in groups if _is_likewise(each, group, others)]
                        share = _length(some) / (_length(some) + _length(others))
                        best = _Found(group, clear, share, more)
    return best


def _is_likewise(group: Sequence[TextSegment], aside: Sequence[TextSegment], others: Sequence[TextSegment]) -> bool:
    """Return whether a group is in the column of an aside, above or below it, next to the same text."""
    if group is aside or _words(group) < _FEWEST_WORDS:
        return False
    inside = min(each.x0 for each in group) > min(each.x0 for each in aside) - group[0].size
    inside = inside and max(each.x1 for each in group) < max(each.x1 for each in aside) + group[0].size
    bases = [each.base for each in others]
    near = all(_has_near(bases, each.base, _BELOW * each.size) for each in group)
    return inside and near and not all(_has_near(bases, each.base, _SAME * each.size) for each in group)


def _strips(segments: Sequence[TextSegment]) -> list[float]:
    """List the places of strips that may separate two texts, those next to the most lines first."""
    counted: Counter[int] = Counter()
    for index, segment in enumerate(segments):
        for other in segments[index + 1 : index + 7]:
            if other.base - segment.base > segment.size:
                break
            left, right = (segment, other) if segment.x0 < other.x0 else (other, segment)
            if right.x0 - left.x1 >= _NARROWEST:
                counted[round((right.x0 - 2) / 4)] += 1
                counted[round((left.x1 + 2) / 4)] += 1
    return [4.0 * place for place, count in counted.most_common(_MOST_STRIPS) if count >= _FEWEST]


def _runs(segments: Sequence[TextSegment], strip: float) -> list[list[TextSegment]]:
    """Split the page where something crosses a strip."""
    runs: list[list[TextSegment]] = [[]]
    for each in segments:
        if each.x0 < strip < each.x1:
            runs.append([])
        else:
            runs[-1].append(each)
    return [run for run in runs if len(run) >= 2 * _FEWEST]


def groups_of(segments: Sequence[TextSegment]) -> list[list[TextSegment]]:
    """Split the lines of one side where more than a line is empty."""
    groups: list[list[TextSegment]] = []
    for each in segments:
        above = groups[-1][-1] if groups else None
        if above is not None and each.base - above.base <= _BELOW * max(each.size, above.size):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _is_aside(
    group: Sequence[TextSegment], others: Sequence[TextSegment], strip: float, tabled: Collection[int]
) -> bool | None:
    """Return whether a group is a text next to others: None if not, otherwise whether that is clear."""
    first, last = group[0].base - group[0].size, group[-1].base
    beside = [each for each in others if first <= each.base <= last + each.size]
    if len(beside) < _FEWEST or _words(group) < _FEWEST_WORDS or _words(beside) < _FEWEST_WORDS:
        return None
    size = statistics.median(each.size for each in group)
    if _free(group, beside) < max(_NARROWEST, size):
        return None
    if len(group) < _SMALL and len(others) < len(group) + _BEYOND:
        return None
    in_table = sum(id(item) in tabled for each in group for item in each.items) * 2 > sum(
        len(each.items) for each in group
    )
    if _running(group) < (_RUNS_ON_IN_TABLE if in_table else len(group) < _SMALL):
        return None
    bases = [each.base for each in beside]
    shared = sum(_has_near(bases, each.base, _SAME * each.size) for each in group)
    if shared <= (0 if len(group) == _FEWEST else _ALIGNED * len(group)):
        return 2 * shared <= _ALIGNED * len(group) and min(_running(group), _running(beside)) > 0
    edges = Counter(round(each.x0 / 3) for each in (group if group[0].x0 > strip else beside))
    steady = edges.most_common(1)[0][1] * 2 > edges.total()
    running = min(_running(group), _running(beside)) >= _RUNS_ON
    return False if steady and running and not _starts_together(group, beside) else None


def _starts_together(group: Sequence[TextSegment], beside: Sequence[TextSegment]) -> bool:
    """Return whether both sides are rows of a table: where a text begins on one side, one begins on the other."""
    starts, others = _starts(group), _starts(beside)
    if len(starts) < _FEWEST or len(others) < _FEWEST:
        return False
    met = sum(_has_near(others, base, 3.0) for base in starts)
    return met * 2 > min(len(starts), len(others))


def _starts(segments: Sequence[TextSegment]) -> list[float]:
    ends = (".", ":", ";", "!", "?")
    return [
        each.base
        for above, each in zip([None, *segments], segments, strict=False)
        if above is None or (each.text.strip()[:1].isupper() and above.text.rstrip().endswith(ends))
    ]


def _has_near(places: Sequence[float], place: float, within: float) -> bool:
    index = bisect_left(places, place - within)
    return index < len(places) and places[index] <= place + within


def _running(segments: Sequence[TextSegment]) -> int:
    """Count the lines that continue the sentence, or the code, of the line above."""
    count = 0
    for above, each in itertools.pairwise(segments):
        continues = each.text.lstrip()[:1].islower() and above.text.rstrip()[-1:] not in ".:;!?"
        count += continues or (above.code and each.code)
    return count


def _words(segments: Sequence[TextSegment]) -> float:
    """Return the average number of words per line, ignoring words without letters."""
    words = sum(any(map(str.isalpha, word)) for each in segments for word in each.text.split())
    return words / max(1, len(segments))


def _length(segments: Sequence[TextSegment]) -> int:
    return sum(len(each.text) for each in segments)


def _free(group: Sequence[TextSegment], beside: Sequence[TextSegment]) -> float:
    if group[0].x0 < beside[0].x0:
        return min(each.x0 for each in beside) - max(each.x1 for each in group)
    return min(each.x0 for each in group) - max(each.x1 for each in beside)


# ---- where an aside is read -----------------------------------------------------------------------------------------

_ENDS = (".", ":", ";", "!", "?", ".)", ".”", '."')


def insert_asides(elements: list[Line | Table], asides: Sequence[Aside]) -> None:
    """Insert asides between two paragraphs of the running text, in place: below their top, else above it."""
    for aside in reversed(asides):
        place = next((index for index, each in enumerate(elements) if _top(each) >= aside.top), len(elements))
        below = (index for index in range(place, len(elements)) if _is_between(elements, index))
        above = (index for index in range(place - 1, -1, -1) if _is_between(elements, index))
        best = place if aside.share == 0 and _is_marked(elements, place) else next(below, None)
        if best is None:
            ended = not elements or _is_ended(elements[-1])
            best = len(elements) if ended else next(above, 0)
        elements[best:best] = aside.lines


def _is_marked(elements: Sequence[object], index: int) -> bool:
    """Return whether a line begins with a number, as a section does: a margin note at this height names it."""
    line = elements[index] if index < len(elements) else None
    return isinstance(line, Line) and line.text[:1].isdigit()


def _top(element: object) -> float:
    if isinstance(element, Line):
        return element.y0
    lines: Sequence[Line] = getattr(element, "lines", ())
    return min((line.y0 for line in lines), default=0.0)


def _is_ended(element: object) -> bool:
    return not isinstance(element, Line) or element.aside != 0 or element.text.endswith(_ENDS)


def _is_between(elements: Sequence[object], index: int) -> bool:
    """Return whether a paragraph may begin here: after an end, or with another font size."""
    here, above = elements[index], elements[index - 1] if index else None
    if above is None or not isinstance(here, Line) or not isinstance(above, Line):
        return above is not None or _begins(here)
    if here.aside or above.aside:
        return here.aside != above.aside
    if abs(here.y0 - above.y0) < 0.4 * here.size:
        return False
    if here.code and above.code:
        return False
    return above.style[0] != here.style[0] or (_begins(here) and _is_ended(above))


def _begins(element: object) -> bool:
    return not isinstance(element, Line) or not element.text[:1].islower()


_SMALLER = 0.9
"""Maximum font size of a note that is not bold, as a factor of that of the running text."""
_FREE = 4.0
"""Minimum distance in points between the running text and its margin notes."""
_MOST_BESIDE = 0.3
"""Maximum share of a page's letters in its margin: a column has more."""
_WIDEST = 0.33
"""Maximum width of a note as a share of the running text's width."""
_TITLES = 2
"""Minimum number of titles in the margin of a page: a single one is the name of a row."""
_LINES = 8
"""Maximum number of lines of a note."""
_WORDS = 3
"""Number of words from which a piece of text is running text."""
_LINE = 6
"""Number of words from which it is a whole line: cells next to the name of their row have fewer."""


def margin_notes(items: Sequence[TextItem]) -> list[Aside]:
    """Find the notes and titles in the margins of a page, from the top; `items` are those outside of ruled tables."""
    if not _may_have_notes(items):
        return []
    segments = segments_of([item for item in items if not is_rotated(item)])
    sizes = Counter[tuple[float, bool]]()
    for segment in segments:
        sizes[segment.size, is_heavy(segment.items[0])] += len(segment.text)
    if not sizes:
        return []
    size, bold = sizes.most_common(1)[0][0]
    apart = [each for each in segments if each.size <= _SMALLER * size or (is_heavy(each.items[0]) and not bold)]
    own = set(map(id, apart))
    text = [each for each in segments if id(each) not in own and len(each.text.split()) >= _WORDS]
    if not text:
        return []
    left, right = min(each.x0 for each in text), max(each.x1 for each in text)
    first, last = text[0].base - size, max(each.base for each in text) + size
    inside = [each for each in apart if first < each.base < last]
    found: list[Aside] = []
    for side in (
        [each for each in inside if each.x1 <= left - _FREE],
        [each for each in inside if each.x0 >= right + _FREE],
    ):
        letters = sum(len(each.text) for each in side)
        wide = max((each.x1 for each in side), default=0.0) - min((each.x0 for each in side), default=0.0)
        if letters <= _MOST_BESIDE * sizes.total() and wide <= _WIDEST * (right - left):
            notes = [_aside(group, text, size) for group in groups_of(side) if _is_note(group, text)]
            found += notes if len(notes) >= _TITLES else [note for note in notes if not note.is_title]
    return sorted(found, key=lambda each: each.top)


def _may_have_notes(items: Sequence[TextItem]) -> bool:
    """Check quickly whether something is next to the lines in the most frequent font size."""
    sizes = Counter[float]()
    for item in items:
        sizes[size_of(item)] += len(item.text)
    size = sizes.most_common(1)[0][0] if sizes else 0.0
    lines = [item for item in items if size_of(item) == size and item.text.count(" ") >= _WORDS]
    if not lines:
        return bool(items)
    left, right = min(item.x for item in lines), max(item.x + item.width for item in lines)
    return any(item.x + item.width <= left - _FREE or item.x >= right + _FREE for item in items)


def _is_note(group: Sequence[TextSegment], text: Sequence[TextSegment]) -> bool:
    """Return whether a group is a note, not line numbers or row names: it has words, next to a line of text."""
    words = " ".join(each.text for each in group)
    if is_figures(words) or not any(map(str.isalpha, words)) or len({round(each.base) for each in group}) > _LINES:
        return False
    top, foot = group[0].base - 2 * group[0].size, group[-1].base + 2 * group[0].size
    return any(top <= each.base <= foot and len(each.text.split()) >= _LINE for each in text)


def _aside(group: Sequence[TextSegment], text: Sequence[TextSegment], size: float) -> Aside:
    """Make an aside from a note; its top is that of the line of text with the same baseline, if there is one."""
    near = [each.top for each in text if abs(each.base - group[0].base) <= 0.5 * size]
    items = [item for each in group for item in each.items]
    return Aside(items, min([each.top for each in group] + near), True, 0.0, is_title=is_heavy(group[0].items[0]))
