"""Decode text in a labelled encoding as browsers do, and convert characters of symbol fonts to Unicode."""

from __future__ import annotations

import codecs
import re

_MEANT = {
    "ascii": "cp1252",
    "big5": "big5hkscs",
    "euc_kr": "cp949",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "iso8859-1": "cp1252",
    "iso8859-11": "cp874",
    "iso8859-9": "cp1254",
    "shift_jis": "cp932",
    "tis-620": "cp874",
}
"""Supersets of the labelled encoding that are meant by its label (WHATWG Encoding Standard, section 4.2)."""


def codec_of(label: str) -> str:
    """Return the codec for an encoding label; empty if unknown."""
    try:
        found = codecs.lookup(label)
    except (LookupError, ValueError):
        return ""
    is_text = getattr(found, "_is_text_encoding", True) and found.name not in {"idna", "punycode", "unicode_escape"}
    return found.name if is_text else ""


def decoded(data: bytes, label: str) -> tuple[str, str] | None:
    """Decode text by a label; return it with the name of its encoding, None if it is not valid in it."""
    name = codec_of(label)
    for each in filter(None, (_MEANT.get(name), name)):
        try:
            return data.decode(each), each
        except UnicodeError:
            continue
    return None


_PRIVATE = re.compile("[\uf000-\uf0ff]")
_SYMBOLS = {
    0x20: " ",
    0xB0: "°", 0xB1: "±", 0xB3: "≥", 0xA3: "≤", 0xB4: "×", 0xB7: "•", 0xB8: "÷", 0xB9: "≠", 0xBB: "≈", 0xA5: "∞",
    0xAE: "→", 0xAC: "←", 0xDE: "⇒", 0xD7: "·", 0xD6: "√", 0xE5: "∑", 0x6D: "μ", 0x57: "Ω", 0x44: "Δ", 0x61: "α",
    0x62: "β", 0x67: "γ", 0x64: "δ", 0x65: "ε", 0x6C: "λ", 0x70: "π", 0x73: "σ", 0x74: "τ", 0x66: "φ", 0x77: "ω",
    0x71: "θ", 0x72: "ρ", 0x68: "η", 0xD0: "∠", 0xC5: "⊕", 0xCE: "∈", 0xA2: "′", 0xB2: "″",
}  # fmt: skip
_DINGBATS = {
    0x20: " ",
    0xFC: "✓", 0xFE: "☑", 0xFD: "☒", 0xA8: "☐", 0x6F: "☐", 0xFB: "✗", 0xA7: "▪", 0xE0: "→", 0xF0: "⇒", 0x4A: "☺",
    0x6C: "●", 0x6E: "■", 0x75: "◆", 0x76: "❖", 0x77: "◆", 0xD8: "➢", 0x50: "✓",
}  # fmt: skip
_QUANTITY = "[\uf0b0\uf0b1\uf0b3\uf0a3\uf0b4\uf0bb\uf06d\uf057\uf044]"
"""Degree, plus or minus, at least, at most, times, about, micro, ohm and difference in the font Symbol."""
_AMONG_WORDS = re.compile(rf"\uf020|(?<!\A){_QUANTITY}|{_QUANTITY}(?=\w)")
_UNKNOWN_SIGN = "▪"


def has_private_characters(text: str) -> bool:
    """Return whether a text contains code points of a symbol font (U+F000 to U+F0FF)."""
    return _PRIVATE.search(text) is not None


def letters_for_symbols(text: str, font: str) -> tuple[str, int]:
    """Convert code points of the Symbol and dingbat fonts to Unicode.

    Returns:
        The text, and how many had no letter: a sign in a table cell has a meaning by being there, so a small square
        replaces each.
    """
    table = _DINGBATS if "ding" in font.lower() else _SYMBOLS
    unknown = 0

    def letter(match: re.Match[str]) -> str:
        nonlocal unknown
        found = table.get(ord(match.group()) & 0xFF)
        unknown += found is None
        return found or _UNKNOWN_SIGN

    return _PRIVATE.sub(letter, text), unknown


def sign_of_cell(text: str) -> str:
    """Convert the only sign of a table cell, whose font is not known, to Unicode: that of a quantity, or a mark."""
    if _PRIVATE.fullmatch(text) is None:
        return text
    return letters_for_symbols(text, "" if re.match(_QUANTITY, text) else "dingbats")[0]


def signs_of_quantities(text: str) -> str:
    """Convert the signs of quantities from the font Symbol among words in another font, except marks of items."""
    return _AMONG_WORDS.sub(lambda sign: _SYMBOLS[ord(sign[0]) & 0xFF], text)
