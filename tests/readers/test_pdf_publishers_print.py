"""How publishers print clauses, notes of tables, formulas and annexes: each form is read as people read it."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge_mcp.language.openings import opening_of, split_clause_number
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.numbering import counts_on, depth_of, follows, number_key
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, WIDTH, Sheet, read_pdf, sheet
from tests.readers.shown import outline, texts

_BOLD = "Helvetica-Bold"


def _centred(page: Sheet, text: str, size: float = 10, font: str = _BOLD, step: float = 13) -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    page.line(text, size=size, font=font, x=(WIDTH - float(stringWidth(text, font, size))) / 2, step=step)


def _unicode() -> str:
    """Register a font with Cyrillic letters."""
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    fonts: Any = pdfmetrics
    fonts.registerFont(UnicodeCIDFont("STSong-Light"))
    return "STSong-Light"


def _framed(page: Sheet, rows: list[tuple[str, str]], notes: list[tuple[str, str]]) -> None:
    """Print a ruled table whose last row spans its columns and has several lines, some with a raised mark."""
    top = page.y - 10
    page.grid(rows, (150, 150))
    page.y -= 16
    y = page.y + 3
    for mark, words in notes:
        if mark:
            page.at(LEFT + 4, y - 3, mark, 6)
        page.at(LEFT + (18 if mark else 4), y, words)
        y += 12
    bottom = top + 18 * len(rows)
    page.canvas.rect(LEFT, HEIGHT - bottom - 12 * len(notes) - 6, 300, 12 * len(notes) + 6)
    page.y = y + 20


def test_notes_in_the_frame_of_a_table_are_notes_and_not_a_row() -> None:
    page = sheet()
    page.heading("1 Limits")
    page.paragraph(SENTENCE)
    rows = [("Class", "Force"), ("1", "10 N"), ("2", "15 N")]
    _framed(page, rows, [("", "NOTE 1  Class 1 is preferred."), ("", "NOTE2: Values are rounded."), ("a", "At 20 °C.")])
    page.paragraph(SENTENCE)
    document = read_pdf(page)
    assert texts(document, BlockKind.NOTE) == ["NOTE 1 Class 1 is preferred.", "NOTE2: Values are rounded."]
    assert "ᵃ At 20 °C." in texts(document, BlockKind.PARAGRAPH)
    (table,) = texts(document, BlockKind.TABLE)
    assert table.splitlines()[-1] == "| 2 | 15 N |"


def test_the_title_below_the_label_of_a_table_belongs_to_its_caption() -> None:
    page = sheet()
    for title in ("3.1 General", "3.2 Selection"):
        page.heading(title, 10)
        page.paragraph(*[SENTENCE] * 6)
    _centred(page, "TABLE 3.1", step=16)
    _centred(page, "LIMITING TEMPERATURES", step=24)
    page.grid([("Type", "Limit"), ("V-75", "75"), ("V-90", "90")], (150, 150))
    document = read_pdf(page)
    assert texts(document, BlockKind.CAPTION) == ["TABLE 3.1 LIMITING TEMPERATURES"]
    assert "LIMITING TEMPERATURES" not in [section.title for section in document.sections]


@pytest.mark.parametrize(
    "label", ["Table NA.1", "Table UW-12", "Table 5.2.1A-1", "Table ZB.1", "Fig 3", "表1", "Таблица 1"]
)
def test_captions_have_the_labels_that_publishers_print(label: str) -> None:
    opening = opening_of(f"{label} Limits of the force".replace("Limits", "性能" if label[0] == "表" else "Limits"))
    assert opening is not None
    assert (opening.kind, opening.marker) == (BlockKind.CAPTION, label)


@pytest.mark.parametrize(
    "marker", ["(1)P", "(-a)", ".1", "1>", "(4)(i)", "(A)", "а)", "1）", "注：", "注1：", "示例：", "NOTE1:", "☐", "›"]
)
def test_marks_of_items_and_notes(marker: str) -> None:
    opening = opening_of(f"{marker} the words")
    assert opening is not None
    assert opening.kind is not BlockKind.CAPTION
    assert opening.marker == marker.rstrip("：:")


def test_a_formula_ends_with_its_number_and_each_symbol_below_it_begins_a_paragraph() -> None:
    page = sheet()
    page.heading("6.2 Thickness")
    page.paragraph(*[SENTENCE] * 3)
    page.line("The thickness shall be calculated by the formula")
    page.at(120, page.y, "t = P · R / (S · E)")
    page.line("(6.2a)", x=480)
    page.line("where")
    for entry in ("P = internal pressure (see 5.1)", "R = inside radius", "E is the efficiency of the joint"):
        page.line(entry, x=90)
    page.line("S = stress, in the state that is stated by the maker of the vessel in the documents", x=90)
    page.line("that accompany it.", x=110)
    page.paragraph("For vessels of class 2 the thickness shall be at least 3 mm.")
    assert texts(read_pdf(page), BlockKind.PARAGRAPH)[1:] == [
        "The thickness shall be calculated by the formula",
        "t = P · R / (S · E) (6.2a)",
        "where",
        "P = internal pressure (see 5.1)",
        "R = inside radius",
        "E is the efficiency of the joint",
        "S = stress, in the state that is stated by the maker of the vessel in the documents that accompany it.",
        "For vessels of class 2 the thickness shall be at least 3 mm.",
    ]


def test_numbers_of_inserted_clauses_are_numbers_and_voltages_are_not() -> None:
    page = sheet()
    for title in ("5 Power", "5.1 General", "5.1.1 Limits", "5.1.1A Early limits", "5.1.1B Late limits", "5.1.2 Tests"):
        page.heading(title)
        page.paragraph(*[SENTENCE] * 2)
    for title in ("3.3V Operation", "5A Batteries", "6 Marking"):
        page.heading(title)
        page.paragraph("5A.1 The battery shall be marked." if title.startswith("5A") else SENTENCE, SENTENCE)
    numbers = [number for _, number, _ in outline(read_pdf(page))]
    assert numbers == ["5", "5.1", "5.1.1", "5.1.1A", "5.1.1B", "5.1.2", "5A", "5A.1", "6"]


def test_keys_of_inserted_clauses_come_after_everything_below_the_clause_before() -> None:
    numbers = ["5.2.1", "5.2.1.4", "5.2.1A", "5.2.1A.1", "5.2.1AA", "5.2.2", "5.2.2a"]
    keys = [number_key(number) or () for number in numbers]
    assert keys == sorted(keys)
    assert [depth_of(key) for key in keys] == [3, 4, 3, 4, 3, 3, 3]
    assert follows(keys[1], keys[2])
    assert counts_on(keys[1], keys[2])
    assert not follows(number_key("3.1") or (), number_key("3D") or ())


def test_numbers_with_the_letter_of_an_annex_are_below_it_and_names_of_pins_are_no_numbers() -> None:
    page = sheet()
    for title in ("1 Scope", "2 Parts", "A1 Driver", "B2 Amplifier"):
        page.heading(title)
        page.paragraph(*[SENTENCE] * 3)
    page.heading("APPENDIX C TESTS", 14)
    for title in ("C1 GENERAL", "C2 PROCEDURE"):
        page.heading(title)
        page.paragraph(*[SENTENCE] * 3)
    found = outline(read_pdf(page))
    assert [number for _, number, _ in found] == ["1", "2", None, None, "C", "C1", "C2"]
    assert found[-1][0] == found[4][0] + 1


@pytest.mark.parametrize(
    ("line", "number", "title"),
    [
        ("3.4.1—Load Factors", "3.4.1", "Load Factors"),
        ("SECTION 03 30 00 CONCRETE", "03 30 00", "CONCRETE"),
        ("Приложение А (справочное) Методика", "А", "Методика"),
        ("А.1 Общие требования", "А.1", "Общие требования"),
    ],
)
def test_numbers_and_titles_of_heading_lines(line: str, number: str, title: str) -> None:
    numbered = split_clause_number(line)
    assert (numbered.number, numbered.title) == (number, title)
    assert numbered.printed(line) == (line if title != "Общие требования" else None)


def test_numbers_that_begin_again_in_each_section_are_below_it() -> None:
    page = sheet()
    for section in (2, 3):
        page.heading(f"SECTION {section} DESIGN PRINCIPLES", 15)
        for title in ("1 General", "1.1 Application", "2 Loads"):
            page.heading(title)
            page.paragraph(*[SENTENCE] * 2)
        page.next_page()
    own = [("1", "General", 2), ("1.1", "Application", 3), ("2", "Loads", 2)]
    expected = [each for number in "23" for each in [(number, "DESIGN PRINCIPLES", 1), *own]]
    assert [(number, title, level) for level, number, title in outline(read_pdf(page))] == expected


def test_parts_of_a_schedule_are_below_it_and_clauses_below_them() -> None:
    page = sheet()
    for title in ("1. DEFINITIONS", "2. SUPPLY", "3. PAYMENT"):
        page.heading(title, 10)
        page.paragraph(*[SENTENCE] * 2)
    page.next_page()
    _centred(page, "SCHEDULE 1", 12, step=15)
    _centred(page, "Services", 12, step=24)
    page.heading("Part A - Core services", 11)
    for title in ("1. Maintenance", "2. Support"):
        page.heading(title, 10)
        page.paragraph(*[SENTENCE] * 2)
    assert outline(read_pdf(page))[3:] == [
        (1, "1", "Services"),
        (2, "A", "Core services"),
        (3, "1", "Maintenance"),
        (3, "2", "Support"),
    ]


def test_an_annex_without_a_number_begins_the_numbers_again() -> None:
    page = sheet()
    for title in ("1 Scope", "2 Terms", "3 Duties"):
        page.heading(title)
        page.paragraph(*[SENTENCE] * 2)
    page.next_page()
    _centred(page, "ANNEX", 13, step=16)
    _centred(page, "GUIDELINES ON RECORDERS IN SYSTEMS FOR THE SAFETY OF SHIPS", 13, step=24)
    for title in ("1 Introduction", "2 General"):
        page.heading(title)
        page.paragraph(*[SENTENCE] * 2)
    found = [(level, number) for level, number, _ in outline(read_pdf(page))]
    assert found == [(1, "1"), (1, "2"), (1, "3"), (1, None), (2, "1"), (2, "2")]


def test_titles_above_the_sections_of_a_law_have_their_numbers() -> None:
    page = sheet()
    titles = ["Citation", "Interpretation", "Permits", "Appeals"]
    for number, title in enumerate(titles, 1):
        page.heading(title, 10)
        page.paragraph(f"{number}.—(1) {SENTENCE}", f"(2) {SENTENCE}")
    assert [(number, title) for _, number, title in outline(read_pdf(page))] == [
        (str(number), title) for number, title in enumerate(titles, 1)
    ]


def test_words_that_lead_to_a_list_are_the_text_of_a_clause() -> None:
    page = sheet()
    page.heading("2 Supply")
    page.paragraph("2.1 The supplier shall:")
    page.paragraph("(a) keep records; and")
    page.paragraph("(b) report.")
    page.paragraph(f"2.2 {SENTENCE}", SENTENCE)
    page.paragraph("2.3 Vulnerable systems could include among others:")
    page.paragraph("(a) pumps.")
    assert outline(read_pdf(page)) == [(1, "2", "Supply"), (2, "2.1", ""), (2, "2.2", ""), (2, "2.3", "")]


def test_a_title_continues_in_small_letters_although_its_line_is_not_full() -> None:
    page = sheet()
    page.heading("1 Scope")
    page.paragraph(*[SENTENCE] * 3)
    page.heading("2 Requirements for")
    page.y -= 5
    page.line("installation and maintenance", size=13, font=_BOLD, step=20)
    page.paragraph(*[SENTENCE] * 3)
    assert outline(read_pdf(page)) == [(1, "1", "Scope"), (1, "2", "Requirements for installation and maintenance")]


def test_an_annex_with_a_colon_has_its_title_below() -> None:
    page = sheet()
    for title in ("1 Scope", "2 Tests"):
        page.heading(title)
        page.paragraph(*[SENTENCE] * 3)
    page.next_page()
    page.line("Annex A (normative):", size=18, step=22)
    page.line("Guidelines for messages", size=18, step=30)
    page.heading("A.1 Introduction")
    page.paragraph(SENTENCE)
    document = read_pdf(page)
    assert (1, "A", "Guidelines for messages") in outline(document)
    assert document.title != "Annex A (normative): Guidelines for messages"


def test_clauses_below_a_number_with_a_zero_are_one_level_deeper() -> None:
    page = sheet()
    for chapter in "123":
        page.heading(f"{chapter}.0 Design")
        page.paragraph(f"{chapter}.1 {SENTENCE}", SENTENCE)
        page.paragraph(f"{chapter}.2 {SENTENCE}", SENTENCE)
    assert [level for level, _, _ in outline(read_pdf(page))] == [1, 2, 2] * 3


def test_a_group_of_clauses_is_a_section_and_no_part_of_the_title() -> None:
    page = sheet()
    for group, numbers in (("CONSTRUCTION", (12, 13)), ("PERFORMANCE", (14, 15))):
        _centred(page, group, 13, step=24)
        for number in numbers:
            page.heading(f"{number} Enclosure", 11)
            page.paragraph(f"{number}.1 {SENTENCE}", SENTENCE)
    document = read_pdf(page)
    assert [title for _, number, title in outline(document) if number is None] == ["CONSTRUCTION", "PERFORMANCE"]
    assert "PERFORMANCE" not in document.title


def test_letter_spaced_words_and_annexes_in_russian() -> None:
    page = sheet()
    font = _unicode()
    lines: list[Any] = [
        ("1 Общие требования", 13),
        ("Кран должен иметь табличку. Масса крана должна быть указана на табличке.", 10),
        ("П р и м е ч а н и е — Для кранов исполнения УХЛ1.", 10),
        ("2 Методы испытаний", 13),
        ("Кран испытывают по методике, которая приведена в приложении.", 10),
    ]
    for text, size in lines:
        page.line(text, size=size, font=font, step=26)
    _centred(page, "Приложение А", 13, font, 16)
    _centred(page, "(обязательное)", 10, font, 14)
    _centred(page, "Методика расчета", 13, font, 26)
    page.line("А.1 Нагрузку вычисляют по массе груза, которая указана на табличке.", font=font)
    document = read_pdf(page)
    assert texts(document, BlockKind.NOTE) == ["Примечание — Для кранов исполнения УХЛ1."]
    assert (1, "А", "Методика расчета") in outline(document)
    assert (2, "А.1") in [each[:2] for each in outline(document)]


def test_a_footer_with_another_file_name_is_a_footer() -> None:
    pages = sheet()
    for number in range(8):
        pages.paragraph(*[SENTENCE] * 4, "The operator")
        name = "final report" if number == 5 else "draft"
        pages.at(LEFT, 790, f"P:/projects/water/{name}.doc", 5)
        if number < 7:
            pages.next_page()
    document = read_pdf(pages)
    assert "P:/projects" not in document.text


def test_boxes_of_a_form_are_read_one_after_the_other() -> None:
    page = sheet()
    page.paragraph(*[SENTENCE] * 3)
    top = page.y
    for x, title, name in ((LEFT, "1. Applicant", "First name: John"), (LEFT + 220, "2. Agent", "Company: ABC")):
        page.at(x + 5, top + 14, title, font=_BOLD)
        page.at(x + 5, top + 30, name)
        page.at(x + 5, top + 46, f"Address of {title[3:]}: 1 High Street")
    page.canvas.grid([LEFT, LEFT + 220, LEFT + 440], [HEIGHT - top, HEIGHT - top - 56])
    page.y = top + 74
    page.line("3. Description", font=_BOLD)
    page.paragraph(SENTENCE)
    text = read_pdf(page).text
    order = [
        text.index(words) for words in ("1. Applicant", "of Applicant:", "2. Agent", "of Agent:", "3. Description")
    ]
    assert order == sorted(order)
