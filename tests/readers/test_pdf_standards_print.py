"""Standards as their publishers print them: the title again above the first clause, sentences led by a bold name."""

from __future__ import annotations

from dataclasses import replace

import pytest
from liteparse.types import AnnotationRect, LayoutBlock, LayoutCell, TextItem

from knowledge_mcp.language.openings import split_clause_number
from knowledge_mcp.readers.pdf.flow.guessed_tables import tables_of
from knowledge_mcp.readers.pdf.flow.margins import take_line_numbers
from knowledge_mcp.readers.pdf.headings.clauses import untitled_clauses
from knowledge_mcp.readers.shared.layout import Line, Table
from tests.readers.sheets import PROSE, Sheets, found_in, headings_in


def standard(*, title: tuple[str, ...], clauses: int = 4) -> Sheets:
    """Make a cover, contents, foreword, introduction, and clauses below the title that stands there again."""
    made = Sheets()
    for line in title:
        made.line(line, size=18, bold=True, font="Arial-Bold", gap=20)
    made.turn()
    made.line("Contents", size=16, bold=True, font="Arial-Bold")
    entries = [
        ("Foreword", "iii"),
        ("Introduction", "iv"),
        *((f"{n} Clause {'abcdef'[n] * 4}", str(n)) for n in range(1, clauses + 1)),
    ]
    for words, page in entries:
        made.line(f"{words} {'.' * 40} {page}", gap=4)
    for name in ("Foreword", "Introduction"):
        made.turn()
        made.line(name, size=16, bold=True, font="Arial-Bold")
        made.prose(10)
    made.turn()
    for line in title:
        made.line(line, size=18, bold=True, font="Arial-Bold", gap=10)
    for number in range(1, clauses + 1):
        made.heading(f"{number} Clause {'abcdef'[number] * 4}")
        made.prose(8)
    return made


def test_the_title_again_above_the_first_clause_is_no_section_nor_its_part_a_clause() -> None:
    found = found_in(standard(title=("Pumps of the plant - Specifications -", "Part 1:", "Valves")))
    assert [(number, title) for number, title, _ in found] == [
        (None, "Foreword"), (None, "Introduction"),
        ("1", "Clause bbbb"), ("2", "Clause cccc"), ("3", "Clause dddd"), ("4", "Clause eeee"),
    ]  # fmt: skip


def test_a_chapter_that_the_cover_names_stays_a_section() -> None:
    made = standard(title=("Introduction to the pumps",))
    assert (None, "Introduction", 1) in found_in(made)


def _led(*sentences: str, stops: tuple[str, ...] = ()) -> Sheets:
    """Make clauses with bold names that lead a sentence, whose first line the parser gives the face of the name."""
    made = Sheets()
    for chapter in made.chapters(4):
        if chapter == 2:
            for number, text in enumerate(sentences, 1):
                made.line(f"2.2.{number} {text} {PROSE}", bold=True, font="Times-Bold", gap=6)
                made.line("and goes on in plain print to its end.")
            for number, text in enumerate(stops, len(sentences) + 1):
                made.line(f"2.2.{number} {text}", bold=True, font="Times-Bold", gap=6)
            made.prose()
    return made


def test_a_name_that_leads_a_sentence_is_its_title() -> None:
    found = found_in(_led("Sample divider, which has", stops=("Sieve, with round holes.", "Tweezers.")))
    assert [(number, title) for number, title, _ in found if number and number.startswith("2.2.")] == [
        ("2.2.1", "Sample divider"), ("2.2.2", "Sieve"), ("2.2.3", "Tweezers."),
    ]  # fmt: skip


def test_titles_with_commas_stay_whole_where_no_sentence_is_led() -> None:
    found = found_in(_led(stops=("Valves, pipes and tanks.", "Tweezers.")))
    assert ("2.2.1", "Valves, pipes and tanks.", 3) in found


def test_a_sentence_behind_a_bold_number_is_no_title() -> None:
    made = _led("The divider is kept", "The sieve is kept")
    headings = headings_in(made)
    assert not [heading.title for heading in headings if (heading.number or "").startswith("2.2.")]
    found = untitled_clauses(made.pages, headings)
    assert [(heading.number, heading.title) for heading in found] == [("2.2.1", ""), ("2.2.2", "")]


def _numbered() -> Sheets:
    """Make chapters with numbers alone above the text of their clauses."""
    made = Sheets()
    for clause in range(1, 5):
        made.heading(f"{clause} Chapter {'abcd'[clause - 1] * 3}")
        made.prose()
        for part in (1, 2):
            made.line(f"{clause}.{part}", bold=True, font="Times-Bold", gap=8)
            made.prose()
    return made


def test_a_number_alone_above_its_text_is_a_clause_without_a_title() -> None:
    made = _numbered()
    found = untitled_clauses(made.pages, headings_in(made))
    assert [heading.number for heading in found] == [f"{clause}.{part}" for clause in range(1, 5) for part in (1, 2)]


def test_a_heading_whose_number_is_a_year_leaves_the_numbering_as_it_was() -> None:
    made = _numbered()
    headings = headings_in(made)
    headings[1] = replace(headings[1], number="2.1999")
    found = untitled_clauses(made.pages, headings)
    assert [heading.number for heading in found] == ["1.1", "1.2", "3.1", "3.2", "4.1", "4.2"]


def test_a_section_has_the_bold_title_that_stands_below_its_number() -> None:
    made = Sheets()
    for section, title in enumerate(("General", "Process", "Prerequisites", "Approval"), 1):
        made.line(f"SECTION {section}", gap=14)
        made.line(title, x=260, size=13, bold=True, font="Times-Bold", gap=14)
        made.prose(8)
    assert [(number, title) for number, title, _ in found_in(made)] == [
        ("1", "General"), ("2", "Process"), ("3", "Prerequisites"), ("4", "Approval"),
    ]  # fmt: skip


def test_what_stands_beside_a_running_head_is_no_heading() -> None:
    made = standard(title=("Pumps of the plant",))
    for page in made.pages:
        designation = Line(page.number, "XYZ 17301-1:2016(E)", 420, 38, 540, 48, 12, bold=True, font="Arial-Bold")
        page.elements.insert(0, designation)
    first = made.pages[4]
    first.elements[0] = Line(5, "XYZ 17301-1:2016(E)", 420, 46, 540, 56, 12, bold=True, font="Arial-Bold")
    first.elements.insert(0, Line(5, "FINAL DRAFT STANDARD", 72, 40, 220, 50, 12, bold=True, font="Arial-Bold"))
    titles = [title for _, title, _ in found_in(made)]
    assert "Foreword" in titles
    assert not [title for title in titles if "DRAFT" in title or "17301" in title]


def test_a_title_above_a_line_that_pages_repeat_stays_a_heading() -> None:
    made = Sheets()
    titles = ("Retail trade", "Wholesale trade", "Services", "Transport", "Mining", "Construction")
    for title in titles:
        made.y = 10
        made.line(title, bold=True, font="Times-Bold")
        made.line("[In millions of dollars, except as indicated]", size=8, gap=6)
        made.prose(12)
        made.turn()
    assert [title for _, title, _ in found_in(made)] == list(titles)


def test_codes_and_legal_lines_are_no_headings() -> None:
    made = Sheets()
    for title in ("Benefits", "Costs", "Outlook", "COPYRIGHT PROTECTED DOCUMENT", "ICS 67.060.100"):
        made.heading(title)
        made.prose(8)
        made.turn()
    assert [title for _, title, _ in found_in(made)] == ["Benefits", "Costs", "Outlook"]


def test_a_clause_that_the_engine_takes_into_a_table_ends_it() -> None:
    rows = [["a", "Stones and sand."], ["b", "Seeds and husks."], ["5", "Sampling"], ["Samples", "are taken here."]]
    lines = [
        Line(1, " ".join(row), 72, 100 + 20 * at, 300, 110 + 20 * at, 9, bold=False, font="Arial", gap=12)
        for at, row in enumerate(rows)
    ]
    lines[2].size, lines[2].bold = 12, True
    cells = [[LayoutCell(text, bbox=AnnotationRect(72, 100, 200, 70)) for text in row] for row in rows]
    found = tables_of(LayoutBlock(kind="table", header=cells[0], rows=cells[1:]), lines, 1)
    assert found is not None
    assert isinstance(found[0], Table)
    assert found[0].rows == rows[:2]
    assert found[1:] == lines[2:]


def test_numbers_of_lines_that_the_parser_joins_go_too() -> None:
    from liteparse.types import ParsedPage

    def item(text: str, x: float, y: float) -> TextItem:
        return TextItem(text=text, x=x, y=y, width=5.0 * len(text), height=10.0)

    words = [item("The pump stops.", 90, 20.0 * at) for at in range(9)]
    numbers = [item(text, 60, 20.0 * at) for at, text in enumerate(("1", "2", "3", "4", "5", "67", "8", "9", "10"))]
    page = ParsedPage(page_num=1, width=595, height=842, text="", text_items=[*words, *numbers])
    take_line_numbers([page])
    assert [one.text for one in page.text_items] == [one.text for one in words]


def test_clauses_at_the_head_of_pages_stay_whose_numbers_have_a_stop() -> None:
    made = Sheets()
    numbers = ["6.2.1", "6.3.4", "6.4.5", "6.5.2", "6.6.1"]
    for number in numbers:
        made.y = 30
        made.line(f"{number}. Light source", bold=True, font="Times-Bold")
        made.prose(30)
        made.turn()
    assert [number for number, _, _ in found_in(made)] == numbers


def test_lines_that_go_on_below_in_italics_are_no_headings() -> None:
    made = Sheets()
    for title in ("1 Scope", "2 Apparatus", "3 Reagents", "4 Procedure"):
        made.line(title, size=10.5, font="Times-Italic", gap=14)
        made.prose(12)
    made.line("Bibliography", size=13, bold=True, font="Times-Bold", gap=14)
    for number in range(1, 4):
        made.line(f"[{number}] The title of a document that is named here and goes on for", size=10.5, gap=4)
        made.line(f"certain other parts {'abcdef'[number] * 3}", x=105, size=10.5, font="Times-Italic")
    assert not [title for _, title, _ in found_in(made) if title.startswith("certain")]


@pytest.mark.parametrize("number", ["IV.1.2", "II.2"])
def test_clauses_of_appendices_with_roman_numbers_have_their_numbers(number: str) -> None:
    assert split_clause_number(f"{number}. Test apparatus").number == number
