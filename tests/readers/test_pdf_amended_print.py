"""What amendments and copies print: struck words are no text, watermarks neither, columns keep their order."""

from __future__ import annotations

import io
from typing import Any

from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.pdfgen import canvas

from knowledge_mcp.model.document import BlockKind, Document, HiddenReason
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import SENTENCE, item_of

_FACE, _SIZE = "Times-Roman", 10.0


class _Paper:
    def __init__(self) -> None:
        self.buffer = io.BytesIO()
        self.canvas: Any = canvas.Canvas(self.buffer, pagesize=(595, 842), invariant=1)

    def line(self, x: float, y: float, text: str, font: str = _FACE) -> None:
        self.canvas.setFont(font, _SIZE)
        self.canvas.drawString(x, y, text)

    def rule(self, x: float, y: float, before: str, words: str, *, up: float) -> None:
        start = x + stringWidth(before, _FACE, _SIZE)
        self.canvas.line(start, y + up, start + stringWidth(words, _FACE, _SIZE), y + up)

    def watermark(self) -> None:
        self.canvas.saveState()
        self.canvas.translate(297, 421)
        self.canvas.rotate(55)
        self.canvas.setFont("Helvetica-Bold", 50)
        self.canvas.drawCentredString(0, 0, "UNCONTROLLED COPY")
        self.canvas.restoreState()

    def read(self) -> Document:
        self.canvas.showPage()
        self.canvas.save()
        return PdfReader(sandbox=InProcessSandbox()).read(item_of(self.buffer.getvalue()))


def test_words_that_a_line_strikes_out_are_left_out_and_counted() -> None:
    paper = _Paper()
    paper.line(72, 700, "The leak rate shall not exceed 50 ml 20 ml per hour.")
    paper.rule(72, 700, "The leak rate shall not exceed ", "50 ml", up=3)
    paper.rule(72, 700, "The leak rate shall not exceed 50 ml ", "20 ml", up=-1.5)

    document = paper.read()

    assert document.text == "The leak rate shall not exceed 20 ml per hour."
    assert document.hidden == ((HiddenReason.STRUCK.value, 4),)


def test_a_line_that_reaches_beyond_the_words_strikes_nothing_out() -> None:
    paper = _Paper()
    paper.line(100, 700, "Level 3 of the tank")
    paper.canvas.line(60, 703, 500, 703)

    document = paper.read()

    assert document.text == "Level 3 of the tank"
    assert document.hidden == ()


def test_a_watermark_over_tables_is_in_no_cell_and_no_text() -> None:
    paper = _Paper()
    for page in range(3):
        paper.watermark()
        for row in range(12):
            y = 600 - 24 * row
            for x, text in ((72, f"P-{page}{row}"), (200, f"{row} bar"), (330, "serves the line")):
                paper.line(x + 4, y + 8, text)
            for x in (72, 200, 330, 500):
                paper.canvas.line(x, y, x, y + 24)
            paper.canvas.line(72, y, 500, y)
            paper.canvas.line(72, y + 24, 500, y + 24)
        if page < 2:
            paper.canvas.showPage()

    document = paper.read()

    assert "UNCONTROLLED" not in document.text
    assert any(block.kind is BlockKind.TABLE for block in document.blocks)


def test_a_short_right_column_comes_after_the_left_one_with_its_heading() -> None:
    paper = _Paper()
    words = SENTENCE.split()
    for row in range(40):
        paper.line(60, 760 - 12 * row, f"left {row} " + " ".join(words[:9]))
    paper.line(320, 760, "2 Valves", "Times-Bold")
    for row in range(1, 5):
        paper.line(320, 760 - 12 * row, f"right {row} " + " ".join(words[:9]))

    text = paper.read().text

    assert text.index("left 39") < text.index("2 Valves") < text.index("right 1") < text.index("right 4")


def test_the_number_of_an_equation_stays_behind_it_in_a_column() -> None:
    paper = _Paper()
    words = " ".join(SENTENCE.split()[:7])
    for row in range(30):
        paper.line(60, 760 - 12 * row, words)
        if row != 10:
            paper.line(320, 760 - 12 * row, words)
    paper.line(360, 640, "Q = A × v", "Times-Italic")
    paper.line(520, 640, "(1)")

    assert "Q = A × v (1)" in " ".join(paper.read().text.split())


def test_a_table_over_both_columns_stands_between_what_is_above_and_below_it() -> None:
    paper = _Paper()
    words = " ".join(SENTENCE.split()[:9])
    for row in range(12):
        paper.line(60, 760 - 12 * row, f"a{row} {words}")
        paper.line(320, 760 - 12 * row, f"b{row} {words}")
        paper.line(60, 480 - 12 * row, f"c{row} {words}")
        paper.line(320, 480 - 12 * row, f"d{row} {words}")
    for row, cells in enumerate((("Pump", "Flow", "Use"), ("P-1", "3 l/s", "serves the line"))):
        y = 570 - 24 * row
        for x, text in zip((60, 220, 400), cells, strict=True):
            paper.line(x + 4, y + 8, text)
        for x in (60, 220, 400, 540):
            paper.canvas.line(x, y, x, y + 24)
        paper.canvas.line(60, y, 540, y)
        paper.canvas.line(60, y + 24, 540, y + 24)

    text = paper.read().text

    places = [text.index(each) for each in ("a0", "a11", "b0", "b11", "| Pump |", "c0", "c11", "d0", "d11")]
    assert places == sorted(places)
