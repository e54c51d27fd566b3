"""Numbers as printed, in digits, as fractions and in words, and their values."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterator, Mapping
from typing import NamedTuple

_COUNTED = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen"
    " eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_SCALES = {"dozen": 12.0, "hundred": 100.0, "thousand": 1e3, "million": 1e6, "billion": 1e9, "trillion": 1e12}
_WORDS: Mapping[str, float] = {
    **{word: float(place) for place, word in enumerate(_COUNTED)},
    **{word: 10.0 * place for place, word in enumerate(_TENS, 2)},
    **_SCALES,
    "half a dozen": 6.0,
}


def _below_hundred(ones: str, tens: str, joint: str) -> dict[str, float]:
    """Map the numbers from two to 99 in words.

    Args:
        ones: the numbers from one on that are not composed.
        tens: the tens that others are composed with, with their values: "trente 30".
        joint: between a ten and a number: "trente-deux", "treinta y dos".
    """
    words = ones.split()
    found = {word: float(place) for place, word in enumerate(words, 1) if place > 1}
    for ten, value in zip(tens.split()[::2], map(int, tens.split()[1::2]), strict=True):
        most = 20 if value in {60, 80} and joint == "-" else 10  # "soixante-dix"
        found[ten] = float(value)
        found |= {f"{ten}{joint}{word}": float(value + place) for place, word in enumerate(words[: most - 1], 1)}
        found |= {f"{ten} et {words[place - 1]}": float(value + place) for place in (1, 11) if place < most}
    return found


_ELSEWHERE: Mapping[str, Mapping[str, float]] = {
    "fr": _below_hundred(
        "un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze seize dix-sept dix-huit"
        " dix-neuf",
        "vingt 20 trente 30 quarante 40 cinquante 50 soixante 60 quatre-vingt 80",
        "-",
    )
    | {"quatre-vingts": 80.0},
    "es": _below_hundred(
        "uno dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce quince dieciséis diecisiete"
        " dieciocho diecinueve veinte veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete"
        " veintiocho veintinueve",
        "treinta 30 cuarenta 40 cincuenta 50 sesenta 60 setenta 70 ochenta 80 noventa 90",
        " y ",
    ),
}
"""Numbers below a hundred, which standards and laws in these languages print as words."""


def _parts_in_words(counts: str, parts: str, half: str) -> dict[str, float]:
    """Map parts of a whole in words: "zwei drittel".

    Args:
        counts: words for how many, with their values.
        parts: words for one and for several parts, with their number in the whole.
        half: the words for one half.
    """
    many, few = (
        {word: int(value) for word, value in zip(each[::2], each[1::2], strict=True)}
        for each in (counts.split(), parts.split())
    )
    found = {f"{one} {part}": many[one] / few[part] for one in many for part in few if many[one] < few[part]}
    return found | dict.fromkeys(half.split("|"), 0.5)


_PARTS_ELSEWHERE: Mapping[str, Mapping[str, float]] = {
    "de": _parts_in_words(
        "ein 1 einem 1 eines 1 zwei 2 drei 3 vier 4 fünf 5",
        "drittel 3 drittels 3 dritteln 3 viertel 4 viertels 4 vierteln 4 fünftel 5 fünfteln 5 sechstel 6 achtel 8"
        " zehntel 10",
        "die hälfte|der hälfte|eine halbe|einer halben|einen halben|einem halben|ein halber|ein halbes",
    )
    | {"anderthalb": 1.5, "eineinhalb": 1.5, "zweieinhalb": 2.5, "dreieinhalb": 3.5, "viereinhalb": 4.5},
    "fr": _parts_in_words(
        "un 1 deux 2 trois 3 quatre 4", "tiers 3 quart 4 quarts 4 cinquième 5 cinquièmes 5 dixième 10", "la moitié"
    ),
    "es": _parts_in_words(
        "un 1 dos 2 tres 3 cuatro 4", "tercio 3 tercios 3 cuarto 4 cuartos 4 quinto 5 quintos 5 décimo 10", "la mitad"
    ),
}
_SPELLED_ELSEWHERE = {
    language: {**_ELSEWHERE.get(language, {}), **parts} for language, parts in _PARTS_ELSEWHERE.items()
}
_GERMAN: Mapping[str, float] = {
    word: float(place)
    for place, word in enumerate(
        "ein zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn"
        " achtzehn neunzehn".split(),
        1,
    )
} | {
    word: 10.0 * place
    for place, word in enumerate("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig".split(), 2)
}
_IN_GERMAN = re.compile(
    r"\b(?:eine[rnm]?(?=\s(?:Million|Milliarde)\b)|ein(?:em|es)?(?=\sDutzend\b)|(?!(?:ein|und)\b|und)(?P<word>(?:"
    + "|".join(sorted((*_GERMAN, "und", "hundert", "tausend"), key=len, reverse=True))
    + r")++)(?<!und)\b)(?:\s(?P<scale>Million(?:en)?|Milliarden?|Dutzend)\b)?",
    re.IGNORECASE,
)
"""A number that German writes as one word: "zweitausendfünfhundert"."""
_SCALE_IN_GERMAN = {"dutzend": 12.0, "million": 1e6, "millionen": 1e6, "milliarde": 1e9, "milliarden": 1e9, "": 1.0}
_QUARTERS_IN_GERMAN = re.compile(r"\b(?:eine[rs]?\s)?(?P<over>drei)?viertel(?=stunden?\b)", re.IGNORECASE)
"""A quarter in front of the unit that it is written with: "eine Viertelstunde"."""
_ROUND = frozenset(_WORDS[word] for word in _TENS)
_PARTS = {
    "half": 2,
    "halve": 2,
    "third": 3,
    "quarter": 4,
    "fourth": 4,
    "fifth": 5,
    "sixth": 6,
    "eighth": 8,
    "tenth": 10,
}

_BLANK = r"[ \u2009\u00a0\u202f]"
VULGAR = "".join(chr(code) for code in (*range(0xBC, 0xBF), *range(0x2150, 0x215F)))
"""Fractions that are a single character: ½."""
_EXPONENT = r"[+−-]?\d{1,2}(?:\.\d{1,3})?"
_RAISED = r"[⁺⁻]?[⁰¹²³⁴-⁹]{1,2}"
_MONEY = r"(?:(?:US|AU|NZ|HK|[AC])?\$|[€£¥]|(?:EUR|USD|GBP|CHF)(?=[\s\d]))\s?"
_IN_DIGITS = re.compile(
    rf"(?<![\w.,/⁄^])(?<![A-Za-z][+-])(?P<sign>[+−-]?|(?<=[\s(])–(?=\d))(?P<money>{_MONEY})?"
    rf"(?:(?P<grouped>[1-9]\d{{0,2}}(?:(?:,\d{{3}}){{1,6}}|(?:['’]\d{{3}}){{1,6}}|(?:{_BLANK}\d{{3}}){{1,6}}))(?P<rest>[.,]\d{{1,9}})?(?!\d)"
    rf"|(?P<whole>\d{{1,15}})(?:(?:[ -](?P<over>[1-9]\d?))?[/⁄](?P<under>[1-9]\d?)(?![\d/])"
    rf"|(?P<part>[.,]\d{{1,9}})|{_BLANK}?(?P<vulgar>[{VULGAR}]))?|(?P<alone>[{VULGAR}]))"
    rf"(?:[eE](?P<power>[+−-]\d{{1,2}})|\s?[×x·*]\s?10(?:\^(?P<times>{_EXPONENT})|(?P<by>[+−-]\d{{1,2}}|{_RAISED}))"
    rf"|\^(?P<to>{_EXPONENT})|(?P<mark>{_RAISED}))?"
    r"(?!\d|[.,]\d|(?![cdkm]?m[23](?!\w))[A-Za-z]{0,9}[\d_])",
    re.IGNORECASE,
)
"""A number in English or ISO notation: blanks or commas between groups of three, otherwise a comma is a decimal sign.
"""
_UNIT_LENGTH = 10
_BEHIND_NUMBER = re.compile(r"\d\s?\S{0,6}\s\Z")
"""What precedes a dash that is not a minus sign: "5 mm –8 mm"."""
_SCALED = re.compile(
    r"[ \u00a0-]?(?P<scale>thousand|(?:m|b|tr)illions?|millionen|millones|milliard(?:en?|s)?|mio|mrd)\b\.?",
    re.IGNORECASE,
)
_SCALE_OF = {"mill": 1e6, "mio": 1e6, "mrd": 1e9, "bill": 1e9, "trill": 1e12, "thou": 1e3, "milliard": 1e9}
_SHORT = re.compile(r"\s?(?P<scale>k|mn|m|bn|b)\b", re.IGNORECASE)
_SHORT_OF = {"k": 1e3, "m": 1e6, "mn": 1e6, "b": 1e9, "bn": 1e9}
"""Scales after amounts of money: "£5m"."""
_WORD = "|".join(sorted(_WORDS, key=len, reverse=True))
_AND = rf"and\s(?!(?:{_WORD})\s(?:{'|'.join(_SCALES)}))"
""""and" inside a number, not between two numbers as in "between one hundred and two hundred"."""
_IN_WORDS = re.compile(
    rf"\b(?!ten\s(?:minste|hoogste|opzichte|behoeve|gevolge|aanzien)\b)(?:an?\s(?={'|'.join(_SCALES)}))?(?:{_WORD})\b(?:(?:-|\s(?:{_AND})?)(?:{_WORD})\b){{0,12}}",
    re.IGNORECASE,
)
_JOINED = re.compile(rf"(?P<and>\band\s)?\b(?P<word>{_WORD}|an?(?=\s))\b", re.IGNORECASE)
_ONE_ELSEWHERE = {
    language: re.compile(
        rf"(?<![\w-])(?:{'|'.join(sorted(words, key=len, reverse=True))})(?![\w-]|\s(?:cents?|cientos|mil\w*)\b)",
        re.IGNORECASE,
    )
    for language, words in _SPELLED_ELSEWHERE.items()
}
AND_A_HALF = re.compile(r"\s(?:and\s)?(?:a|one)[\s-]half\b", re.IGNORECASE)
"""A half after a number or its unit: "one and a half hours", "an hour and a half"."""
_FRACTION = re.compile(
    r"\b(?P<over>one|two|three|five|seven)(?:[ -](?P<under>halves|thirds|quarters|fourths|fifths|sixths|eighths|tenths)"
    r"|(?:-|[ ](?=\w{4,7}\sof\b))(?P<single>half|third|quarter|fourth|fifth|sixth|eighth|tenth))\b(?!-)"
    r"|\bhalf\san?(?=\s)|\ban?\s(?P<part>half|third|quarter|fourth|fifth|sixth|eighth|tenth)(?=\sof\b)"
    r"|\b(?P<bare>half)(?=\s(?:of|the|all|its|their)\b)",
    re.IGNORECASE,
)
_OF_ONE = re.compile(
    r"\sof\san?(?=\s(?:second|minute|hour|day|week|month|year|inch|foot|mile|acre|lit(?:er|re)|gram|ton(?:ne)?|dozen"
    r"|(?:kilo|centi|milli)?met(?:er|re)|(?:kilo|milli)gram|percent|degree)\b)",
    re.IGNORECASE,
)
"""What joins a fraction to its unit: "a quarter of an hour"."""
_ONE_OF = re.compile(r"\b(?:an?|one)(?=\s[a-z]{3,12}\sand\sa\shalf\b)", re.IGNORECASE)
"""What counts a unit before its half: "an hour and a half"."""
_NTHS: Mapping[str, int] = dict(
    zip(
        "third fourth fifth sixth seventh eighth ninth tenth twelfth twentieth hundredth"
        " dritte vierte fünfte sechste siebte achte neunte zehnte zwölfte zwanzigste hundertste".split(),
        (3, 4, 5, 6, 7, 8, 9, 10, 12, 20, 100) * 2,
        strict=True,
    )
)
_EVERY_NTH = re.compile(
    rf"\b(?P<every>every|(?:jede|alle)[rsnm]?)\s(?:(?P<word>{'|'.join(_NTHS)})[rsnm]?|(?P<digits>[1-9]\d?)(?:rd|nd|th|st|\.))"
    r"(?=\s(?:(?P<time>hour|day|week|month|year|stunde|tag|woche|monat|jahr)(?![^\W\d_]{3})|[^\W\d_]))",
    re.IGNORECASE,
)
"""One of as many things, or an interval: "every tenth weld", "every third year", "jede zehnte Naht"."""
_BEFORE_HALF = re.compile(
    r"(?:\A|[.,;:(]\s?|\b(?:least|most|than|only|about|approximately|nearly|exceed(?:s|ing)?|by|to|of|for|at|in|on|with|over"
    r"|under|above|below|and|or|is|are|be|was|were)\s)\Z",
    re.IGNORECASE,
)
"""What precedes "half of" if it is a number: "the upper half of" is a place."""
_LONGEST_BEFORE = 14
"""Characters before "half" that are read; the longest word in `_BEFORE_HALF` is shorter."""


_COMMA_PARTS = frozenset({"da", "de", "es", "fi", "fr", "it", "nl", "no", "pt", "ru", "sv"})
"""Languages in which "1.500" is fifteen hundred and "1,500" is one and a half."""
_BY_POINTS = r"(?<![\w.,])[1-9]\d{0,2}(?:\.\d{3}){1,6}"
_GROUPED = re.compile(rf"{_BY_POINTS}(?![\d.]\d|\d)")
_GROUPED_WITH_PART = re.compile(rf"{_BY_POINTS}(?=,\d{{1,2}}(?![\d.,]))")
"""A number that is grouped by points in any language: "1.500,00"."""
_PART_OF_THREE = re.compile(r"(?<=\d),(?=\d{3}(?![\d.]\d|\d|,\d))")


def is_ambiguous(printed: str, language: str | None) -> bool:
    """Return whether a number has two readings: "1.000" in English, "1,000" in German.

    So has one in words and digits that differ: "ten (12)".
    """
    return "(" in printed or _ZEROS_BEHIND["," if language in _COMMA_PARTS else "."].search(printed) is not None


_ZEROS_BEHIND = {sign: re.compile(rf"{re.escape(sign)}000(?!\d)") for sign in ",."}


class Numeral(NamedTuple):
    """A number as printed.

    Attributes:
        start, end: offsets in the text.
        value: its value.
        money: currency sign, empty if there is none.
        is_word: it is written in words, or in words and digits: "thirty (30)".
        other: the value in the brackets of one in words and digits, if it differs.
    """

    start: int
    end: int
    value: float
    money: str = ""
    is_word: bool = False
    other: float | None = None


def numerals_in(text: str, language: str | None = "en") -> list[Numeral]:
    """List the numbers of a text in order: "2½", "1,200", "twenty-five", "5 million", "two thirds", "one and a half".

    Args:
        text: any text.
        language: language whose words for small numbers count in addition to English.
    """
    grouped = _GROUPED if language in _COMMA_PARTS else _GROUPED_WITH_PART
    text = grouped.sub(lambda it: it.group().replace(".", "\u202f"), text)
    text = _PART_OF_THREE.sub(".", text) if language in _COMMA_PARTS else text
    found = [_of_digits(match, text) for match in _IN_DIGITS.finditer(text)]
    found += _of_letters(text, language)
    found.sort(key=lambda each: (each.start, -each.end))
    kept: list[Numeral] = []
    for each in found:
        last = kept[-1] if kept else None
        if last is not None and _is_repeated(text, last, each):
            other = None if last.value == each.value else each.value
            kept[-1] = last._replace(end=each.end + 1, is_word=True, other=other)
        elif last is None or each.start >= last.end:
            kept.append(each)
    return kept


def _is_repeated(text: str, one: Numeral, other: Numeral) -> bool:
    """Return whether a number in brackets repeats the one before in words or digits: "thirty (30)", "30 (thirty)"."""
    between, behind = text[one.end : other.start], text[other.end : other.end + 1]
    return one.is_word is not other.is_word and between.strip() == "(" and behind == ")"


def _of_digits(match: re.Match[str], text: str) -> Numeral:
    value, end = _value(match), match.end()
    start = match.start()
    if match["sign"] == "–" and _BEHIND_NUMBER.search(text, max(0, start - _UNIT_LENGTH), start):
        start, value = start + 1, -value
    scaled = _SCALED.match(text, end)
    money = (match["money"] or "").strip().upper()
    if scaled is not None:
        scale = scaled["scale"].lower()
        value *= next(_SCALE_OF[start] for start in sorted(_SCALE_OF, key=len, reverse=True) if scale.startswith(start))
        end = scaled.end("scale")
    elif money and (short := _SHORT.match(text, end)):
        value, end = value * _SHORT_OF[short["scale"].lower()], short.end()
    half = AND_A_HALF.match(text, end) if not match["part"] else None
    return Numeral(start, half.end() if half else end, value + 0.5 if half else value, money)


def _of_letters(text: str, language: str | None) -> Iterator[Numeral]:
    for match in _FRACTION.finditer(text):
        if match["bare"] and not _BEFORE_HALF.search(text, max(0, match.start() - _LONGEST_BEFORE), match.start()):
            continue
        under = (match["under"] or match["single"] or match["part"] or "half").lower().removesuffix("s")
        over = _WORDS[match["over"].lower()] if match["over"] else 1.0
        of_one = _OF_ONE.match(text, match.end())
        yield Numeral(match.start(), (of_one or match).end(), over / _PARTS[under], is_word=True)
    for match in _ONE_OF.finditer(text):
        yield Numeral(*match.span(), 1.0, is_word=True)
    for match in _EVERY_NTH.finditer(text):
        count = float(match["digits"] or _NTHS[match["word"].lower()])
        if match["time"] is None:
            yield Numeral(*match.span(), 1 / count, is_word=True)
        else:
            yield Numeral(match.end("every") + 1, match.end(), count, is_word=True)
    for match in _IN_WORDS.finditer(text):
        for each in _spelled(match):
            half = AND_A_HALF.match(text, each.end)
            yield each._replace(end=half.end(), value=each.value + 0.5) if half else each
    if language == "de":
        yield from map(_of_german, _IN_GERMAN.finditer(text))
        for match in _QUARTERS_IN_GERMAN.finditer(text):
            yield Numeral(*match.span(), 0.75 if match["over"] else 0.25, is_word=True)
    elsewhere = _ONE_ELSEWHERE.get(language or "")
    for match in elsewhere.finditer(text) if elsewhere else ():
        yield Numeral(*match.span(), _SPELLED_ELSEWHERE[language or ""][match.group().lower()], is_word=True)


def _of_german(match: re.Match[str]) -> Numeral:
    value = _german_value((match["word"] or "ein").lower())
    return Numeral(*match.span(), value * _SCALE_IN_GERMAN[(match["scale"] or "").lower()], is_word=True)


def _german_value(word: str) -> float:
    """Compute the value of a one-word German number, 0 if it is none; "tausend" and "hundert" multiply."""
    for name, scale in (("tausend", 1e3), ("hundert", 100.0)):
        before, found, behind = word.partition(name)
        if found:
            return (_german_value(before) if before else 1.0) * scale + _german_value(behind.removeprefix("und"))
    one, _, ten = word.rpartition("und")
    return _GERMAN.get(one, 0.0) + _GERMAN.get(ten, 0.0)


def _spelled(match: re.Match[str]) -> Iterator[Numeral]:
    """Split a sequence of number words and compute each value: "one hundred and twenty" is one, "five ten" are two."""
    whole = below = last = 0.0
    least, start, end = math.inf, -1, -1
    for each in _JOINED.finditer(match.string, *match.span()):
        word = each["word"].lower()
        value = _WORDS.get(word, 1.0)
        is_scale = word in _SCALES
        if is_scale:
            continues = not each["and"] and below > 0.0 and (below < 100.0 if value == 100.0 else value < least)
        else:
            continues = last >= 100.0 if each["and"] or last not in _ROUND else 0.0 < value < 10.0
        if start >= 0 and not continues:
            yield Numeral(start, end, whole + below, is_word=True)
            start = -1
        if start < 0:
            if is_scale:
                continue  # "per million": there is no number before it
            whole, below, least, start = 0.0, 0.0, math.inf, each.start("word")
        if is_scale and value > 100.0:
            whole, below, least = whole + below * value, 0.0, value
        else:
            below = below * value if is_scale else below + value
        last, end = value, each.end("word")
    if start >= 0:
        yield Numeral(start, end, whole + below, is_word=True)


def _value(number: re.Match[str]) -> float:
    if number["alone"]:
        value = unicodedata.numeric(number["alone"])
    elif number["grouped"]:
        value = float(re.sub(r"\D", "", number["grouped"]) + (number["rest"] or "").replace(",", "."))
    else:
        value = float(number["whole"] + (number["part"] or "").replace(",", "."))
    if number["vulgar"]:
        value += unicodedata.numeric(number["vulgar"])
    if number["under"]:
        value = value + int(number["over"]) / int(number["under"]) if number["over"] else value / int(number["under"])
    sign = -1 if number["sign"] in {"-", "−", "–"} else 1
    if to := number["to"] or number["mark"]:
        return sign * (value ** _exponent(to) if value in {2, 10} else value)  # otherwise it is a footnote mark
    if ten := number["power"] or number["times"] or number["by"]:
        value *= 10.0 ** _exponent(ten)
    return sign * value


def _exponent(printed: str) -> float:
    return float(printed.translate(LOWERED))


LOWERED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺−", "0123456789-+-")
"""Raised digits and signs as those on the line."""


def names_of_number(value: float) -> tuple[str, ...]:
    """List how a whole number is printed: in digits, and in a word if one is enough; empty for others."""
    if not 0 < value < 1e6 or value % 1:
        return ()
    word = next((each for each, known in _WORDS.items() if known == value), "")
    return (str(int(value)), word) if word else (str(int(value)),)
