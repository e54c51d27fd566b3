"""Words and marks of a text as quotes are compared: what two spellings share, and what may be left out.

| difference | is the same |
|---|---|
| blanks, line ends, tabs | yes; not inside a word or a number, for `not able` is not `notable`, `1. 5` not `1.5` |
| `require-` at a line's end, then `ment` | as `requirement` and as `require-ment` |
| soft hyphens, zero-width characters | yes |
| kinds of dashes, minus signs, hyphens | yes; no dash is not the same as a dash |
| kinds of quotation marks, apostrophes | yes; single and double not after a digit (5' is not 5") |
| ligatures, full-width and mathematical letters, `µ` and `μ` | yes; `²` and `2` not, other Greek letters not |
| case | yes; not of a unit after a number (mW, MW) |
| marks of notes: a raised number behind a word or a stop | a quote may leave them out; not that of `m²` |
| bullets at line starts, bars and rules of a table's rows | whatever their form; a quote may leave them out |
| all else: words, digits, signs, relations, punctuation | no |
"""

from __future__ import annotations

import bisect
import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass
from functools import cache

from knowledge_mcp.language.printed import RAISED

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
"""Letters of scripts that put no blanks between words: each is a word of its own."""
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
LINE_END_HYPHEN = rf"[-\u2010\u2011\u00ad](?<=[^\W\d_].)[ \t]*\n\s*(?={_LETTER})"
"""A hyphen between letters at a line's end, with the blanks up to the letter that goes on."""

_JOINT = r"(?:(?<=\d)[.,:/']|(?<=\b[A-Za-z])\.)(?=\d)"
_TOKEN = re.compile(
    rf"(?<![\w.])\d{{1,2}}(?=[A-Z][a-z]{{2}})|(?:(?<![\w.,])[.,](?=\d))?{_CHARACTER}+(?:[{_MARKS}{_IGNORED}]+{_CHARACTER}*|{_JOINT}{_CHARACTER}+)*"
    rf"|[{_UNSPACED}]|\.{{2,}}|\u2026+|''|[^\s{_IGNORED}]"
)
_LINE_END = re.compile(LINE_END_HYPHEN)
_SOFT_LINE_END = re.compile(r"\u00ad(?=[ \t]*\n)")
_INVISIBLE = re.compile(f"[{_IGNORED}]")
_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"[\s|:-]+")
_NOTE_MARK = re.compile(rf'(?:(?<=[a-zß-ÿ]{{4}})|(?<=[.,;:"]))[{RAISED}]{{1,3}}(?![\w(])')
"""What leads to a note; behind fewer letters a raised number may be a power: "bar²", "sin² x"."""
_BULLET = re.compile(r"^[ \t]*([\u2022\u2023\u25e6\u25aa\u25cf\uf0b7]|[-*](?=[ \t]+[^\s\d]))(?=[ \t])", re.MULTILINE)
_COMPATIBLE = ("<compat>", "<wide>", "<narrow>", "<font>", "<initial>", "<medial>", "<final>", "<isolated>")
_GREEK_VARIANTS = range(0x03D0, 0x0400)

BULLET = "\u2022 "
"""Key of any mark that stands where a list's item begins; nothing that is printed has it."""

_CASED_UNITS = frozenset(
    "m g k t s b f h a v w n j c l mm mg ms mw mv ma mb mj mn mc mf mh ml mol mpa mhz mbit mbps mwh mva pa pb pf ph "
    "kb kbit kbps gb gbit gbps tb eb db gw gv ga gs".split()
)
"""Units that are others when their case changes."""
_NUMBER_WITH_UNIT = re.compile(r"[\d.,]+([^\W\d_]+)")


@dataclass(frozen=True, slots=True)
class Words:
    """Hold the words and marks of a piece of text, in order; the lists have one entry for each.

    Attributes:
        keys: what is compared.
        starts, ends: where each stands in the whole text.
        breaks: indexes of hyphens at line ends, which may belong to the word or not.
        optional: indexes of marks that may be missing on the other side.
        units: by index, the words after a number that are another unit when their case changes, as printed.
    """

    keys: list[str]
    starts: list[int]
    ends: list[int]
    breaks: frozenset[int]
    optional: frozenset[int]
    units: dict[int, str]

    def __len__(self) -> int:
        """Count words and marks."""
        return len(self.keys)

    def is_word(self, index: int) -> bool:
        """Tell words and numbers from marks."""
        return any(character.isalnum() for character in self.keys[index])

    def holding(self, offset: int) -> int:
        """Return the index of the word or mark that holds the offset, else of the next one."""
        return bisect.bisect_right(self.ends, offset)


def read_words(text: str, start: int = 0, end: int | None = None, *, is_quote: bool = False) -> Words:
    """Read the words and marks of `text[start:end]`; the ends should stand neither inside a word nor inside a line.

    A dash at a line's start may be a sign: in a quote, it may not be more than is printed.
    """
    raw = text[start : len(text) if end is None else end]
    piece = _SOFT_LINE_END.sub("-", raw).translate(_ONE_TO_ONE)
    line_ends = {match.start() for match in _LINE_END.finditer(raw)}
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
    """Yield words and marks with their places; the mark of a note is no part of the word before it."""
    for match in _TOKEN.finditer(piece):
        place, word = match.start(), match.group()
        inside = range(1, 1 if word.isascii() else len(word))
        cut = next((at for at in inside if place + at in loose), len(word))
        yield place, word[:cut]
        if cut < len(word):
            yield place + cut, word[cut:]


def plain_letters(text: str) -> str:
    """Spell ligatures and letters of special print with ordinary ones, as keys do; may change the length."""
    if text.isascii():
        return text
    return "".join(map(_plain, unicodedata.normalize("NFC", _INVISIBLE.sub("", text))))


@cache
def _plain(character: str) -> str:
    decomposition = unicodedata.decomposition(character)
    if not decomposition.startswith(_COMPATIBLE) or ord(character) in _GREEK_VARIANTS:
        return character
    spelled = unicodedata.normalize("NFKC", character)
    return character if " " in spelled else spelled


def _key(token: str, before: str) -> str:
    """Spell a word or mark in the form that is compared; `before` is the character that stands directly before it."""
    if token in {"'", '"', "''"}:
        if before.isdigit():
            return "\u2032" if token == "'" else "\u2033"
        return '"'
    if token[0] == "\u2026" or (len(token) > 1 and token[:2] == ".."):
        return "\u2026"
    word = plain_letters(token)
    low = word.lower()
    with_unit = _NUMBER_WITH_UNIT.fullmatch(low)
    return word if with_unit and with_unit.group(1) in _CASED_UNITS else low


def _loose_places(piece: str) -> dict[int, str]:
    """Find the marks that may be left out, with their keys: of notes, bullets at line starts, bars, rules of tables."""
    loose = {match.start(): match.group() for match in _NOTE_MARK.finditer(piece)}
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
    """Tell whether a dash or asterisk at this line's start may be a bullet, not a sign in the midst of a formula."""
    above = piece[:line].rstrip("\n")
    if not above or len(above) + 1 < line or above[-1] in ".:;,!?":
        return True
    return _BULLET.match(above, above.rfind("\n") + 1) is not None
