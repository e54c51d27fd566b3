"""Quantities in a sentence: numbers in base units, and whether each is a least, a most, or the value itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from knowledge_mcp.language.demands import NUMBER_WORDS, mask_places
from knowledge_mcp.language.force import PLAIN, RANK, Force, forces_of
from knowledge_mcp.language.multilingual.force import FORCEFUL
from knowledge_mcp.language.multilingual.recognition import language_of


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
        printed: number and unit as printed.
    """

    value: float
    unit: str
    bound: Bound
    start: int
    end: int
    printed: str

    def __str__(self) -> str:
        """Say it as a limit: "at least 5 mm"; what is neither least nor most says its number alone."""
        return self.printed if self.bound is Bound.EXACT else f"{self.bound.value} {self.printed}"


def _units() -> dict[str, tuple[str, float]]:
    """Map symbols, as written, to base unit and factor: SI prefixes before SI units, and the rest by name."""
    prefixes = {"n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    found: dict[str, tuple[str, float]] = {}
    for prefix, factor in prefixes.items():
        for symbol in ("s", "m", "g", "V", "A", "W", "Hz", "Pa", "N", "J", "Ω", "Nm", "VA", "F", "H", "lx", "bit"):
            found[prefix + symbol] = (symbol, factor)
        found[f"{prefix}Ohm"] = found[f"{prefix}ohm"] = ("Ω", factor)
        found[f"{prefix}Wh"] = ("J", 3600 * factor)
        found[f"{prefix}bar"] = ("Pa", 1e5 * factor)
        found[f"{prefix}l"] = found[f"{prefix}L"] = ("m³", 1e-3 * factor)
    for place, prefix in enumerate(("", "K", "M", "G", "T")):
        found[f"{prefix}B"] = found[f"{prefix}b" if prefix else "byte"] = ("B", 1e3**place)
        if prefix:
            found[f"{prefix}iB"] = ("B", 1024.0**place)
            found[f"{prefix}bps"] = ("bit/s", 1e3**place)
    found["kB"], found["kbps"] = ("B", 1e3), ("bit/s", 1e3)
    found |= {
        "cm": ("m", 1e-2),
        "dm": ("m", 1e-1),
        "ha": ("m²", 1e4),
        "min": ("s", 60.0),
        "h": ("s", 3600.0),
        "hr": ("s", 3600.0),
        "sec": ("s", 1.0),
        "in": ("m", 0.0254),
        "ft": ("m", 0.3048),
        "t": ("g", 1e6),
        "hPa": ("Pa", 1e2),
        "psi": ("Pa", 6894.757),
        "%": ("%", 1.0),
        "per cent": ("%", 1.0),
        "‰": ("%", 0.1),
        "°C": ("°C", 1.0),
        "℃": ("°C", 1.0),
        "°F": ("°F", 1.0),
        "K": ("K", 1.0),
        "°": ("°", 1.0),
        "dB": ("dB", 1.0),
        "dBA": ("dBA", 1.0),
        "dB(A)": ("dBA", 1.0),
    }
    return found


_SYMBOLS = _units()
_BASES = frozenset(base for base, _ in _SYMBOLS.values())
CASE_TELLS = frozenset(
    one
    for folded in ({each: each.casefold() for each in _SYMBOLS},)
    for one in folded
    for other in folded
    if len(one) > 1 and folded[one] == folded[other] and _SYMBOLS[one] != _SYMBOLS[other]
)
"""Symbols that only capitals tell from another one: mW and MW."""
_POWERS = {"²": 2, "2": 2, "³": 3, "3": 3}
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
    "litre": ("m³", 1e-3),
    "liter": ("m³", 1e-3),
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
    "lux": ("lx", 1.0),
}
_BLANK = r"[ \u2009\u00a0\u202f]"
_EXPONENT = r"[+−-]?\d{1,2}"
_RAISED = r"[⁺⁻]?[⁰¹²³⁴-⁹]{1,2}"
_NUMBER = re.compile(
    r"(?<![\w.,/^])(?<![A-Za-z]-)(?P<sign>[+−-]?)"
    rf"(?:(?P<grouped>[1-9]\d{{0,2}}(?:(?:,\d{{3}}){{1,6}}|(?:{_BLANK}\d{{3}}){{1,6}}))(?P<rest>[.,]\d{{1,9}})?(?!\d)"
    rf"|(?P<whole>\d{{1,15}})(?:(?:[ -](?P<over>[1-9]\d?))?/(?P<under>[1-9]\d?)(?![\d/])|(?P<part>[.,]\d{{1,9}}))?)"
    rf"(?:[eE](?P<power>[+−-]\d{{1,2}})|\s?[×x·*]\s?10(?:\^(?P<times>{_EXPONENT})|(?P<by>[+−-]\d{{1,2}}|{_RAISED}))"
    rf"|\^(?P<to>{_EXPONENT})|(?P<mark>{_RAISED}))?"
    r"(?!\d|[.,]\d|[A-Za-z]{0,9}[\d_])"
    rf"|\b(?:{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})\b",
    re.IGNORECASE,
)
"""A number as English and ISO write it: blanks or commas between groups of three, a comma before other decimals."""
_SYMBOL = r"[°%‰µμΩ℃A-Za-z][A-Za-zΩ]{0,19}(?:[²³]|\^?[23](?!\w))?"
_UNIT = re.compile(
    rf"(?:{_BLANK}|-){{0,2}}(?P<unit>per\s?cent\b|dB\([A-Z]\)|{_SYMBOL}(?:[·⋅]{_SYMBOL})?(?:/{_SYMBOL})?)?"
)
_NO_UNIT = frozenset(
    "a an and any are as at be before but by can each else for from has if in into is it its of on or per shall should"
    " than that the then to under until unless was when where which while will with within may must not after".split()
)
_OR_EQUAL = r"(?: or equal to)?"
_LEAST_ELSEWHERE, _MOST_ELSEWHERE = (
    r"\b(?:mindestens|wenigstens|nicht (?:weniger|kleiner|kürzer|niedriger|geringer|schmaler|früher) als"
    r"|(?:mehr|größer|länger|höher|breiter) als|au (?:moins|minimum)|pas moins de|plus de"
    r"|supérieure?s? (?:ou égale?s? )?(?:à|au)|al menos|como mínimo|no menos de|más de"
    r"|superior(?:es)? (?:o igual(?:es)? )?a)",
    r"\b(?:höchstens|maximal|nicht (?:mehr|größer|länger|höher|breiter|später) als|bis zu"
    r"|(?:weniger|kleiner|kürzer|niedriger|geringer) als|au (?:plus|maximum)|pas plus de|moins de"
    r"|inférieure?s? (?:ou égale?s? )?(?:à|au)|como máximo|a lo sumo|no más de|menos de|hasta"
    r"|inferior(?:es)? (?:o igual(?:es)? )?a)",
)
"""How limits are said in German, French and Spanish."""
_LEAST = re.compile(
    rf"(?:{_LEAST_ELSEWHERE}|\bat (?:the )?least"
    rf"|\b(?:not|no) (?:be )?(?:less|fewer|lower|shorter|smaller|earlier) than{_OR_EQUAL}"
    rf"|(?<!\d )(?<!\d)\bmin(?:imum(?: of)?|\b\.?)|\b(?:more|greater|larger|longer|higher) than{_OR_EQUAL}"
    r"|\bexceed(?:s|ing)?|\babove|\bover|[≥>]=?|\bnot (?:be )?(?:below|under))\s*\Z",
    re.IGNORECASE,
)
_MOST = re.compile(
    rf"(?:{_MOST_ELSEWHERE}|\bat (?:the )?most"
    rf"|\b(?:not|no) (?:be )?(?:more|greater|longer|higher|larger|later) than{_OR_EQUAL}"
    rf"|\bmax(?:imum(?: of)?|\b\.?)|\bup to|\bwithin|\b(?:less|fewer|lower|shorter|smaller) than{_OR_EQUAL}"
    r"|\b(?:not|never) (?:to |be )?exceed(?:ing)?|\bbelow|\bunder|[≤<]=?|\bnot (?:be )?(?:above|over))"
    r"\s*(?:a |an |the )?\Z",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\b(?:between|from)\s{0,3}\Z", re.IGNORECASE)
_OPENS = re.compile(r"(?:between|from)\s", re.IGNORECASE)
_TO = re.compile(r"\s{0,3}(?:to|–)\s{0,3}")
_AND = re.compile(r"\s{0,3}(?:and|to|-|–)\s{0,3}", re.IGNORECASE)
_OR_MORE = re.compile(
    r"\s{0,3}(?:or (?:more|longer|greater|higher|above)|(?:at )?min(?:imum)?|oder mehr|nicht (?:zu )?unterschreiten"
    r"|ou plus|o más)\b",
    re.IGNORECASE,
)
_OR_LESS = re.compile(
    r"\s{0,3}(?:or (?:less|fewer|shorter|lower|below)|(?:at )?max(?:imum)?|oder weniger|nicht (?:zu )?überschreiten"
    r"|ou moins|o menos)\b",
    re.IGNORECASE,
)
_BEFORE = 40
"""Characters in front of a number that are looked at: the longest phrase of a limit is shorter."""


_COMMA_PARTS = frozenset({"da", "de", "es", "fi", "fr", "it", "nl", "no", "pt", "ru", "sv"})
"""Languages in which "1.500" is fifteen hundred and "1,500" one and a half."""
_GROUPED_BY_POINTS = re.compile(r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3}){1,6}(?![\d.]\d|\d)")
_PART_OF_THREE = re.compile(r"(?<=\d),(?=\d{3}(?![\d.]\d|\d|,\d))")


def quantities(sentence: str, language: str | None = None) -> list[Quantity]:
    """List the numbers of a sentence with unit and bound, in order; what is part of a name ("TLS1", "A-4") is none.

    Args:
        sentence: the text.
        language: as `language_of` tells it, None where that is to tell; it tells what "1.500" is.
    """
    found: list[Quantity] = []
    original, sentence = sentence, mask_places(sentence).replace("\u2126", "Ω")  # the sign of ohm, and the letter
    if (language_of(sentence) if language is None else language) in _COMMA_PARTS:
        sentence = _PART_OF_THREE.sub(
            ".", _GROUPED_BY_POINTS.sub(lambda it: it.group().replace(".", "\u202f"), sentence)
        )
    for number, named, unit, factor in _measured(sentence):
        end = named.end() if unit else number.end()
        before = sentence[max(0, number.start() - _BEFORE) : number.start()]
        bound, led, followed = _bound(before, sentence[end : end + _BEFORE])
        value = _value(number)
        if bound is Bound.EXACT and found and _is_range(sentence, found[-1], number.start(), value * factor, factor):
            bound, first = Bound.MOST, replace(found[-1], bound=Bound.LEAST)
            if not first.unit:
                printed = f"{first.printed}{original[number.end() : end]}"
                first = replace(first, value=first.value * factor, unit=unit, printed=printed)
            found[-1] = first
        printed = " ".join(original[number.start() : end].split())
        found.append(Quantity(value * factor, unit, bound, number.start() - led, end + followed, printed))
    return found


_DENIED = re.compile(r"\b(?:not|never|no|nicht|pas)\b", re.IGNORECASE)
_OTHER = {Bound.LEAST: Bound.MOST, Bound.MOST: Bound.LEAST, Bound.EXACT: Bound.EXACT}


def denied(text: str, force: Force | None, printed: Sequence[Quantity]) -> tuple[bool, tuple[Quantity, ...]]:
    """Tell what a sentence denies: what it says, or its limits, which then are others: "not wait more than 5 s".

    Args:
        text: the sentence.
        force: its strongest.
        printed: its limits as they are printed.

    Returns:
        Whether what it says is denied, and the limits that it sets.
    """
    if force is None or not force.negated or not any(_limits_after(force, each) for each in printed):
        return force is not None and force.negated, tuple(printed)
    denying = [each for each in printed if _DENIED.search(text, each.start, each.end)]
    if any(text[force.end : each.start].strip() for each in denying):
        return True, tuple(printed)  # denied twice: "not take no longer than 5 s"
    return False, tuple(printed if denying else (replace(each, bound=_OTHER[each.bound]) for each in printed))


def limits_in(sentence: str, language: str | None = None) -> tuple[Quantity, ...]:
    """List the limits that a sentence sets: "shall not run for more than 5 min" is at most 5 min.

    The arguments are those of `quantities`.
    """
    language = language_of(sentence) if language is None else language
    convention = replace(PLAIN, language=language) if language in FORCEFUL else PLAIN
    force = max(forces_of(sentence, convention), key=lambda each: RANK[each.modality], default=None)
    return denied(sentence, force, quantities(sentence, language))[1]


def _limits_after(force: Force, limit: Quantity) -> bool:
    return limit.bound is not Bound.EXACT and limit.end > force.end


def _is_range(sentence: str, first: Quantity, start: int, last: float, factor: float) -> bool:
    """Tell whether a number, which starts there, ends the range that the one before opens: "between 5 and 10 V"."""
    if first.bound is not Bound.EXACT:
        return False
    if _OPENS.match(sentence, first.start):
        return _AND.fullmatch(sentence, first.end, start) is not None
    is_less = first.value * (1 if first.unit else factor) < last
    return is_less and _TO.fullmatch(sentence, first.end, start) is not None


def _measured(sentence: str) -> Iterator[tuple[re.Match[str], re.Match[str], str, float]]:
    """Yield each number with what names its unit, its base unit, and the factor to it."""
    for number in _NUMBER.finditer(sentence):
        named = _UNIT.match(sentence, number.end())
        assert named is not None  # all of it is optional
        yield number, named, *_base(named["unit"] or "")


def _base(printed: str) -> tuple[str, float]:
    """Return the base unit and the factor to it; for what is no unit, the noun, or nothing."""
    symbol = printed.replace("·", "").replace("⋅", "")
    over, slash, under = symbol.partition("/")
    one, other = _single(over), _single(under)
    if not slash and one is not None:
        return one
    if one is not None and other is not None:
        unit = f"{one[0]}/{other[0]}"
        return ("Pa" if unit == "N/m²" else unit), one[1] / other[1]
    name = printed.lower()
    if name in _NO_UNIT:
        return "", 1.0
    noun = name if slash else name.removesuffix("s")
    return (printed if noun in _BASES else noun), 1.0  # "M" is no metre, "G" no gram


def _single(symbol: str) -> tuple[str, float] | None:
    """Return the base of one unit, squared or cubed too; None where it is not known."""
    names = (symbol.lower(), symbol.lower().removesuffix("s"))
    known = _SYMBOLS.get(symbol) or next((_NAMES[each] for each in names if each in _NAMES), None)
    power = _POWERS.get(symbol[-1:])
    if known is not None or power is None:
        return known
    plain = _SYMBOLS.get(symbol[:-1].removesuffix("^"))
    return None if plain is None else (f"{plain[0]}{'²³'[power - 2]}", plain[1] ** power)


def is_physical(unit: str) -> bool:
    """Tell whether a base unit measures something, and does not count things."""
    return bool(unit) and all(each in _BASES or each[:-1] in _BASES for each in unit.split("/"))


def _value(number: re.Match[str]) -> float:
    known = NUMBER_WORDS.get(number.group().lower())
    if known is not None:
        return known
    if number["grouped"]:
        value = float(re.sub(r"\D", "", number["grouped"]) + (number["rest"] or "").replace(",", "."))
    else:
        value = float(number["whole"] + (number["part"] or "").replace(",", "."))
    if number["under"]:
        value = value + int(number["over"]) / int(number["under"]) if number["over"] else value / int(number["under"])
    sign = -1 if number["sign"] in {"-", "−"} else 1
    if to := number["to"] or number["mark"]:
        return sign * (value ** _exponent(to) if value in {2, 10} else value)  # else it is the mark of a note
    if ten := number["power"] or number["times"] or number["by"]:
        value *= 10.0 ** _exponent(ten)
    return sign * value


def _exponent(printed: str) -> int:
    return int(printed.translate(_LOWERED))


_LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")


def _bound(before: str, after: str) -> tuple[Bound, int, int]:
    """Tell the bound, and how many characters before and after the number say so.

    The longer words count: "not less than" and not "less than".
    """
    found: list[tuple[Bound, int, int]] = []
    for bound, ahead, behind in ((Bound.MOST, _MOST, _OR_LESS), (Bound.LEAST, _LEAST, _OR_MORE)):
        led, followed = ahead.search(before), behind.match(after)
        if led or followed:
            found.append((bound, len(led.group()) if led else 0, followed.end() if followed else 0))
    if found:
        return max(found, key=lambda each: each[1:])
    between = _BETWEEN.search(before)
    return Bound.EXACT, len(between.group()) if between else 0, 0
