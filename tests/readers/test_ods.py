"""OpenDocument spreadsheets answer as the same workbook of Excel does."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import pytest

from knowledge_mcp.model.document import Document, HiddenReason
from knowledge_mcp.model.errors import UnreadableDocumentError
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.readers.requirements.reader import RequirementReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.ods_files import both, spreadsheet
from tests.readers.office_files import item_of, odt

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())


def read(data: bytes) -> Document:
    return READER.read(item_of(data, "book.ods"))


def _register(made: Any) -> None:
    from openpyxl.cell.rich_text import CellRichText, TextBlock
    from openpyxl.cell.text import InlineFont
    from openpyxl.comments import Comment
    from openpyxl.styles import Font

    date = dt.datetime(2024, 3, 1)  # noqa: DTZ001 - as sheets have it
    made.properties.title = "Register of the pump"
    sheet = made.active
    sheet.title = "Limits"
    sheet["A1"] = "Limits of the pump"
    for row in (
        [],
        ["No.", "Flow", None, "Since", "Ready"],
        [None, "Rated", "Peak", None, None],
        [7, 1.2345, 120000, date, True],
        [8, -4, 0.253, date.replace(hour=12, minute=30), False],
        ["secret", 1, 2, 3, 4],
        ["old", "Pumps shall\nhold it.", "seen", dt.time(9, 5), "x"],
    ):
        sheet.append(row)
    for area in ("B3:C3", "A3:A4", "D3:D4", "E3:E4", "E5:E6"):
        sheet.merge_cells(area)
    for number in (5, 6):
        sheet.cell(number, 1).number_format = '"REQ-"0000'
        sheet.cell(number, 2).number_format = '0.0" mm"'
    sheet["C5"].number_format = "#,##0"
    sheet.row_dimensions[7].hidden = True
    sheet["A8"].font = Font(strike=True)
    sheet["C8"] = CellRichText("seen", TextBlock(InlineFont(strike=True), " not any more"))
    sheet["B5"].comment = Comment("Is this the peak?", "J. Doe")
    gone = made.create_sheet("Gone")
    gone.append(["nobody sees this"])
    gone.sheet_state = "hidden"


SHOWN = {"A5": "REQ-0007", "A6": "REQ-0008", "B5": "1.2 mm", "B6": "-4.0 mm", "C5": "120,000"}


def test_a_spreadsheet_is_read_as_the_same_workbook_of_excel() -> None:
    made, ours = both(_register, SHOWN)
    expected, found = READER.read(item_of(made, "book.xlsx")), read(ours)
    assert found.text == expected.text
    assert "| REQ-0007 | 1.2345 mm | 120000 | 2024-03-01 | TRUE |" in found.text
    assert [block.lines for block in found.blocks] == [block.lines for block in expected.blocks]
    assert [section.title for section in found.sections] == [section.title for section in expected.sections]
    assert (found.title, found.hidden) == (expected.title, expected.hidden)
    said, also = dict(found.metadata), dict(expected.metadata)
    assert said["comments"] == also["comments"] == "Limits B5, J. Doe, comment: Is this the peak?"
    assert said["sheets"] == "Limits"
    assert found.warnings == expected.warnings


def test_a_register_has_its_items_and_the_matrix_beside_them(tmp_path: Path) -> None:
    def fill(made: Any) -> None:
        made.active.append(["Key", "Description", "Verified by"])
        made.active.append(["A-1", "The pump shall start.", "T-1, T-2"])
        made.active.append(["A-2", "The pump shall stop.", None])
        made.active.row_dimensions[3].hidden = True

    reader = RequirementReader(sandbox=HERE)
    columns = {"id": "Key", "text": "Description"}
    made, ours = both(fill)
    expected = reader.read(item_of(made, "set.xlsx"), columns)
    assert reader.read(item_of(ours, "set.ods"), columns).items == expected.items
    assert [item.id for item in expected.items] == ["A-1"]


CELL = '<table:table-cell office:value-type="float" office:value="{}"{}>{}</table:table-cell>'


def table(*cells: str, beside: str = "", name: str = "One") -> str:
    row = f"<table:table-row>{''.join(cells)}</table:table-row>"
    return f'<table:table table:name="{name}">{beside}{row}</table:table>'


def text(words: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{words}</text:p></table:table-cell>'


def test_what_a_cell_does_not_show_is_counted() -> None:
    white = (
        '<style:style style:name="w" style:family="table-cell"><style:text-properties fo:color="#ffffff"/>'
        "</style:style>"
        '<style:style style:name="d" style:family="table-cell" style:parent-style-name="w">'
        '<style:table-cell-properties fo:background-color="#000080"/></style:style>'
    )
    cells = [
        CELL.format("12345", "", "<text:p/>"),
        CELL.format("678", ' table:style-name="w"', "<text:p>678</text:p>"),
        CELL.format("91", ' table:style-name="d"', "<text:p>91</text:p>"),
        '<table:covered-table-cell office:value-type="string"><text:p>below</text:p></table:covered-table-cell>',
        text("seen"),
    ]
    found = read(spreadsheet(table(*cells), styles=white))
    assert "| 91 |  | seen |" in found.text.replace("|  |  |", "|")
    assert dict(found.hidden) == {HiddenReason.NOT_DISPLAYED: 10, HiddenReason.COLOUR: 3}
    unsure = "<calcext:conditional-formats xmlns:calcext='urn:c'/>"
    assert "678" in read(spreadsheet(table(*cells, beside=unsure), styles=white)).text


def test_rows_and_cells_that_are_repeated_stand_as_often_and_blank_ones_end_a_table() -> None:
    cell = '<table:table-cell office:value-type="float" office:value="3" table:number-columns-repeated="2"/>'
    rows = (
        f"<table:table-header-rows><table:table-row>{text('a')}{text('b')}</table:table-row></table:table-header-rows>"
        f'<table:table-row-group><table:table-row table:number-rows-repeated="2">{cell}</table:table-row>'
        '</table:table-row-group><table:table-row table:number-rows-repeated="1000"><table:table-cell/>'
        "</table:table-row>"
        f"<table:table-row>{text('Notes')}</table:table-row>"
    )
    found = read(spreadsheet(f'<table:table table:name="One">{rows}</table:table>'))
    assert "| a | b |\n| --- | --- |\n| 3 | 3 |\n| 3 | 3 |\n\nNotes" in found.text
    assert [block.lines for block in found.blocks if block.lines] == [(1, 3), (1004, 1004)]


def test_a_formula_that_was_never_calculated_stands_for_its_value_and_shapes_say_their_words() -> None:
    formula = '<table:table-cell table:formula="of:=SUM([.A1:.B2];[$Other.$C$3])"/>'
    drawn = '<draw:custom-shape svg:y="900cm"><text:p>Seen on the sheet</text:p></draw:custom-shape>'
    shape = f"<table:shapes>{drawn}</table:shapes>"
    found = read(spreadsheet(table(text("total"), formula, beside=shape)))
    assert "=SUM(A1:B2;$Other.$C$3)" in found.text
    assert found.text.rstrip().endswith("Seen on the sheet")


def test_what_is_pictured_embedded_or_changed_is_reported() -> None:
    changes = (
        "<table:tracked-changes><table:deletion/><table:cell-content-change/><table:insertion"
        ' table:acceptance-state="accepted"/></table:tracked-changes>'
    )
    frame = "<table:shapes><draw:frame><draw:object/></draw:frame></table:shapes>"
    found = read(spreadsheet(changes + table(text("a"), beside=frame), further={"Pictures/1.png": "x"}))
    assert found.warnings == (
        "Tracked changes are not accepted yet (1 insertion, 2 deletions): the text was read as if they were.",
        "Images in the workbook are not read.",
        "Embedded objects, such as charts, are not read.",
    )


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (odt("<text:p>words</text:p>"), "another OpenDocument file"),
        (spreadsheet(table()), "no text"),
        (b"%PDF-1.7", "a PDF"),
        (spreadsheet(table(text("a")), further={"META-INF/manifest.xml": "<a encryption-data='1'/>"}), "password"),
        (spreadsheet(table(text("a")), further={"content.xml": "<office:document"}), "damaged"),
        (spreadsheet(table(text("a") * 20_000)), "more than 16384"),
    ],
)
def test_what_is_no_spreadsheet_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(UnreadableDocumentError, match=reason):
        read(data)
