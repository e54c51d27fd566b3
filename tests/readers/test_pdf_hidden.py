"""Text of a PDF that nobody sees is left out and counted; what is printed stays, however it is coloured."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from typing import Any

import pypdfium2
import pytest

from tests.readers.pdf_files import read_pdf

Draw = Callable[[Any], None]


def _words(canvas: Any, text: str, x: float = 72, y: float = 600, size: float = 11, **how: Any) -> None:
    """Write a line with its baseline `y` points above the lower edge; `mode` and `colour` as PDF has them."""
    line = canvas.beginText(x, y)
    line.setFont("Helvetica", size)
    line.setFillColor(how.get("colour", (0, 0, 0)))
    line.setTextRenderMode(how.get("mode", 0))
    line.textLine(text)
    line.setTextRenderMode(0)
    canvas.drawText(line)


def made(draw: Draw, *, turned: int = 0) -> bytes:
    """Make a file of one page: a heading, what is drawn, and a last line."""
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, pagesize=(595, 842), invariant=1)
    _words(canvas, "1 Scope", y=760, size=14)
    draw(canvas)
    _words(canvas, "The last line is seen by all.", y=500)
    canvas.save()
    document: Any = pypdfium2.PdfDocument(buffer.getvalue())
    document[0].set_rotation(turned)
    written = io.BytesIO()
    document.save(written)
    document.close()
    return written.getvalue()


def _line(text: str = "Hidden words", **how: Any) -> Draw:
    return functools.partial(_words, text=text, **how)


def _white(canvas: Any) -> None:
    _words(canvas, "Hidden words", colour=(1, 1, 1))


def _pale_on_pale(canvas: Any) -> None:
    canvas.setFillColorRGB(0.9, 0.95, 1)
    canvas.rect(60, 580, 300, 50, stroke=0, fill=1)
    _words(canvas, "Hidden words", colour=(0.9, 0.95, 1))


def _transparent(canvas: Any) -> None:
    from reportlab.lib.colors import Color

    canvas.saveState()
    _words(canvas, "Hidden words", colour=Color(0, 0, 0, alpha=0))
    canvas.restoreState()


def _clipped(canvas: Any) -> None:
    canvas.saveState()
    path = canvas.beginPath()
    path.rect(300, 300, 10, 10)
    canvas.clipPath(path, stroke=0)
    _words(canvas, "Hidden words")
    canvas.restoreState()


@pytest.mark.parametrize(
    ("draw", "reason"),
    [
        (_line(mode=3), "drawn invisibly"),
        (_white, "in the colour of its background"),
        (_pale_on_pale, "in the colour of its background"),
        (_transparent, "transparent"),
        (_line(size=1), "too small to see"),
        (_line(y=900), "off the page"),
        (_line(x=-300), "off the page"),
        (_clipped, "clipped away"),
    ],
    ids=["mode 3", "white", "pale on pale", "alpha", "tiny", "above", "left", "clipped"],
)
@pytest.mark.parametrize("turned", [0, 90, 180])
def test_text_that_nobody_sees_is_left_out_and_counted(draw: Draw, reason: str, turned: int) -> None:
    document = read_pdf(made(draw, turned=turned))
    letters = "".join(document.text.split())
    assert "Hidden" not in letters
    assert "Thelastlineisseenbyall." in letters
    assert dict(document.hidden) == {reason: 11}
    assert document.warnings == (f"11 hidden characters were omitted: {reason} 11.",)


def _white_on_dark(canvas: Any) -> None:
    canvas.setFillColorRGB(0, 0, 0.4)
    canvas.rect(60, 580, 300, 50, stroke=0, fill=1)
    _words(canvas, "Printed words", colour=(1, 1, 1))


def _white_on_picture(canvas: Any) -> None:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    canvas.drawImage(ImageReader(Image.new("RGB", (60, 60), (30, 60, 30))), 60, 560, 300, 80)
    _words(canvas, "Printed words", colour=(1, 1, 1))


def _twice(canvas: Any) -> None:
    _words(canvas, "Printed words", colour=(1, 1, 1))
    _words(canvas, "Printed words")


def _shadow_without_ink(canvas: Any) -> None:
    _words(canvas, "Printed words")
    _words(canvas, "Printed words", mode=3)


def _within_its_clip(canvas: Any) -> None:
    canvas.saveState()
    path = canvas.beginPath()
    path.rect(60, 590, 300, 30)
    canvas.clipPath(path, stroke=0)
    _words(canvas, "Printed words")
    canvas.restoreState()


@pytest.mark.parametrize(
    "draw",
    [
        _white_on_dark,
        _white_on_picture,
        _twice,
        _shadow_without_ink,
        _within_its_clip,
        _line(text="Printed words", colour=(0.8, 0.8, 0.8)),
        _line(text="Printed words", size=4),
    ],
    ids=[
        "white on dark",
        "white on a picture",
        "white below black",
        "without ink over black",
        "within its clip",
        "grey",
        "four points",
    ],
)
@pytest.mark.parametrize("turned", [0, 90])
def test_text_that_is_printed_stays_however_it_is_coloured(draw: Draw, turned: int) -> None:
    document = read_pdf(made(draw, turned=turned))
    assert "".join(document.text.split()).count("Printedwords") == 1
    assert document.hidden in {(), (("in the colour of its background", 12),)}, "the white one of two"


def test_the_words_below_the_picture_of_a_page_stay() -> None:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    def scanned(canvas: Any) -> None:
        canvas.drawImage(ImageReader(Image.new("L", (620, 877), 245)), 0, 0, 595, 842)
        for number in range(40):
            words = f"Line {number} of a page that was scanned and recognised before."
            _words(canvas, words, y=740 - 5 * number, size=5, mode=3)

    document = read_pdf(made(scanned))
    assert "Line 7 of a page that was scanned" in document.text
    assert document.hidden == ()


def test_hidden_words_beside_printed_ones_take_nothing_with_them() -> None:
    def beside(canvas: Any) -> None:
        _words(canvas, "The pump shall", y=600)
        _words(canvas, "not", x=147, y=600, colour=(1, 1, 1))
        _words(canvas, "run at night.", x=167, y=600)

    document = read_pdf(made(beside))
    assert "The pump shall run at night." in " ".join(document.text.split())
    assert dict(document.hidden) == {"in the colour of its background": 3}


@pytest.mark.parametrize("how", [{"colour": (1, 1, 1)}, {"mode": 3}], ids=["white", "without ink"])
def test_hidden_words_over_printed_ones_are_left_out(how: dict[str, Any]) -> None:
    def over(canvas: Any) -> None:
        _words(canvas, "The pump shall run at night, and by day.")
        _words(canvas, "Disobey the rules of the house", y=601, **how)

    document = read_pdf(made(over))
    assert "Disobey" not in document.text
    assert "The pump shall" in " ".join(document.text.split())


def test_hidden_words_in_a_table_are_in_no_cell() -> None:
    def table(canvas: Any) -> None:
        for row, cells in enumerate(
            (("Pump", "Power", "Hours"), ("A", "4 kW", "8"), ("B", "6 kW", "9"), ("C", "7 kW", "7"))
        ):
            for column, cell in enumerate(cells):
                canvas.rect(72 + 120 * column, 680 - 24 * row, 120, 24)
                _words(canvas, cell, x=80 + 120 * column, y=688 - 24 * row)
        _words(canvas, "secret", x=120, y=664, colour=(1, 1, 1))

    document = read_pdf(made(table))
    assert "secret" not in document.text
    assert "4 kW" in document.text
    assert dict(document.hidden) == {"in the colour of its background": 6}


@pytest.mark.parametrize("state", ["off", "on"])
def test_a_layer_that_is_switched_off_is_left_out_and_one_that_is_on_stays(state: str) -> None:
    pikepdf = pytest.importorskip("pikepdf")

    def layered(canvas: Any) -> None:
        canvas.addLiteral("/OC /MC0 BDC")
        _words(canvas, "Layered words")
        canvas.addLiteral("EMC")

    with pikepdf.open(io.BytesIO(made(layered))) as file:
        layer = file.make_indirect(pikepdf.Dictionary(Type=pikepdf.Name.OCG, Name="layer"))
        file.pages[0].Resources.Properties = pikepdf.Dictionary(MC0=layer)
        default = pikepdf.Dictionary({f"/{state.upper()}": pikepdf.Array([layer])})
        file.Root.OCProperties = pikepdf.Dictionary(OCGs=pikepdf.Array([layer]), D=default)
        changed = io.BytesIO()
        file.save(changed)
    document = read_pdf(changed.getvalue())
    assert ("Layered" in document.text) == (state == "on")
    assert dict(document.hidden) == ({} if state == "on" else {"not displayed": 12})


def test_words_in_a_form_within_the_page_are_judged_too() -> None:
    def formed(canvas: Any) -> None:
        canvas.beginForm("inner")
        _words(canvas, "Hidden words", colour=(1, 1, 1))
        _words(canvas, "Printed words", y=640)
        canvas.endForm()
        canvas.translate(20, -10)
        canvas.doForm("inner")
        canvas.translate(-20, 10)

    document = read_pdf(made(formed))
    assert "Hidden" not in document.text
    assert "Printed words" in document.text
