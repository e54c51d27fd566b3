"""Numbers in documents: as letters, Roman numerals and words; and the order of clause numbers."""

from __future__ import annotations

import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from knowledge_mcp.language.identifiers import is_foreign
from knowledge_mcp.language.openings import LATIN_ADDED, NumberedTitle

NumberKey = tuple[int, ...]
"""A clause number as integers. Letters before the first number count as multiples of `LETTERED` ("A" is 1, "AA" is 27);
Roman numerals are above all letters.
"""

LETTERED = 10_000
_ROMANS = LETTERED * 1000
_ANY = 99
_FIRST_ADDED = 101
"""The number from which parts of IEC standards count what they add to a clause of the general one."""
_ROMAN_VALUES = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_FIRST = re.compile(r"([A-Z]{1,2}|[А-Я])?(\d{1,4})?")
_LETTER_ADDED = re.compile(rf"([A-Z]{{0,2}}\d{{1,4}})(?:\s?({'|'.join(LATIN_ADDED)})|([A-Z]{{1,2}}|[a-z]))")
_ADDED = 20_000
"""Added to the letter or Latin word of a number that was inserted after publication, which is a part of its own:
"5.2.1A" comes after everything below "5.2.1". Above all other parts but first ones."""
_PARTS = re.compile(r"[.()]+")
_YEARS = range(1950, 2050)
"""Numbers after a dot that are years: "5.1999" is a month, "25.1309" a clause."""
_CODES = 3
"""Depth of brackets from which codes of law count in Roman numerals: (a)(1)(ii)."""

T = TypeVar("T")


def whole_number(text: str | None, default: T) -> int | T:
    """Read a whole number of up to nine digits, as in attributes of files; the default for anything else."""
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default


_ROMAN = (
    (1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L"), (40, "XL"),
    (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"),
)  # fmt: skip
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
)  # fmt: skip
_FORMS = {"a": (26, "lowerLetter"), "A": (26, "upperLetter"), "i": (99, "lowerRoman"), "I": (99, "upperRoman")}
"""For the short name of a form: the largest number that is written in it, and Word's name."""

FORM_NAMES = {
    "arabic": "1", "decimal": "1", "loweralpha": "a", "upperalpha": "A", "lowerroman": "i", "upperroman": "I",
}  # fmt: skip
"""Short names of forms by their names in AsciiDoc, docutils and Sphinx."""


def counted(count: int, form: str) -> str:
    """Write a number as digits, letter or Roman numeral, by the short name of its form ("1", "a", "A", "i", "I")."""
    most, number_format = _FORMS.get(form, (0, ""))
    return format_number(count, number_format) if 1 <= count <= most else str(count)


def format_number(number: int, number_format: str) -> str:
    """Write a number in one of Word's formats; unknown formats are written in decimals."""
    if number_format in {"none", "bullet"}:
        return ""
    if number_format in {"upperRoman", "lowerRoman"}:
        return _cased(to_roman(number), number_format)
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


def to_roman(number: int) -> str:
    """Write a number in Roman numerals, in capitals; at most 40 of them."""
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


# ---- numbers of clauses ---------------------------------------------------------------------------------------------


def number_key(number: str, keyword: str = "") -> NumberKey | None:
    """Convert "5.3.1", "A.2", "IV", "R302.5" or "1910.95(b)(1)" into a key; None if it is not a clause number."""
    plain, _, brackets = number.partition("(")
    key: list[int | None] = []
    for place, part in enumerate(re.split(r"[.-]", plain.rstrip("."))):
        added = _LETTER_ADDED.fullmatch(part)
        count = added[1] if added else part
        key.append(_part(count) if place else _first(count, roman=keyword in {"part", "chapter"}))
        if added:
            key.append(_ADDED + (LATIN_ADDED.index(added[2]) + 1 if added[2] else _letters_value(added[3].upper())))
    for depth, part in enumerate(filter(None, _PARTS.split(brackets)), 1):
        key.append(roman_value(part.upper()) if depth == _CODES and part.isalpha() else _part(part))
    return tuple(part for part in key if part is not None) if None not in key and len(key) <= 9 else None


_NAMED = re.compile(
    r"(?:[A-Z]{2,4}(?:\s?\d{1,2}|\sNo\.\s?\d{1,2})?\s(?:to\s)?)?"
    r"(?P<number>(?P<word>[A-Z]{2,4}(?:-[A-Z]{1,4})?)\d{0,2}[ -]"
    r"(?P<figures>\d{1,3}[A-Z]?(?:\.\d{1,4}[A-Z]{0,2}){1,4}|\d{2}[A-Z]\d{2,4}|(?<=[A-Z]-[A-Z][ -])\d{1,4}"
    r"|(?<=[A-Z]-[A-Z]{3}[ -])\d{1,4})(?:\([A-Za-z\d]{1,4}\)){0,6})(?P<stop>[.:]?)(?=\s|\Z)"
)
_TWO_FIGURES = re.compile(r"\d{2}[A-Z]{0,2}\Z")
_IN_ORDER = 0.75
"""Share of them that must follow the one before: books of a code begin again."""
_FEWEST_NAMED = 3
"""Fewest paragraphs with one word that are a code's: one or two may be names of products."""


def named_numbers(titles: Sequence[str]) -> dict[int, NumberedTitle]:
    """Read the numbers of a code's paragraphs: its letters before the figures ("CS 25.21", "AMC1 25.1309(b)").

    Designations of other things look the same. The paragraphs of a code are at least three, count up, and count to
    ten and beyond, unlike versions ("TLS 1.2"). Material about them has their figures after other letters.

    Returns:
        Number as printed and title, by the index of those of `titles` that begin with such a number.
    """
    by_word: defaultdict[str, list[tuple[int, re.Match[str]]]] = defaultdict(list)
    for place, title in enumerate(titles):
        if (match := _NAMED.match(title)) is not None and not is_foreign(match["number"]):
            by_word[match["word"]].append((place, match))
    codes = [word for word, members in by_word.items() if _is_code([match["figures"] for _, match in members])]
    known = {match["figures"] for word in codes for _, match in by_word[word]}
    found: dict[int, NumberedTitle] = {}
    for word, members in by_word.items():
        for place, match in members:
            if word in codes or match["figures"] in known:
                title = titles[place]
                rest = title[match.end() :].lstrip(" –—-")
                found[place] = NumberedTitle(title[: match.end("number")], rest or title)
    return found


def _is_code(figures: Sequence[str]) -> bool:
    """Return whether the figures after one word are those of a code's paragraphs."""
    keys = [tuple(map(int, re.findall(r"\d+", each))) for each in figures]
    rising = sum(one <= other for one, other in itertools.pairwise(keys))
    high = sum(_TWO_FIGURES.search(each) is not None for each in figures)
    return len(set(keys)) >= _FEWEST_NAMED and rising >= _IN_ORDER * (len(keys) - 1) and 2 * high >= len(keys)


_OF_POLICIES = r"policy|objective|principle|proposal|recommendation"
_CODED = re.compile(
    rf"(?:(?P<word>{_OF_POLICIES})\s+)?"
    r"(?P<number>(?P<letters>[A-Z]{1,4})(?P<figure>\d{1,3}))(?P<stop>\s?[:–—]\s?|\s-\s|(?(word)\s))(?P<title>\S.*)",
    re.IGNORECASE,
)

_BEGINS_CODED = re.compile(rf"(?:{_OF_POLICIES})\b|[A-Z]{{1,4}}\d", re.IGNORECASE)
_WORDED = re.compile(r"(?<!\S)[^\W\d_]{3,}(?!\S)")
"""A word of a title; the names of the pins of a part have none."""


def has_coded(lines: Iterable[str]) -> bool:
    """Return whether enough lines begin as titles with such numbers do; a title may go on in the next line."""
    return sum(_BEGINS_CODED.match(line) is not None for line in lines) >= _FEWEST_NAMED


def coded_numbers(titles: Sequence[str]) -> dict[int, NumberedTitle]:
    """Read the letters and figures before the titles of policies: "HO1: Need for homes", "Policy H2 – Density".

    Each chapter of a plan has its letters, and counts from 1. Other names look the same: policies are at least three,
    and those with the same letters count up by one; then a chapter may have a single one.

    Returns:
        Number as printed and title, by the index of those of `titles` that begin with such a number.
    """
    by_letters: defaultdict[str, list[tuple[int, re.Match[str]]]] = defaultdict(list)
    for place, title in enumerate(titles):
        match = _CODED.match(title)
        if match is not None and match["letters"].isupper() and _WORDED.search(match["title"]):
            by_letters[match["letters"]].append((place, match))
    found: dict[int, NumberedTitle] = {}
    counted = 0
    for members in by_letters.values():
        figures = [int(match["figure"]) for _, match in members]
        counting = sum(other == one + 1 for one, other in itertools.pairwise(figures))
        if figures[0] == 1 and counting >= _IN_ORDER * (len(figures) - 1):
            found |= {place: NumberedTitle(match["number"], match["title"]) for place, match in members}
            counted += len(members) if len(members) > 1 else 0
    return found if counted >= _FEWEST_NAMED else {}


def _first(part: str, *, roman: bool) -> int | None:
    numeral = bool(part) and all(letter in _ROMAN_VALUES for letter in part)
    if numeral and (roman or len(part) > 1):
        return _ROMANS + (roman_value(part) or 0)
    match = _FIRST.fullmatch(part)
    if match is None or not part:
        return None
    if part.islower():
        return _part(part)
    return _letters_value(match[1] or "") * LETTERED + int(match[2] or 0)


def _letters_value(letters: str) -> int:
    value = 0
    for letter in letters:
        value = value * 26 + ord(letter) - ord("A" if letter <= "Z" else "А") + 1
    return value


def depth_of(key: NumberKey) -> int:
    """Return the depth of a clause number: 3 for "5.2.1" and for "5.2.1A"."""
    return len(key) - sum(part > _ADDED for part in key[1:])


def _part(part: str) -> int | None:
    if re.fullmatch(r"\d{1,4}", part):
        return None if int(part) in _YEARS else int(part)
    if len(part) != 1 or not part.isalpha():
        return None
    return _ANY if part == "x" else ord(part.lower()) - ord("a") + 1


def roman_value(numeral: str) -> int | None:
    """Read a Roman numeral in capitals, None for other letters."""
    values = [_ROMAN_VALUES.get(letter, 0) for letter in numeral]
    return sum(-a if a < b else a for a, b in zip(values, [*values[1:], 0], strict=True)) if all(values) else None


_DIGITS, _UNITS = "〇一二三四五六七八九", {"十": 10, "百": 100, "千": 1000}


def ordinal_value(numeral: str) -> int:
    """Read a whole number in digits or Chinese characters: "23", "二十三", "一〇五"."""
    if numeral.isdecimal():
        return int(numeral)
    total = digits = 0
    for sign in numeral.replace("零", "〇"):
        if sign in _UNITS:
            total, digits = total + (digits or 1) * _UNITS[sign], 0
        else:
            digits = 10 * digits + _DIGITS.index(sign)
    return total + digits


def by_hundreds(key: NumberKey, chapters: Collection[int]) -> NumberKey:
    """Split "1003.2" into chapter, section and clause (10, 3, 2) if there is such a chapter, as in building codes."""
    chapter, section = divmod(key[0] % LETTERED, 100) if key else (0, 0)
    return (chapter, section, *key[1:]) if chapter in chapters else key


def follows(one: NumberKey, other: NumberKey) -> bool:
    """Return whether `other` may directly follow `one` in a numbered document; up to two numbers may be missing.

    An "x" ("5.3.x") may follow any number of the same clause.
    """
    if other <= one:
        return False
    same = 0
    while same < min(len(one), len(other)) and one[same] == other[same]:
        same += 1
    if same == len(one):
        return len(other) == len(one) + 1 and other[-1] in {0, 1, 2, _ANY, _FIRST_ADDED, _ADDED + 1}
    step = other[same] - one[same] if same else _step(one[0], other[0])
    if same and other[same] == _ADDED + 1:  # everything below "5.2.1" comes before "5.2.1A"
        return len(other) == same + 1
    if len(other) == same + 2:  # "3.0" is the third clause if the first is "1.0"
        return step == 1 and other[same + 1] in {0, 1}
    return len(other) == same + 1 and (1 <= step <= 3 or other[same] == _ANY)


def _step(one: int, other: int) -> int:
    """Return the distance between two first numbers; the first number of another letter counts as next."""
    if one // LETTERED == other // LETTERED or min(one, other) >= _ROMANS:
        return other - one
    if one >= LETTERED and one % LETTERED == other % LETTERED == 0 and (apart := (other - one) // LETTERED) <= 3:
        return apart
    opens = other - _ROMANS == 1 or (
        other // LETTERED % 26 in {1, 2} if other % LETTERED == 0 else other % LETTERED < 3
    )
    return 1 if opens else LETTERED


def family(key: NumberKey) -> NumberKey:
    """Return what sibling numbers share; annexes are their own family, since the text may use the same numbers."""
    return key[:1] if key[0] >= LETTERED and key[0] % LETTERED == 0 else key[: depth_of(key) - len(key) - 1]


def counts_on(last: NumberKey, key: NumberKey, known: Collection[NumberKey] = ()) -> bool:
    """Return whether a number is next: the first below the last one, or the one after it or after one above it.

    An annex that explains clauses of the text has their numbers after its letter: "A.6.4.2", "A-3.1.2.1.(1)".
    """
    inserted = key[1:] and key[-1] == _ADDED + 1 and key[:-1] == last[: len(key) - 1]
    if inserted or key == (*last, 1):
        return bool(last)
    if 1 < len(key) <= len(last) and key == (*last[: len(key) - 1], last[len(key) - 1] + 1):
        return True
    lettered = key[0] >= LETTERED and key[0] % LETTERED == 0
    explains = bool(last) and lettered and key > last and (key[0] == last[0] or last[0] < LETTERED)
    return explains and any(key[1:end] in known for end in range(2, len(key) + 1))


_SIBLINGS = 2
"""Fewest clauses without a title below one heading, somewhere in a document: a single number may be a citation."""


_COMMENTED = {ord(letter) - ord("A") + 1 for letter in "CR"}
"""Letters before a clause number that mark its commentary, in codes for structures."""


def clause_commented(key: NumberKey, known: Collection[NumberKey]) -> NumberKey | None:
    """Return the known clause that "R26.4.1" or "C5.2.1" comments on; None if it is not a comment."""
    letter, first = divmod(key[0], LETTERED) if key else (0, 0)
    plain = (first, *key[1:])
    is_comment = letter in _COMMENTED and first > 0 and len(key) > 1 and plain in known and key[:1] not in known
    return plain if is_comment else None


def has_commentary(text: str) -> bool:
    """Return whether a document may have clauses that comment on others: it contains the word."""
    return "commentary" in text.casefold()


@dataclass(slots=True)
class ClauseCount:
    """Track a document's clause numbers in order; `last` is the last one that is not a comment."""

    is_commented: bool = False
    last: NumberKey = ()
    _known: set[NumberKey] = field(default_factory=set[NumberKey])
    _counted: Counter[NumberKey] = field(default_factory=Counter[NumberKey])

    def take(self, key: NumberKey) -> None:
        """Count a clause."""
        if self.commented(key) is None:
            self.last = key
        self._known.add(key)
        self._counted[family(key)] += 1

    def comes_next(self, key: NumberKey) -> bool:
        """Return whether a number continues the numbering."""
        return counts_on(self.last, key, self._known) or self.commented(key) is not None

    def commented(self, key: NumberKey) -> NumberKey | None:
        """Return the clause that this number comments on, None if it is not a comment."""
        return clause_commented(key, self._known) if self.is_commented else None

    def is_sure(self, untitled: Iterable[NumberKey]) -> bool:
        """Return whether clauses without a title are clauses: some of them have siblings."""
        return any(self._counted[family(self.commented(key) or key)] >= _SIBLINGS for key in untitled)


_FEWEST_THROUGH, _FEWEST_PLACES = 10, 3
"""Fewest paragraphs that are numbered through a document, and fewest sections that they are in: a list is in one."""
_MISSING = 2
"""Most numbers that may be missing in between: paragraphs that were deleted or could not be read."""


@dataclass(frozen=True, slots=True)
class RunningNumber:
    """A heading, or the beginning of a paragraph, with a number of one part: "10 Substances", "9. Manufacturers shall".

    `level` is that of the heading, or of a clause below the heading above the paragraph, which is `section`.
    """

    place: int
    number: int
    level: int
    section: int | None
    is_heading: bool


def counted_through(found: Sequence[RunningNumber]) -> dict[int, int]:
    """Find the paragraphs that are clauses because they count on across headings, unlike the items of lists.

    Reports and judgments number their paragraphs from the first page to the last. If headings have numbers, these
    paragraphs are those that the headings leave out: 9 before "10 Substances", 12 between "11" and "13".

    Returns:
        Level of the clause, by the place of its paragraph.
    """
    if sum(each.is_heading for each in found) >= _SIBLINGS:
        return _left_out(found)
    chain: list[RunningNumber] = []
    listed = -1  # number of the item before, if it is not in the chain
    for each in found:
        last = chain[-1].number if chain else 0
        if each.is_heading:
            return {}
        if last < each.number <= last + 1 + (_MISSING if chain else 0) and each.number != listed + 1:
            chain.append(each)
            listed = -1
        else:
            listed = each.number
    is_through = len({each.section for each in chain}) >= _FEWEST_PLACES and len(chain) >= _IN_ORDER * len(found)
    return {each.place: each.level for each in chain} if is_through and len(chain) >= _FEWEST_THROUGH else {}


def _left_out(found: Sequence[RunningNumber]) -> dict[int, int]:
    """Find the paragraphs with the numbers that the headings before and after them leave out."""
    taken = {each.number for each in found if each.is_heading}
    clauses: dict[int, int] = {}
    run: list[RunningNumber] = []
    last, listed = 0, -1
    for each in found:
        number = run[-1].number if run else last
        if each.is_heading:
            clauses |= {one.place: each.level for one in run if each.number == number + 1}
            run, last, listed = [], each.number, -1
        elif each.number == number + 1 and each.number not in taken and each.number != listed + 1:
            run.append(each)
        else:
            listed = each.number
    return clauses


class TypedItems:
    """Recognise list items whose markers were typed into paragraphs: after a colon, and those that count on."""

    def __init__(self) -> None:
        self._open: list[tuple[int, str]] = []

    def depth_of(self, marker: str, above: str, depth_above: int) -> int | None:
        """Return the depth from 0 of a paragraph with a marker as a list item; None if it is not one.

        Args:
            marker: "a)", "(ii)", "-".
            above: the end of the previous block.
            depth_above: its depth as a list item, -1 if it is not one.
        """
        if above.endswith(":"):
            depth = depth_above + 1
        else:
            depth = next((depth for depth, last in reversed(self._open) if marker in _after(last)), -1)
            if depth < 0:
                return None
        self._open = [each for each in self._open if each[0] < depth] + [(depth, marker)]
        return depth


_COUNTING = re.compile(r"[A-Za-z]+|\d+")


def _after(marker: str) -> set[str]:
    """Return the markers that may come next; a bullet repeats.

    Each part may count on: "(a)(2)", "(b)(1)" and "(b)" may come after "(a)(1)", and "2a." or "2bis." after "2.".
    """
    parts = list(_COUNTING.finditer(marker))
    if not parts or marker == "o":
        return {marker}
    end = parts[-1].end()
    following: set[str] = set()
    for part in parts:
        before = marker[: part.start()]
        for each in _next(part.group()):
            following |= {f"{before}{each}{marker[part.end() :]}", f"{before}{each}{marker[end:]}"}
    if marker[end - 1].isdigit():
        following |= {f"{marker[:end]}{added}{marker[end:]}" for added in ("a", "bis", " bis")}
    return following


def _next(word: str) -> set[str]:
    """Return what may follow one part of a marker: a number, a letter, a Roman numeral, a Latin word."""
    if word.isdigit():
        return {str(int(word) + 1)}
    following = {chr(ord(word) + 1)} if len(word) == 1 else set[str]()
    if (value := roman_value(word.upper())) is not None:
        following.add(counted(value + 1, "i" if word.islower() else "I"))
    if word in LATIN_ADDED[:-1]:
        following.add(LATIN_ADDED[LATIN_ADDED.index(word) + 1])
    return following
