"""Cells as their number format shows them, and the words that are drawn on a sheet."""

from __future__ import annotations

import io
import zipfile
from typing import Any

import pytest

from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from knowledge_mcp.readers.office.workbooks.formats import number_within, shown_number, shown_text
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of, workbook, zipped

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())


@pytest.mark.parametrize(
    ("value", "pattern", "shown"),
    [
        (7, '"REQ-"0000', "REQ-0007"),
        (5.25, '0.0" mm"', "5.25 mm"),
        (-4, '0" °C"', "-4 °C"),
        (3, "0\\ \\k\\g", "3 kg"),
        (1234.5, "#,##0.00 [$kg]", "1234.5 kg"),
        (3, "[$€-407] #,##0.00", "€ 3"),
        (-3, '"$"#,##0_);\\("$"#,##0\\)', "-$3"),
        (-2.5, '"€"\\ * #,##0.00_-;\\-"€"\\ * #,##0.00_-', "-€ 2.5"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "-"??_);_(@_)', "0"),
        (-3.5, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', "-$3.5"),
        (0, '_("$"* #,##0.00_);_("$"* \\(#,##0.00\\);_("$"* "-"??_);_(@_)', "$0"),
        (0, '"REQ-"000', "REQ-000"),
        (-1, '"REQ-"000', "-REQ-001"),
        (0.25, "0%", "25%"),
        (0.05, '0%" of the limit"', "5% of the limit"),
        (5, 'General" bar"', "5 bar"),
        (1, '"Yes";;"No"', "Yes"),
        (0, '"Yes";;"No"', "No"),
        (12000, '#,##0,"K"', "12000"),
        (45, "dd/mm/yyyy", "45"),
        (45, "General", "45"),
        (45, '0" mm" 0', "45 mm"),
        (2, "[Red]0;[Blue]-0", "2"),
    ],
)
def test_numbers_have_what_their_format_puts_around_them(value: float, pattern: str, shown: str) -> None:
    assert shown_number(value, pattern).rstrip() == shown


@pytest.mark.parametrize(
    ("value", "shown", "percent", "written"),
    [
        (7, "REQ-0007", False, "REQ-0007"),
        (5.25, "5.3 mm", False, "5.25 mm"),
        (-4, "-4,0 °C", False, "-4 °C"),
        (1234.567, "1.234,57 kg", False, "1234.567 kg"),
        (1234567, "1 234 567 €", False, "1234567 €"),
        (-3.2, "($3)", False, "-$3.2"),
        (0.0034, "0%", True, "0.34%"),
        (1.7, "CO2: 2", False, "CO2: 1.7"),
        (1, "Yes", False, "Yes"),
        (0, "-", False, "0"),
        (12000, "12K", False, "12000"),
        (123456, "1.23E+05", False, "123456"),
        (0.5, "1/2", False, "0.5"),
    ],
)
def test_numbers_have_what_stands_around_them_where_they_are_shown(
    value: float, shown: str, percent: bool, written: str
) -> None:
    assert number_within(value, shown, percent=percent) == written


def test_texts_have_what_their_format_puts_around_them() -> None:
    assert shown_text("12", '"Req. "@') == "Req. 12"
    assert shown_text("12", "_(@_)") == "12"
    assert shown_text("12", '0;0;0;"No. "@') == "No. 12"


def filled(made: Any) -> None:
    sheet = made.active
    sheet.append(["ID", "Requirement", "Limit"])
    for number in (1, 2):
        sheet.append([number, "The pump shall hold.", 1.5 * number])
        sheet.cell(number + 1, 1).number_format = '"REQ-"000'
        sheet.cell(number + 1, 3).number_format = '0.0" bar"'


def test_a_register_has_its_ids_and_units() -> None:
    text = READER.read(item_of(workbook(filled), "register.xlsx")).text
    assert "| REQ-001 | The pump shall hold. | 1.5 bar |\n| REQ-002 | The pump shall hold. | 3 bar |" in text


def test_words_of_shapes_on_a_sheet_are_read_but_for_hidden_ones() -> None:
    with zipfile.ZipFile(io.BytesIO(workbook(filled))) as archive:
        members: dict[str, bytes | str] = {name: archive.read(name) for name in archive.namelist()}

    def shape(words: str, hidden: str) -> str:
        return (
            f'<xdr:sp><xdr:nvSpPr><xdr:cNvPr id="1" name="T" hidden="{hidden}"/></xdr:nvSpPr><xdr:txBody><a:p><a:r>'
            f"<a:t>{words}</a:t></a:r></a:p><a:p><a:r><a:t>Second line.</a:t></a:r></a:p></xdr:txBody></xdr:sp>"
        )

    spaces = 'xmlns:xdr="http://schemas.openxmlformats.org/drawingml/2006/spreadsheetDrawing" '
    spaces += 'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main"'
    drawing = f"<xdr:wsDr {spaces}>{shape('Values shall be checked.', '0')}{shape('Unseen', '1')}</xdr:wsDr>"
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/drawing"
    links = '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    links += f'<Relationship Id="r1" Type="{kind}" Target="../drawings/drawing1.xml"/></Relationships>'
    members |= {"xl/worksheets/_rels/sheet1.xml.rels": links, "xl/drawings/drawing1.xml": drawing}
    text = READER.read(item_of(zipped(members), "register.xlsx")).text
    assert text.endswith("Values shall be checked.\nSecond line.")
    assert "Unseen" not in text


def test_a_workbook_of_the_strict_dialect_reads_like_another() -> None:
    usual = workbook(filled)

    def strictly(text: str) -> str:
        for kind in ("officeDocument", "spreadsheetml", "drawingml"):
            text = text.replace(f"openxmlformats.org/{kind}/2006/", f"oclc.org/ooxml/{kind}/").replace(
                f"http://schemas.oclc.org/ooxml/{kind}/", f"http://purl.oclc.org/ooxml/{kind}/"
            )
        return text

    with zipfile.ZipFile(io.BytesIO(usual)) as archive:
        members = {name: strictly(archive.read(name).decode()) for name in archive.namelist()}
    assert "purl" in members["xl/workbook.xml"]
    strict, plain = (READER.read(item_of(data, "register.xlsx")).text for data in (zipped(members), usual))
    assert strict == plain


_STEPS = (
    ["Id", "Step", "Expected", "Result"],
    ["1", "Open it", "It opens", "ok"],
    ["2", "Close it", "It closes", "ok"],
)


def _written(*rows: list[Any], column: int = 1) -> list[tuple[str, str, tuple[int, int] | None]]:
    def fill(made: Any) -> None:
        for number, row in enumerate(rows, 1):
            for place, value in enumerate(row, column):
                made.active.cell(number, place, value)

    document = READER.read(item_of(workbook(fill), "a.xlsx"))
    return [(each.kind.value, each.span.of(document.text), each.lines) for each in document.blocks[1:]]


@pytest.mark.parametrize("column", [1, 3])
def test_a_form_above_a_table_is_not_its_header(column: int) -> None:
    form = (["Test of the gate"], ["Tester:", "Roe", None, "Today"], ["Version", "1.2"])
    *lines, table = _written(*form, *_STEPS, column=column)
    assert lines == [
        ("paragraph", "Test of the gate", (1, 1)),
        ("paragraph", "Tester: Roe Today", (2, 2)),
        ("paragraph", "Version: 1.2", (3, 3)),
    ]
    assert table[1].startswith("| Id | Step | Expected | Result |\n| --- |")
    assert table[2] == (4, 6)


@pytest.mark.parametrize(
    "first",
    [
        ["Id", None, "Expected", "Result"],  # a column without a name
        [None, "What", None, "Then"],  # names of groups of columns
        ["Year", 2020, 2021],  # a row of figures
    ],
)
def test_rows_that_are_no_form_stay_in_the_table(first: list[Any]) -> None:
    [table] = _written(first, *_STEPS)
    assert table[0] == "table"
    assert table[2] == (1, 4)


def test_a_text_above_several_columns_names_their_group() -> None:
    def fill(made: Any) -> None:
        for row in (["Gate", "Test", None, None], *_STEPS):
            made.active.append(row)
        made.active.merge_cells("B1:D1")

    document = READER.read(item_of(workbook(fill), "a.xlsx"))
    assert document.blocks[1].lines == (1, 4)


def test_a_list_of_pairs_stays_one_table() -> None:
    [table] = _written(["Owner", "Roe"], ["State", "open"], ["Due", "May"])
    assert (table[0], table[2]) == ("table", (1, 3))
