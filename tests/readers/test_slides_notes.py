"""Speaker notes: what stands beside their text is read with it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.readers.office_files import presentation
from tests.readers.test_office import path_of, read, tables


def _with_notes_table(made: Any, *, text: str) -> None:
    slide = made.slides.add_slide(made.slide_layouts[5])
    slide.shapes.title.text = "Loads"
    shape = slide.shapes.add_table(2, 2, 0, 0, 100, 100)
    for place, words in (((0, 0), "load"), ((0, 1), "value"), ((1, 0), "wind"), ((1, 1), "2 kN")):
        shape.table.cell(*place).text = words
    box = slide.shapes.add_textbox(0, 0, 100, 100)
    box.text_frame.text = "Ask the audience."
    page = slide.notes_slide
    if text:
        page.notes_text_frame.text = text
    else:
        page.notes_placeholder._element.getparent().remove(page.notes_placeholder._element)
    for moved in (shape, box):  # people paste them; python-pptx adds none to notes
        page.shapes._spTree.append(moved._element)


@pytest.mark.parametrize("text", ["Speak slowly.", ""])
def test_a_table_and_a_text_box_in_speaker_s_notes_are_read(text: str) -> None:
    document = read(presentation(lambda made: _with_notes_table(made, text=text)), "talk.pptx")
    assert tables(document) == ["| load | value |\n| --- | --- |\n| wind | 2 kN |"]
    for words in ("wind", "Ask the audience.", text or "wind"):
        assert path_of(document, words) == ["Loads", "Notes:"]
