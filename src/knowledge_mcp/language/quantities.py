"""Quantities in a sentence: numbers in base units, and whether each is a least, a most, or the value itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from knowledge_mcp.language.demands import NUMBER_WORDS, mask_places


class Bound(StrEnum):
    """What a number limits."""

    LEAST = "at least"
    MOST = "at most"
    EXACT = "exactly"


@dataclass(frozen=True, slots=True)
class Quantity:
    """Hold one number of a sentence.

    Attributes:
        value: in base units: seconds, metres, grams, bytes, volts, …; as printed where the unit is not known.
        unit: the base unit; for what is counted, the noun behind the number; empty where nothing follows.
        bound: whether it is a lower limit, an upper limit, or neither.
        start, end: where it stands in the sentence, from the words that make it a limit to the unit.
    """

    value: float
    unit: str
    bound: Bound
    start: int
    end: int


def _units() -> dict[str, tuple[str, float]]:
    """Map symbols, as written, to base unit and factor: SI prefixes before SI units, and the rest by name."""
    prefixes = {"n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    found: dict[str, tuple[str, float]] = {}
    for symbol in ("s", "m", "g", "V", "A", "W", "Hz", "Pa", "N", "J", "Ω", "bit", "bit/s"):
        for prefix, factor in prefixes.items():
            found[prefix + symbol] = (symbol, factor)
    for place, prefix in enumerate(("", "K", "M", "G", "T")):
        found[f"{prefix}B"] = found[f"{prefix}b" if prefix else "byte"] = ("B", 1e3**place)
        if prefix:
            found[f"{prefix}iB"] = ("B", 1024.0**place)
            found[f"{prefix}bps"] = ("bit/s", 1e3**place)
    found["kB"], found["kbps"] = ("B", 1e3), ("bit/s", 1e3)
    found |= {
        "cm": ("m", 1e-2),
        "km/h": ("m/s", 1 / 3.6),
        "m/s": ("m/s", 1.0),
        "min": ("s", 60.0),
        "h": ("s", 3600.0),
        "hr": ("s", 3600.0),
        "sec": ("s", 1.0),
        "in": ("m", 0.0254),
        "ft": ("m", 0.3048),
        "t": ("g", 1e6),
        "bar": ("Pa", 1e5),
        "%": ("%", 1.0),
        "‰": ("%", 0.1),
        "°C": ("°C", 1.0),
        "°F": ("°F", 1.0),
        "K": ("K", 1.0),
        "°": ("°", 1.0),
        "dB": ("dB", 1.0),
        "dBA": ("dBA", 1.0),
        "dB(A)": ("dBA", 1.0),
    }
    return found


_SYMBOLS = _units()
_NAMES = {
    "nanosecond": ("s", 1e-9),
    "microsecond": ("s", 1e-6),
    "millisecond": ("s", 1e-3),
    "second": ("s", 1.0),
    "minute": ("s", 60.0),
    "hour": ("s", 3600.0),
    "day": ("s", 86400.0),
    "week": ("s", 604800.0),
    "month": ("month", 1.0),
    "year": ("month", 12.0),
    "millimetre": ("m", 1e-3),
    "centimetre": ("m", 1e-2),
    "metre": ("m", 1.0),
    "kilometre": ("m", 1e3),
    "millimeter": ("m", 1e-3),
    "centimeter": ("m", 1e-2),
    "meter": ("m", 1.0),
    "kilometer": ("m", 1e3),
    "inch": ("m", 0.0254),
    "inche": ("m", 0.0254),
    "foot": ("m", 0.3048),
    "feet": ("m", 0.3048),
    "gram": ("g", 1.0),
    "kilogram": ("g", 1e3),
    "tonne": ("g", 1e6),
    "percent": ("%", 1.0),
    "degree": ("°", 1.0),
    "byte": ("B", 1.0),
    "kilobyte": ("B", 1e3),
    "megabyte": ("B", 1e6),
    "gigabyte": ("B", 1e9),
    "bit": ("bit", 1.0),
    "volt": ("V", 1.0),
    "ampere": ("A", 1.0),
    "amp": ("A", 1.0),
    "watt": ("W", 1.0),
    "hertz": ("Hz", 1.0),
}
_NUMBER = re.compile(
    r"(?<![\w.,/-])[+−-]?\d{1,3}(?:[,\u2009\u00a0]\d{3}){1,6}(?:\.\d{1,9})?(?![\w]|[.,]\d)"
    r"|(?<![\w.,/])(?<![A-Za-z]-)[+−-]?\d{1,15}(?:\.\d{1,9})?(?!\d|[.,]\d|[A-Za-z]{0,9}[\d_])"
    rf"|\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"[ \u00a0\u2009-]{0,2}(?P<unit>[°%‰µμΩA-Za-z][A-Za-z/()]{0,19})?")
_NO_UNIT = frozenset(
    "a an and any are as at be before but by can each else for from has if in into is it its of on or per shall should"
    " than that the then to under until unless was when where which while will with within may must not after".split()
)
_LEAST = re.compile(
    r"(?:\bat least|\b(?:not|no) (?:be )?(?:less|fewer|lower|shorter|smaller|earlier) than|\bminimum(?: of)?"
    r"|\b(?:more|greater|larger|longer|higher) than|\bexceeds?|\babove|\bover|[≥>]=?"
    r"|\bnot (?:be )?(?:below|under))\s*\Z",
    re.IGNORECASE,
)
_MOST = re.compile(
    r"(?:\bat most|\b(?:not|no) (?:be )?(?:more|greater|longer|higher|larger|later) than|\bmaximum(?: of)?"
    r"|\bup to|\bwithin|\b(?:less|fewer|lower|shorter|smaller) than|\b(?:not|never) (?:to )?exceed|\bbelow|\bunder"
    r"|[≤<]=?|\bnot (?:be )?(?:above|over))\s*(?:a |an |the )?\Z",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\b(?:between|from)\s{0,3}\Z", re.IGNORECASE)
_OPENS = re.compile(r"(?:between|from)\s", re.IGNORECASE)
_AND = re.compile(r"\s{0,3}(?:and|to|-|–)\s{0,3}", re.IGNORECASE)
_OR_MORE = re.compile(r"\s{0,3}(?:or (?:more|longer|greater|higher|above)|(?:at )?minimum)\b", re.IGNORECASE)
_OR_LESS = re.compile(r"\s{0,3}(?:or (?:less|fewer|shorter|lower|below)|(?:at )?maximum)\b", re.IGNORECASE)
_BEFORE = 40
"""Characters in front of a number that are looked at: the longest phrase of a limit is shorter."""


def quantities(sentence: str) -> list[Quantity]:
    """List the numbers of a sentence with unit and bound, in order; what is part of a name ("TLS1", "A-4") is none."""
    found: list[Quantity] = []
    sentence = mask_places(sentence)
    for number, unit, factor, end in _measured(sentence):
        before = sentence[max(0, number.start() - _BEFORE) : number.start()]
        bound, led, followed = _bound(before, sentence[end : end + _BEFORE])
        if bound is Bound.EXACT and found and _opens_range(sentence, found[-1], number.start()):
            bound, first = Bound.MOST, found[-1]
            is_bare = not first.unit
            value = first.value * factor if is_bare else first.value
            found[-1] = Quantity(value, unit if is_bare else first.unit, Bound.LEAST, first.start, first.end)
        value = _value(number.group()) * factor
        found.append(Quantity(value, unit, bound, number.start() - led, end + followed))
    return found


def _opens_range(sentence: str, first: Quantity, end: int) -> bool:
    """Tell whether "between" or "from" stands before a number, and "and" or "to" between it and the next."""
    opened = _OPENS.match(sentence, first.start) is not None
    return opened and first.bound is Bound.EXACT and _AND.fullmatch(sentence, first.end, end) is not None


def _measured(sentence: str) -> Iterator[tuple[re.Match[str], str, float, int]]:
    """Yield each number with its base unit, the factor to it, and where number and unit end."""
    for number in _NUMBER.finditer(sentence):
        follows = _UNIT.match(sentence, number.end())
        printed = (follows["unit"] if follows else None) or ""
        unit, factor = _base(printed.rstrip("()/") if printed.count("(") != printed.count(")") else printed)
        end = follows.end() if follows is not None and unit else number.end()
        yield number, unit, factor, end


def _base(printed: str) -> tuple[str, float]:
    if printed in _SYMBOLS:
        return _SYMBOLS[printed]
    name = printed.lower()
    for each in (name, name.removesuffix("s")):
        if each in _NAMES:
            return _NAMES[each]
    return ("", 1.0) if name in _NO_UNIT else (name.removesuffix("s"), 1.0)


def _value(printed: str) -> float:
    known = NUMBER_WORDS.get(printed.lower())
    if known is not None:
        return known
    return float(re.sub(r"[,\u2009\u00a0+]", "", printed).replace("−", "-"))


def _bound(before: str, after: str) -> tuple[Bound, int, int]:
    """Tell the bound, and how many characters before and after the number say so."""
    for bound, ahead, behind in ((Bound.MOST, _MOST, _OR_LESS), (Bound.LEAST, _LEAST, _OR_MORE)):
        led, followed = ahead.search(before), behind.match(after)
        if led or followed:
            return bound, len(led.group()) if led else 0, followed.end() if followed else 0
    between = _BETWEEN.search(before)
    return Bound.EXACT, len(between.group()) if between else 0, 0
