"""Context for the rows of a split table: its caption, its column names, its group, its notes.

A page prints more above a table than a reader includes in it. The years of a statement are on a separate line, its
units on another one, and the first row that was read is a row of figures like all others. Without these lines the
figures mean nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from knowledge_mcp.language.printed import LETTERS, RAISED, RAISED_LETTERS
from knowledge_mcp.language.sentences import LEADS, row_cells, sentence_spans
from knowledge_mcp.model.document import Block, BlockKind, Span

RULE = re.compile(r"[ \t|:+=-]+\Z")
"""The line below the header of a Markdown table."""

_NOTE_OF_TABLE = re.compile(
    r"(?:NOTE|Notes?|Anmerkung(?:en)?|ANMERKUNG|Remarques?|REMARQUE|Notas?|NOTA)\b"
    rf"|(?:[a-z{RAISED_LETTERS}]|[{RAISED}]{{1,2}}|\*{{1,3}}|[†‡§])[)⁾]?\s+(?=\S)|\[\^?\w{{1,3}}\]"
)
"""How a note of a table begins: by its label or its mark."""
_RAISED = str.maketrans(LETTERS, RAISED_LETTERS)
_CITING = frozenset((*RAISED_LETTERS, "*", "**", "†", "‡"))
"""Marks that cells cite and lists can have; raised digits may be exponents."""
_MOST_NOTES = 8


def table_notes(text: str, rows: Sequence[Span], blocks: Sequence[Block], position: int) -> list[str]:
    """List the notes that restrict all rows of a table: in its last rows, across all columns, and directly below it."""
    notes: list[str] = []
    for row in reversed(rows):
        first, *others = _cells(text, row)
        if any(others) or not _NOTE_OF_TABLE.match(first):
            break
        notes.insert(0, first)
    for block in blocks[position + 1 : position + 1 + 2 * _MOST_NOTES]:
        words = _words(text, block.span)
        marked = block.kind is BlockKind.PARAGRAPH and _NOTE_OF_TABLE.match(words)
        marked = marked or (block.kind is BlockKind.LIST_ITEM and _is_cited(block.marker, text, blocks[position].span))
        if marked or block.kind in {BlockKind.NOTE, BlockKind.FOOTNOTE}:
            notes.append(words)
        elif block.kind is not BlockKind.CAPTION:
            break
    return notes[:_MOST_NOTES]


def _is_cited(marker: str, text: str, table: Span) -> bool:
    """Return whether the cells of a table cite an item of the list below it: "40ᵃ" and "a.", "DN 10*" and "*"."""
    mark = marker.strip("().").translate(_RAISED)
    return mark in _CITING and re.search(rf"(?<=[^\s|]){re.escape(mark)}", table.of(text)) is not None


_LEGENDS = 2
"""Maximum blocks between a caption and its table: a legend of units or signs, and the top header row that a page
prints across its columns.
"""
_STOP = re.compile(r"[.:;?!][)\]\"'”]?\Z")


def caption_of(text: str, blocks: Sequence[Block], position: int) -> str:
    """Return the name of a table: its caption, next to it or above its legend, otherwise what announces it."""
    for near in (position - 1, position + 1):
        if 0 <= near < len(blocks) and blocks[near].kind is BlockKind.CAPTION:
            return _words(text, blocks[near].span)
    for place in range(position - 1, max(position - 2 - _LEGENDS, -1), -1):
        words = _words(text, blocks[place].span)
        if blocks[place].kind is BlockKind.CAPTION and not words.casefold().startswith(("figure", "fig.")):
            return words
        if blocks[place].kind is not BlockKind.PARAGRAPH or (words[:1] not in "[(" and _STOP.search(words)):
            break
    return announcement(text, blocks[position - 1]) if position else ""


def announcement(text: str, block: Block) -> str:
    """Return the last sentence of a text block if it leads on to what follows, otherwise empty."""
    prose = block.kind not in {BlockKind.HEADING, BlockKind.TABLE, BlockKind.CODE}
    sentences = sentence_spans(text, block.span.start, block.span.end) if prose else []
    last = _words(text, sentences[-1]) if sentences else ""
    return last if LEADS.search(last) else ""


# ---- what names the columns -----------------------------------------------------------------------------------------

_LONGEST_LINE = 30
"""Maximum words of a line of column names: four dates in words, twice."""
_REACH = 40
"""Maximum blocks above a table that are searched for the line with the column names of its page: as many as a full
page has lines, so that a document that has only tables is not read again for each.
"""

_YEAR = r"(?:19|20)\d\d"
_ENDS_IN_YEAR = re.compile(rf"\b{_YEAR}[^\w.:;?!]{{0,9}}\Z")
_AMOUNT = re.compile(r"[($€£¥\s–—-]*+(?:\d[\d.,]*+)?[\s%)]*+")
_NO_NAME = re.compile(r"[$€£¥]|\d,\d{3}|\(\d")
"""Amounts that are not column names: of money, with thousands, negative. "100" and "5.5" may be sizes."""
_ROW = re.compile(r"[^\W\d_](?:[^\w.;:?!]{1,9}\d[\d.,]{0,20}){2,12}[%)]{0,2}\Z")
_LONGEST_ROW = 200
"""Maximum characters of such a line."""


def names_columns(text: str, block: Block) -> bool:
    """Return whether a line names the columns of what is below it: by years, or by units in brackets."""
    if block.kind is not BlockKind.PARAGRAPH:
        return False
    words = _words(text, block.span)
    return len(words.split()) <= _LONGEST_LINE and (_is_aside(words) or _ENDS_IN_YEAR.search(words) is not None)


def _is_aside(words: str) -> bool:
    return words[:1] == "(" and words[-1:] == ")"


def column_names(text: str, lines: Sequence[Span], blocks: Sequence[Block], position: int) -> tuple[int, list[str]]:
    """Find what names the columns of a table.

    Args:
        text: the canonical text.
        lines: of the table, including its rule.
        blocks: of its passage.
        position: index of the table in them.

    Returns:
        How many of its lines do so, including the rule; and what to write above rows that are cut off, one line each.
        If a page prints years on a line above its figures, these are that line and the units above it, and the table's
        first row is a row like all others.
    """
    ruled = 1 + (len(lines) > 2 and RULE.match(lines[1].of(text)) is not None)
    first = _cells(text, lines[0])
    printed = printed_above(text, blocks, position)
    if blocks[position].pages and _holds_figures(first) and (printed or _NO_NAME.search(" ".join(first[1:]))):
        return 0, printed
    if printed and not any(first[1:]):
        return 0, printed
    head = ruled
    if len(lines) > head + 1 and _names_periods(_cells(text, lines[head])):
        head += 1
    own = [lines[0].of(text).strip(), *(line.of(text).strip() for line in lines[ruled:head])]
    units = [words for words in printed if _is_aside(words)]
    return head, [*units, *own]


def printed_above(text: str, blocks: Sequence[Block], position: int) -> list[str]:
    """List the lines that name a table's columns on its page: the nearest ones above it, in order.

    Units count only directly above the table or next to the years. A row of figures that no reader recognised as a
    table row has such lines, too.
    """
    rows = blocks[position]
    if not rows.pages or (rows.kind is not BlockKind.TABLE and not _is_row(text, rows)):
        return []
    found: list[str] = []
    for block in reversed(blocks[max(position - _REACH, 0) : position]):
        if block.pages != rows.pages[:1] or block.kind is BlockKind.HEADING:
            break
        words = _words(text, block.span)
        if names_columns(text, block) and (found or not _is_aside(words) or block is blocks[position - 1]):
            found.insert(0, words)
        elif found:
            break
    return found


def _is_row(text: str, block: Block) -> bool:
    """Return whether a line ends in at least two figures."""
    if block.kind is not BlockKind.PARAGRAPH or len(block.span) > _LONGEST_ROW or names_columns(text, block):
        return False
    return _ROW.search(_words(text, block.span)) is not None


def _holds_figures(cells: Sequence[str]) -> bool:
    """Return whether this is a row of figures with a label, not a header of years or words."""
    filled = [cell for cell in cells[1:] if cell]
    return bool(cells[0] and filled) and all(_AMOUNT.fullmatch(cell) and not _is_year(cell) for cell in filled)


def _names_periods(cells: Sequence[str]) -> bool:
    """Return whether this is a second header row: years below a common heading, no names except units before them."""
    if cells[0] and not _is_aside(cells[0]):
        return False
    filled = [cell for cell in cells[1:] if cell]
    return bool(filled) and all(map(_is_year, filled))


def _is_year(cell: str) -> bool:
    return _ENDS_IN_YEAR.search(cell) is not None


_TOTAL = re.compile(r"(?:sub-?|zwischen|sous-)?(?:totale?s?|summen?|gesamt|sommes?|sumas?)\b", re.IGNORECASE)


def groups_of(text: str, rows: Sequence[Span]) -> list[str]:
    """Return the group of each row: the nearest row above that has only a label and leads on.

    "Current assets:" is a group until its total, or the next label.
    """
    group, found = "", list[str]()
    for row in rows:
        first, *others = _cells(text, row)
        is_label = bool(first) and not any(others)
        found.append("" if is_label else group)
        if is_label:
            group = first if LEADS.search(first) else ""
        elif _TOTAL.match(first):
            group = ""
    return found


def _cells(text: str, row: Span) -> list[str]:
    return [_words(text, cell) for cell in row_cells(row.start, row.of(text))]


def _words(text: str, span: Span) -> str:
    return " ".join(span.of(text).split())
