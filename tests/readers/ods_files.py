"""Workbooks of openpyxl written as OpenDocument spreadsheets, in the form in which LibreOffice writes them."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast
from xml.sax.saxutils import escape, quoteattr

from tests.readers.office_files import odt, workbook

_STRUCK = '<text:span text:style-name="struck">{}</text:span>'
_STYLES = (
    '<style:style style:name="hidden-sheet" style:family="table"><style:table-properties table:display="false"/>'
    '</style:style><style:style style:name="struck" style:family="text"><style:text-properties'
    ' style:text-line-through-style="solid"/></style:style>'
)


def spreadsheet(body: str, *, styles: str = "", meta: str = "", further: Mapping[str, str] | None = None) -> bytes:
    """Write a spreadsheet of the tables in its body."""
    return odt(body, kind="spreadsheet", styles=_STYLES + styles, meta=meta, further=further)


def both(fill: Callable[[Any], None], shown: Mapping[str, str] | None = None) -> tuple[bytes, bytes]:
    """Write one workbook as .xlsx and as .ods.

    Args:
        fill: fills it.
        shown: by a cell's place ("A2"), what the sheet shows where that is not the value itself.
    """
    import openpyxl

    made = workbook(fill)
    book = openpyxl.load_workbook(io.BytesIO(made), rich_text=True)
    styles: list[str] = []
    body = "".join(_table(sheet, shown or {}, styles) for sheet in book.worksheets)
    title = f"<dc:title>{escape(book.properties.title)}</dc:title>" if book.properties.title else ""
    return made, spreadsheet(body, styles="".join(styles), meta=title)


def _table(sheet: Any, shown: Mapping[str, str], styles: list[str]) -> str:
    spans = {merged.coord.partition(":")[0]: merged for merged in sheet.merged_cells.ranges}
    covered = {cell for merged in spans.values() for place in merged.rows for cell in place} - {
        (merged.min_row, merged.min_col) for merged in spans.values()
    }
    columns = "".join(
        f"<table:table-column{_collapsed(sheet.column_dimensions[cell.column_letter].hidden)}/>"
        for cell in next(sheet.iter_rows(max_row=1))
    )
    hidden = "" if sheet.sheet_state == "visible" else ' table:style-name="hidden-sheet"'
    rows = "".join(
        f"<table:table-row{_collapsed(sheet.row_dimensions[number].hidden)}>"
        + "".join(_cells(row, spans, covered, shown, styles))
        + '<table:table-cell table:number-columns-repeated="16000"/></table:table-row>'
        for number, row in enumerate(sheet.iter_rows(), 1)
    )
    end = '<table:table-row table:number-rows-repeated="1048000"><table:table-cell/></table:table-row>'
    return f"<table:table table:name={quoteattr(sheet.title)}{hidden}>{columns}{rows}{end}</table:table>"


def _collapsed(is_hidden: bool) -> str:
    return ' table:visibility="collapse"' if is_hidden else ""


def _cells(
    row: Any, spans: Mapping[str, Any], covered: set[Any], shown: Mapping[str, str], styles: list[str]
) -> Iterator[str]:
    for cell in row:
        if (cell.row, cell.column) in covered:
            yield "<table:covered-table-cell/>"
            continue
        said = _value(cell.value)
        if (span := spans.get(cell.coordinate)) is not None:
            said += f' table:number-columns-spanned="{span.max_col - span.min_col + 1}"'
            said += f' table:number-rows-spanned="{span.max_row - span.min_row + 1}"'
        if cell.font is not None and cell.font.strike:
            styles.append(
                f'<style:style style:name="s{cell.coordinate}" style:family="table-cell"><style:text-properties'
                ' style:text-line-through-style="solid" style:text-line-through-type="single"/></style:style>'
            )
            said += f' table:style-name="s{cell.coordinate}"'
        note = (
            ""
            if cell.comment is None
            else (
                f"<office:annotation><dc:creator>{cell.comment.author}</dc:creator>"
                f"<text:p>{escape(cell.comment.text)}</text:p></office:annotation>"
            )
        )
        words = shown.get(cell.coordinate)
        lines = [escape(words)] if words is not None else [*_lines(cell.value)]
        written = "".join(f"<text:p>{line}</text:p>" for line in lines)
        yield f"<table:table-cell{said}>{note}{written}</table:table-cell>"


def _lines(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        runs = ((str(run), getattr(run, "font", None)) for run in cast("list[Any]", value))
        yield "".join(_STRUCK.format(escape(text)) if font and font.strike else escape(text) for text, font in runs)
    elif value is not None:
        yield from map(escape, str(value).split("\n"))


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return f' office:value-type="boolean" office:boolean-value="{str(value).lower()}"'
    if isinstance(value, (int, float)):
        return f' office:value-type="float" office:value="{value}"'
    if isinstance(value, dt.datetime):
        return f' office:value-type="date" office:date-value="{value.isoformat()}"'
    if isinstance(value, dt.time):
        return f' office:value-type="time" office:time-value="PT{value:%HH%MM%SS}"'
    return ' office:value-type="string"' if value is not None else ""
