"""In the child: workbooks (.xlsx, .xls) to sections and tables, sheet by sheet and row by row.

Ours and not MarkItDown's, which reads them through pandas: there an empty cell becomes `NaN`, a title row `Unnamed: 3`,
a year beside an empty cell `2020.0`, a formula that was never calculated nothing at all, and every sheet stands in
memory as a whole. Here values are written as the sheet shows them, and a formula without a value as the formula.
"""

from __future__ import annotations

import datetime as dt
import io
import itertools
import zipfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, TypeAlias, cast

from knowledge_mcp.model.document import BlockKind, HiddenReason
from knowledge_mcp.readers.office.dialects import usual_names
from knowledge_mcp.readers.office.number_formats import shown_number, shown_text
from knowledge_mcp.readers.office.remarks import comments_on_cells
from knowledge_mcp.readers.office.sheets_hidden import (
    SheetLook,
    SheetMarks,
    Sieve,
    look_of,
    old_look_of,
    old_marks_of,
    old_pattern_of,
    scanned,
)
from knowledge_mcp.readers.shared.assembly import MOST_TEXT
from knowledge_mcp.readers.shared.containers import (
    OLE,
    core_properties,
    corrupted,
    magic_of,
    member,
    ole_refusal,
    open_archive,
    parse_xml,
    relations_of,
)
from knowledge_mcp.readers.shared.drawings import words_of
from knowledge_mcp.readers.shared.hidden import COMMENTS, nonblank_length, noted
from knowledge_mcp.readers.shared.pieces import (
    Piece,
    at_lines,
    facts,
    heading,
    hidden_piece,
    messages,
    piece,
    table_piece,
)
from knowledge_mcp.readers.shared.tables import MOST_HEADER_ROWS, Reach, is_number, worded_header
from knowledge_mcp.support.sandbox_worker import Refusal
from knowledge_mcp.support.wording import how_many

MOST_COLUMNS = 16_384
"""Most cells of a row: what Excel has."""

_Numbered: TypeAlias = tuple[int, list[str]]
_MOST_LINES = 20


def regions(rows: Iterable[tuple[int, Sequence[str]]], reaches: Mapping[int, Reach]) -> Iterator[Piece]:
    """Write numbered rows as tables and paragraphs: a blank row ends a table, a single cell above one is its title.

    A table that goes on behind blank rows stays one table: where what follows stands in its columns and begins with
    numbers, while its header has none. `reaches` says by the number of a row where its merged cells reach.

    Raises:
        Refusal: a row has more cells than a sheet can have, or the text is more than a document may hold.
    """
    table: list[_Numbered] = []
    gap = False
    size = 0
    for number, row in rows:
        cells = _trimmed(row)
        if not cells:
            gap = bool(table)
            continue
        if len(cells) > MOST_COLUMNS:
            raise Refusal("too_large", f"A row has {len(cells)} cells, more than {MOST_COLUMNS}.")
        if gap and not _goes_on(table, cells):
            yield from _region(table, reaches)
            table = []
        gap = False
        table.append((number, cells))
        size += sum(map(len, cells)) + len(cells)
        if size > 2 * MOST_TEXT:
            raise Refusal("too_large", "The table holds more text than a document may.", suggestion="Split it.")
    yield from _region(table, reaches)


def _trimmed(row: Sequence[str]) -> list[str]:
    last = len(row)
    while last and not row[last - 1].strip():
        last -= 1
    return list(row[:last])


def _goes_on(table: Sequence[_Numbered], cells: Sequence[str]) -> bool:
    header = next((row for _, row in table if _filled(row) > 1), None)
    widest = max((len(row) for _, row in table[: MOST_HEADER_ROWS + 1]), default=0)  # a group's own cell is the first
    if header is None or len(cells) > widest or _filled(cells) < 2:
        return False
    return any(map(is_number, cells)) and not any(map(is_number, header))


def _filled(row: Sequence[str]) -> int:
    return sum(1 for cell in row if cell.strip())


def _region(table: list[_Numbered], reaches: Mapping[int, Reach]) -> Iterator[Piece]:
    """Write one run of rows without a gap: single cells before the first fuller row are lines of text."""
    start = 0
    while start < len(table) and _filled(table[start][1]) == 1:
        start += 1
    if start == len(table) > _MOST_LINES:
        yield _table(table, {})  # one long column is a list
        return
    for number, row in table[:start]:
        yield at_lines(piece(BlockKind.PARAGRAPH, " ".join(cell for cell in row if cell.strip())), number, number)
    body = table[start:]
    if not body:
        return
    empty = min(next((k for k, cell in enumerate(row) if cell.strip()), 0) for _, row in body)
    found = {
        index: Reach({at - empty: of - empty for at, of in reach.across.items()}, {at - empty for at in reach.down})
        for index, (number, _) in enumerate(body[:MOST_HEADER_ROWS])
        if (reach := reaches.get(number))
    }
    yield _table([(number, row[empty:]) for number, row in body], found)


def _table(rows: Sequence[_Numbered], reaches: Mapping[int, Reach]) -> Piece:
    """Write rows as a table; a header of several rows becomes one, and the rows it came from are kept."""
    first, last = rows[0][0], rows[-1][0]
    written = worded_header([row for _, row in rows], reaches)
    numbers = [first, *(number for number, _ in rows[len(rows) - len(written) + 1 :])]
    follow = numbers == list(range(first, last + 1))
    return at_lines(table_piece(written), first, last, () if follow else [first, *numbers])


_EXPECTED = "an Excel workbook"
_WORKBOOKS = ("xl/workbook.xml",)
_MOST_SHEETS = 1000
_MIDNIGHT = dt.time(0, 0)


def workbook(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield a workbook's messages, whichever of the two formats its bytes are in.

    Raises:
        Refusal: it is no workbook, locked, damaged, empty or too large.
    """
    if magic_of(path).startswith(OLE):
        yield from _old(path, check=check)
        return
    with open_archive(path, _EXPECTED, needs=_WORKBOOKS) as opened:
        usual = usual_names(opened, *_WORKBOOKS)
        data = usual.read() if usual is not None else b""
        with zipfile.ZipFile(usual) if usual is not None else nullcontext(opened) as archive:
            marks = {} if check else scanned(archive)

            def source() -> BinaryIO:
                return io.BytesIO(data) if data else Path(path).open("rb")

            yield from _new(source, archive, marks, check=check)


# ---- .xlsx ----------------------------------------------------------------------------------------------------------


def _new(
    source: Callable[[], BinaryIO], archive: zipfile.ZipFile, marks: Mapping[str, SheetMarks], *, check: bool
) -> Iterator[dict[str, Any]]:
    import warnings

    import openpyxl

    warnings.simplefilter("ignore")  # of styles and extensions that concern nobody here
    try:
        # as streams: a name would have to have one of the right extensions
        with source() as one, source() as other:
            book: Any = openpyxl.load_workbook(one, read_only=True, data_only=True, rich_text=True)
            formulas = any(each.has_formulas for each in marks.values())
            written: Any = openpyxl.load_workbook(other, read_only=True) if formulas else None
            if not check:
                yield from messages(_new_pieces(archive, book, written, marks))
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, SyntaxError) as error:
        raise corrupted(_EXPECTED, error) from error


def _new_pieces(archive: zipfile.ZipFile, book: Any, written: Any, marks: Mapping[str, SheetMarks]) -> Iterator[Piece]:
    properties = core_properties(archive)
    _bound(len(book.sheetnames))
    warnings = [*_part_warnings(archive)]
    names: list[str] = []
    comments: list[str] = []
    looks: dict[int, SheetLook] = {}
    for sheet in book.worksheets:
        is_hidden = sheet.sheet_state != "visible"
        # openpyxl's stream of a sheet keeps the name of its part to itself
        part = getattr(sheet, "_worksheet_path", "")
        sieve = Sieve(marks.get(part, SheetMarks()), all_hidden=is_hidden)
        sheet.reset_dimensions()
        formulas = written[sheet.title] if written is not None else None
        rows = shown_rows(sheet, formulas, looks, book.loaded_theme, sieve.hidden)
        words = [] if is_hidden else [*_drawn(archive, part)]
        comments += [] if is_hidden else comments_on_cells(archive, part, sheet.title)
        yield from _sheet(sheet.title, sieve.sift(rows), sieve.reaches, words)
        yield hidden_piece(sieve.hidden)
        warnings += _hidden_warnings(sheet.title, sieve, is_hidden=is_hidden)
        names += [] if is_hidden else [sheet.title]
    yield facts(
        title=properties.pop("title", ""),
        metadata=properties | {"sheets": ", ".join(names)[:2000]} | noted(COMMENTS, comments),
        warnings=warnings,
    )


ShownRow: TypeAlias = tuple[list[str], list["SheetLook | None"]]


def shown_rows(
    sheet: Any, formulas: Any, looks: dict[int, SheetLook], theme: bytes | None, hidden: Counter[str]
) -> Iterator[ShownRow]:
    """Yield the texts of rows with the looks of their cells.

    Args:
        sheet: of openpyxl, its texts with their fonts.
        formulas: the same with formulas in place of values; None where there are none.
        looks: keeps what is known of each style.
        theme: of the workbook.
        hidden: counts what is struck out within cells, and left out.
    """

    def shown(cell: Any, value: Any) -> tuple[str, SheetLook | None]:
        look = _look(cell, looks, theme)
        if isinstance(value, list):  # a text in several fonts: each tells for itself
            is_struck = look is not None and look.reason is HiddenReason.STRUCK
            return _not_struck(cell, cast("list[Any]", value), hidden), None if is_struck else look
        return _printed(value, _pattern(cell)), look

    if formulas is not None:
        formulas.reset_dimensions()
    others = formulas.iter_rows() if formulas is not None else ()
    for row, other in itertools.zip_longest(sheet.iter_rows(), others, fillvalue=()):
        cells: list[tuple[str, SheetLook | None]] = []
        for cell, formula in itertools.zip_longest(row, other):
            value = cell.value if cell is not None else None
            if value is None and formula is not None:
                value = getattr(formula.value, "text", formula.value)
            cells.append(shown(cell, value))
        yield [text for text, _ in cells], [look for _, look in cells]


def _not_struck(cell: Any, runs: Sequence[Any], hidden: Counter[str]) -> str:
    """Join the runs of a text that are not struck out; one without a font of its own has the cell's."""
    font = getattr(cell, "font", None)
    said: list[str] = []
    for run in runs:
        words, own = str(run), getattr(run, "font", font)
        if own is not None and own.strike:
            hidden[HiddenReason.STRUCK] += nonblank_length(words)
        else:
            said.append(words)
    return "".join(said)


def _look(cell: Any, looks: dict[int, SheetLook], theme: bytes | None) -> SheetLook | None:
    """Tell how a cell is shown by its style; None for as any cell is."""
    style = getattr(cell, "_style_id", 0)
    if not style:
        return None
    if style not in looks:
        looks[style] = look_of(cell, theme)
    return looks[style] if looks[style].reason is not None else None


def _drawn(archive: zipfile.ZipFile, sheet: str) -> Iterator[str]:
    """Give the words of the text boxes and shapes that are drawn on a sheet, a paragraph a line."""
    for relation in relations_of(partial(member, archive), sheet, _EXPECTED) if sheet else ():
        is_drawing = relation.kind == "drawing" and not relation.external
        data = member(archive, relation.target) if is_drawing else None
        for shape in parse_xml(data, _EXPECTED).iter("{*}sp") if data else ():
            about = shape.find("{*}nvSpPr/{*}cNvPr")
            if about is not None and about.get("hidden") in {"1", "true"}:
                continue
            body = shape.find("{*}txBody")
            words = (words_of(each) for each in (body.iter("{*}p") if body is not None else ()))
            if text := "\n".join(filter(None, words)):
                yield text


def _part_warnings(archive: zipfile.ZipFile) -> Iterator[str]:
    names = archive.namelist()
    for folder, what in (
        ("xl/comments", "Comments on cells"),
        ("xl/threadedComments/", "Comments on cells"),
        ("xl/charts/chart", "Charts"),
        ("xl/chartsheets/", "Charts"),
        ("xl/media/", "Pictures"),
        ("xl/embeddings/", "Embedded files"),
    ):
        if any(name.startswith(folder) for name in names):
            yield f"{what} in the workbook are not read."


# ---- .xls -----------------------------------------------------------------------------------------------------------


def _old(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    import xlrd
    from xlrd.biffh import XLRDError

    try:
        # sheets are parsed one by one; the log of odd records is nobody's reading
        book: Any = xlrd.open_workbook(path, on_demand=True, formatting_info=True, logfile=io.StringIO())
        if not check:
            yield from messages(_old_pieces(book))
    except XLRDError as error:
        raise _old_refusal(path, error) from error
    except (ValueError, IndexError, KeyError, AssertionError, TypeError, AttributeError, OverflowError) as error:
        raise corrupted(_EXPECTED, error) from error
    except Exception as error:
        # struct.error and compdoc's own error are no children of anything above
        if type(error).__name__ in {"error", "CompDocError"}:
            raise corrupted(_EXPECTED, error) from error
        raise


def _old_refusal(path: str, error: Exception) -> Refusal:
    said = str(error)
    if "encrypted" in said.lower():
        return Refusal(
            "password_protected",
            "It is protected by a password.",
            suggestion="Open it in Excel, remove the password and save it.",
        )
    if "Can't find workbook" in said or "not supported" in said:
        return ole_refusal(path, _EXPECTED)
    return corrupted(_EXPECTED, error)


def _old_pieces(book: Any) -> Iterator[Piece]:
    _bound(book.nsheets)
    names: list[str] = []
    warnings: list[str] = []
    for index in range(book.nsheets):
        sheet = book.sheet_by_index(index)
        is_hidden = bool(sheet.visibility)
        sieve = Sieve(old_marks_of(sheet), all_hidden=is_hidden)
        yield from _sheet(sheet.name, sieve.sift(_old_rows(book, sheet)), sieve.reaches)
        yield hidden_piece(sieve.hidden)
        warnings += _hidden_warnings(sheet.name, sieve, is_hidden=is_hidden)
        names += [] if is_hidden else [sheet.name]
        book.unload_sheet(index)
    metadata = {"author": book.user_name} if book.user_name else {}
    yield facts(metadata=metadata | {"sheets": ", ".join(names)[:2000]}, warnings=warnings)


def _old_rows(book: Any, sheet: Any) -> Iterator[ShownRow]:
    import xlrd

    looks: dict[int, SheetLook | None] = {}
    for number in range(sheet.nrows):
        cells: list[str] = []
        for cell in sheet.row(number):
            value = cell.value
            if cell.ctype == xlrd.XL_CELL_DATE:
                value = _old_date(value, book.datemode)
            elif cell.ctype == xlrd.XL_CELL_BOOLEAN:
                value = bool(value)
            elif cell.ctype == xlrd.XL_CELL_ERROR:
                value = xlrd.error_text_from_code.get(value, "#ERROR")
            cells.append(_printed(value, old_pattern_of(book, cell.xf_index)))
            if cell.xf_index is not None and cell.xf_index not in looks:
                look = old_look_of(book, cell.xf_index)
                looks[cell.xf_index] = look if look.reason is not None else None
        yield cells, [looks.get(cell.xf_index) for cell in sheet.row(number)]


def _old_date(value: float, mode: Any) -> Any:
    import xlrd

    try:
        parts = xlrd.xldate_as_tuple(value, mode)
    except (xlrd.XLDateError, ValueError, OverflowError):
        return value
    return dt.time(*parts[3:]) if parts[:3] == (0, 0, 0) else dt.datetime(*parts)  # noqa: DTZ001


# ---- both -----------------------------------------------------------------------------------------------------------


def _sheet(
    title: str, rows: Iterable[tuple[int, Sequence[str]]], reaches: Mapping[int, Reach], drawn: Sequence[str] = ()
) -> Iterator[Piece]:
    """Write a sheet: its name, its tables and lines of text, the words drawn on it; an empty one leaves no trace."""
    found = itertools.chain(regions(rows, reaches), (piece(BlockKind.PARAGRAPH, words) for words in drawn))
    first = next(found, None)
    if first is None:
        return
    yield heading(title, 1, plain=True)
    yield first
    yield from found


def _printed(value: object, pattern: str) -> str:
    """Write a cell's value about as the sheet shows it by its number format."""
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


def _pattern(cell: Any) -> str:
    return str(getattr(cell, "number_format", "") or "")


def _hidden_warnings(title: str, sieve: Sieve, *, is_hidden: bool) -> list[str]:
    """Tell what is left out of a sheet because it is hidden."""
    if is_hidden:
        count = how_many(sieve.hidden.total(), "character")
        return [f"The sheet {title} is hidden in the workbook, and left out: {count}."]
    counts = ((sieve.rows, "hidden row"), (len(sieve.columns), "hidden column"))
    message = " and ".join(how_many(count, what) for count, what in counts if count)
    return [f"Left out of the sheet {title}: {message}."] if message else []


def _bound(count: int) -> None:
    if count > _MOST_SHEETS:
        raise Refusal("too_large", f"The workbook has {count} sheets, more than {_MOST_SHEETS}.")
