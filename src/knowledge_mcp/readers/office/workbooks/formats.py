"""Child process: cell values with the signs, units and words that their number format adds.

A register may number its requirements by `"REQ-"0000` and contain bare numbers; a limit may have its unit in
`0.0" mm"`. Digits are not rounded: where a sheet shows 3.1 for 3.14159, 3.14159 is read.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]{0,255})"|\\(?P<escaped>.)|\[\$(?P<sign>[^\]-]{0,40})[^\]]{0,40}\]|\[[^\]]{0,80}\]|[_*].|(?P<general>General)'
    r"|(?P<digits>[0#?][0#?.,]*+)|(?P<power>[Ee][+-])|(?P<bare>.)",
    re.DOTALL | re.IGNORECASE,
)
_SECTION = re.compile(r'(?:"[^"]{0,255}"|\\.|[_*].|\[[^\]]{0,80}\]|[^;])*+', re.DOTALL)
_SIGNS = frozenset("%°$€£¥￥‰")
_DATES = frozenset("ymdhsbg")
_PLAIN = frozenset({"", "General", "GENERAL", "@"})
_WITHIN = re.compile(r"(?<![\d/])\d(?:[\d.,'’\u00a0\u202f ]{0,40}\d)?(?:[Ee][+-]?\d{1,3})?(?![\d/])")
"""A number as a sheet shows it: digits in groups, optionally with decimals and exponent; not part of a fraction."""
_LONGEST = 255
"""Longest format, in characters: Excel's limit."""


@dataclass(frozen=True, slots=True)
class _Form:
    """What one section of a format adds to a number or a text.

    Attributes:
        before, after: the words around it.
        has_place: whether the number itself is shown.
        percent: how often it is multiplied by a hundred.
        zeros: minimum number of digits of a whole number.
        is_scaled: whether thousands are omitted, so that the unit does not fit the cell's number.
        is_date: it shows a date or a time.
        is_text: it shows a text.
    """

    before: str = ""
    after: str = ""
    has_place: bool = False
    percent: int = 0
    zeros: int = 0
    is_scaled: bool = False
    is_date: bool = False
    is_text: bool = False


@functools.lru_cache(maxsize=1024)
def _sections(pattern: str) -> tuple[_Form, ...]:
    parts: list[str] = []
    place = 0
    while place <= len(pattern) and len(parts) < 4:
        match = _SECTION.match(pattern, place)
        assert match is not None
        parts.append(match.group())
        place = match.end() + 1
    return tuple(map(_form, parts))


def _form(section: str) -> _Form:
    before, after, zeros = "", "", 0
    has_place = is_date = is_scaled = is_text = False
    percent = 0
    for token in _TOKEN.finditer(section):
        words = token["quoted"] or token["escaped"] or token["sign"] or ""
        bare = token["bare"] or ""
        if bare.lower() in _DATES and bare:
            is_date = True
        elif bare == "@":
            is_text = has_place = True
        elif bare in _SIGNS or bare == " ":
            words = bare
            percent += bare == "%"
        if (digits := token["digits"]) or token["general"]:
            whole = (digits or "").partition(".")[0]
            zeros = len(whole) if not has_place and whole and not whole.strip("0") else zeros
            is_scaled = is_scaled or (digits or "").endswith(",")
            has_place = True
        elif has_place:
            after += words
        else:
            before += words
    return _Form(before.lstrip(), after.rstrip(), has_place, percent, zeros, is_scaled, is_date, is_text)


def shown_number(value: float, pattern: str) -> str:
    """Write a number with what its format adds, or as it is if the format adds nothing."""
    plain = f"{value:.15g}" if isinstance(value, float) else str(value)
    if pattern in _PLAIN or len(pattern) > _LONGEST:
        return plain
    sections = [section for section in _sections(pattern) if not section.is_text]
    if not sections:
        return plain
    at = 1 if value < 0 else 2 if value == 0 else 0
    form = sections[at] if at < len(sections) else sections[0]
    if form.is_date or form.is_scaled:
        return plain
    if not form.has_place:
        words = form.before.strip()
        return words if any(map(str.isalnum, words)) else plain
    size = abs(value) * 100**form.percent
    written = f"{size:.12g}" if form.percent else plain.removeprefix("-")
    if form.zeros > 1 and written.isdigit():
        written = written.zfill(form.zeros)
    before, after = form.before, form.after
    if at == 2 < len(sections):  # the section for zero: a dash is in place of the number
        before = before.rstrip("-– ")
    if at == 1 < len(sections):  # in the section for negative numbers, brackets and dashes are the sign: "$(3.5)"
        before, after = before.lstrip("(- ").rstrip("(-"), after.rstrip(") ")
    return f"{'-' if value < 0 else ''}{before}{written}{after}"


def shown_text(value: str, pattern: str) -> str:
    """Write a text with what its format adds."""
    if "@" not in pattern or pattern in _PLAIN or len(pattern) > _LONGEST or not value:
        return value
    form = next((section for section in _sections(pattern) if section.is_text), None)
    return f"{form.before}{value}{form.after}" if form is not None and (form.before + form.after).strip() else value


def number_within(value: float, shown: str, *, percent: bool) -> str:
    """Write an exact number in the text that shows it rounded: "2.5 mm" for 2.49 becomes "2.49 mm".

    Like `shown_number`, for a file that has the text but not the format. Returns the number alone if the text contains
    another number, as when thousands are omitted.
    """
    plain = f"{value:.15g}"
    size = abs(value) * (100 if percent else 1)
    found = [
        (step, token.start() > 0 and shown[token.start() - 1].isalpha(), token.start(), token)
        for token in _WITHIN.finditer(shown[: 2 * _LONGEST])
        for number, step in _readings(token.group())
        if abs(number - size) <= 0.5000001 * step
    ]
    if not found:
        words = shown.strip()
        return words if any(map(str.isalpha, words)) and not any(map(str.isdigit, words)) else plain
    token = min(found, key=lambda each: each[:3])[-1]
    written = f"{size:.12g}" if percent else plain.removeprefix("-")
    if token.group().startswith("0") and token.group().isdigit() and written.isdigit():
        written = written.zfill(len(token.group()))
    before, after = shown[: token.start()].lstrip(), shown[token.end() :].rstrip()
    if value >= 0:
        return f"{before}{written}{after}"
    return f"-{before.replace('-', '').replace('−', '').lstrip('( ')}{written}{after.rstrip(') -')}"


def _readings(token: str) -> Iterator[tuple[float, float]]:
    """Yield the possible values of a shown number, each with the unit of its last digit.

    Its last separator may separate groups or decimals.
    """
    mantissa, _, power = token.lower().partition("e")
    digits = re.sub(r"\D", "", mantissa)
    for decimals in {0, len(re.split(r"[.,]", mantissa)[-1])} if re.search(r"[.,]", mantissa) else {0}:
        step = 10.0 ** (int(power or 0) - decimals)
        yield int(digits) * step, step
