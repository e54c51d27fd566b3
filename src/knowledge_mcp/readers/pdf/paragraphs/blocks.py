"""Turns lines, tables and headings into the blocks of a document, in reading order across pages."""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from knowledge_mcp.language.openings import Opening, is_commentary, mark_alone, opening_of
from knowledge_mcp.language.printed import MARK_OF_NOTE, RAISED, note_marks
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.headings.candidates import Body, is_title_of_caption
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.pdf.lines import Box, code_text, ends_sentence
from knowledge_mcp.readers.pdf.paragraphs.endings import INDENT, SAME_INDENT, Geometry, Vocabulary
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


_FORMULA_NUMBER = re.compile(r"\((?:[A-ZА-Я]{1,2}[.-]?)?\d{1,3}(?:[.-]\d{1,3}){0,4}(?:[.-]?[a-z])?\)")
_RELATION = re.compile(r"[=<>≤≥≈≠∝→]")
"""Signs of formulas: an amount in brackets at the end of a row is negative."""
_PLAIN = Opening(BlockKind.PARAGRAPH, "")
_DIGIT, _LETTER = re.compile(r"\d+"), re.compile(r"[A-Za-z]+")
_LONGEST_MARK = 7
"""Maximum number of characters of a list marker: "(xviii)"."""


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
        beside = line.is_beside(current.last) and line.x0 > current.last.x0
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
            return on and not (_mark(line.text) is not None and ends_sentence(current.text))
        if opening.sure:
            return opening.kind is BlockKind.CAPTION and on and not current.text.endswith(".")
        # "12. ...", "a) ..." and "- ..." may be the middle of a sentence, unless they begin a line of a list
        runs = kind is BlockKind.PARAGRAPH or line.x0 < current.hang - 3
        ended = current.text.endswith((".", ":", ";", ",", "or", "and")) or not runs
        step, last = line.x0 - current.last.x0, current.last
        indented = last.x0 == current.hang and -INDENT * line.size < step < 0 and self._geometry.is_full(last, line)
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
        if line.is_below(current.last):
            current.left = line.x0
        current.text = joined
        current.last = line
        current.extent.add(line)
        current.code.append(line)

    def _depth(self, left: float) -> int:
        while self._indents and left < self._indents[-1] - SAME_INDENT:
            self._indents.pop()
        if not self._indents or left > self._indents[-1] + SAME_INDENT:
            self._indents.append(left)
        return len(self._indents) - 1

    def _is_led(self, left: float, marker: str) -> bool:
        """Return whether an item is below one that ends in a colon, though not indented: its marker's form differs."""
        form = _DIGIT.sub("1", _LETTER.sub("a", marker))
        if self._leading is not None and (form == self._leading[1] or abs(left - self._leading[0]) > SAME_INDENT):
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

        Notes that the page cites by marks such as "³⁾", or by the raised number that they begin with, may be hardly
        smaller than its text.
        """
        lines = [line for line in page.lines if not line.rotated]
        usual = self._body.size
        if page.strip and lines:  # comments may be set smaller than clauses
            usual = Counter(line.size for line in lines).most_common(1)[0][0]
        begun = {id(line): mark[0].strip() for line in lines if (mark := MARK_OF_NOTE.match(line.text)) is not None}
        texts = [line.text.removeprefix(begun.get(id(line), "")) for line in lines]
        marks = {mark for text in texts for mark in (*note_marks(text), *_RAISED.findall(text))}
        cited = {mark for mark in marks if mark[-1] == "⁾"} if marks.isdisjoint(begun.values()) else marks
        smaller = _SMALLER_CITED if cited else _SMALLER
        found: list[Line] = []
        for line in sorted(lines, key=lambda line: line.y0, reverse=True):
            if line.size > usual - smaller or line.y0 < 0.5 * page.height or id(line) in self._starts:
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
    return hangs and line.x0 < current.hang + 2 and line.is_below(current.last) and ends_sentence(current.text)


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
