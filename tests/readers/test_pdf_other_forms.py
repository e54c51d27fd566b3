"""PDF files that browsers, word processors and TeX make of a source: their text reads as that of the source."""

from __future__ import annotations

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.model.document import BlockKind
from knowledge_mcp.readers.shared.layout import is_bold_name, is_italic_name
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, read_pdf, sheet
from tests.readers.shown import outline, texts

_ITEMS = ("The pump shall stop", "The valve shall close", "The reader may wait", "The gate shall open")
_STANDIN = b"/Helvetica-Oblique"


def _renamed(pages: Sheet, name: bytes) -> bytes:
    """Give a font of the file another name, of the same length."""
    data = pages.done()
    assert _STANDIN in data
    return data.replace(_STANDIN, name.ljust(len(_STANDIN)))


def _begun(*sentences: str) -> Sheet:
    """Begin a page with a heading and perhaps a paragraph."""
    page = sheet()
    page.heading("1 Scope")
    if sentences:
        page.paragraph(*sentences)
    return page


def _dotted(*steps: float, filled: bool = True) -> Sheet:
    page = _begun(SENTENCE)
    for words, step in zip(_ITEMS, steps, strict=True):
        page.canvas.circle(LEFT + 20 - step, HEIGHT - page.y + 3, 1.8, stroke=1, fill=filled)
        page.line(words, x=LEFT + 20)
    return page


@pytest.mark.parametrize("filled", [True, False])
def test_drawn_bullets_make_items(filled: bool) -> None:
    assert texts(read_pdf(_dotted(8, 8, 8, 8, filled=filled)), BlockKind.LIST_ITEM) == [f"• {each}" for each in _ITEMS]


def test_points_of_a_drawing_at_any_distance_and_its_arrowheads_are_no_bullets() -> None:
    assert texts(read_pdf(_dotted(6, 9, 13, 17)), BlockKind.LIST_ITEM) == []
    page = sheet()
    for words in _ITEMS:
        arrow = page.canvas.beginPath()
        arrow.moveTo(LEFT, HEIGHT - page.y + 3)
        arrow.lineTo(LEFT + 4, HEIGHT - page.y + 5)
        arrow.lineTo(LEFT + 4, HEIGHT - page.y + 1)
        page.canvas.drawPath(arrow, fill=1)
        page.line(words, x=LEFT + 8)
    assert texts(read_pdf(page), BlockKind.LIST_ITEM) == []


def test_small_bullets_in_a_font_of_their_own_begin_the_items_far_to_their_right() -> None:
    page = _begun(SENTENCE)
    page.line("1) The first part says the following:", x=LEFT + 20, step=26)
    for words in _ITEMS:
        page.at(LEFT + 40, page.y - 1, "\u25cf", 5, "ZapfDingbats")
        page.line(words, x=LEFT + 60, step=26)
    items = texts(read_pdf(page), BlockKind.LIST_ITEM)
    assert items == ["1) The first part says the following:", *(f"● {each}" for each in _ITEMS)]


def test_the_lines_of_an_item_may_be_further_apart_than_those_of_paragraphs() -> None:
    page = _begun()
    for _ in range(4):
        page.paragraph(*[f"{SENTENCE} It is"] * 4, "kept.")
    first = "Measures that keep the data of a person from being read, changed or deleted by others and"
    for _ in range(4):
        page.line(f"• {first}", x=LEFT, step=22)
        page.line(
            "Systems that store them for the time that the law states, or that the person agreed", x=LEFT + 6, step=22
        )
    assert {each.count("Systems") for each in texts(read_pdf(page), BlockKind.LIST_ITEM)} == {1}


@pytest.mark.parametrize(("y", "joined"), [(700.0, True), (200.0, False)])
def test_a_sentence_goes_on_on_the_next_page_with_a_name(y: float, joined: bool) -> None:
    pages = _begun(SENTENCE, SENTENCE)
    pages.y = y
    pages.paragraph(SENTENCE, "What the machine has measured is sent to the operator by means of a handler or a new")
    pages.next_page()
    pages.paragraph("DataHandlerFactory, which is the last of them.", SENTENCE)
    pages.paragraph(SENTENCE)
    whole = any("a new DataHandlerFactory, which" in each for each in texts(read_pdf(pages)))
    assert whole is joined


def test_a_caption_above_the_next_page_is_no_part_of_a_sentence() -> None:
    pages = _begun(SENTENCE, SENTENCE)
    pages.y = 700
    pages.paragraph(SENTENCE, "What the machine has measured is sent to the operator by means of a handler or an even")
    pages.next_page()
    pages.paragraph("Table 4 Values")
    pages.paragraph(SENTENCE)
    assert [words[:14] for words in texts(read_pdf(pages), BlockKind.CAPTION)] == ["Table 4 Values"]


def test_a_bold_line_without_room_for_the_next_word_belongs_to_its_paragraph() -> None:
    page = _begun()
    page.line(SENTENCE + " Then it")
    page.line("answers, and what the server sends to its client shall contain a code", font="Helvetica-Bold")
    page.line("[A-VERY-LONG-NAME-1.2.3.4.5-6]. It shall state what was granted, or why it was not.")
    page.y += 8
    page.line("Operation", font="Helvetica-Bold")
    page.line(SENTENCE)
    found = texts(read_pdf(page))
    assert any("contain a code [A-VERY" in each for each in found)
    assert not any("Operation The" in each for each in found)


def test_an_address_keeps_the_hyphen_at_which_its_line_ends() -> None:
    page = _begun()
    page.paragraph(
        "The list of all of them is at the place https://www.example.org/lists-of/open-", "projects/all.html."
    )
    assert "https://www.example.org/lists-of/open-projects/all.html" in read_pdf(page).text


def test_signs_of_a_dingbat_font_named_by_letters_are_signs() -> None:
    page = _begun(SENTENCE)
    for words in _ITEMS[:2]:
        page.at(LEFT, page.y, "§", font="Helvetica-Oblique")
        page.line(words, x=LEFT + 18)
    page.paragraph("")
    page.at(LEFT + 60, page.y, "ü", font="Helvetica-Oblique")
    page.line("Step", x=LEFT)
    document = read_pdf(_renamed(page, b"/ABCDEF+Wingdings"))
    assert texts(document, BlockKind.LIST_ITEM) == ["• The pump shall stop", "• The valve shall close"]
    assert "✓" in document.text
    assert "ü" not in document.text


def test_an_icon_beside_a_note_is_no_letter() -> None:
    page = _begun(SENTENCE)
    page.at(LEFT, page.y + 18, "m", size=24, font="Helvetica-Oblique")
    for words in (SENTENCE, "There is a difference between the two words, as used in this", "specification."):
        page.line(words, x=LEFT + 50)
    document = read_pdf(_renamed(page, b"/FontAwesomeSolid"))
    assert "used in this specification." in " ".join(document.text.split())
    assert " m " not in " ".join(document.text.split())


@pytest.mark.parametrize("below", ["Definitions", "Terms used here"])
def test_terms_in_bold_before_their_meaning_are_defined_below_a_terms_clause(below: str) -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    page = sheet()
    page.heading("2 Terms and definitions")
    page.heading(f"2.1 {below}")
    page.paragraph("This document defines these terms:")
    for term in ("Comparator", "Consumer", "Producer", "Viewer", "Sorter", "Library"):
        page.at(LEFT, page.y, term, font="Helvetica-Bold")
        x = LEFT + stringWidth(term, "Helvetica-Bold", 10) + 5
        page.line("program that reads the information which others have written and that then says", x=x)
        page.line("what it has found", x=LEFT + 27)
    page.heading("3 Use")
    page.paragraph(SENTENCE)
    found = {each.term: each.text for each in find_definitions(read_pdf(page))}
    assert len(found) == 6
    assert found["Viewer"].endswith("others have written and that then says what it has found")


def test_bold_and_italic_fonts_of_the_libertine_family_are_known() -> None:
    assert all(map(is_bold_name, ("ABCDEF+LinLibertineOB", "LinLibertineTZ", "LinBiolinumTB", "LinLibertineOBI")))
    assert all(map(is_italic_name, ("ABCDEF+LinLibertineOI", "LinLibertineTI", "LinLibertineOBI")))
    assert not any(map(is_bold_name, ("LinLibertineO", "LinLibertineT", "LinLibertineTI")))


def test_bookmarks_that_point_where_the_last_number_is_are_found_further_on() -> None:
    pages = sheet()
    for at in range(1, 5):
        pages.heading(f"{at} Clause", bookmark=0)
        pages.paragraph(SENTENCE)
    for title in ("5 Clause", "Notices", "References"):
        pages.canvas.bookmarkHorizontal(title, 0, HEIGHT - pages.y)
        pages.canvas.addOutlineEntry(title, title, level=0)
    pages.heading("5 Clause")
    pages.paragraph(SENTENCE)
    for _ in range(3):
        pages.next_page()
        pages.paragraph(SENTENCE)
    pages.heading("Notices")
    pages.paragraph(SENTENCE)
    pages.next_page()
    pages.heading("References")
    pages.paragraph(SENTENCE)
    found = [(number, title) for _, number, title in outline(read_pdf(pages))]
    assert found == [*((str(at), "Clause") for at in range(1, 6)), (None, "Notices"), (None, "References")]


@pytest.mark.parametrize(
    ("titles", "second"),
    [
        (("3 Rules", "3.1Program foundation", "3.2 Policy"), ("3.1", "Program foundation")),
        (("1)Einleitung", "2)Überblick", "3)Anforderungen"), ("2", "Überblick")),
    ],
)
def test_a_bookmark_with_a_narrow_tab_after_its_number_has_the_number(
    titles: tuple[str, ...], second: tuple[str, str]
) -> None:
    page = sheet()
    for title in titles:
        page.heading(title, bookmark=title.count("."))
        page.paragraph(SENTENCE)
    assert outline(read_pdf(page))[1][1:] == second


def test_items_of_a_glossary_keep_their_bullets() -> None:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    page = sheet()
    page.heading("Glossary")
    for term in ("Allowlist", "Component", "Gateway", "Sorter", "Viewer", "Library"):
        page.at(LEFT, page.y, "•")
        page.at(LEFT + 9, page.y, term, font="Helvetica-Bold")
        page.line("– list of the data that are permitted", x=LEFT + 12 + stringWidth(term, "Helvetica-Bold", 10))
    found = texts(read_pdf(page), BlockKind.LIST_ITEM)
    assert len(found) == 6
    assert all(each.endswith("permitted") for each in found)


def test_a_line_that_begins_with_program_text_of_low_signs_is_text() -> None:
    page = _begun(SENTENCE, SENTENCE)
    page.line("The pack may be packed, in which case all of its items shall be true, as with the sign")
    page.at(LEFT, page.y, "..", font="Courier")
    page.line("of the language, and the machine shall stop if one of them is not.", x=LEFT + 14)
    assert not texts(read_pdf(page), BlockKind.CODE)


def test_a_long_line_with_a_full_stop_or_a_hyphen_at_its_end_is_no_title() -> None:
    page = sheet()
    page.heading("1 Rules")
    for at, lines in enumerate(
        (
            ("A written record of the whole range and of the limits of the work.",),
            ("A written way to handle the questions that the users of the well-", "Known machine ask."),
            ("A written list of all of the parts with the names of those who made them.",),
        ),
        1,
    ):
        page.heading(f"1.{at} Record", size=11)
        page.paragraph(f"1.{at}.1 {lines[0]}", *lines[1:])
        page.paragraph(SENTENCE)
    titles = [title for _, number, title in outline(read_pdf(page)) if number and number.count(".") == 2]
    assert not any(titles)
