"""Tokens of a text as quotes are compared: which differences are ignored, and what may be left out.

| difference | ignored |
|---|---|
| blanks, line ends, tabs | yes; not inside a word or a number: `not able` is not `notable`, `1. 5` not `1.5` |
| `require-` at a line's end, then `ment` | equals `requirement` and `require-ment` |
| soft hyphens, zero-width characters | yes |
| kinds of dashes, minus signs, hyphens | yes; no dash differs from a dash |
| kinds of quotation marks, apostrophes | yes; single and double differ after a digit (5' is not 5") |
| ligatures, full-width, squared and mathematical letters, `µ` and `μ` | yes; not `²` and `2`, nor other Greek letters |
| case | yes; not of a unit after a number (mW, MW) |
| footnote marks: a raised number after a word or full stop | a quote may leave them out; not that of `m²` |
| raised letters a to h: `40ᵃ`, `12.5ᵇ⁾` | a quote may leave them out, or have ordinary ones: `40a` |
| bullets at line starts, bars and rules of table rows | in any form; a quote may leave them out |
| everything else: words, digits, signs, relations, punctuation | no |
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache

from knowledge_mcp.language.printed import RAISED, RAISED_LETTERS

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of scripts without blanks between words; each is a token."""
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u064b-\u065f\u0670\u0900-\u0903\u093a-\u094f\u0962\u0963\u0981-\u0983"
    "\u09bc-\u09cd\u0a01-\u0a51\u0abc-\u0acd\u0b3c-\u0b4d\u0bbe-\u0bcd\u0c3e-\u0c56\u0cbc-\u0cd6\u0d3b-\u0d4d"
)
_IGNORED = "\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff"

_DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
_SINGLE = "'`\u00b4\u2018\u2019\u201a\u201b\u2032\u02b9\u02bc\u2039\u203a\uff07"
_DOUBLE = '"\u00ab\u00bb\u201c\u201d\u201e\u201f\u2033\u301d\u301e\u301f\uff02'
_ONE_TO_ONE = {
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _SINGLE), "'"),
    **dict.fromkeys(map(ord, _DOUBLE), '"'),
    0x00B5: "\u03bc",
}

_LETTER = rf"[^\W\d_{_UNSPACED}]"
_CHARACTER = rf"[^\W{_UNSPACED}]"
LINE_HYPHEN = re.compile(rf"[-\u2010\u2011\u00ad](?<=[^\W\d_].)[ \t]*\n\s*(?={_LETTER})")
"""A hyphen between letters at a line's end, with the blanks before the letter that continues the word."""

_JOINT = r"(?:(?<=\d)[.,:/']|(?<=\b[A-Za-z])\.)(?=\d)"
_TOKEN = re.compile(
    rf"(?<![\w.])\d{{1,2}}(?=[A-Z][a-z]{{2}})|(?:(?<![\w.,])[.,](?=\d))?{_CHARACTER}+(?:[{_MARKS}{_IGNORED}]+{_CHARACTER}*|{_JOINT}{_CHARACTER}+)*"
    rf"|[{_UNSPACED}]|\.{{2,}}|\u2026+|''|[^\s{_IGNORED}]"
)
_SOFT_LINE_END = re.compile(r"\u00ad(?=[ \t]*\n)")
_INVISIBLE = re.compile(f"[{_IGNORED}]")
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"[\s|:-]+")
_NOTE_MARK = re.compile(rf'(?:(?<=[a-zß-ÿ]{{4}})|(?<=[.,;:"]))[{RAISED}]{{1,3}}(?![\w(])')
"""A footnote mark; after fewer letters a raised number may be a power: "bar²", "sin² x"."""
_NOTE_LETTER = re.compile(
    rf"(?:(?<=\d)|(?<=[^\W_]{{2}}))[{RAISED_LETTERS}](?!\w)|(?<=[{RAISED_LETTERS}])(?:⁾|,(?=[{RAISED_LETTERS}]))"
    rf"|(?<=[{RAISED_LETTERS}],)[{RAISED_LETTERS}]"
)
"""A raised letter that marks a note, its bracket, or the comma before the next one; after one letter an exponent."""
_BULLET = re.compile(r"^[ \t]*([\u2022\u2023\u25e6\u25aa\u25cf\uf0b7]|[-*](?=[ \t]+[^\s\d]))(?=[ \t])", re.MULTILINE)
_COMPATIBLE = ("<compat>", "<wide>", "<narrow>", "<font>", "<initial>", "<medial>", "<final>", "<isolated>", "<square>")
_GREEK_VARIANTS = range(0x03D0, 0x0400)

BULLET = "\u2022 "
"""Key of every list bullet; no printed text has this key."""

_DEGREES = "\u2103\u2109"
"""Single characters for °C and °F, which are two tokens like these."""
_CASED_UNITS = frozenset(
    "m g k t s b f h a v w n j c l mm mg ms mw mv ma mb mj mn mc mf mh ml mol mpa mhz mbit mbps mwh mva pa pb pf ph "
    "kb kbit kbps gb gbit gbps tb eb db gw gv ga gs".split()
)
"""Units with another meaning in another case."""
_NUMBER_WITH_UNIT = re.compile(r"[\d.,]+([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class Words:
    """The tokens of a piece of text, in order; each list has one entry per token.

    Attributes:
        keys: the normalised tokens, which are compared.
        starts, ends: offsets of each token in the whole text.
        breaks: indexes of hyphens at line ends, which may or may not belong to the word.
        optional: indexes of marks that may be missing on the other side.
        units: by index, as printed, the words after a number that are another unit in another case.
    """

    keys: list[str]
    starts: list[int]
    ends: list[int]
    breaks: frozenset[int]
    optional: frozenset[int]
    units: dict[int, str]

    def __len__(self) -> int:
        """Return the number of tokens."""
        return len(self.keys)

    def is_word(self, index: int) -> bool:
        """Return whether a token is a word or number, not a mark."""
        return any(character.isalnum() for character in self.keys[index])

    def holding(self, offset: int) -> int:
        """Return the index of the token that contains the offset, or of the next one."""
        return bisect.bisect_right(self.ends, offset)


def read_words(text: str, start: int = 0, end: int | None = None, *, is_quote: bool = False) -> Words:
    """Read the tokens of `text[start:end]`; neither end should be inside a word or a line.

    A dash at the start of a line in a quote may be a sign, and must not be ignored as a bullet.
    """
    raw = text[start : len(text) if end is None else end]
    piece = _SOFT_LINE_END.sub("-", raw).translate(_ONE_TO_ONE)
    line_ends = {match.start() for match in LINE_HYPHEN.finditer(raw)}
    loose = _loose_places(piece)
    keys: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    breaks: set[int] = set()
    optional: set[int] = set()
    units: dict[int, str] = {}
    for place, word in _tokens(piece, loose):
        if place in line_ends:
            breaks.add(len(keys))
        elif place in loose and not (is_quote and loose[place] == BULLET and word in "-*"):
            optional.add(len(keys))
        keys.append(loose.get(place) or _key(word, piece[place - 1] if place else ""))
        if keys[-1] in _CASED_UNITS and len(keys) > 1 and keys[-2][0].isdigit():
            units[len(keys) - 1] = plain_letters(word)
        starts.append(start + place)
        ends.append(start + place + len(word))
    return Words(keys, starts, ends, frozenset(breaks), frozenset(optional), units)


def _tokens(piece: str, loose: Container[int]) -> Iterator[tuple[int, str]]:
    """Yield tokens with their offsets; a footnote mark is separate from the word before it."""
    for match in _TOKEN.finditer(piece):
        place, word = match.start(), match.group()
        if word in _DEGREES:
            yield place, "°"
        inside = range(1, 1 if word.isascii() else len(word))
        cut = next((at for at in inside if place + at in loose), len(word))
        yield place, word[:cut]
        if cut < len(word):
            yield place + cut, word[cut:]


def plain_letters(text: str) -> str:
    """Replace ligatures and special letter forms by ordinary letters, as in keys; the length may change."""
    if text.isascii():
        return text
    return "".join(map(_plain, unicodedata.normalize("NFC", _INVISIBLE.sub("", text))))


@cache
def _plain(character: str) -> str:
    decomposition = unicodedata.decomposition(character)
    if not decomposition.startswith(_COMPATIBLE) or ord(character) in _GREEK_VARIANTS:
        return character
    if decomposition.startswith("<square>"):
        return "".join(chr(int(code, 16)) for code in decomposition.split()[1:])  # "㎡" is "m²", not "m2"
    spelled = unicodedata.normalize("NFKC", character)
    return character if " " in spelled else spelled


def _key(token: str, before: str) -> str:
    """Normalise a token for comparison; `before` is the character directly before it."""
    if token in {"'", '"', "''"}:
        if before.isdigit():
            return "\u2032" if token == "'" else "\u2033"
        return '"'
    if token[0] == "\u2026" or (len(token) > 1 and token[:2] == ".."):
        return "\u2026"
    word = plain_letters(token)
    low = word.lower() if token not in _DEGREES else word[-1].lower()
    with_unit = _NUMBER_WITH_UNIT.fullmatch(low)
    return word if with_unit and with_unit.group(1) in _CASED_UNITS else low


def _loose_places(piece: str) -> dict[int, str]:
    """Find the marks that may be left out, with their keys: footnote marks, bullets, bars and rules of tables."""
    loose = {match.start(): match.group() for match in _NOTE_MARK.finditer(piece)}
    if not piece.isascii():
        loose |= {each.start(): unicodedata.normalize("NFKC", each[0]) for each in _NOTE_LETTER.finditer(piece)}
    for match in _BULLET.finditer(piece):
        if match.group(1) not in "-*" or _may_begin_an_item(piece, match.start()):
            loose[match.start(1)] = BULLET
    for match in _ROW.finditer(piece):
        row = match.group()
        ruled = _RULE.fullmatch(row) is not None
        for place, mark in enumerate(row):
            if mark == "|" or (ruled and not mark.isspace()):
                loose[match.start() + place] = mark
    return loose


def _may_begin_an_item(piece: str, line: int) -> bool:
    """Return whether a dash or asterisk at the start of this line may be a bullet, not a sign within a formula."""
    above = piece[:line].rstrip("\n")
    if not above or len(above) + 1 < line or above[-1] in ".:;,!?":
        return True
    return _BULLET.match(above, above.rfind("\n") + 1) is not None
