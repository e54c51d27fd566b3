"""In the child: workbooks (.xlsx, .xls) to sections and tables, sheet by sheet and row by row.

Ours and not MarkItDown's, which reads them through pandas: there an empty cell becomes `NaN`, a title row `Unnamed: 3`,
a year beside an empty cell `2020.0`, a formula that was never calculated nothing at all, and every sheet stands in
memory as a whole. Here values are written as the sheet shows them, and a formula without a value as the formula.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
import zipfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from knowledge_mcp.readers.containers import OLE, core_properties, corrupted, magic_of, ole_refusal, open_archive
from knowledge_mcp.readers.pieces import Piece, facts, heading, messages
from knowledge_mcp.readers.regions import regions
from knowledge_mcp.support.sandbox_worker import Refusal

__all__ = ["workbook"]

_WANTED = "an Excel workbook"
_WORKBOOKS = ("xl/workbook.xml",)
_MOST_SHEETS = 1000
_FORMULA = re.compile(rb"<f[\s>/]")
_MIDNIGHT = dt.time(0, 0)


def workbook(path: str, *, check: bool) -> Iterator[dict[str, Any]]:
    """Yield a workbook's messages, whichever of the two formats its bytes are in.

    Raises:
        Refusal: it is no workbook, locked, damaged, empty or too large.
    """
    if magic_of(path).startswith(OLE):
        yield from _old(path, check=check)
        return
    with open_archive(path, _WANTED, needs=_WORKBOOKS) as archive:
        formulas = _has_formulas(archive)
        yield from _new(path, archive, formulas=formulas, check=check)


# ---- .xlsx ----------------------------------------------------------------------------------------------------------


def _new(path: str, archive: zipfile.ZipFile, *, formulas: bool, check: bool) -> Iterator[dict[str, Any]]:
    import warnings

    import openpyxl

    warnings.simplefilter("ignore")  # of styles and extensions that concern nobody here
    try:
        # as streams: a name would have to have one of the right extensions
        with Path(path).open("rb") as one, Path(path).open("rb") as other:
            book: Any = openpyxl.load_workbook(one, read_only=True, data_only=True)
            written: Any = openpyxl.load_workbook(other, read_only=True) if formulas and not check else None
            if check:
                yield {"pages": None}
                return
            yield from messages(_new_pieces(archive, book, written))
    except (KeyError, ValueError, TypeError, AttributeError, IndexError, SyntaxError) as error:
        raise corrupted(_WANTED, error) from error


def _new_pieces(archive: zipfile.ZipFile, book: Any, written: Any) -> Iterator[Piece]:
    properties = core_properties(archive)
    _bound(len(book.sheetnames))
    told = [*_told_of_parts(archive)]
    hidden: list[str] = []
    for sheet in book.worksheets:
        if sheet.sheet_state != "visible":
            hidden.append(sheet.title)
        sheet.reset_dimensions()
        rows = _new_rows(sheet, written[sheet.title] if written is not None else None)
        yield from _sheet(sheet.title, rows)
    yield facts(
        title=properties.pop("title", ""),
        metadata=properties | {"sheets": ", ".join(book.sheetnames)[:2000]},
        warnings=[*told, *_hidden(hidden)],
    )


def _new_rows(sheet: Any, formulas: Any) -> Iterator[list[str]]:
    if formulas is None:
        for row in sheet.iter_rows():
            yield [_shown(cell.value, cell) for cell in row]
        return
    formulas.reset_dimensions()
    for row, other in itertools.zip_longest(sheet.iter_rows(), formulas.iter_rows(), fillvalue=()):
        cells: list[str] = []
        for cell, formula in itertools.zip_longest(row, other):
            value = cell.value if cell is not None else None
            if value is None and formula is not None:
                value = getattr(formula.value, "text", formula.value)
            cells.append(_shown(value, cell))
        yield cells


def _has_formulas(archive: zipfile.ZipFile) -> bool:
    """Tell whether any sheet holds a formula: then its text is read too, for where no value was ever calculated."""
    for name in archive.namelist():
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            with archive.open(name) as stream:
                tail = b""
                while block := stream.read(1 << 20):
                    if _FORMULA.search(tail + block):
                        return True
                    tail = block[-4:]
    return False


def _told_of_parts(archive: zipfile.ZipFile) -> Iterator[str]:
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
    import io

    import xlrd
    from xlrd.biffh import XLRDError

    try:
        # sheets are parsed one by one; the log of odd records is nobody's reading
        book: Any = xlrd.open_workbook(path, on_demand=True, logfile=io.StringIO())
        if check:
            yield {"pages": None}
            return
        yield from messages(_old_pieces(book))
    except XLRDError as error:
        raise _old_refusal(path, error) from error
    except (ValueError, IndexError, KeyError, AssertionError, TypeError, AttributeError, OverflowError) as error:
        raise corrupted(_WANTED, error) from error
    except Exception as error:
        # struct.error and compdoc's own error are no children of anything above
        if type(error).__name__ in {"error", "CompDocError"}:
            raise corrupted(_WANTED, error) from error
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
        return ole_refusal(path, _WANTED)
    return corrupted(_WANTED, error)


def _old_pieces(book: Any) -> Iterator[Piece]:
    _bound(book.nsheets)
    hidden: list[str] = []
    for index in range(book.nsheets):
        sheet = book.sheet_by_index(index)
        if sheet.visibility:
            hidden.append(sheet.name)
        yield from _sheet(sheet.name, _old_rows(book, sheet))
        book.unload_sheet(index)
    metadata = {"author": book.user_name} if book.user_name else {}
    sheets = {"sheets": ", ".join(book.sheet_names())[:2000]}
    yield facts(metadata=metadata | sheets, warnings=_hidden(hidden))


def _old_rows(book: Any, sheet: Any) -> Iterator[list[str]]:
    import xlrd

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
            cells.append(_shown(value, None))
        yield cells


def _old_date(value: float, mode: Any) -> Any:
    import xlrd

    try:
        parts = xlrd.xldate_as_tuple(value, mode)
    except (xlrd.XLDateError, ValueError, OverflowError):
        return value
    return dt.time(*parts[3:]) if parts[:3] == (0, 0, 0) else dt.datetime(*parts)  # noqa: DTZ001


# ---- both -----------------------------------------------------------------------------------------------------------


def _sheet(title: str, rows: Iterable[Sequence[str]]) -> Iterator[Piece]:
    """Write a sheet: its name, then its tables and lines of text; an empty one leaves no trace."""
    found = regions(rows)
    first = next(found, None)
    if first is None:
        return
    yield heading(title, 1, plain=True)
    yield first
    yield from found


def _shown(value: object, cell: Any) -> str:
    """Write a cell's value about as the sheet shows it."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int):
        return _percent(value, cell) or str(value)
    if isinstance(value, float):
        return _percent(value, cell) or f"{value:.15g}"
    if isinstance(value, dt.datetime):
        if value.time() == _MIDNIGHT:
            return value.date().isoformat()
        return value.isoformat(" ", "seconds")
    return str(value)


def _percent(value: float, cell: Any) -> str:
    pattern = str(getattr(cell, "number_format", "") or "")
    return f"{value * 100:.12g}%" if "%" in pattern and '"' not in pattern else ""


def _hidden(names: Sequence[str]) -> list[str]:
    return [f"These sheets are hidden in the workbook, and included: {', '.join(names)[:500]}."] if names else []


def _bound(count: int) -> None:
    if count > _MOST_SHEETS:
        raise Refusal("too_large", f"The workbook has {count} sheets, more than {_MOST_SHEETS}.")
