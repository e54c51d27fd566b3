"""Redlines of standards and comments on pages: only inserted words are text, and comments are reported."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pikepdf
import pytest
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.pdfmetrics import stringWidth
from reportlab.platypus import Paragraph, SimpleDocTemplate, Table, TableStyle

from knowledge_mcp.model.document import Document, HiddenReason
from knowledge_mcp.readers.pdf import annotations
from knowledge_mcp.readers.pdf.flow import struck
from tests.readers.pdf_files import LEFT, Sheet, read_pdf, sheet

_TEXT = ParagraphStyle("text", fontName="Times-Roman", fontSize=10.5, leading=13, spaceAfter=6)
_LONG = "and it shall keep running for the whole time that the supply holds, whatever the operator does at the gate"


def _printed(*paragraphs: str, rows: Any = ()) -> Document:
    buffer = io.BytesIO()
    flow: list[Any] = [Paragraph(words, _TEXT) for words in paragraphs]
    if rows:
        cells = [[Paragraph(words, _TEXT) for words in row] for row in rows]
        flow.append(Table(cells, [150, 150, 100], style=TableStyle([("GRID", (0, 0), (-1, -1), 0.5, "black")])))
    SimpleDocTemplate(buffer, leftMargin=72, rightMargin=72, invariant=1).build(flow)
    return read_pdf(buffer.getvalue())


def _went(words: str, form: str = "") -> str:
    return f'<font color="red"><strike {form}>{words}</strike></font>'


def _came(words: str) -> str:
    return f'<font color="blue"><u>{words}</u></font>'


@pytest.mark.parametrize("form", ["", 'offset="0.18*F"', 'offset="0.36*F"', 'width="1.2"', 'kind="double" gap="1.2"'])
def test_a_struck_number_goes_with_its_comma(form: str) -> None:
    document = _printed(f"The gap shall be at least {_went('3,0', form)} {_came('5,5')} mm, measured as in 5.2.")
    assert document.text == "The gap shall be at least 5,5 mm, measured as in 5.2."
    assert document.hidden == ((HiddenReason.STRUCK.value, 3),)


def test_struck_words_over_lines_leave_one_paragraph() -> None:
    document = _printed(f"The pump shall start within 3 s of the command {_went(_LONG * 3)} {_came('and stop')}.")
    assert document.text == "The pump shall start within 3 s of the command and stop."


def test_words_behind_struck_ones_at_the_edge_of_a_line_begin_no_paragraph() -> None:
    other = f'<font name="Helvetica-Oblique">{_went("with soap and with oil of all kinds")}</font>'
    words = "The cover of the unit and all its seams and hinges shall be cleaned with water at noon,"
    document = _printed(f"{words} {other} and be dried in the sun for as long as it takes to be dry.")
    assert document.text == f"{words} and be dried in the sun for as long as it takes to be dry."


def test_a_sentence_that_was_added_and_is_underlined_in_colour_is_no_heading() -> None:
    document = _printed(
        '<font name="Helvetica-Bold" size="12">4.1 Supply</font>',
        "The supply voltage shall be 24 V at all terminals of the unit.",
        _came("The fuse shall be red."),
        "The unit shall be dry and be kept so by its user at all times.",
        _came("Marking of the unit"),
        "The marking shall be legible.",
    )
    assert [each.title for each in document.sections] == ["Supply"]


def test_struck_sentences_rows_and_cells_are_gone() -> None:
    rows = (
        ("Parameter", "Limit", "Unit"),
        ("Voltage", f"{_went('24')} {_came('28')}", "V"),
        (_went("Ripple"), _went("0,1"), _went("V")),
        ("Noise", "3", "dB"),
    )
    document = _printed(_went("The unit shall be tested yearly."), "It shall be marked.", rows=rows)
    table = "| Parameter | Limit | Unit |\n| --- | --- | --- |\n| Voltage | 28 | V |\n| Noise | 3 | dB |"
    assert document.text == f"It shall be marked.\n\n{table}"


def test_a_fraction_a_line_to_fill_in_and_a_marker_s_band_strike_nothing_out() -> None:
    paper = sheet()
    paper.at(LEFT, 100, "Q = ")
    paper.at(100, 94, "a + m")
    paper.at(106, 108, "n")
    paper.canvas.line(99, 842 - 97, 127, 842 - 97)
    paper.at(LEFT, 140, "Name of the witness")
    paper.canvas.line(170, 842 - 141, 300, 842 - 141)
    paper.canvas.setStrokeColorRGB(1, 1, 0)
    paper.canvas.setLineWidth(9)
    paper.canvas.line(LEFT, 842 - 177, LEFT + stringWidth("Marked words", "Helvetica", 10), 842 - 177)
    paper.at(LEFT, 180, "Marked words")
    document = read_pdf(paper.done())
    assert {"a", "m", "n", "witness", "Marked", "words"} <= set(document.text.split())
    assert document.hidden == ()


_LINES = (
    "The voltage shall be 24 V at the gate.",
    "The unit shall be tested yearly by a firm.",
    "The pump shall start within 5 s of it.",
)


def _commented(annotate: Callable[[Callable[..., Any]], None]) -> Document:
    """Read a page of three lines; `annotate` is given what puts an annotation on words of a line."""
    paper: Sheet = sheet()
    for line in _LINES:
        paper.line(line, step=20)
    with pikepdf.open(io.BytesIO(paper.done())) as pdf:
        found = pdf.pages[0]["/Annots"] = pdf.make_indirect(pikepdf.Array())

        def add(kind: str, row: int, words: str, **entries: Any) -> Any:
            start = LEFT + stringWidth(_LINES[row][: _LINES[row].find(words)], "Helvetica", 10)
            end, foot = start + stringWidth(words, "Helvetica", 10), 842 - (90 + 20 * row)
            quad = [start, foot + 8, end, foot + 8, start, foot - 2, end, foot - 2]
            entry = pikepdf.Dictionary(
                Type=pikepdf.Name.Annot, Subtype=pikepdf.Name(f"/{kind}"), Rect=[start, foot - 2, end, foot + 8], F=4,
                QuadPoints=quad, **entries,
            )  # fmt: skip
            if not words:
                del entry.QuadPoints
            found.append(pdf.make_indirect(entry))
            return found[-1]

        annotate(add)
        written = io.BytesIO()
        pdf.save(written)
    return read_pdf(written.getvalue())


def test_what_a_comment_strikes_out_is_left_out_and_comments_are_reported_with_their_words() -> None:
    def annotate(add: Callable[..., Any]) -> None:
        struck = add("StrikeOut", 0, "24 V", T="J. Doe", Contents="")
        add("Caret", 0, "", T="J. Doe", Contents="28 V", IRT=struck)
        add("Highlight", 1, "yearly", Contents="Why?")
        add("Popup", 1, "")
        add("Link", 1, "firm")
        add("Stamp", 2, "", Name=pikepdf.Name("/Superseded"), Contents="SUPERSEDED")

    document = _commented(annotate)
    assert document.text.startswith("The voltage shall be at the gate.")
    assert document.warnings[:2] == (
        "Comments on pages are not part of the text (1 strike-out, 1 insertion, 1 highlight, 1 stamp; page 1): they "
        "are in its metadata.",
        "A stamp on page 1 says: SUPERSEDED",
    )
    assert dict(document.metadata)["comments"] == (
        "page 1, J. Doe, strike-out “24 V” | page 1, J. Doe, insertion: 28 V | page 1, highlight “yearly”: Why? | "
        "page 1, stamp: SUPERSEDED"
    )


def test_a_strike_out_that_was_rejected_or_that_nobody_sees_strikes_nothing_out() -> None:
    def annotate(add: Callable[..., Any]) -> None:
        struck = add("StrikeOut", 0, "24 V")
        add("Text", 0, "", IRT=struck, State="Rejected", StateModel="Review")
        add("StrikeOut", 2, "5 s").F = 2

    document = _commented(annotate)
    assert "24 V" in document.text
    assert "5 s" in document.text
    assert dict(document.metadata)["comments"] == "page 1, strike-out “24 V”"


def _with_balloons(*balloons: str, size: float = 7) -> Document:
    paper = sheet()
    for line in (
        "The pump shall start within 5 s of the command that the operator gives",
        "at the gate, and it shall stop within 1 s when the gate is opened.",
        "The unit shall bear its serial number and its maker, and it",
        "shall be dry.",
    ):
        paper.line(line, font="Times-Roman")
    for row, words in enumerate(balloons):
        paper.at(430, 92 + 22 * row, words, size)
        paper.at(430, 100 + 22 * row, "and more of it", size)
    return read_pdf(paper.done())


def test_balloons_that_word_prints_beside_the_text_are_comments() -> None:
    document = _with_balloons("Deleted: 24 V", "Kommentiert [JD1]: Warum 5 s?")
    assert document.text == (
        "The pump shall start within 5 s of the command that the operator gives at the gate, and it shall stop within "
        "1 s when the gate is opened. The unit shall bear its serial number and its maker, and it shall be dry."
    )
    assert dict(document.metadata)["comments"] == (
        "page 1, balloon: Deleted: 24 V and more of it | page 1, balloon: Kommentiert [JD1]: Warum 5 s? and more of it"
    )


def test_print_of_the_size_of_the_text_is_no_balloon() -> None:
    document = _with_balloons("Deleted: 24 V", size=10)
    assert "24 V" in document.text
    assert "comments" not in dict(document.metadata)


def test_the_right_column_of_a_list_of_changes_is_no_balloon() -> None:
    paper = sheet()
    for _ in range(6):
        paper.line("The following changes apply from the day on which this edition of the standard is published.")
    for row, (clause, change) in enumerate((("5.1", "Deleted: the fuses"), ("5.2", "Inserted: a limit of 5 V"))):
        paper.at(LEFT, 200 + 12 * row, clause, 7)
        paper.at(300, 200 + 12 * row, change, 7)
    document = read_pdf(paper.done())
    assert "Deleted: the fuses" in document.text
    assert "Inserted: a limit of 5 V" in document.text


def test_names_of_requirements_beside_the_text_are_no_balloons() -> None:
    document = _with_balloons("Requirement [REQ1]: see 4", "Requirement [REQ2]: see 5")
    assert "[REQ2]" in document.text


@pytest.mark.parametrize("x", [55.0, 530.0])
def test_a_bar_in_the_margin_is_no_word_and_a_table_of_signs_keeps_its_bars(x: float) -> None:
    paper = sheet()
    for words in ("The pump shall start within 5 s of the command that the operator gives at", "the gate."):
        paper.at(x, paper.y, "|")
        paper.line(words, font="Times-Roman")
    paper.y += 20
    paper.at(x, paper.y, "|")
    paper.line("NOTE The air may burn.")
    document = read_pdf(paper.done())
    assert "|" not in document.text
    assert "gives at the gate." in document.text
    drawn = sheet()
    drawn.at(LEFT, 100, "one")
    drawn.at(LEFT + 100, 100, "|")
    drawn.at(LEFT + 150, 100, "two")
    assert "|" in read_pdf(drawn.done()).text


def test_a_line_below_words_with_lowered_letters_strikes_none_out() -> None:
    document = _printed(f"The value {_came('V<sub>max</sub>')} shall be at most 5 V.")
    assert document.text == "The value Vmax shall be at most 5 V."
    paper = sheet()
    paper.at(LEFT, 100, "The voltage U")
    edge = LEFT + stringWidth("The voltage U", "Helvetica", 10)
    paper.at(edge, 102.5, "nominal", 6.5)
    for start, end in ((LEFT, edge), (edge, edge + stringWidth("nominal", "Helvetica", 6.5))):
        paper.canvas.line(start, 842 - 101.2, end, 842 - 101.2)
    assert "nominal" in read_pdf(paper.done()).text


def test_a_line_that_is_painted_over_or_white_strikes_nothing_out() -> None:
    paper = sheet()
    label = stringWidth("approved by all", "Helvetica", 8)
    paper.canvas.line(160, 842 - 100, 190, 842 - 100)
    paper.canvas.setFillColorRGB(1, 1, 1)
    paper.canvas.rect(175 - label / 2, 842 - 105, label, 10, fill=1, stroke=0)
    paper.canvas.setFillColorRGB(0, 0, 0)
    paper.at(175 - label / 2, 102.5, "approved by all", 8)
    paper.canvas.setStrokeColorRGB(1, 1, 1)
    paper.at(LEFT, 140, "Stencilled words")
    paper.canvas.line(LEFT, 842 - 137, LEFT + stringWidth("Stencilled words", "Helvetica", 10), 842 - 137)
    document = read_pdf(paper.done())
    assert "approved by all" in document.text
    assert "Stencilled words" in document.text
    assert document.hidden == ()


def test_comments_beyond_those_that_are_looked_at_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    def annotate(add: Callable[..., Any]) -> None:
        add("Highlight", 1, "yearly")
        add("StrikeOut", 0, "24 V")

    monkeypatch.setattr(annotations, "_MOST", 1)
    document = _commented(annotate)
    assert "24 V" in document.text
    assert document.warnings[0] == (
        "Page 1: 1 annotation was not checked, of more than 1; words that they strike out are in the text."
    )


def test_edges_of_areas_and_outlines_of_letters_strike_nothing_out() -> None:
    paper = sheet()
    paper.at(LEFT, 100, "The process of approval shall be kept by the owner.")
    area = paper.canvas.beginPath()  # part of an emblem that is clipped away, whose edge is level with the words
    area.moveTo(90, 842 - 97)
    area.lineTo(104, 842 - 97)
    area.curveTo(140, 842 - 80, 140, 842 - 70, 90, 842 - 60)
    paper.canvas.saveState()
    seen = paper.canvas.beginPath()
    seen.rect(300, 700, 20, 20)
    paper.canvas.clipPath(seen, stroke=0)
    paper.canvas.drawPath(area, stroke=0, fill=1)
    paper.canvas.restoreState()
    words = paper.canvas.beginText(LEFT, 842 - 140)
    words.setFont("Helvetica", 12)
    words.textOut("HEFT")
    paper.canvas.drawText(words)
    left = LEFT
    for letter in "HEFT":  # and again as shapes, as logos are
        width = stringWidth(letter, "Helvetica", 12)
        outline = paper.canvas.beginPath()
        outline.moveTo(left + 0.8, 842 - 140)
        outline.lineTo(left + 0.8, 842 - 131.4)
        outline.lineTo(left + width - 0.8, 842 - 131.4)
        outline.lineTo(left + width - 0.8, 842 - 136)
        outline.lineTo(left + 0.8, 842 - 136)
        paper.canvas.drawPath(outline, stroke=1, fill=0)
        left += width
    document = read_pdf(paper.done())
    assert document.hidden == ()
    assert "The process of approval shall be kept by the owner." in document.text
    assert "HEFT" in document.text


def test_a_page_with_too_many_lines_says_that_struck_words_were_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(struck, "_MOST_LINES", 3)
    paper = sheet()
    paper.at(LEFT, 100, "The gap shall be 3 mm.")
    for at in range(5):
        paper.canvas.line(LEFT, 500 - 20 * at, 400, 500 - 20 * at)
    document = read_pdf(paper.done())
    assert document.warnings == ("More than 3 lines on page 1: words that lines strike out there are in the text.",)
