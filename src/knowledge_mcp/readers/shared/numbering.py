"""Numbers as documents write them: in letters, Roman numerals, words."""

from __future__ import annotations

_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_FORMS = {"a": (26, "lowerLetter"), "A": (26, "upperLetter"), "i": (99, "lowerRoman"), "I": (99, "upperRoman")}
"""Of the short name of a form, the largest count that is written in it, and Word's name."""


def counted(count: int, form: str) -> str:
    """Write a count as digits, a letter or a Roman numeral, by the short name of its form ("1", "a", "A", "i", "I")."""
    most, number_format = _FORMS.get(form, (0, ""))
    return format_number(count, number_format) if 1 <= count <= most else str(count)


def format_number(number: int, number_format: str) -> str:
    """Write a number in one of Word's formats; a format unknown here is written in decimals."""
    if number_format in {"none", "bullet"}:
        return ""
    if number_format in {"upperRoman", "lowerRoman"}:
        return _cased(_roman(number), number_format)
    if number_format in {"upperLetter", "lowerLetter"}:
        return _cased(_letters(number), number_format)
    if number_format == "decimalZero":
        return f"{number:02d}"
    if number_format == "ordinal":
        return f"{number}{_ordinal_ending(number)}"
    if number_format == "cardinalText" and 0 <= number < len(_ONES):
        return _ONES[number].capitalize()
    if number_format == "decimalEnclosedParen":
        return f"({number})"
    return str(number)


def _cased(text: str, number_format: str) -> str:
    return text.upper() if number_format.startswith("upper") else text.lower()


def _roman(number: int) -> str:
    out = ""
    for size, sign in _ROMAN:
        while number >= size and len(out) < 40:
            out += sign
            number -= size
    return out


def _letters(number: int) -> str:
    return chr(ord("a") + (number - 1) % 26) * min((number - 1) // 26 + 1, 40) if number > 0 else ""


def _ordinal_ending(number: int) -> str:
    if 10 <= number % 100 <= 20:
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
