"""What was left of a page's print: found in pieces, set in lines, and put back where it stands."""

from __future__ import annotations

import pytest
from PIL import Image, ImageDraw, ImageFont

from knowledge_mcp.model.extraction import OcrWord
from knowledge_mcp.ocr.readings import count_lost, with_edges, with_missing
from knowledge_mcp.ocr.remains import LeftPiece, pieces_of, sheet_of, words_of_pieces
from knowledge_mcp.ocr.rules import Box

HEIGHT, BETWEEN = 31, 90
PLACES = ((400, 200), (900, 200), (400, 500), (900, 500))
CELLS: list[Box] = [(300, y, 1200, y) for y in (150, 400, 700)] + [(x, 150, x, 700) for x in (300, 700, 1200)]


def flat(texts: str = "3857") -> Image.Image:
    image = Image.new("L", (1400, 1000), 255)
    pen, face = ImageDraw.Draw(image), ImageFont.load_default(42)
    for place, text in zip(PLACES, texts, strict=True):
        pen.text(place, text, font=face, fill=20)
    return image


def word(text: str, box: Box, confidence: float = 95.0, line: int = 0) -> OcrWord:
    return OcrWord(text, confidence, box, line)


def test_each_digit_is_a_piece_where_it_stands() -> None:
    pieces = pieces_of(flat(), (), HEIGHT, BETWEEN)
    assert len(pieces) == len(PLACES)
    for piece, (left, top) in zip(pieces, PLACES, strict=True):
        assert left - 3 <= piece.box[0] < piece.box[2] <= left + 33
        assert top - 3 <= piece.box[1] < piece.box[3] <= top + 60


def test_letters_of_a_word_are_one_piece_and_words_are_several() -> None:
    image = Image.new("L", (1400, 300), 255)
    ImageDraw.Draw(image).text((100, 100), "not a determination", font=ImageFont.load_default(42), fill=20)
    assert 2 <= len(pieces_of(image, (), HEIGHT, BETWEEN)) <= 3


def test_specks_pictures_and_what_touches_a_rule_are_no_pieces() -> None:
    image = flat("    ")
    pen = ImageDraw.Draw(image)
    pen.rectangle((100, 100, 104, 104), fill=0)
    pen.rectangle((600, 600, 800, 800), fill=0)
    pen.rectangle((300, 500, 303, 530), fill=0)
    assert pieces_of(image, [(301, 150, 301, 700)], HEIGHT, BETWEEN) == []


def test_a_page_of_thousands_of_pieces_is_a_picture() -> None:
    image = Image.new("L", (2000, 2000), 255)
    pen = ImageDraw.Draw(image)
    for x in range(20, 1990, 40):
        for y in range(20, 1950, 50):
            pen.ellipse((x, y, x + 14, y + 28), outline=0, width=4)
    assert pieces_of(image, (), HEIGHT, BETWEEN) == []


def test_pieces_stand_in_lines_with_a_word_before_each_and_one_behind_the_last() -> None:
    image = flat()
    pieces = pieces_of(image, (), HEIGHT, BETWEEN)
    between = Image.new("L", (BETWEEN, HEIGHT), 100)
    sheet = sheet_of(image, between, pieces, HEIGHT)
    grey = sheet.tobytes().count(100) / (BETWEEN * HEIGHT)
    assert round(grey) == len(pieces) + 1 + pieces[-1].line
    for piece in pieces:
        column = sheet.crop((piece.left, 0, piece.left + piece.box[2] - piece.box[0], sheet.height))
        assert min(column.tobytes()) < 60


def test_what_is_read_on_the_sheet_stands_on_the_page() -> None:
    pieces = pieces_of(flat(), (), HEIGHT, BETWEEN)
    foot = round(2.6 * HEIGHT)
    read = [
        word(text, (piece.left, (piece.line + 1) * foot - HEIGHT, piece.left + 20, (piece.line + 1) * foot))
        for text, piece in zip(("3", "8", ".", "7"), pieces, strict=True)
    ]
    read.append(word("Wall", (pieces[0].left - 110, foot - HEIGHT, pieces[0].left - 20, foot)))
    found = words_of_pieces(read, pieces, HEIGHT)
    assert [each.text for each in found] == ["3", "8", "7"]
    for each, piece in zip(found, [pieces[0], pieces[1], pieces[3]], strict=True):
        left, top, _, bottom = piece.box
        assert each.box == (left, top, left + 20, bottom)


@pytest.mark.parametrize(("rules", "kept"), [(CELLS, ["8"]), ([], [])])
def test_a_sign_alone_is_a_word_in_a_cell_only(rules: list[Box], kept: list[str]) -> None:
    label = word("Class", (320, 200, 420, 231))
    found = with_missing(
        [label], [word("8", (900, 210, 920, 240), line=1), word("i", (900, 500, 910, 530), 70.0, 2)], rules
    )
    assert [each.text for each in found] == ["Class", *kept]


def test_what_is_in_cells_and_was_not_read_is_counted() -> None:
    pieces = [
        LeftPiece((900, 210, 920, 240), 0, 0),
        LeftPiece((400, 510, 420, 540), 0, 0),
        LeftPiece((40, 20, 60, 50), 0, 0),
    ]
    assert count_lost(pieces, [word("8", (900, 210, 920, 240))], CELLS) == 1
    assert count_lost(pieces, [], []) == 0


def test_words_that_are_not_sure_are_not_painted_over_in_cells() -> None:
    words = [word("Class", (400, 200, 500, 240)), word("oO", (900, 200, 940, 240), 70.0)]
    assert with_edges(words, CELLS) == [(390, 190, 510, 250)]
    assert with_edges(words) == [(390, 190, 510, 250), (890, 190, 950, 250)]


def test_a_bullet_is_no_word_and_a_letter_within_a_line_is() -> None:
    line = [word("determination", (300, 100, 600, 131)), word("by", (680, 100, 720, 131))]
    found = with_missing(line, [word("e", (250, 105, 270, 128), line=1), word("a", (630, 105, 650, 131), line=1)])
    assert [each.text for each in found] == ["determination", "a", "by"]
