"""In the child: values of cells as their number format shows them: signs, units and words around the number.

A register may number its requirements by `"REQ-"0000` and hold bare numbers; a limit may have its unit in `0.0" mm"`.
Digits are not rounded: a sheet that shows 3.1 holds 3.14159, and that is what is read.
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
"""A number as a sheet shows it: digits in groups, with a sign before decimals, and no fraction."""
_LONGEST = 255
"""Characters of a format; Excel takes no more."""


@dataclass(frozen=True, slots=True)
class _Form:
    """What one section of a format puts around a number or a text.

    Attributes:
        before, after: the words around it.
        has_place: whether the number itself is shown.
        percent: how often it is multiplied by a hundred.
        zeros: how many digits a whole number has at least.
        is_scaled: whether thousands are left out, so that units belong to another number than the cell's.
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
    """Write a number with what its format puts around it; as it is where the format says nothing more."""
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
    if value == 0 and not before.strip("-– "):  # a stroke in place of zero
        before = ""
    if value < 0:  # brackets and strokes of a section for what is below zero are its sign
        before, after = before.lstrip("(- "), after.rstrip(") ")
    return f"{'-' if value < 0 else ''}{before}{written}{after}"


def shown_text(value: str, pattern: str) -> str:
    """Write a text with what its format puts around it."""
    if "@" not in pattern or pattern in _PLAIN or len(pattern) > _LONGEST or not value:
        return value
    form = next((section for section in _sections(pattern) if section.is_text), None)
    return f"{form.before}{value}{form.after}" if form is not None and (form.before + form.after).strip() else value


def number_within(value: float, shown: str, *, percent: bool) -> str:
    """Write a number with what stands around it where a sheet shows it, rounded: "2.5 mm" for 2.49 is "2.49 mm".

    As `shown_number`, where the text is there and its format is not at hand. The number alone is returned where the
    text has another one, as with thousands left out.
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
    """Read a shown number, its last sign as one of groups or of decimals, each with the unit of its last digit."""
    mantissa, _, power = token.lower().partition("e")
    digits = re.sub(r"\D", "", mantissa)
    for decimals in {0, len(re.split(r"[.,]", mantissa)[-1])} if re.search(r"[.,]", mantissa) else {0}:
        step = 10.0 ** (int(power or 0) - decimals)
        yield int(digits) * step, step
