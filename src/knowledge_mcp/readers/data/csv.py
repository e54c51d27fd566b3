"""Child process: CSV to one table; the delimiter is the one for which the rows are most alike."""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.office.workbooks.regions import MOST_COLUMNS
from knowledge_mcp.readers.requirements.documents import as_document
from knowledge_mcp.readers.requirements.tables import items_of_rows, parse_columns
from knowledge_mcp.readers.shared.pieces import Piece, at_lines, facts, messages, piece, table_piece
from knowledge_mcp.readers.shared.text import nonblank_text_of
from knowledge_mcp.support.sandbox_worker import Refusal

_EXPECTED = "a CSV file"
_SAMPLE_ROWS, _SAMPLE_TEXT = 200, 200_000
_DELIMITERS = "\t;|,"
_SEPARATOR_LINE = re.compile(r"sep=(.)\n", re.IGNORECASE)
_NONE = "\x1f"
_MOST_ABOVE = 20
"""Most single-cell rows above a table: title, author, date. More of them are a column next to gaps."""
_MOST_CELL = 64_000_000


def table(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield a CSV file's one table.

    Raises:
        Refusal: it is not text, is empty, or has more columns or text than can be read.
    """
    text, warning = nonblank_text_of(path, _EXPECTED)
    if not check:
        yield from messages(_pieces(text, warning))


def items(path: str, *, check: bool, columns: str) -> Iterator[dict[str, Any]]:
    """Yield the messages of a CSV file with one requirement per row.

    Its columns are named (`id=Key,text=Description`).

    Raises:
        Refusal: as `table`; or no row names the columns.
    """
    text, _ = nonblank_text_of(path, _EXPECTED)
    yield from as_document(items_of_rows(_rows_of(text), parse_columns(columns)), check=check)


def _rows_of(text: str) -> _Rows:
    named = _SEPARATOR_LINE.match(text)
    delimiter = named.group(1) if named else delimiter_of(text)
    return _Rows(text[named.end() :] if named else text, delimiter)


def _pieces(text: str, warning: str) -> Iterator[Piece]:
    """Write the single-cell rows above the first row with several cells as text, and all others as one table."""
    rows = _rows_of(text)
    above: list[tuple[int, list[str]]] = []
    table, first = iter(rows), 1
    for row in table:
        if rows.width or len(above) == _MOST_ABOVE:
            table, first = itertools.chain([row], table), rows.read
            break
        above.append((rows.read, row))
    if not rows.width:  # a list of one column
        table, first = itertools.chain((row for _, row in above), table), 1
        above = []
    for number, row in above:
        yield at_lines(piece(BlockKind.PARAGRAPH, " ".join(filter(None, row))), number, number)
    written = table_piece(table)
    yield at_lines(written, first, rows.read) if rows.count - len(above) == rows.read - first + 1 else written
    warnings = [warning] if warning else []
    if not rows.strict:
        warnings.append("The quotation marks in the file do not match; some cells may have been read as one.")
    if rows.uneven:
        warnings.append(f"{rows.uneven} of {rows.count} rows have not as many cells as the first one ({rows.width}).")
    yield facts(metadata={"rows": str(rows.count), "columns": str(rows.widest)}, warnings=warnings)


class _Rows:
    """Iterate over the rows that are not empty, without holding them, and count."""

    def __init__(self, text: str, delimiter: str) -> None:
        csv.field_size_limit(_MOST_CELL)
        self._text, self._delimiter = text, delimiter
        for width in _widths(text, delimiter, whole=True):
            _bound(width)
        self.strict = True
        self.count = self.read = self.width = self.widest = self.uneven = 0
        try:
            for _ in self._read():
                pass
        except csv.Error:
            self.strict = False

    def __iter__(self) -> Iterator[list[str]]:
        try:
            for row in self._read():
                self.read += 1
                if not any(cell.strip() for cell in row):
                    continue
                self.width = self.width or (len(row) if sum(map(bool, map(str.strip, row))) > 1 else 0)
                self.widest = max(self.widest, len(row))
                self.uneven += len(row) != self.width > 0
                self.count += 1
                yield row
        except csv.Error as error:
            raise Refusal("corrupted", "It cannot be read as CSV.", details=str(error)) from error

    def _read(self) -> Iterator[list[str]]:
        source = io.StringIO(self._text, newline="")
        for row in csv.reader(source, delimiter=self._delimiter, strict=self.strict):
            _bound(len(row))
            yield row


def _bound(width: int) -> None:
    if width > MOST_COLUMNS:
        raise Refusal("too_large", f"A row has {width} cells or more, more than {MOST_COLUMNS}.")


def delimiter_of(text: str) -> str:
    """Find the delimiter for which most rows of a sample have the same number of cells, and more than one.

    If there is none, the file has one column, whose commas belong to its sentences.
    """
    best, choice = (0.0, 0), _NONE
    for delimiter in _DELIMITERS:
        widths = _widths(text, delimiter)
        if not widths:
            continue
        width, count = Counter(widths).most_common(1)[0]
        if width < 2:
            continue
        score = (round(count / len(widths), 2), 1 if delimiter in "\t" else 0)
        if score > best:
            best, choice = score, delimiter
    return choice


def _widths(text: str, delimiter: str, *, whole: bool = False) -> Sequence[int]:
    """Count the cells of a sample's rows; the last row, which may be incomplete, counts only with `whole`."""
    csv.field_size_limit(_MOST_CELL)
    sample = io.StringIO(text[:_SAMPLE_TEXT], newline="")
    widths: list[int] = []
    with contextlib.suppress(csv.Error):
        widths.extend(len(row) for row in itertools.islice(csv.reader(sample, delimiter=delimiter), _SAMPLE_ROWS))
    widths = [width for width in widths if width]
    return widths[:-1] if len(text) > _SAMPLE_TEXT and len(widths) > 1 and not whole else widths
