"""Marks the words of a sentence that are compared separately: words of force and numbers."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from knowledge_mcp.engine.changes.clauses import Clause
from knowledge_mcp.engine.changes.wording import stem_of, words_and_signs
from knowledge_mcp.language.demands import DAY, force_words, limits
from knowledge_mcp.language.force import Convention
from knowledge_mcp.language.multilingual.denial import DENIES_BEHIND
from knowledge_mcp.language.multilingual.recognition import language_of
from knowledge_mcp.language.printed import PrintedMark, places_in
from knowledge_mcp.language.quantities.bounds import STRICTLY, Bound, limiting
from knowledge_mcp.language.quantities.limits import limits_set
from knowledge_mcp.language.quantities.numerals import is_ambiguous
from knowledge_mcp.language.quantities.reading import Quantity, are_ends, quantities, without_parts_of
from knowledge_mcp.language.quantities.units import RATIO, is_physical

MarkedWord = tuple[str, PrintedMark | None]
"""A word as it is compared, and its mark; the word of a mark is its kind, such as `FORCE_KEY`."""
FORCE_KEY, NUMBER_KEY = "<force>", "<number>"
_COUNTED = re.compile(r"\s{0,8}\(?\d{1,3}[.)]\s")

_BEGINNING = re.compile(r"(?<![\w.])")
_CONTINUATION = re.compile(r"\w|\.\d")
_FIRST = 2
"""Length of the prefix by which names are looked up; all names of one document may start the same way."""


class PrintedPlaces:
    """Finds text that is not a limit without "clause" or "EN" before it: reference targets, and the document's name.

    Targets are those that clauses refer to by a number with a dot or an edition; the name includes an edition. They are
    looked up in a table, because a regular expression would try thousands of targets at each offset.
    """

    def __init__(self, clauses: Iterable[Clause], own_names: frozenset[str]) -> None:
        named = [each for clause in clauses for each in clause.references if "." in each.target or ":" in each.target]
        self._targets = {words for each in named for words in (each.target, each.text)}
        lengths: dict[str, set[int]] = {}
        for each in self._targets:
            lengths.setdefault(each[:_FIRST], set()).add(len(each))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}
        own = "|".join(rf"(?<![\w-]){re.escape(name)}\)?\s+v?\d+(?:\.\d+)*(?!\w)" for name in sorted(own_names))
        self._own = re.compile(own) if own else None

    def within(self, sentence: str) -> Iterator[PrintedMark]:
        """Yield the places in a sentence; of those that start together, the longest."""
        end = 0
        for place in (found.start() for found in _BEGINNING.finditer(sentence)) if self._targets else ():
            for length in self._lengths.get(sentence[place : place + _FIRST], ()) if place >= end else ():
                words = sentence[place : place + length]
                if words in self._targets and not _CONTINUATION.match(sentence, place + length):
                    end = place + length
                    yield PrintedMark(words, words, place, end)
                    break
        for found in self._own.finditer(sentence) if self._own else ():
            yield PrintedMark(found[0], found[0], *found.span())


def marked_up(
    sentence: str,
    convention: Convention,
    places: PrintedPlaces,
    *,
    is_recast: bool,
    as_printed: bool = False,
    whole_ranges: bool = False,
) -> list[MarkedWord]:
    """List the words of a sentence, with marks for words of force, numbers and references.

    Words of limits belong to their numbers, and a denial that only turns a limit does not deny: "shall not exceed 5 mm"
    and "shall be at most 5 mm" have the same marks.

    Args:
        sentence: the text.
        convention: how its document marks force.
        places: text that is not a limit.
        is_recast: the table has other columns in the other edition; a number alone in a cell is a plain word.
        as_printed: denials and limits are separate.
        whole_ranges: both ends of a range are one mark, as those of a tolerance are.
    """
    language = convention.language_in(sentence) or None
    found, turned = number_marks(sentence, language, as_printed=as_printed, whole_ranges=whole_ranges)
    numbers = list(found)
    days = {mark.end for mark in numbers if mark.key.startswith(DAY)}
    named = (*places.within(sentence), *places_in(sentence))
    marks = [("<place>", mark) for mark in named if mark.end not in days]
    denials = [*DENIES_BEHIND.finditer(sentence)]  # searched once: a sentence may have thousands of words of force
    words = force_words(sentence, convention)
    turning = {behind for limit in turned if (behind := _denying(sentence, words, limit)) is not None}
    ends = [mark.end for mark in numbers]
    for place, mark in enumerate(words):
        behind = bisect_left(denials, mark.end, key=lambda found: found.start())
        denial = denials[behind] if mark.key.endswith(" not") and behind < len(denials) else None
        is_own = denial is None or not convention.language_in(sentence)
        where = mark.end - 1 if is_own or denial is None else denial.start()
        at = bisect_right(ends, where)
        if at < len(numbers) and mark.start < numbers[at].start <= where and mark.key.endswith(" not"):
            turning.add(place)  # the limit has the denial: "shall not exceed 5 mm", "darf nicht mehr als 5 mm betragen"
            numbers[at] = replace(numbers[at], start=max(mark.end, numbers[at].start))
        if place in turning and not as_printed:
            marks.append((FORCE_KEY, replace(mark, key=mark.key.removesuffix(" not"))))
        elif denial is None or is_own:
            marks += [(FORCE_KEY, mark), *_denial_before(sentence, mark, convention)]
        else:  # "darf … nicht" is one
            between = "" if denial.start() <= mark.end + 1 else " …"
            marks.append((FORCE_KEY, replace(mark, text=f"{mark.text}{between} {denial[0]}")))
            marks.append(("<not>", PrintedMark("not", denial[0], *denial.span())))
    marks += [(NUMBER_KEY, mark) for mark in numbers if not (is_recast and _is_cell(sentence, mark))]
    words_found: list[MarkedWord] = []
    end = 0
    for key, mark in sorted(marks, key=lambda each: each[1].start):
        if mark.start < end:
            continue
        words_found += [(word, None) for word in words_and_signs(sentence[end : mark.start])]
        words_found.append((key, mark))
        end = mark.end
    return words_found + [(word, None) for word in words_and_signs(sentence[end:])]


_NOT_BEFORE = re.compile(r"(?P<not>\b(?:nicht|pas|no|non|niet|inte|ikke))\s\Z", re.IGNORECASE)
_LONGEST_NOT = 6
"""A denial before a word of force, in other languages than English, and its length: "nicht erlaubt"."""


def _denial_before(sentence: str, word: PrintedMark, convention: Convention) -> Iterator[tuple[str, PrintedMark]]:
    """Yield the mark of a denial directly before a word of force that counts it."""
    led = _NOT_BEFORE.search(sentence, max(0, word.start - _LONGEST_NOT), word.start)
    if led is not None and word.key.endswith(" not") and convention.language_in(sentence):
        yield "<not>", PrintedMark("not", led["not"], *led.span("not"))


_MOST_READ = 4096
"""Sentences whose numbers are kept: they are read to pair the sentences of a clause, and then to compare them."""


def number_marks(
    sentence: str, language: str | None = None, *, as_printed: bool = False, whole_ranges: bool = False
) -> tuple[tuple[PrintedMark, ...], tuple[Quantity, ...]]:
    """List the numbers of a sentence with the words that make them limits, and the limits that a denial turns.

    Their keys are equal if the limits are: 1.5 m and 1500 mm, "every 12 months" and "annually".
    """
    language = language_of(sentence) if language is None else language
    return _number_marks(sentence, language, as_printed, whole_ranges)


@lru_cache(_MOST_READ)
def _number_marks(
    sentence: str, language: str, as_printed: bool, whole_ranges: bool
) -> tuple[tuple[PrintedMark, ...], tuple[Quantity, ...]]:
    marks = [_day_mark(sentence, mark) if mark.key.startswith(DAY) else mark for mark in limits(sentence, language)]
    days = [mark for mark in marks if mark.key.startswith(DAY)]
    printed = without_parts_of(days, quantities(sentence, language))
    bounds = {(each.start, each.end, each.value): each.bound for each in printed}
    turned: list[Quantity] = []
    groups: dict[tuple[int, int], list[Quantity]] = {}
    for each in printed if as_printed else limits_set(sentence, language, printed):
        is_measured = is_physical(each.unit) or each.recurs
        if is_measured or each.bound is not Bound.EXACT:
            last = next(reversed(groups.items()), None)
            if whole_ranges and last is not None and len(last[1]) == 1 and are_ends(last[1][0], each):
                del groups[last[0]]
                groups[last[0][0], each.end] = [*last[1], each]
            else:
                groups.setdefault((each.start, each.end), []).append(each)
        if not as_printed and (each.settled or bounds.get((each.start, each.end, each.value)) is not each.bound):
            turned.append(each)
    starts = [mark.start for mark in marks]
    spans: list[tuple[int, int, PrintedMark]] = []
    for (start, end), group in groups.items():
        first, last = bisect_left(starts, start), bisect_left(starts, end)
        if group[0].also is not None:
            last = min(last, first + 1)  # what repeats it in another unit is compared on its own: "36 in. (915 mm)"
        if first < last or group[0].recurs:
            spans.append((first, last, _limit_mark(sentence, group, marks[first:last], language)))
    taken = {place for first, last, _ in spans for place in range(first, last)}
    marks = [mark for place, mark in enumerate(marks) if place not in taken] + [mark for *_, mark in spans]
    return tuple(sorted(marks, key=lambda mark: mark.start)), tuple(turned)


def _limit_mark(sentence: str, group: Sequence[Quantity], inside: Sequence[PrintedMark], language: str) -> PrintedMark:
    """Join the number of a limit with the words that make it one.

    Args:
        sentence: the text.
        group: the limit, or both limits of a tolerance.
        inside: its numbers as printed.
        language: of the sentence.
    """
    first = group[0]
    is_measured = is_physical(first.unit) or first.recurs
    is_whole = is_measured and first.also is None
    end = max(first.end if is_whole else 0, inside[-1].end if inside else first.end)
    bound = "" if first.bound is Bound.EXACT else STRICTLY[first.bound] if first.strict else first.bound.value
    bound = "" if len(group) > 1 else bound
    if not is_measured or any(is_ambiguous(mark.key, language) for mark in inside):
        value = " ".join(mark.key for mark in inside)
    else:
        current = inside[-1].key.rpartition(first.unit)[2] if inside and first.unit in inside[-1].key else ""
        values = [each.value * 100 if first.unit == RATIO else each.value for each in group]
        value = " ".join(f"{each:.10g}" for each in values) + f" {_ALSO_UNIT.get(first.unit, first.unit)}{current}"
    if len(inside) == 1 and (not first.recurs or any(map(str.isdigit, inside[0].text))):
        text, unit = inside[0].text, inside[0].unit
    else:
        text, unit = sentence[inside[0].start if inside and not first.recurs else first.start : end].strip(), ""
    limit = sentence[first.start : end].strip()
    counts = first.recurs or (is_measured and bool(bound))  # "up to one" says nothing alone
    return PrintedMark(f"{bound} {value}", text, first.start, end, unit, counts, bound, limit)


def may_be_equal(one: PrintedMark, other: PrintedMark) -> bool:
    """Return whether two days may be one, because one has two readings: "03/04/2025" and "3 April 2025"."""
    are_days = one.key.startswith(DAY) and other.key.startswith(DAY) and one.bound == other.bound
    readings, others = (frozenset(_READING.findall(each.key)) for each in (one, other))
    return are_days and len(readings) != len(others) and not readings.isdisjoint(others)


_READING = re.compile(r"\b\d{6,8}\b")


def _day_mark(sentence: str, day: PrintedMark) -> PrintedMark:
    """Join a day with the words that make it a limit: "not later than 1 May 2026"."""
    limited = limiting(sentence[max(0, day.start - _NEAR) : day.start], "", is_measured=False)
    if not limited.led:
        return day
    start = day.start - limited.led
    bound = limited.bound.value
    return replace(day, key=f"{day.key} {bound}", start=start, bound=bound, limit=sentence[start : day.end])


_ALSO_UNIT = {RATIO: "%"}
"""Other units in which values are compared: "1:10" is 10 %."""
_APART = re.compile(r"[,;:]|\b(?:and|or|but)\b")
"""What separates a limit from the verb of another clause."""
_NEAR = 60
"""Characters before a day that may make it a limit."""


def _denying(sentence: str, words: Sequence[PrintedMark], limit: Quantity) -> int | None:
    """Return the position of the word of force whose denial turns a limit, None if there is none.

    It is the one before it, or else the one behind: "more than 45 m is not permitted".
    """
    before = bisect_left(words, limit.end, key=lambda word: word.start) - 1
    is_subject = before + 1 < len(words) and not _APART.search(sentence, limit.end, words[before + 1].start)
    near = (before, before + 1) if limit.settled or is_subject else (before,)
    return next((place for place in near if 0 <= place < len(words) and words[place].key.endswith(" not")), None)


_DUTY = frozenset({"ist", "sind", "hat", "haben"})
"""German verbs that make an infinitive with "zu" a duty."""


def without_misread(
    sides: tuple[list[MarkedWord], list[MarkedWord]], sentences: Sequence[str]
) -> tuple[list[MarkedWord], list[MarkedWord]]:
    """Turn words of force into plain words that the other sentence has, too, and in which they are not recognised.

    Whether "ist … zulässig" is recognised may depend on a comma: such a word did not come or go. It did if its verb is
    another one: "hat den Zweck, … zu prüfen", "ist … zu prüfen".
    """
    duties = [_DUTY.intersection(words_and_signs(each)) for each in sentences]
    if duties[0] != duties[1]:
        return sides
    counts = [Counter(mark.text for mark in marks_of(side, FORCE_KEY)) for side in sides]
    for this, other in ((0, 1), (1, 0)):
        if counts[this].total() <= counts[other].total():
            continue
        for word in [word for word in counts[this] if counts[this][word] > counts[other][word]]:
            pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
            printed, its = (len(pattern.findall(sentences[side])) for side in (this, other))
            if 0 < printed <= its:
                sides[this][:] = _plain(sides[this], word)
    return sides


def _plain(side: Sequence[MarkedWord], word: str) -> Iterator[MarkedWord]:
    """Yield the words of a sentence; those of one word of force are plain words."""
    for key, mark in side:
        if mark is not None and key == FORCE_KEY and mark.text == word:
            yield from ((each, None) for each in words_and_signs(word))
        else:
            yield key, mark


def marks_of(side: Sequence[MarkedWord], key: str) -> list[PrintedMark]:
    """List the marks of one kind, `FORCE_KEY` or `NUMBER_KEY`, in order."""
    return [mark for word, mark in side if mark and word == key]


def words_with_bounds(side: Sequence[MarkedWord]) -> Iterator[str]:
    """Yield the words that are not marks, and those for the kinds of limits."""
    for word, mark in side:
        yield from (word,) if mark is None else mark.bound.split()


def other_limits(before: Sequence[MarkedWord], after: Sequence[MarkedWord]) -> list[tuple[str, str]]:
    """List the limits of two rewritten sentences that became other ones, as printed.

    They limit the same way, have the same unit or word behind them, "at least 12 characters", and are the only ones of
    this kind, or else the only ones behind the same word. A limit that both sentences have did not change.
    """
    sides = (before, after)
    keys = [{mark.key for mark in marks_of(side, NUMBER_KEY)} for side in sides]
    found: dict[PrintedMark, PrintedMark] = {}
    for kind_of in (_counted, _counted_behind):
        ours, theirs = (_only_ones(side, kind_of) for side in sides)
        for kind in ours.keys() & theirs.keys():
            one, other = ours[kind], theirs[kind]
            if one not in found and other not in found.values() and one.key not in keys[1] and other.key not in keys[0]:
                found[one] = other
    return [(one.text, other.text) for one, other in sorted(found.items(), key=lambda pair: pair[0].start)]


def _counted(side: Sequence[MarkedWord], at: int) -> tuple[str, ...]:
    """Return how a number limits, and its unit or the word behind it; an empty one if it limits nothing."""
    mark = side[at][1]
    if mark is None or not mark.bound:
        return ()
    _, *unit = mark.key.removeprefix(mark.bound).split()
    behind, marked = side[at + 1] if at + 1 < len(side) else ("", None)
    return (mark.bound, *unit) if unit else (mark.bound, stem_of(behind)) if behind and marked is None else ()


def _counted_behind(side: Sequence[MarkedWord], at: int) -> tuple[str, ...]:
    """Return the same with the word before the number."""
    counted = _counted(side, at)
    return (*counted, side[at - 1][0]) if counted and at else ()


def _only_ones(
    side: Sequence[MarkedWord], kind_of: Callable[[Sequence[MarkedWord], int], tuple[str, ...]]
) -> dict[tuple[str, ...], PrintedMark]:
    """Map the kinds of limits that a sentence has once to the limit."""
    kinds = [kind_of(side, at) for at in range(len(side))]
    counts = Counter(kinds)
    return {kind: mark for kind, (_, mark) in zip(kinds, side, strict=True) if mark and kind and counts[kind] == 1}


def has_other_bounds(before: Sequence[MarkedWord], after: Sequence[MarkedWord]) -> bool:
    """Return whether limits became other ones, as a minimum width that became a maximum width."""
    bounds, others = ([mark.bound for mark in marks_of(side, NUMBER_KEY)] for side in (before, after))
    return bounds != others


def has_tolerance(side: Sequence[MarkedWord]) -> bool:
    """Return whether a sentence has a number with a tolerance: "10 mm ± 2 mm", "5 mm +0.1/-0.2"."""
    return any("±" in mark.text or "+" in mark.text[1:] for mark in marks_of(side, NUMBER_KEY))


def is_only_denied(before: Sequence[MarkedWord], after: Sequence[MarkedWord]) -> bool:
    """Return whether a denial is all that makes limits differ: "shall run up to 9 m", "shall not run up to 9 m"."""
    ours, theirs = (marks_of(side, NUMBER_KEY) for side in (before, after))
    printed = [mark.limit for mark in ours] == [mark.limit for mark in theirs]
    return printed and [mark.key for mark in ours] != [mark.key for mark in theirs]


def joined_items(parts: Sequence[str]) -> str:
    """Join sentences, without the list numbers of all except the first."""
    return " ".join((parts[0], *(_COUNTED.sub("", part) for part in parts[1:])))


def _is_cell(row: str, mark: PrintedMark) -> bool:
    return row[: mark.start].rstrip().endswith("|") and row[mark.end :].lstrip().startswith("|")
