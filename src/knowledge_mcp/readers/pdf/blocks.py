"""Turns lines, tables and headings into the blocks of a document, in reading order across pages."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from knowledge_mcp.language.openings import Opening, is_commentary, mark_alone, opening_of
from knowledge_mcp.language.printed import MARK_OF_NOTE, RAISED, note_marks
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.headings.candidates import Body, is_title_of_caption
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.pdf.lines import Box, code_text
from knowledge_mcp.readers.shared.layout import Line, PageLayout, Table, packed
from knowledge_mcp.readers.shared.richtext import raised_or_lowered

_RAISED = re.compile(rf"(?<=\w)(?<![{RAISED}])[{RAISED}]+")
_SMALLER, _SMALLER_CITED = 1.4, 0.4
"""Minimum difference in points between the print of the text and of footnotes."""
_MARGIN = 1.0
"""Points added around the lines of a box: glyphs extend beyond the ascent and descent that their font states."""
_MOST_GAP = 3.0
"""Horizontal distance in points between a box and a line from which the line is in another column."""


class Extent:
    """Collect the boxes of the lines of one block, in reading order.

    A line on another page begins a new box. So does a line that is higher than the line before it and next to the box:
    the block continues in the next column.

    Args:
        lines: the first lines.
        whole: if True, all lines of one page make one box, as for the cells of a table.
    """

    __slots__ = ("_boxes", "_last", "_whole")

    def __init__(self, lines: Iterable[Line] = (), *, whole: bool = False) -> None:
        self._boxes: list[tuple[int, list[float]]] = []
        self._last: Box = (0.0, 0.0, 0.0, 0.0)
        self._whole = whole
        for line in lines:
            self.add(line)

    def add(self, line: Line) -> None:
        """Add one more line."""
        place = _place(line)
        page, box = self._boxes[-1] if self._boxes else (0, [])
        if page != line.page or (not self._whole and self._is_elsewhere(place, box)):
            self._boxes.append((line.page, list(place)))
        else:
            box[0], box[1] = min(box[0], place[0]), min(box[1], place[1])
            box[2], box[3] = max(box[2], place[2]), max(box[3], place[3])
        self._last = place

    def packed(self) -> list[int]:
        """Return the boxes as whole numbers, as `boxes.unpacked` reads them."""
        numbers: list[int] = []
        for page, (left, top, right, bottom) in self._boxes:
            numbers += packed(page, left - _MARGIN, top - _MARGIN, right + _MARGIN, bottom + _MARGIN)
        return numbers

    def _is_elsewhere(self, place: Box, box: Sequence[float]) -> bool:
        beside = place[0] > box[2] + _MOST_GAP or place[2] < box[0] - _MOST_GAP
        return beside and (place[1] + place[3]) / 2 < self._last[1]


def _place(line: Line) -> Box:
    """Return the place of a line on the page as it was before rotation."""
    return line.shown or (line.x0, line.y0, line.x1, line.y1)


_STEP, _MARKED_STEP = 1.28, 1.5
"""Maximum step to the next line of a paragraph as a factor of the line pitch: a mark in larger print moves the first
line of an item up."""
_FOOT = 0.6
"""Share of a page's height below which its last line is that of a full page: figures and notes may be below it."""
_LABEL = 20.0
"""Maximum width of a title or label above text in other print, as a factor of the font size: about forty letters."""
_OF_MARK = 2.5
"""Maximum difference in points between the sizes of an item's first line and the next: it may state that of its mark.
"""
_FEWEST_STEPS = 3
"""Minimum number of steps that show the line pitch of list items."""
_CUT_WORD = re.compile(r"(?P<left>[^\W\d_]+)[-\u00ad\u2010\x02]$")
_ADDRESS = re.compile(r"(?:://|www\.)\S{1,300}\Z")
_TIED = re.compile(r"(?<=\S)[-–—/\u2010]\Z")
_SYMBOL = re.compile(r"[^\W\d_]\S{0,7}\s(?:=|[–—])\s|[^\W\d_AI]\sis\s")
"""The beginning of an entry below a formula: "P = internal pressure", "g — acceleration", "t is the thickness"."""
_FORMULA_NUMBER = re.compile(r"\((?:[A-ZА-Я]{1,2}[.-]?)?\d{1,3}(?:[.-]\d{1,3}){0,4}(?:[.-]?[a-z])?\)")
_RELATION = re.compile(r"[=<>≤≥≈≠∝→]")
"""Signs of formulas: an amount in brackets at the end of a row is negative."""
_WITHOUT_BLANKS = re.compile(r"[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]{2}")
"""Two letters or signs of Chinese or Japanese, between which lines have no blank; Korean has blanks."""
_NEXT_WORD = re.compile(r"(?P<right>[^\W\d_]+)")
_WORDS = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*")
_END = re.compile(r"[.:;!?][)\]\"”’]*$")


class Vocabulary:
    """The words of a document, to distinguish a hyphen at a word break from one that belongs to the word."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._words: set[str] = set()
        for line in lines:
            self._words.update(word.lower() for word in _WORDS.findall(line.text)[:-1])

    def join(self, text: str, following: str) -> str:
        """Join a line to the text before it.

        A hyphen at the end of the text is removed if the word without it occurs in the document. It is kept if the word
        with it occurs, or if both parts occur as words; otherwise it is removed. Before a capital or a digit, and in an
        address, it is kept.
        """
        cut, after = _CUT_WORD.search(text, max(len(text) - 60, 0)), _NEXT_WORD.match(following)
        if cut is None or after is None or not after["right"][0].islower():
            joint = (
                "" if _TIED.search(text, max(len(text) - 2, 0)) or _WITHOUT_BLANKS.match(text[-1:] + following) else " "
            )
            return text.removesuffix("\x02") + joint + following
        left, right = cut["left"].lower(), after["right"].lower()
        if _ADDRESS.search(text):
            return text + following
        if left + right not in self._words:
            both = left in self._words and right in self._words
            if f"{left}-{right}" in self._words or both:
                return f"{text[:-1]}-{following}"
        return text[:-1] + following


class Geometry:
    """The line pitch and column edges of a document, to find where a paragraph ends."""

    def __init__(self, pages: Sequence[PageLayout]) -> None:
        steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
        self._right: dict[tuple[int, int], float] = {}
        self._struck = {page.number: page.struck for page in pages if page.struck}
        self._foot = {page.number: _FOOT * page.height for page in pages}
        for page in pages:
            lines = [line for line in page.lines if not line.rotated]
            for line in lines:
                key = (page.number, round(line.x0 / 40))
                self._right[key] = max(self._right.get(key, 0.0), line.x1)
            for one, other in itertools.pairwise(lines):
                step = other.y0 - one.y0
                alike = one.size == other.size and one.block == other.block
                # a line that ends a sentence may end a paragraph too: the space below it is not the line pitch
                if alike and 0.8 * one.size < step < 3 * one.size and not _ends(one.text):
                    steps[one.size][round(step, 1)] += 1
        self._pitch = _usual(steps)
        self._item_pitch = _usual(self._steps_in_items(pages))

    def _steps_in_items(self, pages: Sequence[PageLayout]) -> Mapping[float, Counter[float]]:
        """Count the steps from a full line of a list item to its next line, by font size: lists may have wider ones."""
        steps: defaultdict[float, Counter[float]] = defaultdict(Counter)
        for one, other in itertools.chain.from_iterable(itertools.pairwise(page.lines) for page in pages):
            step = other.y0 - one.y0
            alike = one.size == other.size and one.block == other.block and not one.rotated
            hangs = 3 < other.x0 - one.x0 < _INDENT * one.size and one.size < step < 3 * one.size
            if alike and hangs and not self._has_room(one, other) and not _ends(one.text) and _is_item(one, other):
                steps[one.size][round(step)] += 1
        return {size: counts for size, counts in steps.items() if counts.total() >= _FEWEST_STEPS}

    def continues(self, previous: Line, line: Line, text: str, kind: BlockKind, hang: float) -> bool:
        """Return whether `line` continues the block that ends with `previous`.

        Args:
            previous: the block's last line.
            line: the next line in reading order.
            text: the block's text so far.
            kind: the kind of the block.
            hang: the left edge of a list item's marker, or of the first line of other blocks.
        """
        if previous.aside != line.aside:
            return False
        hangs = kind is BlockKind.LIST_ITEM and line.x0 > hang + 3 and not _ends(text)
        words = not line.code or (line.text[:1].islower() and not self._has_room(previous, line))
        if previous.code != line.code and not ((hangs and words) or _is_flow(previous, line)):
            return False
        if line.page != previous.page or line.y0 < previous.y0 - previous.size:
            goes_on = _sentence_continues(text, line) or self._runs_on(previous, line, text)
            return goes_on and abs(line.size - previous.size) < 0.6
        if abs(line.y0 - previous.y0) < 0.4 * line.size:
            return line.x0 > previous.x0
        step = line.y0 - previous.y0 - self._struck_between(previous, line)
        pitch, most = self._pitch_of(previous), 1.2
        if kind is BlockKind.LIST_ITEM and line.x0 > hang + 3 and not self._has_room(previous, line):
            pitch = max(pitch, self._item_pitch.get(line.size, 0.0))
            most = _OF_MARK if previous.x0 == hang else most
        if previous.code != line.code:  # monospaced fonts are set smaller
            pitch, most = max(pitch, self._pitch_of(line)), 2.0
        marked = hangs and line.text[:1].islower() and previous.x0 == hang and self.is_full(previous, line)
        most_step = _MARKED_STEP if marked else _STEP
        if step > most_step * pitch or line.x0 > previous.x1:
            return False
        if abs(line.size - previous.size) > most or (line.bold != previous.bold and self._is_title(previous, line)):
            return False
        return not self._paragraph_ends(previous, line, text, kind, hang)

    def _is_title(self, line: Line, following: Line) -> bool:
        """Return whether a line in other print than the next is a title or a label, and no part of its paragraph."""
        is_label = line.x1 - line.x0 < _LABEL * line.size or not any(map(str.isalnum, following.text))
        return self._is_short(line) and (is_label or self._has_room(line, following))

    def _runs_on(self, previous: Line, line: Line, text: str) -> bool:
        """Return whether a sentence goes on on the next page, with a name or acronym: its last line there is full."""
        alike = line.bold == previous.bold and abs(line.x0 - previous.x0) < _SAME_INDENT
        ended = _ends(text) or not text[-1:].isalpha()
        turned = line.page == previous.page + 1 and previous.y1 > self._foot[previous.page]
        return turned and alike and not ended and opening_of(line.text) is None and self.is_full(previous, line)

    def _pitch_of(self, line: Line) -> float:
        return self._pitch.get(line.size, 1.25 * line.size)

    def _struck_between(self, previous: Line, line: Line) -> float:
        """Return the height of the lines that were struck out between two lines of a column, in points."""
        left, right = min(previous.x0, line.x0), max(previous.x1, line.x1)
        rows = {
            round(box[1] / line.size)
            for box in self._struck.get(line.page, ())
            if previous.y0 < box[1] < line.y0 and box[0] < right and box[2] > left
        }
        return len(rows) * self._pitch_of(previous)

    def _paragraph_ends(self, previous: Line, line: Line, text: str, kind: BlockKind, hang: float) -> bool:
        ended = _ends(text)
        if kind is BlockKind.LIST_ITEM and line.x0 < hang - 3 <= previous.x0:
            # otherwise only its first line is indented
            return ended or (self._is_short(previous) and self._has_room(previous, line))
        if _SYMBOL.match(line.text) and not line.code and self._has_room(previous, line):
            return True
        if ended and self._is_short(previous) and (line.text[:1].isupper() or not line.text[:1].isalpha()):
            return True
        indented = line.x0 - previous.x0 > 0.8 * line.size
        return ended and indented and kind is not BlockKind.LIST_ITEM and abs(previous.x0 - hang) > 1

    def _is_short(self, line: Line) -> bool:
        right = self._right.get((line.page, round(line.x0 / 40)), line.x1)
        return line.x1 < right - 0.12 * max(right - line.x0, 1.0)

    def is_full(self, line: Line, following: Line) -> bool:
        """Return whether a line is full, so that the first word of the next line did not fit."""
        return not self._is_short(line) and not self._has_room(line, following)

    def _has_room(self, line: Line, following: Line) -> bool:
        """Return whether the first word of the next line would have fitted: the line break was intended."""
        right = self._right.get((line.page, round(line.x0 / 40)), line.x1)
        word = len(following.text.split()[0]) + 1
        return right - line.x1 > word * (following.x1 - following.x0) / len(following.text)


def _usual(steps: Mapping[float, Counter[float]]) -> dict[float, float]:
    """Return the most frequent step of each font size, the smallest of several."""
    return {size: min(counts, key=lambda step: (-counts[step], step)) for size, counts in steps.items()}


def _is_item(line: Line, following: Line) -> bool:
    """Return whether a line begins a list item and the next line does not."""
    opening = opening_of(line.text)
    return opening is not None and opening.kind is BlockKind.LIST_ITEM and opening_of(following.text) is None


def _is_flow(previous: Line, line: Line) -> bool:
    """Return whether code at a line's edge is a word of running text and not a block of code."""
    on = line.x0 <= previous.x0 + 2 or previous.text.endswith("-")
    return line.text[:1].islower() and not _END.search(previous.text) and on


def _ends(text: str) -> bool:
    return _END.search(text, max(len(text) - 12, 0)) is not None


def _sentence_continues(text: str, line: Line) -> bool:
    if _ends(text) or not text:
        return False
    return line.text[:1].islower() or line.text[:1].isdigit() or text.endswith(("-", ",")) or line.text[:1] in "(§"


_PLAIN = Opening(BlockKind.PARAGRAPH, "")
_DIGIT, _LETTER = re.compile(r"\d+"), re.compile(r"[A-Za-z]+")
_LONGEST_MARK = 7
"""Maximum number of characters of a list marker: "(xviii)"."""
_INDENT = 4.0
"""Maximum indent of the first line of a paragraph, as a factor of the font size."""
_SAME_INDENT = 5.0
"""Maximum distance in points between the markers of items of one depth."""


@dataclass(slots=True)
class _Open:
    """The block that is being filled."""

    opening: Opening
    text: str
    last: Line
    hang: float
    pages: list[int]
    extent: Extent
    breaks: list[int] = field(default_factory=list[int])
    depth: int = 0
    code: list[Line] = field(default_factory=list[Line])
    left: float = 0.0  # left edge of its last row


def blocks_of(
    pages: Sequence[PageLayout], headings: Sequence[Heading], body: Body, begins: Mapping[int, bool] | None = None
) -> Iterator[dict[str, Any]]:
    """Yield headings and blocks as keyword arguments of `DocumentBuilder.heading` and `.block`.

    Args:
        pages: the laid-out pages.
        headings: in reading order.
        body: the font and size of running text.
        begins: by id of a line, True if it begins a paragraph, False if it continues the one before; only known lines.
    """
    return _Stream(pages, headings, body, begins or {}).run()


class _Stream:
    def __init__(
        self, pages: Sequence[PageLayout], headings: Sequence[Heading], body: Body, begins: Mapping[int, bool]
    ) -> None:
        self._pages = pages
        self._begins = begins
        self._body = body
        self._geometry = Geometry(pages)
        self._words = Vocabulary(line for page in pages for line in page.lines)
        self._starts = {id(heading.lines[0]): heading for heading in headings}
        self._inside = {id(line) for heading in headings for line in heading.lines[1:]}
        self._open: _Open | None = None
        self._indents: list[float] = []
        self._leading: tuple[float, str] | None = None  # left edge of an item that introduces others, and its form
        self._commented = False  # below "COMMENTARY ON 6.1", up to the end of the italics
        self._form = ""  # form of the last item's marker: "(a)" for "(b)"
        self._cited: list[_Open] = []  # notes of a page, until the text that cites them is written
        self._footnotes: list[_Open] = []  # notes that nothing cites
        self._clear: set[str] = set()  # marks on the page that can only be marks of notes

    def run(self) -> Iterator[dict[str, Any]]:
        for item in self._items():
            yield item
            text = str(item.get("text") or item.get("printed", ""))
            for note in [each for each in self._cited if self._is_cited(each, text)]:
                self._cited.remove(note)
                mark = raised_or_lowered(note.opening.marker, "superscript")
                note.text = mark + note.text.removeprefix(note.opening.marker)
                note.opening = replace(note.opening, marker=mark)
                yield _printed(note)

    def _items(self) -> Iterator[dict[str, Any]]:
        for page in self._pages:
            notes = self._footnote_lines(page)
            self._clear = {mark for line in page.lines if id(line) not in notes for mark in note_marks(line.text)}
            self._take_footnotes(line for line in page.lines if id(line) in notes)
            for element in page.elements:
                if isinstance(element, Table):
                    yield from self._close()
                    yield _table(element, self._words.join)
                elif id(element) in notes:
                    continue
                elif id(element) in self._starts:
                    yield from self._close()
                    yield from self._heading(self._starts[id(element)])
                elif id(element) not in self._inside:
                    yield from self._line(element)
            text = self._open.text if self._open is not None else ""
            self._footnotes += [each for each in self._cited if not self._is_cited(each, text)]
            self._cited = [each for each in self._cited if self._is_cited(each, text)]
        yield from self._close()

    # ---- headings

    def _heading(self, heading: Heading) -> Iterator[dict[str, Any]]:
        self._indents.clear()
        self._commented = False
        self._leading = None
        printed = heading.lines[0].text
        for line in heading.lines[1:]:
            printed = self._words.join(printed, line.text)
        rest = ""
        if heading.cut is not None:
            printed, rest = printed[: heading.cut], printed[heading.cut :].lstrip(" .:–—")
        yield {
            "heading": heading.title,
            "printed": printed.rstrip(" .:–—") if heading.cut is not None else printed,
            "level": heading.level,
            "number": heading.number,
            "informative": heading.informative,
            "source": heading.source.value,
            "confidence": heading.confidence,
            "pages": [heading.page],
            "boxes": Extent(heading.lines).packed(),
        }
        if rest:
            last = heading.lines[-1]
            self._open = _Open(_PLAIN, rest, last, last.x0, [last.page], Extent(heading.lines))

    # ---- running text

    def _line(self, line: Line) -> Iterator[dict[str, Any]]:
        opening = opening_of(line.text) if not line.rotated else None
        current = self._open
        if current is not None and self._belongs(current, line, opening):
            self._extend(current, line)
            return
        yield from self._close()
        if opening is None and line.code:
            opening = Opening(BlockKind.CODE, "")
        self._commented = (self._commented and line.is_italic) or (
            opening is not None and is_commentary(opening.marker)
        )
        if opening is None and self._commented:
            opening = Opening(BlockKind.NOTE, "")
        self._open = _Open(opening or _PLAIN, line.text, line, line.x0, [line.page], Extent([line]), code=[line])
        if opening is not None and opening.kind is BlockKind.LIST_ITEM:
            self._open.depth = self._depth(line.x0) + self._is_led(line.x0, opening.marker)
        elif opening is None and _mark(line.text) is None:
            self._indents.clear()
            self._leading = None

    def _belongs(self, current: _Open, line: Line, opening: Opening | None) -> bool:
        kind = current.opening.kind
        if current.last.rotated or line.rotated or MARK_OF_NOTE.match(line.text):
            return False
        beside = abs(line.y0 - current.last.y0) < 0.4 * line.size and line.x0 > current.last.x0
        known = False if beside and _mark(current.text) is not None else self._begins.get(id(line))
        if known is not None and (known or kind is BlockKind.PARAGRAPH):
            return not known
        if kind is BlockKind.CAPTION and is_title_of_caption(current.last, line):
            return True
        if _ends_formula(current, line) or _ends_entry(current, line):
            return False
        if kind is BlockKind.CODE:
            return line.code and (line.page != current.last.page or line.y0 - current.last.y0 < 3 * line.size)
        on = self._geometry.continues(current.last, line, current.text, kind, current.hang)
        if opening is None:
            return on and not (_mark(line.text) is not None and _ends(current.text))
        if opening.sure:
            return opening.kind is BlockKind.CAPTION and on and not current.text.endswith(".")
        # "12. ...", "a) ..." and "- ..." may be the middle of a sentence, unless they begin a line of a list
        runs = kind is BlockKind.PARAGRAPH or line.x0 < current.hang - 3
        ended = current.text.endswith((".", ":", ";", ",", "or", "and")) or not runs
        step, last = line.x0 - current.last.x0, current.last
        indented = last.x0 == current.hang and -_INDENT * line.size < step < 0 and self._geometry.is_full(last, line)
        return on and not ended and (abs(step) < 3 or indented) and line.y0 > last.y0

    def _extend(self, current: _Open, line: Line) -> None:
        if current.opening.kind is BlockKind.CODE:
            joined = f"{current.text} {line.text}"
        else:
            joined = self._words.join(current.text, line.text)
        if current.opening is _PLAIN and (mark := _mark(current.text)) is not None:  # a marker far left of its text
            current.opening = mark
            current.depth = self._depth(current.hang) + self._is_led(current.hang, mark.marker)
        if line.page != current.last.page:
            current.pages.append(line.page)
            current.breaks.append(len(joined) - len(line.text))
        if line.y0 > current.last.y0 + 0.4 * line.size:
            current.left = line.x0
        current.text = joined
        current.last = line
        current.extent.add(line)
        current.code.append(line)

    def _depth(self, left: float) -> int:
        while self._indents and left < self._indents[-1] - _SAME_INDENT:
            self._indents.pop()
        if not self._indents or left > self._indents[-1] + _SAME_INDENT:
            self._indents.append(left)
        return len(self._indents) - 1

    def _is_led(self, left: float, marker: str) -> bool:
        """Return whether an item is below one that ends in a colon, though not indented: its marker's form differs."""
        form = _DIGIT.sub("1", _LETTER.sub("a", marker))
        if self._leading is not None and (form == self._leading[1] or abs(left - self._leading[0]) > _SAME_INDENT):
            self._leading = None
        self._form = form
        return self._leading is not None

    def _close(self) -> Iterator[dict[str, Any]]:
        current, self._open = self._open, None
        if current is not None and self._leading is None:
            item = current.opening.kind is BlockKind.LIST_ITEM and current.text.endswith(":")
            self._leading = (current.hang, self._form) if item else None
        if current is not None:
            yield _printed(current)
        footnotes, self._footnotes = self._footnotes, []
        for footnote in footnotes:
            yield _printed(footnote)

    # ---- footnotes

    def _footnote_lines(self, page: PageLayout) -> set[int]:
        """Find the footnotes of a page: small print at its bottom, from the first numbered line down.

        Notes that the page cites by marks such as "³⁾" may be hardly smaller than its text.
        """
        lines = [line for line in page.lines if not line.rotated]
        text = self._body.size
        if page.strip and lines:  # comments may be set smaller than clauses
            text = Counter(line.size for line in lines).most_common(1)[0][0]
        cited = {mark for line in lines for mark in note_marks(line.text) if mark[-1] == "⁾"}
        smaller = _SMALLER_CITED if cited else _SMALLER
        found: list[Line] = []
        for line in sorted(lines, key=lambda line: line.y0, reverse=True):
            if line.size > text - smaller or line.y0 < 0.5 * page.height or id(line) in self._starts:
                break
            found.append(line)
        while found and not (_mark_of(found[-1]) in cited if cited else _begins_footnote(found[-1])):
            found.pop()
        return {id(line) for line in found} if len(found) <= min(12, 0.4 * len(lines)) else set()

    def _take_footnotes(self, lines: Iterable[Line]) -> None:
        first = len(self._cited)
        for line in lines:
            if len(self._cited) > first and not _begins_footnote(line):
                self._extend(self._cited[-1], line)
                continue
            marker = line.text.split()[0] if _begins_footnote(line) else ""
            opening = Opening(BlockKind.FOOTNOTE, marker)
            self._cited.append(_Open(opening, line.text, line, line.x0, [line.page], Extent([line])))

    def _is_cited(self, note: _Open, text: str) -> bool:
        """Return whether a text cites a note: by a superscript that is no power, or the only such mark of the page."""
        number = unicodedata.normalize("NFKC", note.opening.marker)
        mark = raised_or_lowered(number, "superscript") if number.removesuffix(")").isdigit() else ""
        return bool(mark) and (mark in note_marks(text) or (mark not in self._clear and mark in _RAISED.findall(text)))


def _mark(text: str) -> Opening | None:
    """Return the marker of a list item if a line consists of nothing else."""
    opening = mark_alone(text) if len(text) <= _LONGEST_MARK else None
    return opening if opening is not None and opening.kind is BlockKind.LIST_ITEM else None


def _ends_formula(current: _Open, line: Line) -> bool:
    """Return whether a block ends with a formula and its number, far to the right, and the line is below it."""
    last = current.last
    number = last.text if last.text != current.text else last.text[last.split[0] :].strip() if last.split else ""
    below = line.y0 > last.y0 + last.size
    return below and _FORMULA_NUMBER.fullmatch(number) is not None and _RELATION.search(current.text) is not None


def _ends_entry(current: _Open, line: Line) -> bool:
    """Return whether a block is an entry with a hanging indent, as below formulas, and the line is left of its rows."""
    hangs = current.opening is _PLAIN and current.left - current.hang > 0.8 * line.size
    return hangs and line.x0 < current.hang + 2 and line.y0 > current.last.y0 + 0.4 * line.size and _ends(current.text)


def _begins_footnote(line: Line) -> bool:
    first = line.text.split(" ", 1)[0].rstrip(".)")
    return len(line.text) > len(first) + 1 and (first in {"*", "†", "‡", "**"} or (first.isdigit() and len(first) <= 3))


def _mark_of(note: Line) -> str:
    """Return the mark that cites a note beginning with "3)"."""
    return raised_or_lowered(note.text.split(" ", 1)[0], "superscript")


def _table(table: Table, join: Callable[[str, str], str]) -> dict[str, Any]:
    printed = table.markdown(join)
    starts = list(itertools.accumulate((len(row) + 1 for row in printed), initial=0))
    block: dict[str, Any] = {"kind": BlockKind.TABLE.value, "text": "\n".join(printed)}
    block["pages"] = [table.page, *(page for _, page in table.turns)]
    block["boxes"] = Extent(table.lines, whole=True).packed()
    if table.turns:
        block["breaks"] = [starts[row + 1] for row, _ in table.turns]  # a line of dashes follows the header
    return block


def _printed(current: _Open) -> dict[str, Any]:
    opening = current.opening
    text, breaks = current.text, current.breaks
    marker = opening.marker
    if opening.kind is BlockKind.CODE:
        text, breaks = code_text(current.code), []
    if opening.kind is BlockKind.LIST_ITEM and (marker == "\u00b7" or "\uf000" <= marker <= "\uf0ff"):
        text = "•" + text[len(marker) :]
        marker = "•"
    block: dict[str, Any] = {"kind": opening.kind.value, "text": text, "pages": current.pages}
    block["boxes"] = current.extent.packed()
    if marker:
        block["marker"] = marker
    if current.depth:
        block["depth"] = current.depth
    if breaks:
        block["breaks"] = breaks
    return block
