"""Finds a quote in one text: equal passages, the longest equal beginnings, and similar passages."""

from __future__ import annotations

import bisect
import math
import re
from array import array
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from knowledge_mcp.language.printed import RAISED, RAISED_LETTERS
from knowledge_mcp.language.quote_words import BULLET, LINE_HYPHEN, Words, plain_letters, read_words
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import Difference
from knowledge_mcp.support.checkpoints import checkpoint
from knowledge_mcp.support.matching import BoundedMatcher

SENTENCE_END = frozenset(".!?:;")
"""Signs that end a sentence, or the words before a list."""
_SIGNS = frozenset("-+<>~$\u00a3\u00a5\u20ac\u00b1\u2010\u2011\u2012\u2013\u2014\u2212\u2213\u2248\u2260\u2264\u2265")
_BULLETS = frozenset("-*\u2022\u2023\u25e6\u25aa\u25cf")
_PLUS_OR_MINUS = frozenset("-+\u00b1\u2212\u2213")
_BEFORE_A_SIGN = frozenset(" \t([{=*/,")
_CLOSED = frozenset(")]}")
_UNITS = frozenset("%\u2030\u00b0\u2032\u2033")
_LETTERS_BEFORE = re.compile(r"(?<![^\W\d_])[^\W\d_]+\Z")
_BROKEN_BEFORE = re.compile(r"[^\W\d_]+[-\u2010\u2011\u00ad][ \t]*\n\s*\Z")
_BROKEN_AFTER = re.compile(r"[-\u2010\u2011\u00ad][ \t]*\n\s*[^\W\d_]+")
_Run = tuple[int, int, int]
"""The start of an equal sequence in the quote and in the text, and its length."""
_MOST_OF_A_WORD = 80
_FREE_GAP = 4


@dataclass(frozen=True, slots=True)
class QuoteMatch:
    """How similar a passage is to a quote: its span, similarity 0..1, differences, and number of equal words."""

    span: Span
    similarity: float
    differences: tuple[Difference, ...]
    equal_words: int


def follow(
    quote: Words, first: int, text: Words, begin: int, stop: int | None = None, end: int | None = None
) -> tuple[int, Span | None]:
    """Follow a quote through a text as long as they are equal; return its end in the quote, and the span.

    Optional marks may be missing on either side; a word broken at a line's end equals the whole word.
    """
    stop, end = len(quote) if stop is None else stop, len(text) if end is None else end
    start = last = -1
    i, j = first, begin
    while i < stop:
        if j < end and _are_same(quote, i, text, j):
            reached = i + 1, j + 1
        elif start >= 0 and j < end and j in text.optional:
            j += 1
            continue
        elif i in quote.optional:
            i += 1
            continue
        elif j < end and (joined := _pass_broken_word(quote, i, stop, text, j, end)) is not None:
            reached = joined
        else:
            break
        start = j if start < 0 else start
        i, j = reached
        last = j - 1
    return i, Span(text.starts[start], text.ends[last]) if start >= 0 else None


def _are_same(quote: Words, i: int, text: Words, j: int) -> bool:
    quoted, printed = quote.keys[i], text.keys[j]
    if quoted == printed:
        return i not in quote.units or quote.units[i] == text.units.get(j, quote.units[i])
    return (quoted == BULLET and printed in _BULLETS) or (printed == BULLET and quoted in _BULLETS)


def _pass_broken_word(quote: Words, i: int, stop: int, text: Words, j: int, end: int) -> tuple[int, int] | None:
    """Match one word that is broken at a line's end on one or both sides, in different places, or has a raised mark."""
    quoted, printed = quote.keys[i], text.keys[j]
    if quoted == printed:
        return None
    i, j = i + 1, j + 1
    while quoted != printed:
        if len(quoted) < len(printed) and i in quote.breaks and i + 1 < stop:
            quoted += quote.keys[i + 1]
            i += 2
        elif len(printed) < len(quoted) and j in text.breaks and j + 1 < end:
            printed += text.keys[j + 1]
            j += 2
        elif len(printed) < len(quoted) and j < end and j in text.optional and text.keys[j].isalpha():
            printed += text.keys[j]
            j += 1
        else:
            return None
    return i, j


def whole_span(text: str, span: Span) -> Span:
    """Extend a span that cuts a value or a word: by its sign, its `%` or `°`, or the rest of a broken word."""
    start, end = span.start, span.end
    if _is_signed(text, start):
        start -= 1
    else:
        broken = (
            _BROKEN_BEFORE if text[start].isalpha() else _LETTERS_BEFORE if LINE_HYPHEN.match(text, start) else None
        )
        if broken is not None and (match := broken.search(text, max(0, start - _MOST_OF_A_WORD), start)):
            start = match.start()
    if text[end - 1].isdigit() and text[end : end + 1] in _UNITS:
        end += 1
    elif text[end - 1].isalpha() and (match := _BROKEN_AFTER.match(text, end, end + _MOST_OF_A_WORD)):
        end = match.end()
    return Span(start, end)


def _is_signed(text: str, start: int) -> bool:
    """Return whether a number or variable has a sign directly before it: not `5` in `3-5`, nor `a` in `b-a`."""
    before = text[max(0, start - 2) : start]
    if text[start].isdigit():
        return before[-1:] in _SIGNS and not (before[:-1].isalnum() or before[:-1] in _CLOSED)
    return len(before) == 2 and before[1] in _PLUS_OR_MINUS and before[0] in _BEFORE_A_SIGN


def alike(source: str, quote: Words, text: str, words: Words) -> QuoteMatch | None:
    """Find the passage most similar to a quote in a part of the text; None if they share nothing.

    Args:
        source: the text that contains the quote's tokens.
        quote: the quote's tokens.
        text: the canonical text.
        words: some of its tokens.
    """
    here = [index for index in range(len(quote)) if index not in quote.optional]
    there = [index for index in range(len(words)) if index not in words.optional]
    printed_keys = [words.units.get(index, words.keys[index]) for index in there]
    quoted_keys = [quote.units.get(index, quote.keys[index]) for index in here]
    blocks = _connect_runs(_equal_runs(quoted_keys, printed_keys))
    if not blocks:
        return None
    begin = _widen(words, there, blocks[0][1], blocks[0][0], -1)
    end = _widen(words, there, blocks[-1][1] + blocks[-1][2], len(here) - blocks[-1][0] - blocks[-1][2], 1)
    equal = sum(size for _, _, size in blocks)
    equal_words = sum(quote.is_word(here[i + n]) for i, _, size in blocks for n in range(size))
    differences: list[Difference] = []
    i, j = 0, begin
    for quoted, printed, size in (*blocks, (len(here), end, 0)):
        if i < quoted or j < printed:
            between = _difference(source, quote, here[i:quoted], text, words, there[j:printed])
            differences.extend(between)
            equal += 0 if between else quoted - i
        i, j = quoted + size, printed + size
    span = Span(words.starts[there[begin]], words.ends[there[end - 1]])
    whole = whole_span(text, span)
    if whole.start < span.start and _are_same(quote, 0, words, there[begin]):
        printed = text[whole.start : words.ends[there[begin]]]
        differences.insert(0, Difference(source[quote.starts[0] : quote.ends[0]], " ".join(printed.split())))
    if whole.end > span.end and quote.keys[-1] == words.keys[there[end - 1]]:
        printed = text[words.starts[there[end - 1]] : whole.end]
        differences.append(Difference(source[quote.starts[-1] : quote.ends[-1]], " ".join(printed.split())))
    similarity = min(1.0, 2.0 * equal / (len(here) + end - begin))
    if differences:
        similarity = min(similarity, 1.0 - 1.0 / (1 + len(here)))
    return QuoteMatch(whole, similarity, tuple(differences), equal_words)


def _equal_runs(quoted: list[str], printed: list[str]) -> list[_Run]:
    """List equal sequences: the longest one, and others before and after it, the nearest ones first."""
    longest = BoundedMatcher(printed, quoted).find_longest_match()
    if not longest.size:
        return []
    i, j, size = longest.b, longest.a, longest.size
    before = _runs(quoted[:i][::-1], printed[max(0, j - _reach(i)) : j][::-1])
    stop = j + size + _reach(len(quoted) - i - size)
    after = _runs(quoted[i + size :], printed[j + size : stop])
    return [
        *((i - one - count, j - other - count, count) for one, other, count in reversed(before)),
        (i, j, size),
        *((i + size + one, j + size + other, count) for one, other, count in after),
    ]


def _runs(quoted: list[str], printed: list[str]) -> list[_Run]:
    matcher = BoundedMatcher(printed, quoted)
    return [(block.b, block.a, block.size) for block in matcher.get_matching_blocks() if block.size]


def _reach(count: int) -> int:
    """Return how many tokens of the text may correspond to this many of the quote."""
    return 2 * count + 20 if count else 0


def _connect_runs(blocks: list[_Run]) -> list[_Run]:
    """Keep the longest equal sequence, and its neighbours that are not too far away for their length."""
    if not blocks:
        return []
    longest = max(range(len(blocks)), key=lambda index: blocks[index][2])
    connected = [blocks[longest]]
    for quoted, printed, size in blocks[longest + 1 :]:
        ahead = connected[-1]
        if (printed - ahead[1] - ahead[2]) - (quoted - ahead[0] - ahead[2]) > _FREE_GAP + 2 * size:
            break
        connected.append((quoted, printed, size))
    for quoted, printed, size in reversed(blocks[:longest]):
        if (connected[0][1] - printed - size) - (connected[0][0] - quoted - size) > _FREE_GAP + 2 * size:
            break
        connected.insert(0, (quoted, printed, size))
    return connected


def _widen(words: Words, there: list[int], place: int, count: int, step: int) -> int:
    """Extend a position by as many tokens of the text as the quote has left, but not into another sentence."""
    for _ in range(count):
        following = place - 1 if step < 0 else place
        if not 0 <= following < len(there):
            break
        mark = words.keys[there[following]]
        if step < 0 and mark in SENTENCE_END:
            break
        place += step
        if mark in SENTENCE_END:
            break
    return place


def _difference(
    source: str, quote: Words, here: list[int], text: str, words: Words, there: list[int]
) -> list[Difference]:
    if here and there:
        reached, _ = follow(quote, here[0], words, there[0], here[-1] + 1, there[-1] + 1)
        if reached > here[-1] and follow(words, there[0], quote, here[0], there[-1] + 1, here[-1] + 1)[0] > there[-1]:
            return []
    quoted = source[quote.starts[here[0]] : quote.ends[here[-1]]] if here else ""
    printed = text[words.starts[there[0]] : words.ends[there[-1]]] if there else ""
    return [Difference(" ".join(quoted.split()), " ".join(printed.split()))]


_MOST_TRIED = 300
_MOST_FOLLOWED = 2000
"""Maximum places of one text from which parts of a quote are followed, a thousandth of a second each. A quote of very
common words has millions, and its parts are not distinctive.
"""
_MARGIN, _FIRST_LOOK = 300, 400
_LONGEST_LINE = 4_000
_ANCHORS = 16
_OFTEN = 400
_SHORT = 5
_MOST_PLACES = 4_000
_WINDOWS = 5

_MARKS = RAISED + RAISED_LETTERS
_GAP = re.compile(rf"[\W_{_MARKS}]+")
_RUN_OF_LETTERS = re.compile(rf"[^\W_{_MARKS}]+")
_LETTERED = re.compile(r"(\d)[a-h]$")
"""A number with a letter, which may be a mark that the text has raised."""
_SPELLED = re.compile(
    "[\u00ad\u00b5\u0130-\u0133\u017f\u01c4-\u01cc\u01f1-\u01f3\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2100-\u214f"
    "\u2160-\u217f\u3300-\u33ff\ufb00-\ufb17\ufb50-\ufdff\ufe70-\ufeff\uff01-\uff5e\U0001d400-\U0001d7ff]"
)
"""Characters that keys replace or leave out."""


@dataclass(frozen=True, slots=True)
class PreparedQuote:
    """The tokens of a quote, or of a part of one, to search for.

    Attributes:
        text: the whole quote.
        words: of the part; offsets are in `text`.
        real: indexes of the tokens that are words or numbers, not marks; never empty.
    """

    text: str
    words: Words
    real: tuple[int, ...]

    @property
    def quoted(self) -> str:
        """The text of the part."""
        return self.between(0, len(self.words))

    def between(self, first: int, stop: int) -> str:
        """Return the quoted text of a range of tokens, by index; empty if the range is empty."""
        return self.text[self.words.starts[first] : self.words.ends[stop - 1]] if first < stop else ""

    def pattern(self, first: int = 0, most: int | None = None) -> re.Pattern[str]:
        """Build a pattern of at most `most` real words, from index `first` on, with anything between them."""
        begin = bisect.bisect_left(self.real, first)
        keys = [self.words.keys[index].lower().lstrip("_.,") for index in self.real[begin:]][:most]
        after = rf"(?![^\W{_MARKS}])" if keys[-1][-1].isascii() else ""
        return re.compile(rf"[\W_{_MARKS}]*+".join(map(re.escape, keys)) + after)


def prepare_quote(text: str, start: int = 0, end: int | None = None) -> PreparedQuote | None:
    """Prepare a quote, or the part `text[start:end]` of one; None if it contains no word."""
    words = read_words(text, start, end, is_quote=True)
    real = tuple(index for index in range(len(words)) if words.is_word(index) and index not in words.optional)
    return PreparedQuote(text, words, real) if real else None


class Searched:
    """Searches one canonical text for quotes.

    The search uses a lower-case copy without hyphenation at line ends and without ligatures; the comparison uses the
    text itself.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._copy = ""
        self._changes: list[int] = []
        self._shifts: list[int] = []
        self._tried = 0
        self._letters = ""
        self._runs = array("Q"), array("Q")

    def equal(self, part: PreparedQuote, limit: int = 20) -> list[Span]:
        """List the places where all tokens of a quote follow each other, apart from typographic differences."""
        found: list[Span] = []
        for near, end in self._whole_places(part):
            if found and near < found[-1].end:
                continue
            for reached, span in self._followed(part, 0, near, end - near):
                if reached == len(part.words) and span is not None and whole_span(self.text, span) == span:
                    found.append(span)
                    break
            if len(found) >= limit:
                break
        if found and all(span.of(self.text) != part.quoted for span in found):
            found += self._exact(part.quoted)  # it may overlap one that is only equal after normalisation
        return found

    def _exact(self, quoted: str) -> list[Span]:
        """Find the first place that equals the quote exactly and does not cut a word."""
        start = self.text.find(quoted)
        while start >= 0:
            span = Span(start, start + len(quoted))
            if whole_span(self.text, span) == span:
                return [span]
            start = self.text.find(quoted, start + 1)
        return []

    def longest(self, part: PreparedQuote, first: int, seed: int) -> tuple[int, Span | None]:
        """Find the longest sequence of the quote's tokens from an index on; return its end, and its span.

        Args:
            part: the quote.
            first: index of the first token.
            seed: minimum number of real words.
        """
        best: tuple[int, Span | None] = (first, None)
        rest = part.text[part.words.starts[first] : part.words.ends[-1]]
        if first > part.real[-1]:
            return best
        for near, _ in self._places(part.pattern(first, seed)):
            self._tried += 1
            if self._tried > _MOST_FOLLOWED:
                break
            for reached, span in self._followed(part, first, near, len(rest) * 5 // 4):
                if reached > best[0] and span is not None and whole_span(self.text, span).start == span.start:
                    best = reached, span
        return best

    def _followed(self, part: PreparedQuote, first: int, near: int, length: int) -> list[tuple[int, Span | None]]:
        """Follow a quote from each place where it may start, as `follow` does; most end after a few tokens."""
        size = min(length, _FIRST_LOOK)
        while True:
            words = self.words(near - _MARGIN, near + size + _MARGIN)
            found = [follow(part.words, first, words, begin) for begin in _begins(part, first, words, near)]
            if size == length or max((span.end for _, span in found if span is not None), default=0) < near + size:
                return found
            size = min(4 * size, length)

    def words(self, start: int, end: int) -> Words:
        """Read the tokens of a part of the text, extended to whole lines unless lines are extremely long."""
        start, end = max(0, start), min(len(self.text), end)
        line = self.text.rfind("\n", max(0, start - _LONGEST_LINE), start) + 1
        stop = self.text.find("\n", end, end + _LONGEST_LINE)
        if line == 0 and start > _LONGEST_LINE:
            line = start - next((n for n in range(100) if self.text[start - n - 1].isspace()), 0)
        if stop < 0:
            stop = end + next((n for n in range(100) if self.text[end + n : end + n + 1].strip() == ""), 0)
        return read_words(self.text, line, stop)

    def windows(self, part: PreparedQuote) -> list[Words]:
        """List the parts of the text that share most with a quote, the best first: rare words in a similar order."""
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

    def _anchors(self, part: PreparedQuote) -> Iterator[tuple[str, int, float, list[int]]]:
        """Yield the longest word of each part of a quote, with its offset, weight and occurrences.

        A short word, which is too common, is combined with the next one.
        """
        words, copy = part.words, self._searchable_text()
        begin = words.starts[0]
        step = max(1, -(-(words.ends[-1] - begin) // _ANCHORS))
        longest: dict[int, int] = {}
        for index in part.real:
            current = longest.setdefault((words.starts[index] - begin) // step, index)
            if len(words.keys[index]) > len(words.keys[current]):
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
        """Yield the matches of a pattern, including overlapping ones."""
        copy, tried = self._searchable_text(), 0
        match = pattern.search(copy)
        while match is not None and tried < _MOST_TRIED:
            checkpoint()
            if match.start() == 0 or not _is_inside_word(copy, match.start()):
                tried += 1
                yield self._original(match.start()), self._original(match.end())
            match = pattern.search(copy, match.start() + 1)

    def _whole_places(self, part: PreparedQuote) -> Iterator[tuple[int, int]]:
        """Yield the places of a whole quote's letters and digits, with anything between them, overlapping ones too.

        They are searched in a copy without other characters. A pattern of all words would be retried from every
        possible start, and with a repetitive text the time would be the product of both lengths.
        """
        keys = [part.words.keys[index].lower() for index in part.real]
        letters = _GAP.sub("", "".join(keys))
        if not letters:
            yield from self._places(part.pattern())  # only raised digits
            return
        yield from self._letter_places(part, letters)
        plain = _GAP.sub("", "".join(_LETTERED.sub(r"\1", key) for key in keys))
        if plain != letters:
            yield from self._letter_places(part, plain)

    def _letter_places(self, part: PreparedQuote, letters: str) -> Iterator[tuple[int, int]]:
        """Yield the places of letters and digits, with anything between them."""
        copy, tried = self._searchable_text(), 0
        self._letters = self._letters or _GAP.sub("", copy)
        whole = part.words.keys[part.real[-1]][-1].isascii()
        place = self._letters.find(letters)
        while place >= 0 and tried < _MOST_TRIED:
            checkpoint()
            start, end = self._in_copy(place), self._in_copy(place + len(letters) - 1) + 1
            if not (start and _is_inside_word(copy, start)) and not (whole and _RUN_OF_LETTERS.match(copy, end)):
                tried += 1
                yield self._original(start), self._original(end)
            place = self._letters.find(letters, place + 1)

    def _in_copy(self, place: int) -> int:
        """Map an offset among the letters and digits to the searched copy."""
        here, there = self._runs
        if not here:
            length = 0
            for run in _RUN_OF_LETTERS.finditer(self._searchable_text()):
                here.append(length)
                there.append(run.start())
                length += run.end() - run.start()
        at = bisect.bisect_right(here, place) - 1
        return there[at] + place - here[at]

    def _searchable_text(self) -> str:
        if self._copy or not self.text:
            return self._copy
        pieces: list[str] = []
        done, length = 0, 0
        changes = [(match.start(), match.end(), "") for match in LINE_HYPHEN.finditer(self.text)]
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
        """Map an offset in the searched copy to the text; inside replaced characters it is approximate."""
        index = bisect.bisect_right(self._changes, place) - 1
        return place + (self._shifts[index] if index >= 0 else 0)


def _is_inside_word(copy: str, place: int) -> bool:
    """Return whether a word of plain letters started before this offset; a digit may be a footnote mark."""
    return copy[place].isascii() and copy[place - 1].isalpha()


def _begins(part: PreparedQuote, first: int, words: Words, near: int) -> list[int]:
    """List the indexes where a quote may start whose first real word is at an offset, the most likely first.

    First with as many marks before the word as in the quote, then more, because some may be left out, then fewer.
    """
    word = words.holding(near)
    marks = part.real[bisect.bisect_left(part.real, first)] - first
    begin = word - marks
    order = [*range(begin, begin - (6 if marks else 0) - 1, -1), *range(begin + 1, word + 1)]
    return [each for each in order if each >= 0]
