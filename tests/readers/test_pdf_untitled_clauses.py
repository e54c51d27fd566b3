"""Clauses with a number and no title are sections, so that they can be read and cited by their numbers."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.openings import NumberedTitle
from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf.headings.candidates import Body, HeadingCandidate
from knowledge_mcp.readers.pdf.headings.run_in import cut_run_in, is_counted_sentence, is_one_sentence
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.layout import Line
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, item_of, read_pdf, sheet

_WORDS = (
    "The mass fraction of moisture of a sample, determined in accordance with the method that is",
    "given in the annex, shall not be greater than the value that the supplier states for it there.",
)


def _read(*numbers: str) -> Document:
    pages = sheet()
    for title in ("1 Scope", "2 References", "3 Requirements"):
        pages.heading(title, size=14)
        pages.paragraph(SENTENCE)
    pages.heading("3.1 Moisture", size=12)
    for number in numbers:
        pages.paragraph(f"{number} {_WORDS[0]}", _WORDS[1])
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))


def _numbers(document: Document) -> list[str | None]:
    return [section.number for section in document.sections]


def test_clauses_without_a_title_are_sections_of_their_own() -> None:
    document = _read("3.1.1", "3.1.2")

    assert _numbers(document) == ["1", "2", "3", "3.1", "3.1.1", "3.1.2"]
    section = document.sections[-1]
    assert (section.title, section.level) == ("", 3)
    below = [block.span.of(document.text) for block in document.blocks if block.section == section.index]
    assert below == ["3.1.2", " ".join(_WORDS)]


def test_numbers_that_do_not_count_on_are_parts_of_their_text() -> None:
    assert _numbers(_read("5.2.1", "7.3.4")) == ["1", "2", "3", "3.1"]


def test_a_single_number_is_no_clause() -> None:
    assert _numbers(_read("3.1.1")) == ["1", "2", "3", "3.1"]


def test_a_mark_before_the_number_of_a_clause_is_printed_with_it_and_is_no_part_of_it() -> None:
    for mark in ("•", "[F]"):
        document = _read(f"{mark} 3.1.1", f"{mark} 3.1.2", "3.1.3")

        assert _numbers(document) == ["1", "2", "3", "3.1", "3.1.1", "3.1.2", "3.1.3"]
        headings = [section.heading.of(document.text) for section in document.sections[-3:]]
        assert headings == [f"{mark} 3.1.1", f"{mark} 3.1.2", "3.1.3"]


def _candidate(number: str, text: str, cut: int | None = None) -> HeadingCandidate:
    line = Line(page=1, text=text, x0=72, y0=100, x1=300, y1=110, size=10, bold=False, font="Times")
    numbered = NumberedTitle(number, text.partition(" ")[2])
    return HeadingCandidate([line], text, numbered, (3, 1, 3), gap=9, next_gap=9, page_width=595, cut=cut)


@pytest.mark.parametrize(
    ("text", "is_sentence"),
    [
        ("3.1.3 Samples shall not contain any dust", True),
        ("3.1.3 Proben müssen der Norm 4 entsprechen,", True),
        ("3.1.3 Samples and what is in them", False),
        ("3.1.3 Samples. They shall not contain any dust", False),
    ],
)
def test_a_sentence_that_obliges_is_no_title_without_a_full_stop_too(text: str, *, is_sentence: bool) -> None:
    assert is_one_sentence(_candidate("3.1.3", text)) is is_sentence


def test_a_count_with_a_bracket_is_a_sentence_of_its_article_also_in_bold() -> None:
    assert is_counted_sentence(_candidate("5", "5) Samples are dry.", cut=2))
    assert not is_counted_sentence(_candidate("5", "5. Samples are dry.", cut=2))
    assert not is_counted_sentence(_candidate("5", "5) Samples. They are dry.", cut=10))


def test_the_last_letter_of_an_abbreviation_ends_no_title() -> None:
    candidate = _candidate("3.1.3", "3.1.3 The U.S. Code of Dust holds for all")
    cut_run_in(candidate, Body(10, "Times", bold=False), ())
    assert candidate.cut is None


def test_a_clause_that_bookmarks_leave_out_has_its_title_in_bold() -> None:
    pages = sheet()
    for title in ("1 Scope", "1.1 General", "1.2 Purpose", "2 References", "2.1 Laws", "2.2 Others", "3 Definitions"):
        pages.heading(title, size=14, bookmark=int("." in title))
        pages.paragraph(SENTENCE)
    for number, term in (("3.1", "Acceptance."), ("3.2", "Associate developer."), ("3.3", "Build manager:")):
        pages.at(LEFT, pages.y, number, font="Helvetica-Bold")
        pages.at(LEFT + 30, pages.y, term, font="Helvetica-Bold")
        pages.paragraph(" " * 60 + _WORDS[0][:60], _WORDS[1])
    pages.at(LEFT, pages.y, "3.4", font="Helvetica-Bold")
    pages.at(LEFT + 30, pages.y, "Operators", font="Helvetica-Bold")
    pages.paragraph(" " * 40 + "shall read every sample that the recorder keeps.", _WORDS[1])
    found = [(section.number, section.title) for section in read_pdf(pages).sections[7:]]
    assert found == [("3.1", "Acceptance"), ("3.2", "Associate developer"), ("3.3", "Build manager"), ("3.4", "")]
