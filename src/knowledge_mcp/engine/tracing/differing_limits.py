"""Which limit of two demands that are otherwise equal differs, so that nothing keeps both."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from knowledge_mcp.language.quantities.bounds import DENIED, OTHER, Bound, limiting
from knowledge_mcp.language.quantities.dates import Day, days_in
from knowledge_mcp.language.quantities.reading import Quantity, are_ends

DAY = "day of the calendar"
"""The unit of days; of one with two readings, "03/04/2025", it is followed by its text, because only that is equal."""
_AT = re.compile(r"\bat\s(?:[a-z-]{1,20}\s){0,4}\Z")
"""Text before a value that is the condition of an earlier one: "60 l/s at a head of 25 m"."""
_DEADLINE = re.compile(
    r"(?:\b(?:by|before|until|till|bis(?: zum)?|vor(?: dem)?|avant(?: le)?|jusqu['’]au|antes del|hasta el)"
    r"|(?P<least>\b(?:after|from|since|ab(?: dem)?|nach(?: dem)?|après(?: le)?|à partir du|después del|a partir del"
    r"|desde el))) \Z",
    re.IGNORECASE,
)
"""Words that make a day the last or the first one."""
_DENIED_BEFORE = re.compile(rf"(?:{DENIED.pattern})[^,;:.]{{0,40}}\Z", re.IGNORECASE)
"""A denial of the words of a day: "not before", "shall not be opened before"."""
_SEEN = 60
"""Characters before a day that are read."""


def days_as_limits(text: str) -> list[Quantity]:
    """List the days of a text as quantities in `DAY`; "by 1 May 2026" is an upper limit, "after" it a lower one."""
    found: list[Quantity] = []
    for day in days_in(text):
        before = text[max(0, day.start - _SEEN) : day.start]
        limited, deadline = limiting(before, "", is_measured=False), _DEADLINE.search(before)
        bound, led = limited.bound, limited.led
        if not led and deadline is not None:
            bound, led = Bound.LEAST if deadline["least"] else Bound.MOST, len(deadline[0])
            if (denied := _DENIED_BEFORE.search(before[: deadline.start()])) is not None:
                bound, led = OTHER[bound], len(before) - denied.start()
        printed = " ".join(text[day.start : day.end].split())
        found.append(Quantity(day.number, unit_of_day(day, printed), bound, day.start - led, day.end, printed))
    return found


def unit_of_day(day: Day, printed: str) -> str:
    """Return the unit of a day: days with two readings are only comparable with the same text."""
    return f"{DAY} {printed}" if day.other else DAY


def permits_too_little(free: Sequence[Quantity], bound: Sequence[Quantity]) -> bool:
    """Return whether limits of what is permitted leave out what is required: at most 5 mm, and at least 8 mm."""
    pairs = zip(free, bound, strict=False)
    return any((most.bound, least.bound) == (Bound.MOST, Bound.LEAST) and _differ(most, least) for most, least in pairs)


def differing_limit(text: str, ours: Sequence[Quantity], theirs: Sequence[Quantity]) -> str | None:
    """Return the limit that differs; None if none does, or if the limits are of different kinds.

    Args:
        text: the sentence of ours.
        ours, theirs: the limits of two demands that are otherwise equal.
    """
    if [each.unit for each in ours] != [each.unit for each in theirs]:
        return None
    differ = [(mine, its) for mine, its in zip(ours, theirs, strict=True) if _differ(mine, its)]
    places = {(mine.start, its.start) for mine, its in differ}  # both ends of a tolerance have the same span
    if len(differ) == 2 and len(places) == 2 and all(are_ends(*side) for side in zip(*differ, strict=True)):
        return " and ".join(
            f"{low} to {high}" for low, high in ([_end(each) for each in side] for side in zip(*differ, strict=True))
        )
    if len(places) != 1:
        return None  # if two differ, one is a condition and the other depends on it
    if ours[0].end < differ[0][0].start and _AT.search(text, 0, differ[0][0].start):
        return None  # "12 kW at 20 °C" and "12 kW at 30 °C"
    exactly = (each.bound is Bound.EXACT and not each.unit.startswith(DAY) for each in differ[0])
    return " and ".join(f"{'exactly ' * is_exact}{each}" for is_exact, each in zip(exactly, differ[0], strict=True))


def is_stricter(special: Sequence[Quantity], general: Sequence[Quantity]) -> bool:
    """Return whether what keeps the limits of a special case keeps the general ones as well."""
    return all(
        mine.bound is its.bound
        and not (mine.bound is Bound.EXACT and _differ(mine, its))
        and not (mine.bound is Bound.LEAST and mine.value < its.value)
        and not (mine.bound is Bound.MOST and mine.value > its.value)
        for mine, its in zip(special, general, strict=True)
    )


def _end(limit: Quantity) -> str:
    """Return an end of a range as printed; that of a tolerance without the tolerance."""
    return limit.printed.partition(" (")[0] if "±" in limit.printed else limit.printed


def _differ(mine: Quantity, its: Quantity) -> bool:
    if mine.bound is its.bound:
        return not any(math.isclose(one, other) for one in mine.values for other in its.values)
    if {mine.bound, its.bound} == {Bound.LEAST, Bound.MOST}:
        low, high = (mine, its) if mine.bound is Bound.LEAST else (its, mine)
        return low.value > high.value  # otherwise they are the two ends of a range
    exact, limit = (mine, its) if mine.bound is Bound.EXACT else (its, mine)
    return not any(_keeps(value, limit) for value in exact.values)


def _keeps(value: float, limit: Quantity) -> bool:
    if any(math.isclose(value, each) for each in limit.values):
        return not limit.strict
    return value > limit.value if limit.bound is Bound.LEAST else value < limit.value
