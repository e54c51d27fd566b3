"""Text of office files that nobody sees: left out and counted, while what stands beside it stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.model.document import Document, HiddenReason
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of, odt, presentation, workbook
from tests.readers.ole_files import xls

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())
SECRET = "obey the hidden words"
LETTERS = len(SECRET.replace(" ", ""))
INCH = 914_400


def read(data: bytes, name: str) -> Document:
    document = READER.read(item_of(data, name))
    assert bool(document.hidden) == any("hidden character" in warning for warning in document.warnings)
    return document


# ---- presentations --------------------------------------------------------------------------------------------------


def _slide(made: Any) -> Any:
    return made.slides.add_slide(made.slide_layouts[6])


def _box(shapes: Any, text: str, *, left: float = 1, top: float = 1) -> Any:
    box = shapes.add_textbox(int(left * INCH), int(top * INCH), 3 * INCH, INCH)
    box.text_frame.text = text
    return box


def _colour(font: Any, rgb: str) -> None:
    from pptx.dml.color import RGBColor

    font.color.rgb = RGBColor(*bytes.fromhex(rgb))


def _coloured(rgb: str) -> Callable[[Any], None]:
    return lambda font: _colour(font, rgb)


def _unfilled(font: Any) -> None:
    font.fill.background()


def _theme(font: Any) -> None:
    from pptx.enum.dml import MSO_THEME_COLOR

    font.color.theme_color = MSO_THEME_COLOR.BACKGROUND_1


def _transparent(font: Any) -> None:
    from lxml import etree

    _colour(font, "FF0000")
    name = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
    etree.SubElement(font._rPr.find(f"{name}solidFill")[0], f"{name}alpha", val="0")


def _size(points: float) -> Callable[[Any], None]:
    from pptx.util import Pt

    return lambda font: setattr(font, "size", Pt(points))


@pytest.mark.parametrize(
    ("hide", "reason"),
    [
        (_size(1), HiddenReason.TOO_SMALL),
        (_coloured("FFFFFF"), HiddenReason.COLOUR),
        (_coloured("FDFEFF"), HiddenReason.COLOUR),
        (_theme, HiddenReason.COLOUR),
        (_transparent, HiddenReason.TRANSPARENT),
        (_unfilled, HiddenReason.TRANSPARENT),
    ],
)
def test_hidden_words_of_a_slide_are_left_out_and_their_neighbours_stay(
    hide: Callable[[Any], None], reason: HiddenReason
) -> None:
    def fill(made: Any) -> None:
        paragraph = _box(_slide(made).shapes, "Before ").text_frame.paragraphs[0]
        run = paragraph.add_run()
        run.text = SECRET
        hide(run.font)
        paragraph.add_run().text = "after."

    document = read(presentation(fill), "talk.pptx")
    assert document.text.split("\n\n")[1:] == ["Before after."]
    assert document.hidden == ((reason.value, LETTERS),)


def _away(made: Any) -> None:
    _box(_slide(made).shapes, SECRET, left=-3.5)


def _below(made: Any) -> None:
    _box(_slide(made).shapes, SECRET, top=8)


def _grouped(made: Any) -> None:
    _box(_slide(made).shapes.add_group_shape().shapes, SECRET, left=20)


def _switched_off(made: Any) -> None:
    _box(_slide(made).shapes, SECRET)._element.nvSpPr.cNvPr.set("hidden", "1")


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        (_away, HiddenReason.OFF_PAGE),
        (_below, HiddenReason.OFF_PAGE),
        (_grouped, HiddenReason.OFF_PAGE),
        (_switched_off, HiddenReason.NOT_DISPLAYED),
    ],
)
def test_shapes_that_a_slide_does_not_show_are_left_out(place: Callable[[Any], None], reason: HiddenReason) -> None:
    def fill(made: Any) -> None:
        _box(_slide(made).shapes, "Seen.")
        place(made)
        _box(made.slides[-1].shapes, "Seen too.", top=3)

    document = read(presentation(fill), "talk.pptx")
    assert [page.number for page in document.pages] == [1, 2]
    assert "Seen." in document.text
    assert "Seen too." in document.text
    assert "obey" not in document.text
    assert document.hidden == ((reason.value, LETTERS),)


def test_words_in_the_colour_of_a_slide_s_own_ground_or_of_their_box_are_left_out() -> None:
    def fill(made: Any) -> None:
        from pptx.dml.color import RGBColor

        slide = _slide(made)
        slide.background.fill.solid()
        slide.background.fill.fore_color.rgb = RGBColor(0, 0, 0x80)
        for text, colour in (("Seen.", "FFFFFF"), (SECRET, "000080")):
            _colour(_box(slide.shapes, text).text_frame.paragraphs[0].runs[0].font, colour)
        filled = _box(slide.shapes, SECRET, top=4)
        filled.fill.solid()
        filled.fill.fore_color.rgb = RGBColor(0xFF, 0, 0)
        _colour(filled.text_frame.paragraphs[0].runs[0].font, "FF0000")

    document = read(presentation(fill), "talk.pptx")
    assert document.text.split("\n\n")[1:] == ["Seen."]
    assert document.hidden == ((HiddenReason.COLOUR.value, 2 * LETTERS),)


def _on_a_dark_shape(made: Any) -> Any:
    slide = _slide(made)
    slide.shapes.add_shape(1, INCH // 2, INCH // 2, 5 * INCH, 2 * INCH)
    return _box(slide.shapes, "Seen.")


def _in_a_dark_shape(made: Any) -> Any:
    shape = _slide(made).shapes.add_shape(1, 0, 0, INCH, INCH)
    shape.text_frame.text = "Seen."
    return shape


def _in_a_dark_box(made: Any) -> Any:
    from pptx.dml.color import RGBColor

    box = _box(_slide(made).shapes, "Seen.")
    box.fill.solid()
    box.fill.fore_color.rgb = RGBColor(0, 0, 0)
    return box


def _over_a_dark_master(made: Any) -> Any:
    made.slide_master.background.fill.solid()
    from pptx.dml.color import RGBColor

    made.slide_master.background.fill.fore_color.rgb = RGBColor(0, 0, 0)
    return _box(_slide(made).shapes, "Seen.")


def _partly_outside(made: Any) -> Any:
    from pptx.dml.color import RGBColor

    box = _box(_slide(made).shapes, "Seen.", left=-2)
    box.fill.solid()
    box.fill.fore_color.rgb = RGBColor(0, 0, 0)
    return box


@pytest.mark.parametrize(
    "place", [_on_a_dark_shape, _in_a_dark_shape, _in_a_dark_box, _over_a_dark_master, _partly_outside]
)
def test_white_words_on_something_dark_stay(place: Callable[[Any], Any]) -> None:
    def fill(made: Any) -> None:
        _colour(place(made).text_frame.paragraphs[0].runs[0].font, "FFFFFF")

    document = read(presentation(fill), "talk.pptx")
    assert "Seen." in document.text
    assert document.hidden == ()


def test_white_words_in_a_table_s_header_and_six_points_stay() -> None:
    def fill(made: Any) -> None:
        slide = _slide(made)
        grid = slide.shapes.add_table(2, 1, INCH, INCH, 3 * INCH, INCH).table
        for row, text in enumerate(("Seen", "Also")):
            grid.cell(row, 0).text = text
        _colour(grid.cell(0, 0).text_frame.paragraphs[0].runs[0].font, "FFFFFF")
        _size(6)(_box(slide.shapes, "Small.", top=5).text_frame.paragraphs[0].runs[0].font)

    document = read(presentation(fill), "talk.pptx")
    assert all(word in document.text for word in ("Seen", "Also", "Small."))
    assert document.hidden == ()


# ---- workbooks ------------------------------------------------------------------------------------------------------


def _grid(made: Any) -> Any:
    sheet = made.active
    for row in (["item", "price", "note"], ["tea", 2.5, "hot"], ["milk", 3, "cold"]):
        sheet.append(row)
    return sheet


def _tiny(sheet: Any) -> None:
    from openpyxl.styles import Font

    sheet["C2"].font = Font(size=1)


def _white(sheet: Any) -> None:
    from openpyxl.styles import Font

    sheet["C2"].font = Font(color="FFFFFFFF")


def _white_by_theme(sheet: Any) -> None:
    from openpyxl.styles import Font
    from openpyxl.styles.colors import Color

    sheet["C2"].font = Font(color=Color(theme=0))


def _red_on_red(sheet: Any) -> None:
    from openpyxl.styles import Font, PatternFill

    sheet["C2"].font = Font(color="FFFF0000")
    sheet["C2"].fill = PatternFill("solid", fgColor="FFFF0000")


def _no_format(sheet: Any) -> None:
    sheet["C2"].number_format = ";;;"


@pytest.mark.parametrize(
    ("hide", "reason"),
    [
        (_tiny, HiddenReason.TOO_SMALL),
        (_white, HiddenReason.COLOUR),
        (_white_by_theme, HiddenReason.COLOUR),
        (_red_on_red, HiddenReason.COLOUR),
        (_no_format, HiddenReason.NOT_DISPLAYED),
    ],
)
def test_a_cell_that_its_look_hides_is_empty_and_counted(hide: Callable[[Any], None], reason: HiddenReason) -> None:
    def fill(made: Any) -> None:
        sheet = _grid(made)
        sheet["C2"] = SECRET
        hide(sheet)

    document = read(workbook(fill), "prices.xlsx")
    assert "| tea | 2.5 |" in document.text
    assert "| milk | 3 | cold |" in document.text
    assert "obey" not in document.text
    assert document.hidden == ((reason.value, LETTERS),)


def test_white_words_on_a_gradient_are_read() -> None:
    def fill(made: Any) -> None:
        from openpyxl.styles import GradientFill

        sheet = _grid(made)
        _white(sheet)
        sheet["C2"].fill = GradientFill(stop=("FF000080", "FF4040FF"))

    document = read(workbook(fill), "prices.xlsx")
    assert "| tea | 2.5 | hot |" in document.text
    assert not document.hidden


def test_hidden_rows_and_columns_are_left_out_and_reported_with_the_sheet() -> None:
    def fill(made: Any) -> None:
        sheet = _grid(made)
        sheet["A2"], sheet["B3"] = SECRET, SECRET
        sheet.row_dimensions[2].hidden = True
        sheet.column_dimensions["B"].hidden = True

    document = read(workbook(fill), "prices.xlsx")
    assert "| item | note |\n| --- | --- |\n| milk | cold |" in document.text
    assert "obey" not in document.text
    assert document.hidden == ((HiddenReason.NOT_DISPLAYED.value, 2 * LETTERS + len("2.5hotprice")),)
    assert "Omitted from the sheet Sheet: 1 hidden row and 1 hidden column." in document.warnings


def test_hidden_rows_are_left_out_where_formulas_were_never_calculated() -> None:
    def fill(made: Any) -> None:
        sheet = _grid(made)
        sheet["A2"], sheet["B3"] = SECRET, "=1+1"
        sheet.row_dimensions[2].hidden = True

    document = read(workbook(fill), "prices.xlsx")
    assert "| milk | =1+1 | cold |" in document.text
    assert "obey" not in document.text


@pytest.mark.parametrize("state", ["hidden", "veryHidden"])
def test_hidden_sheets_are_left_out(state: str) -> None:
    def fill(made: Any) -> None:
        _grid(made)
        sheet = made.create_sheet("Backstage")
        sheet["A1"] = SECRET
        sheet.sheet_state = state

    document = read(workbook(fill), "prices.xlsx")
    assert [section.title for section in document.sections] == ["Sheet"]
    assert document.hidden == ((HiddenReason.NOT_DISPLAYED.value, LETTERS),)
    assert any("Backstage" in warning for warning in document.warnings)


def test_hidden_rows_and_columns_of_an_old_workbook_are_left_out() -> None:
    rows = [["item", SECRET, "note"], [SECRET, 2.5, "hot"], ["milk", 3.0, "cold"]]
    document = read(xls({"Prices": rows}, row=1, column=1), "old.xls")
    assert "| item | note |\n| --- | --- |\n| milk | cold |" in document.text
    assert document.hidden == ((HiddenReason.NOT_DISPLAYED.value, 2 * LETTERS + len("2.5hot3")),)


def _on_a_dark_cell(sheet: Any) -> None:
    from openpyxl.styles import Font, PatternFill

    sheet["A1"].font = Font(color="FFFFFFFF")
    sheet["A1"].fill = PatternFill("solid", fgColor="FF000080")


def _in_a_styled_table(sheet: Any) -> None:
    from openpyxl.styles import Font
    from openpyxl.worksheet.table import Table, TableStyleInfo

    sheet["A1"].font = Font(color="FFFFFFFF")
    table = Table(displayName="Prices", ref="A1:C3")
    table.tableStyleInfo = TableStyleInfo(name="TableStyleMedium2", showRowStripes=True)
    sheet.add_table(table)


def _by_a_condition(sheet: Any) -> None:
    from openpyxl.formatting import rule as rules
    from openpyxl.styles import Font, PatternFill

    sheet["A1"].font = Font(color="FFFFFFFF")
    library: Any = rules
    rule = library.CellIsRule(operator="equal", formula=['"item"'], fill=PatternFill(bgColor="FF000000"))
    sheet.conditional_formatting.add("A1:A3", rule)


def _small_but_seen(sheet: Any) -> None:
    from openpyxl.styles import Font

    sheet["A1"].font = Font(size=6, color="FF808080")
    sheet["B2"].number_format = "0.00;;;"
    sheet.row_dimensions[2].height = 5


@pytest.mark.parametrize("look", [_on_a_dark_cell, _in_a_styled_table, _by_a_condition, _small_but_seen])
def test_cells_that_are_seen_or_may_be_seen_stay(look: Callable[[Any], None]) -> None:
    document = read(workbook(lambda made: look(_grid(made))), "prices.xlsx")
    assert "| item | price | note |" in document.text
    assert "| tea | 2.5 | hot |" in document.text
    assert document.hidden == ()


# ---- OpenDocument texts ---------------------------------------------------------------------------------------------


def _text_style(name: str, look: str, *, family: str = "text", parent: str = "", more: str = "") -> str:
    inherits = f'style:parent-style-name="{parent}"' if parent else ""
    return (
        f'<style:style style:name="{name}" style:family="{family}" {inherits}>{more}<style:text-properties {look}/>'
        "</style:style>"
    )


_SPAN = f'<text:p>Before <text:span text:style-name="X">{SECRET} </text:span>after.</text:p>'
_GREY = '<style:paragraph-properties fo:background-color="#808080"/>'


@pytest.mark.parametrize(
    ("body", "styles", "reason"),
    [
        (_SPAN, _text_style("X", 'text:display="none"'), HiddenReason.NOT_DISPLAYED),
        (_SPAN, _text_style("Y", 'text:display="none"') + _text_style("X", "", parent="Y"), HiddenReason.NOT_DISPLAYED),
        (_SPAN, _text_style("X", 'fo:font-size="1pt"'), HiddenReason.TOO_SMALL),
        (_SPAN, _text_style("X", 'fo:font-size="0.02cm"'), HiddenReason.TOO_SMALL),
        (_SPAN, _text_style("X", 'fo:color="#ffffff"'), HiddenReason.COLOUR),
        (_SPAN, _text_style("X", 'fo:color="#ffff00" fo:background-color="#ffff00"'), HiddenReason.COLOUR),
        (
            _SPAN.replace("<text:p>", '<text:p text:style-name="P">'),
            _text_style("P", "", family="paragraph", more=_GREY) + _text_style("X", 'fo:color="#808080"'),
            HiddenReason.COLOUR,
        ),
        (
            f'<text:p>Before after.</text:p><text:p text:style-name="P">{SECRET}</text:p>',
            _text_style("P", 'text:display="none"', family="paragraph"),
            HiddenReason.NOT_DISPLAYED,
        ),
        (
            f'<text:p>Before <text:hidden-text text:is-hidden="true">{SECRET}</text:hidden-text>after.</text:p>',
            "",
            HiddenReason.NOT_DISPLAYED,
        ),
        (
            f'<text:p>Before after.</text:p><text:p><text:hidden-paragraph text:is-hidden="true"/>{SECRET}</text:p>',
            "",
            HiddenReason.NOT_DISPLAYED,
        ),
        (
            f'<text:p>Before after.</text:p><text:section text:display="none"><text:p>{SECRET}</text:p></text:section>',
            "",
            HiddenReason.NOT_DISPLAYED,
        ),
        (
            '<text:p>Before after.<draw:frame text:anchor-type="page" svg:x="-9cm" svg:width="2cm"><draw:text-box>'
            f"<text:p>{SECRET}</text:p></draw:text-box></draw:frame></text:p>",
            "",
            HiddenReason.OFF_PAGE,
        ),
    ],
)
def test_hidden_text_of_an_opendocument_file_is_left_out_and_counted(
    body: str, styles: str, reason: HiddenReason
) -> None:
    document = read(odt(body, styles=styles), "notes.odt")
    assert document.text == "Before after."
    assert document.hidden == ((reason.value, LETTERS),)


def test_hidden_rows_cells_headings_and_notes_are_counted() -> None:
    style = _text_style("X", 'text:display="none"')
    hidden = f'<text:span text:style-name="X">{SECRET}</text:span>'
    cells = "".join(f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in ("Seen", hidden))
    body = (
        f'<text:h text:outline-level="1">Scope{hidden}</text:h><table:table><table:table-row>{cells}</table:table-row>'
        f'<table:table-row table:visibility="collapse">{cells}</table:table-row></table:table>'
        f"<text:p>Cited<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Noted{hidden}"
        "</text:p></text:note-body></text:note></text:p>"
    )
    document = read(odt(body, styles=style), "notes.odt")
    assert [section.title for section in document.sections] == ["Scope"]
    assert "Noted" in document.text
    assert "obey" not in document.text
    assert document.hidden == ((HiddenReason.NOT_DISPLAYED.value, 4 * LETTERS + len("Seen")),)


_WHITE = _text_style("X", 'fo:color="#ffffff"')
_SEEN = '<text:p text:style-name="P"><text:span text:style-name="X">Seen.</text:span></text:p>'


def _celled(inner: str) -> str:
    return (
        f"<table:table><table:table-row><table:table-cell table:style-name='C'>{inner}</table:table-cell>"
        "</table:table-row></table:table>"
    )


@pytest.mark.parametrize(
    ("body", "styles"),
    [
        (_SEEN, _WHITE + _text_style("P", "", family="paragraph", more=_GREY)),
        (_SEEN, _text_style("X", 'fo:color="#ffffff" fo:background-color="#000000"')),
        (
            _celled(_SEEN),
            _WHITE + '<style:style style:name="C" style:family="table-cell"><style:table-cell-properties '
            'fo:background-color="#000080"/></style:style>',
        ),
        (
            _SEEN,
            _WHITE + '<style:page-layout><style:page-layout-properties fo:background-color="#000000"/>'
            "</style:page-layout>",
        ),
        (_SEEN, _WHITE + '<style:style><style:graphic-properties style:run-through="background"/></style:style>'),
        (f"<text:p><draw:frame><draw:text-box>{_SEEN}</draw:text-box></draw:frame></text:p>", _WHITE),
        (_SEEN, _text_style("X", 'fo:font-size="6pt"')),
        (_SEEN.replace("Seen", "Seen \u6771"), _text_style("X", 'fo:font-size="1pt" style:font-size-asian="10pt"')),
        (_SEEN, _text_style("P", 'text:display="none"', family="paragraph") + _text_style("X", 'text:display="true"')),
        ('<text:p>Seen.<text:hidden-paragraph text:is-hidden="false"/></text:p>', ""),
    ],
)  # fmt: skip
def test_text_of_an_opendocument_file_that_is_seen_or_may_be_seen_stays(body: str, styles: str) -> None:
    document = read(odt(body, styles=styles), "notes.odt")
    assert "Seen" in document.text
    assert document.hidden == ()
