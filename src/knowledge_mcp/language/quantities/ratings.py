"""Numbers that are not quantities: ratings, such as IP65, SIL 2, TLS 1.2 and class 3, and parts of names."""

from __future__ import annotations

import re
from collections.abc import Iterator

from knowledge_mcp.language.multilingual.recognition import is_function_word
from knowledge_mcp.language.quantities.bounds import Bound, limiting
from knowledge_mcp.language.quantities.reading import Quantity
from knowledge_mcp.language.quantities.units import is_physical

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


_NAME = re.compile(r"(?P<start>\A\W{0,6})?(?P<of>\b(?:in|of|from|by|under|with|for|on|per)\s)?\b[A-Z][a-z]{2,30}\Z")
"""A word with a capital before a number, at the start of a sentence, after a preposition, or elsewhere."""
_ATTACHED = re.compile(r"\w\(\Z")
_JOINS = frozenset("and or und oder et ou y o e".split())
_NUMBER_OF = frozenset("No No. Nr Nr. nr. n° nº №".split())
_OPENS = " \t\xa0'\"“”‘’(["
"""Signs that may be between a number and the word before it."""


def is_part_of_name(text: str, number: Quantity, begun: int) -> bool:
    """Return whether a number is part of a name: "Debian 12.5 servers shall …", "roles of Part 3", "AB-7(3)".

    It is part of one in brackets directly after a word, and after a word with a capital in the subject or after a
    preposition. In a sentence without force, it is part of one unless a function word precedes it that leads to a
    value, such as "to" or "is". "Keep 3 copies" has no name.

    Args:
        text: of the sentence.
        number: one of its numbers.
        begun: where its first word of force ends; 0 if it has none.
    """
    if number.bound is not Bound.EXACT or number.recurs or is_physical(number.unit):
        return False
    before = text[max(0, number.start - _NEAR) : number.start]
    if not number.unit and _ATTACHED.search(before):
        return True
    bare = before.rstrip(_OPENS)
    word = "".join(bare.split()[-1:])
    if not begun and not number.unit:
        leads = bare.endswith(("=", ":", "<", ">")) or (is_function_word(word) and word.lower() not in _JOINS)
        return word in _NUMBER_OF or (bool(bare) and not leads)
    found = _NAME.search(before.rstrip()) if before[-1:].isspace() else None
    if found is None or is_function_word(word) or word.endswith("ly"):
        return False
    is_start = found["start"] is not None and number.start <= _NEAR
    return number.start < begun or found["of"] is not None if begun else not is_start
