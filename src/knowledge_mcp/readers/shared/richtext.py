"""Text that is built piece by piece, with its cross-references.

Readers of formats with inline markup (Word runs, Markdown inlines) append pieces here. Blanks are collapsed as they
come, so that the offsets of references stay right. `lay` passes the result to a `DocumentBuilder`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from knowledge_mcp.language.openings import explains_symbols
from knowledge_mcp.language.printed import LETTERS, RAISED_LETTERS, is_note_of_table, touching_mark
from knowledge_mcp.model.document import BlockKind, Reference, ReferenceKind, Span
from knowledge_mcp.readers.shared.assembly import DocumentBuilder, normalise_text

_BLANKS = re.compile(r"[ \t\n]+")
_LONGEST_LEAD = 60
"""Longest number before the part that is set apart, in characters; longer text is words."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference at `[start, end)` of a text; if `kind` is None, `target` must still be resolved."""

    start: int
    end: int
    kind: ReferenceKind | None
    target: str


class RichText:
    """Collect text with marks; runs of blanks become one, unless `verbatim` keeps blanks and tabs (code)."""

    def __init__(self, text: str = "", *, verbatim: bool = False) -> None:
        self._parts: list[str] = []
        self._length = 0
        self._open_blank = True
        self._verbatim = verbatim
        self.marks: list[Mark] = []
        self.breaks: list[int] = []
        self.hidden: Counter[str] = Counter()
        self.lead = 0
        if text:
            self.add(text)

    def __len__(self) -> int:
        """Return the number of code points so far."""
        return self._length

    @property
    def text(self) -> str:
        """The collected text, including trailing blanks."""
        return "".join(self._parts)

    @property
    def is_blank(self) -> bool:
        """Return whether only blanks were collected."""
        return not any(part.strip() for part in self._parts)

    @property
    def ends_blank(self) -> bool:
        """Return whether the next piece needs no blank before it."""
        return self._open_blank

    def add(self, text: str) -> None:
        """Append text; blanks, tabs and line ends collapse to one blank unless the text is verbatim."""
        clean = text
        if not (text.isascii() and text.isprintable()):
            # a final bar protects trailing blanks, which normalise_text removes
            clean = normalise_text(f"{text}|", self.hidden)[:-1]
        if not self._verbatim:
            if "  " in clean or "\t" in clean or "\n" in clean:
                clean = _BLANKS.sub(" ", clean)
            if self._open_blank:
                clean = clean.lstrip(" ")
        self._append(clean)

    def break_line(self) -> None:
        """Append a line end."""
        if self._length:
            self._append("\n")

    def mark(self, start: int, kind: ReferenceKind | None, target: str) -> None:
        """Mark the text from `start` to the end as one reference, unless it is empty."""
        marked = self._since(start)
        words = marked.strip()
        if words and target:
            start += len(marked) - len(marked.lstrip())
            self.marks.append(Mark(start, start + len(words), kind, target))

    def stand_out(self, start: int) -> None:
        """Record that the text from `start` to the end is set apart; if it begins the text, `lead` is its length.

        A number may precede it.
        """
        if start - self.lead > _LONGEST_LEAD:
            return
        before = self._since(self.lead)[: max(0, start - self.lead)].split() if start < self._length else ["", ""]
        if not before or (not self.lead and len(before) == 1 and any(map(str.isdigit, before[0]))):
            self.lead = self._length

    def mark_range(self, start: int, end: int, kind: ReferenceKind | None, target: str) -> None:
        """Mark `[start, end)` as a reference, unless it is out of range."""
        if 0 <= start < end <= self._length and target:
            self.marks.append(Mark(start, end, kind, target))

    def break_page(self) -> None:
        """Record that what follows is on the next page."""
        self.breaks.append(self._length)

    def part(self, place: int) -> None:
        """Insert a blank at a place, as between a note's mark and its words."""
        text = self.text
        self._parts, self._length = [text[:place], " ", text[place:]], self._length + 1
        self.marks = [
            Mark(mark.start + (mark.start >= place), mark.end + (mark.end > place), mark.kind, mark.target)
            for mark in self.marks
        ]
        self.breaks = [at + (at >= place) for at in self.breaks]
        self.lead += self.lead > place

    def extend(self, other: RichText, *, escape_bars: bool = False) -> None:
        """Append another text with marks and page breaks; `escape_bars` makes it fit for a cell of a Markdown table."""
        text = other.text
        positions = list(range(len(text) + 1))
        if escape_bars:
            text, positions = _escaped(text)
        base = self._length
        self.lead = self.lead or (other.lead if not base else 0)
        self._append(text)
        self.hidden.update(other.hidden)
        for mark in other.marks:
            self.marks.append(Mark(base + positions[mark.start], base + positions[mark.end], mark.kind, mark.target))
        self.breaks.extend(base + positions[place] for place in other.breaks)

    def _since(self, start: int) -> str:
        """Return the text from a position on, without joining all of it: a paragraph may have thousands of links."""
        parts: list[str] = []
        left = self._length - start
        for part in reversed(self._parts):
            if left <= 0:
                break
            parts.append(part)
            left -= len(part)
        return "".join(reversed(parts))[-left if left < 0 else 0 :]

    def _append(self, text: str) -> None:
        if text:
            self._parts.append(text)
            self._length += len(text)
            self._open_blank = text[-1] in " \n"


_SUPERSCRIPT = str.maketrans("0123456789+-−–()", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻⁽⁾")
_SUBSCRIPT = str.maketrans("0123456789+-−–()", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋₍₎")
_NOTE_LETTERS = re.compile(rf"[{LETTERS}](?:, ?[{LETTERS}]){{0,5}},?\)?")
_RAISED_LETTERS = str.maketrans(f"{LETTERS})", f"{RAISED_LETTERS}⁾", " ")
_SCRIPTABLE = re.compile(r"[0-9+\-−–()]+")
_DECIMAL = re.compile(r"[+\-−]?\d{1,6}(?:\.\d{1,6}|[/⁄]\d{1,6})")
_LISTED = re.compile(r"\d{1,6}(?:, ?\d{1,6}){1,8}")
"""Raised numbers with a comma: marks of notes, or a decimal comma, which reads the same."""
_TERM = r"\(?(?:\d{1,6}(?:[A-Z]{1,8}|[a-z])?|[A-Z]{1,8}|[a-z])\)?"
_EXPONENT = re.compile(
    r"(?!(?:SM|ST|ND|RD|TH|TM|MC|MD|ER|RE|[ACEOR])\Z)[A-Z]{1,8}|[ijkmnxyz]"
    rf"|(?=[^+\-−*/·]{{0,20}}[+\-−*/·])(?=[^A-Za-z]{{0,20}}[A-Za-z])[+\-−]?{_TERM}(?:[+\-−*/·]{_TERM}){{0,8}}"
)
"""The name of a number, or a term with one; not a mark of a note, the end of an ordinal or a trade mark."""


def raised_or_lowered(text: str, place: str) -> str:
    """Write raised and lowered digits and raised marks of notes as such signs, and other exponents as in equations.

    10³ must not read 103, nor 40ᵃ as 40a, nor 2^N or 2^(n-1) as 2N or 2n-1, nor 2^24.5 as 224.5.

    `place` is "superscript" or "subscript", or HTML's names for them; for any other value the text is unchanged.
    """
    if place.startswith("sup") and _EXPONENT.fullmatch(text):
        return f"^{text}" if text.isalnum() or text[0] == "(" else f"^({text})"
    if place.startswith("sup") and _NOTE_LETTERS.fullmatch(text.strip()):
        return text.translate(_RAISED_LETTERS)
    if place.startswith("sup") and (number := _DECIMAL.fullmatch(text.strip())):
        return f"^{number[0]}" if "." in number[0] else f"^({number[0]})"
    if place.startswith("sup") and _LISTED.fullmatch(text.strip()):
        return text.translate(_SUPERSCRIPT).replace(" ", "")
    if not place.startswith(("sup", "sub")) or not _SCRIPTABLE.fullmatch(text.strip()):
        return text
    return text.translate(_SUPERSCRIPT if place.startswith("sup") else _SUBSCRIPT)


def _escaped(text: str) -> tuple[str, list[int]]:
    """Escape bars and replace line ends by blanks; also return the new position of each old offset."""
    out: list[str] = []
    positions: list[int] = []
    place = 0
    for character in text:
        positions.append(place)
        piece = "\\|" if character == "|" else " " if character == "\n" else character
        out.append(piece)
        place += len(piece)
    positions.append(place)
    return "".join(out), positions


def table_text(rows: list[list[RichText]]) -> RichText:
    """Write rows as a Markdown table, the first one as its header; short rows are padded with empty cells."""
    table = RichText(verbatim=True)
    columns = max((len(row) for row in rows), default=0)
    for index, row in enumerate(rows):
        table.add("|" if index == 0 else "\n|")
        for column in range(columns):
            table.add(" ")
            if column < len(row):
                table.extend(row[column], escape_bars=True)
            table.add("|" if table.ends_blank else " |")
        if index == 0:
            table.add("\n|" + " --- |" * columns)
    return table


class LastBlock:
    """What the last block says of the next one: symbols are explained below it, or notes of a table follow it."""

    def __init__(self) -> None:
        self.explains = False
        self._has_notes = False

    def mark_in(self, kind: BlockKind, text: str) -> int:
        """Take the next block; return the length of the mark that touches its words, if it is a note of a table."""
        is_note = self._has_notes and kind is BlockKind.PARAGRAPH
        self._has_notes = kind is BlockKind.TABLE or (self._has_notes and is_note_of_table(text))
        self.explains = kind is BlockKind.PARAGRAPH and explains_symbols(text.strip())
        return touching_mark(text) if is_note else 0


def lay(
    builder: DocumentBuilder,
    kind: BlockKind,
    rich: RichText,
    *,
    marker: str = "",
    depth: int = 0,
    lines: tuple[int, int] | None = None,
    pages: Sequence[int] = (),
) -> tuple[Span | None, list[Reference]]:
    """Write a text as one block, with a list item's marker before it, and pass its references to the builder.

    Its page breaks are where its second, third, … page begins; a table breaks before a row.

    Returns:
        The block's span, None if it was empty; and the unresolved references, which were not passed to the
        builder: their kind is LINK for now and their target is that of the mark.
    """
    builder.leave_out(rich.hidden)
    prefix = f"{marker} " if kind is BlockKind.LIST_ITEM and marker else ""
    text = f"{prefix}{rich.text}"
    breaks = [place + len(prefix) for place in rich.breaks]
    if kind is BlockKind.TABLE:
        breaks = [text.rfind("\n", 0, place) + 1 for place in breaks]
    if len(breaks) == len(pages):  # what comes before the first break belongs to the first page
        breaks = breaks[1:]
    if len(breaks) != len(pages) - 1:
        breaks = []
    span = builder.block(
        kind, text, pages=pages, marker=marker, depth=depth, lines=lines, breaks=breaks, lead=rich.lead
    )
    if span is None:
        return None, []
    return span, _references(builder, rich, span, text, len(prefix))


def _references(builder: DocumentBuilder, rich: RichText, span: Span, text: str, shift: int) -> list[Reference]:
    lead = len(text) - len(text.lstrip("\n "))
    own = rich.text
    exact = len(text.strip("\n ").rstrip()) == len(span)
    pending: list[Reference] = []
    for mark in rich.marks:
        words = own[mark.start : mark.end]
        start = span.start + shift - lead + mark.start
        end = start + len(words)
        if not exact or start < span.start or end > span.end:
            continue
        reference = Reference(" ".join(words.split()), mark.kind or ReferenceKind.LINK, mark.target, Span(start, end))
        if mark.kind is None:
            pending.append(reference)
        else:
            builder.reference(reference)
    return pending
