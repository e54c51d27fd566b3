"""Clauses with a number and no title are sections, so that they can be read and cited by their numbers."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.openings import NumberedTitle
from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf.headings.candidates import HeadingCandidate
from knowledge_mcp.readers.pdf.headings.run_in import is_one_sentence
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.layout import Line
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import SENTENCE, item_of, sheet

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


@pytest.mark.parametrize(
    ("title", "is_sentence"),
    [
        ("Samples shall not contain any dust", True),
        ("Proben müssen der Norm 4 entsprechen,", True),
        ("Samples and what is in them", False),
    ],
)
def test_a_sentence_that_obliges_is_no_title_without_a_full_stop_too(title: str, *, is_sentence: bool) -> None:
    numbered = NumberedTitle("3.1.3", title)
    line = Line(page=1, text=f"3.1.3 {title}", x0=72, y0=100, x1=300, y1=110, size=10, bold=False, font="Times")
    candidate = HeadingCandidate([line], line.text, numbered, (3, 1, 3), gap=9, next_gap=9, page_width=595)
    assert is_one_sentence(candidate) is is_sentence
