"""Headings of documents without an outline: contents pages, numbering that holds together, the styles of headings."""

from __future__ import annotations

import random

import pytest

from knowledge_mcp.readers.pdf.candidates import body_of
from knowledge_mcp.readers.pdf.contents import Contents, Entry, take_contents
from knowledge_mcp.readers.pdf.engine import OutlineEntry
from knowledge_mcp.readers.pdf.furniture import remove_furniture
from knowledge_mcp.readers.pdf.headings import Heading, detect_headings
from knowledge_mcp.readers.pdf.layout import Line, PageLayout
from knowledge_mcp.readers.pdf.outline import listed_headings, outline_headings
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, item_of, sheet

WORDS = "when samples stay dry in store each probe waits until someone who knows it well has come again".split()
PROSE = "running text that goes from one edge of the column to the other and says nothing in particular at all"


class Sheets:
    """Lay out pages by hand, line after line."""

    def __init__(self) -> None:
        self.pages: list[PageLayout] = []
        self._words = random.Random(7)
        self.turn()

    def turn(self) -> None:
        """Begin a page."""
        self.pages.append(PageLayout(len(self.pages) + 1, 600, 800))
        self.y = 120.0

    def line(
        self,
        text: str,
        *,
        x: float = 72,
        size: float = 10,
        bold: bool = False,
        font: str = "Times",
        gap: float = 0,
        lead: int = 0,
        beside: bool = False,
    ) -> None:
        """Put a line below the last one, `gap` points lower than its pitch asks for, or beside it."""
        self.y += 0 if beside else 1.2 * size + gap
        width = min(len(text) * 0.5 * size, 456 - (x - 72))
        page = self.pages[-1]
        page.elements.append(
            Line(page.number, text, x, self.y, x + width, self.y + size, size, bold=bold, font=font, lead=lead)
        )

    def prose(self, lines: int = 4) -> None:
        """Put a paragraph."""
        for index in range(lines):
            words = [self._words.choice(WORDS) for _ in range(15)]
            self.line(" ".join(words), gap=6 if index == 0 else 0)

    def heading(self, text: str, size: float = 14) -> None:
        """Put a line that stands out."""
        self.line(text, size=size, bold=True, font="Arial-Bold", gap=12)


def contents_of(made: Sheets) -> Contents:
    return take_contents(made.pages)


def found_in(made: Sheets) -> list[tuple[str | None, str, int]]:
    return [(heading.number, heading.title, heading.level) for heading in headings_in(made)]


def headings_in(made: Sheets) -> list[Heading]:
    remove_furniture(made.pages)
    listed = listed_headings(contents_of(made).entries, made.pages)
    return detect_headings(made.pages, body_of(made.pages), listed)


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
    for clause in range(1, 7):
        made.heading(f"{clause} Chapter {'abcdef'[clause - 1] * 3}")
        made.prose()
        for part in (1, 2):
            made.heading(f"{clause}.{part} Section {'gh'[part - 1] * 3}", 12)
            made.prose()
            if (clause, part) == (3, 2):
                for item in range(1, 6):
                    text = f"{item}. Recorders have a name for each item."
                    made.line(f"{text} {PROSE}", x=90, bold=True, font="Times-Bold", gap=6, lead=len(text))
                    made.prose(2)
        made.turn()
    assert [number for number, _, _ in found_in(made) if number in set("123456")] == list("123456")


@pytest.mark.requirement("A-REQ-INGEST-003")
def test_an_annex_has_the_title_that_is_centred_below_its_letter() -> None:
    made = clauses()
    made.line("APPENDIX A", x=250)
    made.line("LIST OF ACRONYMS", x=236, gap=14)
    made.prose()
    assert found_in(made)[-1] == ("A", "LIST OF ACRONYMS", 1)


def test_a_run_in_title_is_told_by_its_face() -> None:
    made = clauses(f"2.1.1 Sample preservation - {PROSE}")
    line = next(line for page in made.pages for line in page.lines if line.text.startswith("2.1.1"))
    line.font, line.lead = "Times-Italic", len("2.1.1 Sample preservation")
    heading = next(heading for heading in headings_in(made) if heading.number == "2.1.1")
    assert (heading.title, heading.cut) == ("Sample preservation", line.lead)


# ---- without a number


def report(extra: str = "", *, gap: float = 4) -> Sheets:
    """Make a report whose headings are bold italics with little space above, one over two lines, one with a stop."""
    made = Sheets()
    for title in ("Introduction", "Benefits of an audit", "Review of guides and of reports.", "Costs", "Outlook"):
        made.line(title, size=10, bold=True, font="Arial-BoldItalic", gap=gap)
        made.prose(8)
        if extra:
            made.line(extra, bold=True, font="Times-Bold")
            made.line("12.3", x=300, bold=True, font="Times-Bold", beside=True)
        made.turn()
    return made


def test_a_style_that_only_titles_have_makes_headings_of_all_of_them() -> None:
    titles = [title for _, title, _ in found_in(report())]
    assert titles == ["Introduction", "Benefits of an audit", "Review of guides and of reports.", "Costs", "Outlook"]


def test_bold_cells_of_a_table_row_are_no_headings() -> None:
    assert found_in(report("Total of all")) == found_in(report())


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
def test_notes_numbered_anew_or_few_or_set_like_text_are_notes(numbers: tuple[int, ...], *, bold: bool) -> None:
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


def test_a_heading_without_number_in_the_face_of_the_numbered_ones_stands_below_them() -> None:
    made = Sheets()
    for clause in range(1, 9):
        made.heading(f"{clause} Chapter {'abcdefgh'[clause - 1] * 3}")
        made.prose()
        for part in (1, 2):
            made.heading(f"{clause}.{part} Section {'gh'[part - 1] * 3}", 12)
            made.prose()
        if clause in {3, 5}:
            made.heading("Paging of answers" if clause == 3 else "Discovery of services", 10)
            made.prose()
        made.turn()
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
    entries = [OutlineEntry("Cover page", 1, 1, None)]
    entries += [
        OutlineEntry(f"{number}. Clause of {'abcd'[number - 1] * 4}", 1, number, None) for number in range(2, 5)
    ]
    entries.append(OutlineEntry("Figure 3", 2, 2, None))
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
    entries = [
        OutlineEntry(text[:60], 1, 1, None) for text in (title, "Another chapter of it", "The last chapter of it")
    ]
    assert outline_headings(entries, made.pages)[0].title == title


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
