"""Headings of documents without an outline: contents pages, numbering that holds together, the styles of headings."""

from __future__ import annotations

import random

import pytest

from knowledge_mcp.readers.pdf.engine import Bookmark
from knowledge_mcp.readers.pdf.headings.contents import Entry
from knowledge_mcp.readers.pdf.headings.outline import outline_headings
from knowledge_mcp.readers.pdf.reader import PdfReader
from knowledge_mcp.readers.shared.layout import PageLayout
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, item_of, sheet
from tests.readers.sheets import PROSE, WORDS, Sheets, contents_of, found_in, headings_in, report

# ---- contents pages


def method() -> Sheets:
    """Make contents in three columns, with clauses that stand under headings without a number, and the text."""
    made = Sheets()
    made.line("CONTENTS")
    entries = [
        ("", "Introduction", 1),
        ("", "Analytical method", 1),
        ("1.", "Scope", 2),
        ("2.", "Apparatus and equipment", 2),
        ("2.1", "Glass that is kept clean", 3),
        ("3.", "Reagents", 3),
        ("", "Conclusions", 4),
    ]
    for number, title, page in entries:
        left = {0: 72.0, 1: 86.0}.get(len(number.rstrip(".")), 110.0)
        made.line(number or title, x=left)
        if number:
            made.line(title, x=left + 20, beside=True)
        made.line(str(page), x=490, beside=True)
    made.turn()
    for number, title, page in entries:
        while len(made.pages) < page + 1:
            made.turn()
        if "." in number.rstrip("."):
            made.line(f"{number} {title} - {PROSE}", gap=6)
        else:
            made.line(f"{number} {title}" if number else title.upper(), bold=True, font="Times-Bold", gap=10)
        made.prose(6)
    return made


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_contents_in_columns_are_read_row_by_row() -> None:
    made = method()
    contents = contents_of(made)
    assert contents.pages == [1]
    assert contents.entries[:5] == [
        Entry("Introduction", 1, 2),
        Entry("Analytical method", 1, 2),
        Entry("1. Scope", 2, 3),
        Entry("2. Apparatus and equipment", 2, 3),
        Entry("2.1 Glass that is kept clean", 3, 4),
    ]
    assert [line.text for line in made.pages[0].lines] == ["CONTENTS"]


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_what_the_contents_name_are_the_headings_as_deep_as_they_say() -> None:
    assert found_in(method()) == [
        (None, "INTRODUCTION", 1),
        (None, "ANALYTICAL METHOD", 1),
        ("1", "Scope", 2),
        ("2", "Apparatus and equipment", 2),
        ("2.1", "Glass that is kept clean", 3),
        ("3", "Reagents", 2),
        (None, "CONCLUSIONS", 1),
    ]


def test_lists_of_figures_and_tables_go_with_the_contents_and_name_no_heading() -> None:
    made = method()
    made.pages.insert(1, PageLayout(0, 600, 800))
    for number, page in enumerate(made.pages, 1):
        page.number = number
        for line in page.lines:
            line.page = number
    listing = Sheets()
    listing.line("LIST OF TABLES")
    for index in range(1, 7):
        listing.line(f"2.{index} Sizes of bottle number {index}")
        listing.line(str(index), x=490, beside=True)
    made.pages[1].elements = list(listing.pages[0].elements)
    contents = contents_of(made)
    assert contents.pages == [1, 2]
    assert not any("bottle" in entry.title for entry in contents.entries)
    assert not any("bottle" in line.text for page in made.pages for line in page.lines)


def test_an_entry_over_two_lines_is_one_entry() -> None:
    made = Sheets()
    made.line("Contents")
    titles = ["1 Scope", "2 Requirements for recorders that are left alone for months", "3 Tests", "4 Marks", "5 End"]
    for title in titles:
        words = title.split()
        if len(words) > 4:
            made.line(" ".join(words[:5]))
            made.line(" ".join(words[5:]), x=90)
        else:
            made.line(title)
        made.line(str(int(words[0]) + 1), x=490, beside=True)
    for title in titles:
        made.turn()
        made.heading(title)
        made.prose()
    assert [entry.title for entry in contents_of(made).entries] == titles


def test_contents_without_pages_below_their_title_in_another_language_name_the_headings_once() -> None:
    made = Sheets()
    made.line("Inhaltsübersicht")
    names = ("Zweck", "Form der Prüfung von Gruppen (§ 8 Satzung)", "Aufbau", "Dauer", "Fristen", "Sprache")
    titles = [f"§ {number} {name}" for number, name in enumerate(names, 1)]
    for title in titles:
        start, bracket, rest = title.partition(" (")
        made.line(start)
        if bracket:
            made.line(f"({rest}", x=90)
    made.turn()
    ending = ["I. Schluss und Übergang", "§ 7 Aufsicht", "§ 8 Geltung ab Mai"]
    for title in ending:
        made.line(title)
    for title in (*titles, *ending):
        made.heading(title)
        made.prose(20)
        made.turn()
    contents = contents_of(made)
    assert [entry.title for entry in contents.entries] == [*titles, *ending]
    assert contents.pages == [1]
    assert [line.text for page in made.pages[:2] for line in page.lines][:2] == ["Inhaltsübersicht", "§ 1 Zweck"]


# ---- numbering


def clauses(*deeper: str) -> Sheets:
    """Make four clauses in plain print whose titles run into their text; lines of `deeper` stand below 2.1."""
    made = Sheets()
    for clause in range(1, 5):
        made.line(f"{clause}. Clause of {'abcd'[clause - 1] * 4}. {PROSE}", gap=12)
        made.prose(2)
        for part in (1, 2, 3):
            made.line(f"{clause}.{part} Part {'klm'[part - 1] * 3} here. {PROSE}", gap=12)
            made.prose(2)
            if (clause, part) == (2, 1):
                made.y += 12
                for text in deeper:
                    made.line(text, x=110)
        made.turn()
    return made


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_titles_that_run_into_their_text_are_headings_at_the_first_depth_too() -> None:
    found = found_in(clauses())
    assert found[:3] == [("1", "Clause of aaaa", 1), ("1.1", "Part kkk here", 2), ("1.2", "Part lll here", 2)]
    assert len(found) == 16


def test_numbered_lines_that_follow_one_another_without_text_are_a_list() -> None:
    listed = [f"2.1.{index} Kind of item {'vwxyz'[index]} to be planned" for index in range(1, 5)]
    assert found_in(clauses(*listed)) == found_in(clauses())


def test_a_numbered_paragraph_is_no_heading() -> None:
    paragraph = f"2.1.1 Samples are taken by the recorder {PROSE}"[:88]
    assert found_in(clauses(paragraph, "and kept in the store until they are read.")) == found_in(clauses())


def test_a_clause_numbered_with_an_x_belongs_to_its_clause() -> None:
    found = found_in(clauses(f"2.1.x (Name of the interface). {PROSE}"))
    assert ("2.1.x", "(Name of the interface)", 3) in found


def test_a_bold_item_of_a_list_does_not_take_the_place_of_a_clause() -> None:
    made = Sheets()
    for chapter in made.chapters(6):
        for item in range(1, 6) if chapter == 3 else ():
            text = f"{item}. Recorders have a name for each item."
            made.line(f"{text} {PROSE}", x=90, bold=True, font="Times-Bold", gap=6, lead=len(text))
            made.prose(2)
    assert [number for number, _, _ in found_in(made) if number in set("123456")] == list("123456")


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_an_annex_has_the_title_that_is_centred_below_its_letter() -> None:
    made = clauses()
    made.line("APPENDIX A", x=250)
    made.line("LIST OF ACRONYMS", x=236, gap=14)
    made.prose()
    assert found_in(made)[-1] == ("A", "LIST OF ACRONYMS", 1)


def test_a_run_in_title_is_recognised_by_its_face() -> None:
    made = clauses(f"2.1.1 Sample preservation - {PROSE}")
    line = next(line for page in made.pages for line in page.lines if line.text.startswith("2.1.1"))
    line.font, line.lead = "Times-Italic", len("2.1.1 Sample preservation")
    heading = next(heading for heading in headings_in(made) if heading.number == "2.1.1")
    assert (heading.title, heading.cut) == ("Sample preservation", line.lead)


# ---- without a number


def test_a_style_that_only_titles_have_makes_headings_of_all_of_them() -> None:
    titles = [title for _, title, _ in found_in(report())]
    assert titles == ["Introduction", "Benefits of an audit", "Review of guides and of reports.", "Costs", "Outlook"]


def test_bold_cells_of_a_table_row_are_no_headings() -> None:
    assert found_in(report("Total of all")) == found_in(report())


def test_a_heading_without_number_in_the_face_of_the_numbered_ones_stands_below_them() -> None:
    made = Sheets()
    for chapter in made.chapters(8):
        if chapter in {3, 5}:
            made.heading("Paging of answers" if chapter == 3 else "Discovery of services", 10)
            made.prose()
    found = found_in(made)
    assert [(title, level) for number, title, level in found if number is None] == [
        ("Paging of answers", 3),
        ("Discovery of services", 3),
    ]


# ---- running lines


def test_a_foot_in_large_print_that_counts_the_pages_is_no_heading() -> None:
    made = Sheets()
    for page in range(1, 7):
        made.heading(f"Table about {'abcdef'[page - 1] * 4}", 16)
        made.prose(9)
        made.y = 750
        made.line(f"{640 + page} Domestic Trade", size=16, font="Arial")
        made.turn()
    assert all("Domestic" not in title for _, title, _ in found_in(made))


# ---- bookmarks


def test_a_bookmark_without_its_words_names_the_place_it_points_to() -> None:
    made = clauses()
    entries = [Bookmark("Cover page", 1, 1, None)]
    entries += [Bookmark(f"{number}. Clause of {'abcd'[number - 1] * 4}", 1, number, None) for number in range(2, 5)]
    entries.append(Bookmark("Figure 3", 2, 2, None))
    found = outline_headings(entries, made.pages)
    assert (found[0].title, found[0].page, found[0].number) == ("Cover page", 1, None)
    assert found[0].lines[0].text.startswith("1. Clause")
    assert [heading.title for heading in found[1:]] == ["Clause of bbbb", "Clause of cccc", "Clause of dddd"]


def test_a_bookmark_that_was_cut_short_finds_its_whole_title() -> None:
    made = Sheets()
    title = "Guidelines for the safety audit of roads and of road projects in the whole of the country"
    for text in (title, "Another chapter of it", "The last chapter of it"):
        made.heading(text)
        made.prose()
    entries = [Bookmark(text[:60], 1, 1, None) for text in (title, "Another chapter of it", "The last chapter of it")]
    assert outline_headings(entries, made.pages)[0].title == title


def test_bookmarks_of_tables_and_figures_are_no_sections() -> None:
    made = Sheets()
    made.heading("1 Scope")
    made.prose()
    made.line("Figure 1 - Parts of the pump")
    made.heading("2 Materials")
    made.prose()
    made.turn()
    made.heading("3 Tests")
    made.line("Table 1 - Limits of the tests")
    made.prose()
    titles = ["1 Scope", "Figure 1 - Parts of the pump", "2 Materials", "3 Tests", "Table 1 - Limits of the tests"]
    pages = [1, 1, 1, 2, 2]
    entries = [Bookmark(title, 1, page, None) for title, page in zip(titles, pages, strict=True)]
    lists = [Bookmark("Figures", 1, 1, None), Bookmark(titles[1], 2, 1, None), Bookmark("a) its side", 2, 1, None)]
    for some in (entries, [*entries, *lists]):
        assert [heading.title for heading in outline_headings(some, made.pages)] == ["Scope", "Materials", "Tests"]


def test_a_list_of_requirements_after_the_bookmarks_of_sections_makes_no_sections() -> None:
    made = Sheets()
    for title in ("1 Scope", "2 Materials"):
        made.heading(title)
        made.prose()
        made.line(f"REQUIREMENT {title[0]}")
        made.prose()
    made.turn()
    made.heading("Annex A Requirement class tests")
    made.prose()
    titles = [("1 Scope", 1), ("2 Materials", 1), ("Annex A Requirement class tests", 2)]
    entries = [Bookmark(title, 1, page, None) for title, page in titles]
    names = ["Requirement 1", "Requirement 2", "Conformance class A.1"]
    lists = [Bookmark(name, 2, 1, 500.0 + place) for place, name in enumerate(names)]
    for header in ([], [Bookmark("List of requirements", 1, 1, None)]):
        found = outline_headings([*entries, *header, *lists], made.pages)
        assert [heading.title for heading in found] == ["Scope", "Materials", "Requirement class tests"]


def test_a_roman_number_of_a_bookmark_is_no_part_of_the_printed_title() -> None:
    made = Sheets()
    for text in ("I ABSTRACT", "II KEYWORDS", "1 SCOPE"):
        made.heading(text)
        made.prose()
    entries = [Bookmark(title, 1, 1, None) for title in ("I. Abstract", "II. Keywords", "1. Scope")]
    found = outline_headings(entries, made.pages)
    assert [(each.number, each.title) for each in found] == [("I", "ABSTRACT"), ("II", "KEYWORDS"), ("1", "SCOPE")]


def test_the_levels_of_clauses_after_the_bookmark_of_a_table_are_those_of_their_numbers() -> None:
    made = Sheets()
    titles = ["5 Tests", "5.2 Means of testing", "5.2.1 Gauges", "Table 1 - Gauges", "5.2.2 Scales", "6 Reports"]
    for title in titles:
        made.heading(title)
        made.prose()
    levels = [1, 2, 3, 1, 2, 1]
    entries = [Bookmark(title, level, 1, None) for title, level in zip(titles, levels, strict=True)]
    assert [heading.level for heading in outline_headings(entries, made.pages)] == [1, 2, 3, 3, 1]


def test_a_bookmark_numbers_a_heading_whose_number_touches_its_title_or_stands_alone() -> None:
    made = Sheets()
    for text in ("6.3 Rules", "6.3.1", "6.3.2Rated sale"):
        made.heading(text)
        made.prose()
    entries = [Bookmark(title, 1, 1, None) for title in ("6.3 Rules", "6.3.1", "6.3.2 Rated sale")]
    found = outline_headings(entries, made.pages)
    assert [(each.number, each.title) for each in found] == [("6.3", "Rules"), ("6.3.1", ""), ("6.3.2", "Rated sale")]


# ---- whole files


@pytest.mark.requirement("A-REQ-INGEST-002")
def test_neither_order_of_drawing_nor_columns_change_what_is_read() -> None:
    def page_lines(number: int) -> list[tuple[float, float, str, float]]:
        lines = [(LEFT, 40.0, "KM 100:2026 Sample recorders", 9.0), (280.0, 810.0, f"Page {number}", 9.0)]
        words = random.Random(number)
        for column in (0, 1):
            for row in range(30):
                text = f"Line {row} of {'ab'[column]}{number} {words.choice(WORDS)} {words.choice(WORDS)} and stays"
                lines.append((LEFT + 240 * column, 90.0 + 14 * row, text, 9.0))
        return lines

    texts: list[str] = []
    for shuffled in (False, True):
        pages = sheet()
        for number in range(1, 5):
            lines = page_lines(number)
            if shuffled:
                random.Random(number).shuffle(lines)
            for x, y, text, size in lines:
                pages.at(x, y, text, size)
            pages.next_page()
        texts.append(PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done())).text)
    assert texts[0] == texts[1]
    assert "Sample recorders" not in texts[0]
    assert "Page 2" not in texts[0]
    places = [texts[0].find(f"Line {row} of {column}3") for column in "ab" for row in range(30)]
    assert places == sorted(places)
    assert places[0] > 0


def test_a_heading_that_the_engine_takes_into_a_table_is_one_all_the_same() -> None:
    pages = sheet()
    for clause in range(1, 4):
        pages.heading(f"{clause} Chapter of {'abc'[clause - 1] * 4}", 16)
        pages.paragraph(SENTENCE, SENTENCE)
        pages.grid([["Term", "Meaning"], ["probe", "what takes samples"], ["store", "what keeps them"]], [120, 240])
        pages.heading(f"{clause}.1 Section of {'abc'[clause - 1] * 4}", 12)
        pages.paragraph(SENTENCE)
        pages.next_page()
    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))
    assert [section.number for section in document.sections] == ["1", "1.1", "2", "2.1", "3", "3.1"]
