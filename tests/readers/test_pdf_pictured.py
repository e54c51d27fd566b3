"""Formulas and signs that are small pictures in the text of a PDF leave U+FFFC where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from knowledge_mcp.model.document import Document
from tests.readers.pdf_files import HEIGHT, LEFT, Sheet, read_pdf, sheet

SIGN = "\ufffc"
_WARNING = "in lines of text not read, such as a formula"


def drawing(seed: int = 0, *, plain: bool = False) -> Any:
    """Draw strokes on white; `seed` makes them another picture."""
    from PIL import Image, ImageDraw
    from reportlab.lib.utils import ImageReader

    picture = Image.new("L", (60, 30 + seed), 200 if plain else 255)
    if not plain:
        pen = ImageDraw.Draw(picture)
        pen.line((4, 4, 50, 25), fill=0, width=4)
        pen.line((4, 25, 20 + seed, 6), fill=0, width=3)
    return ImageReader(picture)


def put(pages: Sheet, x: float, width: float, height: float, *, seed: int = 0, plain: bool = False) -> None:
    """Set a picture with its foot a little below the baseline of the next line."""
    pages.canvas.drawImage(drawing(seed, plain=plain), x, HEIGHT - pages.y - 2, width, height)


def text_of(document: Document) -> str:
    return " ".join(document.text.split())


def body(pages: Sheet, *lines: str) -> None:
    pages.paragraph(
        *(lines or ("The load on the roof shall be that of the place,", "as long as nobody shovels it off."))
    )


def begun() -> Sheet:
    pages = sheet()
    pages.heading("1 Loads on roofs")
    body(pages)
    return pages


def leading() -> Sheet:
    """Begin a page with text that leads to a formula."""
    pages = begun()
    body(pages, "The load on the roof shall be found by the formula")
    pages.y += 22
    return pages


@pytest.mark.parametrize("width", [30.0, 5.0], ids=["wide", "as narrow as a letter"])
def test_a_picture_in_a_line_stands_where_it_is_printed(width: float) -> None:
    pages = begun()
    before, after = "The load shall be found by", "where the snow is wet."
    pages.at(LEFT, pages.y, before)
    start = LEFT + pages.canvas.stringWidth(before, "Helvetica", 10) + 3
    put(pages, start, width, 12 if width > 5 else 7)
    pages.at(start + width + 3, pages.y, after)
    document = read_pdf(pages)
    assert f"{before} {SIGN} {after}" in text_of(document)
    assert [each for each in document.warnings if _WARNING in each] == [f"1 image {_WARNING}: {SIGN} is shown instead."]


@pytest.mark.parametrize("number", ["(3)", "(A.2)", ""])
def test_a_formula_between_lines_stands_between_them(number: str) -> None:
    pages = leading()
    put(pages, 200, 120, 30)
    if number:
        pages.at(500, pages.y - 18 if number == "(3)" else pages.y - 8, number)
    pages.y += 22
    body(pages, "where the snow is that of the place.")
    said = f"by the formula {SIGN} {number}".strip()
    assert f"{said} where the snow is that of the place." in text_of(read_pdf(pages))


def test_a_symbol_that_begins_a_line_which_continues_is_a_sign_and_the_bullets_of_a_list_are_none() -> None:
    pages = begun()
    for width in (6, 13):
        put(pages, LEFT, width, 11)
        pages.line("is the load of the snow on the ground.", x=LEFT + width + 4)
    for seed in (7, 7, 8, 9):
        put(pages, LEFT, 9, 9, seed=seed)
        pages.line("snow that was weighed by a man who was there.", x=LEFT + 13)
    put(pages, LEFT, 9, 9, seed=9)
    pages.line("Take the snow off the roof before the night.", x=LEFT + 13)
    document = read_pdf(pages)
    assert document.text.count(SIGN) == 2
    assert document.text.count(f"{SIGN} is the load") == 2


def _logo(pages: Sheet) -> None:
    pages.canvas.drawImage(drawing(), 500, HEIGHT - 45, 40, 20)
    pages.at(370, 38, "Rules for the roofs of this land", 9)


@pytest.mark.parametrize(
    "kind", ["figure", "logo", "blank", "rule", "below words", "beside a heading", "beside labels", "icon", "finished"]
)
def test_what_is_no_part_of_a_sentence_leaves_nothing(kind: str) -> None:
    pages = begun()
    if kind == "logo":
        pages.furniture = _logo
    elif kind in {"figure", "finished"}:
        body(
            pages, "The snow on a flat roof looks like this" if kind == "figure" else "The snow lies on the roof then."
        )
        pages.y += 30
        put(pages, 150, 200, 38)
        pages.y += 14
        body(pages, "Figure 1 Snow on a flat roof" if kind == "figure" else "It melts when the sun comes out.")
    elif kind == "rule":
        body(pages, "The snow that lies on the roof is weighed")
        pages.canvas.drawImage(drawing(), LEFT, HEIGHT - pages.y, 60, 3)
        pages.y += 12
        body(pages, "by a man who knows the snow of the place.")
    elif kind == "below words":
        put(pages, LEFT, 240, 14)
        body(pages, "The snow that lies on the roof is weighed here")
    elif kind == "icon":
        pages.y += 13
        put(pages, LEFT, 30, 24)
        pages.y -= 13
        pages.line("the men who stand on it are not safe, and wet", x=LEFT + 33)
        pages.line("snow shall be taken off each of the flat roofs.", x=LEFT + 33)
    else:
        words = {"beside a heading": "2 Weight of the snow on roofs", "beside labels": "Snow"}.get(
            kind, "The snow is weighed by"
        )
        font = "Helvetica-Bold" if kind == "beside a heading" else "Helvetica"
        pages.at(LEFT, pages.y, words, 10, font)
        start = LEFT + pages.canvas.stringWidth(words, font, 10) + 3
        put(pages, start, 24, 10, plain=kind == "blank")
        pages.at(start + 27, pages.y, {"beside labels": "Ice"}.get(kind, "and by men of the place"), 10, font)
        pages.y += 20
        body(pages)
    document = read_pdf(pages)
    assert SIGN not in document.text
    assert not any(_WARNING in each for each in document.warnings)


def test_a_picture_that_was_cut_into_strips_is_one() -> None:
    pages = begun()
    body(pages, "The load on the roof shall be found by the formula")
    strips: Sequence[float] = (0, 10, 20)
    pages.y += 22
    for strip in strips:
        pages.canvas.drawImage(drawing(), 200, HEIGHT - pages.y + strip, 120, 10)
    pages.y += 22
    body(pages, "where the snow is that of the place.")
    assert read_pdf(pages).text.count(SIGN) == 1


def test_a_drawing_of_many_pieces_is_none_of_the_text() -> None:
    pages = begun()
    pages.at(LEFT, pages.y, "The load of the snow shall be weighed by")
    for number in range(200):
        pages.canvas.drawImage(drawing(), 310 + 12 * (number % 20), HEIGHT - pages.y - 20 * (number // 20), 6, 6)
    assert SIGN not in read_pdf(pages).text


def test_pieces_of_a_drawing_with_lines_of_its_own_are_none_of_the_text() -> None:
    pages = leading()
    put(pages, 200, 120, 30)
    pages.canvas.line(260, HEIGHT - pages.y, 260, HEIGHT - pages.y + 60)
    pages.y += 22
    body(pages, "where the snow is that of the place.")
    assert SIGN not in read_pdf(pages).text


def test_a_formula_on_a_white_ground_is_one() -> None:
    pages = leading()
    pages.canvas.setFillGray(1)
    pages.canvas.rect(195, HEIGHT - pages.y - 4, 122, 34, stroke=0, fill=1)
    pages.canvas.setFillGray(0)
    put(pages, 200, 120, 30)
    pages.y += 22
    body(pages, "where the snow is that of the place.")
    assert SIGN in read_pdf(pages).text


def test_the_text_of_another_column_stands_beside_no_formula() -> None:
    pages = begun()
    top = pages.y
    for row in range(14):
        pages.at(330, top + 13 * row, "The men of the place weigh the snow each", 10)
    body(
        pages,
        "The load of snow shall be weighed by each",
        "of the men, and the load on the roof shall",
        "be found by the formula",
    )
    pages.y += 22
    put(pages, LEFT + 20, 120, 30)
    pages.y += 22
    body(pages, "where the snow is that of the place.")
    assert text_of(read_pdf(pages)).count(f"be found by the formula {SIGN} where the snow") == 1


def outlined(pages: Sheet, x: float, letters: int, *, colour: float = 0) -> float:
    """Draw letters as filled outlines, as programs set formulas, with a fraction line below; return their end."""
    pages.canvas.setFillGray(colour)
    for place in range(letters):
        path = pages.canvas.beginPath()
        left, base = x + 7 * place, HEIGHT - pages.y
        path.moveTo(left, base)
        path.curveTo(left + 1, base + 7, left + 4, base + 7, left + 5, base)
        path.close()
        pages.canvas.drawPath(path, stroke=0, fill=1)
    pages.canvas.setFillGray(0)
    return x + 7 * letters


def test_a_formula_of_outlined_letters_is_one_sign() -> None:
    pages = begun()
    pages.at(LEFT, pages.y, "Calculate the mass fraction of the rice,")
    start = LEFT + pages.canvas.stringWidth("Calculate the mass fraction of the rice, ", "Helvetica", 10)
    pages.at(outlined(pages, start, 3) + 3, pages.y, ", that was found in the test.")
    pages.y += 20
    pages.at(LEFT, pages.y, "It is calculated as follows:")
    pages.y += 25
    outlined(pages, LEFT + 20, 4)
    pages.canvas.line(LEFT + 18, HEIGHT - pages.y - 2, LEFT + 48, HEIGHT - pages.y - 2)
    pages.at(480, pages.y, "(A.1)")
    pages.y += 25
    body(pages)
    document = read_pdf(pages)
    assert f"mass fraction of the rice, {SIGN} , that was found in the test." in text_of(document)
    assert f"{SIGN} (A.1)" in text_of(document)
    assert document.text.count(SIGN) == 2


def test_coloured_icons_and_bars_of_a_chart_are_no_signs() -> None:
    pages = begun()
    pages.at(LEFT, pages.y, "The rules are in the annex of this part")
    start = LEFT + pages.canvas.stringWidth("The rules are in the annex of this part ", "Helvetica", 10)
    pages.at(outlined(pages, start, 1, colour=0.6) + 3, pages.y, "and in the part after it.")
    pages.y += 60
    for place in range(40):
        pages.canvas.rect(LEFT + 6 * place, HEIGHT - pages.y, 4, 5 + place % 7 * 5, stroke=0, fill=1)
    pages.y += 30
    body(pages)
    assert SIGN not in read_pdf(pages).text
