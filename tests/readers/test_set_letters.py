"""How letters are set in office files: what is struck out is left out, raised and lowered digits read as such."""

from __future__ import annotations

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
