"""Notes at the foot of a page: they part no table, cut no columns, and stand with what cites them."""

from __future__ import annotations

from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.pdf.reader import PdfReader
from tests.readers.in_process import InProcessSandbox
from tests.readers.pdf_files import LEFT, SENTENCE, Sheet, item_of, read_pdf, sheet
from tests.readers.shown import blocks

_NOTE = "Measured at the bearing that is nearest to the coupling."
_HEAD = ("Speed", "Mounting", "Limit")
_ROWS = (("slow", "rigid", "3 mm"), ("fast", "flexible", "7 mm"), ("fast", "rigid", "4 mm"))
_WIDTHS = (90, 90, 90)


def _noted(pages: Sheet, words: str = _NOTE) -> None:
    """Print a note at the foot of the page, its number small and raised."""
    pages.at(LEFT, 773, "2", 5)
    pages.at(LEFT + 5, 776, words, 7.5)


def test_a_note_stands_behind_the_table_whose_cell_cites_it() -> None:
    pages = sheet()
    pages.grid([_HEAD, ("slow", "rigid", ""), *_ROWS[1:]], _WIDTHS)
    pages.at(LEFT + 184, 111, "3 mm/s")
    pages.at(LEFT + 184 + 32, 107, "2", 6)
    for _ in range(12):
        pages.paragraph(SENTENCE)
    _noted(pages)
    document = read_pdf(pages)
    table = next(at for at, block in enumerate(document.blocks) if block.kind is BlockKind.TABLE)
    assert "3 mm/s²" in blocks(document)[table]
    assert blocks(document)[table + 1] == f"² {_NOTE}"


def test_a_table_continues_behind_the_notes_of_its_page() -> None:
    pages = sheet()
    for _ in range(10):
        pages.paragraph(SENTENCE)
    pages.grid([_HEAD, *_ROWS], _WIDTHS)
    _noted(pages)
    pages.next_page()
    pages.grid([_HEAD, ("still", "rigid", "1 mm")], _WIDTHS)
    pages.paragraph(SENTENCE)
    (table,) = [text for text in blocks(read_pdf(pages)) if text.startswith("|")]
    assert [row.split()[1] for row in table.split("\n")] == ["Speed", "---", "slow", "fast", "fast", "still"]


def test_a_header_that_is_left_alone_at_the_end_of_a_page_is_printed_once() -> None:
    pages = sheet()
    for _ in range(10):
        pages.paragraph(SENTENCE)
    pages.grid([_HEAD], _WIDTHS)
    _noted(pages)
    pages.next_page()
    pages.grid([_HEAD, *_ROWS], _WIDTHS)
    pages.paragraph(SENTENCE)
    text = read_pdf(pages).text
    assert text.count("Mounting") == 1
    assert "| slow | rigid | 3 mm |" in text


def test_columns_are_read_one_by_one_above_a_note_that_ends_between_them() -> None:
    pages = sheet()
    rows = [f"This line of the left column has the number {row}" for row in range(20)]
    for side, x in (("left", 72.0), ("right", 308.0)):
        for row, words in enumerate(rows):
            y = 100 + 13 * row + (170 if side == "right" else 0)
            pages.at(x, y, words.replace("left", side), 9.5)
    for column, y in ((72, 380), (308, 100)):
        for row in range(4):
            for cell in range(2):
                pages.canvas.rect(column + 100 * cell, 842 - y - 20 * row - 20, 100, 20)
                pages.at(column + 4 + 100 * cell, y + 20 * row + 13, f"cell {row} {cell} {column}", 8)
    _noted(pages, "Staff is trained when it has passed the full course of a maker of lifts.")
    text = read_pdf(pages).text
    assert text.index("left column has the number 19") < text.index("cell 0 0 72") < text.index("cell 0 0 308")
    assert text.index("cell 3 1 308") < text.index("right column has the number 0")


def test_entries_of_a_glossary_are_whole_where_a_note_below_them_is_wider() -> None:
    entries = (
        ("duty pump: pump that runs while the station", "is in operation"),
        ("standby pump: pump that waits until the duty", "pump fails or is stopped"),
        ("start level: level of the water at which the", "duty pump starts by itself"),
    )
    pages = sheet()
    pages.heading("1 Scope")
    pages.paragraph("This manual is about pumps.")
    pages.heading("2 Terms and definitions")
    pages.heading("2.1 Terms of operation")
    for lines in entries:
        for line in lines:
            pages.line(line)
    pages.heading("3 Pumps")
    for _ in range(6):
        pages.paragraph("Each pump shall run for an hour.")
    pages.at(
        LEFT,
        776,
        "2 Measured at the bearing that is nearest to the coupling, by a sensor that the maker of it gave.",
        7.5,
    )
    assert [" ".join(each) for each in entries] == [text for text in blocks(read_pdf(pages)) if ": " in text]


def test_notes_that_are_cited_with_a_bracket_may_be_hardly_smaller_than_the_text() -> None:
    pages = sheet()
    for words, raised, rest in (
        ("The moisture is determined as in ISO 712", "3)", ", and is not greater than 15 %."),
        ("The sieve is as in the standard for sieves, Clause 9", "4)", ", or in that for wires."),
    ):
        pages.at(LEFT, pages.y, words, 11)
        end = LEFT + pages.canvas.stringWidth(words, "Helvetica", 11)
        pages.at(end, pages.y - 4, raised, 7)
        pages.at(end + pages.canvas.stringWidth(raised, "Helvetica", 7), pages.y, rest, 11)
        pages.y += 30
    for _ in range(8):
        pages.line("Tests are repeated after each repair of the part that was tested before.", size=11, step=30)
    pages.at(LEFT, 740, "3)  Cancelled and replaced.", 10)
    pages.at(LEFT, 770, "4)  Under preparation.", 10)
    document = read_pdf(pages)
    assert blocks(document)[:4] == [
        "The moisture is determined as in ISO 712³⁾, and is not greater than 15 %.",
        "³⁾ Cancelled and replaced.",
        "The sieve is as in the standard for sieves, Clause 9⁴⁾, or in that for wires.",
        "⁴⁾ Under preparation.",
    ]
    assert document.blocks[1].kind is BlockKind.FOOTNOTE


def test_a_caption_within_the_frame_of_its_table_is_no_header() -> None:
    pages = sheet()
    for label in ("Table 4 - Limits of vibration", "Table 4 (continued)"):
        pages.grid([("",)], (sum(_WIDTHS),))
        pages.at(LEFT + 60, pages.y - 16 - 18 + 3, label)
        pages.y -= 16
        pages.grid([_HEAD, *_ROWS], _WIDTHS)
        pages.next_page()
    document = read_pdf(pages)
    assert [block.kind for block in document.blocks][:2] == [BlockKind.CAPTION, BlockKind.TABLE]
    table = [line for text in blocks(document) if text.startswith("|") for line in text.splitlines()]
    assert table[0] == "| Speed | Mounting | Limit |"
    assert len([line for line in table if "Speed" in line]) == 1
    assert len(table) == 2 + 2 * len(_ROWS)


def test_a_raised_mark_before_its_note_and_a_number_of_another_cell_are_told_apart() -> None:
    pages = sheet()
    pages.grid([_HEAD, *_ROWS], _WIDTHS)
    pages.at(LEFT, 200, "a", 6)
    pages.at(LEFT + 8, 204, "Without the ring.", 9)
    pages.at(LEFT, 212, "b", 6)
    pages.at(LEFT + 8, 216, "Not for water.", 9)
    pages.at(LEFT, 230, "SUGGEST A CHANGE:", 11)
    pages.at(LEFT + 160, 225, "1. NUMBER", 8)
    document = read_pdf(pages)
    assert blocks(document)[1:3] == ["ᵃ Without the ring.", "ᵇ Not for water."]
    assert "1. NUMBER" in document.text


def test_commentary_on_a_clause_in_italics_is_a_note_and_the_text_below_it_belongs_to_the_clause() -> None:
    pages = sheet()
    for number in ("1", "2"):
        pages.heading(f"{number} Doors")
        pages.line(f"COMMENTARY ON CLAUSE {number}", font="Helvetica-BoldOblique", size=9)
        pages.y += 6
        pages.paragraph("Doors are opened by people who have never seen them before.", font="Helvetica-Oblique")
        pages.paragraph("They shall not be taken for gates.", font="Helvetica-Oblique")
        pages.paragraph(SENTENCE)
    pages.heading("3 Commentary on the results")
    pages.paragraph(SENTENCE)

    document = PdfReader(sandbox=InProcessSandbox()).read(item_of(pages.done()))

    assert [section.label for section in document.sections] == ["1 Doors", "2 Doors", "3 Commentary on the results"]
    kinds = [block.kind for block in document.blocks]
    assert kinds[:5] == [BlockKind.HEADING, *[BlockKind.NOTE] * 3, BlockKind.PARAGRAPH]
    assert document.blocks[1].marker == "COMMENTARY ON CLAUSE 1"


def test_a_sentence_continues_behind_notes_that_are_hardly_smaller_than_the_text() -> None:
    pages = sheet()
    for _ in range(10):
        pages.paragraph(SENTENCE)
    pages.paragraph("The hangar shall be aired before the tanks are opened, and the doors shall stay open for a")
    pages.at(LEFT + 30, pages.y + 20, "The keeper signs the list")
    pages.at(LEFT + 140, pages.y + 16, "2", 6)
    pages.at(LEFT + 145, pages.y + 20, ", and the doors shall stay open for as long as any of the tanks, which he")
    pages.at(LEFT, 770, "2", 6)
    pages.at(LEFT + 5, 774, _NOTE, 9.3)
    pages.next_page()
    pages.paragraph("names on the list, is not yet closed again.", SENTENCE)
    for _ in range(8):
        pages.paragraph(SENTENCE)
    document = read_pdf(pages)
    notes = [block.span.of(document.text) for block in document.blocks if block.kind is BlockKind.FOOTNOTE]
    assert notes == [f"² {_NOTE}"]
    assert "any of the tanks, which he names on the list, is not yet closed again." in document.text
