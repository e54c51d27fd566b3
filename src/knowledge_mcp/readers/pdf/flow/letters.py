"""Adds printed letters that the parser misses, and replaces formulas that it writes for ordinary text.

The parser omits some lone numbers, combines letters of the lines above and below into a supposed fraction, and writes
formulas for small, raised and crossed-out letters. PDFium's text of the page is used to correct that. Signs without a
name keep their place. Ligatures of TeX fonts, of which only codes are known, are spelled out.
"""

from __future__ import annotations

import ctypes
import itertools
import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from knowledge_mcp.readers.pdf.geometry import (
    base_of_letter,
    from_page,
    gap_between,
    on_page,
    raw,
    size_of_letter,
    text_in,
)
from knowledge_mcp.readers.pdf.lines import HEAVY, Box, box_of, is_rotated, is_slanted, size_of
from knowledge_mcp.readers.pdf.signs import SYMBOL, with_signs
from knowledge_mcp.readers.shared.layout import is_bold_name, is_code_name, is_italic_name, letters_of
from knowledge_mcp.readers.shared.richtext import raised_or_lowered

if TYPE_CHECKING:
    from liteparse.types import ParsedPage, TextItem

_FORMULA = re.compile(r"[_^]\{|\\[a-z]")
_NAMELESS = re.compile(r"[\x01-\x08\x0e-\x1f\x7f-\x9f]+")
"""Signs of a font without names, such as a tick in a cell: only their codes are known. As text they would be lost."""
_LIGATURES = ("ff", "fi", "fl", "ffi", "ffl")
_INSET = 0.17
"""Share of its height by which an item extends beyond its letters, and may overlap those of the next line."""
_BAND = 20
"""Height in points of the bands in which items are searched for a letter; the value does not affect the result."""

_LEVEL = 5.0
"""Maximum angle in degrees of letters that count as horizontal or vertical, as in `is_slanted` for items."""
_RAISABLE = re.compile(r"[-–−]?\d{1,9}\)?|[a-h](?:, ?[a-h]\b){0,5}\)?(?!\w)")
"""Digits, and letters that mark notes of tables, at the end of a word; ")" may follow them."""
_WORD = 12
_BEFORE, _AFTER = re.compile(r"\S{1,12}\Z"), re.compile(r"\S{1,3}")
"""Text next to digits, about a word, by which they are found in an item."""
_FRACTION = frozenset("/⁄")
_NOTE_GAP = 4.0
"""Maximum gap between a raised mark and its note, as a share of the size of the mark: a tab of tables."""
_SMALL, _HIGH, _LEAST = 0.85, 0.15, 0.5
"""Shares of the font size below and above which digits are superscripts: word processors use 0.58 to 0.7, and 0.33.
Letters below the last share follow an initial of several lines."""


@dataclass(frozen=True, slots=True)
class PrintedLetter:
    """One letter: its index in PDFium's text, and its box on the page, from the top left, in points."""

    at: int
    text: str
    box: Box

    @property
    def middle(self) -> tuple[float, float]:
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2


def write_as_printed(page: Any, text: Any, parsed: ParsedPage, hidden: Sequence[Box] = ()) -> None:
    """Rewrite the items of a parsed page as they are printed, in place, and add missing ones.

    Args:
        page: the open PDFium page.
        text: its text page.
        parsed: the same page as the parser returns it.
        hidden: boxes of hidden text, from the top left.
    """
    printed = str(text.get_text_range())
    ligatures = ligatures_of(printed)
    for item in parsed.text_items:
        item.text = item.text.replace("\xad", "-")  # in print it is a hyphen that is seen
        item.text = ligatures.spell(item.text) if ligatures else item.text
        if item.text.count("$") > 1 and _FORMULA.search(item.text) is not None:
            item.text = _printed(page, text, item, ligatures) or item.text
        elif is_rotated(item):
            words = _printed(page, text, item, ligatures)  # the parser inserts spaces into words that run down
            item.text = words if letters_of(words) == letters_of(item.text) else item.text
        elif _NAMELESS.fullmatch(item.text):
            item.text = "".join(chr(SYMBOL + ord(sign)) for sign in item.text)
    counts = Counter(printed)
    counts.subtract(Counter("".join(item.text for item in parsed.text_items)))
    missing = {letter for letter, count in counts.items() if count > 0 and letter.isalnum()}
    if missing or ligatures:
        _add(page, text, parsed, missing, ligatures, hidden)
    for item in parsed.text_items:
        item.text = with_signs(item)
    _write_signs(page, text, printed, parsed)
    _part(page, text, printed, parsed)
    parsed.text_items = [part for item in parsed.text_items for part in _by_face(page, text, item)]
    _raise(page, text, printed, parsed)
    _close_up(page, text, parsed)


class _Ligatures:
    """Spells out the ligatures in words of one page; their codes begin at `first`."""

    def __init__(self, first: int) -> None:
        self._first = first
        codes = rf"[{re.escape(chr(first))}-{re.escape(chr(first + len(_LIGATURES) - 1))}](?!\n)"  # not at a line's end
        self._pattern = re.compile(
            rf"(?<=[^\W\d_]){codes}(?=[a-z])|(?<![^\W\d_]){codes}(?=[a-z][a-z])|(?<=[a-z]){codes}(?![^\W\d_])"
        )

    def find(self, text: str) -> dict[int, str]:
        """Return the letters of each ligature, by its index in the text."""
        return {found.start(): _LIGATURES[ord(found[0]) - self._first] for found in self._pattern.finditer(text)}

    def spell(self, text: str) -> str:
        """Return the text with its ligatures as letters."""
        return self._pattern.sub(lambda found: _LIGATURES[ord(found[0]) - self._first], text)


_TEX, _DVIPS = _Ligatures(0x0B), _Ligatures(0xAE)
"""In TeX's own encoding, and as dvips moves them for programs that treat codes below 32 as white space."""


def ligatures_of(printed: str) -> _Ligatures | None:
    """Find the codes by which a page prints ligatures; None if it prints none.

    Codes that other signs also have must occur in two words as "fi", by far the most frequent of the five.
    """
    if _TEX.find(printed):
        return _TEX
    return _DVIPS if [*_DVIPS.find(printed).values()].count("fi") > 1 else None


def _add(
    page: Any, text: Any, parsed: ParsedPage, missing: set[str], ligatures: _Ligatures | None, hidden: Sequence[Box]
) -> None:
    sheet = LetterSheet(page, text, parsed.text_items, ligatures)
    inside: dict[int, list[PrintedLetter]] = {}
    alone: list[PrintedLetter] = []
    for letter in sheet.letters(missing):
        x, y = letter.middle
        if not (0 < x < parsed.width and 0 < y < parsed.height) or any(_is_in(letter, box) for box in hidden):
            continue
        homes = sheet.homes(letter)
        for index in homes:
            inside.setdefault(index, []).append(letter)
        if not homes:
            alone.append(letter)
    for index, letters in inside.items():
        item = parsed.text_items[index]
        if is_slanted(item):
            continue  # whole lines of text are in its box
        if ligatures or Counter(letter.text for letter in letters) - Counter(item.text):
            words = _printed(page, text, item, ligatures)
            if not _letters_only(item.text) - _letters_only(words):
                item.text = words
    parsed.text_items.extend(sheet.items(alone))


_KINDS = {"-": "–—−―‒", "'": "‘’‚′", '"': "“”„″"}
"""Dashes, quotation marks and primes, by the sign that the parser writes for each."""
_PLAIN = {kind: plain for plain, kinds in _KINDS.items() for kind in kinds} | dict.fromkeys("‐‑\xad\x02\ufffe", "-")
"""The sign that the parser writes for a printed one. Hyphens of all kinds stay "-": PDFium has several at line ends."""
_KIND = re.compile(f"[{''.join(_KINDS.values())}]")
_SIGN = re.compile(f"[{''.join(_PLAIN)}\"'-]")


def _write_signs(page: Any, text: Any, printed: str, parsed: ParsedPage) -> None:
    """Write dashes and quotation marks as they are printed: "1—A" must not read "1-A"."""
    if _KIND.search(printed) is None:
        return
    sheet = LetterSheet(page, text, parsed.text_items, None)
    signs: defaultdict[int, list[str]] = defaultdict(list)
    for found in _SIGN.finditer(printed):
        letter = sheet.letter(found.start())
        for index in sheet.homes(letter) if letter is not None and letter.text == found[0] else ():
            signs[index].append(found[0])
    for index, kinds in signs.items():
        item = parsed.text_items[index]
        if [_PLAIN.get(kind, kind) for kind in kinds] == [sign for sign in item.text if sign in _KINDS]:
            written = iter([kind if _KIND.match(kind) else _PLAIN.get(kind, kind) for kind in kinds])
            item.text = "".join(next(written) if sign in _KINDS else sign for sign in item.text)


def _part(page: Any, text: Any, printed: str, parsed: ParsedPage) -> None:
    """Write the blanks that the parser misses in tight lines: "ofthe". Few pages have any."""
    known, words = set(_RUN.findall(printed)), set(_RUN.findall(" ".join(item.text for item in parsed.text_items)))
    least = _APART * min((size_of(item) for item in parsed.text_items), default=0.0)
    if page.get_rotation() or not any(
        word not in known or _is_parted(text, printed, word, words, least) for word in words
    ):
        return
    for item in parsed.text_items:
        if not is_rotated(item) and _RUN.search(item.text):
            item.text = _parted(page, text, item)


def _is_parted(text: Any, printed: str, word: str, words: set[str], least: float) -> bool:
    """Return whether a gap is in a word, beside another word of the page or where capitals end."""
    halves = [
        at
        for at in range(2, len(word))
        if word[:at] in words or word[at:] in words or (word[:at].isupper() and word[at:].islower())
    ]
    start = printed.find(word) if halves else 0
    return any(gap_between(text, start + at - 1, start + at) > least for at in halves)


def _parted(page: Any, text: Any, item: TextItem) -> str:
    """Return an item's text with a blank in each gap between two letters that is wider than its usual gaps."""
    at, found = _start_of(page, text, item), list[int]()
    for sign in item.text:
        at = at if sign.isspace() else _index_of(text, at, sign) + 1
        if at <= 0:
            return item.text
        found.append(at - 1)
    gaps = {place: gap_between(text, *found[place - 1 : place + 1]) for place in _inside(item.text)}
    usual = statistics.median(gaps.values()) if gaps else 0.0
    blanks = [
        gap_between(text, found[at - 1], found[at + 1]) for at, sign in enumerate(item.text[1:-1], 1) if sign == " "
    ]
    least = max(_APART * size_of(item), _PARTED * usual, _TIGHT * statistics.median(blanks or [0.0]))
    return "".join(f" {sign}" if gaps.get(place, 0.0) > least else sign for place, sign in enumerate(item.text))


def _inside(words: str) -> list[int]:
    """List the places within words between two letters, or a letter and a digit."""
    pairs = enumerate(itertools.pairwise(words), start=1)
    return [at for at, (one, other) in pairs if one.isalnum() and other.isalnum() and one.isalpha() | other.isalpha()]


def _is_generated(text: Any, at: int) -> bool:
    return bool(raw().FPDFText_IsGenerated(text, at) == 1)


def _by_face(page: Any, text: Any, item: TextItem) -> list[TextItem]:
    """Split an item after its bold, italic or monospaced beginning, and after a number before it.

    The parser gives all of it the font of its first sign.
    """
    changed = _change_of_face(page, text, item)
    if changed is None:
        return [item]
    start, at = changed
    size, font, weight, _ = _print_of(text, at)
    rest = replace(item, text=item.text[start:], font_name=font, font_weight=weight, font_height=size)
    letter = LetterSheet(page, text, [], None).letter(at)
    if not start:
        return [rest]
    if letter is None or not item.x < letter.box[0] < item.x + item.width:
        return [item]
    rest.x, rest.width = letter.box[0], item.x + item.width - letter.box[0]
    width = rest.x - item.x - _BLANK * item.height * (item.text[start - 1] == " ")
    return [replace(item, text=item.text[:start].rstrip(), width=width), *_by_face(page, text, rest)]


def _change_of_face(page: Any, text: Any, item: TextItem) -> tuple[int, int] | None:
    """Return where the first word in another face begins, in the item's text and in PDFium's; None if none is."""
    apart = _is_apart(item.font_name or "", item.font_weight or 0)
    if " " not in item.text or is_rotated(item) or not (apart or _NUMBER.match(item.text)):
        return None
    at = _start_of(page, text, item)
    for place, word in enumerate(_WORDS.finditer(item.text)):
        last = -1
        for sign in word[0]:
            at = _index_of(text, at, sign)
            if at < 0:
                return None
            last = at if sign.isalnum() else last
            at += 1
        _, font, weight, _ = _print_of(text, last)
        if last >= 0 and _is_apart(font, weight) != apart:
            return word.start(), at - len(word[0])
        if place and not apart:
            return None
    return None


def _start_of(page: Any, text: Any, item: TextItem) -> int:
    """Return the index of an item's first letter in PDFium's text; negative if there is none."""
    wide = min(item.width / len(item.text), item.height)
    for across, down in _PLACES:
        place = on_page(page, page.get_size(), item.x + across * wide, item.y + down * item.height)
        at = int(raw().FPDFText_GetCharIndexAtPos(text, *place, _WITHIN, _WITHIN))
        if at >= 0:
            return at
    return -1


def _index_of(text: Any, at: int, sign: str) -> int:
    """Return the index of a sign in PDFium's text, from `at` on and after white space only; -1 if it is not there."""
    while at >= 0 and (printed := chr(raw().FPDFText_GetUnicode(text, at))) != sign:
        at = at + 1 if printed.isspace() else -1
    return at


def _is_apart(font: str, weight: int) -> bool:
    return weight >= HEAVY or is_bold_name(font) or is_italic_name(font) or is_code_name(font)


_RUN = re.compile(r"[^\W_]{2,40}")
_APART = 0.09
"""Minimum gap between two words as a share of the font size: justified print squeezes blanks to 0.1, and TeX puts up
to 0.05 between letters."""
_TIGHT = 0.4
"""The same as a share of the usual blank of its line."""
_PLACES = ((0.25, 0.5), (0.25, 0.75), (0.5, 0.75), (0.25, 0.25))
"""Where the first sign of an item is looked for, as shares of a letter's width and height: a full stop is low."""
_WITHIN = 2.0
"""Distance in points within which the first letter of an item is found."""
_WORDS = re.compile(r"[^\s—]+—*|—+")
"""A word, or its part up to a dash: "term, n—meaning" is set in two faces."""
_NUMBER = re.compile(r"(?:\d{1,3}|[A-Z])(?:\.\d{1,3})*\.? ")
"""The number of a clause, often in other print than its title."""
_BLANK = 0.2
"""Width of the blank between two words as a share of the height of their print."""
_SINGLE, _PARTED = 0.6, 2.0
"""Minimum share of single-letter words in an item that may be letter-spaced, and gap between two words as a factor of
the usual gap between two of its letters."""


def _close_up(page: Any, text: Any, parsed: ParsedPage) -> None:
    """Join the letters of letter-spaced words ("S C O P E  O F"): the parser takes the gaps as spaces.

    According to PDFium the file has no spaces there; if it has some, single letters are words.
    """
    wide = [item for item in parsed.text_items if not is_rotated(item) and _is_wide(item.text)]
    if not wide:
        return
    sheet = LetterSheet(page, text, parsed.text_items, None)
    rows: defaultdict[int, list[PrintedLetter]] = defaultdict(list)
    for letter in sheet.printed():
        rows[round(letter.middle[1]) // _BAND].append(letter)
    for item in wide:
        box = box_of(item)
        bands = range(round(box[1]) // _BAND, round(box[3]) // _BAND + 1)
        letters = sorted((each for band in bands for each in rows[band] if _is_in(each, box)), key=lambda each: each.at)
        signs = [each for each in letters if not each.text.isspace()]
        gaps = {each.at: each.box[0] - before.box[2] for before, each in itertools.pairwise(signs)}
        usual = statistics.median(gaps.values()) if gaps else 0.0
        words = "".join(f" {each.text}" if gaps.get(each.at, 0.0) > _PARTED * usual else each.text for each in letters)
        if usual > 0 and letters_of(words) == letters_of(item.text):
            item.text = " ".join(words.split())


def _is_wide(text: str) -> bool:
    """Return whether a text may be letter-spaced: mostly words of one letter, and not a formula."""
    if len(text) > 3 * text.count(" "):
        return False  # cheap, and true of most texts
    words = re.split(r"[ -]+", text.strip())
    if len(words) < 3 or any(not word.isalnum() and any(map(str.isalnum, word)) for word in words):
        return False
    single = sum(len(word) == 1 and word.isalpha() for word in words)
    return single > 1 and single >= _SINGLE * len(words)


def _raise(page: Any, text: Any, printed: str, parsed: ParsedPage) -> None:
    """Write small raised digits and marks as superscripts: 10³ and 40ᵃ, not 103 and 40a, nor "stop.1 The"."""
    sheet: LetterSheet | None = None
    for found in _RAISABLE.finditer(printed):
        start, end = next(_raised_in(text, found.start(), found.end(), printed), (0, 0))
        if start == end or printed[end : end + 4].lstrip()[:1] in _FRACTION:
            continue
        sheet = sheet or LetterSheet(page, text, parsed.text_items, None)
        letter = sheet.letter(start)
        run = printed[start:end]
        blank = _blank_before(text, start, printed)
        level_run = re.escape(run) + ("" if run[-1].isdigit() else r"(?!\w)")
        before = _BEFORE.search(printed, max(start - _WORD, 0), start - len(blank))
        after = _AFTER.match(printed, end)
        for item in (parsed.text_items[index] for index in (sheet.homes(letter) if letter else ())):
            above = raised_or_lowered(run, "superscript")
            level = re.search(rf"{re.escape(before[0])} ?{level_run}", item.text) if before is not None else None
            if before is not None and level is not None:
                item.text = f"{item.text[: level.start()]}{before[0]}{above}{item.text[level.end() :]}"
            elif after is not None and before is None and item.text.startswith(f"{run}{after[0]}"):
                item.text = f"{above} {item.text[len(run) :]}"
            elif item.text.strip() == run or (
                letter is not None
                and item.text.startswith(run)
                and _is_first(letter, item)
                and (before is None or _is_beside(text, start - len(blank) - 1, start))
            ):
                item.text = f"{above}{item.text.lstrip()[len(run) :]}"


def _is_first(letter: PrintedLetter, item: TextItem) -> bool:
    return letter.box[0] < item.x + (letter.box[2] - letter.box[0])


def _raised_in(text: Any, start: int, end: int, printed: str) -> Iterator[tuple[int, int]]:
    """Yield the part of a run of digits or letters that is smaller and higher than the text before or after it."""
    for at in range(start, end):
        beside = at - 1 - (len(_blank_before(text, at, printed)) if printed[at - 1 : at].isspace() else 0)
        if beside < 0 or printed[beside].isspace():
            between = printed[end : end + 3]  # PDFium adds a line break after a high mark
            beside = end + len(between) - len(between.lstrip(" \r\n"))
            beside = beside if _is_beside(text, end - 1, beside, _NOTE_GAP) else len(printed)
        # most letters are level with the one beside them; this is asked faster than sizes
        if not printed[beside : beside + 1].strip() or base_of_letter(text, at) <= base_of_letter(text, beside):
            continue
        size, usual = size_of_letter(text, at), size_of_letter(text, beside)
        least = 0.0 if printed[at].isdigit() else _LEAST
        high = base_of_letter(text, beside) + _HIGH * usual
        if least * usual < size < _SMALL * usual and high < base_of_letter(text, at) < high + usual:
            while (least or printed[end - 1] == ")") and base_of_letter(text, end - 1) <= high:
                end -= 1
            yield at, end
            return


def _blank_before(text: Any, at: int, printed: str) -> str:
    """Return the blank before a letter if the file has none there, only a gap, as in "m ³"; otherwise nothing.

    PDFium may add a line break instead, before a letter that is beside the one before.
    """
    blank = next((each for each in (" ", "\r\n") if printed.endswith(each, 0, at)), "")
    is_gap = blank and _is_generated(text, at - 1)
    return blank if is_gap and (blank == " " or _is_beside(text, at - len(blank) - 1, at)) else ""


def _is_beside(text: Any, before: int, at: int, most: float = _HIGH) -> bool:
    """Return whether a letter begins where another one ends; `most` is the gap as a share of the size of that one."""
    edges = [ctypes.c_double() for _ in range(4)]
    pdfium = raw()
    if before < 0 or not pdfium.FPDFText_GetCharBox(text, before, *edges):
        return False
    right = edges[1].value
    pdfium.FPDFText_GetCharBox(text, at, *edges)
    return abs(edges[0].value - right) < most * size_of_letter(text, before)


class LetterSheet:
    """The letters of a page and their positions.

    Args:
        page: the PDFium page.
        text: its text page.
        items: items of the parser.
        ligatures: how the page prints them.
    """

    def __init__(self, page: Any, text: Any, items: Sequence[TextItem], ligatures: _Ligatures | None) -> None:
        self._page, self._text = page, text
        self._boxes = boxes = [box_of(item) for item in items]
        self._slanted = {index for index, item in enumerate(items) if is_slanted(item)}
        self._bands: defaultdict[int, list[int]] = defaultdict(list)
        for index, (_, top, _, bottom) in enumerate(boxes):
            for band in range(round(top) // _BAND, round(bottom) // _BAND + 1):
                self._bands[band].append(index)
        self._size = page.get_size()
        self._count = text.count_chars()
        self._edges = [ctypes.c_double() for _ in range(4)]
        self._ligatures = ligatures.find("".join(map(self._sign, range(self._count)))) if ligatures else {}

    def letters(self, names: set[str]) -> Iterator[PrintedLetter]:
        """Find these letters and ligatures on the page; a letter printed twice at one place is found once."""
        seen: set[tuple[str, int, int]] = set()
        for at in range(self._count):
            letter = self.letter(at) if at in self._ligatures or self._sign(at) in names else None
            if letter is None:
                continue
            x, y = map(round, letter.middle)
            if not any((letter.text, x + across, y + down) in seen for across in (-1, 0, 1) for down in (-1, 0, 1)):
                yield letter
            seen.add((letter.text, x, y))

    def printed(self) -> Iterator[PrintedLetter]:
        """Yield all letters and signs in file order, without the white space that PDFium adds."""
        for at in range(self._count):
            letter = self.letter(at) if raw().FPDFText_IsGenerated(self._text, at) == 0 else None
            if letter is not None:
                yield letter

    def homes(self, letter: PrintedLetter) -> list[int]:
        """Return the indexes of the boxes that contain a letter."""
        nearby = self._bands.get(round(letter.middle[1]) // _BAND, ())
        found = [index for index in nearby if _is_in(letter, self._boxes[index])]
        if self._slanted.isdisjoint(found) or abs((_angle_of(self._text, letter.at) + 45) % 90 - 45) > _LEVEL:
            return found
        return [index for index in found if index not in self._slanted]

    def items(self, letters: Sequence[PrintedLetter]) -> Iterator[TextItem]:
        """Make an item from each run of consecutive letters, with adjacent signs."""
        from liteparse.types import TextItem

        runs: list[list[PrintedLetter]] = []
        for letter in letters:
            if runs and letter.at == runs[-1][-1].at + 1:
                runs[-1].append(letter)
            else:
                runs.append([*[*self._signs(letter.at, -1)][::-1], letter])
            runs[-1] += self._signs(letter.at, 1)
        for run in runs:
            size, font, weight, turn = _print_of(self._text, run[0].at)
            left, top = min(letter.box[0] for letter in run), min(letter.box[1] for letter in run)
            right, bottom = max(letter.box[2] for letter in run), max(letter.box[3] for letter in run)
            yield TextItem(
                text="".join(letter.text for letter in run),
                x=left,
                y=top,
                width=right - left,
                height=bottom - top,
                font_name=font,
                font_height=size,
                font_weight=weight,
                rotation=turn,
            )

    def _signs(self, at: int, step: int) -> Iterator[PrintedLetter]:
        """Find the signs next to a letter that are not letters, and that the parser misses too: "(", "−", "%"."""
        while letter := self.letter(at := at + step):
            if letter.text.isalnum() or letter.text.isspace() or not letter.text.isprintable() or self.homes(letter):
                return
            yield letter

    def letter(self, at: int) -> PrintedLetter | None:
        """Return one letter by its index in the page's text; None if it has no box."""
        pdfium = raw()
        if not 0 <= at < self._count or not pdfium.FPDFText_GetCharBox(self._text, at, *self._edges):
            return None
        left, right, bottom, top = (edge.value for edge in self._edges)
        corners = [from_page(self._page, self._size, x, y) for x, y in ((left, top), (right, bottom))]
        (x0, x1), (y0, y1) = (sorted(pair) for pair in zip(*corners, strict=True))
        return PrintedLetter(at, self._ligatures.get(at) or self._sign(at), (x0, y0, x1, y1))

    def _sign(self, at: int) -> str:
        return chr(raw().FPDFText_GetUnicode(self._text, at))


def _print_of(text: Any, at: int) -> tuple[float, str, int, float]:
    """Return the style of a letter: font size in points, font, weight, and rotation in degrees."""
    pdfium = raw()
    size = size_of_letter(text, at)
    name, flags = ctypes.create_string_buffer(128), ctypes.c_int()
    pdfium.FPDFText_GetFontInfo(text, at, name, ctypes.sizeof(name), flags)
    turn = _angle_of(text, at)
    return size, name.value.decode("utf-8", "replace"), pdfium.FPDFText_GetFontWeight(text, at), turn


def _angle_of(text: Any, at: int) -> float:
    return math.degrees(max(raw().FPDFText_GetCharAngle(text, at), 0.0))


def _letters_only(text: str) -> Counter[str]:
    return Counter(filter(str.isalnum, text))


def _is_in(letter: PrintedLetter, box: Box) -> bool:
    x, y = letter.middle
    return box[0] <= x <= box[2] and box[1] <= y <= box[3]


def _printed(page: Any, text: Any, item: TextItem, ligatures: _Ligatures | None) -> str:
    """Return what PDFium reads in the band of an item that contains all its letters and none of other lines."""
    across = min(_INSET * item.height, 0.5) if is_rotated(item) else _INSET * item.height
    along = _INSET * item.width if is_rotated(item) else min(_INSET * item.width, 0.5)
    right, bottom = item.x + item.width - along, item.y + item.height - across
    words = text_in(page, text, item.x + along, item.y + across, right, bottom)
    return " ".join((ligatures.spell(words) if ligatures else words).split())
