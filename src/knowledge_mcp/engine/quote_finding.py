"""Where in one text the words of a quote stand: equal passages, their longest beginnings, and places that are alike."""

from __future__ import annotations

import bisect
import math
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from knowledge_mcp.engine.quote_matching import follow, whole_span
from knowledge_mcp.engine.quote_words import LINE_END_HYPHEN, Words, plain_letters, read_words
from knowledge_mcp.engine.wanted import still_wanted
from knowledge_mcp.model.document import Span

__all__ = ["Searched", "Sought", "sought"]

_MOST_TRIED = 300
_MARGIN = 300
_LONGEST_LINE = 4_000
_ANCHORS = 16
_OFTEN = 400
_SHORT = 5
_MOST_PLACES = 4_000
_WINDOWS = 5

_BROKEN = re.compile(LINE_END_HYPHEN)
_SPELLED = re.compile(
    "[\u00ad\u00b5\u0130-\u0133\u017f\u01c4-\u01cc\u01f1-\u01f3\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2100-\u214f"
    "\u2160-\u217f\ufb00-\ufb17\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""Characters that keys spell otherwise, or leave out."""


@dataclass(frozen=True, slots=True)
class Sought:
    """Hold what is sought: the words and marks of a quote or of a part of one.

    Attributes:
        text: the whole quote.
        words: of the part; offsets are in `text`.
        real: indexes of those that are words or numbers, not marks; never empty.
    """

    text: str
    words: Words
    real: tuple[int, ...]

    @property
    def quoted(self) -> str:
        """Cut the part out of the quote."""
        return self.between(0, len(self.words))

    def between(self, first: int, stop: int) -> str:
        """Return the quoted text of some words and marks, by index; empty where there are none."""
        return self.text[self.words.starts[first] : self.words.ends[stop - 1]] if first < stop else ""

    def pattern(self, first: int = 0, most: int | None = None) -> re.Pattern[str]:
        """Make a pattern of the real words from one on, whatever stands between them; `most` words of them."""
        begin = bisect.bisect_left(self.real, first)
        keys = [self.words.keys[index].lower().lstrip("_.,") for index in self.real[begin:]][:most]
        after = r"(?!\w)" if keys[-1][-1].isascii() else ""
        return re.compile(r"[\W_]*+".join(map(re.escape, keys)) + after)


def sought(text: str, start: int = 0, end: int | None = None) -> Sought | None:
    """Prepare a quote, or the part `text[start:end]` of one; None where there is no word in it."""
    words = read_words(text, start, end, is_quote=True)
    real = tuple(index for index in range(len(words)) if words.is_word(index))
    return Sought(text, words, real) if real else None


class Searched:
    """Search one canonical text for quotes.

    What is searched is a copy in lower case, in which words hyphenated at line ends are whole and ligatures spelled;
    what is compared is the text itself.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._copy = ""
        self._changes: list[int] = []
        self._shifts: list[int] = []

    def equal(self, part: Sought, limit: int = 20) -> list[Span]:
        """List where all words and marks of a quote stand one after the other, but for what print may change."""
        found: list[Span] = []
        for near, end in self._places(part.pattern()):
            if found and near < found[-1].end:
                continue
            words = self.words(near - _MARGIN, end + _MARGIN)
            for begin in _begins(part, 0, words, near):
                reached, span = follow(part.words, 0, words, begin)
                if reached == len(part.words) and span is not None and whole_span(self.text, span) == span:
                    found.append(span)
                    break
            if len(found) >= limit:
                break
        return found

    def longest(self, part: Sought, first: int, seed: int) -> tuple[int, Span | None]:
        """Find the longest run of the quote's words and marks from one on; returns its end, and where it stands.

        Args:
            part: the quote.
            first: index to begin at.
            seed: real words that a run has at least.
        """
        best: tuple[int, Span | None] = (first, None)
        rest = part.text[part.words.starts[first] : part.words.ends[-1]]
        if first > part.real[-1]:
            return best
        for near, _ in self._places(part.pattern(first, seed)):
            words = self.words(near - _MARGIN, near + len(rest) * 5 // 4 + _MARGIN)
            for begin in _begins(part, first, words, near):
                reached, span = follow(part.words, first, words, begin)
                if reached > best[0] and span is not None and whole_span(self.text, span).start == span.start:
                    best = reached, span
        return best

    def words(self, start: int, end: int) -> Words:
        """Read the words of a stretch, made longer to whole lines where lines are not as long as pages."""
        start, end = max(0, start), min(len(self.text), end)
        line = self.text.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1
        stop = self.text.find("\n", end, end + _LONGEST_LINE)
        if line == 0 and start > _LONGEST_LINE:
            line = start - next((n for n in range(100) if self.text[start - n - 1].isspace()), 0)
        return read_words(self.text, line, stop if stop >= 0 else min(len(self.text), end + _LONGEST_LINE))

    def windows(self, part: Sought) -> list[Words]:
        """List the stretches that share most with a quote, the best first: its rare words in about its order."""
        length = part.words.ends[-1] - part.words.starts[0]
        width = max(48, length // 2)
        votes: dict[int, dict[str, float]] = defaultdict(dict)
        for word, offset, weight, places in self._anchors(part):
            for place in places:
                nearest = (place - offset) // width
                for each in (nearest, nearest + 1):
                    votes[each][word] = weight
        slack = _MARGIN + length // 4
        chosen: list[int] = []
        for each in sorted(votes, key=lambda each: (-sum(votes[each].values()), each)):
            if all(abs(each - other) > 1 + slack // width for other in chosen):
                chosen.append(each)
            if len(chosen) == _WINDOWS:
                break
        return [
            self.words(self._original((each - 1) * width) - slack, self._original((each + 1) * width + length) + slack)
            for each in chosen
        ]

    def _anchors(self, part: Sought) -> Iterator[tuple[str, int, float, list[int]]]:
        """Give the longest word of each stretch of a quote, with its offset, its weight and the places where it stands.

        A short word, which stands everywhere, is taken with the next one.
        """
        words, copy = part.words, self._searched()
        begin = words.starts[0]
        step = max(1, -(-(words.ends[-1] - begin) // _ANCHORS))
        longest: dict[int, int] = {}
        for index in part.real:
            held = longest.setdefault((words.starts[index] - begin) // step, index)
            if len(words.keys[index]) > len(words.keys[held]):
                longest[(words.starts[index] - begin) // step] = index
        offsets: dict[str, int] = {}
        for index in longest.values():
            word = words.keys[index].lower()
            if len(word) < _SHORT and index + 1 in part.real:
                word = f"{word} {words.keys[index + 1].lower()}"
            offsets.setdefault(word, words.starts[index] - begin)
        counts = {word: copy.count(word) for word in offsets}
        there = sorted((word for word in offsets if counts[word]), key=lambda word: (counts[word], word))
        for rank, word in enumerate(there):
            if counts[word] <= _OFTEN or rank < 3:
                matches = islice(re.finditer(re.escape(word), copy), _MOST_PLACES)
                weight = 1.0 / (1.0 + math.log2(counts[word]))
                yield word, offsets[word], weight, [match.start() for match in matches]

    def _places(self, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
        """List where a pattern is found, also where two places share words."""
        copy, tried = self._searched(), 0
        match = pattern.search(copy)
        while match is not None and tried < _MOST_TRIED:
            still_wanted()
            if match.start() == 0 or not _goes_on(copy, match.start()):
                tried += 1
                yield self._original(match.start()), self._original(match.end())
            match = pattern.search(copy, match.start() + 1)

    def _searched(self) -> str:
        if self._copy or not self.text:
            return self._copy
        pieces: list[str] = []
        done, length = 0, 0
        changes = [(match.start(), match.end(), "") for match in _BROKEN.finditer(self.text)]
        if not self.text.isascii():
            single = [(m.start(), m.end(), plain_letters(m.group()).lower()) for m in _SPELLED.finditer(self.text)]
            changes = sorted(changes + single, key=lambda change: (change[0], -change[1]))
        for start, end, spelled in changes:
            if start < done:
                continue
            pieces += (self.text[done:start], spelled)
            length += start - done + len(spelled)
            done = end
            self._changes.append(length)
            self._shifts.append(done - length)
        pieces.append(self.text[done:])
        self._copy = "".join(pieces).lower()
        return self._copy

    def _original(self, place: int) -> int:
        """Map a place of the searched copy to the text, exactly but inside of what is spelled otherwise."""
        index = bisect.bisect_right(self._changes, place) - 1
        return place + (self._shifts[index] if index >= 0 else 0)


def _goes_on(copy: str, place: int) -> bool:
    """Tell whether a word of plain letters has begun before this place; a digit may be a note's mark, not a part."""
    return copy[place].isascii() and copy[place - 1].isalpha()


def _begins(part: Sought, first: int, words: Words, near: int) -> list[int]:
    """List where a quote may begin whose first real word stands at an offset, the likeliest first.

    As many marks before the word as the quote has, then more, for some may be left out, then fewer.
    """
    word = words.holding(near)
    marks = part.real[bisect.bisect_left(part.real, first)] - first
    begin = word - marks
    order = [*range(begin, begin - (6 if marks else 0) - 1, -1), *range(begin + 1, word + 1)]
    return [each for each in order if each >= 0]
