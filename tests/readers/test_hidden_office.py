"""Text of office files that nobody sees: left out and counted, while what stands beside it stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.model.hidden import HiddenReason
from knowledge_mcp.readers.markdown import MarkdownReader
from knowledge_mcp.readers.office import OfficeReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.office_files import item_of, presentation

READER = OfficeReader(markdown=MarkdownReader(), sandbox=InProcessSandbox())
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

    font.color.rgb = RGBColor.from_string(rgb)


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
        (lambda font: _colour(font, "FFFFFF"), HiddenReason.COLOUR),
        (lambda font: _colour(font, "FDFEFF"), HiddenReason.COLOUR),
        (_theme, HiddenReason.COLOUR),
        (_transparent, HiddenReason.TRANSPARENT),
        (lambda font: font.fill.background(), HiddenReason.TRANSPARENT),
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
