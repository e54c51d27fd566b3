"""Codes whose comments have the number of their clause, documents that amend others, and bookmarks of paragraphs."""

from __future__ import annotations

import pytest

from knowledge_mcp.model.document import Document
from knowledge_mcp.readers.pdf.engine import Bookmark
from knowledge_mcp.readers.pdf.headings.outline import outline_headings
from tests.readers.pdf_files import LEFT, Sheet, read_pdf, sheet
from tests.readers.sheets import Sheets
from tests.readers.test_pdf_commented import RIGHT, own_text


def titled_columns(*, values: bool = False) -> Sheet:
    """Set clauses and comments with a dash after their numbers, alone above the text, below titles in large print.

    With `values`, the comments quote numbers at the beginning of lines and in a table.
    """
    made = sheet()
    for page in range(4):
        made.at(LEFT, 40, "Wind on made sheds, with commentary", 9)
        made.at(500, 810, str(page + 7), 9)
        made.at(LEFT + 80, 72, "CODE", 16, "Helvetica-Bold")
        made.at(RIGHT + 70, 72, "COMMENTARY", 16, "Times-Bold")
        made.at(LEFT, made.y + 10, f"{page + 1}. - CHAPTER {'ABCD'[page] * 3}", 16, "Helvetica-Bold")
        made.y += 40
        for part in (1, 2):
            number = f"{page + 1}.{part}"
            made.at(LEFT, made.y, f"{number} -", 13, "Helvetica-Bold")
            made.at(RIGHT, made.y, f"C{number} -", 13, "Times-Bold")
            for row in range(4):
                made.at(LEFT, made.y + 18 + 12 * row, f"The shed of row {row} shall stand as {number} has it", 10)
                words = f"Sheds of row {row} fell down in a storm, which"
                if values and row:
                    words = f"{row}.{part} was the value that was read for them"
                made.at(RIGHT, made.y + 18 + 12 * row, words, 10, "Times-Roman")
                if values:
                    made.at(RIGHT + 215, made.y + 18 + 12 * row, f"{row}.{page + 4}", 10, "Times-Roman")
            made.y += 90
        made.next_page()
    made.paragraph("The end of the code.")
    return made


@pytest.mark.parametrize("values", [False, True])
def test_numbers_with_a_dash_alone_in_their_line_are_those_of_clauses_and_comments(values: bool) -> None:
    document = read_pdf(titled_columns(values=values))
    numbered = {each.number: each.informative for each in document.sections if "." in (each.number or "")}
    assert numbered == {
        f"{mark}{page}.{part}": mark == "C" for page in range(1, 5) for part in (1, 2) for mark in ("", "C")
    }
    assert own_text(document, "2.1").startswith("The shed of row 0 shall stand as 2.1 has it The shed of row 1")
    assert "Sheds" not in own_text(document, "2.1")
    assert own_text(document, "C2.1").startswith("Sheds of row 0 fell down")


def test_the_titles_of_the_columns_are_running_lines() -> None:
    document = read_pdf(titled_columns())
    assert "COMMENTARY" not in document.text
    assert "CODE" not in document.text
    assert "COMMENTARY (4 pages)" in dict(document.metadata)["running_lines"]


def amending(mark: str, other: str = "C") -> Document:
    """Read a document whose own clauses change those of another, with comments marked by a letter in brackets."""
    made = sheet()
    made.heading("1-1 Commentary.", 12, bookmark=0)
    made.paragraph("Numbers of commentary are preceded by a letter in brackets.")
    for chapter in (2, 3):
        made.next_page()
        made.heading(f"Chapter {chapter} Changes of the {'first' if chapter == 2 else 'second'} code", 14, bookmark=0)
        for part in (1, 2):
            made.heading(f"{chapter}-{part} Section {chapter}60{part} - Loads of sheds", 12, bookmark=1)
            for clause in (1, 2, 3):
                number = f"{chapter}60{part}.{clause}"
                made.heading(
                    f"[{other}] {number} Snow on made sheds [Replacement]"
                    if other != "C"
                    else f"{number} - Snow on made sheds [Replacement]",
                    10,
                )
                made.paragraph(f"The snow of {number} shall be shovelled within a day.")
                made.heading(f"[{mark}] {number} Snow on made sheds [Replacement]", 10)
                made.paragraph(f"This replacement of {number} makes the owner responsible, who must pay for it.")
    return read_pdf(made)


def test_a_letter_in_brackets_before_the_number_of_a_clause_again_marks_its_commentary() -> None:
    document = amending("C")
    marked = [each for each in document.sections if each.number == "2601.1"]
    assert [each.informative for each in marked] == [False, True]
    assert marked[1].parent == document.sections.index(marked[0])


def test_other_letters_in_brackets_name_the_committee_of_a_clause() -> None:
    assert not any(each.informative for each in amending("F", "M").sections)


def test_clauses_of_another_document_are_below_the_own_clause_that_changes_them() -> None:
    sections = amending("C").sections
    parents = {each.number: sections[each.parent].number for each in sections if each.parent is not None}
    assert parents["2602.1"] == "2602.1"  # its commentary
    levels = {each.number: each.level for each in reversed(sections)}
    assert {number: levels[number] for number in ("2-1", "2601.1", "2601.2", "2-2", "2602.1", "3-1", "3601.1")} == {
        "2-1": 2, "2601.1": 3, "2601.2": 3, "2-2": 2, "2602.1": 3, "3-1": 2, "3601.1": 3,
    }  # fmt: skip


def test_bookmarks_of_whole_paragraphs_name_the_title_that_these_begin_with() -> None:
    made = Sheets()
    words = "The coefficients of roofs shall be those of the tables, as long as no wind can come in below the roof"
    paragraphs = (
        f"6.1 Sheds without walls - {words}, which is the rule for open sheds.",
        f"6.2 {words}, which is the rule for all of the other sheds in this country.",
        f"Sheds with large doors -{words}, which is the rule for doors, and for gates.",
        f"doors between five and twenty percent of the wall shall be closed in a storm, and {words.lower()}.",
    )
    made.heading("6 Sheds")
    long = f"Article 7 {words}, for sheds that are built by those who are to live in them, or by others for them"
    paragraphs = (*paragraphs, long)
    for text in paragraphs:
        made.prose()
        half = text.rindex(" ", 0, 90)
        made.line(text[:half])
        made.line(text[half + 1 :])
    entries = [Bookmark("6 Sheds", 1, 1, None), *(Bookmark(text, 2, 1, None) for text in paragraphs)]
    found = [(each.number, each.title) for each in outline_headings(entries, made.pages)]
    assert found[:4] == [("6", "Sheds"), ("6.1", "Sheds without walls"), ("6.2", ""), (None, "Sheds with large doors")]
    assert found[4:] == [("7", long.removeprefix("Article 7 "))]
