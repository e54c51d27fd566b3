"""Quantities in a sentence: numbers in base units, and whether each is a lower limit, an upper limit or a value."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from knowledge_mcp.language.multilingual.recognition import CONJUNCTIONS, is_function_word, language_of
from knowledge_mcp.language.printed import PrintedMark, mask_places
from knowledge_mcp.language.quantities.bounds import (
    BETWEEN_ENDS,
    CLAUSE_END,
    DENIED,
    OPENS,
    OTHER,
    STRICTLY,
    Bound,
    limited_late,
    limiting,
)
from knowledge_mcp.language.quantities.intervals import intervals_in, repeated
from knowledge_mcp.language.quantities.numerals import AND_A_HALF, Numeral, numerals_in
from knowledge_mcp.language.quantities.units import RATIO, PrintedUnit, is_physical, unit_behind


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a sentence.

    Attributes:
        value: in base units: seconds, metres, grams, bytes, volts, …; as printed if the unit is unknown.
        unit: the base unit; for counted things, the noun after the number; empty if nothing follows.
        bound: whether it is a lower limit, an upper limit, or neither.
        start, end: offsets in the sentence, from the words that make it a limit up to and including the unit.
        printed: number and unit as printed.
        also: the value in brackets after it in another unit, which standards round: "36 in. (915 mm)".
        recurs: it is an interval; what is done at least once a year is at most a year apart.
        settled: its bound already counts the negation of its clause: "5 mg/l shall not be exceeded" is at most 5 mg/l.
        strict: the value itself does not keep the limit: "more than 5 m".
    """

    value: float
    unit: str
    bound: Bound
    start: int
    end: int
    printed: str
    also: float | None = None
    recurs: bool = False
    settled: bool = False
    strict: bool = False

    @property
    def values(self) -> tuple[float, ...]:
        """List the values in all units that are printed."""
        return (self.value,) if self.also is None else (self.value, self.also)

    def __str__(self) -> str:
        """Format it as a limit: "at least 5 mm"; a value that is not a limit is printed alone."""
        bound = OTHER[self.bound] if self.recurs else self.bound
        if bound is Bound.EXACT:
            return self.printed
        return f"{STRICTLY[bound] if self.strict else bound.value} {self.printed}"


@dataclass(frozen=True, slots=True)
class _Measured:
    """A number with its base unit, the factor to it, and the unit as printed, which may follow a later number."""

    value: float
    unit: str
    factor: float
    start: int
    end: int
    unit_printed: str = ""
    recurs: bool = False

    def printed(self, sentence: str) -> str:
        """Return the number and its unit as printed."""
        words = _words(sentence, self.start, self.end)
        return words if words.endswith(self.unit_printed) else f"{words} {self.unit_printed}"


def _words(text: str, start: int, end: int) -> str:
    """Return a part of a text without the closing bracket of numbers in brackets."""
    words = " ".join(text[start:end].split())
    return words if "(" in words else words.replace(")", "", 1)


_TO = re.compile(r"\.?\s{0,3}(?:(?:up )?to|bis(?: zu)?|jusqu['’]à|hasta|à|a|–|…|\.{2,3})\s{0,3}| - ")
_AND = re.compile(r"\.?\s{0,3}(?:and|(?:up )?to|und|bis|et|à|y|a|-|–)\s{0,3}", re.IGNORECASE)
_LISTED = re.compile(rf"\s(?:{CONJUNCTIONS})\s\Z")
"""Words between two numbers that have one limit: "not exceed 5 mg/l as a mean and 9 mg/l"."""
_COMMA = re.compile(r",\s{1,2}")
_TIMES = re.compile(r"\s{0,2}[x×]\s{0,2}|\s(?:by|mal|par|por)\s", re.IGNORECASE)
_OF_WHOLE = re.compile(
    r"\s(?:of\s(?!an?\s(?:second|minute|hour|day|week|month|year|inch|mile|met(?:er|re)|thousand|million|billion)\b|\d)"
    r"|(?:(?<=half\s)(?:the|all|its|their)|der|des|aller|von|ihrer|seiner|dieser|du|de|d['’]|del)\b)",
    re.IGNORECASE,
)
"""What follows a share: "two thirds of the seats", "half the seats"."""
_CURRENT = r"(?:\s?(?:[AD]C|[ad]\.c\.))?"
_TOLERANCE = re.compile(rf"{_CURRENT}\s?(?:±|\+/[-−–]|plus or minus|plus ou moins|más o menos)\s?")
_SIGNED = re.compile(rf"{_CURRENT}\s?\(?(?P<sign>[+\-−–])")
_OTHER_SIGNED = re.compile(r"\s?[/,;]?\s?(?P<sign>[+\-−–]?)")
"""The upper and lower tolerance of a number, each with its sign: "5 mm +0.1/-0.2", "5 (+0.1, -0.2) mm"."""
_MINUS = re.compile(r"\b(?:minus|moins|menos)\s\Z", re.IGNORECASE)
_IN_BRACKETS = re.compile(
    r"\((?:[^()A-Za-z]{1,20}[±/–][^()A-Za-z]{1,20}|\s?[+][\d.,\s]{1,12}[-−][\d.,\s]{1,12}|[^()A-Za-z]{1,20}\s(?:to|bis|à|a)\s[^()A-Za-z]{1,20})\Z"
)
"""Numbers in brackets that are followed by their unit: "(23 ± 2) °C", "(10 to 15) mm"."""
_CONTINUATION = re.compile(r"[ \u00a0-]?|\sand\s", re.IGNORECASE)
_CLOSING = re.compile(r"\.?\s?[)\]]")
_IN_OTHER_UNITS = re.compile(r"\.?\s?[(\[]\s?(?:approximately |about |approx\.? |ca\. )?", re.IGNORECASE)
_RATIO = re.compile(r"(?::|\s(?:in|out of|to|von|aus)\s)", re.IGNORECASE)
_EDITION = re.compile(r"\b[A-Z]{2,10}[ \u00a0/-]\d[\d.-]{0,12}:(?:19|20)\d\d(?!\w)")
"""A document with its edition, of any series: "HB 205:2019" is no ratio."""
_OF_THINGS = re.compile(r"\s(?:of\s|der\s|des\s)?(?P<thing>[^\W\d_]{3,30})")
"""What follows a share of things: "1 in 10 welds"; a slope is "1 in 12"."""
_EVERY = re.compile(r"every|jede|alle", re.IGNORECASE)
_CLOCK = re.compile(r"(?<![\d:.])\d{1,2}:\d{2}(?::\d{2})?(?![\d:])(?P<half>\s?[ap]\.?m\b)?", re.IGNORECASE)
_ALIKE = 0.03
"""Maximum relative difference of one length in two units: standards round "36 in. (915 mm)"; "3 ft (1 m)" is out."""
_TWO_WAYS = ({RATIO, "%"}, {"°F", "°C"}, {"°C", "K"})
"""Pairs of units for equal quantities, apart from a factor: "1:12 (8.33 %)", "70 °F (21 °C)"."""
_BEHIND = 40
"""Characters after a number that are read; the longest expression of a limit is shorter."""
_NEAR = 60
"""Characters between two numbers that have one limit."""
_LATEST = 120
"""Characters after a number in which the last verb of its clause is searched."""


def quantities(sentence: str, language: str | None = None) -> list[Quantity]:
    """List the numbers of a sentence with unit and bound, in order, without parts of names ("TLS1", "A-4").

    "20 ft 6 in" and "36 in. (915 mm)" are each one quantity, "20 °C ± 2 °C" is a lower and an upper limit, and times of
    day are left out.

    Args:
        sentence: the text.
        language: as from `language_of`, None to detect it; decides how "1.500" is read.
    """
    found: list[Quantity] = []
    original, sentence = sentence, mask_places(sentence).replace("\u2126", "Ω")  # the ohm sign becomes the letter
    language = language_of(sentence) if language is None else language
    measured = _with_unit_of_list(sentence, _measured(sentence, language))
    measured = _with_intervals(sentence, _together(sentence, measured))
    place, before_one = 0, None
    while place < len(measured):
        one = measured[place]
        place += 1
        before = sentence[found[-1].end if found else 0 : one.start]
        if tolerance := _tolerance(sentence, one, measured[place : place + 2]):
            found += _within(original, one, *tolerance)
            place += len(set(tolerance))
            continue
        behind = _behind(sentence, one.end, measured[place : place + 1])
        limited = limiting(before, behind, is_measured=is_physical(one.unit))
        bound, last = limited.bound, found[-1] if found else None
        is_settled = False
        if one.recurs:
            bound = OTHER[bound] if limited.led or limited.followed else Bound.EXACT
        elif last is not None and (ends := _range_ends(sentence, last, before_one, one)) is not None:
            found[-1], bound = ends
        elif last is not None and bound is not Bound.EXACT and not limited.led and last.bound is Bound.EXACT:
            if last.unit == one.unit and _TIMES.fullmatch(sentence, last.end, one.start):
                found[-1] = replace(last, bound=bound)
        elif last is not None and bound is Bound.EXACT and _says_the_same(sentence, last, one):
            found[-1] = _said_twice(sentence, last, one, measured[place : place + 1])
            continue
        elif last is not None and bound is Bound.EXACT and _goes_with(sentence, last, one):
            bound = last.bound
            is_settled = last.settled or DENIED.search(sentence, last.start, last.end) is not None
        elif bound is Bound.EXACT:
            bound = limited_late(sentence[one.end : one.end + _LATEST])
            is_settled = bound is not Bound.EXACT
            if is_settled:
                found = _all_settled(sentence, found, one, bound)
        start, end = one.start - limited.led, one.end + limited.followed
        value, printed = one.value * one.factor, one.printed(original)
        is_strict = limited.strict and bound is limited.bound and not one.recurs
        found.append(Quantity(value, one.unit, bound, start, end, printed, None, one.recurs, is_settled, is_strict))
        before_one = one
    return found


def _with_intervals(sentence: str, measured: Sequence[_Measured]) -> list[_Measured]:
    """Turn "every 2 years" into intervals, and add those without a number with a unit ("twice a year")."""
    often = [
        _Measured(each.value, each.unit, 1.0, each.start, each.end, recurs=True) for each in intervals_in(sentence)
    ]
    found = list(often)
    for one in measured:
        if not any(each.start < one.end and one.start < each.end for each in often):
            led, times = repeated(sentence[max(0, one.start - _BEHIND) : one.start]) if one.unit else (0, 1)
            found.append(replace(one, value=one.value / times, start=one.start - led, recurs=led > 0))
    return sorted(found, key=lambda each: each.start)


def _behind(sentence: str, end: int, following: Sequence[_Measured]) -> str:
    """Return the text after a number that may limit it, without the words that limit the next one.

    In "Zone 2 at least 50 lx" the zone is no minimum.
    """
    for each in following:
        between = sentence[end : each.start]
        led = limiting(between, "", is_measured=False).led
        if led and not limiting("", sentence[each.end : each.end + _BEHIND], is_measured=True).followed:
            return between[: len(between) - led]
    return sentence[end : end + _BEHIND]


def _said_twice(sentence: str, last: Quantity, one: _Measured, following: Sequence[_Measured]) -> Quantity:
    """Add a value in another unit, and the limit that may follow it: "36 inches (915 mm) minimum"."""
    whole = replace(last, end=one.end, also=one.value * one.factor if last.unit == one.unit else None)
    closing = _CLOSING.match(sentence, one.end)
    limited = limiting("", _behind(sentence, closing.end(), following), is_measured=True) if closing else None
    if closing is None or limited is None or last.bound is not Bound.EXACT or not limited.followed:
        return whole
    return replace(whole, bound=limited.bound, end=closing.end() + limited.followed)


def _says_the_same(sentence: str, last: Quantity, one: _Measured) -> bool:
    """Return whether a number in brackets repeats the one before it in another unit: "36 in. (915 mm)"."""
    is_same_unit = bool(one.unit) and last.unit == one.unit
    are_alike = is_same_unit and math.isclose(last.value, one.value * one.factor, rel_tol=_ALIKE)
    is_beside = are_alike or {last.unit, one.unit} in _TWO_WAYS
    return is_beside and _IN_OTHER_UNITS.fullmatch(sentence, last.end, one.start) is not None


def _goes_with(sentence: str, last: Quantity, one: _Measured) -> bool:
    """Return whether a number shares the limit of the one before it.

    It is the other side of a size, the same in another unit, "10 kg (98 N)", or the next of a list: "not exceed 5 mg/l
    as a mean and 9 mg/l as a peak".
    """
    if not (is_physical(last.unit) and is_physical(one.unit)):
        return False
    if _IN_OTHER_UNITS.fullmatch(sentence, last.end, one.start):
        return True
    between = sentence[last.end : one.start]
    is_listed = len(between) <= _NEAR and _LISTED.search(between) is not None and CLAUSE_END.search(between) is None
    has_unit_of_list = not sentence[one.start : one.end].endswith(one.unit_printed)
    is_listed = is_listed or (has_unit_of_list and _COMMA.fullmatch(between) is not None)
    if last.unit == one.unit and last.bound is not Bound.EXACT and is_listed:
        return True
    return last.unit == one.unit and _TIMES.fullmatch(sentence, last.end, one.start) is not None


def _range_ends(
    sentence: str, first: Quantity, before: _Measured | None, last: _Measured
) -> tuple[Quantity, Bound] | None:
    """Return the first end of a range, "between 5 and 10 V", with its bound, and the bound of the other end.

    Args:
        sentence: the text.
        first: the quantity before.
        before: the same as it was measured.
        last: the number that may end the range.
    """
    if first.bound is not Bound.EXACT or before is None:
        return None
    is_opened = OPENS.match(sentence, first.start) is not None
    between = (_AND if is_opened else _TO).fullmatch(sentence, first.end, last.start)
    is_tight = sentence[first.end : last.start] == "-" and not first.unit and is_physical(last.unit)
    if between is None and not is_tight:
        return None
    if first.unit != last.unit:
        if first.unit and not last.unit_printed.startswith(f"{before.unit_printed} "):
            return None
        printed = _words(sentence, before.start, before.end)
        printed += last.unit_printed[len(before.unit_printed) :] if first.unit else f" {last.unit_printed}".rstrip()
        first = replace(first, value=before.value * last.factor, unit=last.unit, printed=printed)
    end = last.value * last.factor
    if first.value < end:
        return replace(first, bound=Bound.LEAST, recurs=False), Bound.MOST
    is_turned = is_opened and first.value > end and _EITHER.match(sentence, first.start) is not None
    return (replace(first, bound=Bound.MOST, recurs=False), Bound.LEAST) if is_turned else None


_EITHER = re.compile(r"(?:between|zwischen|entre)\s", re.IGNORECASE)
"""The opening of a range whose ends may be in any order: "between -5 °C and -20 °C"."""


def _tolerance(sentence: str, middle: _Measured, behind: Sequence[_Measured]) -> tuple[_Measured, _Measured] | None:
    """Return the lower and upper tolerance of a number if they follow it: "± 2 °C", "+0.1/-0.2", "(+10 %, -15 %)"."""
    if behind and _TOLERANCE.fullmatch(sentence, middle.end, behind[0].start):
        return behind[0], behind[0]
    if len(behind) < 2:
        return None
    one, other = behind[:2]
    signed = _SIGNED.fullmatch(sentence, middle.end, one.start + 1)
    has_sign = sentence[other.start] in "+-−–"
    next_signed = _OTHER_SIGNED.fullmatch(sentence, one.end, other.start + has_sign)
    if signed is None or next_signed is None:
        return None
    is_more = signed["sign"] == "+"
    if (next_signed["sign"] == "+") is is_more or not (next_signed["sign"] or other.value == 0.0):
        return None
    if any(each.unit != "%" and abs(each.value) > abs(middle.value) for each in (one, other)):
        return None  # "class 5, -20 °C / +50 °C"
    return (other, one) if is_more else (one, other)


def _within(original: str, middle: _Measured, less: _Measured, more: _Measured) -> Iterator[Quantity]:
    """Yield both limits of "20 °C ± 2 °C", "230 V ± 10 %", "(23 ± 2) °C" and "5 mm +0.1/-0.2"."""
    last = max(less, more, key=lambda each: each.end)
    whole = middle if middle.unit else replace(last, value=middle.value)
    unit, factor = whole.unit, whole.factor
    printed = _words(original, middle.start, last.end)
    for bound, side, tolerance in ((Bound.LEAST, -1, less), (Bound.MOST, 1, more)):
        own = tolerance if tolerance.unit else replace(last, value=tolerance.value)
        apart = abs(own.value) * (own.factor if own.unit else factor)
        if own.unit == "%" and unit != "%":
            apart *= abs(middle.value * factor) / 100
        value = middle.value * factor + side * apart
        yield Quantity(
            value, unit, bound, middle.start, last.end, f"{value / factor:.6g} {whole.unit_printed} ({printed})"
        )


def _measured(sentence: str, language: str | None) -> list[_Measured]:
    """List the numbers with their units; clock times and editions are left out, "1:12" and "1 in 12" are ratios."""
    numerals = numerals_in(sentence, language)
    found: list[_Measured] = []
    blank = [match.span() for match in _CLOCK.finditer(sentence) if match["half"] or match.group()[:2] != "1:"]
    blank += [match.span() for match in _EDITION.finditer(sentence)]
    place = 0
    while place < len(numerals):
        one = numerals[place]
        other = numerals[place + 1] if place + 1 < len(numerals) else None
        place += 1
        if any(start <= one.start < end for start, end in blank):
            continue
        if other is not None and _are_ratio(sentence, one, other):
            things = _OF_THINGS.match(sentence, other.end) if sentence[one.end] != ":" else None
            is_share = things is not None and not is_function_word(things["thing"])
            is_share = is_share and not is_physical(unit_behind(sentence, other.end, language).base)
            unit, factor = ("%", 100.0) if is_share else (RATIO, 1.0)
            found.append(_Measured(one.value / other.value, unit, factor, one.start, other.end))
            place += 1
            continue
        closed = sentence.startswith(")", one.end) and _IN_BRACKETS.search(sentence, max(0, one.end - 50), one.end)
        end = one.end + 1 if closed else one.end
        unit = unit_behind(sentence, end, language, one.money)
        is_part = 0.0 < one.value < 1.0 or "/" in sentence[one.start : one.end]
        is_whole_named = _OF_WHOLE.match(sentence, end) or (one.is_word and _EVERY.match(sentence, one.start))
        if is_part and not is_physical(unit.base) and is_whole_named:
            unit = PrintedUnit(end, "%", 100.0)
        if unit.base in {"°C", "°F"} and (minus := _MINUS.search(sentence, max(0, one.start - _BEHIND), one.start)):
            one = one._replace(start=minus.start(), value=-one.value)
        mark = sentence[end : unit.end].strip(" \u00a0\u2009\u202f-")
        half = AND_A_HALF.match(sentence, unit.end) if is_physical(unit.base) and one.value == int(one.value) else None
        if half is not None:
            one, unit = one._replace(value=one.value + 0.5), unit._replace(end=half.end())
            place += other is not None and other.start < half.end()
        found.append(_Measured(one.value, unit.base, unit.factor, one.start, unit.end, mark))
    return found


def _are_ratio(sentence: str, one: Numeral, other: Numeral) -> bool:
    """Return whether two numbers are a ratio: "1:12", "2:1", "1 in 12", "2 out of 3"."""
    between = _RATIO.fullmatch(sentence, one.end, other.start)
    if between is None or other.value <= 0.0:
        return False
    sign = between.group().strip().lower()
    if sign in {"von", "aus"}:
        return one.value < other.value and one.value == int(one.value) and not one.money
    return sign in {":", "out of"} or (sign == "in" and one.value == 1.0 and not one.money)


def _with_unit_of_list(sentence: str, measured: Sequence[_Measured]) -> list[_Measured]:
    """Give the numbers of a list of three or more the unit after the last one: "10, 20 and 40 mg/m³"."""
    found = list(measured)
    for last, one in enumerate(measured):
        first = last
        while first > 0 and is_physical(one.unit) and not measured[first - 1].unit:
            joint = _LISTED if first == last else _COMMA
            if not joint.fullmatch(sentence, measured[first - 1].end, measured[first].start):
                break
            first -= 1
        if last - first > 1:
            found[first:last] = [
                replace(each, unit=one.unit, factor=one.factor, unit_printed=one.unit_printed)
                for each in measured[first:last]
            ]
    return found


def _all_settled(sentence: str, found: Sequence[Quantity], one: _Measured, bound: Bound) -> list[Quantity]:
    """Give the numbers listed before one the limit that the last verb of the clause makes of it."""
    settled, behind = list(found), one.start
    for place in range(len(found) - 1, -1, -1):
        each = found[place]
        joint = _LISTED if behind == one.start else _COMMA
        if each.bound is not Bound.EXACT or each.unit != one.unit or not joint.fullmatch(sentence, each.end, behind):
            break
        settled[place] = replace(each, bound=bound, settled=True)
        behind = each.start
    return settled


def _together(sentence: str, measured: Sequence[_Measured]) -> list[_Measured]:
    """Merge numbers that are one quantity, and give the sides of a size the unit after the last one.

    "20 ft 6 in" and "1 h 30 min" are one; in "900 x 600 mm" both are in millimetres.
    """
    found: list[_Measured] = []
    for one in reversed(measured):
        behind = found[-1] if found else None
        if behind is None:
            found.append(one)
        elif _is_rest(sentence, one, behind):
            value = one.value + behind.value * behind.factor / one.factor
            found[-1] = replace(one, value=value, end=behind.end, unit_printed="")
        elif not one.unit and is_physical(behind.unit) and _TIMES.fullmatch(sentence, one.end, behind.start):
            found.append(replace(one, unit=behind.unit, factor=behind.factor, unit_printed=behind.unit_printed))
        else:
            found.append(one)
    return found[::-1]


def _is_rest(sentence: str, each: _Measured, behind: _Measured) -> bool:
    """Return whether a quantity continues the one before it in a smaller unit, with less than one larger unit."""
    is_smaller = each.unit == behind.unit and each.factor > behind.factor and is_physical(each.unit)
    rest = abs(behind.value) * behind.factor
    if not is_smaller or rest >= each.factor or each.value != int(each.value):
        return False
    between = _CONTINUATION.fullmatch(sentence, each.end, behind.start)
    are_named = sentence[each.start : each.end][-3:].isalpha() and sentence[behind.start : behind.end][-3:].isalpha()
    return between is not None and ("and" not in between.group() or are_named)


def are_ends(low: Quantity, high: Quantity) -> bool:
    """Return whether two limits are the ends of one range or tolerance: "-20 °C to +50 °C", "20 °C ± 2 °C"."""
    is_beside = 0 < high.start - low.end <= BETWEEN_ENDS or high.start == low.start
    return is_beside and (low.bound, high.bound, low.unit) == (Bound.LEAST, Bound.MOST, high.unit)


def without_parts_of(days: Sequence[Quantity | PrintedMark], numbers: Sequence[Quantity]) -> list[Quantity]:
    """Leave out the numbers that are parts of days."""
    return [each for each in numbers if not any(each.start < day.end and day.start < each.end for day in days)]
