"""What a PDF page prints, sign by sign: dashes, quotation marks, raised digits, and where bold print ends."""

from __future__ import annotations

from typing import Any

import pytest

from knowledge_mcp.language.glossary.definitions import find_definitions
from knowledge_mcp.model.document import BlockKind
from tests.readers.pdf_files import HEIGHT, LEFT, SENTENCE, Sheet, read_pdf, sheet

_TIMES, _BOLD, _ITALIC = "Times-Roman", "Times-Bold", "Times-Italic"
_WORDS = (
    "The enclosure shall withstand the pressure that arises in service, and the maker shall state what was tested. "
)


def _text(pages: Sheet) -> str:
    return " ".join(read_pdf(pages).text.split())


def _width(words: str, font: str, size: float = 10) -> float:
    from reportlab.pdfbase.pdfmetrics import stringWidth

    return float(stringWidth(words, font, size))


def _set(page: Sheet, *runs: tuple[str, str]) -> None:
    """Print words in several fonts as one line, without a gap."""
    x = LEFT
    for words, font in runs:
        page.at(x, page.y, words, font=font)
        x += _width(words, font)
    page.y += 12


def _column(page: Sheet, x: float, y: float, words: str, width: float) -> float:
    line = ""
    for word in [*words.split(), ""]:
        if not word or _width(f"{line} {word}", _TIMES) > width:
            page.at(x, y, line, font=_TIMES)
            line, y = word, y + 12
        else:
            line = f"{line} {word}".strip()
    return y


def _sections(pages: Sheet) -> list[tuple[str | None, str]]:
    return [(section.number, section.title) for section in read_pdf(pages).sections]


@pytest.mark.parametrize(
    "line",
    [
        "NOTE 1—A balance that weighs 10–20 kg at −5 °C is enough for such samples.",
        "The “maker” isn’t the ‘operator’ of the machine, although both may be one person.",
        "Boards are „short“ or ‚long‘, and those of 6' 1\" are neither, says the standard.",
        "A well-known part of the “low-cost” kind—see 7-2—is allowed in such machines.",
    ],
)
def test_dashes_and_quotation_marks_are_those_that_are_printed(line: str) -> None:
    page = sheet()
    page.heading("1 Scope")
    page.paragraph(line, font=_TIMES)
    assert line in _text(page)


def test_a_dash_at_the_end_of_a_line_ties_its_words_as_in_the_line() -> None:
    page = sheet()
    page.paragraph("The range of the temperature—", "which is measured outside—is 10–", "20 degrees.", font=_TIMES)
    assert "temperature—which is measured outside—is 10–20 degrees." in _text(page)


def test_a_dash_alone_is_no_item() -> None:
    page = sheet()
    page.paragraph(*[SENTENCE] * 4, font=_TIMES)
    for name, one, other in (("Shares", "—", "12"), ("Bonds", "3", "—"), ("Notes", "—", "(1)")):
        page.at(LEFT, page.y, name, font=_TIMES)
        page.at(LEFT + 90, page.y, one, font=_TIMES)
        page.at(LEFT + 150, page.y, other, font=_TIMES)
        page.y += 22
    assert not [block for block in read_pdf(page).blocks if block.kind is BlockKind.LIST_ITEM]


@pytest.mark.parametrize("gap", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("minus", ["–", "-"])
def test_raised_digits_belong_to_the_word_before_a_small_gap(gap: float, minus: str) -> None:
    page = sheet()
    x = LEFT
    for words, above in (("The tank shall hold 5 m", "3"), ("of water at 10", f"{minus}3")):
        page.at(x, 100, words, font=_TIMES)
        x += _width(words, _TIMES) + gap
        page.at(x, 96, above, 6, _TIMES)
        x += _width(above, _TIMES, 6) + 3
    page.at(x, 100, "bar.", font=_TIMES)
    assert "hold 5 m³ of water at 10⁻³ bar." in _text(page)


def test_a_number_in_bold_does_not_make_a_title_of_the_sentence_after_it() -> None:
    page = sheet()
    page.paragraph(*[SENTENCE] * 3, font=_TIMES)
    for number, words in (
        ("§ 1.", "Netvirksomhederne skal sikre, at der er opsat målere hos alle slutbrugere"),
        ("§ 2.", "Ved opsætning af målere skal netvirksomhederne informere alle slutbrugerne"),
        ("§ 3.", "En måler skal kunne registrere aftag og levering hvert femtende minut, og"),
    ):
        _set(page, (number, _BOLD), (f" {words}", _TIMES))
        page.paragraph("oplysningerne skal gemmes i tre år.", font=_TIMES)
    document = read_pdf(page)
    assert [(section.number, section.title) for section in document.sections] == [("1", ""), ("2", ""), ("3", "")]
    assert "Netvirksomhederne skal sikre, at der er opsat målere hos alle slutbrugere oplysningerne" in document.text


def test_a_title_in_italics_over_two_lines_ends_where_the_italics_end() -> None:
    page = sheet()
    page.heading("7 Solutions")
    page.paragraph(*[SENTENCE] * 3, font=_TIMES)
    for number, title, rest in (
        ("7.1", "Stock solutions and continuing verification of the calibration", "standards"),
        ("7.2", "Working solutions and intermediate solutions for the second and", "third series"),
    ):
        _set(page, (f"{number}  ", _TIMES), (title, _ITALIC))
        _set(page, (rest, _ITALIC), (" — Concentrated solutions of the compounds are combined in one", _TIMES))
        page.paragraph("vial, as far as possible without air, and kept in a cool place.", font=_TIMES)
    assert _sections(page)[1:] == [
        ("7.1", "Stock solutions and continuing verification of the calibration standards"),
        ("7.2", "Working solutions and intermediate solutions for the second and third series"),
    ]


def test_bookmarks_that_are_numbers_name_the_clauses_that_begin_with_them() -> None:
    page = sheet()
    named: list[tuple[str | None, str]] = []
    for group in ("Scope of the rules", "Duties of operators"):
        page.canvas.bookmarkHorizontal(group, 0, 842 - page.y + 10)
        page.canvas.addOutlineEntry(group, group, level=0)
        page.at(200, page.y, group, font=_ITALIC)
        page.y += 16
        named.append((None, group))
        for _ in range(4):
            number = str(sum(each[0] is not None for each in named) + 1)
            page.canvas.bookmarkHorizontal(number, 0, 842 - page.y + 10)
            page.canvas.addOutlineEntry(f"§ {number}", number, level=1)
            page.paragraph(f"§ {number}. Operators keep samples until they have been read by", "somebody.", font=_TIMES)
            named.append((number, ""))
    assert _sections(page) == named


def test_a_bookmark_ends_its_heading_where_the_bold_print_ends() -> None:
    page, long = sheet(), "which consists of several slots that have the same width and are one"
    for title in ("1 Scope", "2 Terms", "Annex A Apparatus"):
        page.heading(title, bookmark=0)
    for title in ("A.1 Divider,", "A.2 Sieve,", "A.3 Balance,"):
        page.canvas.bookmarkHorizontal(title, 0, 842 - page.y + 10)
        page.canvas.addOutlineEntry(title, title, level=0)
        _set(
            page, (f"{title} ", _BOLD), ("which consists of several slots that have the same width and are one", _TIMES)
        )
        page.line("below the other.", font=_TIMES, step=30)
    document = read_pdf(page)
    assert [section.title for section in document.sections[3:]] == ["Divider,", "Sieve,", "Balance,"]
    assert document.text.count(f"\n{long} below the other.") == 3


def test_a_column_of_items_is_not_mixed_with_the_text_to_its_left() -> None:
    page = sheet()
    first, rest = "64 x 8, Serial", "Real-Time Clock"
    page.at(294 - _width(first, "Helvetica-Bold", 18), 90, first, 18, "Helvetica-Bold")
    page.at(299, 90, rest, 18, "Helvetica-Bold")
    left = f"Description. {_WORDS * 5}"
    _column(page, 45, 130, left, 240)
    items = [
        f"Counts seconds and minutes of the {name} hour of each day and of the month" for name in "first last".split()
    ]
    y = 130.0
    for item in items * 4:
        page.at(310, y, "•", font=_TIMES)
        y = _column(page, 328, y, item, 200)
    page.at(285, 800, "1 of 14", 10, _TIMES)
    text = _text(page)
    assert f"{first} {rest}" in text
    assert left.strip() in text
    assert all(f"• {item}" in text for item in items)


def test_a_heading_over_both_columns_comes_before_them() -> None:
    page = sheet()
    page.at(200, 90, "Annex A   Explanatory Material", 12, _BOLD)
    page.at(
        50, 110, "Annex A is not a part of the requirements of this document, but informs its readers.", 10, _ITALIC
    )
    for x, chapter in ((50, 5), (305, 6)):
        y = 134.0
        for clause in (1, 2, 3):
            number = f"A.{chapter}.{clause}"
            page.at(x, y, number, font=_BOLD)
            first, rest = _WORDS[:35], _WORDS[35:] + _WORDS
            page.at(x + _width(f"{number}  ", _BOLD), y, first, font=_TIMES)
            y = _column(page, x, y + 12, rest, 240) + 4
    assert _sections(page)[0] == ("A", "Explanatory Material")


def test_terms_end_at_the_dash_before_their_meaning() -> None:
    page = sheet()
    page.heading("3. Terminology")
    page.heading("3.1 Definitions", 11)
    page.paragraph("The terms of this standard are those of its committee.", font=_TIMES)
    for number, term, face, words in (
        ("3.1.1", "apparent density, n", _BOLD, "mass of powder divided by its volume after tapping."),
        ("3.1.2", "tapped volume, n", _BOLD, "volume after the number of taps that this method specifies."),
        ("3.1.2.1", "Discussion", _ITALIC, "The number of taps depends on the powder that is tested."),
        ("3.1.3", "tap, v", _BOLD, "to let the cylinder fall from the height that this method specifies."),
    ):
        _set(page, (f"{number} ", _TIMES), (term, face), (f"—{words}", _TIMES))
    document = read_pdf(page)
    assert [(section.number, section.title) for section in document.sections][2:] == [
        ("3.1.1", "apparent density, n"), ("3.1.2", "tapped volume, n"), ("3.1.2.1", "Discussion"), ("3.1.3", "tap, v")
    ]  # fmt: skip
    assert [(each.term, each.text.split()[0]) for each in find_definitions(document)] == [
        ("apparent density", "mass"), ("tapped volume", "volume"), ("tap", "to")
    ]  # fmt: skip


def test_chinese_lines_are_joined_without_a_blank_and_sentences_are_no_titles() -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    fonts: Any = pdfmetrics
    fonts.registerFont(UnicodeCIDFont("STSong-Light"))
    page = sheet()
    for number, words in (
        ("4", "要求"), ("4.1", "一般要求"), ("4.1.1", "记录器应保存不少于三十天的样品。"),
        ("4.1.2", "记录器应能在规定的温度、湿度和气压条件下连续正常工作，并应能保存规定时间"),
        ("", "内采集的全部样品。"), ("4.1.3", "记录器不应产生大的噪声。"),
    ):  # fmt: skip
        page.line(f"{number} {words}".strip(), font="STSong-Light", step=16)
    document = read_pdf(page)
    assert "保存规定时间内采集的全部样品。" in document.text
    assert [(section.number, section.title) for section in document.sections] == [
        ("4", "要求"), ("4.1", "一般要求"), ("4.1.1", ""), ("4.1.2", ""), ("4.1.3", "")
    ]  # fmt: skip


@pytest.mark.parametrize("label", ["TABLE IV.", "Prospetto 1", "Cuadro 2."])
def test_captions_may_have_roman_numbers_and_words_of_other_languages(label: str) -> None:
    page = sheet()
    page.paragraph(SENTENCE, SENTENCE)
    page.paragraph(f"{label}  Limits of voltage and current")
    page.grid([["Voltage", "Limit"], ["Input", "5 V"], ["Output", "9 V"]], [120, 120])
    captions = [block.marker for block in read_pdf(page).blocks if block.kind is BlockKind.CAPTION]
    assert captions == [label.rstrip(".")]


def test_a_soft_hyphen_that_is_printed_is_a_hyphen() -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    fonts: Any = pdfmetrics
    fonts.registerFont(TTFont("Vera", "Vera.ttf"))
    page = sheet()
    page.line("Contract NAS3\u00ad99155, Attachment J\u00ad1, is part of this list.", font="Vera")
    assert "Contract NAS3-99155, Attachment J-1, is part of this list." in _text(page)


def test_a_mark_of_an_item_may_have_an_asterisk() -> None:
    page = sheet()
    page.paragraph("The following applies to doors:", font=_TIMES)
    for item in ("(1) Doors are closed.", "(2)* Doors are locked.", "(3) Doors are marked."):
        page.line(item, font=_TIMES, x=90)
    markers = [block.marker for block in read_pdf(page).blocks if block.kind is BlockKind.LIST_ITEM]
    assert markers == ["(1)", "(2)", "(3)"]


@pytest.mark.parametrize(
    ("words", "mark", "after", "read"),
    [
        ("40", "a", "", "40ᵃ"),
        ("12.5", "b)", "", "12.5ᵇ⁾"),
        ("Steel", "c", "", "Steelᶜ"),
        ("(40", "c", ")", "(40ᶜ)"),
        ("40", "a, b", "", "40ᵃ,ᵇ"),
        ("4", "th", "", "4th"),
        ("M", "me", "", "Mme"),
    ],
)
def test_raised_letters_beside_a_value_are_marks_of_notes(words: str, mark: str, after: str, read: str) -> None:
    page = sheet()
    page.at(LEFT, 100, "The value in the table is", font=_TIMES)
    x = LEFT + _width("The value in the table is ", _TIMES)
    page.at(x, 100, words, font=_TIMES)
    x += _width(words, _TIMES)
    page.at(x, 96, mark, 6, _TIMES)
    page.at(x + _width(mark, _TIMES, 6), 100, f"{after} here.", font=_TIMES)
    assert _text(page).endswith(f"The value in the table is {read} here.")


def test_a_large_initial_does_not_raise_the_letter_after_it() -> None:
    page = sheet()
    page.at(LEFT, 112, "B", 36, _TIMES)
    page.at(LEFT + _width("B", _TIMES, 36), 92, "e careful with the pressure of the tank.", font=_TIMES)
    assert "ᵉ" not in _text(page)


@pytest.mark.parametrize("ruled", [True, False])
def test_a_cell_of_a_table_keeps_its_mark(ruled: bool) -> None:
    page = sheet()
    top = page.y
    rows = [("Material", "Length", "Width"), ("Steel", "40", "7"), ("Copper", "12.5", "8"), ("Tin", "8", "9")]
    for index, row in enumerate(rows):
        for column, words in enumerate(row):
            x, y = LEFT + 100 * column + 4, top + 20 * index + 14
            page.at(x, y, words, font=_TIMES)
            page.at(x + _width(words, _TIMES), y - 4, {"40": "a", "Copper": "b)"}.get(words, ""), 6, _TIMES)
    if ruled:
        page.canvas.grid([LEFT + 100 * at for at in range(4)], [HEIGHT - top - 20 * at for at in range(5)])
    text = _text(page)
    assert "40ᵃ" in text
    assert "Copperᵇ⁾" in text
