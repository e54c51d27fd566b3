"""Units as printed after numbers, and their values in base units."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import product
from math import prod
from typing import NamedTuple

Based = tuple[str, float]
"""A base unit, and the factor to it."""


_SI = "s m g V A W Hz Pa N J Ω Nm VA F H lx cd lm mol Bq Gy Sv bit".split()
"""Units that take prefixes."""


def _symbols() -> dict[str, Based]:
    """Map symbols, case-sensitive, to base unit and factor: SI prefixes with SI units, and the others by name."""
    prefixes = {"n": 1e-9, "µ": 1e-6, "μ": 1e-6, "u": 1e-6, "m": 1e-3, "": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    found: dict[str, Based] = {}
    for prefix, factor in prefixes.items():
        for symbol in _SI:
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
    for symbol in ("V", "kV", "mV", "A", "mA"):
        found[f"{symbol}AC"] = found[f"{symbol}DC"] = found[symbol]
    found["kB"], found["kbps"] = ("B", 1e3), ("bit/s", 1e3)
    return found | {
        "cm": ("m", 1e-2),
        "dm": ("m", 1e-1),
        "ha": ("m²", 1e4),
        "min": ("s", 60.0),
        "h": ("s", 3600.0),
        "hr": ("s", 3600.0),
        "hrs": ("s", 3600.0),
        "sec": ("s", 1.0),
        "in": ("m", 0.0254),
        "ft": ("m", 0.3048),
        "yd": ("m", 0.9144),
        "mi": ("m", 1609.344),
        "mph": ("m/s", 0.44704),
        "lb": ("g", 453.59237),
        "lbs": ("g", 453.59237),
        "oz": ("g", 28.349523125),
        "t": ("g", 1e6),
        "hPa": ("Pa", 1e2),
        "psi": ("Pa", 6894.757293168),
        "ksi": ("Pa", 6894757.293168),
        "psf": ("Pa", 47.88025898),
        "mmHg": ("Pa", 133.322387415),
        "%": ("%", 1.0),
        "‰": ("%", 0.1),
        "°C": ("°C", 1.0),
        "℃": ("°C", 1.0),
        "°F": ("°F", 1.0),
        "K": ("K", 1.0),
        "°": ("°", 1.0),
        "dB": ("dB", 1.0),
        "dBA": ("dBA", 1.0),
        "dB(A)": ("dBA", 1.0),
        "€": ("€", 1.0),
        "£": ("£", 1.0),
        "$": ("$", 1.0),
    }


_SYMBOLS = _symbols()
RATIO = "ratio"
"""The base unit of "1:12" and "1 in 12"."""
_CURRENCIES = {"EUR": "€", "GBP": "£", "USD": "$", "US$": "$", "CHF": "CHF"}
_BASES = frozenset(
    (*(base for base, _ in _SYMBOLS.values()), RATIO, "month", "working day", "¥", *_CURRENCIES.values())
)
CASE_TELLS = frozenset(
    one
    for folded in ({each: each.casefold() for each in _SYMBOLS},)
    for one in folded
    for other in folded
    if len(one) > 1 and folded[one] == folded[other] and _SYMBOLS[one] != _SYMBOLS[other]
)
"""Symbols that differ from another only in case: mW and MW."""
_POWERS = {"²": 2, "2": 2, "³": 3, "3": 3, "sq": 2, "square": 2, "cu": 3, "cubic": 3}


_NAMED: tuple[tuple[str, Based], ...] = (
    ("- sekunde seconde segundo", ("s", 1.0)),
    ("minute minute minute minuto", ("s", 60.0)),
    ("hour stunde heure hora", ("s", 3600.0)),
    ("day tag jour día", ("s", 86400.0)),
    ("week woche semaine semana", ("s", 604800.0)),
    ("month monat mois mes", ("month", 1.0)),
    ("year jahr année año", ("month", 12.0)),
    ("- - an -", ("month", 12.0)),
    ("working_day arbeitstag - -", ("working day", 1.0)),
    ("- meter mètre metro", ("m", 1.0)),
    ("- millimeter millimètre milímetro", ("m", 1e-3)),
    ("- zentimeter centimètre centímetro", ("m", 1e-2)),
    ("- kilometer kilomètre kilómetro", ("m", 1e3)),
    ("inch zoll pouce pulgada", ("m", 0.0254)),
    ("foot - - -", ("m", 0.3048)),
    ("yard - - -", ("m", 0.9144)),
    ("mile - - -", ("m", 1609.344)),
    ("acre - - -", ("m²", 4046.8564224)),
    ("hectare hektar hectare hectárea", ("m²", 1e4)),
    ("- gramm gramme gramo", ("g", 1.0)),
    ("- kilogramm kilogramme kilogramo", ("g", 1e3)),
    ("tonne tonne tonne tonelada", ("g", 1e6)),
    ("pound - - -", ("g", 453.59237)),
    ("ounce - - -", ("g", 28.349523125)),
    ("- liter litre litro", ("m³", 1e-3)),
    ("percent prozent - -", ("%", 1.0)),
    ("degree grad degré grado", ("°", 1.0)),
    ("euro euro euro euro", ("€", 1.0)),
    ("dollar dollar dollar dólar", ("$", 1.0)),
)
"""Names of units in English, German, French and Spanish, "-" if absent; `_names` adds metric names in English."""


def _names() -> dict[str, dict[str, Based]]:
    """Map the names of units, in lower case and singular, by language."""
    sizes = (1e-9, 1e-6, 1e-3, 1e-2, 1e3, 1e6, 1e9)
    prefixes = {"": 1.0, **dict(zip("nano micro milli centi kilo mega giga".split(), sizes, strict=True))}
    metric = "second metre meter gram byte bit volt watt ampere amp hertz newton pascal joule ohm lux".split()
    bases = dict(zip(metric, "s m m g B bit V W A A Hz N Pa J Ω lx".split(), strict=True))
    english = {f"{prefix}{name}": (bases[name], prefixes[prefix]) for prefix, name in product(prefixes, bases)}
    english |= {f"{prefix}lit{end}": ("m³", 1e-3 * prefixes[prefix]) for prefix, end in product(prefixes, ("re", "er"))}
    found = {
        "en": english | {"inche": ("m", 0.0254), "feet": ("m", 0.3048), "business day": ("working day", 1.0)},
        "de": {},
        "fr": {"mois": ("month", 1.0)},
        "es": {"mes": ("month", 1.0)},
    }
    for names, based in _NAMED:
        for language, name in zip(found, names.split(), strict=True):
            if name != "-":
                found[language][name.replace("_", " ")] = based
    return found


_NAMES = _names()
_SYMBOL = r"[°%‰µμΩ℃€£A-Za-z][A-Za-zΩ]{0,19}(?:[²³]|\^?[23](?!\w))?"
_UNIT = re.compile(
    r"(?P<mark>[′″'\"])(?![A-Za-z])"
    r"|(?:[ \u2009\u00a0\u202f]|-){0,3}(?P<unit>(?:per\s?cent|pour\scent|por\sciento|dB\([A-Z]\)(?!\w)"
    r"|deg(?:rees?)?\.?\s(?:Celsius|Fahrenheit|[CF])|(?:business|working)\sdays?|mm\sHg|N\sm(?![²³/]))(?!\w)"
    r"|(?P<power>square|cubic|sq|cu)\b\.?[ -](?P<of>[A-Za-z]{2,20})"
    rf"|(?:calendar|consecutive|full|clear|whole)\s(?P<plainly>[a-z]{{3,12}})"
    rf"|{_SYMBOL}(?:[·⋅]{_SYMBOL})?(?:/{_SYMBOL}(?!\d))?(?![^\W\d_])|[^\W\d_]{{1,24}})",
    re.IGNORECASE,
)
_INCHES = re.compile(
    r"[.,;:)\]]|\Z|\s?[x×(]|\s(?:long|wide|high|tall|thick|deep|apart|or|and|by|of|from|above|below|between|clear|minimum|maximum"
    r"|min|max|in|diameter|nominal|to|for|shall|must|is|are)\b",
    re.IGNORECASE,
)
"""What follows "in" if it is a unit: "5 in the room" has none."""
_NO_UNIT = frozenset(
    "a an and any are as at be before but by can each else for from has if in into is it its of on or out per shall"
    " should than that the then to under until unless was when where which while will with within may must not after x"
    " und oder in im von bis bei je pro darf dürfen muss müssen et ou de du des dans par à y o del en por".split()
)
_RAISED_NAME = re.compile(r"\s(?:(?P<square>carrée?s?|cuadrad[oa]s?)|cubes?|cúbic[oa]s?)(?!\w)", re.IGNORECASE)
"""What follows the name of a unit in French and Spanish: "mètres carrés"."""
_PART = r"[°%‰µμΩ℃€£A-Za-z]{1,20}+(?:[²³]|\^?[23](?!\d))?+"
_PARTS = re.compile(_PART)
_DIVISOR = re.compile(
    rf"(?:(?P<loose>\s/\s?|/\s)|/)(?:\((?P<inner>[^()\s]{{1,16}})\)|(?P<symbols>{_PART}(?:[·⋅*]?{_PART}){{0,2}}))(?!\w)"
    r"|\s(?P<word>per|je|pro|par|por)\s(?:line[ae][rl]\s|running\s)?(?:(?P<power>square|cubic|sq|cu)\.?\s)?"
    r"(?P<name>[^\W\d_]{1,24}[²³23]?)(?![\w'’])"
)
"""What a unit is divided by, after its first part: "/m²K", "/(m²·K)", "per m²", "pro Person"."""
_DIVIDES = frozenset({("per", False), ("je", True), ("pro", True)})
"""Words before things that are no units, and whether those have a capital: "per person", "je Person"."""
_PRODUCT = re.compile(r"\s[A-Za-z]{1,3}[23²³]/[A-Za-z]|(?:\s[A-Za-z]{1,3}[-−⁻][1-3¹²³]){1,4}")
"""A second factor of a unit after a blank, as in "W m-2 K-1" and "Pa m³/s"."""
_ALSO = {"N/m²": "Pa"}
"""Units that have another name."""
_PER_CENT = frozenset({"per cent", "percent", "pour cent", "por ciento"})


class PrintedUnit(NamedTuple):
    """The unit after a number.

    Attributes:
        end: its end offset, or the number's end if there is none.
        base: base unit; for counted things, the noun after the number; empty if nothing follows.
        factor: number of base units in one unit.
    """

    end: int
    base: str
    factor: float


def unit_behind(text: str, end: int, language: str | None = None, money: str = "") -> PrintedUnit:
    """Read the unit after a number.

    Args:
        text: any text.
        end: end offset of the number.
        language: language whose names of units count in addition to English.
        money: currency sign before the number, which is then its unit.
    """
    if money:
        return _divided(text, PrintedUnit(end, _CURRENCIES.get(money, money), 1.0), language)
    match = _UNIT.match(text, end)
    if match is None:
        return PrintedUnit(end, "", 1.0)
    if match["mark"]:
        base = _marked(text, end, match["mark"])
        return PrintedUnit(match.end(), *base) if base else PrintedUnit(end, "", 1.0)
    printed = match["plainly"] or match["unit"]
    if printed.lower() == "in" and not _INCHES.match(text, match.end()):
        return PrintedUnit(end, "", 1.0)
    if match["power"]:
        one = _single(match["of"], "en")
        power = _POWERS[match["power"].lower()]
        unit = PrintedUnit(match.end(), *(_raised(one, power) if one else (match["of"].lower(), 1.0)))
        return _divided(text, unit, language)
    base, factor = _base(printed, language)
    if not base:
        return PrintedUnit(end, "", 1.0)
    raised = _RAISED_NAME.match(text, match.end())
    if raised is not None:
        base, factor = _raised((base, factor), 2 if raised["square"] else 3)
    return _divided(text, PrintedUnit((raised or match).end(), base, factor), language)


def _divided(text: str, unit: PrintedUnit, language: str | None) -> PrintedUnit:
    """Extend a unit by what it is divided by.

    What is unknown becomes part of the base unit: five pounds per square foot are not five pounds.
    """
    if is_physical(unit.base) and (more := _PRODUCT.match(text, unit.end)) is not None:
        return PrintedUnit(more.end(), f"{unit.base}·{more[0].strip()}", unit.factor)
    while is_physical(unit.base) and (match := _DIVISOR.match(text, unit.end)) is not None:
        printed = match["inner"] or match["symbols"] or match["name"]
        parts = [_single(each, language) for each in _PARTS.findall(printed)]
        if match["power"] and parts[0] is not None:
            parts = [_raised(parts[0], _POWERS[match["power"]])]
        known = [each for each in parts if each is not None]
        if len(known) < len(parts):
            is_thing = (match["word"], printed[0].isupper()) in _DIVIDES and printed not in _NO_UNIT
            if match["loose"] or not (is_thing or match["word"] is None) or not printed.strip("x"):
                return unit
            known = [(printed.lower().removesuffix("s"), 1.0)]
        over, _, under = unit.base.partition("/")
        base = f"{over}/{'·'.join(sorted([*filter(None, under.split('·')), *(one for one, _ in known)]))}"
        unit = PrintedUnit(match.end(), _ALSO.get(base, base), unit.factor / prod(factor for _, factor in known))
    return unit


def _marked(text: str, end: int, mark: str) -> Based | None:
    """Read the signs for feet and inches, or after degrees for minutes and seconds of arc; None for quotation marks."""
    is_double = mark in '″"'
    before = text[:end]
    if "°" in before[-8:]:
        return ("°", 1 / 3600 if is_double else 1 / 60)
    if mark in "'\"" and (before.count(mark) % 2 or mark in before.split()[-1]):
        return None
    return ("m", 0.0254 if is_double else 0.3048)


def _base(printed: str, language: str | None) -> Based:
    """Return the base unit and its factor; if it is not a unit, the noun, or an empty string."""
    if printed.lower() in _PER_CENT:
        return "%", 1.0
    if printed.lower().startswith("deg") and " " in printed:
        return f"°{printed.split()[1][0].upper()}", 1.0
    symbol = re.sub(r"[·⋅]|(?<=\bmm)\s(?=Hg)|(?<=\bN)\s(?=m)", "", printed)
    over, slash, under = symbol.partition("/")
    one, other = _single(over, language), _single(under, language)
    if not slash and one is not None:
        return one
    if one is not None and other is not None:
        unit = f"{one[0]}/{other[0]}"
        return _ALSO.get(unit, unit), one[1] / other[1]
    if one is not None and slash:
        return f"{one[0]}/{under.lower().removesuffix('s')}", one[1]
    name = printed.lower()
    if name in _NO_UNIT:
        return "", 1.0
    noun = name if slash else name.removesuffix("s")
    return (printed if noun in _BASES else noun), 1.0  # "M" is not metre, "G" is not gram


def _single(symbol: str, language: str | None) -> Based | None:
    """Return the base of one unit, possibly squared or cubed; None if it is unknown."""
    known = _SYMBOLS.get(symbol) or _named(symbol.lower(), language)
    if known is None and symbol in _CURRENCIES:
        known = (_CURRENCIES[symbol], 1.0)
    power = _POWERS.get(symbol[-1:])
    if known is not None or power is None:
        return known
    plain = _SYMBOLS.get(symbol[:-1].removesuffix("^"))
    return None if plain is None else _raised(plain, power)


def _raised(plain: Based, power: int) -> Based:
    return f"{plain[0]}{'²³'[power - 2]}", plain[1] ** power


def _named(name: str, language: str | None) -> Based | None:
    english = _NAMES["en"].get(name) or _NAMES["en"].get(name.removesuffix("s"))
    elsewhere: Mapping[str, Based] = _NAMES.get(language or "en", {}) if language != "en" else {}
    stems = (name[: len(name) - cut] for cut in range(3))
    return next((elsewhere[stem] for stem in stems if stem in elsewhere), english)


def is_physical(unit: str) -> bool:
    """Return whether a base unit measures something, including money, rather than counts things.

    What it is divided by may be anything: "10 l per person" measures.
    """
    measured = re.split(r"[/·]", unit, maxsplit=1)[0]
    return measured in _BASES or measured[:-1] in _BASES


def is_unit(text: str) -> bool:
    """Return whether a text is the name of a physical unit, and nothing else."""
    printed = f"1 {text}"
    unit = unit_behind(printed, 1)
    return unit.end == len(printed) and is_physical(unit.base)


def names_of_unit(base: str, factor: float) -> tuple[str, ...]:
    """List how a unit is printed in English: "h", "hr", "hrs" and "hour" for 3600 seconds; empty if it is unknown."""
    power = _POWERS.get(base[-1:], 1)
    if power == 1 or (base, factor) in _ENGLISH:
        return _ENGLISH.get((base, factor), ())
    plain = _ENGLISH.get((base[:-1], round(factor ** (1 / power), 9)), ())
    word = "square" if power == 2 else "cubic"
    return tuple(f"{each}{power}" if each in _SYMBOLS else f"{word} {each}" for each in plain)


def _english() -> dict[Based, tuple[str, ...]]:
    found: dict[Based, tuple[str, ...]] = {}
    degrees = {"degrees Celsius": ("°C", 1.0), "degrees Fahrenheit": ("°F", 1.0)}
    for name, based in (_SYMBOLS | _NAMES["en"] | degrees).items():
        found[based] = (*found.get(based, ()), name)
    return found


_ENGLISH = _english()
