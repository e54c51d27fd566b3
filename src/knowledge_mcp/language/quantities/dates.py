"""Days in English, German, French and Spanish: with the name of a month, or in digits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_MONTH_NAMES = (
    "january januar jänner janvier enero",
    "february februar février febrero",
    "march märz mars marzo",
    "april avril abril",
    "may mai mayo",
    "june juni juin junio",
    "july juli juillet julio",
    "august août agosto",
    "september septembre septiembre",
    "october oktober octobre octubre",
    "november novembre noviembre",
    "december dezember décembre diciembre",
)
_MONTH_OF = {name: month for month, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_MONTH = rf"(?:{'|'.join(_MONTH_OF)})"
DATE = re.compile(
    rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th|er|\.)?\s(?:of\s|de\s)?(?P<month>{_MONTH}),?\s(?:de\s)?(?P<year>\d{{4}})\b"
    rf"|\b(?P<first>{_MONTH})\s(?P<second>\d{{1,2}})(?:st|nd|rd|th)?,?\s(?P<third>\d{{4}})\b",
    re.IGNORECASE,
)
"""A day with its month and year."""


_IN_DIGITS = re.compile(
    r"(?<![\w.-])(?:(?P<iso>\d{4})-(?P<iso_month>0[1-9]|1[0-2])-(?P<iso_day>[0-2]\d|3[01])(?![\w-])"
    r"|(?P<day>0?[1-9]|[12]\d|3[01])\.(?P<month>0?[1-9]|1[0-2])\.(?P<year>(?:19|20)\d{2})(?!\w|\.\d)"
    r"|(?<!/)(?P<one>0?[1-9]|[12]\d|3[01])/(?P<two>0?[1-9]|[12]\d|3[01])/(?P<of>(?:19|20)\d{2})(?![\w/]))"
)
_MONTHS = 12
_BY_TIME = re.compile(
    r"(?:\b(?:by|before|after|until|till|from|on|since|than|between|bis|ab|vor|nach|am|seit|zum|dem|le|au|du|el|del|al"
    r"|hasta|desde)|\d{4}-\d\d-\d\d (?:to|and|until|bis|und|au|et|y)) \Z",
    re.IGNORECASE,
)
"""Words before a day in ISO notation; without them it is mostly the edition of a document."""
_SEEN = 20
"""Characters before a day that are read; the longest words of time are shorter."""


class Day(NamedTuple):
    """A day in a text.

    Attributes:
        number: equal for the same day, greater for a later one.
        start, end: offsets in the text.
        other: another day that it may be, 0 if there is none: "03/04/2025" is in April or in March.
    """

    number: int
    start: int
    end: int
    other: int = 0


def days_in(text: str) -> list[Day]:
    """List the days of a text in order: "1 May 2026", "01.05.2026", "before 2026-05-01", "13/05/2026"."""
    found: list[Day] = []
    for date in DATE.finditer(text):
        year, day = date["year"] or date["third"], date["day"] or date["second"]
        found.append(_day(date, year, _MONTH_OF[(date["month"] or date["first"]).lower()], day))
    for date in _IN_DIGITS.finditer(text):
        if date["year"]:
            found.append(_day(date, date["year"], int(date["month"]), date["day"]))
        elif date["of"]:
            found += _with_slashes(date)
        elif _BY_TIME.search(text, max(0, date.start() - _SEEN), date.start()):
            found.append(_day(date, date["iso"], int(date["iso_month"]), date["iso_day"]))
    return sorted(found, key=lambda each: each.start)


def _with_slashes(date: re.Match[str]) -> Iterator[Day]:
    """Yield a day whose order of day and month only its numbers can tell."""
    one, two = int(date["one"]), int(date["two"])
    readings = {
        (year * _MONTHS + month) * 100 + day
        for year in (int(date["of"]),)
        for day, month in ((one, two), (two, one))
        if month <= _MONTHS
    }
    found = sorted(readings)
    if found:
        yield Day(found[0], *date.span(), other=found[1] if len(found) > 1 else 0)


def _day(date: re.Match[str], year: str, month: int, day: str) -> Day:
    return Day((int(year) * 12 + month) * 100 + int(day), *date.span())
