"""Ratings: grades of standards that have letters followed by a number or letter: IP65, SIL 2, TLS 1.2, class 3."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge_mcp.language.quantities.bounds import limiting
from knowledge_mcp.language.quantities.reading import Quantity

_RATING = re.compile(
    r"(?<![\w.-])(?:(?P<ip>IP)[ -]?(?P<degrees>[\dX]{2})[A-DK]?"
    r"|(?P<code>IK|SIL|EAL|AAL|IAL|FAL|DN|PN|REI|EI|AWG|NEMA|D?TLS|SSL|AES|SHA|RSA)"
    r"[ -]?v?(?P<number>\d{1,4}(?:\.\d{1,2})?)"
    r"|(?P<lettered>ASIL|PL)[ -]?(?P<letter>[A-Ea-e])"
    r"|(?P<graded>(?i:class|category|grade|klasse|kategorie|classe|clase)) (?P<grade>\d{1,3}|[A-F]))"
    r"(?!\w|[.-]\d)"
)
_BESIDE_EACH_OTHER = frozenset({"TLS", "DTLS", "SSL", "AES", "SHA", "RSA"})
_UNITS = _BESIDE_EACH_OTHER | frozenset(
    "IP IK SIL ASIL PL EAL AAL IAL FAL DN PN REI EI AWG NEMA CLASS CATEGORY GRADE KLASSE KATEGORIE CLASSE CLASE".split()
)
_NEAR = 60
"""Characters around a rating that may make it a limit: "at least", "or higher"."""


def ratings_in(sentence: str) -> Iterator[Quantity]:
    """Yield the ratings of a sentence in order, with the letters as unit: "at least IP54" has the lower limit 54."""
    for match in _RATING.finditer(sentence):
        start, end = match.span()
        unit = (match["ip"] or match["code"] or match["lettered"] or match["graded"]).upper()
        printed = match["degrees"] or match["number"] or match["letter"] or match["grade"]
        digits = printed.upper().replace("X", "0")
        value = float(digits) if digits[0].isdigit() else float(ord(digits))
        limited = limiting(sentence[max(0, start - _NEAR) : start], sentence[end : end + _NEAR], is_measured=True)
        yield Quantity(value, unit, limited.bound, start - limited.led, end + limited.followed, match.group())


def is_exclusive(rating: Quantity) -> bool:
    """Return whether something can have only one such rating; a system with TLS 1.3 may also support TLS 1.2."""
    return rating.unit not in _BESIDE_EACH_OTHER


def is_rating(limit: Quantity) -> bool:
    """Return whether a limit is a rating: ratings can differ, but no order is known."""
    return limit.unit in _UNITS
