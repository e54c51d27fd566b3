"""Tables of typewriter print, whose columns only blanks separate, as in older military standards and in RFCs."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from knowledge_mcp.model.document import BlockKind, Document
from tests.readers.pdf_files import HEIGHT, WIDTH, Sheet, read_pdf, sheet

_TEXT = (
    "5.1  Limits.  The equipment shall be tested at the limits of the table.",
    "Samples shall be conditioned before each test.  The results  shall  be",
    "recorded in the report.  Each  of  them  shall  be  signed  by  those",
    "who  took  part,  and  kept  for  three  years  after  the  last  test.",
)
_LIMITS = (
    ("Parameter", "Symbol", "Min", "Max", "Unit"),
    ("Supply voltage", "VCC", "4.5", "5.5", "V"),
    ("Input voltage, high", "VIH", "2.0", "VCC", "V"),
    ("Input voltage, low", "VIL", "-0.5", "0.8", "V"),
    ("Temperature in use", "TA", "-55", "125", "C"),
)
_CLASSES = (
    ("Class", "Description", "Method"),
    ("A", "Airborne, inhabited, of a fighter", "501"),
    ("B", "Airborne, uninhabited, of a transport aircraft", "502"),
    ("C", "Ground, mobile", "503"),
)


def _typed(*lines: str) -> Sheet:
    page = sheet()
    for line in lines:
        page.line(line, font="Courier", step=12)
    return page


def _set(rows: Sequence[Sequence[str]], widths: Sequence[int], *, rule: bool = False, apart: bool = False) -> list[str]:
    """Set rows in columns of some widths; wide cells wrap at them."""
    found: list[str] = []
    for number, row in enumerate(rows):
        cells = [_wrapped(cell, width - 2) for cell, width in zip(row, widths, strict=True)]
        for at in range(max(map(len, cells))):
            parts = (
                (cell[at] if at < len(cell) else "").ljust(width) for cell, width in zip(cells, widths, strict=True)
            )
            found.append("".join(parts).rstrip())
        if rule and number == 0:
            found.append("".join(("-" * (width - 2)).ljust(width) for width in widths).rstrip())
        found += [""] * apart
    return found


def _wrapped(cell: str, width: int) -> list[str]:
    lines = [""]
    for word in cell.split():
        if len(f"{lines[-1]} {word}".strip()) > width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _rows(document: Document) -> list[list[str]]:
    tables = [
        document.text[block.span.start : block.span.end] for block in document.blocks if block.kind is BlockKind.TABLE
    ]
    lines = [line for table in tables for line in table.splitlines() if not line.startswith("| ---")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.parametrize("rule", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_rows_of_a_typed_table_are_rows(rule: bool, apart: bool) -> None:
    table = _set(_LIMITS, (24, 9, 8, 8, 6), rule=rule, apart=apart)
    document = read_pdf(_typed(*_TEXT, "", "TABLE I.  Limits of voltage and temperature", "", *table, "", *_TEXT))
    assert _rows(document) == [list(row) for row in _LIMITS]
    assert "The results shall be recorded in the report." in document.text


def test_cells_of_a_typed_table_may_wrap() -> None:
    table = _set(_CLASSES, (10, 26, 8), rule=True)
    document = read_pdf(_typed(*_TEXT, "", *table, "", *_TEXT))
    assert _rows(document) == [list(row) for row in _CLASSES]


def test_two_columns_are_a_table_if_dashes_separate_their_names_from_the_rows() -> None:
    rows = [(one, other) for one, other, _ in _CLASSES]
    assert _rows(read_pdf(_typed(*_TEXT, "", *_set(rows, (12, 50), rule=True), "", *_TEXT))) == [
        list(row) for row in rows
    ]
    assert not _rows(read_pdf(_typed(*_TEXT, "", *_set(rows, (12, 50)), "", *_TEXT)))


def test_typed_text_and_lists_and_contents_are_no_tables() -> None:
    contents = [
        f"{number}.    {title.ljust(50)}{page}"
        for number, title, page in ((1, "SCOPE", 1), (2, "TESTS", 4), (3, "DATA", 9))
    ]
    items = [f"({letter})    the name of the part  and  its  number;" for letter in "abcd"]
    document = read_pdf(_typed(*_TEXT, "", *items, "", *_TEXT * 2, "", *contents))
    assert not _rows(document)


def test_program_text_in_a_document_that_is_not_typed_is_no_table() -> None:
    page = sheet()
    page.paragraph(*["The program reads a value from the port and writes it to the memory of the unit."] * 30)
    for row in _set(_LIMITS, (24, 9, 8, 8, 6)):
        page.line(row, font="Courier", step=12)
    assert not [block for block in read_pdf(page).blocks if block.kind is BlockKind.TABLE]


def test_pages_with_more_rows_than_print_has_are_not_searched_for_tables() -> None:
    page, height = sheet(), 6_000
    page.canvas.setPageSize((WIDTH, height))
    page.canvas.translate(0, height - HEIGHT)
    for number in range(301):
        page.line(f"pump{number}     12{number}     running", font="Courier", step=18)
    document = read_pdf(page)
    assert not _rows(document)
    assert "pump300" in document.text
