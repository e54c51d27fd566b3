"""Which words of force and numbers of a sentence were replaced by which in the other edition."""

from __future__ import annotations

import re
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from knowledge_mcp.engine.changes.marking import FORCE_KEY, NUMBER_KEY, MarkedWord, marks_of, may_be_equal
from knowledge_mcp.language.printed import PrintedMark
from knowledge_mcp.support.matching import BoundedMatcher

_DIGITS = re.compile(r"\d+")
_MarkPair = tuple[PrintedMark | None, PrintedMark | None]


def is_row_of(before: Sequence[MarkedWord], after: Sequence[MarkedWord]) -> bool:
    """Return whether two rows of only numbers correspond, by their first number or because they have only one."""
    if not before or len(before) != len(after):
        return False
    (_, one), (_, other) = before[0], after[0]
    return len(before) == 1 or (one and one.key) == (other and other.key)


def replaced(before: Sequence[MarkedWord], after: Sequence[MarkedWord]) -> list[tuple[str, str, str]]:
    """List the replaced words of force and numbers, as printed; an empty text for none.

    They are aligned by position among the words, or by value if that gives fewer changes, as in a list with an
    additional number. One that moved within the sentence is not a change: "A may do B" is equivalent to "B may be
    done".
    """
    sides = (before, after)
    by_place = list(_among(sides, [[word for word, _ in side] for side in sides], _met))
    if len(by_place) < 2:  # there cannot be fewer
        return by_place
    keys = [{mark.key for _, mark in side if mark is not None} for side in sides]
    names = [[mark.key if mark and mark.key in keys[0] & keys[1] else word for word, mark in side] for side in sides]
    return min(by_place, list(_among(sides, names, lambda pairs, _: pairs)), key=len)


def _among(
    sides: tuple[Sequence[MarkedWord], Sequence[MarkedWord]],
    names: Sequence[Sequence[str]],
    matched: Callable[[Sequence[_MarkPair], str], Sequence[_MarkPair]],
) -> Iterator[tuple[str, str, str]]:
    """Yield the replacements; words and marks of both sides are aligned by `names`, and marks by `matched`."""
    before, after = sides
    codes = BoundedMatcher(*names).get_opcodes()
    named = [_digits_of_names(side) for side in sides]
    for key in (FORCE_KEY, NUMBER_KEY):
        found = [(marks_of(before[a:b], key), marks_of(after[c:d], key)) for _, a, b, c, d in codes]
        pairs = [pair for was, now in found for pair in zip_longest(was, now)]
        for one, other in matched(pairs, key):
            if one is None or other is None:
                alone = one or other
                kept = named[1] - named[0] if one else named[0] - named[1]
                if alone is not None and _weighs_alone(alone, key) and not kept[alone.key]:
                    yield key, one.text if one else "", other.text if other else ""
            elif (one.key, one.counts) == (other.key, other.counts) or (key == FORCE_KEY and one.text == other.text):
                continue  # only a limit may tell "shall not" from "shall not"
            elif key == NUMBER_KEY and may_be_equal(one, other):
                continue
            elif one.bound != other.bound:
                yield key, *_as_limits(one, other)
            elif one.unit != other.unit:
                yield key, f"{one.text} {one.unit}".strip(), f"{other.text} {other.unit}".strip()
            else:
                yield key, one.text, other.text


def _as_limits(one: PrintedMark, other: PrintedMark) -> tuple[str, str]:
    """Return two numbers with the words that make them different limits; these may be elsewhere in the sentence."""
    limits = one.limit or f"{one.text} {one.unit}".strip(), other.limit or f"{other.text} {other.unit}".strip()
    if limits[0] != limits[1]:
        return limits
    return f"{one.bound} {limits[0]}".strip(), f"{other.bound} {limits[1]}".strip()


def _digits_of_names(words: Sequence[MarkedWord]) -> Counter[str]:
    """Count the numbers in names and other text that is not a limit; a number that becomes one was not removed."""
    other = (mark.key if mark else word for word, mark in words if word not in {FORCE_KEY, NUMBER_KEY})
    return Counter(digits for each in other for digits in _DIGITS.findall(each))


def _met(pairs: Sequence[_MarkPair], key: str) -> list[_MarkPair]:
    """Pair removed marks with equal ones added elsewhere; also the only word of force on each side."""
    gone = [place for place, (one, other) in enumerate(pairs) if one is not None and other is None]
    come = [place for place, (one, other) in enumerate(pairs) if one is None and other is not None]
    found: list[_MarkPair | None] = list(pairs)
    waiting: defaultdict[tuple[str, bool] | None, deque[int]] = defaultdict(deque)
    is_only = key == FORCE_KEY and len(gone) == len(come) == 1

    def key_of(mark: PrintedMark | None) -> tuple[str, bool] | None:
        return None if mark is None or is_only else (mark.key, mark.counts)

    for there in come:
        waiting[key_of(pairs[there][1])].append(there)
    for place in gone:
        one = pairs[place][0]
        if same := waiting[key_of(one)]:
            there = same.popleft()
            found[place], found[there] = (one, pairs[there][1]), None
    if key == NUMBER_KEY:
        _meet_other_values(found)
    return [pair for pair in found if pair is not None]


def _meet_other_values(pairs: list[_MarkPair | None]) -> None:
    """Pair a removed limit with an added one if only these are of their kind and unit: the sentence was turned."""
    alone: tuple[defaultdict[tuple[str, str], list[int]], ...] = (defaultdict(list), defaultdict(list))
    for place, pair in enumerate(pairs):
        mark = None if pair is None or all(pair) else pair[0] or pair[1]
        if mark is not None and pair is not None and mark.limit:
            alone[pair[0] is None][mark.bound, mark.key.rpartition(" ")[2]].append(place)
    for kind, places in alone[0].items():
        there = alone[1].get(kind, [])
        if len(places) == len(there) == 1:
            one, other = pairs[places[0]], pairs[there[0]]
            pairs[places[0]], pairs[there[0]] = (one[0] if one else None, other[1] if other else None), None


def _weighs_alone(mark: PrintedMark, key: str) -> bool:
    """Return whether an added or removed mark changes something: a lower-case "may" has no force, "two" is no limit."""
    is_limit = mark.counts and bool(mark.limit)
    return mark.counts if key == FORCE_KEY else is_limit or any(sign.isdigit() for sign in mark.text)
