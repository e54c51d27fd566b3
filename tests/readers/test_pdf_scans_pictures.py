"""How much of a page is pictures, against counted pixels; and how many strokes are drawn on it."""

from __future__ import annotations

import io
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from knowledge_mcp.model.extraction import Survey
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.scans import marks_of
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import changed, item_of

WIDTH, HEIGHT = 600, 800


def page_with(draw: Callable[[Any], None], **options: Any) -> bytes:
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pagesize=(WIDTH, HEIGHT), invariant=1)
    draw(sheet)
    sheet.showPage()
    sheet.save()
    return changed(buffer.getvalue(), options["change"]) if "change" in options else buffer.getvalue()


def picture(sheet: Any, x: float, y: float, across: float, along: float) -> None:
    from reportlab.lib.utils import ImageReader as Picture

    sheet.drawImage(Picture(Image.new("RGB", (16, 16), (255, 0, 255))), x, y, across, along)


def counted(data: bytes) -> float:
    """Count the magenta pixels of the rendered page: the pictures are all of this colour, and nothing else is."""
    import pypdfium2

    document: Any = pypdfium2.PdfDocument(data)
    image: Image.Image = document[0].render(scale=1.5).to_pil().convert("RGB")
    document.close()
    colours: Any = image.getcolors(1 << 24)
    pictured = sum(n for n, (red, green, blue) in colours if min(red, blue) > 200 and green < 128)
    return pictured / (image.width * image.height)


def half(sheet: Any) -> None:
    picture(sheet, 0, 0, WIDTH, HEIGHT / 2)


def overlapping(sheet: Any) -> None:
    picture(sheet, 100, 100, 300, 300)
    picture(sheet, 200, 200, 300, 300)


def hanging_over(sheet: Any) -> None:
    picture(sheet, -300, -200, 700, 600)


def tilted(sheet: Any) -> None:
    sheet.translate(300, 300)
    sheet.rotate(30)
    picture(sheet, -100, -100, 300, 250)


def in_forms(sheet: Any) -> None:
    sheet.beginForm("inner")
    picture(sheet, 0, 0, 100, 100)
    sheet.endForm()
    sheet.saveState()
    sheet.translate(50, 60)
    sheet.scale(3, 4)
    sheet.doForm("inner")
    sheet.restoreState()


def in_strips(sheet: Any) -> None:
    for row in range(40):
        picture(sheet, 0, row * 20, WIDTH, 20.5)


def nothing(sheet: Any) -> None:
    sheet.drawString(72, 700, "No picture here.")


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.parametrize("draw", [half, overlapping, hanging_over, tilted, in_forms, in_strips, nothing])
def test_the_image_ratio_is_that_of_counted_pixels(draw: Callable[[Any], None], tmp_path: Path) -> None:
    data = page_with(draw)
    file = tmp_path / "page.pdf"
    file.write_bytes(data)
    (marks,) = marks_of(str(file), [1])
    assert marks.image_ratio == pytest.approx(counted(data), abs=0.02)
    if draw is half:
        assert marks.image_ratio == pytest.approx(0.5, abs=0.005)


def test_a_page_turned_and_cropped_is_measured_as_it_is_shown(tmp_path: Path) -> None:
    def crop(document: Any) -> None:
        document.pages[0].CropBox = [0, 200, 600, 800]
        document.pages[0].Rotate = 90

    data = page_with(half, change=crop)
    file = tmp_path / "page.pdf"
    file.write_bytes(data)
    (marks,) = marks_of(str(file), [1])
    assert marks.image_ratio == pytest.approx(counted(data), abs=0.02)
    assert marks.image_ratio == pytest.approx(1 / 3, abs=0.01)


def drawing(sheet: Any) -> None:
    for number in range(400):
        turn = number * math.pi / 200
        sheet.line(300, 400, 300 + 280 * math.cos(turn), 400 + 280 * math.sin(turn))
    sheet.drawString(400, 40, "SITE PLAN 1:500  DRG NO 4471")


def table(sheet: Any) -> None:
    for row in range(30):
        for column in range(20):
            sheet.rect(40 + 25 * column, 40 + 20 * row, 25, 20)
    nothing(sheet)


def survey(draw: Callable[[Any], None]) -> Survey:
    return PdfReader(sandbox=InProcessSandbox()).survey(item_of(page_with(draw)))


def test_a_vector_drawing_is_distinguished_from_a_ruled_table() -> None:
    (drawn,) = survey(drawing).pages
    (ruled,) = survey(table).pages
    assert drawn.is_drawing
    assert drawn.image_ratio == 0.0
    assert ruled.paths >= 600
    assert not ruled.is_drawing


def test_a_drawing_keeps_the_text_of_its_title_block() -> None:
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(page_with(drawing)))
    assert "DRG NO 4471" in document.text


def test_a_survey_counts_the_characters_of_the_text_layer() -> None:
    (page,) = survey(nothing).pages
    assert page.characters == len("Nopicturehere.")
    assert (page.images, page.paths) == (0, 0)
