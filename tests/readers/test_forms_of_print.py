"""What trades print in their own way: figures that look like clauses, titles in margins, two columns of an act."""

from __future__ import annotations

import io
from typing import Any

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.language.statements import find_statements
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.docx.reader import DocxReader
from tests.fakes.documents import Part, build_document
from tests.readers.docx_files import content_item
from tests.readers.in_process import HERE
from tests.readers.pdf_files import SENTENCE, Sheet, read_pdf
from tests.readers.sheets import Sheets, found_in

BOLD = "Helvetica-Bold"
LONG = "The maker shall keep a copy of each label for ten years and show it on demand to the office"


# ---- numbers


@pytest.mark.parametrize(
    ("line", "number", "informative"),
    [
        ("782 628 25 19 Growth", None, None),
        ("14 (16) $3.50 Inputs", None, None),
        ("U.S. Pension Plans", None, None),
        ("I.A. Background", "I.A", None),
        ("5 3D models", "5", None),
        ("Mandatory Appendix 1 Formulas", "1", False),
        ("NONMANDATORY APPENDIX A Guide", "A", True),
        ("Mandatory section 3", None, None),
    ],
)
def test_rows_and_abbreviations_have_no_number_and_annexes_say_what_they_are(
    line: str, number: str | None, informative: bool | None
) -> None:
    parts = split_clause_number(line)
    assert (parts.number, parts.informative) == (number, informative)


def numbered(*lines: str) -> Sheets:
    made = Sheets()
    for line in lines:
        made.heading(line)
        made.prose(6)
    return made


def test_numbers_that_count_on_from_nothing_are_no_clauses() -> None:
    found = found_in(numbered("Results", "906 Of the Act", "Outlook", "44 Net sales", "46 Other sales"))
    assert [number for number, _, _ in found] == [None] * len(found)
    assert "906 Of the Act" in [title for _, title, _ in found]


def test_numbers_that_begin_or_go_on_are_clauses() -> None:
    for lines in (("1 Scope", "2 Terms"), ("7 Tests", "8 Marking", "9 Records"), ("206 Tests", "206.1 Heat")):
        assert [number for number, _, _ in found_in(numbered(*lines))] == [line.split()[0] for line in lines]


def test_behind_a_figure_a_number_has_to_come_next() -> None:
    found = found_in(numbered("1 Scope", "2 Terms", "3 802 frames", "4 Tests"))
    assert [number for number, _, _ in found] == ["1", "2", "3", "4"]
    assert all(number != "14" for number, _, _ in found_in(numbered("14 16 VIO", "15 Net", "16 Gross")))


# ---- what stands side by side


def test_notes_whose_marks_hang_are_no_table() -> None:
    sheet = Sheet()
    for number in (1, 2, 3):
        sheet.at(120, sheet.y, f"NOTE {number}", 9)
        sheet.line(f"The current of heater {number} tells more.", x=180, size=9)
    assert [block.kind for block in read_pdf(sheet).blocks] == [BlockKind.NOTE] * 3


def test_names_left_of_figures_are_columns_of_their_table() -> None:
    sheet = Sheet()
    sheet.line(f"{SENTENCE} {SENTENCE}"[:90])
    rows = [("", "", "MIN", "MAX", "UNIT"), ("Input voltage", "VIN to GND", "-0.3", "42", "V")]
    rows += [("Enable voltage", "EN to GND", "-0.3", "40", "V"), ("Temperature", "TJ", "-40", "150", "K")]
    for row in rows:
        for x, words in zip((72, 200, 310, 370, 430), row, strict=True):
            sheet.at(x, sheet.y, words, 8, BOLD if row is rows[0] else "Helvetica")
        sheet.canvas.line(72, 842 - sheet.y - 4, 480, 842 - sheet.y - 4)
        sheet.y += 17
    document = read_pdf(sheet)
    (table,) = [block for block in document.blocks if block.kind is BlockKind.TABLE]
    assert "| Enable voltage | EN to GND | -0.3 | 40 | V |" in table.span.of(document.text)


def test_titles_in_the_margin_are_headings_and_terms_there_are_none() -> None:
    sheet = Sheet()
    for heading, titles in (
        ("Words with special meanings", ("Excess", "Premises", "Accident")),
        ("Contents of the shop", ("What is covered", "Conditions")),
    ):
        sheet.heading(heading, 14)
        for title in titles:
            sheet.at(72, sheet.y, title, 10, BOLD)
            sheet.line(f"The part of {title.lower()} that you have to pay for by yourself at", x=190)
            sheet.line("any time.", x=190, step=22)
    document = read_pdf(sheet)
    assert [section.title for section in document.sections] == [
        "Words with special meanings", "Contents of the shop", "What is covered", "Conditions",
    ]  # fmt: skip
    assert [each.term for each in find_definitions(document)] == ["Excess", "Premises", "Accident"]


def test_an_act_in_two_columns_is_read_column_by_column() -> None:
    sheet = Sheet()
    for column, x in enumerate((60, 310)):
        sheet.y = 90
        for number in range(1 + 3 * column, 4 + 3 * column):
            for words in (f"Article {number}", f"Duty number {number}"):
                sheet.line(words, size=9, x=x + 112 - 2.2 * len(words), font=BOLD if words[0] == "D" else "Helvetica")
            for mark, words in (("1.", LONG), ("2.", LONG)):
                sheet.at(x, sheet.y, mark, 9)
                sheet.line(words[:46], size=9, x=x + 20)
                sheet.line(words[46:], size=9, x=x + 20, step=16)
    found = read_pdf(sheet).sections
    assert [(each.number, each.title) for each in found] == [(str(n), f"Duty number {n}") for n in range(1, 7)]


def test_items_below_one_that_ends_in_a_colon_have_its_force_though_they_begin_where_it_does() -> None:
    sheet = Sheet()
    for mark, words in (
        ("1.", "The label shall state:"),
        ("(a)", "the mass;"),
        ("(b)", "the maker."),
        ("2.", "It ends."),
    ):
        sheet.at(72, sheet.y, mark)
        sheet.line(words, x=96, step=20)
    document = read_pdf(sheet)
    assert [block.depth for block in document.blocks] == [0, 1, 1, 0]
    assert [each.text for each in find_statements(document)][1:] == [
        "1. The label shall state: (a) the mass;", "1. The label shall state: (b) the maker.",
    ]  # fmt: skip


# ---- words


def test_an_identifier_alone_names_the_requirement_below_it() -> None:
    parts = [("EXS-ST-31_0410001", BlockKind.PARAGRAPH), ("a. The unit shall be cold.", BlockKind.LIST_ITEM)]
    parts += [("b. The unit shall be dry.", BlockKind.LIST_ITEM)]
    found = find_statements(build_document([Part(kind, words) for words, kind in parts]))
    assert [each.identifier for each in found] == ["EXS-ST-31_0410001", None]


def test_items_say_what_words_in_single_quotes_mean() -> None:
    words = "(1) ‘hand tool’ means a tool that is driven by its user;"
    (found,) = find_definitions(build_document([Part(BlockKind.LIST_ITEM, words)]))
    assert (found.term, found.text.rstrip(";")) == ("hand tool", "a tool that is driven by its user")


@pytest.mark.parametrize(("styled", "titles"), [(False, ["CONDITIONS", "Plans"]), (True, ["Decision"])])
def test_bold_paragraphs_are_headings_where_a_file_has_no_others(styled: bool, titles: list[str]) -> None:
    import docx

    document: Any = docx.Document()
    if styled:
        document.add_heading("Decision", 1)
    for title in ("CONDITIONS", "Plans"):
        document.add_paragraph().add_run(title).bold = True
        document.add_paragraph("The works are begun within three years of this notice.")
        document.add_paragraph("They end in ten.")
    buffer = io.BytesIO()
    document.save(buffer)
    reader = DocxReader(sandbox=HERE)
    media_type = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
    found = reader.read(content_item(buffer.getvalue(), "notice.docx", media_type))
    reader.close()
    assert [section.title for section in found.sections] == titles
