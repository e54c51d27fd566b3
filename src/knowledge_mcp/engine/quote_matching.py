"""A quote laid beside the words of a text: how far they are the same, and where they differ."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher

from knowledge_mcp.engine.quote_words import BULLET, Words
from knowledge_mcp.model.document import Span
from knowledge_mcp.model.evidence import Difference

__all__ = ["Likeness", "alike", "follow", "whole_span"]

_SENTENCE_END = frozenset(".!?:;")
_SIGNS = frozenset("-+<>~$\u00a3\u00a5\u20ac\u00b1\u2010\u2011\u2012\u2013\u2014\u2212\u2213\u2248\u2260\u2264\u2265")
_BULLETS = frozenset("-*\u2022\u2023\u25e6\u25aa\u25cf")
_PLUS_OR_MINUS = frozenset("-+\u00b1\u2212\u2213")
_BEFORE_A_SIGN = frozenset(" \t([{=*/,")
_CLOSED = frozenset(")]}")
_UNITS = frozenset("%\u2030\u00b0\u2032\u2033")
_BROKEN_BEFORE = re.compile(r"[^\W\d_]+[-\u2010\u2011\u00ad][ \t]*\n\s*\Z")
_BROKEN_AFTER = re.compile(r"[-\u2010\u2011\u00ad][ \t]*\n\s*[^\W\d_]+")
_Run = tuple[int, int, int]
"""Where an equal run begins in the quote and in the text, and its length."""
_MOST_OF_A_WORD = 80
_FREE_GAP = 4


@dataclass(frozen=True, slots=True)
class Likeness:
    """Tell how like a passage is to a quote: where it stands, a measure 0..1, its differences, and equal words."""

    span: Span
    similarity: float
    differences: tuple[Difference, ...]
    equal_words: int


def follow(
    quote: Words, first: int, text: Words, begin: int, stop: int | None = None, end: int | None = None
) -> tuple[int, Span | None]:
    """Follow a quote through a text as long as they are the same; returns where in the quote it ends, and the span.

    Marks that may be left out may be missing on either side; a word broken at a line's end is the whole word.
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
        elif j < end and (joined := _joined(quote, i, stop, text, j, end)) is not None:
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


def _joined(quote: Words, i: int, stop: int, text: Words, j: int, end: int) -> tuple[int, int] | None:
    """Pass one word that is broken at a line's end on one side or both, elsewhere or not at all on the other."""
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
        else:
            return None
    return i, j


def whole_span(text: str, span: Span) -> Span:
    """Make a span longer where it cuts a value or a word: its sign, its `%` or `°`, the rest of a broken word."""
    start, end = span.start, span.end
    if _is_signed(text, start):
        start -= 1
    elif text[start].isalpha() and (match := _BROKEN_BEFORE.search(text, max(0, start - _MOST_OF_A_WORD), start)):
        start = match.start()
    if text[end - 1].isdigit() and text[end : end + 1] in _UNITS:
        end += 1
    elif text[end - 1].isalpha() and (match := _BROKEN_AFTER.match(text, end, end + _MOST_OF_A_WORD)):
        end = match.end()
    return Span(start, end)


def _is_signed(text: str, start: int) -> bool:
    """Tell whether a value, or the name of one, has its sign directly before it: not `5` in `3-5`, nor `a` in `b-a`."""
    before = text[max(0, start - 2) : start]
    if text[start].isdigit():
        return before[-1:] in _SIGNS and not (before[:-1].isalnum() or before[:-1] in _CLOSED)
    return len(before) == 2 and before[1] in _PLUS_OR_MINUS and before[0] in _BEFORE_A_SIGN


def alike(source: str, quote: Words, text: str, words: Words) -> Likeness | None:
    """Find the passage among the words of a stretch of text that is most like a quote; None where nothing is shared.

    Args:
        source: the text that the quote's words are cut from.
        quote: the quote's words and marks.
        text: the canonical text.
        words: some of its words and marks.
    """
    here = [index for index in range(len(quote)) if index not in quote.optional]
    there = [index for index in range(len(words)) if index not in words.optional]
    printed_keys = [words.units.get(index, words.keys[index]) for index in there]
    quoted_keys = [quote.units.get(index, quote.keys[index]) for index in here]
    blocks = _connected(_equal_runs(quoted_keys, printed_keys))
    if not blocks:
        return None
    begin = _widened(words, there, blocks[0][1], blocks[0][0], -1)
    end = _widened(words, there, blocks[-1][1] + blocks[-1][2], len(here) - blocks[-1][0] - blocks[-1][2], 1)
    equal = sum(size for _, _, size in blocks)
    equal_words = sum(quote.is_word(here[i + n]) for i, _, size in blocks for n in range(size))
    differences: list[Difference] = []
    i, j = 0, begin
    for quoted, printed, size in (*blocks, (len(here), end, 0)):
        if i < quoted or j < printed:
            told = _difference(source, quote, here[i:quoted], text, words, there[j:printed])
            differences.extend(told)
            equal += 0 if told else quoted - i
        i, j = quoted + size, printed + size
    span = Span(words.starts[there[begin]], words.ends[there[end - 1]])
    whole = whole_span(text, span)
    if whole.start < span.start and quote.keys[0] == words.keys[there[begin]]:
        printed = text[whole.start : words.ends[there[begin]]]
        differences.insert(0, Difference(source[quote.starts[0] : quote.ends[0]], " ".join(printed.split())))
    if whole.end > span.end and quote.keys[-1] == words.keys[there[end - 1]]:
        printed = text[words.starts[there[end - 1]] : whole.end]
        differences.append(Difference(source[quote.starts[-1] : quote.ends[-1]], " ".join(printed.split())))
    similarity = min(1.0, 2.0 * equal / (len(here) + end - begin))
    if differences:
        similarity = min(similarity, 1.0 - 1.0 / (1 + len(here)))
    return Likeness(whole, similarity, tuple(differences), equal_words)


def _equal_runs(quoted: list[str], printed: list[str]) -> list[_Run]:
    """List runs that are equal: the longest one, and on both sides of it others, those nearest to it first."""
    longest = SequenceMatcher(None, printed, quoted, autojunk=False).find_longest_match()
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
    matcher = SequenceMatcher(None, printed, quoted, autojunk=False)
    return [(block.b, block.a, block.size) for block in matcher.get_matching_blocks() if block.size]


def _reach(count: int) -> int:
    """Tell how many words of the text may hold what so many of the quote stand for."""
    return 2 * count + 20 if count else 0


def _connected(blocks: list[_Run]) -> list[_Run]:
    """Keep the longest equal run, and those about it that are not farther away than their length makes likely."""
    if not blocks:
        return []
    longest = max(range(len(blocks)), key=lambda index: blocks[index][2])
    kept = [blocks[longest]]
    for quoted, printed, size in blocks[longest + 1 :]:
        ahead = kept[-1]
        if (printed - ahead[1] - ahead[2]) - (quoted - ahead[0] - ahead[2]) > _FREE_GAP + 2 * size:
            break
        kept.append((quoted, printed, size))
    for quoted, printed, size in reversed(blocks[:longest]):
        if (kept[0][1] - printed - size) - (kept[0][0] - quoted - size) > _FREE_GAP + 2 * size:
            break
        kept.insert(0, (quoted, printed, size))
    return kept


def _widened(words: Words, there: list[int], place: int, count: int, step: int) -> int:
    """Take so many more words of the text as the quote has left over, but none of another sentence."""
    for _ in range(count):
        following = place - 1 if step < 0 else place
        if not 0 <= following < len(there):
            break
        mark = words.keys[there[following]]
        if step < 0 and mark in _SENTENCE_END:
            break
        place += step
        if mark in _SENTENCE_END:
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
