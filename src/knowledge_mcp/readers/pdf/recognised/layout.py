"""Turns recognised words and rules into lines and tables in reading order, as a text layer; runs in the child."""

from __future__ import annotations

import itertools
import json
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.pdf.cells import RuledTable
from knowledge_mcp.readers.pdf.lines import mark_underlined
from knowledge_mcp.readers.pdf.recognised.letters import capitals_in, corrected, misread
from knowledge_mcp.readers.pdf.recognised.tables import graphics_of, take_tables
from knowledge_mcp.readers.pdf.recognised.words import Turn, Word, line_of, size_of, stroke_of
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, lines_of

_Line = list[Word]

_WIDE, _WIDER = 1.0, 2.5
"""Minimum width of a gutter: as factors of the height of the words next to it, and of the gaps between words."""
_FOLLOWING = 2.6
"""Maximum distance between consecutive lines, as a factor of their height."""
_LEAST_WORDS = 4.0
_RAGGED = 0.4
_CONTINUING = 0.5
_DEEPEST = 3
_ENDED = re.compile(r"[.:;!?][)\]\"”’]*$")


def order_by_column(lines: Sequence[_Line], depth: int = _DEEPEST) -> Iterator[_Line]:
    """Yield lines in reading order: those of a left column before those of the column to its right.

    Args:
        lines: lines of one page, in the engine's order; a word is its text, confidence, box in pixels, line and block.
        depth: how many more times the part on the right may be split.

    Words are unchanged except for their block: a column that is split off gets its own, between those of others.
    """
    at = 0
    while at < len(lines):
        run = _run(lines[at:])
        if run is None:
            yield lines[at]
            at += 1
            continue
        count, edge = run
        left = [[word for word in line if word[4] <= edge] for line in lines[at : at + count]]
        right = [[word for word in line if word[4] > edge] for line in lines[at : at + count]]
        for line in _rest(lines[at + count - 1 :], left, right):
            (left if line[0][2] < edge else right).append(line)
            count += 1
        block = lines[at][0][7]
        yield from _in_block(left, block)
        beside = list(_in_block(right, block + 0.5 ** (1 + _DEEPEST - depth)))
        yield from order_by_column(beside, depth - 1) if depth > 1 else beside
        at += count


def _in_block(lines: Sequence[_Line], block: float) -> Iterator[_Line]:
    for line in lines:
        yield [[*word[:7], block, *word[8:]] for word in line]


def _run(lines: Sequence[_Line]) -> tuple[int, float] | None:
    """Find a gutter that begins in the first line: the longest run of lines that it separates, and its left edge."""
    best: tuple[int, float] | None = None
    for start, end in _gaps(lines[0]):
        left, right, count = start, end, 1
        for above, line in itertools.pairwise(lines):
            shared = [(max(left, one), min(right, other)) for one, other in _gaps(line)]
            within = max(shared, key=lambda span: span[1] - span[0], default=(0.0, 0.0))
            if not _follows(above, line) or within[1] - within[0] < _WIDE * _height(line):
                break
            left, right = within
            count += 1
        if count > max(1, best[0] if best else 0) and _is_gutter(lines[:count], left, right):
            best = count, left
    return best


def _rest(lines: Sequence[_Line], left: Sequence[_Line], right: Sequence[_Line]) -> list[_Line]:
    """List the lines, from the second on, that continue only the longer of two columns."""
    near, far = (min(line[0][2] for line in side) for side in (left, right))
    found: list[_Line] = []
    for above, line in itertools.pairwise(lines):
        slack = _height(line)
        within = (near - slack <= line[0][2] and line[-1][4] < far) or far - slack <= line[0][2]
        if not within or not _follows(above, line):
            break
        found.append(line)
    return found


def _gaps(line: _Line) -> list[tuple[float, float]]:
    """List the gaps between words of a line that could be gutters."""
    height = _height(line)
    gaps = [(float(one[4]), float(other[2])) for one, other in itertools.pairwise(line)]
    usual = statistics.median_low([end - start for start, end in gaps]) if gaps else 0.0
    return [(start, end) for start, end in gaps if end - start >= max(_WIDE * height, _WIDER * usual)]


def _height(line: _Line) -> float:
    return float(statistics.median(word[5] - word[3] for word in line))


def _follows(above: _Line, line: _Line) -> bool:
    step = statistics.median(word[5] for word in line) - statistics.median(word[5] for word in above)
    return 0 < step < _FOLLOWING * max(_height(above), _height(line))


def _is_gutter(lines: Sequence[_Line], start: float, end: float) -> bool:
    """Return whether prose is on both sides of a strip."""
    sides = [[[word for word in line if word[4] <= start] for line in lines]]
    sides.append([[word for word in line if word[2] >= end] for line in lines])
    if not all(line for side in sides for line in side):  # words overlap or are out of order
        return False
    joints = [_continues(above, line) for side in sides for above, line in itertools.pairwise(side)]
    return all(map(_is_prose, sides)) and sum(joints) >= _CONTINUING * len(joints)


def _is_prose(side: Sequence[_Line]) -> bool:
    """Return whether lines have several words each and similar right edges; the last of several may be short."""
    if statistics.fmean(map(len, side)) < _LEAST_WORDS or any(line[-1][0].endswith(":") for line in side):
        return False
    left, right = min(line[0][2] for line in side), max(line[-1][4] for line in side)
    return all(right - line[-1][4] <= _RAGGED * (right - left) for line in (side[:-1] if len(side) > 2 else side))


def _continues(above: _Line, line: _Line) -> bool:
    """Return whether a sentence continues from one line into the next."""
    return not _ENDED.search(above[-1][0]) and (above[-1][0].endswith("-") or line[0][0][:1].islower())


_SAME_SIZE = 0.13
"""Share by which the measured font size of a line may differ from that of the running text."""


@dataclass(frozen=True, slots=True)
class Recognised:
    """One recognised page as a layout, with the reason for recognition and the mean confidence of its words."""

    layout: PageLayout
    reason: str
    confidence: float


def load_recognised(path: str) -> dict[int, Recognised]:
    """Read the file that `recognition.recognise` wrote; return pages by number."""
    strokes: list[tuple[float, int]] = []
    capitals = Counter[str]()
    with Path(path).open(encoding="utf-8") as lines:  # read twice: a long scan is never held in memory
        for text in lines:
            words: list[Word] = json.loads(text)["words"]
            strokes += _strokes(words)
            capitals.update(itertools.chain.from_iterable(capitals_in(word[0]) for word in words))
        usual, spellings = _usual(strokes), misread(capitals)
        lines.seek(0)
        pages = {page.layout.number: page for page in (_page(text, usual, spellings) for text in lines)}
    _settle_sizes([page.layout for page in pages.values()])
    return pages


def _strokes(words: Sequence[Word]) -> Iterator[tuple[float, int]]:
    """Yield the stroke width of each line, and its number of letters."""
    for line in _lines(words):
        if stroke := stroke_of(line, size_of(line)):
            yield stroke, sum(len(word[0]) for word in line)


def _page(text: str, usual: float, spellings: Mapping[str, str]) -> Recognised:
    fields: dict[str, Any] = json.loads(text)
    for word in fields["words"]:
        word[0] = corrected(word[0], spellings)
    number, scale = fields["page"], fields["scale"]
    width, height = fields["size"]
    layout = PageLayout(number, width * scale, height * scale)
    turn = Turn(width, height, *fields.get("turned", ()))
    graphics = graphics_of(fields.get("rules", ()), scale)
    tables, words = take_tables(fields["words"], graphics, number, scale, usual)
    layout.elements += [line_of(each, number, scale, turn, usual) for each in order_by_column(list(_lines(words)))]
    mark_underlined(layout.lines, graphics)
    for line in (line for table in tables for element in table.elements for line in lines_of(element)):
        line.shown = turn.shown(line, scale)
    for table in sorted(tables, key=lambda table: table.top):
        _insert(layout.elements, table)
    confidence = statistics.fmean(word[1] for word in fields["words"]) if fields["words"] else 0.0
    return Recognised(layout, fields["reason"], confidence)


def _insert(elements: list[Line | Table], table: RuledTable) -> None:
    """Insert a table before the first line of its column below it, or after the last one above it."""
    left, top, right, _ = table.box
    beside = [
        (place, line)
        for place, element in enumerate(elements)
        for line in lines_of(element)[:1]
        if line.x0 < right and line.x1 > left
    ]
    below = next((place for place, line in beside if line.y0 > top), None)
    above = max((place + 1 for place, line in beside if line.y0 <= top), default=len(elements))
    place = above if below is None else below
    elements[place:place] = table.elements


def _lines(words: Sequence[Word]) -> Iterator[_Line]:
    for _, line in itertools.groupby(words, key=lambda word: word[6]):
        yield list(line)


def _settle_sizes(pages: Sequence[PageLayout]) -> None:
    """Set sizes close to that of the running text to exactly that size, and round the others to half points."""
    lines = [line for page in pages for line in page.lines]
    if not lines:
        return
    usual = _usual_size(lines)
    for page in pages:
        own = _usual_size(page.lines) if page.lines else usual
        own = usual if abs(own - usual) <= _SAME_SIZE * usual else own
        for line in page.lines:
            line.size = own if abs(line.size - own) <= _SAME_SIZE * own else round(line.size * 2) / 2


def _usual_size(lines: Sequence[Line]) -> float:
    return _usual([(line.size, len(line.text)) for line in lines])


def _usual(measures: Sequence[tuple[float, int]]) -> float:
    """Return the weighted median of the measures; 0 if there are none."""
    weighed = sorted(measures)
    half, seen = sum(weight for _, weight in weighed) / 2, 0
    for measure, weight in weighed:
        seen += weight
        if seen >= half:
            return measure
    return 0.0
