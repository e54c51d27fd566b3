"""Regulations: annexes counted in figures whose clauses begin with 1 again, numbers that hang before their text."""

from __future__ import annotations

from liteparse.types import LayoutBlock, LayoutCell

from knowledge_mcp.model.document import Document, HeadingSource
from knowledge_mcp.readers.pdf.flow.guessed_tables import tables_of
from knowledge_mcp.readers.pdf.headings.clauses import put_in_annexes
from knowledge_mcp.readers.pdf.headings.numbered import Heading
from knowledge_mcp.readers.shared.layout import Line
from tests.readers.pdf_files import LEFT, SENTENCE, Sheet, read_pdf, sheet
from tests.readers.sheets import Sheets, contents_of

_HANGING = 57.0
_LONG = "The mass of the lamp shall be stated by its maker in the form that is shown in the annex, and it"


def _line(text: str, x: float = 72, y: float = 100) -> Line:
    return Line(1, text, x, y, x + 5 * len(text), y + 10, 10, bold=False, font="Arial")


def _clause(pages: Sheet, number: str, *lines: str) -> None:
    """Print a clause whose number hangs before its text."""
    pages.at(LEFT, pages.y, number)
    pages.paragraph(*lines, x=LEFT + _HANGING)


def _part(pages: Sheet, numbers: int) -> None:
    for number in range(1, numbers + 1):
        pages.heading(f"{number}. {('Scope', 'Definitions', 'Application', 'Marking')[number - 1]}", size=14)
        for below in (1, 2):
            _clause(pages, f"{number}.{below}.", _LONG, "shall not change.")


def _sections(document: Document) -> list[tuple[str | None, int]]:
    return [(section.number, section.level) for section in document.sections]


def test_clauses_of_annexes_that_count_in_figures_stand_below_their_annex() -> None:
    pages = sheet()
    _part(pages, 4)
    for annex in ("1", "2", "3"):
        pages.next_page()
        pages.paragraph(*[SENTENCE] * int(annex), x=LEFT + _HANGING)
        pages.heading(f"Annex {annex}", size=14)
        _part(pages, 2)

    below = [("1", 2), ("1.1", 3), ("1.2", 3), ("2", 2), ("2.1", 3), ("2.2", 3)]
    text = [(number, level - 1) for number, level in below]
    text += [("3", 1), ("3.1", 2), ("3.2", 2), ("4", 1), ("4.1", 2), ("4.2", 2)]
    assert _sections(read_pdf(pages)) == [*text, ("1", 1), *below, ("2", 1), *below, ("3", 1), *below]


def test_clauses_that_go_on_with_the_text_stay_beside_an_annex_between_them() -> None:
    words = (("Annex 1 Marks", "1", "Marks"), ("3 Application", "3", "Application"), ("3.1 Form", "3.1", "Form"))
    headings = [
        Heading([_line(text)], number.count(".") + 1, number, title, None, HeadingSource.NUMBERING, 0.9)
        for text, number, title in words
    ]
    put_in_annexes(headings, [])

    assert [heading.level for heading in headings] == [1, 1, 2]


def test_a_note_in_small_print_that_begins_further_left_hides_no_clause() -> None:
    pages = sheet()
    pages.heading("1. Scope", size=14)
    pages.paragraph(SENTENCE, x=LEFT + _HANGING)
    pages.heading("2. Application", size=14)
    for below in (1, 2):
        _clause(pages, f"2.{below}.", _LONG, "shall not change.")
    pages.line("1 As the resolution of the makers of lamps says in its second part.", size=8, x=LEFT - 12)

    assert [number for number, _ in _sections(read_pdf(pages))] == ["1", "2", "2.1", "2.2"]


def test_a_number_that_hangs_before_its_text_begins_a_clause_without_space_above() -> None:
    pages = sheet()
    pages.heading("1. Scope", size=14)
    pages.paragraph(SENTENCE, x=LEFT + _HANGING)
    pages.heading("2. Application", size=14)
    pages.line("What is asked of each lamp is checked at approval where that is feasible", x=LEFT + _HANGING, step=11)
    for below in (1, 2):
        _clause(pages, f"2.{below}.", _LONG, "shall not change.")

    assert [number for number, _ in _sections(read_pdf(pages))] == ["1", "2", "2.1", "2.2"]


def test_clauses_with_a_letter_in_their_hanging_numbers_are_no_table() -> None:
    rows = [["F4.2", "Wind tunnels"], ["F4.2.1", f"{_LONG} {SENTENCE}"], ["F4.2.2", f"{_LONG} {SENTENCE}"]]
    lines: list[Line] = []
    for at, row in enumerate(rows):
        for x, words in zip((72.0, 129.0), row, strict=True):
            lines.append(_line(words, x, 100 + 40 * at))
    cells = [[LayoutCell(text=cell) for cell in row] for row in rows]

    assert tables_of(LayoutBlock(kind="table", header=cells[0], rows=cells[1:]), lines, 1) is None


def test_contents_go_on_where_an_annex_and_its_title_with_the_page_are_a_line_each() -> None:
    made = Sheets()
    clauses = ["Scope", "Layout", "Encodings", "Charsets", "Headers", "Indexes"]
    annexes = ["Standard strings", "Known encodings", "Known charsets", "Example font", "File structure"]
    made.line("Contents", size=16, bold=True, gap=20)
    for number, title in enumerate(clauses, 1):
        made.line(f"{number} {title} {number + 2}", gap=4)
    made.turn()
    for letter, title in zip("ABCDE", annexes, strict=True):
        made.line(f"Appendix {letter}", bold=True, gap=4)
        made.line(f"{title} {ord(letter) - 56}", x=84, bold=True)
    for number, title in enumerate(clauses, 1):
        made.turn()
        made.heading(f"{number} {title}")
        made.prose(8)
    for letter, title in zip("ABCDE", annexes, strict=True):
        made.turn()
        made.heading(f"Appendix {letter}", size=24)
        made.heading(title, size=24)
        made.prose(8)

    found = contents_of(made)
    assert found.pages == [1, 2]
    assert [entry.title for entry in found.entries[6:]] == [
        f"Appendix {letter} {title}" for letter, title in zip("ABCDE", annexes, strict=True)
    ]
