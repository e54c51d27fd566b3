"""The reading job in the sandbox's child process: turns the bytes of a plain text into messages of a laid-out document.

The messages are those of `readers.pdf.job.compose`; blocks have the lines of their file instead of boxes, and their
words as they are in the file.
"""

from __future__ import annotations

import itertools
import math
import re
from bisect import bisect_left
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from knowledge_mcp.model.document import BlockKind, HeadingSource
from knowledge_mcp.readers.pdf.job import compose
from knowledge_mcp.readers.plain.layout import PITCH, TextPage, TextRow, lay_out, runs_of, text_pages
from knowledge_mcp.readers.shared.assembly import MOST_TEXT
from knowledge_mcp.readers.shared.layout import letters_of, unpacked
from knowledge_mcp.readers.shared.pieces import too_much
from knowledge_mcp.readers.shared.text import text_of
from knowledge_mcp.support.sandbox_worker import Refusal

_MOST_ROWS = 200_000
"""Maximum number of rows that are laid out as pages: 3,500 printed pages. A longer text is a log or a table."""
_BLANK = "\ufeff\u200b \t\r\n\x0b\x0c\ufffd"
_SERIES = 3
"""Number of numbered headings that make a series; these may have no blank lines around them."""
_COLUMNS = re.compile(r"\S {3,}\S")
_BLOCK_KINDS = {BlockKind.PARAGRAPH.value, BlockKind.LIST_ITEM.value, BlockKind.NOTE.value, BlockKind.EXAMPLE.value}


def check(path: str) -> Iterator[dict[str, Any]]:
    """Yield the number of pages separated by form feeds, None without any.

    Raises:
        Refusal: the file is empty, too large, of another format, or in an unknown encoding.
    """
    text, _ = _text_of(path)
    yield {"pages": _pages(text) or None}


def read(path: str) -> Iterator[dict[str, Any]]:
    """Yield `progress`, `warning` if the encoding is a guess, and the messages of `readers.pdf.job.compose`.

    Raises:
        Refusal: as `check`.
    """
    text, warning = _text_of(path)
    if warning:
        yield {"warning": warning}
    sheets = text_pages(text)
    paged = len(sheets) > 1
    yield {"progress": [0, max(len(sheets), 1)]}
    originals = {sheet.number: list(sheet.rows) for sheet in sheets}
    if sum(len(sheet.rows) for sheet in sheets) > _MOST_ROWS:
        yield {"facts": {}, "headlines": [], "running": ""}
        yield from _paragraphs(sheets, paged=paged)
    else:
        described: dict[str, Any] = {"facts": {}, "labels": [str(sheet.number) for sheet in sheets]}
        items: list[dict[str, Any]] = []
        others: list[dict[str, Any]] = []
        for message in compose("", lay_out(sheets), described, furniture=paged):
            if "items" in message:
                items.extend(_with_places(fields, originals, paged=paged) for fields in message["items"])
            elif "facts" in message or paged:
                others.append(message)
        items = _without_lines_of_text(items, {row.number for rows in originals.values() for row in rows})
        if not any("heading" in each for each in items):
            others[0]["headlines"] = []  # its first line is a sentence like the others
        yield from (others[0], {"items": items}, *others[1:])


def _text_of(path: str) -> tuple[str, str]:
    text, warning = text_of(path, "plain text")
    if len(text) > MOST_TEXT:
        raise too_much()
    if not text.strip(_BLANK):
        raise Refusal("empty", "The file has no text.", suggestion="Exclude it.")
    return text, warning


def _pages(text: str) -> int:
    """Count the pages, 0 without form feeds; a form feed at the very end begins no page."""
    count = text.rstrip().count("\f")
    return count + 1 if count else 0


def _paragraphs(sheets: Sequence[TextPage], *, paged: bool) -> Iterator[dict[str, Any]]:
    """Yield runs of rows unchanged, for a text that is too long to be laid out."""
    for sheet in sheets:
        items: list[dict[str, Any]] = []
        for rows in runs_of(sheet):
            fields: dict[str, Any] = {"kind": "paragraph", "text": "\n".join(row.text for row in rows)}
            fields["lines"] = [rows[0].number, rows[-1].number]
            fields["pages"] = [sheet.number] if paged else []
            items.append(fields)
        yield {"items": items}


# ---- blocks in their file -------------------------------------------------------------------------------------------


def _with_places(fields: dict[str, Any], originals: dict[int, list[TextRow]], *, paged: bool) -> dict[str, Any]:
    """Replace the boxes of a block by its lines, and its words by those of the file."""
    rows: list[tuple[int, TextRow]] = []
    for box in unpacked(fields.pop("boxes", ())):
        first = math.floor((box.top + 1.5) / PITCH)
        last = math.floor((box.bottom - 1.5) / PITCH)
        sheet = originals[box.page]
        at = bisect_left(sheet, first, key=lambda row: row.place)
        while at < len(sheet) and sheet[at].place <= last:
            rows.append((box.page, sheet[at]))
            at += 1
    if not paged:
        fields["pages"] = []
        fields.pop("breaks", None)
    if rows:
        fields["lines"] = [min(row.number for _, row in rows), max(row.number for _, row in rows)]
        if fields.get("kind") in _BLOCK_KINDS:
            _as_written(fields, rows)
    return fields


def _without_lines_of_text(items: list[dict[str, Any]], filled: Collection[int]) -> list[dict[str, Any]]:
    """Turn numbered headings directly below another line into text if most others have a blank line above."""
    numbered = [each for each in items if "heading" in each and each["source"] == HeadingSource.NUMBERING.value]
    tight = [each for each in numbered if each["lines"][0] - 1 in filled]
    if 2 * len(tight) < len(numbered) or len(numbered) < _SERIES:
        for each in tight:
            text = each["printed"]
            each_lines, pages = each["lines"], each["pages"]
            each.clear()
            each.update({"kind": BlockKind.PARAGRAPH.value, "text": text, "lines": each_lines, "pages": pages})
    return items


def _as_written(fields: dict[str, Any], rows: Sequence[tuple[int, TextRow]]) -> None:
    """Take a block's words from its rows if the letters agree: this keeps hyphens, and intended line ends."""
    meant = _is_set_by_row([row for _, row in rows])
    indent = min(row.indent for _, row in rows)
    words = [row.text[indent:] if meant else " ".join(row.text.split()) for _, row in rows]
    text, breaks = words[0], list[int]()
    for at in range(1, len(rows)):
        cut = words[at - 1].endswith("-") and words[at - 1][-2:-1].isalpha()
        text += "\n" if meant else "" if cut else " "
        if rows[at][0] != rows[at - 1][0]:
            breaks.append(len(text))
        text += words[at]
    if letters_of(text) == letters_of(fields["text"]):
        fields["text"] = text
        if "breaks" in fields:
            fields["breaks"] = breaks


def _is_set_by_row(rows: Sequence[TextRow]) -> bool:
    """Return whether line ends are intended: most rows have columns, or room for the first word of the next row."""
    if len(rows) < 2:
        return False
    width = max(len(row.text) for row in rows)
    columns = sum(_COLUMNS.search(row.text.strip()) is not None for row in rows)
    roomy = sum(
        len(row.text) + 1 + len(following.text.split(None, 1)[0]) <= width
        for row, following in itertools.pairwise(rows)
    )
    return 2 * columns > len(rows) or 2 * roomy >= len(rows) - 1
