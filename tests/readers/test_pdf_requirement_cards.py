"""Requirements in boxes that only shades draw: a bar with the name above one row of a label and a text."""

from __future__ import annotations

from knowledge_mcp.language.statements import find_statements
from tests.readers.pdf_files import HEIGHT, LEFT, Sheet, sheet
from tests.readers.pdf_tables import read, tables


def _card(pages: Sheet, name: str, label: str, *lines: str) -> None:
    """Draw a card: the bar, the cell of the label in its middle and the cell of the text."""
    top, high = pages.y, 14.0 * len(lines) + 6
    for x, y, width, height, shade in (
        (LEFT, top, 440, 24, 0.3),
        (LEFT, top + 24, 90, high, 0.95),
        (LEFT + 90, top + 24, 350, high, 0.95),
    ):
        pages.canvas.setFillGray(shade)
        pages.canvas.rect(x, HEIGHT - y - height, width, height, stroke=0, fill=1)
    pages.canvas.setFillGray(0)
    pages.at(LEFT + 4, top + 16, name, font="Helvetica-Bold")
    if label:
        pages.at(LEFT + 4, top + 24 + high / 2 + 3, label, 8, "Helvetica-Bold")
    for place, line in enumerate(lines):
        pages.at(LEFT + 94, top + 37 + 14 * place, line, 9)
    pages.y = top + high + 54


def _standard() -> Sheet:
    pages = sheet()
    pages.heading("4 Yard")
    pages.paragraph("The yard has a gate, a crane and a lamp beside the road.")
    pages.heading("4.1 Gate")
    _card(
        pages,
        "REQUIREMENT 7",
        "STATEMENTS",
        "Requirement 7-1 The gate SHALL close within ten seconds after the",
        "last wagon has left it.",
        "Requirement 7-2 The lamp is red while the gate moves.",
    )
    pages.heading("4.2 Crane")
    _card(pages, "PERMISSION 2", "STATEMENT", "Permission 2-1 The crane MAY rest on the rail.")
    return pages


def test_a_name_above_a_label_and_a_text_is_a_table_and_no_heading() -> None:
    document = read(_standard())
    assert [section.number for section in document.sections] == ["4", "4.1", "4.2"]
    assert [rows[0][0] for rows in tables(document)] == ["REQUIREMENT 7", "PERMISSION 2"]
    assert tables(document)[0][1][0] == "STATEMENTS"


def test_each_part_of_a_card_is_in_its_clause_with_its_own_number() -> None:
    found = find_statements(read(_standard()))
    assert [(each.identifier, each.clause_number, each.modality.value, each.weak) for each in found] == [
        ("Requirement 7-1", "4.1", "requirement", False),
        ("Requirement 7-2", "4.1", "requirement", True),
        ("Permission 2-1", "4.2", "permission", False),
    ]
    assert found[0].text.endswith("within ten seconds after the last wagon has left it.")


def test_a_card_that_continues_on_the_next_page_is_a_table_there_too() -> None:
    pages = _standard()
    pages.heading("4.3 Lamp")
    _card(pages, "REQUIREMENT 8", "STATEMENTS", "Requirement 8-1 The lamp SHALL be seen from the road.")
    pages.next_page()
    _card(pages, "REQUIREMENT 8", "", "Requirement 8-2 The lamp SHALL be kept clean.")
    pages.paragraph("The lamp stands beside the gate.")
    document = read(pages)
    assert [section.number for section in document.sections] == ["4", "4.1", "4.2", "4.3"]
    found = find_statements(document)
    assert [(each.identifier, each.clause_number) for each in found[3:]] == [
        ("Requirement 8-1", "4.3"),
        ("Requirement 8-2", "4.3"),
    ]
