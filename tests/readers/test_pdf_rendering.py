"""Pages painted for text recognition: grey, with so many dots per inch, and all that is shown on them."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from knowledge_mcp.readers.pdf.rendering import render
from tests.ocr.pages import LETTER, drawn, noisy

PAGE = noisy(drawn(LETTER[:3], width=903))


def page_of(draw: Callable[[Any], None], width: float, height: float) -> bytes:
    from reportlab.pdfgen import canvas

    buffer = io.BytesIO()
    sheet: Any = canvas.Canvas(buffer, pagesize=(width, height), invariant=1)
    draw(sheet)
    sheet.showPage()
    sheet.save()
    return buffer.getvalue()


def filling(picture: Image.Image, *, turn: int = 0, dpi: float = 300.0, mask: Any = None) -> bytes:
    """Fill a page with a picture that is turned against the clock as it is drawn."""
    from reportlab.lib.utils import ImageReader as Picture

    across, along = picture.width * 72 / dpi, picture.height * 72 / dpi
    width, height = (along, across) if turn % 180 else (across, along)

    def draw(sheet: Any) -> None:
        sheet.translate(width / 2, height / 2)
        sheet.rotate(turn)
        sheet.drawImage(Picture(picture), -across / 2, -along / 2, across, along, mask=mask)

    return page_of(draw, width, height)


def painted(data: bytes, folder: Path, *, dpi: int = 300) -> tuple[dict[str, Any], Image.Image]:
    path = folder / "page.pdf"
    path.write_bytes(data)
    described, png = render(str(path), pages=[1], dpi=dpi)
    assert isinstance(described, dict)
    assert isinstance(png, bytes)
    return described, Image.open(io.BytesIO(png))


def differ(one: Image.Image, other: Image.Image) -> int:
    """Return the largest difference of two shades at one place."""
    assert one.size == other.size
    return int(ImageChops.difference(one, other).getextrema()[1])  # pyright: ignore[reportArgumentType] - a grey image


def as_the_library_paints_it(data: bytes) -> Image.Image:
    import pypdfium2

    document: Any = pypdfium2.PdfDocument(data)
    document.init_forms()
    image: Image.Image = document[0].render(scale=300 / 72, grayscale=True).to_pil().copy()
    document.close()
    return image


@pytest.mark.requirement("document-store-api:FR-005")
@pytest.mark.parametrize("turn", [0, 90, 180, 270])
def test_a_scan_is_painted_with_300_dots_per_inch_as_it_lies(tmp_path: Path, turn: int) -> None:
    data = filling(PAGE, turn=turn)
    described, image = painted(data, tmp_path)
    assert described == {"page": 1, "dpi": 300.0, "blank": False}
    assert differ(image, as_the_library_paints_it(data)) <= 2


@pytest.mark.parametrize("stated", [150, 200, 600])
def test_a_scan_of_other_dots_is_painted_with_300(tmp_path: Path, stated: int) -> None:
    described, image = painted(filling(PAGE, dpi=stated), tmp_path)
    assert described["dpi"] == 300
    assert image.width == pytest.approx(PAGE.width * 300 / stated, abs=1)
    assert image.height == pytest.approx(PAGE.height * 300 / stated, abs=1)


def test_a_colour_scan_is_painted_in_its_shades_of_grey(tmp_path: Path) -> None:
    colours = Image.merge("RGB", (PAGE, ImageChops.invert(PAGE), Image.new("L", PAGE.size, 128)))
    data = filling(colours)
    _, image = painted(data, tmp_path)
    assert differ(image, as_the_library_paints_it(data)) <= 2


def test_a_picture_whose_letters_are_in_its_mask_is_not_taken_for_a_dark_page(tmp_path: Path) -> None:
    black = Image.merge("LA", (Image.new("L", PAGE.size, 0), ImageChops.invert(PAGE))).convert("RGBA")
    data = filling(black, mask="auto")
    _, image = painted(data, tmp_path)
    assert differ(image, as_the_library_paints_it(data)) <= 2
    assert image.getextrema()[1] > 200  # pyright: ignore[reportOperatorIssue] - a grey image


def test_a_stamp_over_a_scan_is_painted_on_it(tmp_path: Path) -> None:
    from reportlab.lib.utils import ImageReader as Picture

    across, along = PAGE.width * 0.24, PAGE.height * 0.24

    def draw(sheet: Any) -> None:
        sheet.drawImage(Picture(PAGE), 0, 0, across, along)
        sheet.setFillColorRGB(1, 0, 0)
        sheet.rect(10, 10, 24, 12, stroke=0, fill=1)

    _, image = painted(page_of(draw, across, along), tmp_path)
    stamped = image.crop((50, image.height - 80, 130, image.height - 50))
    assert stamped.getextrema() == (76, 76)  # red, in grey


def test_a_form_s_field_is_painted(tmp_path: Path) -> None:
    def draw(sheet: Any) -> None:
        sheet.acroForm.textfield(name="a", value="harbour", x=20, y=20, width=120, height=30, forceBorder=True)

    data = page_of(draw, 200, 100)
    _, image = painted(data, tmp_path)
    assert differ(image, as_the_library_paints_it(data)) <= 2
    assert image.getextrema()[0] < 60  # pyright: ignore[reportOperatorIssue] - a grey image
