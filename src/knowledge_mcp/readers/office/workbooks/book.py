"""Child process: common code for workbooks of every format: sheets of visible rows, written sheet by sheet.

MarkItDown is not used, because it reads workbooks with pandas: an empty cell becomes `NaN`, a title row `Unnamed: 3`, a
year next to an empty cell `2020.0`, a formula that was never calculated nothing, and each sheet is completely in
memory. Here, values are written as the sheet shows them, and a formula without a value as the formula.
"""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.office.workbooks.formats import shown_number, shown_text
from knowledge_mcp.readers.office.workbooks.regions import regions
from knowledge_mcp.readers.office.workbooks.sieve import SheetMarks, ShownRow, Sieve
from knowledge_mcp.readers.shared.hidden import COMMENTS, comments_left_out, noted
from knowledge_mcp.readers.shared.pieces import Piece, facts, heading, hidden_piece, piece
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

_MOST_SHEETS = 1000
_MIDNIGHT = dt.time(0, 0)


@dataclass(frozen=True, slots=True)
class ReadSheet:
    """One sheet of a workbook.

    Attributes:
        title: its name.
        is_hidden: it is not visible.
        rows: yields its rows, once; hidden text inside cells is left out and counted in the argument.
        marks: properties of the sheet besides its cells; those of a row and its merged cells are complete when the row
            is yielded.
        drawn: the words of shapes on it.
        comments: comments on its cells, one line each.
    """

    title: str
    is_hidden: bool
    rows: Callable[[Counter[str]], Iterator[ShownRow]]
    marks: SheetMarks = field(default_factory=SheetMarks)
    drawn: Sequence[str] = ()
    comments: Sequence[str] = ()

    def sieve(self) -> Sieve:
        """Return a sieve that removes hidden text from its rows."""
        return Sieve(self.marks, all_hidden=self.is_hidden)

    def seen(self, sieve: Sieve) -> Iterator[tuple[int, list[str]]]:
        """Yield its rows with their numbers, through a sieve."""
        return sieve.sift(self.rows(sieve.hidden))


@dataclass(frozen=True, slots=True)
class Book:
    """An open workbook: its sheets in order, its properties, and warnings about what is not read."""

    sheets: Iterator[ReadSheet]
    properties: Mapping[str, str]
    warnings: Sequence[str] = ()


def book_pieces(book: Book) -> Iterator[Piece]:
    """Write a workbook: for each sheet its name, its tables and lines of text, and the words of its shapes.

    A sheet without visible content is only counted.
    """
    names: list[str] = []
    comments: list[str] = []
    commented = 0
    warnings = list(book.warnings)
    for sheet in book.sheets:
        sieve = sheet.sieve()
        drawn = () if sheet.is_hidden else sheet.drawn
        written = (piece(BlockKind.PARAGRAPH, words) for words in drawn)
        found = itertools.chain(regions(sheet.seen(sieve), sieve.reaches), written)
        if (first := next(found, None)) is not None:
            yield heading(sheet.title, 1, plain=True)
            yield first
            yield from found
        yield hidden_piece(sieve.hidden)
        warnings += _hidden_warnings(sheet.title, sieve, is_hidden=sheet.is_hidden)
        commented += len(sheet.comments)
        if not sheet.is_hidden:
            names.append(sheet.title)
            comments += sheet.comments
    if commented:
        warnings.append(comments_left_out(commented))
    properties = dict(book.properties)
    title = properties.pop("title", "")
    metadata = properties | {"sheets": ", ".join(names)[:2000]} | noted(COMMENTS, comments)
    yield facts(title=title, metadata=metadata, warnings=warnings)


def _hidden_warnings(title: str, sieve: Sieve, *, is_hidden: bool) -> list[str]:
    """Return warnings about hidden parts of a sheet."""
    if is_hidden:
        count = how_many(sieve.hidden.total(), "character")
        return [f"The sheet {title} is hidden in the workbook, and omitted: {count}."]
    counts = ((sieve.rows, "hidden row"), (len(sieve.columns), "hidden column"))
    message = " and ".join(how_many(count, what) for count, what in counts if count)
    return [f"Omitted from the sheet {title}: {message}."] if message else []


def printed(value: object, pattern: str) -> str:
    """Return a cell's value approximately as its number format shows it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return shown_text(value, pattern)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, (int, float)):
        return shown_number(value, pattern)
    if isinstance(value, dt.datetime):
        if value.time() == _MIDNIGHT:
            return value.date().isoformat()
        return value.isoformat(" ", "seconds")
    return str(value)


def bound(count: int) -> None:
    """Refuse a workbook with too many sheets."""
    if count > _MOST_SHEETS:
        raise Refusal("too_large", f"The workbook has {count} sheets, more than {_MOST_SHEETS}.")
