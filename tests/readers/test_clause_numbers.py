"""Clauses are found by the numbers that publishers give them, in every format, with and without titles."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from benchmarks.publishers import FIRST, SECOND, Unit, as_docx, as_html, as_markdown, as_pdf, as_two_columns, gold, made
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.model.document import BlockKind, Document
from knowledge_mcp.readers.docx import DocxReader
from knowledge_mcp.readers.html.reader import HtmlReader
from knowledge_mcp.readers.markdown import MarkdownReader
from knowledge_mcp.readers.pdf import PdfReader
from knowledge_mcp.readers.shared.layout import letters_of
from knowledge_mcp.readers.shared.numbering import by_hundreds, counts_on, number_key
from tests.readers.docx_files import content_item, p, read_docx, run
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import item_of


def _read(units: Sequence[Unit], form: str) -> Document:
    if form == "docx":
        return DocxReader().read(content_item(as_docx(units)))
    if form == "html":
        return HtmlReader(sandbox=InProcessSandbox()).read(content_item(as_html(units), "a.html", "text/html"))
    if form == "markdown":
        return MarkdownReader().read(content_item(as_markdown(units), "a.md", "text/markdown"))
    data = as_two_columns(units) if form == "columns" else as_pdf(units)
    return PdfReader(sandbox=InProcessSandbox()).read(item_of(data))


@pytest.mark.parametrize("form", ["pdf", "columns", "docx", "html", "markdown"])
@pytest.mark.parametrize("manner", ["building", "fire", "labour", "indian"])
def test_clauses_of_several_publishers_are_sections_in_every_format(manner: str, form: str) -> None:
    units = made((FIRST | SECOND)[manner], manner)

    document = _read(units, form)

    found = [(section.number, letters_of(section.title)) for section in document.sections if section.number]
    assert found == gold(units)
    assert all(unit.text in " ".join(document.text.split()) for unit in units)


@pytest.mark.parametrize(
    ("line", "number", "title"),
    [
        ("1003.2.1 Headroom", "1003.2.1", "Headroom"),
        ("SECTION 1003 GENERAL", "1003", "GENERAL"),
        ("[F] 903.2.1 Group A", "903.2.1", "Group A"),
        ("R302.5.1 Openings", "R302.5.1", "Openings"),
        ("6.4.2* Batteries", "6.4.2", "Batteries"),
        ("National Annex NA (informative) Choices", "NA", "Choices"),
        ("UG-27(c)(1) Longitudinal stress", "UG-27(c)(1)", "Longitudinal stress"),
        ("§ 25.1309 Equipment", "25.1309", "Equipment"),
        ("1910.95(b)(1) Employees", "1910.95(b)(1)", "Employees"),
        ("52.212-4 Terms", "52.212-4", "Terms"),
        ("2024 budget", None, "2024 budget"),
        ("ANNEX TO THE REPORT", None, "ANNEX TO THE REPORT"),
    ],
)
def test_a_line_says_its_number_as_its_publisher_writes_it(line: str, number: str | None, title: str) -> None:
    parts = split_clause_number(line)
    assert (parts.number, parts.title) == (number, title)


def test_what_number_and_title_leave_out_stays_in_the_printed_heading() -> None:
    document = MarkdownReader().read(content_item(b"## [F] 903.2* Group A\n\nText.", "a.md", "text/markdown"))
    assert document.text.startswith("[F] 903.2* Group A")
    assert document.sections[0].number == "903.2"


def test_sections_count_by_the_hundred_of_their_chapter() -> None:
    key = number_key("1003.2")
    assert key is not None
    assert by_hundreds(key, {10}) == (10, 3, 2)
    assert by_hundreds(key, {9}) == key


def test_an_annex_explains_clauses_by_their_numbers() -> None:
    assert counts_on((10_000,), (10_000, 6, 4, 2), {(6, 4, 2)})
    assert not counts_on((10_000,), (10_000, 6, 4, 2), {(6, 4, 1)})


def test_a_bold_beginning_without_a_number_stays_text() -> None:
    document = read_docx(p(run("Warning. ", "<w:b/>") + run("Do not open.")) + p(run("3.2 ") + run("kg per load")))
    assert not document.sections
    assert [block.kind for block in document.blocks] == [BlockKind.PARAGRAPH, BlockKind.PARAGRAPH]


def test_a_single_number_that_goes_on_is_no_clause_for_itself() -> None:
    text = b"# 5 Rules\n\n5.1 The pump runs.\n\n# 6 Tests\n\nText."
    assert len(MarkdownReader().read(content_item(text, "a.md", "text/markdown")).sections) == 2


def test_links_of_a_clause_stay_at_their_words() -> None:
    text = b"# 5 Rules\n\n**5.1 Pumps.** See [the guide](https://example.org/g).\n\n**5.2 Valves.** None."
    document = MarkdownReader().read(content_item(text, "a.md", "text/markdown"))
    assert [section.number for section in document.sections] == ["5", "5.1", "5.2"]
    assert [each.span.of(document.text) for each in document.references if each.target.endswith("/g")] == ["the guide"]
