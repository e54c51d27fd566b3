"""Drafts number their lines in the margin: the numbers are no words, no headings and no clauses."""

from __future__ import annotations

import io

import pytest
from reportlab.pdfgen import canvas

from tests.readers.pdf_files import read_pdf

_CLAUSES = (
    ("1 Scope", "This document applies to pumps that stand out of doors."),
    ("2 Requirements", "The pump shall stop within two seconds of a fault."),
    ("3 Tests", "The test shall be repeated after each repair."),
)


def _draft(*, numbered: bool, right: bool = False, pages: int = 2, step: int = 1, last: int = 99) -> bytes:
    buffer = io.BytesIO()
    paper = canvas.Canvas(buffer, pagesize=(595, 842), invariant=1)
    count = 0
    for page in range(pages):
        y = 740.0
        for title, words in _CLAUSES:
            for text, bold in ((f"{3 * page + int(title[0])}{title[1:]}", True), (words, False), (words, False)):
                count += 1
                paper.setFont("Helvetica-Bold" if bold else "Helvetica", 13 if bold else 10)
                paper.drawString(90, y, text)
                if numbered and page < last and count % step == 0:
                    paper.setFont("Helvetica", 9)
                    paper.drawRightString(560 if right else 60, y, str(count))
                y -= 30
        paper.showPage()
    paper.save()
    return buffer.getvalue()


@pytest.mark.parametrize("right", [False, True])
def test_numbers_of_lines_are_left_out_of_the_text(right: bool) -> None:
    plain = read_pdf(_draft(numbered=False))
    draft = read_pdf(_draft(numbered=True, right=right))

    assert draft.text == plain.text
    assert [section.number for section in draft.sections] == ["1", "2", "3", "4", "5", "6"]


def test_numbers_of_every_fifth_line_are_known_where_each_page_has_few() -> None:
    plain = read_pdf(_draft(numbered=False, pages=3))
    assert read_pdf(_draft(numbered=True, pages=3, step=5)).text == plain.text


def test_numbers_are_left_out_where_many_pages_without_any_follow() -> None:
    plain = read_pdf(_draft(numbered=False, pages=40))
    assert read_pdf(_draft(numbered=True, pages=40, last=30)).text == plain.text


def test_a_first_column_that_counts_its_rows_stays() -> None:
    buffer = io.BytesIO()
    paper = canvas.Canvas(buffer, pagesize=(595, 842), invariant=1)
    paper.setFont("Helvetica", 10)
    paper.drawString(60, 760, "The parts of the pump are counted from its inlet.")
    for row in range(8):
        paper.drawString(60, 720 - 20 * row, str(row + 1))
        paper.drawString(120, 720 - 20 * row, f"part {'abcdefgh'[row]}")
    paper.save()

    text = read_pdf(buffer.getvalue()).text

    assert all(str(row) in text for row in range(1, 9))
