"""Child process: tables of AsciiDoc, with cells or separated values, and tables in cells."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping, Sequence

from knowledge_mcp.language.openings import ADMONITIONS
from knowledge_mcp.readers.markup.asciidoc.inline import ATTRIBUTES, Inline
from knowledge_mcp.readers.shared.pieces import Piece
from knowledge_mcp.readers.shared.tables import TableCells
from knowledge_mcp.support.sandbox_worker import Refusal

_NESTED = re.compile("!={3,}")
_CELL = re.compile(
    r"(?:(?<=\s)|^)(?:(?P<times>\d{1,3})\*)?(?:(?P<columns>\d{1,3})?(?:\.(?P<rows>\d{1,3}))?\+)?"
    r"(?:[<^>])?(?:\.[<^>])?[adehlmsv]?\|",
    re.MULTILINE,
)
_COMMENT = re.compile("//(?!/)")
_BREAK = re.compile(r" \+$", re.MULTILINE)
_BOX = re.compile(r"^(?:\[(?P<style>[A-Za-z]\w{0,20})[^\]\n]{0,200}\]\n)?(?:={4,}|-{4,}|\.{4,}|_{4,})$", re.MULTILINE)
_ITEM = re.compile(r"^\*{1,5} ", re.MULTILINE)
_REPEATED = re.compile(r"(?P<times>\d{1,3})\*")
_SEPARATORS = {",": ",", ":": ":"}
_MOST_COLUMNS = 1000


def table_of(line: str, inside: Sequence[str], attributes: Mapping[str, str], inline: Inline) -> Iterator[Piece]:
    """Yield the table between two delimiters, and the notes in its last rows.

    Args:
        line: its delimiter; `,===` and `:===` are for separated values.
        inside: its lines.
        attributes: `cols`, `format`.
        inline: reads the words of its cells.

    Raises:
        Refusal: it has more columns than can be read.
    """
    kind = {"csv": ",", "dsv": ":", "tsv": "\t"}.get(attributes.get("format", "").lower(), _SEPARATORS.get(line[0], ""))
    cells = TableCells()
    inside = [each for each in inside if _COMMENT.match(each) is None]
    if kind:
        for row in csv.reader(io.StringIO("\n".join(inside)), delimiter=kind):
            cells.row()
            for words in row:
                cells.open()
                cells.close(inline.rich(words))
        return cells.pieces()
    inside = [each.replace("!", "|") for each in inside] if line[0] == "!" else inside
    found = list(_cells("\n".join(inside)))
    columns = _columns(attributes.get("cols", "")) or _first_row(inside)
    if columns > _MOST_COLUMNS:
        raise Refusal("too_large", f"A table has {columns} columns, more than {_MOST_COLUMNS}.")
    reaching = [0] * columns  # for each column, the number of rows that a cell above still spans
    at = columns
    for words, wide, deep in found:
        while at < columns and reaching[at]:
            reaching[at] -= 1
            at += 1
        if at >= columns:
            cells.row()
            at = 0
            while at < columns and reaching[at]:
                reaching[at] -= 1
                at += 1
        cells.open(wide, deep)
        cells.close(inline.rich(words))
        for column in range(at, min(at + wide, columns)):
            reaching[column] = deep - 1
        at += wide
    return cells.pieces()


def _cells(text: str) -> Iterator[tuple[str, int, int]]:
    """Yield each cell's words, and how many columns and rows it spans."""
    text = text.replace("\\|", "\x00")
    marks = list(_CELL.finditer(text))
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    for mark, end in zip(marks, ends, strict=False):  # without a mark there is no cell
        words = text[mark.end() : end]
        for _ in range(int(mark["times"] or 1)):
            yield _without_blocks(words).replace("\x00", "|").strip(), int(mark["columns"] or 1), int(mark["rows"] or 1)


def _without_blocks(words: str) -> str:
    """Write the blocks of a cell as words: the label of a note for its delimiters, and bullets of several items."""

    def label(box: re.Match[str]) -> str:
        name = ADMONITIONS.get((box["style"] or "").lower())
        return f"{name}: " if name else ""

    plain = _BREAK.sub("", _BOX.sub(label, words))
    return _ITEM.sub("• ", plain) if len(_ITEM.findall(plain)) > 1 else plain  # a single one marks a note


def _columns(named: str) -> int:
    """Count the columns that `cols` specifies: `3*`, `1,2a,^3`, `3`."""
    total = 0
    for part in filter(None, (part.strip() for part in re.split(r"[,;]", named))):
        repeated = _REPEATED.match(part)
        total += int(repeated["times"]) if repeated else 1
    return total


def _first_row(inside: Sequence[str]) -> int:
    first = next((line for line in inside if line.strip()), "")
    return max(sum(wide for _, wide, _ in _cells(first)), 1)


def without_nested(inside: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """Separate the lines of a table from those of the tables in its cells, each with the attributes above it."""
    own: list[str] = []
    nested: list[list[str]] = []
    at = 0
    while at < len(inside):
        if not _NESTED.fullmatch(inside[at].rstrip()):
            own.append(inside[at])
            at += 1
            continue
        closing = (k for k in range(at + 1, len(inside)) if inside[k].rstrip() == inside[at].rstrip())
        end = next(closing, len(inside)) + 1
        above: list[str] = []
        while own and ATTRIBUTES.fullmatch(own[-1].strip()):
            above.insert(0, own.pop())
        nested.append([*above, *inside[at:end]])
        at = end
    return own, nested
