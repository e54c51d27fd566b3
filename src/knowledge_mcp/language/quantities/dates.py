"""Days with the name of a month in English, German, French and Spanish."""

from __future__ import annotations

import re

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


def day_of(date: re.Match[str]) -> int:
    """Return a number for a match of `DATE`: equal for the same day, greater for a later one."""
    year, day = date["year"] or date["third"], date["day"] or date["second"]
    return (int(year) * 12 + _MONTH_OF[(date["month"] or date["first"]).lower()]) * 100 + int(day)
