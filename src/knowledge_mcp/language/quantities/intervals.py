"""How often something is done, without a number with a unit: "annually", "twice a year", "jeden Monat"."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Recurrence(NamedTuple):
    """The time between two occurrences.

    Attributes:
        value: number of base units.
        unit: base unit, "s" or "month".
        start, end: offsets in the sentence.
    """

    value: float
    unit: str
    start: int
    end: int


_HOUR, _DAY, _WEEK = ("s", 3600.0), ("s", 86400.0), ("s", 604800.0)
_MONTH, _QUARTER, _HALF, _YEAR = ("month", 1.0), ("month", 3.0), ("month", 6.0), ("month", 12.0)
_ADVERBS = {
    **dict.fromkeys("hourly stündlich".split(), _HOUR),
    **dict.fromkeys("daily täglich quotidiennement diariamente quotidianamente giornalmente".split(), _DAY),
    **dict.fromkeys("weekly wöchentlich hebdomadairement semanalmente settimanalmente".split(), _WEEK),
    **dict.fromkeys("fortnightly zweiwöchentlich".split(), ("s", 1209600.0)),
    **dict.fromkeys("monthly monatlich mensuellement mensualmente mensilmente mensalmente".split(), _MONTH),
    **dict.fromkeys("quarterly vierteljährlich trimestriellement trimestralmente".split(), _QUARTER),
    **dict.fromkeys(
        "semi-annually semiannually half-yearly halbjährlich semestriellement semestralmente".split(), _HALF
    ),
    **dict.fromkeys("annually yearly jährlich annuellement anualmente annualmente".split(), _YEAR),
}
_PERIODS = {
    **dict.fromkeys("hour stunde heure heures hora ora".split(), _HOUR),
    **dict.fromkeys("day tag jour jours día giorno dia".split(), _DAY),
    **dict.fromkeys("week woche semaine semaines semana settimana".split(), _WEEK),
    **dict.fromkeys("month monat mois mes mese mês".split(), _MONTH),
    **dict.fromkeys("quarter quartal vierteljahr trimestre trimestres".split(), _QUARTER),
    **dict.fromkeys("halbjahr semestre semestres".split(), _HALF),
    **dict.fromkeys("year jahr an ans année año anno ano".split(), _YEAR),
}
_TIMES = {
    **dict.fromkeys("once einmal une una uma".split(), 1),
    **dict.fromkeys("twice zweimal two deux dos due duas".split(), 2),
    **dict.fromkeys("dreimal three trois tres tre três".split(), 3),
    **dict.fromkeys("viermal four quatre cuatro quattro quatro".split(), 4),
}


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_OFTEN = re.compile(
    rf"(?<![\w-])(?:(?:(?P<often>once|twice|(?:ein|zwei|drei|vier)mal)\s)?(?P<adverb>{_any(_ADVERBS)})(?![\w-])"
    rf"|(?:(?P<times>{_any(_TIMES)}|\d{{1,2}})(?:\s?(?:times|mal|fois|vez|veces|volta|volte|vezes))?\s"
    r"(?:an?|per|each|every|pro|im|je|am|in\sder|jede[ns]?|par|chaque|al|por|cada|all['’]|alla|a\sla|l['’]|à\sl['’])\s?"
    r"|(?<!for\s)(?<!of\s)(?:every|each|jede[ns]?|chaque|tous\sles|toutes\sles|cada|ogni)\s)"
    rf"(?P<period>{_any(_PERIODS)})(?!\w))",
    re.IGNORECASE,
)
_EVERY = re.compile(
    rf"(?<![\w-])(?:(?:(?P<times>{_any(_TIMES)})(?:\s(?:times|mal|fois|vez|veces|volta|volte|vezes))?\s)?"
    r"(?:in\s)?(?:every|alle|tous\sles|toutes\sles|cada|ogni)"
    r"|(?P<once>once|twice|einmal|zweimal|une\sfois|deux\sfois|una\svez|dos\sveces)\s(?:in|per|pro|en))\s\Z",
    re.IGNORECASE,
)
_ALSO_ADJECTIVES = frozenset("hourly daily weekly fortnightly monthly quarterly half-yearly yearly".split())
_ENDS = re.compile(
    r"\s*(?:[.;:)|]|\Z|,(?!\s\w+ly\b)"
    r"|(?:and|or|by|for|during|in|at|on|with|to|using|from|when|while|unless|as|until|under|between|after|before)\b(?!\s\w+ly\b))"
)
"""What follows "daily" and similar words when they are not adjectives, as in "daily mean" and "daily and weekly logs".
"""
_COUNTS = re.compile(r"\d{1,2}\s?(?:times|mal|fois|vez|veces|volte|vezes)", re.IGNORECASE)


def repeated(before: str) -> tuple[int, int]:
    """Detect whether the words before a quantity make it an interval: "(at least) once every" in "once every 2 years".

    Returns:
        Number of characters of these words, 0 if there are none, and the number of occurrences in that time.
    """
    match = _EVERY.search(before)
    if match is None:
        return 0, 1
    words = (match["times"] or match["once"] or "once").lower().split()
    return len(match.group()), _TIMES[words[0]]


def intervals_in(sentence: str) -> Iterator[Recurrence]:
    """Yield the intervals of a sentence in order; "for every day" and "daily mean" are not intervals."""
    for match in _OFTEN.finditer(sentence):
        adverb = (match["adverb"] or "").lower()
        if adverb in _ALSO_ADJECTIVES and not _ENDS.match(sentence, match.end()):
            continue
        times = (match["times"] or match["often"] or "1").lower()
        if times.isdigit() and match["times"] and not _COUNTS.match(sentence, match.start()):
            continue
        unit, factor = _ADVERBS[adverb] if adverb else _PERIODS[match["period"].lower()]
        count = _TIMES.get(times) or int(times)
        if count:
            yield Recurrence(factor / count, unit, *match.span())
