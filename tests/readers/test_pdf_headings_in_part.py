"""Headings of documents that number only a part of them, or their notes; and what stands among figures."""

from __future__ import annotations

import pytest

from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import SENTENCE, item_of, sheet
from tests.readers.sheets import Sheets, found_in, report


def notes(numbers: tuple[int, ...], *, bold: bool = True) -> Sheets:
    """Make financial statements with notes numbered as given."""
    made = Sheets()
    made.heading("Statement of Financial Position", size=12)
    made.prose()
    for number in numbers:
        made.turn()
        made.line(f"Note {number}. Matters of Kind {number}", bold=bold, font="Arial-Bold" if bold else "Times", gap=14)
        made.prose(6)
    return made


def test_notes_that_are_numbered_throughout_are_sections() -> None:
    found = [title for _, title, _ in found_in(notes((1, 2, 3, 3, 4, 6)))]
    assert [title for title in found if title.startswith("Note")] == [
        f"Note {number}. Matters of Kind {number}" for number in (1, 2, 3, 3, 4, 6)
    ]


@pytest.mark.parametrize(("numbers", "bold"), [((1, 2, 1, 2, 1, 2), True), ((1, 2, 3), True), ((1, 2, 3, 4, 5), False)])
def test_notes_numbered_again_or_few_or_set_like_text_are_notes(numbers: tuple[int, ...], *, bold: bool) -> None:
    assert not [title for _, title, _ in found_in(notes(numbers, bold=bold)) if title.startswith("Note")]


def filing() -> Sheets:
    """Make a filing that numbers its notes only: contents, titles in bold, a statement, then notes 1 to 13."""
    made = Sheets()
    made.line("CONTENTS")
    for title, page in (("Review of the Year", 2), ("Financial Statements", 13), ("Notes to the Statements", 14)):
        made.line(title)
        made.line(str(page), x=500, beside=True)
    for title in ("Signatures", "Addresses"):
        made.line(title)
        made.line("27", x=500, beside=True)
    made.turn()
    made.heading("Review of the Year", size=12)
    for title in ("Overview", "Outlook", "Liquidity"):
        made.line(title, bold=True, font="Arial-Bold", gap=14)
        made.prose(9)
    for _ in range(10):
        made.turn()
        made.prose(12)
    made.turn()
    made.heading("Financial Statements", size=12)
    for label in ("Cash", "Inventories", "Receivables", "Buildings"):
        made.line(label)
        made.line("1,204 1,187", x=400, beside=True)
    for label in ("Liabilities", "Equity"):
        made.line(label, bold=True, font="Arial-Bold", gap=14)
        made.line("Payable", gap=2)
        made.line("3,411 2,950", x=400, beside=True)
    made.turn()
    made.heading("Notes to the Statements", size=12)
    for number in range(1, 14):
        made.line(f"{number}. Matters of Kind {number}", bold=True, font="Arial-Bold", gap=14)
        made.prose(5)
        made.turn()
    for title in ("Signatures", "Addresses"):
        made.heading(title, size=12)
        made.prose(3)
    return made


def test_where_only_a_part_is_numbered_titles_without_a_number_are_headings_elsewhere() -> None:
    titles = [title for _, title, _ in found_in(filing())]
    assert titles[: titles.index("Financial Statements")] == ["Review of the Year", "Overview", "Outlook", "Liquidity"]


def test_labels_among_rows_of_figures_are_no_headings() -> None:
    assert not {"Liabilities", "Equity"} & {title for _, title, _ in found_in(filing())}


def test_a_label_below_the_years_of_a_statement_is_no_heading() -> None:
    made = filing()
    made.turn()
    made.line("Statement of Berths", bold=True, font="Arial-Bold", gap=14)
    made.line("2023 2022 2021", x=300, gap=8)
    made.line("Quays let", bold=True, font="Arial-Bold", gap=8)
    for number in range(1, 9):
        made.line(f"Quay {number}", gap=8)
        made.line(f"{number * 17} {number * 19} {number * 23}", x=300, beside=True)
    titles = {title for _, title, _ in found_in(made)}
    assert "Statement of Berths" in titles
    assert "Quays let" not in titles


def test_what_the_contents_do_not_name_stands_below_what_they_do() -> None:
    levels = {title: level for _, title, level in found_in(filing())}
    assert levels["Overview"] == levels["Review of the Year"] + 1
    assert levels["Addresses"] == levels["Signatures"] == levels["Review of the Year"]


def test_a_heading_counted_as_listed_ones_are_is_one_of_them() -> None:
    made = Sheets()
    made.line("CONTENTS")
    for number in (1, 2, 4, 5, 6, 7):
        made.line(f"Item {number}. Matters of Kind {number}")
        made.line(str(number + 1), x=500, beside=True)
    for number in range(1, 8):
        made.turn()
        made.line(f"Item {number}. Matters of Kind {number}", bold=True, font="Arial-Bold", gap=14)
        made.prose(12)
        made.line(f"Remarks of Kind {number}", bold=True, font="Arial-Bold", gap=14)
        made.prose(12)
    levels = [(title, level) for _, title, level in found_in(made)]
    assert [each for each in levels if each[0].startswith("Item")] == [
        (f"Item {number}. Matters of Kind {number}", 1) for number in range(1, 8)
    ]
    assert {level for title, level in levels if title.startswith("Remarks")} == {2}


def test_a_bold_item_beside_a_bullet_that_sits_lower_is_no_heading() -> None:
    made = report()
    for name in ("Harbour", "Quay", "Lock"):
        made.line("•", x=60, font="Symbol", gap=4)
        made.y -= 4.5
        made.line(f"{name}: closed for the whole of the winter.", bold=True, font="Arial-Bold", beside=True)
        made.y += 4.5
    assert not [title for _, title, _ in found_in(made) if "closed" in title]


def test_units_in_brackets_under_a_title_are_no_heading() -> None:
    made = report()
    made.turn()
    made.heading("Statement of Cash Flows", size=12)
    made.line("(in thousands, except per share data)", size=12, bold=True, font="Arial-Bold", gap=8)
    made.prose()
    found = [title for _, title, _ in found_in(made)]
    assert "Statement of Cash Flows" in found
    assert not [title for title in found if title.startswith("(")]


@pytest.mark.parametrize("bookmarked", [True, False])
def test_a_chapters_number_on_a_line_of_its_own_is_that_of_its_title(bookmarked: bool) -> None:
    pages = sheet()
    for number, name in enumerate(("Overview", "Operation", "Errors"), 1):
        pages.y = 200
        pages.line(f"Chapter {number}", size=20, font="Helvetica-Bold", step=25)
        pages.heading(name, 24, bookmark=0 if bookmarked else None)
        for part in (1, 2):
            pages.paragraph(*[SENTENCE] * 4)
            pages.heading(f"{number}.{part} Part {'ab'[part - 1] * number}", 14, bookmark=1 if bookmarked else None)
            pages.paragraph(*[SENTENCE] * 4)
        pages.next_page()
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))
    chapters = [(each.number, each.title) for each in document.sections if each.level == 1]
    assert chapters == [("1", "Overview"), ("2", "Operation"), ("3", "Errors")]
    assert document.text.startswith("Chapter 1 Overview\n")


def test_a_parts_number_is_not_that_of_the_item_below_it() -> None:
    pages = sheet()
    for number, name in enumerate(("Business", "Risk Factors", "Properties"), 1):
        pages.y = 90
        pages.line("PART I", size=14, font="Helvetica-Bold", step=20)
        pages.heading(f"Item {number}. {name}", 12, bookmark=0)
        pages.paragraph(*[SENTENCE] * 4)
        pages.next_page()
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))
    assert [each.number for each in document.sections if each.title.startswith("Item")] == [None] * 3
    assert "PART I Item" not in document.text


def named_in_part(*bookmarked: str) -> list[tuple[int, str | None, str]]:
    """Read a standard whose bookmarks are some of its titles; return level, number and title of its sections."""
    pages = sheet()
    for title in ("Changes", "Contents", "1 Scope", "2 Materials", "3 Tests", "4 Marks", "Task 1", "Task 2"):
        pages.heading(title, size=14, bookmark=0 if title in bookmarked else None)
        pages.paragraph(SENTENCE)
        if title[0].isdigit():
            pages.heading(f"{title[0]}.1 General", size=12)
            pages.paragraph(SENTENCE)
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))
    return [(section.level, section.number, section.title) for section in document.sections]


def test_chapters_that_bookmarks_of_other_titles_leave_out_are_sections_beside_them() -> None:
    found = named_in_part("Changes", "Contents", "1 Scope", "Task 1", "Task 2")
    assert [(level, number) for level, number, _ in found if number] == [
        *((1, "1"), (2, "1.1"), (1, "2"), (2, "2.1"), (1, "3"), (2, "3.1"), (1, "4"), (2, "4.1"))
    ]
    assert [level for level, number, _ in found if not number] == [1, 1, 1, 1]


def test_chapters_are_not_added_to_bookmarks_that_name_most_of_them() -> None:
    assert (1, "4") not in [each[:2] for each in named_in_part("1 Scope", "2 Materials", "3 Tests")]


def test_policies_are_sections_below_the_chapters_that_bookmarks_name() -> None:
    pages = sheet()
    for chapter, letters in enumerate(("HO", "GB", "W"), 1):
        pages.heading(f"{chapter} Chapter of {letters}", size=16, bookmark=0)
        pages.paragraph(SENTENCE)
        for number in (1, 2):
            pages.heading(f"{letters}{number}: Policy on a matter", size=10)
            pages.paragraph(f"1. {SENTENCE}")
            pages.paragraph(f"2. {SENTENCE}")
        pages.next_page()
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))
    found = [(section.level, section.number, section.title) for section in document.sections]
    assert found[:3] == [(1, "1", "Chapter of HO"), (2, "HO1", "Policy on a matter"), (2, "HO2", "Policy on a matter")]
    assert [number for _, number, _ in found] == ["1", "HO1", "HO2", "2", "GB1", "GB2", "3", "W1", "W2"]
