"""Boxes: every word of a block lies inside them, however a page lies; PDFium's own text positions are the judge."""

from __future__ import annotations

import functools
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageOps

from knowledge_mcp.model.document import BlockKind, Box, Document
from knowledge_mcp.model.extraction import OcrPage, OcrWord
from knowledge_mcp.ocr.pictures import turn as turned_image
from knowledge_mcp.readers.pdf.job import read as read_job
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.pdf.recognised.layout import load_recognised
from knowledge_mcp.readers.shared.layout import packed, unpacked
from tests.ocr.engines import ScriptedEngine, page_of
from tests.ocr.pages import LETTER, drawn, scan
from tests.readers.in_process import InProcessSandbox
from tests.readers.page_words import LAYOUTS, PageWord, holds, layout, page_words
from tests.readers.pdf_files import item_of


@functools.cache
def read(data: bytes) -> Document:
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(data))


def unique_words(text: str, words: Sequence[PageWord]) -> list[PageWord]:
    """Find the made-up words of a text on the pages; each stands on them once."""
    spelled = set(re.findall(r"[a-z]{7}", text.lower()))
    return [word for word in words if word.text.lower() in spelled]


@pytest.mark.requirement("A-REQ-DATA-001")
@pytest.mark.parametrize("name", LAYOUTS)
def test_every_word_of_a_block_lies_inside_its_boxes(name: str) -> None:
    data = layout(name)
    words = page_words(data)
    document = read(data)
    seen = 0
    for block in document.blocks:
        inside = unique_words(block.span.of(document.text), words)
        seen += len(inside)
        assert {box.page for box in block.boxes} == set(block.pages)
        outside = [word for word in inside if not any(holds(box, word.box) for box in block.boxes)]
        assert outside == []
    share = 0.7 if "side" in name else 0.99  # words that lie on their side are read with blanks inside
    assert seen > share * sum(bool(re.fullmatch(r"[A-Za-z]{7}", word.text)) for word in words)


@pytest.mark.parametrize("name", ["plain", "split", "columns", "turned right", "cropped"])
def test_a_box_holds_no_word_of_another_block(name: str) -> None:
    data = layout(name)
    words = page_words(data)
    document = read(data)
    for block in document.blocks:
        own = {word.text for word in unique_words(block.span.of(document.text), words)}
        strangers = [
            word
            for word in words
            if re.fullmatch(r"[A-Za-z]{7}", word.text)
            and word.text not in own
            and any(holds(box, word.box, -1.5) for box in block.boxes)
        ]
        assert strangers == []


def test_a_paragraph_has_a_box_on_each_page_that_it_stands_on() -> None:
    split = [block for block in read(layout("split")).blocks if len(block.pages) == 2]
    assert len(split) == 3
    for block in split:
        first, second = block.boxes
        assert first.top > 600
        assert second.bottom < 200


def test_a_paragraph_that_continues_in_the_next_column_has_two_boxes() -> None:
    across = [block for block in read(layout("columns")).blocks if len(block.boxes) == 2]
    assert len(across) == 2
    for block in across:
        left, right = block.boxes
        assert left.right < right.left
        assert left.top > right.top


def test_a_table_is_one_box() -> None:
    (table,) = [block for block in read(layout("table")).blocks if block.kind is BlockKind.TABLE]
    (box,) = table.boxes
    assert box.right - box.left > 300
    assert box.bottom - box.top > 190


def test_boxes_leave_the_child_as_a_few_whole_numbers(tmp_path: Path) -> None:
    path = tmp_path / "plain.pdf"
    path.write_bytes(layout("plain"))
    sent = [piece["boxes"] for message in read_job(str(path)) for piece in message.get("items", ())]
    assert len(sent) > 20
    assert all(isinstance(number, int) for numbers in sent for number in numbers)
    assert len(json.dumps(sent)) < 35 * len(sent)


def test_rounding_never_makes_a_box_smaller() -> None:
    (box,) = unpacked(packed(3, 10.04, -0.01, 20.06, 30.0))
    assert box == Box(3, 10.0, -0.1, 20.1, 30.0)


def test_formats_without_pages_have_no_boxes() -> None:
    from tests.readers.test_markdown_structure import read as read_markdown

    assert all(block.boxes == () for block in read_markdown("# One\n\nSome words.\n").blocks)


# ---- recognised pages -----------------------------------------------------------------------------------------------


def test_recognised_lines_stand_where_their_words_do() -> None:
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=ScriptedEngine([page_of(*LETTER, size=(2480, 3508))]))
    document = reader.read(item_of(scan(drawn(LETTER, width=620, size=20))))
    (block,) = document.blocks
    (box,) = block.boxes
    lines = page_of(*LETTER).words
    scale = 72 / 300
    assert holds(box, Box(1, *(side * scale for side in _around(lines))))
    assert box.right - box.left < 1.1 * (_around(lines)[2] - _around(lines)[0]) * scale


def _around(words: tuple[OcrWord, ...]) -> tuple[int, int, int, int]:
    return (
        min(word.box[0] for word in words),
        min(word.box[1] for word in words),
        max(word.box[2] for word in words),
        max(word.box[3] for word in words),
    )


@pytest.mark.parametrize(
    ("skew", "quarter"), [(0.0, 0), (0.0, 90), (0.0, 180), (0.0, 270), (3.0, 0), (-2.4, 90), (5.0, 180), (-6.0, 270)]
)
def test_words_of_a_page_that_was_turned_are_found_where_the_page_shows_them(
    tmp_path: Path, skew: float, quarter: int
) -> None:
    shown = (400, 150, 520, 190)
    image = Image.new("L", (900, 1300), 255)
    ImageDraw.Draw(image).rectangle(shown, fill=0)
    for degrees in (skew, float(quarter)):
        image.save(tmp_path / "page.png")
        (png,) = turned_image(str(tmp_path / "page.png"), degrees=degrees)
        image = Image.open(io.BytesIO(png))
    box = ImageOps.invert(image).point([0] * 128 + [255] * 128).getbbox()
    assert box is not None
    word = ["bridge", 95.0, *box, 0, 0, 0.0]
    record = {"page": 1, "reason": "no text layer", "scale": 0.5, "size": image.size, "words": [word]}
    (tmp_path / "words").write_text(json.dumps({**record, "turned": [quarter, skew]}) + "\n")
    (line,) = load_recognised(str(tmp_path / "words"))[1].layout.lines
    assert line.shown is not None
    left, top, right, bottom = line.shown
    slack = 1.0 if skew else 0.51
    assert left <= shown[0] / 2 + slack
    assert top <= shown[1] / 2 + slack
    assert right >= shown[2] / 2 - slack
    assert bottom >= shown[3] / 2 - slack
    assert right - left < 60 + 2 * slack + 13 * abs(skew)


def test_an_abbreviation_is_spelt_as_the_document_spells_it_most_often(tmp_path: Path) -> None:
    texts = [
        "CSCI",
        "CSCl-wide",
        "CSCI,",
        "CSCls",
        "CSCIs",
        "CSCIs",
        "lEEE",
        "(IEEE)",
        "IEEE",
        "HCl",
        "NaCl",
        "IOl",
        "IOI",
    ]
    words = [[text, 95.0, 300, 100 + 60 * at, 500, 130 + 60 * at, at, 0, 0.0] for at, text in enumerate(texts)]
    record = {"page": 1, "reason": "no text layer", "scale": 0.5, "size": (900, 1300), "words": words}
    (tmp_path / "words").write_text(json.dumps(record) + "\n")
    lines = load_recognised(str(tmp_path / "words"))[1].layout.lines
    expected = ["CSCI", "CSCI-wide", "CSCI,", "CSCIs", "CSCIs", "CSCIs", "IEEE", "(IEEE)", "IEEE", "HCl", "NaCl"]
    assert [line.text for line in lines] == [*expected, "IOl", "IOI"]  # one against one is no evidence


def test_a_scan_that_stands_on_its_head_is_marked_where_it_is_shown() -> None:
    upright = page_of(*LETTER[:2], size=(2480, 3508))
    page = OcrPage(upright.words, upright.text, upright.confidence, 180, 0.0, 2480, 3508)
    reader = PdfReader(sandbox=InProcessSandbox(), ocr=ScriptedEngine([page]))
    document = reader.read(item_of(scan(drawn(LETTER[:2], width=620, size=20))))
    (box,) = document.blocks[0].boxes
    left, top, right, bottom = _around(upright.words)
    scale = 72 / 300
    assert holds(
        box, Box(1, (2480 - right) * scale, (3508 - bottom) * scale, (2480 - left) * scale, (3508 - top) * scale)
    )


def test_files_read_before_there_were_boxes_are_read_again() -> None:
    number = re.match(r"pdf-(\d+)", PdfReader(sandbox=InProcessSandbox()).version)
    assert number is not None
    assert int(number[1]) > 1
