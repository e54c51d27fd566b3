"""Child process: old Excel workbooks (.xls)."""

from __future__ import annotations

import datetime as dt
import io
from collections import Counter
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from knowledge_mcp.model.document import HiddenReason
from knowledge_mcp.readers.office.workbooks.book import Book, ReadSheet, bound, printed
from knowledge_mcp.readers.office.workbooks.sieve import SheetLook, SheetMarks, ShownRow, style_look
from knowledge_mcp.readers.shared.containers import corrupted, ole_refusal, password_protected
from knowledge_mcp.readers.shared.hidden import WHITE, remark
from knowledge_mcp.support.sandbox_worker import Refusal

_EXPECTED = "an Excel workbook"


@contextmanager
def opened_xls(path: str) -> Generator[Book]:
    """Open a workbook; formulas that were never calculated have no value.

    Raises:
        Refusal: it is not a workbook, or is locked, damaged or too large; also for errors inside the `with` block.
    """
    import xlrd
    from xlrd.biffh import XLRDError

    try:
        # sheets are parsed one by one; the log of odd records is discarded
        book: Any = xlrd.open_workbook(path, on_demand=True, formatting_info=True, logfile=io.StringIO())
        bound(book.nsheets)
        yield Book(_sheets(book), {"author": book.user_name} if book.user_name else {})
    except XLRDError as error:
        raise _refusal(path, error) from error
    except (ValueError, IndexError, KeyError, AssertionError, TypeError, AttributeError, OverflowError) as error:
        raise corrupted(_EXPECTED, error) from error
    except Exception as error:
        # struct.error and CompDocError are not derived from any of the above
        if type(error).__name__ in {"error", "CompDocError"}:
            raise corrupted(_EXPECTED, error) from error
        raise


def _refusal(path: str, error: Exception) -> Refusal:
    message = str(error)
    if "encrypted" in message.lower():
        return password_protected("Open it in Excel, remove the password and save it.")
    if "Can't find workbook" in message or "not supported" in message:
        return ole_refusal(path, _EXPECTED)
    return corrupted(_EXPECTED, error)


def _sheets(book: Any) -> Iterator[ReadSheet]:
    for index in range(book.nsheets):
        sheet = book.sheet_by_index(index)

        def rows(hidden: Counter[str], sheet: Any = sheet) -> Iterator[ShownRow]:
            del hidden  # runs within a cell are not distinguished here
            return _rows(book, sheet)

        yield ReadSheet(sheet.name, bool(sheet.visibility), rows, _marks_of(sheet), comments=[*_comments(sheet)])
        book.unload_sheet(index)


def _comments(sheet: Any) -> Iterator[str]:
    """Yield the notes on a sheet's cells, one line each."""
    import xlrd

    for (row, column), note in sorted(sheet.cell_note_map.items()):
        yield remark(f"{sheet.name} {xlrd.cellname(row, column)}", note.author or "", "comment", "", note.text)


def _rows(book: Any, sheet: Any) -> Iterator[ShownRow]:
    import xlrd

    looks: dict[int, SheetLook | None] = {}
    for number in range(sheet.nrows):
        cells: list[str] = []
        for cell in sheet.row(number):
            value = cell.value
            if cell.ctype == xlrd.XL_CELL_DATE:
                value = _date(value, book.datemode)
            elif cell.ctype == xlrd.XL_CELL_BOOLEAN:
                value = bool(value)
            elif cell.ctype == xlrd.XL_CELL_ERROR:
                value = xlrd.error_text_from_code.get(value, "#ERROR")
            cells.append(printed(value, _pattern_of(book, cell.xf_index)))
            if cell.xf_index is not None and cell.xf_index not in looks:
                look = _look_of(book, cell.xf_index)
                looks[cell.xf_index] = look if look.reason is not None else None
        yield cells, [looks.get(cell.xf_index) for cell in sheet.row(number)]


def _date(value: float, mode: Any) -> Any:
    import xlrd

    try:
        parts = xlrd.xldate_as_tuple(value, mode)
    except (xlrd.XLDateError, ValueError, OverflowError):
        return value
    return dt.time(*parts[3:]) if parts[:3] == (0, 0, 0) else dt.datetime(*parts)  # noqa: DTZ001


def _marks_of(sheet: Any) -> SheetMarks:
    """Return the hidden rows and columns and merged cells that xlrd reports."""
    rows = {number + 1 for number, info in sheet.rowinfo_map.items() if info.hidden}
    columns = {number + 1 for number, info in sheet.colinfo_map.items() if info.hidden}
    marks = SheetMarks(rows, columns)
    for top, under, left, right in sheet.merged_cells:
        marks.add_merged(top + 1, under, left + 1, right)
    return marks


def _look_of(book: Any, index: int) -> SheetLook:
    """Return how a cell is shown, by the number of its style."""
    if not 0 <= index < len(book.xf_list):
        return SheetLook()
    style = book.xf_list[index]
    font = book.font_list[style.font_index]
    if font.struck_out:
        return SheetLook(HiddenReason.STRUCK)
    pattern = style.background.fill_pattern
    ground = {0: WHITE, 1: _colour(book, style.background.pattern_colour_index)}.get(pattern, "")
    return style_look(font.height / 20, _colour(book, font.colour_index), ground, _pattern_of(book, index))


def _pattern_of(book: Any, index: int | None) -> str:
    """Return the number format of a style by its number, "" if it is unknown."""
    if index is None or not 0 <= index < len(book.xf_list):
        return ""
    known = book.format_map.get(book.xf_list[index].format_key)
    return known.format_str if known else ""


def _colour(book: Any, index: int) -> str:
    colour = book.colour_map.get(index)
    return bytes(colour).hex() if colour else ""
