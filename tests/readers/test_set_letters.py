"""How letters are set in office files: what is struck out is left out, raised and lowered digits read as such."""

from __future__ import annotations

import io
import re
import zipfile
from typing import Any

import pytest

from knowledge_mcp.model.document import Document, HiddenReason
from knowledge_mcp.readers.markdown.reader import MarkdownReader
from knowledge_mcp.readers.office.reader import OfficeReader
from tests.readers.in_process import HERE, InProcessSandbox
from tests.readers.office_files import item_of, odt, presentation, workbook

READER = OfficeReader(markdown=MarkdownReader(sandbox=HERE), sandbox=InProcessSandbox())
SECRET = "obey the old words"
LETTERS = len(SECRET.replace(" ", ""))


def read(data: bytes, name: str) -> Document:
    return READER.read(item_of(data, name))


def _box(made: Any, text: str) -> Any:
    box = made.slides.add_slide(made.slide_layouts[6]).shapes.add_textbox(914_400, 914_400, 2_743_200, 914_400)
    box.text_frame.text = text
    return box


def _struck_slide(made: Any) -> None:
    run = _box(made, "The limit is 5 bar").text_frame.paragraphs[0].add_run()
    run.text = SECRET
    run.font._element.set("strike", "sngStrike")


def _struck_cell(made: Any) -> None:
    from openpyxl.styles import Font

    made.active["A1"], made.active["B3"] = "item", SECRET
    made.active["B3"].font = Font(strike=True)


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (presentation(_struck_slide), "talk.pptx"),
        (workbook(_struck_cell), "prices.xlsx"),
        (
            odt(
                f'<text:p>The limit is <text:span text:style-name="S">{SECRET}</text:span>5 bar</text:p>',
                styles='<style:style style:name="S" style:family="text"><style:text-properties'
                ' style:text-line-through-style="solid"/></style:style>',
            ),
            "notes.odt",
        ),
    ],
)
def test_what_is_struck_out_is_left_out_and_counted(data: bytes, name: str) -> None:
    document = read(data, name)
    assert "obey" not in document.text
    assert (HiddenReason.STRUCK.value, LETTERS) in document.hidden


def _shared(data: bytes, *strings: str) -> bytes:
    """Write a workbook's cells of text as Excel does: by their places among strings, which may have several fonts."""
    names = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
    kind = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/sharedStrings"
    written = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as given, zipfile.ZipFile(written, "w") as archive:
        for name in given.namelist():
            text = given.read(name).decode()
            text = re.sub(r't="inlineStr"([^>]*)><is><t>(\d)</t></is>', r't="s"\1><v>\2</v>', text)
            related = f'<Relationship Id="rShared" Type="{kind}" Target="sharedStrings.xml"/></Relationships>'
            if name == "xl/_rels/workbook.xml.rels":
                text = text.replace("</Relationships>", related)
            if name == "[Content_Types].xml":
                part = "application/vnd.openxmlformats-officedocument.spreadsheetml.sharedStrings+xml"
                text = text.replace(
                    "</Types>", f'<Override PartName="/xl/sharedStrings.xml" ContentType="{part}"/></Types>'
                )
            archive.writestr(name, text)
        items = "".join(f"<si>{each}</si>" for each in strings)
        archive.writestr("xl/sharedStrings.xml", f"<sst {names}>{items}</sst>")
    return written.getvalue()


def test_what_is_struck_out_within_a_cell_is_left_out_and_what_is_not_within_a_struck_cell_stays() -> None:
    from openpyxl.styles import Font

    def fill(made: Any) -> None:
        for row, cells in enumerate((("0", "1"), ("2", "3"), ("4", "5")), 1):
            made.active[f"A{row}"], made.active[f"B{row}"] = cells
        made.active["B3"].font = Font(strike=True)

    struck, plain = "<r><rPr><strike/></rPr><t>24 V </t></r>", "<r><rPr><u/></rPr><t>28 V</t></r>"
    gone = "<r><t>at night</t></r>"  # in the font of the cell
    strings = ("<t>Name</t>", "<t>Limit</t>", "<t>Supply</t>", struck + plain, "<t>Pump</t>", gone + plain)
    document = read(_shared(workbook(fill), *strings), "limits.xlsx")
    assert "| Supply | 28 V |\n| Pump | 28 V |" in document.text
    assert document.hidden == ((HiddenReason.STRUCK.value, 10),)


def test_raised_and_lowered_digits_of_slides_and_open_documents_read_as_such() -> None:
    def fill(made: Any) -> None:
        frame = _box(made, "leakage 10").text_frame
        for text, baseline in (("-3", "30000"), (" kg of H", ""), ("2", "-25000"), ("O", "")):
            run = frame.paragraphs[0].add_run()
            run.text = text
            if baseline:
                run.font._element.set("baseline", baseline)

    styles = "".join(
        f'<style:style style:name="{name}" style:family="text"><style:text-properties'
        f' style:text-position="{position}"/></style:style>'
        for name, position in (("U", "super 58%"), ("D", "-33% 58%"))
    )
    body = (
        '<text:p>leakage 10<text:span text:style-name="U">-3</text:span> kg of'
        ' H<text:span text:style-name="D">2</text:span>O</text:p>'
    )
    assert "leakage 10⁻³ kg of H₂O" in read(presentation(fill), "talk.pptx").text
    assert "leakage 10⁻³ kg of H₂O" in read(odt(body, styles=styles), "notes.odt").text
