"""What stands in the margins of PDF pages and in frames: side notes, side heads, marks, labels, words across it."""

from __future__ import annotations

from knowledge_mcp.model.document import Document
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, read_pdf, sheet
from tests.readers.shown import blocks

DUTIES = (
    ("The company shall keep its works in repair and shall supply", "water to every house that asks for it."),
    ("An officer of the company may enter the premises at any time", "of the day where he shows his authority."),
    ("The company may charge for a connection what it has spent on", "the pipe and on the meter."),
)


def section_of(document: Document, words: str) -> str | None:
    block = next(block for block in document.blocks if words in block.span.of(document.text))
    return document.sections[block.section].label if block.section is not None else None


def test_side_notes_of_a_statute_are_the_titles_of_their_sections() -> None:
    pages = sheet()
    pages.line("An Act about water", size=14, font="Times-Bold", x=200, step=30)
    notes = (("General duty to", "supply."), ("Power to enter", "premises."), ("Charges.",))
    for number, (note, duty) in enumerate(zip(notes, DUTIES, strict=True), 1):
        for step, text in enumerate(note):
            pages.at(430, pages.y + 9 * step, text, 8, "Times-Roman")
        pages.line(f"{number}.—(1) {duty[0]}", size=11, font="Times-Roman")
        pages.line(duty[1], size=11, font="Times-Roman", step=18)
        pages.line(f"(2) This holds for part {number} of the works too.", size=11, font="Times-Roman", step=18)
    document = read_pdf(pages)
    assert [section.label for section in document.sections if section.number] == [
        "1 General duty to supply", "2 Power to enter premises", "3 Charges",
    ]  # fmt: skip
    assert section_of(document, " ".join(DUTIES[1])) == "2 Power to enter premises"
    assert section_of(document, "part 3 of the works") == "3 Charges"


def test_side_heads_are_the_titles_of_the_text_beside_them() -> None:
    pages = sheet()
    heads = (("1", "Duty"), ("2", "Power", "to enter"), ("3", "Charges for", "connections"))
    for head, duty in zip(heads, DUTIES, strict=True):
        pages.at(60, pages.y, head[0], font="Helvetica-Bold")
        for step, text in enumerate(head[1:]):
            pages.at(80, pages.y + 12 * step, text, font="Helvetica-Bold")
        pages.paragraph(*duty, x=180)
        pages.paragraph(SENTENCE, x=180)
    document = read_pdf(pages)
    assert [section.label for section in document.sections] == [
        "1 Duty",
        "2 Power to enter",
        "3 Charges for connections",
    ]
    assert [section_of(document, " ".join(duty)) for duty in DUTIES] == [each.label for each in document.sections]


def test_a_mark_in_the_margin_parts_no_sentence() -> None:
    pages = sheet()
    for duty in DUTIES:
        pages.at(545, pages.y, "C1", 7)
        pages.paragraph(*duty)
    assert [each for each in blocks(read_pdf(pages)) if each != "C1"] == [" ".join(duty) for duty in DUTIES]


def test_a_label_beside_a_text_in_a_frame_leads_it() -> None:
    pages = sheet()
    pages.paragraph(SENTENCE)
    top = pages.y
    pages.canvas.rect(LEFT, HEIGHT - top - 40, 90, 40)
    pages.canvas.rect(LEFT + 90, HEIGHT - top - 40, 360, 40)
    pages.at(LEFT + 12, top + 24, "WARNING", 12, "Helvetica-Bold")
    pages.at(LEFT + 98, top + 16, "Do not touch the pipe while the pump is running because its surface is")
    pages.at(LEFT + 98, top + 28, "hotter than 80 °C.")
    pages.y = top + 60
    pages.paragraph(SENTENCE)
    document = read_pdf(pages)
    assert blocks(document)[1] == (
        "WARNING Do not touch the pipe while the pump is running because its surface is hotter than 80 °C."
    )
    assert [section.title for section in document.sections if section.title == "WARNING"] == []


def test_words_across_the_page_hold_no_words_of_the_text_below_them() -> None:
    pages = sheet()
    for _ in range(2):
        pages.canvas.saveState()
        pages.canvas.setFillGray(0.8)
        pages.canvas.setFont("Helvetica-Bold", 90)
        pages.canvas.translate(180, 250)
        pages.canvas.rotate(50)
        pages.canvas.drawString(0, 0, "DRAFT")
        pages.canvas.restoreState()
        pages.at(297, 810, str(pages.page_number), 8)
        for number in range(20):
            pages.paragraph(f"Sample {number} is kept by the recorder until an operator has read its values.")
        pages.next_page()
    document = read_pdf(pages)
    assert document.text.count("is kept by the recorder") == 40
    assert {each for each in blocks(document) if "DRAFT" in each} <= {"DRAFT"}


def test_letters_that_are_set_wide_are_words() -> None:
    pages = sheet()
    for number, title in ((1, "SCOPE OF THE CODE"), (2, "LIMITS OF LOADS"), (3, "TESTS")):
        words = pages.canvas.beginText(LEFT, HEIGHT - pages.y)
        words.setFont("Helvetica-Bold", 12)
        words.setCharSpace(2.5)
        words.textOut(f"{number} {title}")
        words.setCharSpace(0)
        pages.canvas.drawText(words)
        pages.y += 20
        pages.paragraph(SENTENCE)
    pages.paragraph("The classes are named A B C D E in the order of their loads.")
    document = read_pdf(pages)
    assert [section.label for section in document.sections] == ["1 SCOPE OF THE CODE", "2 LIMITS OF LOADS", "3 TESTS"]
    assert "A B C D E in the order" in document.text


def test_numbers_of_chapters_on_tabs_beside_the_text_are_no_text() -> None:
    pages = sheet()
    for chapter in ("05", "05", "05", "06", "7"):
        pages.at(20 if chapter != "7" else 40, 126, chapter, size=18)
        pages.paragraph(*["The pump shall stop within ten seconds after the valve of the tank has been shut."] * 5)
        pages.next_page()
    text = read_pdf(pages).text

    assert "05" not in text
    assert "06" not in text
    assert "7" in text
