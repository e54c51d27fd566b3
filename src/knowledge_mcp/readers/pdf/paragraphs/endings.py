"""Where paragraphs end: the line pitch and column edges of a document, and how its lines are joined."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from knowledge_mcp.language.openings import opening_of
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.lines import ends_sentence
from knowledge_mcp.readers.shared.layout import Line, PageLayout

_STEP, _MARKED_STEP = 1.28, 1.5
"""Maximum step to the next line of a paragraph as a factor of the line pitch: a mark in larger print moves the first
line of an item up."""
_FOOT = 0.6
"""Share of a page's height below which its last line is that of a full page: figures and notes may be below it."""
_LABEL = 20.0
"""Maximum width of a title or label above text in other print, as a factor of the font size: about forty letters."""
_OF_MARK = 2.5
"""Maximum difference in points between the sizes of an item's first line and the next: it may state that of its mark.
"""
INDENT = 4.0
"""Maximum indent of the first line of a paragraph, as a factor of the font size."""
SAME_INDENT = 5.0
"""Maximum distance in points between the markers of items of one depth."""
_FEWEST_STEPS = 3
"""Minimum number of steps that show the line pitch of list items."""
_CUT_WORD = re.compile(r"(?P<left>[^\W\d_]+)[-\u00ad\u2010\x02]$")
_ADDRESS = re.compile(r"(?:://|www\.)\S{1,300}\Z")
_TIED = re.compile(r"(?<=\S)[-–—/\u2010]\Z")
_SYMBOL = re.compile(r"[^\W\d_]\S{0,7}\s(?:=|[–—])\s|[^\W\d_AI]\sis\s")
"""The beginning of an entry below a formula: "P = internal pressure", "g — acceleration", "t is the thickness"."""
_WITHOUT_BLANKS = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]{2}")
"""Two letters or signs of Chinese or Japanese, between which lines have no blank; Korean has blanks."""
_NEXT_WORD = re.compile(r"(?P<right>[^\W\d_]+)")
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")


class Vocabulary:
    """The words of a document, to distinguish a hyphen at a word break from one that belongs to the word."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()
        for line in lines:
            self._words.update(word.lower() for word in _WORDS.findall(line.text)[:-1])

    def join(self, text: str, following: str) -> str:
        """Join a line to the text before it.

        A hyphen at the end of the text is removed if the word without it occurs in the document. It is kept if the word
        with it occurs, or if both parts occur as words; otherwise it is removed. Before a digit, and in an address, it
        is kept; before a capital it is kept unless both parts are capitals and only the word without it occurs.
        """
        cut, after = _CUT_WORD.search(text, max(len(text) - 60, 0)), _NEXT_WORD.match(following)
        if cut is not None and after is not None and cut["left"].isupper() and after["right"].isupper():
            whole, parted = (f"{cut['left']}{sign}{after['right']}".lower() for sign in ("", "-"))
            if whole in self._words and parted not in self._words and not _ADDRESS.search(text):
                return text[:-1] + following
        if cut is None or after is None or not after["right"][0].islower():
            joint = (
                "" if _TIED.search(text, max(len(text) - 2, 0)) or _WITHOUT_BLANKS.match(text[-1:] + following) else " "
            )
            return text.removesuffix("\x02") + joint + following
        left, right = cut["left"].lower(), after["right"].lower()
        if _ADDRESS.search(text):
            return text + following
        if left + right not in self._words:
            both = left in self._words and right in self._words
            if f"{left}-{right}" in self._words or both:
                return f"{text[:-1]}-{following}"
        return text[:-1] + following


class Geometry:
    """The line pitch and column edges of a document, to find where a paragraph ends."""

    def __init__(self, pages: Sequence[PageLayout]) -> None:
        steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
        self._right: dict[tuple[int, int], float] = {}
        self._struck = {page.number: page.struck for page in pages if page.struck}
        self._foot = {page.number: _FOOT * page.height for page in pages}
        for page in pages:
            lines = [line for line in page.lines if not line.rotated]
            for line in lines:
                key = (page.number, round(line.x0 / 40))
                self._right[key] = max(self._right.get(key, 0.0), line.x1)
            for one, other in itertools.pairwise(lines):
                step = other.y0 - one.y0
                alike = one.size == other.size and one.block == other.block
                # a line that ends a sentence may end a paragraph too: the space below it is not the line pitch
                if alike and 0.8 * one.size < step < 3 * one.size and not ends_sentence(one.text):
                    steps[one.size][round(step, 1)] += 1
        self._pitch = _usual(steps)
        self._item_pitch = _usual(self._steps_in_items(pages))

    def _steps_in_items(self, pages: Sequence[PageLayout]) -> Mapping[float, Counter[float]]:
        """Count the steps from a full line of a list item to its next line, by font size: lists may have wider ones."""
        steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
        for one, other in itertools.chain.from_iterable(itertools.pairwise(page.lines) for page in pages):
            step = other.y0 - one.y0
            alike = one.size == other.size and one.block == other.block and not one.rotated
            hangs = 3 < other.x0 - one.x0 < INDENT * one.size and one.size < step < 3 * one.size
            goes_on = not self._has_room(one, other) and not ends_sentence(one.text)
            if alike and hangs and goes_on and _is_item(one, other):
                steps[one.size][round(step)] += 1
        return {size: counts for size, counts in steps.items() if counts.total() >= _FEWEST_STEPS}

    def continues(self, previous: Line, line: Line, text: str, kind: BlockKind, hang: float) -> bool:
        """Return whether `line` continues the block that ends with `previous`.

        Args:
            previous: the block's last line.
            line: the next line in reading order.
            text: the block's text so far.
            kind: the kind of the block.
            hang: the left edge of a list item's marker, or of the first line of other blocks.
        """
        if previous.aside != line.aside:
            return False
        hangs = kind is BlockKind.LIST_ITEM and line.x0 > hang + 3 and not ends_sentence(text)
        words = not line.code or (line.text[:1].islower() and not self._has_room(previous, line))
        if previous.code != line.code and not ((hangs and words) or _is_flow(previous, line)):
            return False
        if line.page != previous.page or line.y0 < previous.y0 - previous.size:
            goes_on = _sentence_continues(text, line) or self._runs_on(previous, line, text)
            return goes_on and abs(line.size - previous.size) < 0.6
        if line.is_beside(previous):
            return line.x0 > previous.x0
        step = line.y0 - previous.y0 - self._struck_between(previous, line)
        pitch, most = self._pitch_of(previous), 1.2
        if kind is BlockKind.LIST_ITEM and line.x0 > hang + 3 and not self._has_room(previous, line):
            pitch = max(pitch, self._item_pitch.get(line.size, 0.0))
            most = _OF_MARK if previous.x0 == hang else most
        if previous.code != line.code:  # monospaced fonts are set smaller
            pitch, most = max(pitch, self._pitch_of(line)), 2.0
        marked = hangs and line.text[:1].islower() and previous.x0 == hang and self.is_full(previous, line)
        most_step = _MARKED_STEP if marked else _STEP
        if step > most_step * pitch or line.x0 > previous.x1:
            return False
        if abs(line.size - previous.size) > most or (line.bold != previous.bold and self._is_title(previous, line)):
            return False
        return not self._paragraph_ends(previous, line, text, kind, hang)

    def _is_title(self, line: Line, following: Line) -> bool:
        """Return whether a line in other print than the next is a title or a label, and no part of its paragraph."""
        is_label = line.x1 - line.x0 < _LABEL * line.size or not any(map(str.isalnum, following.text))
        return self._is_short(line) and (is_label or self._has_room(line, following))

    def _runs_on(self, previous: Line, line: Line, text: str) -> bool:
        """Return whether a sentence goes on on the next page, with a name or acronym: its last line there is full."""
        alike = line.bold == previous.bold and abs(line.x0 - previous.x0) < SAME_INDENT
        ended = ends_sentence(text) or not text[-1:].isalpha()
        turned = line.page == previous.page + 1 and previous.y1 > self._foot[previous.page]
        return turned and alike and not ended and opening_of(line.text) is None and self.is_full(previous, line)

    def _pitch_of(self, line: Line) -> float:
        return self._pitch.get(line.size, 1.25 * line.size)

    def _struck_between(self, previous: Line, line: Line) -> float:
        """Return the height of the lines that were struck out between two lines of a column, in points."""
        left, right = min(previous.x0, line.x0), max(previous.x1, line.x1)
        rows = {
            round(box[1] / line.size)
            for box in self._struck.get(line.page, ())
            if previous.y0 < box[1] < line.y0 and box[0] < right and box[2] > left
        }
        return len(rows) * self._pitch_of(previous)

    def _paragraph_ends(self, previous: Line, line: Line, text: str, kind: BlockKind, hang: float) -> bool:
        ended = ends_sentence(text)
        if kind is BlockKind.LIST_ITEM and line.x0 < hang - 3 <= previous.x0:
            # otherwise only its first line is indented
            return ended or (self._is_short(previous) and self._has_room(previous, line))
        if _SYMBOL.match(line.text) and not line.code and self._has_room(previous, line):
            return True
        if ended and self._is_short(previous) and (line.text[:1].isupper() or not line.text[:1].isalpha()):
            return True
        indented = line.x0 - previous.x0 > 0.8 * line.size
        return ended and indented and kind is not BlockKind.LIST_ITEM and abs(previous.x0 - hang) > 1

    def _is_short(self, line: Line) -> bool:
        right = self._right.get((line.page, round(line.x0 / 40)), line.x1)
        return line.x1 < right - 0.12 * max(right - line.x0, 1.0)

    def is_full(self, line: Line, following: Line) -> bool:
        """Return whether a line is full, so that the first word of the next line did not fit."""
        return not self._is_short(line) and not self._has_room(line, following)

    def _has_room(self, line: Line, following: Line) -> bool:
        """Return whether the first word of the next line would have fitted: the line break was intended."""
        right = self._right.get((line.page, round(line.x0 / 40)), line.x1)
        word = len(following.text.split()[0]) + 1
        return right - line.x1 > word * (following.x1 - following.x0) / len(following.text)


def _usual(steps: Mapping[float, Counter[float]]) -> dict[float, float]:
    """Return the most frequent step of each font size, the smallest of several."""
    return {size: min(counts, key=lambda step: (-counts[step], step)) for size, counts in steps.items()}


def _is_item(line: Line, following: Line) -> bool:
    """Return whether a line begins a list item and the next line does not."""
    opening = opening_of(line.text)
    return opening is not None and opening.kind is BlockKind.LIST_ITEM and opening_of(following.text) is None


def _is_flow(previous: Line, line: Line) -> bool:
    """Return whether code at a line's edge is a word of running text and not a block of code."""
    on = line.x0 <= previous.x0 + 2 or previous.text.endswith("-")
    return line.text[:1].islower() and not ends_sentence(previous.text) and on


def _sentence_continues(text: str, line: Line) -> bool:
    if ends_sentence(text) or not text:
        return False
    return line.text[:1].islower() or line.text[:1].isdigit() or text.endswith(("-", ",")) or line.text[:1] in "(§"
